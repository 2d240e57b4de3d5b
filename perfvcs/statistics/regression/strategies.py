"""Ways to fit models to groups: to all rows at once, to growing parts of them, by a sample, or to
ranges of sizes apart.

After the strategies of the regression analysis of Perun. Every one works on all groups at once,
without a loop over rows or groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from perfvcs.statistics.regression.condensed import by_size
from perfvcs.statistics.regression.models import FULL_QUADRATIC, MODELS, Fit
from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfvcs.statistics.regression.choice import ChoiceRule, ModelChoice

Strategy = Literal["full", "iterative", "initial-guess", "interval", "bisection"]
LEAST_SAMPLE = 20  # rows that `initial_guess` uses, if a group has that many
MOST_HALVINGS = 30  # the rest is finer than sizes are
# sizes that `bisection` leaves in a half: curves of two coefficients pass near any few of them
LEAST_HALF = 8
# of the mean value of a half, by which the whole misses it at least: less is not a reason to cut
MISSED = 0.01
# by how much n ln(squares) of each half must fall: 2 per coefficient, 2 for the place, 6 for strong
# evidence
GAIN = 12.0


@dataclass(frozen=True)
class ModelPoints:
    """Columns of equal length, all finite: values ``y`` at sizes ``x`` of groups, numbered from 0;
    weights of their squared residuals.
    """

    x: Floats
    y: Floats
    group: Indices
    groups: int
    weights: Floats | None = None

    def of(self, keep: Flags) -> ModelPoints:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[keep]
        return replace(
            self, x=self.x[keep], y=self.y[keep], group=self.group[keep], weights=weights
        )

    def pieces(self, number: Indices, total: int) -> ModelPoints:
        """The same rows with other groups."""
        return replace(self, group=number, groups=total)


class StrategyStep(NamedTuple):
    """The best model with so many rows: arrays of the shape (groups,), such as ``choice.index``."""

    rows: Indices
    choice: ModelChoice


@dataclass(frozen=True)
class FittedPieces:
    """``fits`` and ``choice`` of pieces, ``owner`` the group of each; ``points`` are the rows with
    their pieces as groups.

    ``steps``, per group, of the strategies that take some.
    """

    fits: Mapping[str, Fit]
    choice: ModelChoice
    owner: Indices
    points: ModelPoints
    steps: tuple[StrategyStep, ...] = ()


def run(
    strategy: Strategy,
    points: ModelPoints,
    models: Sequence[str],
    rule: ChoiceRule,
    steps: int,
    seed: int,
) -> FittedPieces:
    """Fit by a strategy.

    ``steps`` is how many parts (iterative), ranges (interval) or halvings (bisection) there are,
    and one over the share of the rows that decide (initial-guess); ``seed`` fixes which rows are
    drawn.
    """
    match strategy:
        case "full":
            return _whole(points, models, rule)
        case "iterative":
            return iterative(points, models, rule, steps, seed)
        case "initial-guess":
            return initial_guess(points, models, rule, steps, seed)
        case "interval":
            return interval(points, models, rule, steps)
        case "bisection":
            return bisection(points, models, rule, steps)


def iterative(
    points: ModelPoints, models: Sequence[str], rule: ChoiceRule, steps: int, seed: int
) -> FittedPieces:
    """Fit growing random parts, each holding the one before, until all rows are in: ``steps`` shows
    when the choice settled.
    """
    place, count = _shuffled(points, seed), _count(points)
    taken = []
    for step in range(1, steps):
        most = np.ceil(count * (step / steps)).astype(np.intp)
        part = points.of(place < most[points.group])
        taken.append(StrategyStep(most, _whole(part, models, rule).choice))
    whole = _whole(points, models, rule)
    return replace(whole, steps=(*taken, StrategyStep(count, whole.choice)))


def initial_guess(
    points: ModelPoints, models: Sequence[str], rule: ChoiceRule, steps: int, seed: int
) -> FittedPieces:
    """Let a random sample decide on the model of each group, and fit that one alone to all rows.

    A group whose sample fits none of the models has none.
    """
    from perfvcs.statistics.regression.choice import ModelChoice

    count = _count(points)
    most = np.minimum(count, np.maximum(np.ceil(count / steps), LEAST_SAMPLE)).astype(np.intp)
    guess = _whole(points.of(_shuffled(points, seed) < most[points.group]), models, rule).choice
    fits: dict[str, Fit] = {}
    index = np.full(points.groups, -1)
    coefficients = np.full((points.groups, 2), np.nan)
    r2 = np.full(points.groups, np.nan)
    for model in models:
        if model == FULL_QUADRATIC:  # which is never guessed
            continue
        place = MODELS.index(model.removeprefix("linearised "))
        wanted = guess.index == place
        fitted = fits[model] = _fit(points.of(wanted[points.group]), [model])[model]
        if model in MODELS:
            defined = fitted.known
            index[defined] = place
            coefficients[defined] = fitted.coefficients[defined]
            r2[defined] = fitted.r2[defined]
    choice = ModelChoice(index, guess.p, r2, coefficients, guess.grows, fits)
    return FittedPieces(
        fits, choice, np.arange(points.groups), points, (StrategyStep(most, guess),)
    )


def interval(
    points: ModelPoints, models: Sequence[str], rule: ChoiceRule, steps: int
) -> FittedPieces:
    """Cut each group's range of sizes into ``steps`` equal parts and fit each apart."""
    low, high = _ends(points, points.group, points.groups)
    width = np.where(high > low, high / steps - low / steps, 1.0)[points.group]
    part = np.clip(((points.x - low[points.group]) / width).astype(np.intp), 0, steps - 1)
    return _apart(points, points.group * steps + part, models, rule)


