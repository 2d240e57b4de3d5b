"""Stores batches of profiles through the library, and prints their paths: ``python adding.py
NUMBER`` in the project.
"""

import sys

from profiles import BATCHES, timed

from perfvcs.errors import PerfError
from perfvcs.repository import Repository


def add(start: int) -> None:
    """Store the batches whose profiles are numbered from ``start``."""
    store = Repository.find().store
    for batch in BATCHES:
        profiles = (
            timed(f"{number % 97:040x}", "bulk", number) for number in range(start, start + batch)
        )
        print(*store.add(profiles, "Batch"), sep="\n", flush=True)
        start += batch


if __name__ == "__main__":
    try:
        add(10_000 * int(sys.argv[1]))
    except PerfError as error:
        print(f"perf: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
