"""What runs in the measured pytest: ``python`` goes on its PYTHONPATH."""

from pathlib import Path

PYTEST_INSIDE = Path(__file__).parent
