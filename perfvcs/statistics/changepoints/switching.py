"""Series that move back and forth between levels: one finding instead of dozens of steps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING

from perfvcs.statistics.difference import NORMAL

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.changepoints.stepfilter import Segments


# standard deviations about the levels, for an efficiency of 95 % where the noise is normal (Huber
# 1981)
CLIP = 1.345
SLOWEST, FASTEST, SPEEDS = 1e-4, 1.0, 13  # of a walk, in variances of the noise per value
SMALLEST_SQUARES = 1e-300
LEVEL_DISTANCE = 4.0  # standard deviations between the levels of a mixture
MOST_LEVELS = 4  # levels
SMALLEST_STEP = 0.005  # between levels, as of steps
RARE = 0.05  # share of the values below which they are outliers, and no level
FEWEST_VALUES = 5  # values at a level
SHORTEST_MIXTURE = 40  # values of a mixture: fewer fall apart by chance
MOVES = 6  # there and back, three times
# times ln n that it takes to say where a step is and how high: a place and, of a level, its
# precision (BIC)
COST = 1.5
RECURRING = 0.35  # share of the values on both sides of a step whose levels are the same


def sudden(
    segments: Segments, steps: Sequence[int], inflation: float, settled: Collection[int] = ()
) -> list[int]:
    """The ascending ``steps`` that a series which wanders does not explain as well; those at
    ``settled`` places stay.

    The weakest is removed first, and the others are tested again: they may be parts of the same
    walk. That does not go on until no step is left: a walk that is to explain a sudden step is too
    fast for all other values.
    """
    from perfvcs.statistics.changepoints.drift import EVIDENCE

    left = list(steps)
    while left:
        gains = evidence(segments, left, inflation)
        weak = [
            (value, step)
            for value, step in zip(gains, left, strict=True)
            if value < EVIDENCE and step not in settled
        ]
        if not weak:
            break
        left.remove(min(weak)[1])
    return left


def evidence(segments: Segments, steps: Sequence[int], inflation: float) -> list[float]:
    """For each of the ascending ``steps``, and against a level that wanders: twice the logarithm of
    their likelihood ratio.

    A series may have no level at all: a random walk beneath the noise goes up here and down there,
    and a few steps fit that, too. Both models have all other steps, and a walk where that is worth
    it: its speed costs ln n, as the place of the step does (BIC). ``inflation`` is that by a
    first-order dependence of the noise. Outliers are pulled in, by pseudo-values. ``steps`` is not
    empty.

    The covariance of the differences of a random walk with independent noise has the sines as its
    eigenvectors (Harvey 1989, 4.1), and with dependent noise nearly (Whittle). So one transform of
    the series serves all walks.
    """
    import numpy as np

    y, scale, n = segments.values, segments.scale, len(segments.values)
    left = (y - segments.along(steps)) / scale
    inside = max(float(np.mean(np.abs(left) < CLIP)), 1 / n)
    around = _sines(np.diff(np.clip(left, -CLIP, CLIP))) / inside
    sizes = np.diff(segments.centres(steps)) / scale[list(steps)]
    frequency = np.pi * np.arange(1, n) / n
    # the differences of a step are an impulse
    shapes = np.sqrt(2 / n) * np.sin(np.outer(steps, frequency))
    noise = _noise(frequency, inflation)
    speeds = [0.0, *np.geomspace(SLOWEST, FASTEST, SPEEDS).tolist()]
    with_all, without = np.empty(len(speeds)), np.empty((len(speeds), len(steps)))
    for turn, speed in enumerate(speeds):
        variance = speed + noise
        weighted = shapes / variance
        inverse = np.linalg.inv(weighted @ shapes.T)
        product = weighted @ around
        squares = float(around @ (around / variance) - product @ inverse @ product)
        more = (inverse @ product + sizes) ** 2 / np.diagonal(inverse)
        price = float(np.log(variance).sum()) + (log(n) if speed else 0.0)
        with_all[turn] = (n - 1) * log(max(squares, SMALLEST_SQUARES)) + price
        without[turn] = (n - 1) * np.log(np.maximum(squares + more, SMALLEST_SQUARES)) + price
    gains: list[float] = (without.min(axis=0) - with_all.min() - log(n)).tolist()
    return gains


def _noise(frequency: NDArray[np.float64], inflation: float) -> NDArray[np.float64]:
    """The variances along the sines of the differences of noise of variance 1, each value of which
    is like the one before.
    """
    import numpy as np

    r = (inflation - 1) / (inflation + 1)
    variances: NDArray[np.float64] = (
        2 * (1 - np.cos(frequency)) * (1 - r * r) / (1 - 2 * r * np.cos(frequency) + r * r)
    )
    return variances


def _sines(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The discrete sine transform of the first kind, orthonormal."""
    import numpy as np

    n = len(values) + 1
    odd = np.zeros(2 * n)
    odd[1:n], odd[n + 1 :] = values, -values[::-1]
    transformed: NDArray[np.float64] = -np.fft.rfft(odd).imag[1:n] / np.sqrt(2 * n)
    return transformed


