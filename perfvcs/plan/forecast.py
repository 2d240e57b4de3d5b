"""What an execution of each job is expected to take, by what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from perfvcs.plan.survey import newest_series, recent

if TYPE_CHECKING:
    from perfvcs.jobs import Cell
    from perfvcs.repository import Repository
    from perfvcs.summary import Measured


def forecast(repository: Repository, cells: Sequence[Cell], revision: str) -> list[float | None]:
    """The seconds of one execution of each cell, by the newest profiles up to ``revision``; None where none says so."""
    series = newest_series(recent(repository, revision))
    known = {(one[-1].header.job.label, one[-1].header.job.collector): _execution(one[-1]) for one in series}
    return [known.get((cell.label, cell.collector_name)) for cell in cells]


def _execution(measured: Measured) -> float | None:
    """The mean wall time of the process; of collectors that measure no such thing it is not known."""
    for summary in measured.summaries:
        if (summary.uid, summary.metric) == (measured.header.job.name, "wall") and measured.header.metrics["wall"].unit == "s":
            return fmean(summary.medians) if summary.medians else None
    return None
