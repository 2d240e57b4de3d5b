"""What a design finds, and the design that finds a given change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import expm1, isfinite, log1p, sqrt
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.profile.rules import USUAL_DELTA
from perfvcs.statistics.huber import FEWEST_PAIRS
from perfvcs.text.words import metric_rank

if TYPE_CHECKING:
    from perfvcs.plan.survey import Survey
    from perfvcs.plan.variation import Variation

EFFECTS = (0.01, 0.02, 0.05, 0.10)
POWER = 0.8
FEWEST_REPLICATES = 5  # executions (or builds) that a verdict needs
MOST_PLANNED = 9999  # executions that are still planned
PLANNED_ALPHA = 0.01  # level of the test of a single unit
DISCOVERIES = 0.05  # of Benjamini and Hochberg, as in check
UNPROMISING_DF = 2  # degrees of freedom up to which nothing can be promised
LARGEST_FACTOR = 4  # the most that a number of measurements is raised by
# share of an effect that delta may be; the estimate of an effect of delta itself is below it half
# of the time
CLEAR = 0.75


class PlannedDeviation(NamedTuple):
    """The deviation of a pair's difference to plan with, and the interval in which it is with 80
    %.
    """

    likely: float
    low: float
    high: float


class PlanRule(Struct, frozen=True):
    """The rule that a plan is for: the smallest change that counts, and how many comparisons a
    check makes at once.
    """

    delta: float = USUAL_DELTA
    family: int = 1

    @property
    def alpha(self) -> float:
        """The p-value that a lone change needs: 1 %, or less where Benjamini and Hochberg's
        correction asks for it.
        """
        return min(PLANNED_ALPHA, DISCOVERIES / max(1, self.family))

    def below(self, effect: float) -> PlanRule:
        """The rule for finding ``effect``: an effect that is not well above delta is found only
        with a smaller one.
        """
        return self if self.delta <= effect * CLEAR else PlanRule(effect / 2, self.family)

    def bar(self) -> float:
        """Delta on the logarithmic scale."""
        return log1p(self.delta)


class DetectableEffect(Struct, frozen=True):
    """The smallest effect that is found with a power of 80 %; ``low`` and ``high`` as the noise is
    known to 80 %.
    """

    effect: float
    low: float
    high: float


class Option(Struct, frozen=True):
    """What finds ``effect`` with a power of 80 %: so many ``replicates`` (executions, or builds
    with the present executions each).

    ``low`` and ``high``: as few and as many as it may really take, the noise known to 80 %. None
    where ``MOST_PLANNED`` are not enough. ``delta`` is the one to ask ``perf check`` for.
    ``seconds`` is what one revision costs. ``best_measurements`` per execution (n0), with the
    replicates and seconds that they need; None where another number of measurements makes no
    difference or is not known.
    """

    effect: float
    delta: float
    replicates: int | None
    low: int | None
    high: int | None
    seconds: float | None
    best_measurements: int | None = None
    best_replicates: int | None = None
    best_seconds: float | None = None


class PlanRow(Struct, frozen=True):
    """One unit and metric: its delta, what its present design finds, the delta that it settles, and
    what would find the ``EFFECTS``.
    """

    variation: Variation
    delta: float
    finds: DetectableEffect | None
    settles: float | None
    options: Sequence[Option]


def rows_of(survey: Survey, delta: float | None, family: int) -> list[PlanRow]:
    """A row for each unit and metric of a job: units as they come, wall and CPU time first;
    ``delta`` None is the usual one of a metric.
    """
    units: dict[tuple[str, float | None], list[Variation]] = defaultdict(list)
    for variation in survey.variations:
        units[variation.uid, variation.size].append(variation)
    rows = []
    for variations in units.values():
        for variation in sorted(variations, key=lambda variation: metric_rank(variation.metric)):
            rule = PlanRule(variation.delta if delta is None else delta, family)
            rows.append(_row(variation, survey, rule))
    return rows


def _row(variation: Variation, survey: Survey, rule: PlanRule) -> PlanRow:
    replicates = survey.binaries if survey.binaries > 1 else survey.executions
    return PlanRow(
        variation,
        rule.delta,
        finding(variation, replicates, rule),
        reachable(variation, replicates),
        options(variation, survey, rule),
    )


def finding(variation: Variation, count: int, rule: PlanRule) -> DetectableEffect | None:
    """What ``count`` pairs find of a unit; None where that is unknown, and for fewer than
    ``FEWEST_REPLICATES``, which find nothing.
    """
    from perfvcs.statistics.power import detectable

    if variation.difference is None or variation.df < 1 or count < FEWEST_REPLICATES:
        return None
    whole, drawn = _deviations(variation)
    deviations = drawn if count >= FEWEST_PAIRS else whole
    effects = [
        detectable(deviation, count, rule.alpha, rule.bar(), POWER) for deviation in deviations
    ]
    effect, low, high = (expm1(min(value or 0.0, 700.0)) for value in effects)
    return DetectableEffect(effect, low, high)


def reachable(variation: Variation, count: int) -> float | None:
    """The smallest delta at which ``count`` pairs of equal versions are the same in 4 of 5 cases;
    None where that is unknown.
    """
    from perfvcs.statistics.power import settled

    if variation.difference is None or variation.df < 1 or count < FEWEST_REPLICATES:
        return None
    whole, drawn = _deviations(variation)
    smallest = settled((drawn if count >= FEWEST_PAIRS else whole).likely, count)
    return None if smallest is None else expm1(min(smallest, 700.0))


class PairsNeeded(NamedTuple):
    """How many pairs find an effect, and the fewest and most that it may really take, the noise
    known to 80 %.
    """

    pairs: int | None
    low: int | None
    high: int | None


def needed(
    variation: Variation, effect: float, rule: PlanRule, most: int = MOST_PLANNED
) -> PairsNeeded:
    """The pairs that find ``effect``.

    Fewer than ``FEWEST_PAIRS`` pairs keep their outliers; of more, a check draws them in.
    """
    from perfvcs.statistics.power import pairs

    def enough(whole: float, drawn: float) -> int | None:
        few = pairs(
            log1p(effect),
            whole,
            rule.alpha,
            rule.bar(),
            POWER,
            FEWEST_REPLICATES,
            min(most, FEWEST_PAIRS - 1),
        )
        return few or pairs(log1p(effect), drawn, rule.alpha, rule.bar(), POWER, FEWEST_PAIRS, most)

    return PairsNeeded(*(enough(*both) for both in zip(*_deviations(variation), strict=True)))


def options(
    variation: Variation, survey: Survey, rule: PlanRule, effects: Sequence[float] = EFFECTS
) -> list[Option]:
    """One option per effect; none where nothing can be planned."""
    if variation.difference is None:
        return []
    best = measurements(variation, survey)
    planned = []
    for effect in effects:
        chosen = rule.below(effect)
        count, low, high = needed(variation, effect, chosen)
        option = Option(
            effect,
            chosen.delta,
            count,
            low,
            high,
            seconds(survey, count, variation.measurements, variation.measurements),
        )
        if best is not None and best != variation.measurements and count is not None:
            other = needed(_with(variation, best), effect, chosen).pairs
            spent = seconds(survey, other, best, variation.measurements)
            option = replace(
                option, best_measurements=best, best_replicates=other, best_seconds=spent
            )
        planned.append(option)
    return planned


def measurements(variation: Variation, survey: Survey) -> int | None:
    """The best number of measurements per execution, n0 = sqrt(w S_E^2 / S_B^2), rounded; at most
    ``LARGEST_FACTOR`` the present one.

    The variance between executions is that of their medians, as a verdict takes them, without what
    comes from inside. None where nothing is known of the inside, or of the costs.
    """
    from perfvcs.statistics.components import measurements as best

    if (
        variation.inside is None
        or not variation.inside.within
        or variation.deviation is None
        or survey.binaries > 1
    ):
        return None
    cost, n = survey.cost, variation.measurements
    if cost.execution is None or not cost.measurement or n < 2:
        return None
    start = (
        max(0.0, cost.execution - n * cost.measurement) / cost.measurement + variation.inside.warmup
    )
    count = float(best(variation.inside.single(n), _between(variation), start))
    if not isfinite(count):
        return LARGEST_FACTOR * n
    return max(1, min(LARGEST_FACTOR * n, round(count)))


def builds(variation: Variation, survey: Survey) -> int | None:
    """The best number of executions per build, m0 = sqrt(b S_B^2 / (w S_V^2)), rounded, at least 1;
    None where it is not known.

    With the measurements per execution as they are, w is a whole execution, and S_B^2 holds what
    comes from inside: with n0 of them that is the published m0.
    """
    from perfvcs.statistics.components import executions as best

    inside, cost = variation.inside, survey.cost
    if (
        variation.deviation is None
        or survey.binaries < 2
        or not cost.execution
        or cost.preparation is None
        or inside is None
    ):
        return None
    if inside.executions is None or inside.builds is None:
        return None
    inner = inside.single(variation.measurements) / variation.measurements
    count = float(
        best(inside.executions**2 + inner, inside.builds**2, cost.execution, cost.preparation)
    )
    return max(1, round(count)) if isfinite(count) else None


def seconds(survey: Survey, count: int | None, measurements: int, present: int) -> float | None:
    """What one revision costs with ``count`` replicates, warm-up executions and, for several
    builds, their preparation included.
    """
    cost = survey.cost
    if count is None or cost.execution is None:
        return None
    execution = cost.execution + (measurements - present) * (cost.measurement or 0.0)
    if survey.binaries > 1:
        return count * ((survey.executions + survey.warmup) * execution + (cost.preparation or 0.0))
    return (count + survey.warmup) * execution


def _deviations(variation: Variation) -> tuple[PlannedDeviation, PlannedDeviation]:
    """The deviation of all values, and the one with outliers pulled in.

    A variance from few executions is as likely too small as too large, and one that is too small
    misses more than one that is too large costs: with df degrees of freedom it is taken df / (df -
    2) times, its expectation given what was seen. In a simulation that brings the power, averaged
    over what was seen, from 66-83 % to 80-87 % (benchmarks/planning.py).
    """
    from perfvcs.statistics.power import limits

    low, high = limits(1.0, variation.df)
    safe = sqrt(variation.df / (variation.df - 2)) if variation.df > UNPROMISING_DF else 1.0
    whole, drawn = (
        PlannedDeviation(safe * deviation, low * deviation, high * deviation)
        for deviation in (
            variation.difference or 0.0,
            variation.drawn or variation.difference or 0.0,
        )
    )
    return whole, drawn


def _between(variation: Variation) -> float:
    """The variance that executions add by themselves to that of their medians."""
    inner = (
        variation.inside.single(variation.measurements) / variation.measurements
        if variation.inside
        else 0.0
    )
    return max(0.0, (variation.deviation or 0.0) ** 2 - inner)


def _with(variation: Variation, count: int) -> Variation:
    """The variation if every execution measured ``count`` times: the difference of pairs shrinks or
    grows as the medians do.
    """
    if variation.inside is None or not variation.difference:
        return variation
    between = _between(variation)
    now, then = (
        variation.inside.single(number) / number for number in (variation.measurements, count)
    )
    factor = sqrt((between + then) / (between + now))
    return replace(
        variation,
        difference=variation.difference * factor,
        drawn=None if variation.drawn is None else variation.drawn * factor,
    )
