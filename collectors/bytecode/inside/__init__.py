"""What runs in the measured program: ``python`` goes on the PYTHONPATH of its interpreters."""

from pathlib import Path

BYTECODE_INSIDE = Path(__file__).parent