@dataclass(frozen=True)
class SwitchingStretch:
    """A stretch of a series that moves back and forth between few levels.

    From index ``first`` to ``last``, both inside. ``levels`` are logarithms, ascending, and
    ``shares`` what part of the values is at each. ``moves`` counts how often it changed between
    them.
    """

    first: int
    last: int
    levels: tuple[float, ...]
    shares: tuple[float, ...]
    moves: int

    @property
    def commonest(self) -> int:
        """The place in ``levels`` of the level that most values have; of equally common ones the
        lowest.
        """
        return self.shares.index(max(self.shares))


def switching(
    segments: Segments,
    places: Sequence[int],
    inflation: float,
    settled: frozenset[int] = frozenset(),
) -> tuple[list[int], SwitchingStretch | None]:
    """The steps of a series that are not moves between recurring levels, and the newest stretch of
    such moves; steps at ``settled`` stay.

    A stretch switches where it takes less to say of each value at which of its levels it is (n
    times the entropy of their shares) than where each move is and how high it goes (1.5 ln n):
    between two equally common levels of 800 values moves are steps from some 14 commits on. There a
    step stays whose levels do not recur on its other side, or that the values about their levels
    show, too.
    """
    values, steps = segments.values, list[int]()
    stretches: list[SwitchingStretch] = []
    windows = [(0, len(values), list(places))]
    while windows:
        low, high, inner = windows.pop()
        here = _mixture(values, low, high)
        if here and inner and _pays_for_itself(here, low, inner):
            steps += inner
            windows += [(start, stop, []) for start, stop in pairwise([low, *inner, high])]
            continue
        cut = min(inner, key=lambda place: _common(here, low, place)) if here and inner else None
        if here and (cut is None or _common(here, low, cut) >= RECURRING) and _short(here):
            stretches.append(_found(here, low, high))
            steps += _left(segments, here, low, high, inner, inflation, settled)
        elif inner:
            if cut is None or (here and _common(here, low, cut) >= RECURRING):
                cut = max(inner, key=lambda place: _jump(values, inner, place, low, high))
            steps.append(cut)
            windows += [
                (low, cut, [step for step in inner if step < cut]),
                (cut, high, [step for step in inner if step > cut]),
            ]
    return sorted(steps), max(stretches, key=lambda stretch: stretch.last, default=None)


def _left(
    segments: Segments,
    mixture: _Mixture,
    low: int,
    high: int,
    inner: Sequence[int],
    inflation: float,
    settled: frozenset[int],
) -> list[int]:
    """The steps inside a stretch that are left when each value is taken about its own level."""
    import numpy as np

    from perfvcs.statistics.changepoints.stepfilter import Segments, confirm

    centred = segments.values[low:high] - np.array(mixture.levels)[mixture.labels]
    fixed = {place - low for place in settled}
    return [
        low + place
        for place in confirm(
            Segments(centred, segments.scale[low:high]),
            [step - low for step in inner],
            inflation,
            fixed,
        )
    ]


def _jump(
    values: NDArray[np.float64], inner: Sequence[int], index: int, low: int, high: int
) -> float:
    before = max([low, *(step for step in inner if step < index)])
    after = min([high, *(step for step in inner if step > index)])
    return abs(float(values[index:after].mean() - values[before:index].mean()))


@dataclass(frozen=True)
class _Mixture:
    """The level of each value of a stretch, the levels' means, and how often the series moves."""

    labels: NDArray[np.intp]
    levels: list[float]
    shares: NDArray[np.float64]
    moves: int


def _mixture(values: NDArray[np.float64], low: int, high: int) -> _Mixture | None:
    """The levels between which a stretch moves at all."""
    import numpy as np

    part = values[low:high]
    cuts = _cuts(np.sort(part)) if len(part) >= SHORTEST_MIXTURE else []
    if not cuts:
        return None
    labels = np.searchsorted(cuts, part, side="right")
    levels = [float(np.median(part[labels == label])) for label in range(len(cuts) + 1)]
    # A value between two levels is uncertain: it gets the level of the one before.
    spread = NORMAL * float(np.median(np.abs(part - np.array(levels)[labels])))
    certain = np.abs(part[:, None] - np.array(cuts)).min(axis=1) >= spread
    last = np.maximum.accumulate(np.where(certain, np.arange(len(part)), 0))
    labels = labels[last]
    counts = np.bincount(labels, minlength=len(cuts) + 1)
    moves = int(np.count_nonzero(np.diff(labels)))
    if moves < MOVES:
        return None
    return _Mixture(labels, levels, counts / len(part), moves)


