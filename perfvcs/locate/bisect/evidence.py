"""What a bisection has measured: blocks of both ends with a candidate, pairs of neighbours, and
what could not be measured.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from math import expm1
from typing import TYPE_CHECKING

import msgspec

from perfvcs.statistics.difference import NORMAL, paired
from perfvcs.system.numeric import Flags, Floats, np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perfvcs.locate.bisect.bisection import Bisection


LARGEST_EXPONENT = 700.0  # exp of more is beyond a float
FEWEST_FOR_OUTLIERS = 8  # residuals: with fewer, what is far off is not known
OUTLYING = 4.0  # standard deviations: what is farther off is pulled in
LEAST_CHANCE = 0.1  # that a commit between others that fail runs, for which it is tried
KNOWN_DEGREES = 10**6  # degrees of freedom of a variance that is known
# variances of bad - good, and of candidate - (good + bad) / 2, for executions of variance 1
OF_PAIR, OF_CANDIDATE = 2.0, 1.5


class Effect(msgspec.Struct, frozen=True):
    """A difference with its 99 % interval, in the unit of the metric or as a share."""

    value: float
    low: float
    high: float
    pairs: int


def own(bisection: Bisection, number: int) -> Effect:
    """What a commit changed against its parent."""
    assert bisection.outcome is not None
    evidence = bisection.outcome.evidence
    return _judged(bisection, number) or effect(
        evidence.steps.get(number) or evidence.pairs, bisection
    )


def sides_of(bisection: Bisection, number: int) -> tuple[float, float] | None:
    """The levels of a commit's parent and of the commit, as `perf check` has them where it has
    their difference; None where they were not measured in turns.
    """
    assert bisection.outcome is not None
    change = bisection.verdicts.get(number)
    if change is None or _judged(bisection, number) is None:
        return bisection.outcome.sides.get(number)
    if change.baseline is None or change.target is None:
        return bisection.outcome.sides.get(number)
    return change.baseline, change.target


def of_ends(bisection: Bisection) -> Effect | None:
    """The difference of the ends; None where they were not measured in turns."""
    assert bisection.outcome is not None
    pairs = bisection.outcome.evidence.pairs
    return _judged(bisection, 0) or (effect(pairs, bisection) if pairs else None)


def _judged(bisection: Bisection, number: int) -> Effect | None:
    """The difference as `perf check` has it, so that both say the same; None where it has none, or
    none of the same kind.
    """
    assert bisection.outcome is not None
    change = bisection.verdicts.get(number)
    if change is None:
        return None
    value, low, high = change.shift, change.shift_low, change.shift_high
    if bisection.outcome.logarithmic:
        value, low, high = change.effect, change.low, change.high
    if value is None:
        return None
    if low is None or high is None:
        low = high = value
    return Effect(value, low, high, change.executions[0])


def part(bisection: Bisection, number: int) -> float | None:
    """What share of the whole difference a commit made."""
    assert bisection.outcome is not None
    evidence = bisection.outcome.evidence
    whole = sum(evidence.pairs) / len(evidence.pairs)
    steps = evidence.steps.get(number)
    return sum(steps) / len(steps) / whole if steps and whole else None


def unexplained(bisection: Bisection) -> float:
    """What share of the whole difference no named commit made; 0 if that may be chance (two
    standard errors) or the ends are neighbours.
    """
    from statistics import fmean, variance

    assert bisection.outcome is not None
    evidence, named = bisection.outcome.evidence, bisection.outcome.decision.named
    whole, steps = (
        fmean(evidence.pairs),
        [evidence.steps[number] for number in named if evidence.steps.get(number)],
    )
    if not whole or len(steps) < len(named):
        return 0.0
    left = whole - sum(fmean(values) for values in steps)
    error = (
        sum(
            variance(values) / len(values) for values in (evidence.pairs, *steps) if len(values) > 1
        )
        ** 0.5
    )
    return left / whole if left > 2 * error else 0.0


def effect(values: list[float], bisection: Bisection) -> Effect:
    """The mean of differences with Student's interval, back from logarithms and in the metric's own
    direction.
    """
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


@dataclass
class Evidence:
    """Differences in the order they were measured; commits are numbers, 0 for the good end and
    ``last`` for the bad one.

    Values are logarithms, or as they are where a metric has values that have none. ``pairs`` holds
    bad - good of each block, ``candidates`` by commit the candidate's value minus the mean of both
    ends of its block, ``steps`` by commit its value minus its parent's where these two were
    measured in turns. ``skipped`` are commits that cannot be measured. ``exact``: values repeat
    exactly.
    """

    last: int
    exact: bool = False
    pairs: list[float] = field(default_factory=list)
    candidates: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    steps: defaultdict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    skipped: set[int] = field(default_factory=set)

    def add(
        self, good: float, bad: float, candidate: int | None = None, value: float = 0.0
    ) -> None:
        """One block: both ends, and a ``candidate`` with its ``value``."""
        self.pairs.append(bad - good)
        if candidate is not None:
            self.candidates[candidate].append(value - (good + bad) / 2)

    def add_step(self, commit: int, parent: float, own: float) -> None:
        """One pair of a commit and its parent."""
        self.steps[commit].append(own - parent)

    def built(self) -> Flags:
        """Which commits were measured, shape (last + 1,)."""
        neighbours = (place for commit in self.steps for place in (commit - 1, commit))
        built = np.zeros(self.last + 1, bool)
        built[[0, self.last, *self.candidates, *neighbours]] = True
        return built

    def chances(self) -> Floats:
        """The probability of each commit to run, shape (last + 1,), by those that do and do not.

        Commits that fail come in runs, of which every magnitude of length is as likely. So the next
        one that is tried is the farther away, the longer the known run is, until its ends are
        known; inside of it, one is tried that runs with a tenth or more. Commits that were tried
        have 1 or 0.
        """
        chances = np.ones(self.last + 1)
        runs = np.flatnonzero(self.built()).tolist()
        failed = sorted(self.skipped.difference(runs))
        for before, after in pairwise(runs):
            inside = failed[bisect_left(failed, before) : bisect_left(failed, after)]
            if not inside:
                continue
            first, last = inside[0], inside[-1]
            length = last - first + 1
            for edge, end in ((first, before), (last, after)):
                places = np.arange(min(edge, end), max(edge, end) + 1)
                away, whole = np.abs(places - edge), abs(end - edge)
                chances[places] = np.log1p(away / length) / np.log1p(whole / length)
            for left, right in pairwise(inside):
                places = np.arange(left, right + 1)
                away = np.minimum(places - left, right - places)
                chance = away / (away + length)
                chances[places] = np.where(chance < LEAST_CHANCE, 0.0, chance)
        return chances

    def summary(self) -> EvidenceSummary:
        """Means and the spread of executions, outliers pulled in."""
        groups = [(np.array(self.pairs), OF_PAIR)]
        groups += [(np.array(column), OF_CANDIDATE) for column in self.candidates.values()]
        groups += [(np.array(column), OF_PAIR) for column in self.steps.values()]
        drawn = _drawn_in(groups)
        free = sum(len(values) - 1 for values, _ in groups)
        squares = sum(
            float(((values - values.mean()) ** 2).sum()) / variance
            for values, (_, variance) in zip(drawn, groups, strict=True)
        )
        variance = squares / free if free else float("inf")
        if self.exact:
            # only the levels that builds have of their own vary, and these are not estimated
            free, variance = KNOWN_DEGREES, 0.0
        means = [float(values.mean()) for values in drawn]
        count = 1 + len(self.candidates)
        return EvidenceSummary(
            effect=means[0],
            pairs=len(self.pairs),
            variance=variance,
            free=free,
            candidates={
                commit: (mean, len(self.candidates[commit]))
                for commit, mean in zip(self.candidates, means[1:count], strict=True)
            },
            steps={
                commit: (mean, len(self.steps[commit]))
                for commit, mean in zip(self.steps, means[count:], strict=True)
            },
        )


@dataclass(frozen=True)
class EvidenceSummary:
    """The mean ``effect`` of ``pairs`` pairs of the ends, the ``variance`` of one execution with
    ``free`` degrees of freedom, and by commit mean and number of the differences of ``candidates``
    and ``steps``.
    """

    effect: float
    pairs: int
    variance: float
    free: int
    candidates: dict[int, tuple[float, int]]
    steps: dict[int, tuple[float, int]]


def _drawn_in(groups: Iterable[tuple[Floats, float]]) -> list[Floats]:
    """The values of each group; pulls in those that lie farther from the group's median than chance
    explains. A group comes with its variance.
    """
    groups = list(groups)
    apart = [(values - np.median(values)) / variance**0.5 for values, variance in groups]
    several = [group for group in apart if len(group) > 1]
    if sum(map(len, several)) < FEWEST_FOR_OUTLIERS:
        return [values for values, _ in groups]
    # a median of its own takes a degree of freedom from each group
    free = sum(len(group) - 1 for group in several) / sum(map(len, several))
    scale = NORMAL * float(np.median(np.abs(np.concatenate(several)))) / free**0.5
    if not scale:
        return [values for values, _ in groups]
    return [
        values
        - (deviations - np.clip(deviations, -OUTLYING * scale, OUTLYING * scale)) * variance**0.5
        for deviations, (values, variance) in zip(apart, groups, strict=True)
    ]
