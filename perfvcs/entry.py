"""Where the program starts: signals are handled before anything else is imported, so that none of
them is a traceback.
"""

from __future__ import annotations

import gc
import os
import sys

from perfvcs.system import interruption

THREADS = "OPENBLAS_NUM_THREADS"
# new objects between two searches for cycles: most commands end before that, and searching takes a
# tenth of their time
RARELY = 1_000_000


def main() -> None:
    """Run the command line of this process; ``perf``, ``perfvcs`` and ``python -m perfvcs`` start
    here.
    """
    if os.name != "posix":
        sys.exit("perf: this system is not supported: use Linux, macOS, or on Windows WSL")
    interruption.begin()
    gc.set_threshold(RARELY)
    if THREADS not in os.environ:
        # numpy's threads take longer to start than they save here. `os.environ`, which measured
        # programs inherit, stays as it is.
        os.putenv(THREADS, "1")
    try:
        from perfvcs.cli import main as command_line

        command_line()
    finally:
        # what is left goes with the process: Python need not search it for cycles as it ends
        gc.freeze()
        interruption.end()
