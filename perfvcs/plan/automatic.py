"""``executions = "auto"``: as many as the change to be found needs, by what is stored of the job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, inf, isfinite, log, log1p, sqrt
from statistics import fmean, stdev
from textwrap import wrap
from typing import TYPE_CHECKING

from perfvcs.check.method import of_metric
from perfvcs.plan.design import MOST_PLANNED, UNPROMISING_DF, PlanRule, needed
from perfvcs.plan.survey import newest_series, recent
from perfvcs.plan.variation import Variation, spreads
from perfvcs.statistics.student import quantile
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.quantity import number
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from perfvcs.jobs import Cell
    from perfvcs.jobs.config import AutoTable
    from perfvcs.plan.inside import SizedMetric
    from perfvcs.profile.summary import Measured
    from perfvcs.repository import Repository


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


ONE_SIDE = 0.995  # one side of an interval of 99 %
FEWEST = 5  # executions that a verdict needs
MOST_EXECUTIONS = 100_000  # executions, as good as never


def needs(versions: Sequence[Measured]) -> list[int]:
    """For each unit, size and metric that is open, how many more executions are expected to settle it.

    Neighbours among the ``versions`` are compared, in turns; a single version with another one that varies as much.
    """
    found = []
    for differences, delta in _differences(versions):
        wanted = _wanted(differences, delta)
        if wanted > len(differences):
            found.append(wanted - len(differences))
    return found


def _differences(versions: Sequence[Measured]) -> Iterator[tuple[list[float], float]]:
    """The differences of logarithms, execution by execution, of all that is compared; with the smallest that counts."""
    values: list[dict[SizedMetric, dict[tuple[int, int], float]]] = []
    levels: dict[SizedMetric, list[float]] = defaultdict(list)
    for one in versions:
        own: dict[SizedMetric, dict[tuple[int, int], float]] = {}
        for summary in one.summaries:
            about = one.header.metrics[summary.metric]
            if about.better != "none" and about.kind == "sampled" and all(0 < value < inf for value in summary.medians):
                key = (summary.uid, summary.size, summary.metric)
                own[key] = dict(zip(summary.places, map(log, summary.medians), strict=True))
                levels[key] += summary.medians
        values.append(own)
    for key, medians in levels.items():
        delta = log1p(of_metric(key[2]).of(fmean(medians)))
        if len(values) == 1:
            alone = list(values[0][key].values())
            yield [sqrt(2) * (value - fmean(alone)) for value in alone], delta
        for before, after in pairwise(own[key] for own in values if key in own):
            yield [after[place] - before[place] for place in before if place in after], delta


def _wanted(differences: Sequence[float], delta: float) -> int:
    """The executions after which an interval of 99 % is expected to lie within delta, or to leave zero out."""
    if len(differences) < 2:
        return FEWEST
    middle, spread = abs(fmean(differences)), stdev(differences)
    room = middle if middle > delta else delta - middle
    if not isfinite(spread) or room <= 0:
        return MOST_EXECUTIONS
    wanted = max(FEWEST, len(differences))
    for _ in range(3):  # fewer executions have wider tails
        wanted = max(FEWEST, min(MOST_EXECUTIONS, ceil((float(quantile(ONE_SIDE, wanted - 1)) * spread / room) ** 2)))
    return wanted


FIRST_EXECUTIONS = 10  # executions where nothing is stored yet
COMPUTING = 0.8  # share of CPU time in wall time, of the fastest executions, from which the one stands for the other


@dataclass(frozen=True)
class ExecutionChoice:
    """A number of executions, and why."""

    executions: int
    reason: str


def planned(repository: Repository, cells: Sequence[Cell], revision: str) -> tuple[list[Cell], list[str]]:
    """The cells with their automatic numbers of executions chosen, and a line about each; from what is stored up to ``revision``."""
    if not any(cell.auto for cell in cells):
        return list(cells), []
    series = newest_series(recent(repository, revision))
    known = {(one[-1].header.job.label, one[-1].header.job.collector): one for one in series}
    family = sum(variation.difference is not None for one in series for variation in spreads(one))
    found, lines = [], []
    for cell in cells:
        if cell.auto is None:
            found.append(cell)
            continue
        stored = known.get((cell.label, cell.collector_name), [])
        choice = choose(stored if stored and _alike(cell, stored[-1]) else [], cell.auto, family)
        found.append(replace(cell, executions=choice.executions))
        line = f"{shorten(cell.label, 40)}: {counted(choice.executions, 'execution')}, {choice.reason}"
        lines += wrap(line, COLUMNS, subsequent_indent="  ")
    return found, lines


def choose(series: Sequence[Measured], auto: AutoTable, family: int = 1) -> ExecutionChoice:
    """The executions that find what ``auto`` asks for in every unit of a series, between its least and its most.

    A unit's wall time decides, or its CPU time where that is the steadier and nearly all of it; other metrics where it has neither.
    """
    unknown = min(max(FIRST_EXECUTIONS, auto.least), auto.most)
    units: dict[tuple[str, float | None], list[Variation]] = {}
    found = spreads(series)
    for one in found:
        if one.difference is not None and one.df > UNPROMISING_DF:
            units.setdefault((one.uid, one.size), []).append(one)
    if not units and any(one.exact for one in found):
        return ExecutionChoice(auto.least, "since what is stored repeats exactly")
    if not units:
        return ExecutionChoice(unknown, "since too little is stored to plan from")
    decisive = [_steadiest(members) for members in units.values()]
    counts = [
        (needed(one, auto.effect, PlanRule(one.delta, family).below(auto.effect)).pairs or MOST_PLANNED, one) for one in decisive
    ]
    count, one = max(counts, key=lambda pair: pair[0])
    judged = PlanRule(one.delta, family).below(auto.effect)
    unit = "" if one.uid == series[-1].header.job.name else f"{shorten(one.uid, 20)}: "
    varies = f"{unit}{metric_name(one.metric)} varies by {number(float(f'{100 * (one.deviation or 0):.2g}'))} %"
    effect = f"{100 * auto.effect:g} %{'' if judged.delta == one.delta else f' with --delta {100 * judged.delta:g}'}"
    if count > auto.most:
        return ExecutionChoice(
            auto.most, f"the most allowed: {effect} would need {'over ' * (count >= MOST_PLANNED)}{count} ({varies})"
        )
    return ExecutionChoice(max(count, auto.least), f"which find {effect} ({varies})")


def _steadiest(members: Sequence[Variation]) -> Variation:
    """What decides about a unit."""
    by_metric = {one.metric: one for one in members}
    wall, cpu = by_metric.get("wall"), by_metric.get("cpu")
    if wall is None:
        return cpu or max(members, key=_noise)
    if cpu is None or (cpu.least or 0.0) < COMPUTING * (wall.least or 0.0):
        return wall
    return min(wall, cpu, key=_noise)


def _noise(variation: Variation) -> float:
    return variation.drawn or variation.difference or 0.0


def _alike(cell: Cell, stored: Measured) -> bool:
    """Whether what is stored was measured with the cell's command and options; its files and engine are not known before it runs."""
    wanted, job = cell.job({}, engine=False), stored.header.job
    return (wanted.cmd, wanted.args, wanted.options, wanted.params) == (job.cmd, job.args, job.options, job.params)
