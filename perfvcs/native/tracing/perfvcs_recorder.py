"""Durations of calls and their sizes in pure Python: a bounded sample per function and bucket of sizes, written as records.

It is what records where no C compiler is. The format of the file is that of ``perfvcs.complexity.recording``.
"""

from __future__ import annotations

import os
import struct
import sys
from _random import Random  # the program's own random numbers must stay what they are
from _thread import _local, allocate_lock, get_ident
from math import exp, floor, frexp, isinf, log, log1p, nan
from time import perf_counter_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ROW = 3  # values of a call: when it started and ended, and its cost; in ns
RECORD = struct.Struct("<IIQdddd")
HEADER = struct.Struct("<8sII")
MAGIC, VERSION = b"PVCSCALL", 1
UNFINISHED = 1 << 30  # added to a function's number: the record tells how many of its calls did not end
MASK = (1 << 64) - 1
INTERVAL = 50_000_000  # ns after which rows are thinned
SAVED = 20  # the file is written anew when this many times the duration of the last writing have passed
STEPS: tuple[float, ...] = tuple(2.0 ** (step / 4 - 1) for step in range(4))  # quarters of a doubling, as mantissas of frexp


def bucket(size: float) -> int:
    """The number of the bucket of a size: four for each doubling, and one each for zero, negative sizes and NaN.

    >>> bucket(8.0) - bucket(4.0), bucket(7.0) == bucket(7.5)
    (4, True)
    """
    if size > 0:
        mantissa, exponent = frexp(size)
        return 4 * max(-15, min(64, exponent)) + sum([mantissa >= step for step in STEPS]) + 100
    return 0 if size == 0 else 1 if size < 0 else 2


def number(size: Any) -> float:
    """A size as a float; raises what the conversion raises, ValueError for what is not finite."""
    if isinstance(size, (str, bytes, bytearray)):
        raise TypeError(f"{type(size).__name__} is not a number")
    value = float(size)
    if isinf(value):
        raise ValueError(f"{value} is not a finite number")
    return value


class Reservoir:
    """A uniform random sample of at most ``keep`` rows out of all that came; skips as in Li 1994 (algorithm L)."""

    __slots__ = ("keep", "next", "random", "rows", "seen", "weight")

    def __init__(self, keep: int, random: Random) -> None:
        self.keep = keep
        self.random = random
        self.rows: list[tuple[float, ...]] = []  # size, start, end, cost
        self.seen = 0
        self.weight = 1.0
        self.next = -1

    def extend(self, size: float, values: list[float]) -> None:
        """Offer rows of one size, one after the other."""
        count = len(values) // ROW
        missing = min(count, self.keep - len(self.rows))
        self.rows += [(size, *values[ROW * at : ROW * (at + 1)]) for at in range(missing)]
        start, self.seen = self.seen, self.seen + count
        if self.seen <= self.keep:
            return
        if self.next < 0:
            self.next = self.keep - 1
            self._skip()
        while self.next < self.seen:
            at = ROW * (self.next - start)
            self.rows[int(self.random.random() * self.keep)] = (size, *values[at : at + ROW])
            self._skip()

    def _skip(self) -> None:
        self.weight *= exp(log(1 - self.random.random()) / self.keep)
        self.next += 1 + floor(log(1 - self.random.random()) / log1p(-self.weight))


