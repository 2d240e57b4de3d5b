"""What `perf blame` is asked of a benchmark, and the metrics by which it shows and proves a
difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from perfvcs.check.movement import NAMED, Followed, followed
from perfvcs.errors import PerfError, UsageError
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.harness import fits_to_clock
from perfvcs.locate.blame.cause import Checked
from perfvcs.locate.blame.laboratory import (
    NOT_COUNTED,
    TOTAL,
    Laboratory,
    UnmeasurableVersion,
    level,
)
from perfvcs.profile import Profile
from perfvcs.profile.naming import ONCE, is_whole, labelled, typed
from perfvcs.profile.summary import summarise
from perfvcs.text.words import COUNTS, counted

if TYPE_CHECKING:
    from perfvcs.check.change import Change, Report
    from perfvcs.locate.blame.blames import BlameWords
    from perfvcs.profile.benchmarkfilter import BenchmarkFilter
    from perfvcs.repository import Repository


SECONDS = "s"


class NothingToBlame(PerfError):
    """There is nothing to compare, or nothing changed."""

    exit_code = 4


class Question(NamedTuple):
    """The benchmark that is blamed: a job as perf.toml has it (``cell``), and its ``unit`` at a
    ``size``; empty and None: the whole program.

    ``metric`` is the one by which it moved, with its ``scale`` ("s"); empty where that is not
    known. ``checked`` is the verdict on it. ``choice`` says why it is this one, where there were
    several.
    """

    cell: Cell
    unit: str = ""
    size: float | None = None
    metric: str = ""
    scale: str = ""
    checked: Checked | None = None
    choice: str = ""

    @property
    def benchmark(self) -> str:
        """Its name for people."""
        return labelled(self.cell.label, self.unit, self.size)


def moved(report: Report, wanted: BenchmarkFilter, cells: Sequence[Cell]) -> Followed | None:
    """What matters most of all that a verdict calls changed and that is wanted; None where that is
    nothing.
    """
    labels = {cell.label for cell in cells}

    def fits(change: Change) -> bool:
        return change.job in labels and wanted.has(
            change.job, change.uid, change.size, change.metric, change.series
        )

    return followed(report, fits)


def question(chosen: Followed, cells: Sequence[Cell], words: BlameWords) -> Question:
    """What is asked of a change that a verdict states."""
    change = chosen.change
    checked = Checked(
        change.metric,
        change.unit,
        change.word,
        change.effect,
        change.low,
        change.high,
        change.baseline,
        change.target,
        change.paired,
    )
    about = change.job, change.uid, change.size, change.metric, change.unit
    choice = chosen.choice and f"{chosen.choice}; {NAMED.format(f'perf blame {words.pair}')}"
    return of_metric(cells, *about)._replace(checked=checked, choice=choice)


def of_metric(
    cells: Sequence[Cell], job: str, uid: str, size: float | None, metric: str, scale: str
) -> Question:
    """What is asked of a unit that is known to have moved by a metric."""
    cell = _measuring(job, metric, cells)
    if is_whole(job, uid):
        return Question(cell, "", None, metric, scale)
    return Question(cell, uid, size, metric, scale)


def without_verdict(
    repository: Repository, cells: Sequence[Cell], wanted: BenchmarkFilter
) -> Question | None:
    """What is asked where no verdict is needed: of the only benchmark that is wanted; None where
    there are several.
    """
    of_job = [cell for cell in cells if wanted.has_job(cell.label, cell.collector_name)]
    labels = {cell.label for cell in of_job}
    if len(labels) != 1:
        return None
    units = {(unit.uid, unit.size) for unit in wanted.units} or {(wanted.uid, None)}
    (uid, size), label = min(units, key=str), labels.pop()
    if len({uid for uid, _ in units}) == 1 and not is_whole(label, uid):
        lines = repository.index.lines().values()
        metrics = [
            (line.metric, line.unit)
            for line in lines
            if (line.job.label, line.uid, line.unit) == (label, uid, SECONDS)
        ]
        metric, scale = min(metrics, default=("cpu", SECONDS))  # cpu before wall
        return of_metric(of_job, label, uid, size if len(units) == 1 else None, metric, scale)
    cell = _measuring(label, "", of_job)
    # a harness fits what it repeats to the clock: the process around it takes the same time
    is_total = cell.collector_name in TOTAL and cell.reads is None
    return Question(cell) if is_total else None


def unchosen(report: Report | None, words: BlameWords) -> NothingToBlame:
    """What to say where nothing shows which benchmark to blame."""
    changes = report.changes if report else []
    names = list(dict.fromkeys(labelled(change.job, change.uid, None) for change in changes))
    return NothingToBlame(
        f"nothing to blame: the verdict on {words.pair} calls none of"
        f" {counted(len(names), 'benchmark')} changed; name one to blame it anyway, such as"
        f" `perf blame {words.pair} -- {typed(min(names, default='BENCHMARK'))}`"
    )


def _measuring(label: str, metric: str, cells: Sequence[Cell]) -> Cell:
    """The cell that measures a metric of a job; raises UsageError where perf.toml has no such
    job.
    """
    # programs may report metrics of their own, of which their collector does not know
    of_job = [cell for cell in cells if cell.label == label]
    if not of_job:
        raise UsageError(f"{label} is no longer a job of perf.toml: add it, or name another job")
    return min(of_job, key=lambda cell: metric not in cell.collector.metrics)


BlameMetric = Literal["auto", "instructions", "bytecodes", "cpu", "allocated"]
BYTES = "B"
NO_VALGRIND = "without valgrind functions of C are known by their time only: apt install valgrind"
UNSTEADY = "its harness runs {} as often as the clock allows, so that its work cannot be counted"


class Gauge(NamedTuple):
    """``metric`` of a ``unit`` at a ``size``, measured by ``cell``; without a unit, the total of
    what that counts.

    ``scale`` is what values are in ("s", "B"). ``exact``: it counts, so that one execution says
    all, unless it ``varies`` here.
    """

    metric: str
    cell: Cell
    scale: str = ""
    exact: bool = False
    unit: str = ""
    size: float | None = None
    varies: bool = False

    @property
    def is_told_at_once(self) -> bool:
        """Whether one execution says all."""
        return self.exact and not self.varies

    def levels(self, profile: Profile) -> list[float]:
        """The value of each execution; raises UnmeasurableVersion where the unit has none."""
        if not self.unit:
            known = self.metric if self.metric in profile.metrics else ""
            return level(profile, known, self.cell.unit)
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
