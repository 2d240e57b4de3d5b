"""Cycle after cycle, at once while there is something to measure, and else after a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from perfvcs.errors import PerfError
from perfvcs.lock import Locked, hold
from perfvcs.measure.progress import Progress
from perfvcs.repository import Repository
from perfvcs.watch.branch import Branch
from perfvcs.watch.cycle import Cycle, Wishes
from perfvcs.watch.memory import recalled


class Watched(PerfError):
    """Another process watches the same branch."""

    exit_code = 11


def watch(
    home: Path, branch: Branch, wishes: Wishes, progress: Progress, say: Callable[[str], None], warn: Callable[[str], None],
    *, interval: float | None, quiet: bool = False,
) -> PerfError | OSError | None:  # fmt: skip
    """Watch a branch until the program is ended; without an ``interval`` until nothing is left to be measured.

    Each cycle is a line for ``say``; a ``quiet`` watch says nothing of those in which nothing happened. Returns the first error of a
    watch that ended, if there was any. Raises Watched, NoBranch.
    """
    branch.folder.mkdir(parents=True, exist_ok=True)
    first: PerfError | OSError | None = None
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(branch.folder / "lock"))
        except Locked:
            raise Watched(
                f"another process watches {branch.name} of {branch.remote.name} from here: end that one first"
            ) from None
        while True:
            # anew each time: others store and remove, and nothing piles up
            repository = Repository.find(home, create=True)
            cycle = Cycle(repository, branch, wishes, recalled(branch.folder / "memory.json"), progress, warn)
            line = cycle.run()
            if cycle.parts or not quiet:
                say(line)
            first = first or next(iter(cycle.errors), None)
            if not cycle.measured:
                branch.tend()
                if interval is None:
                    return first
                time.sleep(interval)
