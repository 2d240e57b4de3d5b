"""How large the differences are that a bisection measured."""

from __future__ import annotations

from math import expm1
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from perfvcs.locate.bisection import Bisection

LARGEST_EXPONENT = 700.0  # exp of more is beyond a float


class Effect(NamedTuple):
    """A difference with its 99 % interval, in the unit of the metric or as a share."""

    value: float
    low: float
    high: float
    pairs: int


def own(bisection: Bisection, number: int) -> Effect:
    """What a commit changed against its parent."""
    assert bisection.outcome is not None
    return effect(bisection.outcome.evidence.steps.get(number) or bisection.outcome.evidence.pairs, bisection)


def part(bisection: Bisection, number: int) -> float | None:
    """What share of the whole difference a commit made."""
    assert bisection.outcome is not None
    evidence = bisection.outcome.evidence
    whole = sum(evidence.pairs) / len(evidence.pairs)
    steps = evidence.steps.get(number)
    return sum(steps) / len(steps) / whole if steps and whole else None


def unexplained(bisection: Bisection) -> float:
    """What share of the whole difference no named commit made; 0 if that may be chance (two standard errors) or the ends are neighbours."""
    from statistics import fmean, variance

    assert bisection.outcome is not None
    evidence, named = bisection.outcome.evidence, bisection.outcome.decision.named
    whole, steps = fmean(evidence.pairs), [evidence.steps[number] for number in named if evidence.steps.get(number)]
    if not whole or len(steps) < len(named):
        return 0.0
    left = whole - sum(fmean(values) for values in steps)
    error = sum(variance(values) / len(values) for values in (evidence.pairs, *steps) if len(values) > 1) ** 0.5
    return left / whole if left > 2 * error else 0.0


def effect(values: list[float], bisection: Bisection) -> Effect:
    """The mean of differences with Student's interval, back from logarithms and in the metric's own direction."""
    from perfvcs.statistics.difference import paired

    assert bisection.outcome is not None and bisection.target is not None
    if len(values) > 1:
        seen = paired([[0.0] * len(values)], [values])
        ends = [float(seen.estimate[0]), float(seen.low[0]), float(seen.high[0])]
    else:
        ends = [values[0]] * 3
    if bisection.target.sign < 0:
        ends = [-ends[0], -ends[2], -ends[1]]
    if bisection.outcome.logarithmic:
        ends = [expm1(min(end, LARGEST_EXPONENT)) for end in ends]
    return Effect(ends[0], ends[1], ends[2], len(values))
