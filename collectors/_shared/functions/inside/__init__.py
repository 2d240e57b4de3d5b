"""What records the functions that run, in the measured interpreter: ``python`` is the recorder,
``start`` begins with the interpreter.
"""

from pathlib import Path

FUNCTIONS_INSIDE = Path(__file__).parent
