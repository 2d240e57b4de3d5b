"""What `perf blame` is asked: which benchmark, and what the newest verdict on the two revisions
says of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.check.movement import NAMED, Followed, followed
from perfvcs.errors import PerfError, UsageError
from perfvcs.jobs.cell import Cell
from perfvcs.locate.blame.cause import Checked
from perfvcs.locate.blame.laboratory import TOTAL
from perfvcs.profile.naming import is_whole, labelled, typed
from perfvcs.text.words import counted

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
