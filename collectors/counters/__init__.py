"""What a command, or a service under load, uses over time: about thirty counters of all its
processes together.
"""

from __future__ import annotations

import math
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from perfvcs import launcher
from perfvcs.collectors._shared.harnessoutput import reporting
from perfvcs.collectors._shared.unmodified import Unmodified
from perfvcs.collectors.counters.events import Events
from perfvcs.collectors.counters.processes import MACHINE_ROWS, sampled
from perfvcs.collectors.counters.service import Running, Service
from perfvcs.collectors.counters.treesampler import TreeSampler
from perfvcs.errors import UsageError
from perfvcs.launcher.execution import Execution, name_command
from perfvcs.launcher.samples import ReportedSamples
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import Metric
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.collectors.counters.treesampler import Sampled, TreeSampler

FEWEST_SAMPLES = 5  # with fewer samples `perf check` cannot judge
GROUP = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,29}")
TOTALS = {
    "wall": Metric("s"),
    "cpu": Metric("s"),
    "maxrss": Metric("B"),
    "peak_rss": Metric("B", "none"),
    "minor_faults": Metric("", "none"),
    "major_faults": Metric("", "none"),
    "voluntary_switches": Metric("", "none"),
    "involuntary_switches": Metric("", "none"),
    "read_chars": Metric("B", "none"),
    "write_chars": Metric("B", "none"),
    "read_bytes": Metric("B", "none"),
    "write_bytes": Metric("B", "none"),
}
STARTUP = {"startup": Metric("s")}
LAUNCHER_ONLY = ("maxrss", "read_chars", "write_chars", "read_bytes", "write_bytes")


