"""Memory: what a program allocates, in all and by call stack, in C, C++ and Python."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from perfvcs.collectors._shared.commandrun import is_python
from perfvcs.collectors._shared.unmodified import Unmodified
from perfvcs.collectors.memory.heap import Heap, owner, text
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import Observations, Run
from perfvcs.profile import Metric, Stacks

JUDGED_METRICS = {
    "peak": Metric("B", kind="deterministic"),
    "bytes": Metric("B", kind="deterministic"),
    "count": Metric("", kind="deterministic"),
}
METRICS = JUDGED_METRICS | {
    "leaked": Metric("B", "none", "deterministic"),
    "mapped": Metric("B", "none", "deterministic"),
    "site_bytes": Metric("B", "none", "deterministic"),
    "site_count": Metric("", "none", "deterministic"),
    "site_peak": Metric("B", "none", "deterministic"),
    "site_leaked": Metric("B", "none", "deterministic"),
    "live": Metric("B", "none", "deterministic"),
    "moment": Metric("s", "none"),
}


@dataclass(frozen=True)
class Memory(Unmodified):
    """One row of totals per execution, a row for every call stack that allocated, and rows of what
    was alive when.

    ``recorder``: ``auto`` counts every allocation of native programs by a preloaded library
    (``shim``) and takes ``memray`` for Python, or ``tracemalloc`` where that is not installed.
    ``exact``: every object of Python is counted, not only what its allocator takes from the system;
    costs more. ``depth``: frames kept of a call stack, from the innermost. ``sites``: call stacks
    kept in a profile, those with the largest shares; the others are one row.
    """

    metrics: ClassVar[Mapping[str, Metric]] = METRICS

    recorder: Literal["auto", "shim", "memray", "tracemalloc"] = "auto"
    exact: bool = False
    depth: int = 64
    sites: int = 1000

    def __post_init__(self) -> None:
        for name, value, top in (("depth", self.depth, 256), ("sites", self.sites, 50_000)):
            if not 1 <= value <= top:
                raise UsageError(
                    f"memory: {name} is {value!r}: give a whole number from 1 to {top:,}"
                )
        if self.exact and self.recorder not in ("auto", "memray"):
            raise UsageError(
                f'memory: exact is for recorder = "memray": {self.recorder} has no such choice'
            )

    @property
    def engine(self) -> str:
        """The engine as far as known before an execution; its observations name the one used."""
        return f"{'allocations' if self.recorder in ('auto', 'shim') else self.recorder}/1"

    def available(self) -> str | None:
        """It runs wherever Linux does; a recorder that cannot run is named, with its cure, when
        there is a program.
        """
        if sys.platform != "linux":
            return (
                "memory needs Linux's way to load libraries into programs: measure on a Linux"
                " machine"
            )
        return None

    def collect(self, run: Run) -> Observations:
        """Execute once; raises CollectError."""
        from perfvcs.collectors._shared.testing.oneunit import whole

        return whole(run, _observations(self._record(run), run), "memory")

    def _record(self, run: Run) -> Heap:
        """What the engine that fits the program, or the one that was chosen, recorded."""
        if self.recorder in ("memray", "tracemalloc") or (
            self.recorder == "auto" and is_python(run.argv[0])
        ):
            from perfvcs.collectors.memory import python

            return python.record(run, self)
        from perfvcs.collectors.memory import shim

        return shim.record(run, self)


def _observations(heap: Heap, run: Run) -> Observations:
    """The whole process first, then its sites, then the course of its life."""
    frames: dict[str, int] = {}
    stacks: dict[tuple[int, ...], int] = {}
    rows = Observations(
        values={name: [] for name in METRICS},
        metrics=dict(METRICS),
        warnings=list(heap.warnings),
        engine=heap.engine,
    )
    totals = {
        "peak": heap.peak,
        "bytes": heap.bytes,
        "count": heap.count,
        "leaked": heap.leaked,
        "mapped": heap.mapped,
    }
    rows.add(run.uid, totals, size=run.size)
    for site in heap.sites:
        named = tuple(frames.setdefault(text(frame), len(frames)) for frame in reversed(site.stack))
        values = {
            "site_bytes": site.bytes,
            "site_count": site.count,
            "site_peak": site.peak,
            "site_leaked": site.leaked,
        }
        trace = stacks.setdefault(named, len(stacks)) if named else -1
        rows.add(owner(site.stack), values, size=run.size, trace=trace)
    for moment in heap.course:
        alive = {"live": moment.live, "moment": moment.time}
        rows.add(moment.function or run.uid, alive, size=run.size)
        rows.iteration[-1] = moment.number
    rows.stacks = Stacks(list(frames), [list(stack) for stack in stacks])
    return rows