class Function:
    """What was recorded of one function: new rows by their size, and the samples by bucket; ``begun`` counts generators not ended."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.new: dict[float, list[float]] = {}  # start, end and cost of a call, those of the next, and so on
        self.kept: dict[int, Reservoir] = {}
        self.begun = 0
        self.since = 0  # ns; what began before that is the parent's, of which this process was forked

    def thin(self, keep: int, random: Random) -> None:
        """Move the new rows into the samples."""
        for given in list(self.new):
            rows = self.new.pop(given)  # calls of other threads may make the entry anew at any moment
            if self.since:
                starts = range(0, len(rows), ROW)
                rows = [value for at in starts if rows[at] >= self.since for value in rows[at : at + ROW]]
            try:
                size = float(given)
            except OverflowError:  # an integer of hundreds of digits
                size = nan
            key = bucket(size)
            if key not in self.kept:
                self.kept[key] = Reservoir(keep, random)
            self.kept[key].extend(size, rows)

    def clear(self) -> None:
        """Forget everything, as a forked child has to."""
        self.new.clear()
        self.kept.clear()
        self.begun = 0
        self.since = perf_counter_ns()

    def records(self) -> bytes:
        """The samples as records of the file."""
        found = []
        for sample in self.kept.values():
            rate = max(1.0, sample.seen / sample.keep)
            found += [
                RECORD.pack(self.index, 0, int(start) & MASK, size, end - start, cost, rate)
                for size, start, end, cost in sample.rows
            ]
        if self.begun:
            found.append(RECORD.pack(UNFINISHED | self.index, 0, self.begun, nan, 0.0, 0.0, 1.0))
        return b"".join(found)


class Probe:
    """What stands in the body of one function: ``enter(size)`` and ``leave()``, or ``begin(size)`` where it yields or awaits.

    ``current()`` is the handle of the running call of a generator or coroutine, ``pause(value)`` stops its clock and returns the value.
    """

    def __init__(self, function: Function, *parts: Callable[..., Any]) -> None:
        self.function = function
        self.enter, self.leave, self.begin, self.pause, self.current, self.charge = parts

    def guessing(self, guess: Any) -> Any:
        """What gives the size of a call, and charges for it."""
        charge = self.charge

        def size(*values: Any) -> Any:
            start = perf_counter_ns()
            found = guess(*values)
            charge(perf_counter_ns() - start)
            return found

        return size


class Recorder:
    """Makes the probes of functions and keeps what they record in the file ``path()`` of this process."""

    engine = "rewrite/1"

    def __init__(self, path: Callable[[], str], keep: int, outermost: bool, due: int = 0) -> None:
        self.path = path
        self.keep = keep
        self.functions: list[Function] = []
        self.random = Random()
        self.lock = allocate_lock()
        self.save_at = 0
        held: set[int] = set()
        self._probe, self.charge, self.set_costs = _probes(self._maintain, outermost, due, held)
        self.held = held  # threads that compute a size: what they call meanwhile is not the program's

    def probe(self, index: int, stored: bool = True) -> Probe:  # noqa: ARG002
        """The probe of one function."""
        function = Function(index)
        self.functions.append(function)
        return self._probe(function)

    def forget(self) -> None:
        """Start anew, in a forked child: what was recorded until then belongs to the parent."""
        self.lock = allocate_lock()
        self.random = Random()
        for function in self.functions:
            function.clear()

    def last_duration(self) -> int:
        """The duration of the latest call of the first function, in ns."""
        start, end, _ = next(iter(self.functions[0].new.values()))[-ROW:]
        return int(end - start)

    def hold(self, on: bool) -> bool:
        """Record no calls of this thread from now on, or do again; returns how it was."""
        thread = get_ident()
        before = thread in self.held
        (self.held.add if on else self.held.discard)(thread)
        return before

    def _maintain(self, now: int) -> int:
        """Thin the rows and write the file when it is time to; returns when to be called again."""
        if not self.lock.acquire(False):
            return now + INTERVAL
        try:
            for function in self.functions:
                function.thin(self.keep, self.random)
            if now >= self.save_at:
                begun = perf_counter_ns()
                self._write()
                end = perf_counter_ns()
                self.save_at = end + max(INTERVAL, SAVED * (end - begun))
        except RecursionError:
            pass  # the program is near its limit: later will do
        finally:
            self.lock.release()
        return perf_counter_ns() + INTERVAL

    def save(self) -> None:
        """Write what was recorded, at the end of the process, which nothing may disturb."""
        with self.lock:
            for function in self.functions:
                function.thin(self.keep, self.random)
            self._write()

    def _write(self) -> None:
        """Write the file anew and rename it into place; on a full disk or without the folder nothing is written."""
        content = b"".join(function.records() for function in self.functions)
        if not content:
            return
        path = self.path()
        try:
            descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                rest = memoryview(HEADER.pack(MAGIC, VERSION, len(self.functions)) + content)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
            finally:
                os.close(descriptor)
            os.rename(path + ".new", path)  # noqa: PTH104
        except OSError:
            return


def _probes(
    maintain: Callable[[int], int], outermost: bool, due: int, held: set[int]
) -> tuple[Callable[[Function], Probe], Callable[[float], None], Callable[[float, float], None]]:
    """What makes probes; they share what recording has cost until now, as part of the duration of whoever is running.

    ``maintain`` is called from ``due`` on. ``inside`` is what a probe takes within the call that it measures, ``total`` what it takes
    in all, both in ns.
    """
    clock = perf_counter_ns
    spent = inside = total = 0.0

    def charge(cost: float) -> None:
        nonlocal spent
        spent += cost

    def set_costs(within: float, all_of_it: float) -> None:
        nonlocal inside, total
        inside, total = within, all_of_it

    def keep_house(now: int) -> None:
        nonlocal due, spent
        due = now + INTERVAL  # other threads go on meanwhile
        due = maintain(now)
        spent += clock() - now

    def costs() -> tuple[float, float, float]:
        return spent, inside, total

    def house(now: int) -> None:
        if now >= due:
            keep_house(now)

    def make(function: Function) -> Probe:
        local = _local()
        new = function.new

        def enter(size: Any) -> None:
            if type(size) is not int:
                size = number(size)
            try:
                local.calls.append((size, spent, clock()))
            except AttributeError:
                local.calls = [(size, spent, clock())]

        def leave() -> None:
            nonlocal spent
            end = clock()
            calls = local.calls
            size, before, start = calls.pop()
            if not (calls and outermost) and not (held and get_ident() in held):
                try:
                    rows = new[size]
                except KeyError:
                    rows = new[size] = []
                rows += (start, end, spent - before + inside)  # not as a tuple: the garbage collector would look after it
                if end >= due:
                    keep_house(end)
            spent += total

        shared = Shared(costs, charge, house, outermost, held)
        return Probe(function, enter, leave, *suspending(function, local, shared), charge)

    return make, charge, set_costs


class Shared:
    """What the probes of generators and coroutines need of the others: (spent, inside, total), and ways to change that."""

    def __init__(
        self,
        costs: Callable[[], tuple[float, float, float]],
        charge: Callable[[float], None],
        house: Callable[[int], None],
        outermost: bool,
        held: set[int],
    ) -> None:
        self.costs, self.charge, self.house, self.outermost, self.held = costs, charge, house, outermost, held


def suspending(function: Function, local: Any, shared: Shared) -> tuple[Callable[..., Any], ...]:
    """``begin``, ``pause`` and ``current`` of a generator or coroutine; ``local`` has the calls that run in each thread."""
    clock = perf_counter_ns
    live: dict[int, Handle] = {}  # calls that have begun and not ended, by their frames

    class Handle:
        """One call: it runs in pieces, and what it took is their sum."""

        __slots__ = ("before", "calls", "cost", "first", "frame", "recorded", "running", "size", "start", "taken")

        def __init__(self, size: Any) -> None:
            self.size = size
            self.running = False
            self.taken = 0
            self.cost = 0.0

        def __enter__(self) -> None:
            calls = getattr(local, "calls", ())
            self.recorded = not (shared.outermost and calls) and get_ident() not in shared.held
            function.begun += self.recorded
            self.frame = id(sys._getframe(1))
            live[self.frame] = self
            self.resume()
            self.first = self.start

        def resume(self) -> None:
            if self.running:
                return
            self.running = True
            try:
                self.calls = local.calls
            except AttributeError:
                self.calls = local.calls = []
            self.calls.append(self)
            self.before = shared.costs()[0]
            self.start = clock()

        def pause(self) -> None:
            end = clock()
            if not self.running:
                return
            spent, inside, total = shared.costs()
            self.running = False
            self.taken += end - self.start
            self.cost += spent - self.before + inside
            if self in self.calls:
                self.calls.remove(self)
            shared.charge(total)

        def __exit__(self, kind: Any, *_: object) -> None:
            self.pause()
            live.pop(self.frame, None)
            if self.recorded and kind is not GeneratorExit:
                function.begun -= 1
                function.new.setdefault(self.size, []).extend((self.first, self.first + self.taken, self.cost))
                shared.house(clock())

    def current() -> Handle:
        frame = sys._getframe(1)
        while id(frame) not in live:  # an asynchronous comprehension has a frame of its own before Python 3.12
            frame = frame.f_back  # type: ignore[assignment]
        handle = live[id(frame)]
        handle.resume()  # it stands still when an exception was thrown into it where it had yielded
        return handle

    def pause(value: Any) -> Any:
        local.calls[-1].pause()
        return value

    return Handle, pause, current