@dataclass(frozen=True)
class Counters(Unmodified):
    """A row of the exact totals, a row per sample of all processes together, and one of the machine
    beside it.

    ``interval``: seconds between two samples. ``skip``: seconds at the beginning and at the end
    that are not sampled. ``service``: what is started first and sampled while the job's command,
    the load, asks it; then ``wall`` is the load's, all else is the service's. ``groups``: words;
    those processes that have one in their command line, and what these start, have the counters
    once more under its name. ``events``: whether the kernel's and the processor's own counts are
    taken too, if that is permitted; then switching between processes takes some percent longer.
    """

    interval: float = 0.1
    skip: float = 0.0
    service: Service | None = None
    groups: tuple[str, ...] = ()
    events: bool = False

    def __post_init__(self) -> None:
        if not 0.01 <= self.interval <= 3600:
            raise UsageError(f"counters: interval is {self.interval!r}: give 0.01 to 3600 seconds")
        if not 0 <= self.skip < math.inf:
            raise UsageError(f"counters: skip is {self.skip!r}: give a number of seconds")
        for group in self.groups:
            if not GROUP.fullmatch(group):
                raise UsageError(
                    f"counters: {group!r} cannot name a group: take a letter, then up to 29"
                    " letters, digits, `_` or `-`"
                )

    @property
    def engine(self) -> str:
        """``proc``, the events that are counted, and what launches the command:
        ``proc+launcher/1``, ``proc+perf+launcher/1``.
        """
        return "+".join(part for part in ("proc", self._events()[0], launcher.engine()) if part)

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The totals, then the counters that are sampled."""
        native = launcher.fallback_reason() is None
        totals = {
            name: metric for name, metric in TOTALS.items() if native or name not in LAUNCHER_ONLY
        }
        return totals | (STARTUP if self.service else {}) | sampled(self.groups) | self._events()[1]

    def available(self) -> str | None:
        """It runs wherever Linux shows its /proc."""
        if sys.platform != "linux":
            return "counters reads Linux's /proc: measure on a Linux machine"
        if not os.access("/proc/self/stat", os.R_OK):
            return "counters cannot read /proc: mount it (mount -t proc proc /proc)"
        return None

    def collect(self, run: Run) -> Observations:
        """Execute once; raises CollectError."""
        sampler = TreeSampler(self.interval, self.skip, self.groups)
        if self.service is None:
            return self._observed(run, self._alone(run, sampler))
        return self._observed(run, self._served(self.service, run, sampler))

    def _events(self) -> tuple[str, dict[str, Metric]]:
        if not self.events:
            return "", {}
        from perfvcs.collectors.counters import events

        return events.available()[0], events.metrics()

    def _alone(self, run: Run, sampler: TreeSampler) -> _Executed:
        events = Events() if self.events else None
        try:
            try:
                execution, reported = _launch(
                    run, self.metrics, lambda root: sampler.watch(root, events)
                )
            finally:
                sampled = sampler.stop()
            counted = events.read() if events else {}
        finally:
            if events:
                events.close()
        return _Executed(_totals(execution) | counted, sampled, reported, _left(run, execution))

    def _served(self, service: Service, run: Run, sampler: TreeSampler) -> _Executed:
        load = _Load()
        with Running(service, run) as running:
            asking = replace(run, argv=running.filled(run.argv))
            running.when_over(load.stop)
            sampler.watch(running.root, running.events if self.events else None)
            try:
                execution, reported = _launch(asking, self.metrics, load.begun)
            finally:
                load.close()
                sampled = sampler.stop()
        assert running.execution is not None
        used = {name: value for name, value in sampled.used.items() if name in self._events()[1]}
        load_values = {
            "wall": execution.wall,
            "cpu": sampled.used.get("cpu_use"),
            "startup": running.startup,
        }
        return _Executed(
            _totals(running.execution) | load_values | used,
            sampled,
            reported,
            _left(run, execution) + running.warnings,
        )

    def _observed(self, run: Run, executed: _Executed) -> Observations:
        """The columns: totals, samples, the machine's samples, and what the command itself
        reported.
        """
        reported = executed.reported
        if MACHINE_ROWS in reported.uid or run.uid == MACHINE_ROWS:
            raise CollectError(
                f"{MACHINE_ROWS!r} names the rows of the whole machine: give the job (or what the"
                " command reports) another name"
            )
        sampled = executed.sampled
        whole, count = 1 + len(sampled.number), len(sampled.number)
        peak = {"peak_rss": max((row["rss"] for row in sampled.tree), default=None)}
        rows: list[Mapping[str, float | None]] = [
            {**executed.totals, **peak},
            *sampled.tree,
            *sampled.machine,
        ]
        metrics = dict(self.metrics) | reported.metrics
        return Observations(
            uid=[run.uid] * whole + [MACHINE_ROWS] * count + reported.uid,
            size=[run.size] * whole + [None] * count + reported.size,
            iteration=[0, *sampled.number, *sampled.number, *reported.iteration],
            mark=[0] * (whole + count) + (reported.mark or [0] * len(reported.uid)),
            values={
                name: [row.get(name) for row in rows] + _column(reported, name) for name in metrics
            },
            metrics=metrics,
            warnings=executed.warnings + self._doubts(sampled),
        )

    def _doubts(self, sampled: Sampled) -> list[str]:
        """What the samples cannot show, each with its cure."""
        doubts = [reason] if (reason := launcher.fallback_reason()) else []
        if (count := len(sampled.number)) < FEWEST_SAMPLES:
            # the larger share of what left no room for samples
            skipping = self.skip and 2 * self.skip >= self.interval
            cure = (
                f"`skip` ({self.skip:g} s at both ends)"
                if skipping
                else f"`interval` ({self.interval:g} s)"
            )
            doubts.append(
                f"it ended after {counted(count, 'sample')}: shorten {cure} or give it more to do"
            )
        if sampled.hidden:
            doubts.append(
                f"{sampled.hidden} of its processes belong to another user, whose counters are"
                " hidden: run perf as root"
            )
        if sampled.slow:
            doubts.append(
                f"it has too many processes to be sampled every {self.interval:g} s: raise"
                " `interval`"
            )
        return doubts


class _Executed(NamedTuple):
    """An execution: its totals by metric, its samples, what the command itself or its harness
    reported, and what to doubt about it.
    """

    totals: Mapping[str, float | None]
    sampled: Sampled
    reported: ReportedSamples
    warnings: list[str]


class _Load:
    """The load command, so that it can be stopped when there is nobody left to answer it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = -1
        self._stopped = False

    def begun(self, root: int) -> None:
        with self._lock, suppress(OSError):  # before Linux 5.3 it goes on to its time-out
            self._process = os.pidfd_open(root)
        if self._stopped:
            self.stop()

    def stop(self) -> None:
        self._stopped = True
        with self._lock, suppress(ProcessLookupError):
            if self._process >= 0:
                signal.pidfd_send_signal(self._process, signal.SIGTERM)

    def close(self) -> None:
        with self._lock:
            if self._process >= 0:
                os.close(self._process)
            self._process = -1


def _launch(
    run: Run, metrics: Mapping[str, Metric], started: Callable[[int], None]
) -> tuple[Execution, ReportedSamples]:
    options = launcher.LaunchOptions(run.cpus, run.aslr, started=started)
    return reporting(run, options, run.scratch / "samples.jsonl", metrics)


def _totals(execution: Execution) -> dict[str, float | None]:
    return {name: getattr(execution, name, None) for name in TOTALS}


def _left(run: Run, execution: Execution) -> list[str]:
    if not execution.leftover:
        return []
    return [
        f"{name_command(run.argv)} left {execution.leftover} process(es) running, which perf"
        " stopped: wait for what it starts"
    ]


def _column(reported: ReportedSamples, name: str) -> list[float | None]:
    return reported.values.get(name) or [None] * len(reported.uid)
