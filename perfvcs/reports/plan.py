"""What ``perf plan`` says: how much every benchmark varies, what its design finds, and what would
find more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import msgspec

from perfvcs.plan.design import EFFECTS, POWER, Option, PlanRow, PlanRule, builds, rows_of
from perfvcs.plan.survey import LastDesign, Survey, surveys
from perfvcs.profile.benchmarkfilter import EVERYTHING
from perfvcs.profile.naming import labelled
from perfvcs.reports.plan_notes import (
    LARGEST_EFFECT,
    duration_text,
    levels,
    meaning,
    percent,
    seed,
    share,
)
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.quantity import quantity
from perfvcs.text.words import CLOCKS, counted, metric_name
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.plan.design import DetectableEffect
    from perfvcs.plan.inside import Inside, Share
    from perfvcs.profile.benchmarkfilter import BenchmarkFilter
    from perfvcs.repository import Repository


NAME, MEAN, VARIES, FINDS, OPTION = 12, 10, 7, 9, 10
SHOWN_UNITS = 6  # of a program, shown without -v


def design(survey: Survey) -> str:
    """How it is usually measured, and what that costs."""
    cost = survey.cost
    duration = f" of {quantity(cost.execution, 's')}" if cost.execution else ""
    text = f"{counted(survey.executions, 'execution')}{duration}"
    if survey.binaries > 1:
        text += f" for each of {survey.binaries} builds"
    if survey.warmup:
        text += f", {survey.warmup} before them to warm up"
    return f"{text}; {counted(survey.sessions, 'session')} of it stored"


def table(survey: Survey, rows: Sequence[PlanRow], *, verbose: bool) -> Iterator[str]:
    """A job's units with their metrics, and what these numbers mean."""
    if not rows:
        yield "  no execution has a value"
    listed = selected(rows, verbose=verbose)
    units = list(dict.fromkeys((row.variation.uid, row.variation.size) for row in listed))
    shown = units if verbose else units[:SHOWN_UNITS]
    what = "builds" if survey.binaries > 1 else "executions"
    if any(row.options for row in listed):
        yield f"{f'{what} to find':>{COLUMNS}}"
        columns = "".join(f"{f'{100 * effect:g} %':>{OPTION}}" for effect in EFFECTS)
        yield f"  {'':{NAME}}{'':{MEAN}}{'varies':>{VARIES}}{'finds':>{FINDS}}{columns}"
    notes: dict[str, None] = {}
    for uid, size in shown:
        named = uid if size is None else f"{uid} [{size:.10g}]"
        if uid != survey.name:
            yield f"  {shorten(named, COLUMNS - 4)}:"
        prefix, looked = "" if uid == survey.name else f"{shorten(named, 30)}, ", False
        for row in listed:
            variation = row.variation
            if (variation.uid, variation.size) == (uid, size):
                yield from _metric(row)
                name = f"{prefix}{metric_name(variation.metric)}"
                notes |= dict.fromkeys(meaning(row, survey, name))
                notes |= dict.fromkeys(seed(variation, survey, name, verbose=verbose))
                # a unit's times tell much the same
                if variation.inside is not None and (verbose or not looked):
                    looked = True
                    notes |= dict.fromkeys(
                        levels(row, variation.inside, survey, name, verbose=verbose)
                    )
    if len(units) > len(shown):
        yield f"  and {len(units) - len(shown)} more units: perf plan -v"
    for note in notes:
        yield from indented(note)


def selected(rows: Sequence[PlanRow], *, verbose: bool) -> Sequence[PlanRow]:
    """All rows, or without ``verbose`` the times where there are any."""
    return rows if verbose else [row for row in rows if row.variation.metric in CLOCKS] or rows


def _metric(row: PlanRow) -> Iterator[str]:
    variation = row.variation
    mean = "" if variation.mean is None else quantity(variation.mean, variation.unit)
    name = shorten(metric_name(variation.metric), NAME - 1)
    head = f"  {name:<{NAME}}{shorten(mean, MEAN - 1):<{MEAN}}"
    if variation.difference is None:
        yield from wrap(
            f"{head} {variation.problem}", COLUMNS, subsequent_indent=" " * (NAME + MEAN + 3)
        )
        return
    finds = "-" if row.finds is None else share(row.finds.effect)
    counts = "".join(f"{_count(option.replicates):>{OPTION}}" for option in row.options)
    yield f"{head}{share(variation.deviation or 0.0):>{VARIES}}{finds:>{FINDS}}{counts}"
    reach = (
        ""
        if row.finds is None or row.finds.effect > LARGEST_EFFECT
        else f"{percent(row.finds.low)}-{percent(row.finds.high)}"
    )
    ranges = "".join(f"{_range(option):>{OPTION}}" for option in row.options)
    if variation.deviation and (reach or ranges.strip()):
        yield f"  {'':{NAME + MEAN + VARIES}}{reach:>{FINDS}}{ranges}"
    if any(option.seconds for option in row.options):
        spent = "".join(f"{_spent(option.seconds):>{OPTION}}" for option in row.options)
        yield f"  {'':{NAME + MEAN + VARIES + FINDS}}{spent}"


def reach(rows: Sequence[PlanRow]) -> Iterator[str]:
    """The delta that the present design reaches, where that is not the one that counts."""
    timed = [row for row in rows if row.variation.metric in CLOCKS] or rows
    reached = max(
        (row.settles for row in timed if row.settles is not None and row.settles > row.delta),
        default=0.0,
    )
    if reached:
        percents = f"{ceil(1000 * reached) / 10:g}"
        yield from indented(
            f"as many executions of equal versions settle ±{percents} % in 4 of 5 cases: perf check"
            f" --within {percents}"
        )


