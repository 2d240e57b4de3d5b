"""What came of the tries, a row per command."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

FAULTS = ("tracebacks", "wrong exits", "lost", "processes", "worktrees", "files", "hangs")
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
            print(f"{where}: {command}: {fault}: {text}", flush=True)

    def progress(self, done: int, total: int) -> None:
        """A line on standard error."""
        took = time.monotonic() - self.started
        print(
            f"{done} of {total} tries, {sum(self.faults.values())} faults, {took:.0f} s",
            file=sys.stderr,
            flush=True,
        )

    def table(self) -> str:
        """One row per command and their sum, as Markdown."""
        rows = [("", "tries", "while it ran", *FAULTS)]
        for command in self.tries:
            faults = [str(self.faults.get((command, fault), 0)) for fault in FAULTS]
            rows.append(
                (f"`{command}`", f"{self.tries[command]:,}", f"{self.hits[command]:,}", *faults)
            )
        sums = [
            str(sum(count for (_, kind), count in self.faults.items() if kind == fault))
            for fault in FAULTS
        ]
        rows.append(("all", f"{sum(self.tries.values()):,}", f"{sum(self.hits.values()):,}", *sums))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "| "
            + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
            + " |"
            for row in rows
        ]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(lines)

    @property
    def failed(self) -> bool:
        """Whether anything went wrong."""
        return bool(self.faults)

    def close(self, what: str) -> int:
        """Print the table and the time; returns the exit status."""
        print(f"\n{what}, {time.monotonic() - self.started:.0f} s\n\n{self.table()}", flush=True)
        return int(self.failed)