def _cuts(ordered: NDArray[np.float64]) -> list[float]:
    """The cuts that divide sorted values into levels, by least squares, the best first; at most
    three.
    """
    import numpy as np

    parts = [ordered]
    cuts: list[float] = []
    least = max(FEWEST_VALUES, RARE * len(ordered))
    while parts and len(cuts) < MOST_LEVELS - 1:
        part = parts.pop(0)
        n = len(part)
        if n < 2 * least:
            continue
        rest = part - part.mean()
        before = np.arange(1, n)
        gain = np.cumsum(rest)[:-1] ** 2 / (before * (n - before))
        gain[(before < least) | (n - before < least) | (np.diff(part) <= 0)] = 0.0
        cut = int(gain.argmax()) + 1
        if not gain[cut - 1]:
            continue
        left, right = part[:cut], part[cut:]
        distance = float(right.mean() - left.mean())
        spread = float(((left - left.mean()) ** 2).sum() + ((right - right.mean()) ** 2).sum()) / n
        if distance >= SMALLEST_STEP and distance**2 >= LEVEL_DISTANCE**2 * spread:
            cuts.append(float(left[-1] + right[0]) / 2)
            parts += [left, right]
    return sorted(cuts)


def _common(mixture: _Mixture, low: int, index: int) -> float:
    """The share of values whose levels are the same before and behind a place."""
    import numpy as np

    count = len(mixture.levels)
    sides = [
        np.bincount(side, minlength=count) / len(side)
        for side in np.split(mixture.labels, [index - low])
    ]
    return float(np.minimum(*sides).sum())


def _pays_for_itself(mixture: _Mixture, low: int, inner: Sequence[int]) -> bool:
    """Whether the steps pay for themselves: describing the levels of all values is shorter segment
    by segment.

    A step of all components brings levels of its own. Values of a segment that are at the commonest
    level of its neighbour are moves as the step is one, there and back.
    """
    import numpy as np

    count, n = len(mixture.levels), len(mixture.labels)
    parts = np.split(mixture.labels, [place - low for place in inner])
    main = [int(np.bincount(part).argmax()) for part in parts]
    apart, moves = 0.0, len(inner)
    for turn, part in enumerate(parts):
        away = np.isin(
            part,
            [
                label
                for label in (*main[max(turn - 1, 0) : turn], *main[turn + 1 : turn + 2])
                if label != main[turn]
            ],
        )
        apart += _entropy(np.bincount(part[~away], minlength=count))
        moves += int(np.count_nonzero(np.diff(away)))
    return apart + COST * log(n) * moves < _entropy(np.bincount(mixture.labels, minlength=count))


def _entropy(counts: NDArray[np.intp]) -> float:
    """The length of a description that names the level of each value, with so many values at each
    level.
    """
    import numpy as np

    there = counts[counts > 0]
    return float(there @ np.log(there.sum() / there))


def _short(mixture: _Mixture) -> bool:
    """Whether naming the levels of all values is shorter than naming the places of all moves."""
    import numpy as np

    shares, n = mixture.shares[mixture.shares > 0], len(mixture.labels)
    return n * float(-(shares * np.log(shares)).sum()) < COST * log(n) * mixture.moves


def _found(mixture: _Mixture, low: int, high: int) -> SwitchingStretch:
    """The stretch from where values leave the commonest level more often than before."""
    import numpy as np

    away = (mixture.labels != mixture.shares.argmax()).astype(np.float64)
    n, total = len(away), float(away.sum())
    before = np.arange(1, n)
    here = np.cumsum(away)[:-1]
    gain = (
        _information(here, before)
        + _information(total - here, n - before)
        - _information(np.array([total]), np.array([n]))[0]
    )
    start = int(gain.argmax()) + 1
    rarer = here[start - 1] / start < (total - here[start - 1]) / (n - start) / 4
    start = start if rarer and gain[start - 1] > 2 * log(n) else 0
    labels = mixture.labels[start:]
    shares = np.bincount(labels, minlength=len(mixture.levels)) / len(labels)
    return SwitchingStretch(
        low + start,
        high - 1,
        tuple(mixture.levels),
        tuple(shares.tolist()),
        int(np.count_nonzero(np.diff(labels))),
    )


def _information(hits: NDArray[np.float64], of: NDArray[np.intp]) -> NDArray[np.float64]:
    """The largest log-likelihood of that many hits among that many values."""
    import numpy as np

    share = np.clip(hits / of, 1e-12, 1 - 1e-12)
    likelihood: NDArray[np.float64] = hits * np.log(share) + (of - hits) * np.log1p(-share)
    return likelihood
