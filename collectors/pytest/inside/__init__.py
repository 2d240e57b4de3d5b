"""What runs in the measured pytest: ``python`` goes on its PYTHONPATH."""

from pathlib import Path

FOLDER = Path(__file__).parent
