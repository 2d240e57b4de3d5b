"""What the numbers of a plan mean, in words."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, sqrt
from typing import TYPE_CHECKING

from perfvcs.plan.design import FEWEST_REPLICATES, Option, PlanRow, builds
from perfvcs.plan.inside import NOTABLE_CORRELATION, Inside
from perfvcs.text.quantity import number, quantity
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.plan.survey import Survey
    from perfvcs.plan.variation import Variation

LARGEST_EFFECT = 10.0  # effect that is still shown as a number
ROUGH_DF = 9  # degrees of freedom below which a plan is a rough one
STRONG = 1.5  # impact factor
SHIFTED = 1.2  # the most that the control may be where executions merely shift their measurements
# share of the variance between executions below which that within does not matter
NEGLIGIBLE = 0.05
SAVING = 0.8  # share of the cost below which another number of measurements is worth a line


def meaning(row: PlanRow, survey: Survey, name: str) -> Iterator[str]:
    """What the numbers mean, in words."""
    variation = row.variation
    if variation.difference is None:
        return
    if variation.deviation == 0:
        yield f"{name}: all values are equal, so every change shows"
        return
    count, what = (
        (survey.binaries, "build") if survey.binaries > 1 else (survey.executions, "execution")
    )
    if count < FEWEST_REPLICATES:
        yield (
            f"{counted(count, what)} a side settle nothing: a verdict needs at least"
            f" {FEWEST_REPLICATES}, better 10"
        )
    if variation.df < ROUGH_DF:
        yield f"a rough plan: so few {what}s say little about the noise; measure more, or again"
    if variation.inside is None:
        yield (
            "one measurement per execution: differences within and between executions cannot be"
            " separated, so only executions count"
        )


def seed(variation: Variation, survey: Survey, name: str, *, verbose: bool) -> Iterator[str]:
    """How much the seed explains that the revisions of a block share."""
    if variation.difference is None or not variation.deviation:
        return
    if variation.seed is None:
        why = (
            "takes five blocks of two revisions"
            if survey.binaries == 1
            else "cannot be separated from that of the build"
        )
        if verbose:
            yield f"{name}: how much the seed of a block explains is not known: it {why}"
    elif verbose or variation.seed.low > 0:
        explained = variation.seed
        text = (
            f"the seed of a block explains {_rounded(explained.share)} % of the variance between"
            " executions"
        )
        text += f" (80 % range: {_rounded(explained.low)}-{_rounded(explained.high)} %)"
        if variation.paired and explained.low > 0:
            text += (
                f"; pairs that share it differ by {share(variation.difference)}, others by"
                f" {share(sqrt(2) * variation.deviation)}"
            )
        yield f"{name}: {text}"


def levels(
    row: PlanRow, inside: Inside, survey: Survey, name: str, *, verbose: bool
) -> Iterator[str]:
    """What the measurements inside executions show, in words."""
    variation = row.variation
    if variation.difference is None or variation.deviation == 0:
        return
    parts = [
        f"{share(value)} {where}"
        for value, where in (
            (inside.within, "within an execution"),
            (inside.executions, "between executions"),
            (inside.builds, "between builds"),
        )
        if value is not None
    ]
    if verbose and parts:
        yield f"{name} varies by {', '.join(parts)}"
    if inside.factor is not None and (verbose or inside.factor >= STRONG):
        alike = inside.control is not None and inside.control <= SHIFTED
        how = "shifts all its measurements alike" if alike else "changes also how much they vary"
        impact = f"{name}: impact factor {inside.factor:.1f}"
        yield (
            f"{impact}: an execution's start {how} ({inside.control:.1f} without the means), so one"
            " execution says little about the next"
            if inside.factor >= STRONG
            else f"{impact}: it hardly matters in which execution something is measured"
        )
    if inside.warmup:
        many = inside.warmup > 1
        first = (
            f"first {inside.warmup} measurements of an execution are"
            if many
            else "first measurement of an execution is"
        )
        yield f"{name}: the {first} slower or faster than the rest: warm up inside the program"
    if inside.dependence is not None and abs(inside.dependence) > NOTABLE_CORRELATION:
        yield (
            f"{name}: a measurement depends on the one before it (autocorrelation"
            f" {inside.dependence:.1f}), so more of them say less"
        )
    if (
        variation.measurements > 1
        and inside.executions
        and inside.within is not None
        and survey.binaries == 1
    ):
        if inside.within**2 < NEGLIGIBLE * inside.executions**2:
            yield (
                f"{name}: one measurement per execution is enough, executions differ far more than"
                " their measurements"
            )
    elif inside.executions == 0:
        yield (
            f"{name}: executions do not differ beyond their measurements: measuring more often"
            " inside does as well as starting again"
        )
    best = builds(variation, survey)
    if best is not None:
        yield (
            f"{name}: best are {counted(best, 'execution')} per build (now {survey.executions}),"
            " and as many builds as it takes"
        )
    saving = next((option for option in row.options if _saves(option)), None)
    if saving and saving.best_seconds is not None and saving.best_measurements is not None:
        yield (
            f"{name}: {counted(saving.best_measurements, 'measurement')} per execution instead of"
            f" {variation.measurements} would find {100 * saving.effect:g} % with"
            f" {saving.best_replicates} executions in {duration_text(saving.best_seconds)}"
        )


def _saves(option: Option) -> bool:
    return option.effect >= 0.02 and bool(
        option.seconds and option.best_seconds and option.best_seconds < SAVING * option.seconds
    )


def _rounded(value: float) -> str:
    """A share in percent, rounded down: 100 only where nothing else is left."""
    return f"{floor(100 * value)}"


def share(value: float) -> str:
    """A share or an effect in percent."""
    return f"{percent(value)} %"


def percent(value: float) -> str:
    """The number of percent, without the sign."""
    if value >= LARGEST_EFFECT:
        return f">{100 * LARGEST_EFFECT - 1:.0f}"
    return number(float(f"{100 * value:.2g}"))


def duration_text(value: float) -> str:
    """``0.14 s``, ``12 s``, ``3.5 min``, ``2.1 h``."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if value >= 2 * size:
            return f"{float(f'{value / size:.2g}'):g} {unit}"
    return quantity(float(f"{value:.2g}"), "s")
