"""What runs in the measured program: ``python`` goes on the PYTHONPATH of its interpreters."""

from pathlib import Path

FOLDER = Path(__file__).parent
