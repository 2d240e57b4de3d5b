"""Attacks on what perfvcs keeps: ``python benchmarks/attacks MODE [--count N] [--seed N] [--only
COMMAND]``.

``kills`` and ``signals`` stop every command that writes at random moments, ``disk`` gives it too
little space, ``writers`` lets many write at once, ``soak`` commits for a day, and ``continued``
finishes interrupted sessions. Each but the last prints a row per command, and exits with 1 when it
found a fault: a traceback, a wrong exit status, something lost or half, or a process, a worktree or
a file that the next command leaves behind.
"""

from __future__ import annotations

import argparse
import signal
import sys

import commands
import continued
import disk
import interruptions
import processes
import soak
import writers
from project import PERF

MODES = {
    "kills": 1000,
    "signals": 300,
    "disk": disk.LEVELS,
    "soak": 2000,
    "writers": 16,
    "continued": 100,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="attacks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--count", type=int, help=f"Tries, by default {MODES}.")
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--only", action="append", default=[], metavar="COMMAND")
    parser.add_argument(
        "--hang", type=float, default=2.0, metavar="SECONDS", help="What counts as a hang."
    )
    parser.add_argument(
        "--on",
        choices=("tmpfs", "ext4", "ulimit"),
        default="tmpfs",
        help="disk: what becomes full.",
    )
    parser.add_argument("--profiles", type=int, default=100, help="writers: profiles of each.")
    options = parser.parse_args()
    processes.adopt_orphans()
    # what a shell starts with & ignores it, and hands that on
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as does nohup with this one
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through all that unmounts and deletes
    count = options.count or MODES[options.mode]
    chosen = commands.chosen(options.only)
    if options.mode == "continued":
        return continued.attack(count, options.seed)
    if options.mode == "writers":
        return writers.attack(count, options.profiles, options.seed, options.hang)
    if options.mode == "soak":
        return soak.attack(count, options.seed, options.hang)
    if options.mode == "disk":
        return disk.attack(chosen, count, options.seed, options.hang, options.on)
    if options.mode == "kills":
        return interruptions.attack(chosen, count, options.seed, options.hang, (signal.SIGKILL,))
    # only the command line answers to signals
    chosen = [command for command in chosen if command.program is PERF]
    return interruptions.attack(chosen, count, options.seed, options.hang, interruptions.SOFT)


if __name__ == "__main__":
    raise SystemExit(main())
