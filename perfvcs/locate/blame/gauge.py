"""What a difference is shown and proved by: a metric of the benchmark under a collector."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec.structs import replace

from perfvcs.errors import UsageError
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.harness import fits_to_clock
from perfvcs.locate.blame.laboratory import NOT_COUNTED, Laboratory, UnmeasurableVersion, level
from perfvcs.locate.blame.question import Question
from perfvcs.profile import Profile
from perfvcs.profile.naming import ONCE
from perfvcs.profile.summary import summarise
from perfvcs.text.words import COUNTS

BlameMetric = Literal["auto", "instructions", "bytecodes", "cpu", "allocated"]
BYTES, SECONDS = "B", "s"
NO_VALGRIND = "without valgrind functions of C are known by their time only: apt install valgrind"
UNSTEADY = "its harness runs {} as often as the clock allows, so that its work cannot be counted"


class Gauge(NamedTuple):
    """``metric`` of a ``unit`` at a ``size``, measured by ``cell``; without a unit, the total of
    what that counts.

    ``scale`` is what values are in ("s", "B"). ``exact``: one execution says all.
    """

    metric: str
    cell: Cell
    scale: str = ""
    exact: bool = False
    unit: str = ""
    size: float | None = None

    def levels(self, profile: Profile) -> list[float]:
        """The value of each execution; raises UnmeasurableVersion where the unit has none."""
        if not self.unit:
            return level(profile, self.metric if self.metric in profile.metrics else "")
        wanted = self.unit.removesuffix(ONCE)
        for summary in summarise(profile):
            if (
                summary.uid.removesuffix(ONCE) == wanted
                and summary.metric == self.metric
                and self.size in (None, summary.size)
            ):
                by_execution = sorted(zip(summary.executions, summary.medians, strict=True))
                return [value for _, value in by_execution]
        raise UnmeasurableVersion(
            f"{self.unit} was not measured on {profile.commit[:10]}: does it run there?"
        )


class Gauges:
    """All that one question can be measured by; ``notes`` say what is missing here."""

    def __init__(self, laboratory: Laboratory, question: Question, metric: BlameMetric) -> None:
        self.laboratory, self.question, self.metric = laboratory, question, metric
        self.python = laboratory.runs_python()
        self.notes: list[str] = []

    def own(self) -> Gauge:
        """By what the benchmark moved, as its job measures it; processor time where that is not
        known.
        """
        question = self.question
        if not question.metric or (self.metric == "cpu" and not question.unit):
            return Gauge("cpu", self.whole(), SECONDS)
        known = question.cell.collector.metrics.get(question.metric)
        if known is None and question.metric in COUNTS:  # it was counted beside the job's time
            return Gauge("cpu", self.whole(), SECONDS)
        return Gauge(
            question.metric,
            self.laboratory.own(),
            question.scale,
            known is not None and known.kind == "deterministic",
            question.unit,
            question.size,
        )

    def exact(self) -> list[Gauge]:
        """The exact metrics that can be counted here, the one that says most first; raises
        UsageError where the one asked for cannot.
        """
        if self._is_unsteady():
            unsteady = UNSTEADY.format(self.question.unit)
            if self.metric not in ("auto", "cpu"):
                raise UsageError(f"{unsteady}: leave out --metric")
            self.notes.append(f"{unsteady}: functions are sampled")
            return []
        wanted: list[BlameMetric] = []
        if self.metric == "allocated" or (self.metric, self.question.scale) == ("auto", BYTES):
            wanted.append("allocated")
        compiler = self.laboratory.runtime
        if self.metric == "instructions" or (self.metric == "auto" and not compiler):
            wanted.append("instructions")
        elif compiler:
            self.notes.append(f"{compiler} compiles while the program runs: functions are sampled")
        if self.python and self.metric != "cpu":
            wanted.append("bytecodes")
        gauges = []
        for metric in wanted:
            gauge = self._counting(metric)
            reason = gauge.cell.collector.available()
            if reason and self.metric == metric:
                raise UsageError(reason)
            if reason is None:
                gauges.append(gauge)
            elif metric == "instructions":
                self.notes.append(NOT_COUNTED if self.laboratory.serves() else NO_VALGRIND)
        return gauges

    def _is_unsteady(self) -> bool:
        """Whether the harness fits to the clock how often it runs the unit."""
        return bool(self.laboratory.unit) and fits_to_clock(self.question.cell.reads)

    def _counting(self, metric: BlameMetric) -> Gauge:
        under = self.laboratory.under
        if metric == "bytecodes":
            return Gauge(metric, under("bytecode", warm=False), exact=True)
        if metric == "allocated":
            return Gauge(metric, under("memory"), BYTES, exact=True)
        # of a Python program the total alone, since the functions that valgrind sees are the
        # interpreter's; only callgrind counts inside a unit
        total = self.python and not self.laboratory.unit
        cell = under(
            "instructions",
            tool="cachegrind" if total else "callgrind",
            repeat=0,
            inlined=not self.python,
        )
        return Gauge(metric, cell, exact=True)

    def approximate(self) -> dict[str, Cell]:
        """What shows the functions without counting: processor time by function of Python, samples
        and allocations of compiled programs.
        """
        under = self.laboratory.under
        if self.python:
            return {"python time": under("bytecode", meter="time", warm=False)}
        cells = {"samples": under("samples"), "allocations": under("memory")}
        reasons = {name: cell.collector.available() for name, cell in cells.items()}
        if reasons["samples"] is not None and NO_VALGRIND in self.notes:
            self.notes.append(f"nor by samples: {reasons['samples']}")
        return {name: cell for name, cell in cells.items() if reasons[name] is None}

    def whole(self) -> Cell:
        """The whole program by time."""
        return replace(self.laboratory.under("time"), unit="", reads=None)
