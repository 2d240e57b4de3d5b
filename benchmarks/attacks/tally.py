"""What came of the tries, a row per command."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..figures import Row
from ..registry import Wrong

FAULTS = (
    "tracebacks",
    "wrong exits",
    "wrong lines",
    "lost",
    "processes",
    "worktrees",
    "files",
    "hangs",
)
SHOWN = 400  # characters of a fault


@dataclass
class Tally:
    """Counts of tries and faults by command; every fault is printed when it is found, with what it
    takes to repeat it.
    """

    started: float = field(default_factory=time.monotonic)
    tries: dict[str, int] = field(default_factory=dict)
    hits: dict[str, int] = field(default_factory=dict)
    faults: dict[tuple[str, str], int] = field(default_factory=dict)

    def count(self, command: str, *, hit: bool) -> None:
        """One more try; ``hit``: the command was still running when it was attacked."""
        self.tries[command] = self.tries.get(command, 0) + 1
        self.hits[command] = self.hits.get(command, 0) + hit

    def blame(self, command: str, fault: str, reasons: Iterable[str], where: str) -> None:
        """Faults of one kind that a try showed."""
        for reason in reasons:
            self.faults[command, fault] = self.faults.get((command, fault), 0) + 1
            text = (
                reason
                if "\n" in reason and fault == "tracebacks"
                else " ".join(reason.split())[:SHOWN]
            )
            print(f"{where}: {command}: {fault}: {text}", file=sys.stderr, flush=True)

    def progress(self, done: int, total: int) -> None:
        """A line on standard error."""
        took = time.monotonic() - self.started
        found = sum(self.faults.values())
        print(f"{done} of {total} tries, {found} faults, {took:.0f} s", file=sys.stderr, flush=True)

    def rows(self) -> Iterator[Row]:
        """One row per command and their sum; raises Wrong after them where anything went wrong."""
        for command, tries in self.tries.items():
            faults = {fault: self.faults.get((command, fault), 0) for fault in FAULTS}
            yield {
                "command": f"`{command}`",
                "tries": tries,
                "while it ran": self.hits[command],
                **faults,
            }
        sums = Counter[str]()
        for (_, fault), count in self.faults.items():
            sums[fault] += count
        yield {
            "command": "all",
            "tries": sum(self.tries.values()),
            "while it ran": sum(self.hits.values()),
            **{fault: sums[fault] for fault in FAULTS},
        }
        if sums:
            raise Wrong(f"{sums.total()} faults")
