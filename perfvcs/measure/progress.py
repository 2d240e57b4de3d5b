"""How a measuring session, or another long task, looks while it runs: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from perfvcs.text.characters import printable, shorten

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


LONGEST_FAILURE = 2000  # characters of a failure
WIDTH = 40  # of what stands at the bar


class Progress(Protocol):
    """What a session shows while it runs; the command decides how it looks."""

    def begin(self, total: int) -> None:
        """``total`` steps are ahead."""
        ...

    def step(self, what: str) -> None:
        """One of them is done; ``what`` is the job and version."""
        ...

    def drop(self, steps: int) -> None:
        """So many steps are no longer ahead."""
        ...

    def say(self, line: str) -> None:
        """A line worth reading: a preparation, a warning."""
        ...

    def fail(self, failure: str) -> None:
        """What could not be measured and why; it is shown here and nowhere else, whatever is quiet."""
        ...


class Silent:
    """Shows nothing but failures."""

    def begin(self, total: int) -> None:
        """Ignored."""

    def step(self, what: str) -> None:
        """Ignored."""

    def drop(self, steps: int) -> None:
        """Ignored."""

    def say(self, line: str) -> None:
        """Ignored."""

    def fail(self, failure: str) -> None:
        """Print it."""
        print(_failed(failure), file=sys.stderr, flush=True)


class PlainLines:
    """Plain lines on standard error: what is said, and every tenth of the way."""

    def __init__(self) -> None:
        self.total, self.done = 0, 0

    def begin(self, total: int) -> None:
        """More steps are ahead."""
        self.total, self.done = total, 0

    def step(self, what: str) -> None:
        """Count; speak at every tenth of a long way."""
        self.done += 1
        if self.total >= 10 and self.done * 10 // self.total > (self.done - 1) * 10 // self.total:
            self.say(f"{self.done * 100 // self.total:3} %  {what}")

    def drop(self, steps: int) -> None:
        """Shorten the way."""
        self.total -= steps

    def say(self, line: str) -> None:
        """Print a line."""
        print(printable(line), file=sys.stderr, flush=True)

    def fail(self, failure: str) -> None:
        """Print it."""
        self.say(_failed(failure))


class Terminal:
    """A bar with the remaining time on standard error."""

    def __init__(self, bar: Bar, doing: str) -> None:
        self.bar, self.task, self.doing = bar, bar.add_task("preparing", total=None), doing
        self.total = 0

    def begin(self, total: int) -> None:
        """Start the bar anew."""
        self.total = total
        self.bar.reset(self.task, total=total, description=self.doing)

    def step(self, what: str) -> None:
        """Move the bar."""
        self.bar.update(self.task, advance=1, description=shorten(what, WIDTH))

    def drop(self, steps: int) -> None:
        """Shorten the bar."""
        self.total -= steps
        self.bar.update(self.task, total=self.total)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.bar.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)

    def fail(self, failure: str) -> None:
        """Print it above the bar."""
        self.say(_failed(failure))


def _failed(failure: str) -> str:
    # it may quote names from files: one line, and nothing that a terminal obeys
    return f"failed: {shorten(failure, LONGEST_FAILURE)}"


@contextmanager
def shown(*, quiet: bool = False, doing: str = "measuring") -> Iterator[Progress]:
    """The display that fits standard error; ``doing`` stands at the bar until the first step is done."""
    if quiet:
        yield Silent()
    elif not sys.stderr.isatty():
        yield PlainLines()
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            yield Terminal(bar, doing)
