"""How a measuring session, or another long task, looks while it runs: a bar on a terminal, plain
lines elsewhere, or nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TextIO

from perfvcs.text.characters import printable, shorten
from perfvcs.text.quantity import duration

LONGEST_FAILURE = 2000  # characters of a failure
WIDTH, WIDTH_OF_BAR = 34, 20  # characters of the label and of the bar
CLEARED = "\r\x1b[K\x1b[?25h"  # the line is empty and the cursor visible


class Progress:
    """What a session shows while it runs; this shows nothing but failures, and others more."""

    def begin(self, total: int) -> None:
        """``total`` steps are ahead."""

    def step(self, what: str) -> None:
        """One of them is done; ``what`` is the job and version."""

    def drop(self, steps: int) -> None:
        """So many steps are no longer ahead."""

    def say(self, line: str) -> None:
        """A line worth reading: a preparation, a warning."""

    def fail(self, failure: str) -> None:
        """What could not be measured and why; it is shown here alone, whatever is quiet."""
        print(_failed(failure), file=sys.stderr, flush=True)


class PassedOn(Progress):
    """Shows all of it on another progress."""

    def __init__(self, inner: Progress) -> None:
        self.inner = inner

    def begin(self, total: int) -> None:
        """Pass it on."""
        self.inner.begin(total)

    def step(self, what: str) -> None:
        """Pass it on."""
        self.inner.step(what)

    def drop(self, steps: int) -> None:
        """Pass it on."""
        self.inner.drop(steps)

    def say(self, line: str) -> None:
        """Pass it on."""
        self.inner.say(line)

    def fail(self, failure: str) -> None:
        """Pass it on."""
        self.inner.fail(failure)


class Reasons(Progress):
    """Keeps why something failed instead of showing it."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def fail(self, failure: str) -> None:
        """Keep it."""
        self.reasons.append(failure)


class PlainLines(Progress):
    """Plain lines on standard error: messages, and every tenth of the work with the time left."""

    def __init__(self) -> None:
        self.total, self.done, self.began = 0, 0, monotonic()

    def begin(self, total: int) -> None:
        """More steps are ahead."""
        self.total, self.done, self.began = total, 0, monotonic()

    def step(self, what: str) -> None:
        """Counts a step; prints a line at every tenth of many."""
        self.done += 1
        if self.total >= 10 and self.done * 10 // self.total > (self.done - 1) * 10 // self.total:
            self.say(f"{self.done * 100 // self.total:3} %  {what}{self._left()}")

    def _left(self) -> str:
        left = (monotonic() - self.began) / self.done * (self.total - self.done)
        return f", about {duration(left)} left" if left >= 1 else ""

    def drop(self, steps: int) -> None:
        """So many steps are no longer ahead."""
        self.total -= steps

    def say(self, line: str) -> None:
        """Print a line."""
        print(printable(line), file=sys.stderr, flush=True)

    def fail(self, failure: str) -> None:
        """Print it."""
        self.say(_failed(failure))


class Terminal(Progress):
    """A bar with the time left, on standard error, which moves with the steps alone."""

    def __init__(self, doing: str, file: TextIO | None = None) -> None:
        self.doing, self.file = doing, file or sys.stderr
        self.bar: Any = None
        self._write("preparing")

    def begin(self, total: int) -> None:
        """Start the bar anew."""
        from click import progressbar

        self.clear()
        self.bar = progressbar(
            length=total,
            file=self.file,
            width=WIDTH_OF_BAR,
            show_pos=True,
            item_show_func=lambda what: what or self.doing,
            bar_template="[%(bar)s]  %(info)s",
        )
        self.bar.render_progress()

    def step(self, what: str) -> None:
        """Move the bar."""
        self.bar.update(1, shorten(what, WIDTH))

    def drop(self, steps: int) -> None:
        """Shorten the bar."""
        self.bar.length -= steps
        self.bar.render_progress()

    def say(self, line: str) -> None:
        """Print a line in the place of the bar, which comes back below it with the next step."""
        self._write(f"{printable(line)}\n")

    def fail(self, failure: str) -> None:
        """Print it in the same way."""
        self.say(_failed(failure))

    def clear(self) -> None:
        """Take the bar away."""
        self._write("")

    def _write(self, text: str) -> None:
        self.file.write(f"{CLEARED}{text}")
        self.file.flush()


def _failed(failure: str) -> str:
    # it may quote names from files: one line, and nothing that a terminal obeys
    return f"failed: {shorten(failure, LONGEST_FAILURE)}"


@contextmanager
def shown(*, quiet: bool = False, doing: str = "measuring") -> Iterator[Progress]:
    """The display that fits standard error; ``doing`` labels the bar before the first step."""
    if quiet:
        yield Progress()
    elif not sys.stderr.isatty():
        yield PlainLines()
    else:
        bar = Terminal(doing)
        try:
            yield bar
        finally:
            bar.clear()