def bisection(
    points: ModelPoints, models: Sequence[str], rule: ChoiceRule, steps: int
) -> FittedPieces:
    """Halve the range of sizes, and the halves again, up to ``steps`` times, as long as both halves
    fit better than the whole.

    By the rule "r2" a half fits better if its r2 is higher; by "aicc" if the logarithm of its
    squared residuals, times its rows, is lower by ``GAIN`` with a model of its own than with that
    of the whole, and this one misses it by ``MISSED`` (root mean square): values without noise
    would be cut for nothing. A half has ``LEAST_HALF`` sizes or more.
    """
    piece = points.group.copy()
    open_ = np.full(piece.shape, fill_value=True)
    for _ in range(min(steps, MOST_HALVINGS)):
        here = points.of(open_)
        pieces, number = np.unique(piece[open_], return_inverse=True)
        half = _halves(here, number, len(pieces))
        outer = here.pieces(number, len(pieces))
        inner = here.pieces(2 * number + half, 2 * len(pieces))
        better: Flags = np.logical_and.reduce(
            _better(outer, inner, models, rule).reshape(-1, 2), axis=1
        )
        if not better.any():  # nor where no piece is left
            break
        split = better[number]
        # halves become pieces with numbers of their own, the others are done
        fresh = 2 * (piece.max(initial=0) + 1) + 2 * number + half
        grown = np.where(split, fresh, piece[open_])
        piece[open_] = grown
        open_[open_] = split
    return _apart(points, piece, models, rule)


def _halves(points: ModelPoints, number: Indices, pieces: int) -> Indices:
    """For each row, with the number of its piece, which half of its range it is in: 0 or 1."""
    low, high = _ends(points, number, pieces)
    return (points.x > (low / 2 + high / 2)[number]).astype(np.intp)


def _better(
    outer: ModelPoints, inner: ModelPoints, models: Sequence[str], rule: ChoiceRule
) -> Flags:
    """For each half whether it fits better than its whole; shape (2 * pieces,)."""
    whole, halves = _whole(outer, models, rule).choice, _whole(inner, models, rule).choice
    count = _count(inner)
    enough = (_sizes(inner) >= LEAST_HALF) & (halves.index >= 0)
    with np.errstate(all="ignore"):
        if rule == "r2":
            return enough & (halves.r2 > np.repeat(whole.r2, 2))
        weights = 1.0 if inner.weights is None else inner.weights
        rest = (inner.y - whole.predict(outer.x, outer.group)) ** 2
        level = np.bincount(inner.group, np.abs(inner.y), inner.groups) / count
        enough &= np.bincount(inner.group, rest, inner.groups) > count * (MISSED * level) ** 2
        before = np.bincount(inner.group, weights * rest, inner.groups)
        after = np.bincount(
            inner.group,
            weights * (inner.y - halves.predict(inner.x, inner.group)) ** 2,
            inner.groups,
        )
        after = np.maximum(after, _rounding(inner))
        return enough & (count * np.log(before / after) > GAIN)


def _sizes(points: ModelPoints) -> Indices:
    order = by_size(points.x, points.group)
    x, group = points.x[order], points.group[order]
    return np.bincount(
        group, np.append(True, (np.diff(x) > 0) | (np.diff(group) > 0))[: len(x)], points.groups
    ).astype(np.intp)


def _rounding(points: ModelPoints) -> Floats:
    """The sum of squares that the rounding of the values makes, per group."""
    weights = np.ones(len(points.y)) if points.weights is None else points.weights
    return np.asarray(
        np.bincount(points.group, weights * (2.0**-48 * points.y) ** 2, points.groups) + 1e-300,
        dtype=np.float64,
    )


def _apart(
    points: ModelPoints, piece: Indices, models: Sequence[str], rule: ChoiceRule
) -> FittedPieces:
    """Each piece (numbers, of rows of one group) fitted by itself; by groups and sizes."""
    _, first, number = np.unique(piece, return_index=True, return_inverse=True)
    low, _ = _ends(points, number, len(first))
    order = np.lexsort((low, points.group[first]))
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    pieces = _whole(points.pieces(place[number], len(order)), models, rule)
    return replace(pieces, owner=points.group[first][order])


def _whole(points: ModelPoints, models: Sequence[str], rule: ChoiceRule) -> FittedPieces:
    from perfvcs.statistics.regression.choice import choose

    fits = _fit(points, models)
    return FittedPieces(fits, choose(fits, rule), np.arange(points.groups), points)


def _fit(points: ModelPoints, models: Sequence[str]) -> dict[str, Fit]:
    from perfvcs.statistics.regression.fitting import fit

    return fit(
        points.x, points.y, points.group, points.weights, groups=points.groups, models=models
    )


def _count(points: ModelPoints) -> Indices:
    return np.bincount(points.group, minlength=points.groups)


def _ends(points: ModelPoints, number: Indices, total: int) -> tuple[Floats, Floats]:
    """The smallest and the largest size of each of ``total`` numbers; inf, -inf without rows."""
    low, high = np.full(total, np.inf), np.full(total, -np.inf)
    np.minimum.at(low, number, points.x)
    np.maximum.at(high, number, points.x)
    return low, high


def _shuffled(points: ModelPoints, seed: int) -> Indices:
    """For each row its place in a random order of its group."""
    random = np.random.default_rng(seed)
    order = np.lexsort((random.random(len(points.x)), points.group))
    count = _count(points)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    return place