def indented(text: str) -> list[str]:
    """A paragraph below a heading."""
    return wrap(text, COLUMNS, initial_indent="  ", subsequent_indent="  ")


def _count(count: int | None) -> str:
    return ">9999" if count is None else str(count)


def _range(option: Option) -> str:
    if option.low is None:
        return ""
    if option.high is None:
        return f"{option.low} up"
    return f"{option.low}-{option.high}" if option.low != option.high else ""


def _spent(value: float | None) -> str:
    """A duration as it fits its column; times that nobody waits for are left out."""
    text = "" if value is None else duration_text(value)
    return text if len(text) < OPTION else ""


class PlannedUnit(msgspec.Struct, frozen=True):
    """How much a unit and metric varies, what the design finds, and what would find more; see
    ``Variation`` and ``PlanRow``. ``benchmark`` is its name as every command takes it.
    """

    benchmark: str
    uid: str
    size: float | None
    metric: str
    unit: str
    mean: float | None
    delta: float
    replicates: int
    measurements: int
    deviation: float | None
    difference: float | None = msgspec.field(name="pair_deviation")
    drawn: float | None = msgspec.field(name="pair_deviation_drawn_in")
    df: int
    paired: bool
    seed: Share | None
    inside: Inside | None = msgspec.field(name="levels")
    problem: str
    finds: DetectableEffect | None
    settles: float | None
    options: Sequence[Option]


class PlannedJob(LastDesign, frozen=True):
    """A series with how it was measured last, and what would be better."""

    best_executions_per_build: int | None
    units: list[PlannedUnit]


class PlanDocument(msgspec.Struct, frozen=True):
    """What `perf plan --json` prints."""

    revision: str
    delta: float | None
    alpha: float
    comparisons: int
    power: float
    jobs: list[PlannedJob]


@dataclass(frozen=True)
class Plan:
    """All jobs that were measured; the delta that was asked for, None where each metric has its
    usual one; the comparisons of a check.
    """

    revision: str
    asked: float | None
    family: int
    jobs: Sequence[tuple[Survey, Sequence[PlanRow]]]

    def lines(self, *, verbose: bool = False) -> Iterator[str]:
        """The listing for a terminal of 80 columns; ``verbose`` lists all units and metrics, and
        the levels of variance.
        """
        for survey, rows in self.jobs:
            yield from wrap(shorten(survey.job, 200), COLUMNS, subsequent_indent="    ")
            yield from indented(design(survey))
            yield from table(survey, rows, verbose=verbose)
            yield from reach(rows)
            yield ""
        yield from self._ending(verbose=verbose)

    def _ending(self, *, verbose: bool) -> Iterator[str]:
        planned = [
            (row, option)
            for _, rows in self.jobs
            for row in selected(rows, verbose=verbose)
            for option in row.options
        ]
        if not planned:
            return
        yield from wrap(
            "finds: the smallest change that a check with as many executions as now, measured in"
            " turns, finds in 4 of 5 cases. To find: the executions per revision needed for a"
            " change of this size. Below each number: its range (80 %) as far as the stored data"
            " shows, then the time for one revision.",
            COLUMNS,
        )
        every = {metric_name(row.variation.metric) for row, _ in planned}
        smaller: dict[tuple[float, float], dict[str, None]] = {}
        for row, option in planned:
            if option.delta != row.delta:
                smaller.setdefault((option.effect, option.delta), {})[
                    metric_name(row.variation.metric)
                ] = None
        for (effect, delta), names in sorted(smaller.items()):
            of = "" if len(names) == len(every) else f" of {', '.join(names)}"
            yield from wrap(
                f"{100 * effect:g} %{of} is found only with --delta {100 * delta:g}: estimates of"
                " less than delta do not count.",
                COLUMNS,
            )
        if self.family > 5:
            alpha = PlanRule(family=self.family).alpha
            yield from wrap(
                f"A check makes {self.family} comparisons at once, so each needs p < {alpha:.2g}.",
                COLUMNS,
            )

    def json(self) -> str:
        """The plan as JSON."""
        jobs = [
            filled(
                PlannedJob,
                survey,
                best_executions_per_build=_first(builds(row.variation, survey) for row in rows),
                units=[
                    filled(
                        PlannedUnit,
                        row,
                        row.variation,
                        benchmark=labelled(survey.job, row.variation.uid, row.variation.size),
                    )
                    for row in rows
                ],
            )
            for survey, rows in self.jobs
        ]
        alpha = PlanRule(family=self.family).alpha
        return json_text(PlanDocument(self.revision, self.asked, alpha, self.family, POWER, jobs))


def plan(
    repository: Repository,
    revision: str = "HEAD",
    benchmarks: BenchmarkFilter = EVERYTHING,
    delta: float | None = None,
) -> Plan:
    """The plan from what is stored up to a revision, ``delta`` None being the usual one of each
    metric; raises NothingToCompare.
    """
    surveyed = surveys(repository, revision, benchmarks)
    family = sum(
        variation.difference is not None for survey in surveyed for variation in survey.variations
    )
    return Plan(
        revision, delta, family, [(survey, rows_of(survey, delta, family)) for survey in surveyed]
    )


def _first(values: Iterator[int | None]) -> int | None:
    return next((value for value in values if value is not None), None)
