"""What runs in the measured program: a library that is preloaded, and a module of Perl."""

from pathlib import Path

INSTRUCTIONS_INSIDE = Path(__file__).parent
