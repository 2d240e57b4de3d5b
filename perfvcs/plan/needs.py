"""What a running session still needs, and what an execution of each job is expected to take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, inf, isfinite, log, log1p, sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from perfvcs.check.method import of_metric
from perfvcs.plan.survey import newest_series, recent
from perfvcs.statistics.student import quantile

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.plan.inside import SizedMetric
    from perfvcs.profile.summary import Measured
    from perfvcs.repository import Repository

ONE_SIDE = 0.995  # one side of an interval of 99 %
FEWEST = 5  # executions that a verdict needs
MOST_EXECUTIONS = 100_000  # executions, as good as never


def forecast(repository: Repository, cells: Sequence[Cell], revision: str) -> list[float | None]:
    """The seconds of one execution of each cell, by the newest profiles up to ``revision``; None
    where none says so.
    """
    series = newest_series(recent(repository, revision))
    spent = {
        (members[-1].header.job.label, members[-1].header.job.collector): _execution(members[-1])
        for members in series
    }
    return [spent.get((cell.label, cell.collector_name)) for cell in cells]


def _execution(measured: Measured) -> float | None:
    """The mean wall time of the process, also where it is only around a harness; of collectors that
    measure no such thing it is not known.
    """
    for summary in measured.summaries:
        if (
            summary.uid == measured.header.job.name
            and summary.metric in ("wall", "elapsed")
            and measured.header.metrics[summary.metric].unit == "s"
        ):
            return fmean(summary.medians) if summary.medians else None
    return None


def needs(versions: Sequence[Measured]) -> list[int]:
    """For each unit, size and metric that is open, how many more executions are expected to settle
    it.

    Neighbours among the ``versions`` are compared, in turns; a single version with another one that
    varies as much.
    """
    missing = []
    for differences, delta in _differences(versions):
        wanted = _wanted(differences, delta)
        if wanted > len(differences):
            missing.append(wanted - len(differences))
    return missing


def _differences(versions: Sequence[Measured]) -> Iterator[tuple[list[float], float]]:
    """The differences of logarithms, execution by execution, of all that is compared; with the
    smallest that counts.
    """
    values: list[dict[SizedMetric, dict[tuple[int, int], float]]] = []
    levels: dict[SizedMetric, list[float]] = defaultdict(list)
    for version in versions:
        logarithms: dict[SizedMetric, dict[tuple[int, int], float]] = {}
        for summary in version.summaries:
            definition = version.header.metrics[summary.metric]
            if (
                definition.better != "none"
                and definition.kind == "sampled"
                and all(0 < value < inf for value in summary.medians)
            ):
                key = (summary.uid, summary.size, summary.metric)
                logarithms[key] = dict(zip(summary.places, map(log, summary.medians), strict=True))
                levels[key] += summary.medians
        values.append(logarithms)
    for key, medians in levels.items():
        delta = log1p(of_metric(key[2]).of(fmean(medians)))
        if len(values) == 1:
            alone = list(values[0][key].values())
            yield [sqrt(2) * (value - fmean(alone)) for value in alone], delta
        for before, after in pairwise(
            logarithms[key] for logarithms in values if key in logarithms
        ):
            yield [after[place] - before[place] for place in before if place in after], delta


def _wanted(differences: Sequence[float], delta: float) -> int:
    """The executions after which an interval of 99 % is expected to lie within delta, or to leave
    zero out.
    """
    if len(differences) < 2:
        return FEWEST
    middle, spread = abs(fmean(differences)), stdev(differences)
    room = middle if middle > delta else delta - middle
    if not isfinite(spread) or room <= 0:
        return MOST_EXECUTIONS
    wanted = max(FEWEST, len(differences))
    for _ in range(3):  # fewer executions have wider tails
        wanted = max(
            FEWEST,
            min(
                MOST_EXECUTIONS, ceil((float(quantile(ONE_SIDE, wanted - 1)) * spread / room) ** 2)
            ),
        )
    return wanted
