"""Models of a mean per size, a few of which may be far off, as after a pause at the same size of
every execution.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

from perfvcs.statistics.difference import NORMAL, medians
from perfvcs.statistics.regression.condensed import by_size, level, running
from perfvcs.statistics.regression.models import MODELS, Fit
from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfvcs.statistics.regression.curveerrors import Pairs

    RowSelection = Indices | slice
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from perfvcs.statistics.regression.choice import ModelChoice


# of the level that a standard deviation may go with: times, counts, and what a clock adds
POWERS = (1.0, 0.5, 0.0)
FLOORS = 16  # levels, from the smallest to the largest, below which scatter no longer shrinks
# a law is likely where the logarithm of its likelihood is at most so much below that of the
# likeliest
DOUBT = 1.5
FEWEST_JUDGED_SIZES = 8  # sizes, or none of them counts as far from the others
MANY_SIZES = 32  # sizes, from which on twice as many neighbours are asked
FAR_DEVIATIONS = 5.0  # robust standard deviations
RATIO_APART = 1.3  # and this many times the value, or one over it, that is expected
# at most this share of the sizes, or one, is left out: what happens more often is not an accident
LEFT_OUT_SHARE = 0.1
ROWS = 1 << 14  # at once


@dataclass(frozen=True, eq=False)
class ScatterLaws:
    """The laws that the scatter of the differences of ``pairs`` may follow: a power of the level,
    or the level and a constant together.

    The level at a size is that of the values there, so that a wide range of levels, or few sizes,
    do not blur it; of twenty sizes and more the geometric mean over a twentieth to either side.
    Values of 0 have the smallest level of the group that is above 0. Both sides enter alike: of
    equal curves no law prefers a sign.

    The steps between neighbouring differences, mostly noise, show the likelihood of a law. Few
    steps cannot tell two laws apart: whoever tests asks all that are likely.
    """

    pairs: Pairs

    @cached_property
    def weights(self) -> Floats:
        """1 / variance of each difference but for a factor per group, shape (rows,)."""
        weights = np.ones(len(self.pairs.x))
        best = self._likelihoods.argmax(axis=0)
        for law in np.unique(best).tolist():
            rows = self._rows(best == law)
            weights[rows] = 1 / self._variance(law, rows)
        return weights

    def others(self, wanted: Flags) -> Iterator[tuple[RowSelection, Floats]]:
        """The rows of those ``wanted`` groups (groups,) for which another law is likely too, and
        their weights by it; law by law.
        """
        logs = self._likelihoods
        likely = logs >= logs.max(axis=0, initial=-np.inf) - DOUBT
        likely[logs.argmax(axis=0), np.arange(self.pairs.groups)] = False
        for law, groups in enumerate(likely & wanted):
            if groups.any():
                rows = self._rows(groups)
                yield rows, 1 / self._variance(law, rows)

    def _rows(self, groups: Flags) -> RowSelection:
        return slice(None) if groups.all() else np.flatnonzero(groups[self.pairs.group])

    @cached_property
    def _levels(self) -> tuple[Floats, Floats]:
        pairs = self.pairs
        sides = np.abs(pairs.baseline), np.abs(pairs.target)
        least = np.full(pairs.groups, np.inf)
        for side in sides:
            np.minimum.at(least, pairs.group, np.where(side > 0, side, np.inf))
        least = np.where(np.isfinite(least), least, 1.0)[pairs.group]
        first, second = (
            running(np.maximum(side, least), pairs.group, fewest=0, least=0.0) ** 2
            for side in sides
        )
        return np.maximum(first, 1e-300), np.maximum(second, 1e-300)

    @cached_property
    def _range(self) -> tuple[Floats, Floats]:
        low, high = np.full(self.pairs.groups, np.inf), np.zeros(self.pairs.groups)
        for squared in self._levels:
            np.minimum.at(low, self.pairs.group, squared)
            np.maximum.at(high, self.pairs.group, squared)
        return np.where(np.isfinite(low), low, 1.0), np.maximum(high, 1e-300)

    @cached_property
    def _counts(self) -> tuple[Floats, Floats] | None:
        """How many values of either side each row is a mean of; None where that is one each."""
        first, second = self.pairs.counts.T.astype("float64")
        return None if (self.pairs.counts == 1).all() else (first, second)

    def _variance(self, law: int, rows: RowSelection) -> Floats:
        """The variance of these rows by a law, but for a factor per group."""
        levels = [level[rows] for level in self._levels]
        if law < len(POWERS):
            parts = [level ** POWERS[law] for level in levels]
        else:
            low, high = self._range
            floor = (low * (high / low) ** ((law - len(POWERS) + 0.5) / FLOORS))[
                self.pairs.group[rows]
            ]
            parts = [level + floor for level in levels]
        if self._counts is not None:
            parts = [part / count[rows] for part, count in zip(parts, self._counts, strict=True)]
        variance: Floats = parts[0] + parts[1]
        return variance

    @cached_property
    def _likelihoods(self) -> Floats:
        """The logarithm of the likelihood of each law; shape (laws, groups)."""
        pairs = self.pairs
        # The steps from one group to the next are in none: they are counted as those of another
        # group, behind the last.
        inside = np.diff(pairs.group) == 0
        step = np.diff(pairs.difference) ** 2
        number = np.where(inside, pairs.group[1:], pairs.groups)

        def sums(steps: Floats) -> Floats:
            return np.asarray(np.bincount(number, steps, pairs.groups + 1)[:-1], dtype=np.float64)

        count = np.bincount(number, minlength=pairs.groups + 1)[:-1]
        likelihoods = np.empty((len(POWERS) + FLOORS, pairs.groups))
        for law in range(len(likelihoods)):
            variance = self._variance(law, slice(None))
            two = variance[1:] + variance[:-1]
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                likelihoods[law] = (
                    -(count * np.log(sums(step / two) / np.maximum(count, 1)) + sums(np.log(two)))
                    / 2
                )
        return np.where(
            np.isnan(likelihoods), -np.inf, np.where(likelihoods == np.inf, 0.0, likelihoods)
        )


def described(
    x: ArrayLike,
    y: ArrayLike,
    count: ArrayLike,
    group: ArrayLike | None = None,
    *,
    groups: int | None = None,
    models: Sequence[str] = MODELS,
) -> tuple[ModelChoice, Flags]:
    """Fit ``models`` to the means ``y`` of ``count`` values at the sizes ``x`` and choose among
    them by AICc, without sizes far off.

    Columns of equal length, one row for each size of a group. Weights are count / level^2, since
    times scatter in proportion to themselves. Returns the choice, and which rows were left out,
    shape (rows,).

    From eight sizes on, those farthest from what their neighbours let expect are left out, a tenth
    of the sizes at most, or one; then, in some rounds, those far from the curve through the others,
    while the rest comes back. Far is 1.3 times the value, and in the rounds five robust standard
    deviations too. What neighbours (7, or 15 of 32 sizes and more) let expect is the median of the
    lines through each two of them, on double logarithmic scales. Sources: Theil 1950 for the lines,
    Rousseeuw, Leroy 1987, ch. 1, for least squares in rounds.
    """
    from perfvcs.statistics.regression.choice import choose
    from perfvcs.statistics.regression.fitting import fit

    size, value, number = (np.asarray(column, dtype=np.float64) for column in (x, y, count))
    place = (
        np.zeros(size.shape, dtype=np.intp) if group is None else np.asarray(group, dtype=np.intp)
    )
    total = int(place.max(initial=-1)) + 1 if groups is None else groups

    def through(rows: Flags) -> dict[str, Fit]:
        at, means, of = size[rows], value[rows], place[rows]
        with np.errstate(all="ignore"):
            return fit(
                at, means, of, number[rows] / level(at, means, of) ** 2, groups=total, models=models
            )

    judged = _judged(size, value, place, total)
    far = _lonely(size, value, place, judged)
    fits = through(~far)
    choice = choose(fits)
    enough = judged[place]
    for _ in range(3 if judged.any() else 0):
        with np.errstate(all="ignore"):
            expected = choice.predict(size, place)
            gap = np.where(enough & (expected > 0), np.log(value / expected), 0.0)
        before, far = far, _beyond(gap, number, place, total, far)
        if (before == far).all():
            break
        changed = np.bincount(place, before != far, total) > 0
        fits = _joined(changed, through(~far & changed[place]), fits)
        choice = choose(fits)
    return choice, far


def _joined(changed: Flags, new: Mapping[str, Fit], old: Mapping[str, Fit]) -> dict[str, Fit]:
    """The new fits of the groups that ``changed``, the old ones of the others."""
    joined = {}
    for model, fit in old.items():
        pairs = {
            field.name: (getattr(new[model], field.name), getattr(fit, field.name))
            for field in fields(fit)[1:]
        }
        where = {
            name: changed if former.ndim == 1 else changed[:, None]
            for name, (_, former) in pairs.items()
        }
        joined[model] = replace(
            fit, **{name: np.where(where[name], *both) for name, both in pairs.items()}
        )
    return joined


def _judged(size: Floats, value: Floats, group: Indices, groups: int) -> Flags:
    """The groups with enough sizes, all different, and only values above 0 at sizes above 0."""
    order = by_size(size, group)
    again = np.append(False, (np.diff(size[order]) == 0) & (np.diff(group[order]) == 0))[
        : len(order)
    ]
    good = ~again & (size[order] > 0) & (value[order] > 0)
    counts = np.bincount(group, minlength=groups)
    judged: Flags = (np.bincount(group[order], good, groups) == counts) & (
        counts >= FEWEST_JUDGED_SIZES
    )
    return judged


def _lonely(size: Floats, value: Floats, group: Indices, judged: Flags) -> Flags:
    """The rows of each ``judged`` group that are farthest from what neighbours let expect."""
    order = by_size(size, group)
    at, of, counts = size[order], group[order], np.bincount(group, minlength=len(judged))
    begin = np.cumsum(counts) - counts
    gap = np.zeros(len(order))
    u, v = (np.log(np.where(judged[of], column, 1.0)) for column in (at, value[order]))
    doubtful = judged[of] & _uneven(v, of, np.arange(len(order)) - begin[of], counts)
    for width, here in (
        (FEWEST_JUDGED_SIZES, counts < MANY_SIZES),
        (2 * FEWEST_JUDGED_SIZES, counts >= MANY_SIZES),
    ):
        rows = np.flatnonzero(doubtful & here[of])
        for part in np.array_split(rows, len(rows) // ROWS + 1):
            first = np.clip(part - width // 2, begin[of[part]], (begin + counts)[of[part]] - width)
            others = first[:, None] + np.arange(width - 1)
            others += others >= part[:, None]
            gap[part] = v[part] - _predicted(u[others], v[others], u[part])
    away = np.where(np.abs(gap) > np.log(RATIO_APART), np.abs(gap), 0.0)
    ranked = np.lexsort((-away, of))
    rank = np.empty(len(order), dtype=np.intp)
    rank[ranked] = np.arange(len(order)) - begin[of[ranked]]
    lonely = np.zeros(len(order), dtype=bool)
    lonely[order] = (away > 0) & (rank < np.maximum(LEFT_OUT_SHARE * counts, 1)[of])
    return lonely


def _uneven(v: Floats, group: Indices, position: Indices, counts: Indices) -> Flags:
    """Rows that are worth a look: at either end of their group, some way off the median of the five
    around them, or all where one jumps.
    """
    left = counts[group] - 1 - position
    uneven: Flags = (position < 2) | (left < 2)
    inner = np.flatnonzero(~uneven)
    middle = np.median(v[inner[:, None] + np.arange(-2, 3)], axis=1)
    uneven[inner] = np.abs(v[inner] - middle) > np.log(RATIO_APART) / 2
    jumps = np.abs(np.diff(v, prepend=v[:1])) > np.log(RATIO_APART)
    jumps &= np.minimum(position, left) >= FEWEST_JUDGED_SIZES  # the smallest sizes are far apart
    uneven |= np.bincount(group, jumps, len(counts))[group] > 0
    return uneven


def _predicted(u: Floats, v: Floats, at: Floats) -> Floats:
    """The median of what the lines through each two of a row's neighbours say ``at`` it."""
    first, second = np.triu_indices(u.shape[1], 1)
    slope = (v[:, second] - v[:, first]) / (u[:, second] - u[:, first])
    predicted: Floats = np.median(v[:, first] + slope * (at[:, None] - u[:, first]), axis=1)
    return predicted


def _beyond(gap: Floats, count: Floats, group: Indices, groups: int, before: Flags) -> Flags:
    """Which rows are far off the curve by the spread of those not left out ``before``; none of a
    group where too many would be.
    """
    far: Flags = np.abs(gap) > np.log(RATIO_APART)
    asked = np.bincount(group, far, groups) > 0
    if not asked.any():
        return far
    scaled = np.abs(gap) * np.sqrt(count)
    rows = np.flatnonzero(asked[group] & ~before)
    spread = NORMAL * medians(scaled[rows], group[rows], groups)
    far &= scaled > FAR_DEVIATIONS * spread[group]
    few: Flags = np.bincount(group, far, groups) <= np.maximum(
        LEFT_OUT_SHARE * np.bincount(group, minlength=groups), 1
    )
    return far & few[group]
