"""Proof by experiment: how much of an effect is gone in a version without a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from perfvcs.check.bounds import NEW

# the share of the effect by which the auxiliary version may miss the level, whatever delta is
ENOUGH_SHARE = 0.2
EXACT_SHARE = 0.05  # the same of exact values, where delta is less
SMALLEST_SHARE = 0.1  # a smaller share of the effect is not a contribution
LEVEL = 0.95  # of the intervals

ProofWord = Literal["proved", "contributes", "not proved", "open"]


class VersionValues(msgspec.Struct, frozen=True):
    """Values of the versions a, b and auxiliary, one per execution; of a deterministic metric one
    is enough.
    """

    a: list[float]
    b: list[float]
    auxiliary: list[float] = []

    @property
    def exact(self) -> bool:
        """Whether there is nothing to average."""
        return len(self.a) == 1


class Experiment(msgspec.Struct, frozen=True):
    """The outcome: ``share`` of the effect that is gone without the change, with its interval, and
    the verdict.

    ``open``: more executions would decide it.
    """

    word: ProofWord
    share: float
    low: float
    high: float


class RelativeEffect(msgspec.Struct, frozen=True):
    """The relative difference of two versions, and its interval; ``real``: it is neither chance nor
    below delta.
    """

    value: float
    low: float
    high: float
    real: bool


class _MeanInterval(NamedTuple):
    mean: float
    low: float
    high: float


def effect(a: Sequence[float], b: Sequence[float], delta: float, *, exact: bool) -> RelativeEffect:
    """The difference of b from a, relative to a; values of one place in both lists are of one
    block.

    >>> effect([100], [150], 0.01, exact=True)
    RelativeEffect(value=0.5, low=0.5, high=0.5, real=True)
    >>> effect([0], [0], 0.0, exact=True).real, effect([0], [64], 0.0, exact=True).real
    (False, True)
    >>> effect([-5], [-7], 0.01, exact=True).value
    -0.4
    """
    shares = list(map(difference, a, b))
    value, low, high = _interval(shares, exact=exact)
    return RelativeEffect(value, low, high, abs(value) >= delta and (low > 0 or high < 0))


def difference(before: float, after: float) -> float:
    """The difference as a share of the size of ``before``; of nothing, such as the memory of a
    program that allocated none, that of `perf check` for what has no ratio.
    """
    if before:
        return (after - before) / abs(before)
    return NEW if after else 0.0


def judge(levels: VersionValues, delta: float) -> Experiment:
    """Whether the version without the change has the level of a.

    ``proved``: it has, within ``delta`` and within a fifth of the effect; of exact values a
    twentieth of the effect is enough, as it would not be a contribution. ``contributes``: a
    part of the effect, or more than all of it, is gone. An interval that allows both is ``open``,
    unless values are exact.

    >>> judge(VersionValues([100], [112], [100.1]), 0.01).word
    'proved'
    >>> judge(VersionValues([100], [200], [104]), 0.01).word
    'proved'
    >>> judge(VersionValues([100], [112], [106]), 0.01).word
    'contributes'
    >>> judge(VersionValues([100], [112], [112]), 0.01).word
    'not proved'
    >>> judge(VersionValues([0], [64], [0]), 0.01).word
    'proved'
    """
    whole = sum(map(difference, levels.a, levels.b)) / len(levels.a)
    rest, low, high = _interval(
        list(map(difference, levels.a, levels.auxiliary)), exact=levels.exact
    )
    if not whole:
        return Experiment("not proved", 0.0, 0.0, 0.0)
    shares = sorted((1 - low / whole, 1 - high / whole))
    share = 1 - rest / whole
    near = max(min(delta / abs(whole), ENOUGH_SHARE), EXACT_SHARE) if delta else ENOUGH_SHARE
    word = _exact_word(share, near) if levels.exact else _word(*shares)
    return Experiment(word, share, *shares)


def _exact_word(share: float, near: float) -> ProofWord:
    """The word for a share without error; from 1 it may be as far as ``near``."""
    if abs(1 - share) <= near:
        return "proved"
    return "contributes" if share >= SMALLEST_SHARE else "not proved"


def _word(low: float, high: float) -> ProofWord:
    if low >= 1 - ENOUGH_SHARE and high <= 1 + ENOUGH_SHARE:
        return "proved"
    if high < SMALLEST_SHARE:
        return "not proved"
    is_apart = high < 1 - ENOUGH_SHARE or low > 1 + ENOUGH_SHARE
    return "contributes" if low >= SMALLEST_SHARE and is_apart else "open"


def _interval(values: Sequence[float], *, exact: bool) -> _MeanInterval:
    """The mean of values, and the interval that holds it by Student's t."""
    mean = sum(values) / len(values)
    if exact:
        return _MeanInterval(mean, mean, mean)
    if len(values) < 2:
        return _MeanInterval(mean, float("-inf"), float("inf"))
    from statistics import stdev

    from scipy.special import stdtrit

    half = float(stdtrit(len(values) - 1, (1 + LEVEL) / 2)) * stdev(values) / len(values) ** 0.5
    return _MeanInterval(mean, mean - half, mean + half)
