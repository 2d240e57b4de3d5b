"""Samples of a tree of processes and of the machine, taken by a thread while somebody waits for the tree."""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from perfvcs.collectors.counters import machine
from perfvcs.collectors.counters.events import PERF_EVENTS, Events
from perfvcs.collectors.counters.processes import CounterValues
from perfvcs.collectors.counters.tree import ProcessTree

PROCESSOR_SHARE = 0.1  # of one processor that sampling takes at most: larger trees are sampled less often
MOST_SAMPLES = 10_000  # samples; a longer run keeps every second, from then on takes half as many, and so on
RATE_DIGITS = 7  # of a rate


@dataclass
class Sampled:
    """Rows of numbered intervals: the tree's and the machine's. ``used`` is what the tree took from beginning to end."""

    number: list[int] = field(default_factory=list)
    tree: list[CounterValues] = field(default_factory=list)
    machine: list[CounterValues] = field(default_factory=list)
    used: CounterValues = field(default_factory=dict)
    hidden: int = 0
    slow: bool = False

    def cut(self, last: int) -> None:
        """Leave out the rows after a number."""
        count = bisect_right(self.number, last)
        for rows in (self.number, self.tree, self.machine):
            del rows[count:]

    def thin(self) -> None:
        """Keep every second row."""
        for rows in (self.number, self.tree, self.machine):
            del rows[::2]


@dataclass(frozen=True)
class _Moment:
    at: float
    tree: tuple[CounterValues, CounterValues]
    machine: tuple[CounterValues, CounterValues]
    events: CounterValues


class TreeSampler:
    """Samples the tree below a process every ``interval`` seconds, from ``watch`` until ``stop``."""

    def __init__(self, interval: float, skip: float = 0.0, groups: Sequence[str] = ()) -> None:
        self.interval, self.skip, self.groups = interval, skip, groups
        self.found = Sampled()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def watch(self, root: int, events: Events | None = None) -> None:
        """Begin with all that the launcher ``root`` starts."""
        self._thread = threading.Thread(
            target=self._run,
            args=(ProcessTree(root, groups=self.groups), events),
            name="perfvcs-sampler",
            daemon=True,
        )
        self._thread.start()

    def stop(self) -> Sampled:
        """End, and hand out what was sampled; raises what went wrong."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self.found

    def _run(self, tree: ProcessTree, events: Events | None) -> None:
        try:
            start = _moment(tree, events)
            if not self._over.wait(self.skip):
                self._sample(tree, events)
            end = _moment(tree, events)
            if self.skip:
                self.found.cut(math.floor((end.at - start.at - 2 * self.skip) / self.interval))
            self.found.used = {name: max(0.0, value - start.tree[1][name]) for name, value in end.tree[1].items()}
            self.found.used |= {name: value - start.events[name] for name, value in end.events.items()}
        except Exception as error:  # it is raised where the samples are asked for
            self._error = error
        finally:
            self.found.hidden = len(tree.hidden)
            tree.close()

    def _sample(self, tree: ProcessTree, events: Events | None) -> None:
        first = before = _moment(tree, events)
        number = step = 1
        while not self._over.wait(max(0.0, first.at + number * self.interval - time.monotonic())):
            spent = time.thread_time()
            now = _moment(tree, events)
            rest = (time.thread_time() - spent) / PROCESSOR_SHARE
            if now.tree[0]["processes"]:
                self.found.number.append(number)
                self.found.tree.append(_row(now.tree, before.tree, now.at - before.at) | _rates(now, before))
                self.found.machine.append(_row(now.machine, before.machine, now.at - before.at))
            before = now
            if len(self.found.number) >= MOST_SAMPLES:
                self.found.thin()
                step *= 2
            number = max(number + step, math.ceil((now.at + rest - first.at) / self.interval))
            self.found.slow |= rest > self.interval


def _moment(tree: ProcessTree, events: Events | None) -> _Moment:
    at = time.monotonic()
    return _Moment(at, tree.read(), machine.read(), events.read() if events else {})


def _row(now: tuple[CounterValues, CounterValues], before: tuple[CounterValues, CounterValues], passed: float) -> CounterValues:
    """Levels, and what was used since ``before`` per second."""
    return now[0] | {name: _rate(value - before[1].get(name, value), passed) for name, value in now[1].items()}


def _rates(now: _Moment, before: _Moment) -> CounterValues:
    return {PERF_EVENTS[name][0]: _rate(count - before.events[name], now.at - before.at) for name, count in now.events.items()}


def _rate(used: float, passed: float) -> float:
    """Per second, in as many digits as mean anything; what went down belonged to a process that nobody waited for."""
    return float(f"{max(0.0, used) / passed:.{RATE_DIGITS}g}")
