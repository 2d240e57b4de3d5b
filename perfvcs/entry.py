"""Where the program starts: signals are handled before anything else is imported, so that none of them is a traceback."""

from __future__ import annotations

import os

from perfvcs import interruption

THREADS = "OPENBLAS_NUM_THREADS"


def main() -> None:
    """Run the command line of this process; ``perf``, ``perfvcs`` and ``python -m perfvcs`` start here."""
    interruption.begin()
    if THREADS not in os.environ:
        # numpy's threads take longer to start than they save here. `os.environ`, which measured programs inherit, stays as it is.
        os.putenv(THREADS, "1")
    try:
        from perfvcs.cli import main as command_line

        command_line()
    finally:
        interruption.end()
