"""What runs in the measured pytest: ``python`` goes on its PYTHONPATH."""

from pathlib import Path

TESTING_INSIDE = Path(__file__).parent
