"""What runs in the measured program: a library that is preloaded."""

from pathlib import Path

FOLDER = Path(__file__).parent
