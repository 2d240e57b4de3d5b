"""Samples of a tree of processes and of the machine, taken by a thread while somebody waits for the
tree.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from perfvcs.collectors.counters.events import PERF_EVENTS, Events, read_machine
from perfvcs.collectors.counters.processes import (
    LEVEL_METRICS,
    RATE_METRICS,
    CounterValues,
    Ended,
    Stat,
    WatchedProcess,
    stat,
)

MOST_READINGS = 3  # of reading when processes end meanwhile
# of one processor that sampling takes at most: larger trees are sampled less often
PROCESSOR_SHARE = 0.1
# samples; a longer run keeps every second, from then on takes half as many, and so on
MOST_SAMPLES = 10_000
RATE_DIGITS = 7  # of a rate


class ProcessTree:
    """The descendants of the launcher ``root``: children of processes that ended become its own, so
    that none is lost.
    """

    def __init__(self, root: int, *, groups: Sequence[str] = ()) -> None:
        self.root = WatchedProcess(root)
        self.members: dict[int, WatchedProcess] = {}
        self.strangers: set[int] = set()
        self.hidden: set[int] = set()
        self._groups = {group: re.compile(rf"\b{re.escape(group)}\b") for group in groups}
        self._prefixes = ("", *(f"{group}." for group in groups))
        self._left = self._zero(RATE_METRICS)

    def read(self) -> tuple[CounterValues, CounterValues]:
        """What the tree has now, and what it used so far, under the names of ``LEVEL_METRICS`` and
        ``RATE_METRICS``.

        The names of a group's begin with its own.

        A process belongs to the first group whose name is a word of its command line, or else to
        that of its parent.
        """
        self._find()
        for _ in range(MOST_READINGS):
            if self._read():
                break
        levels, used = self._zero(LEVEL_METRICS), self._zero(RATE_METRICS)
        for process in self.members.values():
            process.names = self._names(process)
            for prefix in process.names:
                _add(levels, process.levels, prefix)
                _add(used, process.passed, prefix)
                _add(used, process.own, prefix)
        _add(used, self._left)
        _add(used, self.root.passed)
        return levels, used

    def close(self) -> None:
        """Let go of all files."""
        for process in (self.root, *self.members.values()):
            process.close()

    def _read(self) -> bool:
        """Read parents, then children; False where one ended meanwhile: it may be part of what its
        parent used by now.

        A child that is still there after its parent was read was not yet handed on to it, so that
        nothing counts twice.
        """
        whole = True
        with suppress(Ended):
            self.root.read()
        for pid, process in list(self.members.items()):
            try:
                process.read()
            except Ended:
                process.close()
                for prefix in process.names:
                    _add(self._left, process.own, prefix)
                del self.members[pid]
                whole = False
            else:
                if process.hidden:
                    self.hidden.add(pid)
        return whole

    def _zero(self, names: Iterable[str]) -> CounterValues:
        return dict.fromkeys(
            (f"{prefix}{name}" for prefix in self._prefixes for name in names), 0.0
        )

    def _names(self, process: WatchedProcess | None) -> tuple[str, ...]:
        """The prefixes of the counters that a process adds to: nothing, and its group."""
        while self._groups and process is not None:
            command = process.command()
            if group := next(
                (group for group, word in self._groups.items() if word.search(command)), ""
            ):
                return "", f"{group}."
            process = self.members.get(process.parent)
        return ("",)

    def _find(self) -> None:
        """MarkStyle for new processes: only those are asked for their parents that were not there
        before.
        """
        present = set(_numbers())
        self.strangers &= present
        unknown = sorted(present - self.strangers - self.members.keys() - {self.root.pid})
        stats = {pid: read for pid in unknown if (read := stat(pid)) is not None}
        for pid in stats:
            if self._belongs(pid, stats):
                self.members[pid] = WatchedProcess(pid)
            else:
                self.strangers.add(pid)

    def _belongs(self, pid: int, stats: dict[int, Stat]) -> bool:
        """Whether a process, or one above it that is new too, is a child of one that is known."""
        seen = set()
        while pid in stats and pid not in seen:
            if pid in self.members:
                return True
            seen.add(pid)
            pid = stats[pid].parent
        return pid in self.members or pid == self.root.pid


def leader(root: int) -> int | None:
    """The command that the launcher ``root`` started, which leads a session of its own; None before
    and after it runs.
    """
    for pid in _numbers():
        if (
            (process := stat(pid))
            and process.parent == root
            and process.session == pid
            and not process.zombie
        ):
            return pid
    return None


def _numbers() -> list[int]:
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def _add(sums: CounterValues, counts: CounterValues, prefix: str = "") -> None:
    for name, value in counts.items():
        sums[prefix + name] += value


@dataclass
class Sampled:
    """Rows of numbered intervals: the tree's and the machine's.

    ``used`` is what the tree took from beginning to end.
    """

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
    """Samples the tree below a process every ``interval`` seconds, from ``watch`` until
    ``stop``.
    """

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
            self.found.used = {
                name: max(0.0, value - start.tree[1][name]) for name, value in end.tree[1].items()
            }
            self.found.used |= {
                name: value - start.events[name] for name, value in end.events.items()
            }
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
                self.found.tree.append(
                    _row(now.tree, before.tree, now.at - before.at) | _rates(now, before)
                )
                self.found.machine.append(_row(now.machine, before.machine, now.at - before.at))
            before = now
            if len(self.found.number) >= MOST_SAMPLES:
                self.found.thin()
                step *= 2
            number = max(number + step, math.ceil((now.at + rest - first.at) / self.interval))
            self.found.slow |= rest > self.interval


def _moment(tree: ProcessTree, events: Events | None) -> _Moment:
    at = time.monotonic()
    return _Moment(at, tree.read(), read_machine(), events.read() if events else {})


def _row(
    now: tuple[CounterValues, CounterValues],
    before: tuple[CounterValues, CounterValues],
    passed: float,
) -> CounterValues:
    """Levels, and what was used since ``before`` per second."""
    return now[0] | {
        name: _rate(value - before[1].get(name, value), passed) for name, value in now[1].items()
    }


def _rates(now: _Moment, before: _Moment) -> CounterValues:
    return {
        PERF_EVENTS[name][0]: _rate(count - before.events[name], now.at - before.at)
        for name, count in now.events.items()
    }


def _rate(used: float, passed: float) -> float:
    """Per second, in as many digits as mean anything; what went down belonged to a process that
    nobody waited for.
    """
    return float(f"{max(0.0, used) / passed:.{RATE_DIGITS}g}")
