"""What runs in the measured program.

``python`` goes on the PYTHONPATH of interpreters, which load the compiled ``tracer.c``; ``fentry``
is preloaded into other programs.
"""

from pathlib import Path

COMPLEXITY_INSIDE = Path(__file__).parent
