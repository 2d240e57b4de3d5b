"""What ``perf plan`` says: how much every benchmark varies, what its design finds, and what would find more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, sqrt
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.plan.design import (
    EFFECTS,
    FEWEST_REPLICATES,
    DetectableEffect,
    Option,
    PlanRule,
    builds,
    finding,
    options,
    reachable,
)
from perfvcs.plan.inside import NOTABLE
from perfvcs.plan.survey import Survey, surveys
from perfvcs.text.characters import escaped, shorten
from perfvcs.text.columns import COLUMNS
from perfvcs.text.quantity import number, quantity
from perfvcs.text.words import counted, metric_name, metric_rank

if TYPE_CHECKING:
    from perfvcs.plan.inside import Inside
    from perfvcs.plan.variation import Variation
    from perfvcs.repository import Repository

NAME, MEAN, VARIES, FINDS, OPTION = 12, 10, 7, 9, 10
TIMES = ("wall", "cpu")
UNITS = 6  # of a program, shown without -v
LARGEST_EFFECT = 10.0  # effect that is still shown as a number
FEW_DF = 9  # degrees of freedom below which a plan is a rough one
STRONG = 1.5  # impact factor
SHIFTED = 1.2  # the most that the control may be where executions merely shift their measurements
NEGLIGIBLE = 0.05  # share of the variance between executions below which that within does not matter
SAVING = 0.8  # share of the cost below which another number of measurements is worth a line


@dataclass(frozen=True)
class PlanRow:
    """One unit and metric: its delta, what its present design finds, the delta that it settles, and what would find the ``EFFECTS``."""

    variation: Variation
    delta: float
    finds: DetectableEffect | None
    settles: float | None
    options: Sequence[Option]


@dataclass(frozen=True)
class Plan:
    """All jobs that were measured; the delta that was asked for, None where each metric has its usual one; the comparisons of a check."""

    revision: str
    asked: float | None
    family: int
    jobs: Sequence[tuple[Survey, Sequence[PlanRow]]]

    def lines(self, *, verbose: bool = False) -> Iterator[str]:
        """The listing for a terminal of 80 columns; ``verbose`` lists all units and metrics, and the levels of variance."""
        for survey, rows in self.jobs:
            yield from wrap(shorten(survey.job, 200), COLUMNS, subsequent_indent="    ")
            yield from _indented(_design(survey))
            yield from _table(survey, rows, verbose=verbose)
            yield from _reach(rows)
            yield ""
        yield from self._ending(verbose=verbose)

    def _ending(self, *, verbose: bool) -> Iterator[str]:
        planned = [(row, option) for _, rows in self.jobs for row in _shown(rows, verbose=verbose) for option in row.options]
        if not planned:
            return
        yield from wrap(
            "finds: the smallest change that a check with as many executions as now, measured in turns, finds in 4 of 5 cases. To find: "
            "the executions per revision needed for a change of this size. Below each number: its range (80 %) as far as the stored "
            "data shows, then the time for one revision.",
            COLUMNS,
        )
        every = {metric_name(row.variation.metric) for row, _ in planned}
        smaller: dict[tuple[float, float], dict[str, None]] = {}
        for row, option in planned:
            if option.delta != row.delta:
                smaller.setdefault((option.effect, option.delta), {})[metric_name(row.variation.metric)] = None
        for (effect, delta), names in sorted(smaller.items()):
            of = "" if len(names) == len(every) else f" of {', '.join(names)}"
            yield from wrap(
                f"{100 * effect:g} %{of} is found only with --delta {100 * delta:g}: estimates of less than delta do not count.",
                COLUMNS,
            )
        if self.family > 5:
            alpha = PlanRule(family=self.family).alpha
            yield from wrap(f"A check makes {self.family} comparisons at once, so each needs p < {alpha:.2g}.", COLUMNS)

    def json(self) -> str:
        """The same as JSON."""
        jobs: list[dict[str, Any]] = [
            {
                "job": survey.job, "collector": survey.collector, "series": survey.series, "sessions": survey.sessions,
                "profiles": survey.profiles, "binaries": survey.binaries, "executions": survey.executions, "warmup": survey.warmup,
                "cost": survey.cost, "best_executions_per_build": _first(builds(row.variation, survey) for row in rows),
                "units": [_unit(row) for row in rows],
            }
            for survey, rows in self.jobs
        ]  # fmt: skip
        found = {"revision": self.revision, "delta": self.asked, "alpha": PlanRule(family=self.family).alpha, "comparisons": self.family,
                 "power": 0.8, "jobs": jobs}  # fmt: skip
        return escaped(msgspec.json.format(msgspec.json.encode(found)).decode())


def plan(repository: Repository, revision: str = "HEAD", jobs: Sequence[str] = (), delta: float | None = None) -> Plan:
    """The plan from what is stored up to a revision, ``delta`` None being the usual one of each metric; raises NothingToCompare."""
    found = surveys(repository, revision, jobs)
    family = sum(one.difference is not None for survey in found for one in survey.variations)
    rows = [
        (survey, [_row(one, survey, PlanRule(one.delta if delta is None else delta, family)) for one in _ordered(survey)])
        for survey in found
    ]
    return Plan(revision, delta, family, rows)


def _row(variation: Variation, survey: Survey, rule: PlanRule) -> PlanRow:
    replicates = survey.binaries if survey.binaries > 1 else survey.executions
    return PlanRow(
        variation,
        rule.delta,
        finding(variation, replicates, rule),
        reachable(variation, replicates),
        options(variation, survey, rule),
    )


def _ordered(survey: Survey) -> list[Variation]:
    """Unit by unit as they come, wall and CPU time first."""
    order = {unit: place for place, unit in enumerate(dict.fromkeys((one.uid, one.size) for one in survey.variations))}
    return sorted(survey.variations, key=lambda one: (order[one.uid, one.size], metric_rank(one.metric)))


def _unit(row: PlanRow) -> dict[str, Any]:
    one = row.variation
    return {
        "uid": one.uid, "size": one.size, "metric": one.metric, "unit": one.unit, "mean": one.mean, "delta": row.delta,
        "replicates": one.replicates,
        "measurements": one.measurements, "deviation": one.deviation, "pair_deviation": one.difference,
        "pair_deviation_drawn_in": one.drawn, "df": one.df, "paired": one.paired, "seed": one.seed,
        "levels": one.inside, "problem": one.problem,
        "finds": row.finds, "settles": row.settles, "options": row.options,
    }  # fmt: skip


# -- text ----------------------------------------------------------------------------------------------------------------------------


def _design(survey: Survey) -> str:
    """How it was measured last, and what that costs."""
    cost = survey.cost
    each = f" of {quantity(cost.execution, 's')}" if cost.execution else ""
    text = f"{counted(survey.executions, 'execution')}{each}"
    if survey.binaries > 1:
        text += f" for each of {survey.binaries} builds"
    if survey.warmup:
        text += f", {survey.warmup} before them to warm up"
    return f"{text}; {counted(survey.sessions, 'session')} of it stored"


def _table(survey: Survey, rows: Sequence[PlanRow], *, verbose: bool) -> Iterator[str]:
    if not rows:
        yield "  no execution has a value"
    shown = _shown(rows, verbose=verbose)
    units = list(dict.fromkeys((row.variation.uid, row.variation.size) for row in shown))
    kept = units if verbose else units[:UNITS]
    what = "builds" if survey.binaries > 1 else "executions"
    if any(row.options for row in shown):
        yield f"{f'{what} to find':>{COLUMNS}}"
        columns = "".join(f"{f'{100 * effect:g} %':>{OPTION}}" for effect in EFFECTS)
        yield f"  {'':{NAME}}{'':{MEAN}}{'varies':>{VARIES}}{'finds':>{FINDS}}{columns}"
    notes: dict[str, None] = {}
    for uid, size in kept:
        named = uid if size is None else f"{uid} [{size:.10g}]"
        if uid != survey.name:
            yield f"  {shorten(named, COLUMNS - 4)}:"
        prefix, looked = "" if uid == survey.name else f"{shorten(named, 30)}, ", False
        for row in shown:
            one = row.variation
            if (one.uid, one.size) == (uid, size):
                yield from _metric(row)
                notes |= dict.fromkeys(_notes(row, survey, f"{prefix}{metric_name(one.metric)}"))
                notes |= dict.fromkeys(_seed(one, survey, f"{prefix}{metric_name(one.metric)}", verbose=verbose))
                if one.inside is not None and (verbose or not looked):  # a unit's times tell much the same
                    looked = True
                    notes |= dict.fromkeys(
                        _levels(row, one.inside, survey, f"{prefix}{metric_name(one.metric)}", verbose=verbose)
                    )
    if len(units) > len(kept):
        yield f"  and {len(units) - len(kept)} more units: perf plan -v"
    for note in notes:
        yield from _indented(note)


def _shown(rows: Sequence[PlanRow], *, verbose: bool) -> Sequence[PlanRow]:
    """All rows, or without ``verbose`` the times where there are any."""
    return rows if verbose else [row for row in rows if row.variation.metric in TIMES] or rows


def _metric(row: PlanRow) -> Iterator[str]:
    one = row.variation
    mean = "" if one.mean is None else quantity(one.mean, one.unit)
    head = f"  {shorten(metric_name(one.metric), NAME - 1):<{NAME}}{shorten(mean, MEAN - 1):<{MEAN}}"
    if one.difference is None:
        yield from wrap(f"{head} {one.problem}", COLUMNS, subsequent_indent=" " * (NAME + MEAN + 3))
        return
    finds = "-" if row.finds is None else _share(row.finds.effect)
    counts = "".join(f"{_count(option.replicates):>{OPTION}}" for option in row.options)
    yield f"{head}{_share(one.deviation or 0.0):>{VARIES}}{finds:>{FINDS}}{counts}"
    reach = (
        "" if row.finds is None or row.finds.effect > LARGEST_EFFECT else f"{_percent(row.finds.low)}-{_percent(row.finds.high)}"
    )
    ranges = "".join(f"{_range(option):>{OPTION}}" for option in row.options)
    if one.deviation and (reach or ranges.strip()):
        yield f"  {'':{NAME + MEAN + VARIES}}{reach:>{FINDS}}{ranges}"
    if any(option.seconds for option in row.options):
        spent = "".join(f"{_spent(option.seconds):>{OPTION}}" for option in row.options)
        yield f"  {'':{NAME + MEAN + VARIES + FINDS}}{spent}"


def _reach(rows: Sequence[PlanRow]) -> Iterator[str]:
    """The delta that the present design reaches, where that is not the one that counts."""
    known = [row for row in rows if row.variation.metric in TIMES] or rows
    reached = max((row.settles for row in known if row.settles is not None and row.settles > row.delta), default=0.0)
    if reached:
        percents = f"{ceil(1000 * reached) / 10:g}"
        yield from _indented(
            f"as many executions of equal versions settle ±{percents} % in 4 of 5 cases: perf check --within {percents}"
        )


def _notes(row: PlanRow, survey: Survey, name: str) -> Iterator[str]:
    """What the numbers mean, in words."""
    one = row.variation
    if one.difference is None:
        return
    if one.deviation == 0:
        yield f"{name}: all values are equal, so every change shows"
        return
    count, what = (survey.binaries, "build") if survey.binaries > 1 else (survey.executions, "execution")
    if count < FEWEST_REPLICATES:
        yield f"{counted(count, what)} a side settle nothing: a verdict needs at least {FEWEST_REPLICATES}, better 10"
    if one.df < FEW_DF:
        yield f"a rough plan: so few {what}s say little about the noise; measure more, or again"
    if one.inside is None:
        yield "one measurement per execution: differences within and between executions cannot be separated, so only executions count"


def _seed(variation: Variation, survey: Survey, name: str, *, verbose: bool) -> Iterator[str]:
    """How much the seed explains that the revisions of a block share."""
    if variation.difference is None or not variation.deviation:
        return
    if variation.seed is None:
        why = "takes five blocks of two revisions" if survey.binaries == 1 else "cannot be separated from that of the build"
        if verbose:
            yield f"{name}: how much the seed of a block explains is not known: it {why}"
    elif verbose or variation.seed.low > 0:
        share = variation.seed
        text = f"the seed of a block explains {_rounded(share.share)} % of the variance between executions"
        text += f" (80 % range: {_rounded(share.low)}-{_rounded(share.high)} %)"
        if variation.paired and share.low > 0:
            text += f"; pairs that share it differ by {_share(variation.difference)}, others by {_share(sqrt(2) * variation.deviation)}"
        yield f"{name}: {text}"


def _rounded(value: float) -> str:
    """A share in percent, rounded down: 100 only where nothing else is left."""
    return f"{floor(100 * value)}"


def _levels(row: PlanRow, inside: Inside, survey: Survey, name: str, *, verbose: bool) -> Iterator[str]:
    """What the measurements inside executions show, in words."""
    one = row.variation
    if one.difference is None or one.deviation == 0:
        return
    parts = [
        f"{_share(value)} {where}"
        for value, where in (
            (inside.within, "within an execution"), (inside.executions, "between executions"), (inside.builds, "between builds"),
        ) if value is not None
    ]  # fmt: skip
    if verbose and parts:
        yield f"{name} varies by {', '.join(parts)}"
    if inside.factor is not None and (verbose or inside.factor >= STRONG):
        alike = inside.control is not None and inside.control <= SHIFTED
        how = "shifts all its measurements alike" if alike else "changes also how much they vary"
        impact = f"{name}: impact factor {inside.factor:.1f}"
        yield (
            f"{impact}: an execution's start {how} ({inside.control:.1f} without the means), so one execution says little about the next"
            if inside.factor >= STRONG
            else f"{impact}: it hardly matters in which execution something is measured"
        )
    if inside.warmup:
        many = inside.warmup > 1
        first = f"first {inside.warmup} measurements of an execution are" if many else "first measurement of an execution is"
        yield f"{name}: the {first} slower or faster than the rest: warm up inside the program"
    if inside.dependence is not None and abs(inside.dependence) > NOTABLE:
        yield f"{name}: a measurement depends on the one before it (autocorrelation {inside.dependence:.1f}), so more of them say less"
    if one.measurements > 1 and inside.executions and inside.within is not None and survey.binaries == 1:
        if inside.within**2 < NEGLIGIBLE * inside.executions**2:
            yield f"{name}: one measurement per execution is enough, executions differ far more than their measurements"
    elif inside.executions == 0:
        yield f"{name}: executions do not differ beyond their measurements: measuring more often inside does as well as starting again"
    best = builds(one, survey)
    if best is not None:
        yield f"{name}: best are {counted(best, 'execution')} per build (now {survey.executions}), and as many builds as it takes"
    saving = next((option for option in row.options if _saves(option)), None)
    if saving and saving.best_seconds is not None and saving.best_measurements is not None:
        yield (
            f"{name}: {counted(saving.best_measurements, 'measurement')} per execution instead of {one.measurements} would find "
            f"{100 * saving.effect:g} % with {saving.best_replicates} executions in {_duration(saving.best_seconds)}"
        )


def _saves(option: Option) -> bool:
    return option.effect >= 0.02 and bool(
        option.seconds and option.best_seconds and option.best_seconds < SAVING * option.seconds
    )


def _indented(text: str) -> list[str]:
    return wrap(text, COLUMNS, initial_indent="  ", subsequent_indent="  ")


def _share(value: float) -> str:
    return f"{_percent(value)} %"


def _percent(value: float) -> str:
    if value >= LARGEST_EFFECT:
        return f">{100 * LARGEST_EFFECT - 1:.0f}"
    return number(float(f"{100 * value:.2g}"))


def _count(count: int | None) -> str:
    return ">9999" if count is None else str(count)


def _range(option: Option) -> str:
    if option.low is None:
        return ""
    if option.high is None:
        return f"{option.low} up"
    return f"{option.low}-{option.high}" if option.low != option.high else ""


def _duration(value: float) -> str:
    """``0.14 s``, ``12 s``, ``3.5 min``, ``2.1 h``."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if value >= 2 * size:
            return f"{float(f'{value / size:.2g}'):g} {unit}"
    return quantity(float(f"{value:.2g}"), "s")


def _spent(value: float | None) -> str:
    """A duration as it fits its column; times that nobody waits for are left out."""
    text = "" if value is None else _duration(value)
    return text if len(text) < OPTION else ""


def _first(values: Iterator[int | None]) -> int | None:
    return next((value for value in values if value is not None), None)
