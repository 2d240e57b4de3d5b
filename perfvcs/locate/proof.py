"""What an experiment proves: the level of a version without a change, between those of the two versions that differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

ENOUGH_SHARE = 0.2  # the share of the effect by which the auxiliary version may miss the level, whatever delta is
SMALLEST_SHARE = 0.1  # a smaller share of the effect is not a contribution
LEVEL = 0.95  # of the intervals

ProofWord = Literal["proved", "contributes", "not proved", "open"]


class VersionValues(msgspec.Struct, frozen=True):
    """Values of the versions a, b and auxiliary, one per execution; of a deterministic metric one is enough."""

    a: list[float]
    b: list[float]
    auxiliary: list[float] = []

    @property
    def exact(self) -> bool:
        """Whether there is nothing to average."""
        return len(self.a) == 1


class Experiment(msgspec.Struct, frozen=True):
    """The outcome: ``share`` of the effect that is gone without the change, with its interval, and the verdict.

    ``open``: more executions would decide it.
    """

    word: ProofWord
    share: float
    low: float
    high: float


class RelativeEffect(msgspec.Struct, frozen=True):
    """The relative difference of two versions, and its interval; ``real``: it is neither chance nor below delta."""

    value: float
    low: float
    high: float
    real: bool


class _MeanInterval(NamedTuple):
    mean: float
    low: float
    high: float


def effect(a: Sequence[float], b: Sequence[float], delta: float, *, exact: bool) -> RelativeEffect:
    """The difference of b from a, relative to a; values of one place in both lists are of one block.

    >>> effect([100], [150], 0.01, exact=True)
    RelativeEffect(value=0.5, low=0.5, high=0.5, real=True)
    """
    value, low, high = _interval([y / x - 1 for x, y in zip(a, b, strict=True)], exact=exact)
    return RelativeEffect(value, low, high, abs(value) >= delta and (low > 0 or high < 0))


def judge(levels: VersionValues, delta: float) -> Experiment:
    """Whether the version without the change has the level of a.

    ``proved``: it has, within ``delta`` and within a fifth of the effect. ``contributes``: a part of the effect, or more than all of it,
    is gone. An interval that allows both is ``open``, unless values are exact.

    >>> judge(VersionValues([100], [112], [100.1]), 0.01).word, judge(VersionValues([100], [112], [106]), 0.01).word
    ('proved', 'contributes')
    >>> judge(VersionValues([100], [112], [112]), 0.01).word
    'not proved'
    """
    whole = sum(y / x - 1 for x, y in zip(levels.a, levels.b, strict=True)) / len(levels.a)
    rest, low, high = _interval([z / x - 1 for x, z in zip(levels.a, levels.auxiliary, strict=True)], exact=levels.exact)
    if not whole:
        return Experiment("not proved", 0.0, 0.0, 0.0)
    shares = sorted((1 - low / whole, 1 - high / whole))
    share = 1 - rest / whole
    near = min(delta / abs(whole), ENOUGH_SHARE) if delta else ENOUGH_SHARE
    if levels.exact:
        word: ProofWord = "proved" if abs(1 - share) <= near else "contributes" if share >= SMALLEST_SHARE else "not proved"
    elif shares[0] >= 1 - ENOUGH_SHARE and shares[1] <= 1 + ENOUGH_SHARE:
        word = "proved"
    elif shares[1] < SMALLEST_SHARE:
        word = "not proved"
    elif shares[0] >= SMALLEST_SHARE and (shares[1] < 1 - ENOUGH_SHARE or shares[0] > 1 + ENOUGH_SHARE):
        word = "contributes"
    else:
        word = "open"
    return Experiment(word, share, *shares)


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
