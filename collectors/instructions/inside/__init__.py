"""What runs in the measured program: a library that is preloaded."""

from pathlib import Path

INSTRUCTIONS_INSIDE = Path(__file__).parent
