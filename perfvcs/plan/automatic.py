"""``executions = "auto"``: as many as the change to be found needs, by what is stored of the
job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.plan.design import MOST_PLANNED, UNPROMISING_DF, PlanRule, needed
from perfvcs.plan.survey import newest_series, recent
from perfvcs.plan.variation import Variation, spreads
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.quantity import share
from perfvcs.text.words import counted, metric_name
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.jobs.config import AutoTable
    from perfvcs.profile.summary import Measured
    from perfvcs.repository import Repository


FIRST_EXECUTIONS = 10  # executions where nothing is stored yet
# share of CPU time in wall time, of the fastest executions, from which the one stands for the other
COMPUTING = 0.8


class ExecutionChoice(Struct, frozen=True):
    """A number of executions, and why."""

    executions: int
    reason: str


def planned(
    repository: Repository, cells: Sequence[Cell], revision: str
) -> tuple[list[Cell], list[str]]:
    """The cells with their automatic numbers of executions chosen, and a line about each; from what
    is stored up to ``revision``.
    """
    if not any(cell.auto for cell in cells):
        return list(cells), []
    series = newest_series(recent(repository, revision))
    by_cell = {
        (members[-1].header.job.label, members[-1].header.job.collector): members
        for members in series
    }
    family = sum(
        variation.difference is not None for members in series for variation in spreads(members)
    )
    chosen, lines = [], []
    for cell in cells:
        if cell.auto is None:
            chosen.append(cell)
            continue
        stored = by_cell.get((cell.label, cell.collector_name), [])
        choice = choose(stored if stored and _alike(cell, stored[-1]) else [], cell.auto, family)
        chosen.append(replace(cell, executions=choice.executions))
        line = (
            f"{shorten(cell.label, 40)}: {counted(choice.executions, 'execution')}, {choice.reason}"
        )
        lines += wrap(line, COLUMNS, subsequent_indent="  ")
    return chosen, lines


def choose(series: Sequence[Measured], auto: AutoTable, family: int = 1) -> ExecutionChoice:
    """The executions that find what ``auto`` asks for in every unit of a series, between its least
    and its most.

    A unit's wall time decides, or its CPU time where that is the steadier and nearly all of it;
    other metrics where it has neither.
    """
    unknown = min(max(FIRST_EXECUTIONS, auto.least), auto.most)
    units: dict[tuple[str, float | None], list[Variation]] = {}
    variations = spreads(series)
    for variation in variations:
        if variation.difference is not None and variation.df > UNPROMISING_DF:
            units.setdefault((variation.uid, variation.size), []).append(variation)
    if not units and any(variation.exact for variation in variations):
        return ExecutionChoice(auto.least, "since what is stored repeats exactly")
    if not units:
        return ExecutionChoice(unknown, "since too little is stored to plan from")
    decisive = [_steadiest(members) for members in units.values()]
    counts = [
        (
            needed(
                variation, auto.effect, PlanRule(variation.delta, family).below(auto.effect)
            ).pairs
            or MOST_PLANNED,
            variation,
        )
        for variation in decisive
    ]
    count, variation = max(counts, key=lambda pair: pair[0])
    judged = PlanRule(variation.delta, family).below(auto.effect)
    unit = "" if variation.uid == series[-1].header.job.name else f"{shorten(variation.uid, 20)}: "
    varies = f"{unit}{metric_name(variation.metric)} varies by {share(variation.deviation or 0)}"
    effect = (
        f"{100 * auto.effect:g}"
        f" %{'' if judged.delta == variation.delta else f' with --delta {100 * judged.delta:g}'}"
    )
    if count > auto.most:
        return ExecutionChoice(
            auto.most,
            f"the most allowed: {effect} would need {'over ' * (count >= MOST_PLANNED)}{count}"
            f" ({varies})",
        )
    return ExecutionChoice(max(count, auto.least), f"which find {effect} ({varies})")


def _steadiest(members: Sequence[Variation]) -> Variation:
    """What decides about a unit."""
    by_metric = {variation.metric: variation for variation in members}
    wall, cpu = by_metric.get("wall"), by_metric.get("cpu")
    if wall is None:
        return cpu or max(members, key=_noise)
    if cpu is None or (cpu.least or 0.0) < COMPUTING * (wall.least or 0.0):
        return wall
    return min(wall, cpu, key=_noise)


def _noise(variation: Variation) -> float:
    return variation.drawn or variation.difference or 0.0


def _alike(cell: Cell, stored: Measured) -> bool:
    """Whether what is stored was measured with the cell's command and options; its files and engine
    are not known before it runs.
    """
    wanted, job = cell.job({}, engine=False), stored.header.job
    return (wanted.cmd, wanted.args, wanted.options, wanted.params) == (
        job.cmd,
        job.args,
        job.options,
        job.params,
    )
