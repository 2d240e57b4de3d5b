"""All processes below one: found as they come, counted as they go."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from perfvcs.collectors.counters.metrics import LEVEL_METRICS, RATE_METRICS
from perfvcs.collectors.counters.processes import CounterValues, Ended, Stat, WatchedProcess, stat

MOST_READINGS = 3  # of reading when processes end meanwhile


class ProcessTree:
    """The descendants of the launcher ``root``: children of processes that ended become its own, so that none is lost."""

    def __init__(self, root: int, *, groups: Sequence[str] = ()) -> None:
        self.root = WatchedProcess(root)
        self.members: dict[int, WatchedProcess] = {}
        self.strangers: set[int] = set()
        self.hidden: set[int] = set()
        self._groups = {group: re.compile(rf"\b{re.escape(group)}\b") for group in groups}
        self._prefixes = ("", *(f"{group}." for group in groups))
        self._left = self._zero(RATE_METRICS)

    def read(self) -> tuple[CounterValues, CounterValues]:
        """What the tree has now, and what it used so far, under the names of ``LEVEL_METRICS`` and ``RATE_METRICS``.

        The names of a group's begin with its own.

        A process belongs to the first group whose name is a word of its command line, or else to that of its parent.
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
        """Read parents, then children; False where one ended meanwhile: it may be part of what its parent used by now.

        A child that is still there after its parent was read was not yet handed on to it, so that nothing counts twice.
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
        return dict.fromkeys((f"{prefix}{name}" for prefix in self._prefixes for name in names), 0.0)

    def _names(self, process: WatchedProcess | None) -> tuple[str, ...]:
        """The prefixes of the counters that a process adds to: nothing, and its group."""
        while self._groups and process is not None:
            command = process.command()
            if group := next((group for group, word in self._groups.items() if word.search(command)), ""):
                return "", f"{group}."
            process = self.members.get(process.parent)
        return ("",)

    def _find(self) -> None:
        """MarkStyle for new processes: only those are asked for their parents that were not there before."""
        present = set(_numbers())
        self.strangers &= present
        unknown = sorted(present - self.strangers - self.members.keys() - {self.root.pid})
        about = {pid: found for pid in unknown if (found := stat(pid)) is not None}
        for pid in about:
            if self._belongs(pid, about):
                self.members[pid] = WatchedProcess(pid)
            else:
                self.strangers.add(pid)

    def _belongs(self, pid: int, about: dict[int, Stat]) -> bool:
        """Whether a process, or one above it that is new too, is a child of one that is known."""
        seen = set()
        while pid in about and pid not in seen:
            if pid in self.members:
                return True
            seen.add(pid)
            pid = about[pid].parent
        return pid in self.members or pid == self.root.pid


def leader(root: int) -> int | None:
    """The command that the launcher ``root`` started, which leads a session of its own; None before and after it runs."""
    for pid in _numbers():
        if (found := stat(pid)) and found.parent == root and found.session == pid and not found.zombie:
            return pid
    return None


def _numbers() -> list[int]:
    """The numbers of all processes."""
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdecimal()]


def _add(sums: CounterValues, counts: CounterValues, prefix: str = "") -> None:
    for name, value in counts.items():
        sums[prefix + name] += value
