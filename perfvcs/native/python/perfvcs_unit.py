"""Counts one unit of a program: what runs units says when each begins and ends, and counters count
while the one runs that PERFVCS_UNIT names, or each of them by itself where that is ``*``.

A counter has ``begin()`` and ``end(run)``, where ``run`` is the number of that run of the unit in
this process, 0 if it does not count. Processes that the unit starts see that number in
PERFVCS_INSIDE, and count from their beginning. The file stands alone, for Python 3.7 and newer.
"""

from __future__ import annotations

import gc
import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VARIABLE = "PERFVCS_UNIT"
INSIDE = "PERFVCS_INSIDE"
EVERY = "*"
# the preloaded library that counts has these two functions
NATIVE_BEGIN, NATIVE_END = "perfvcs_unit_begin", "perfvcs_unit_end"
# of one size; more of them say nothing new
MOST_RUNS, MOST_OF_EACH = 20, 5

counters: list[Any] = []  # those of this interpreter; they add themselves when it starts


class Unit:
    """The unit that is counted in this process; none where ``name`` is empty.

    Where it is ``every`` one, ``running`` is the one that runs, with its size, and ``inner`` has
    those that began inside another: their work is in that one's.
    """

    def __init__(self, name: str) -> None:
        self.name, self.every = name, name == EVERY
        self.runs = 0
        self.running: tuple[str, object] = ("", None)
        self.inner: set[str] = set()
        self._sizes: dict[object, int] = {}
        self._depth = 0
        self._lock = threading.Lock()

    def begin(self, name: str, size: object = None) -> bool:
        """Begin to count if ``name`` is the unit; whether ``end`` has to be called.

        A unit that begins inside itself goes on, and one that ran often enough is left alone.
        """
        if not self.name or (name != self.name and not self.every):
            return False
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                if name != self.running[0]:
                    self.inner.add(name)
                return True
            runs = self._sizes.get((name, size), 0)
            if runs >= (MOST_OF_EACH if self.every else MOST_RUNS):
                self._depth = 0
                return False
            self._sizes[name, size] = runs + 1
            self.running = name, size
            os.environ[INSIDE] = str(self.runs + 1)
        gc.collect()  # so that it collects what the unit leaves, and not what was left before
        for counter in counters:
            counter.begin()
        return True

    def end(self, *, counts: bool = True) -> None:
        """Stop counting; a run that failed does not count."""
        if self._depth == 1:
            self.runs += counts
            for counter in reversed(counters):
                counter.end(self.runs if counts else 0)
            os.environ.pop(INSIDE, None)
        self._depth -= 1


class Native:
    """A counter in a preloaded library: callgrind's switch, or the one that counts allocations."""

    def __init__(self, begin: Callable[[], object], end: Callable[[int], object]) -> None:
        self.begin, self.end = begin, end


def native() -> Native | None:
    """The functions of a preloaded library; None where none has them, or there is no ctypes."""
    if "LD_PRELOAD" not in os.environ:
        return None
    try:
        import ctypes

        library = ctypes.PyDLL(None)
        return Native(getattr(library, NATIVE_BEGIN), getattr(library, NATIVE_END))
    except (ImportError, OSError, AttributeError):
        return None


# a process that the unit started counts as a whole
unit = Unit("" if os.environ.get(INSIDE) else os.environ.get(VARIABLE, ""))
if unit.name and (_switch := native()) is not None:
    counters.append(_switch)
