"""Where the program starts: signals are handled before anything else is imported, so that none of them is a traceback."""

from __future__ import annotations

from perfvcs import interruption


def main() -> None:
    """Run the command line of this process; ``perf``, ``perfvcs`` and ``python -m perfvcs`` start here."""
    interruption.begin()
    try:
        from perfvcs.cli import main as command_line

        command_line()
    finally:
        interruption.end()
