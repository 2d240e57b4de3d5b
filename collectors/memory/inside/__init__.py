"""What counts allocations in the measured program: a library that is preloaded; ``python`` goes on
the PYTHONPATH of interpreters.
"""

from pathlib import Path

MEMORY_INSIDE = Path(__file__).parent
