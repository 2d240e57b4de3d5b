"""The kind of an error: along which curve a target departs from its baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfvcs.statistics.difference import NORMAL, medians
from perfvcs.statistics.regression.curveerrors import Pairs, pair
from perfvcs.statistics.regression.fitting import fit
from perfvcs.statistics.regression.models import MODELS, SHAPED, evaluate, transform
from perfvcs.statistics.regression.robust import ScatterLaws
from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike


PUBLISHED = ("constant", "linear", "quadratic")
KINDS = ("none", *MODELS)
KIND_ALPHA = 0.008  # how often, at most, two equal curves are called different
# a difference this many (robust) standard deviations from the curve is pulled in
FAR_DEVIATIONS = 4.0
FAR_SHARE = 0.06  # where at most this share is so far
ENOUGH_SIZES = 20  # if there are enough sizes for these deviations to be known
# of the variance of the differences, which a doubted kind must explain more: caches bend every
# curve a little,
DOUBTED_GAIN = 0.002
# unless it leaves less than this share of what the best other kind leaves: as in ``choice``
REST = 0.02
# how often, at most, an error without an offset may seem to have one: that of BIC for 500 sizes
OFFSET = 0.0125
COLUMNS_TO_FIT = ("x", "group", "difference")
# by how much BIC must be lower for a kind that is doubted, by default a curve of free shape, as in
# ``choice``
DOUBTED_MARGIN = 6.0


@dataclass(frozen=True)
class ErrorKind:
    """The kind of error of every group; arrays of the shape (groups,).

    ``index`` is its place in ``KINDS``, -1 where fewer than three sizes are known on both sides.
    The error is ``offset`` + ``coefficient`` f(size), with the offset 0 unless the values ask for
    one; a constant error is ``coefficient`` itself; of a power and an exponential ``coefficient``
    is the scale and ``shape`` the exponent or the base (NaN for the others). Positive is more than
    the baseline, in the unit of the values per unit of f (per element where linear).
    ``low``..``high`` is the confidence interval of the coefficient, given the kind. ``p`` is
    against "none", corrected for the kinds tried; ``n`` is the number of sizes.
    """

    index: Indices
    coefficient: Floats
    low: Floats
    high: Floats
    offset: Floats
    shape: Floats
    p: Floats
    n: Indices

    def name(self, group: int = 0) -> str | None:
        """The kind in words; None where it is unknown."""
        place = int(self.index[group])
        return KINDS[place] if place >= 0 else None

    def predict(self, x: ArrayLike, group: int = 0) -> Floats:
        """The error of a group at sizes ``x``, in the values' unit; 0 for "none", NaN: unknown."""
        name = self.name(group)
        if name is None or name == "none":
            return np.full(np.shape(x), np.nan if name is None else 0.0)
        if name == "constant":
            return evaluate(name, x, self.coefficient[group], 0.0)
        if name in SHAPED:
            return evaluate(name, x, self.coefficient[group], self.shape[group])
        return evaluate(name, x, self.offset[group], self.coefficient[group])


@dataclass(frozen=True)
class KindFit:
    """One curve fitted to every group's differences: kind, sum of squares, ``ErrorKind``."""

    kind: str
    parameters: int
    squares: Floats
    coefficient: Floats
    error: Floats
    offset: Floats
    shape: Floats


def kind(
    x1: ArrayLike,
    y1: ArrayLike,
    x2: ArrayLike,
    y2: ArrayLike,
    group1: ArrayLike | None = None,
    group2: ArrayLike | None = None,
    *,
    groups: int | None = None,
    family: Sequence[str] = PUBLISHED,
    doubted: Sequence[str] = SHAPED,
    alpha: float = KIND_ALPHA,
    confidence: float = 0.99,
) -> ErrorKind:
    """Find the kind of error of a target (values ``y2`` at sizes ``x2``) against a baseline, for
    every group (numbered from 0).

    The differences, size by size (``pairs.pair``; the sizes need not coincide) and weighted by what
    the noise does with the level (``scatter``), are fitted by every curve of ``family``, both
    through 0 where f is 0 and with an offset. First come the F-tests against none: unless the least
    p of all curves, times their number, is below ``alpha`` under every likely law of the noise, it
    is "none". Then the curve of the lowest BIC is the kind; its n is the number of values of the
    smaller side, but an offset must be worth it by an F-test at 1.25 %, too, which asks for more
    than BIC where sizes are few. The ``doubted`` kinds (a power or an exponential) must be lower by
    ``DOUBTED_MARGIN``, and explain ``DOUBTED_GAIN`` of the variance more, or leave less than
    ``REST`` of the rest. All values count as independent; whether the executions
    differ beyond chance has to be tested apart.

    From 20 sizes on, a few single differences far off the curve (a pause of the machine) are pulled
    in to 4 robust standard deviations.

    ``family`` are names of ``MODELS``, by default the published three; ``ValueError`` for another,
    or for columns of different lengths. Kinds that the sizes do not allow (logarithms of 0 or
    below) are left out. Sources: Stupinsky 2018, ch. 5.1 and 6; BIC: Schwarz 1978.
    """
    wrong = [name for name in family if name not in MODELS]
    if wrong or not family:
        raise ValueError(f"no kind of error {', '.join(wrong)}; there are {', '.join(MODELS)}")
    pairs = pair(x1, y1, x2, y2, group1, group2, groups)
    return kind_of(
        pairs,
        ScatterLaws(pairs),
        family=family,
        doubted=doubted,
        alpha=alpha,
        confidence=confidence,
    )


def kind_of(
    pairs: Pairs,
    scatter: ScatterLaws,
    *,
    family: Sequence[str],
    doubted: Sequence[str],
    alpha: float = KIND_ALPHA,
    confidence: float = 0.99,
) -> ErrorKind:
    """``kind`` of values that are brought together already, with what is known of their scatter."""
    from perfvcs.statistics.student import quantile

    weights, names = scatter.weights, [name for name in MODELS if name in family]
    n = np.bincount(pairs.group, minlength=pairs.groups)
    values = np.stack(
        [np.bincount(pairs.group, side, pairs.groups) for side in pairs.counts.T]
    ).min(axis=0)
    pairs, candidates = _tame(pairs, weights, names)
    count = np.array([candidate.parameters for candidate in candidates])[:, None]
    df = np.maximum(n - count, 1)
    squares = np.stack([candidate.squares for candidate in candidates])
    chance = _chances(pairs, weights, candidates)
    with np.errstate(all="ignore"):
        score = np.maximum(n * np.log(squares), -1e300) + np.where(
            count > 1, _worthy(n, values), 0.0
        )
    doubt = np.array(
        [DOUBTED_MARGIN if candidate.kind in doubted else 0.0 for candidate in candidates]
    )[:, None]
    able = np.isfinite(chance)
    able &= (doubt == 0) | _worth(pairs, weights, np.where(able, squares, np.inf), doubt > 0)
    best, row = np.where(able, score + doubt, np.inf).argmin(axis=0), np.arange(pairs.groups)
    p = _least(np.where(able, chance, 1.0))
    for rows, other in scatter.others((p < alpha) & (n > 2)):
        if isinstance(rows, slice):
            fewer = pairs
        else:
            fewer = replace(pairs, **{name: getattr(pairs, name)[rows] for name in COLUMNS_TO_FIT})
        chance = _chances(fewer, other, list(_candidates(fewer, other, names)))
        p = np.where(
            np.bincount(fewer.group, minlength=pairs.groups) > 0, np.maximum(p, _least(chance)), p
        )
    place = np.array([KINDS.index(candidate.kind) for candidate in candidates], dtype=np.intp)
    index = np.where(n < 3, -1, np.where(p < alpha, place[best], 0))

    def chosen(*columns: Floats) -> Floats:
        return np.where(index > 0, np.stack(columns)[best, row], np.nan)

    coefficient = chosen(*(candidate.coefficient for candidate in candidates))
    half = quantile((1 + confidence) / 2, df[best, row]) * chosen(
        *(candidate.error for candidate in candidates)
    )
    return ErrorKind(
        index=index,
        coefficient=coefficient,
        low=coefficient - half,
        high=coefficient + half,
        offset=chosen(*(candidate.offset for candidate in candidates)),
        shape=chosen(*(candidate.shape for candidate in candidates)),
        p=np.where(n < 3, np.nan, p),
        n=n,
    )


def _chances(pairs: Pairs, weights: Floats, candidates: Sequence[KindFit]) -> Floats:
    """The F-test's p of each candidate (candidates, groups); NaN with too few sizes."""
    from perfvcs.statistics.student import f_tail

    n = np.bincount(pairs.group, minlength=pairs.groups)
    nothing = np.bincount(pairs.group, weights * pairs.difference**2, pairs.groups)
    count = np.array([candidate.parameters for candidate in candidates])[:, None]
    squares = np.stack([candidate.squares for candidate in candidates])
    df = np.maximum(n - count, 1)
    with np.errstate(all="ignore"):
        chance = f_tail(np.maximum(nothing - squares, 0.0) / squares * df / count, count, df)
    return np.where(np.isfinite(squares) & (n > count) & (nothing > 0), chance, np.nan)


def _least(chance: Floats) -> Floats:
    """The least p of all candidates, corrected for how many they are."""
    return np.asarray(np.minimum(np.nan_to_num(chance, nan=1.0).min(axis=0) * len(chance), 1.0))


def _worthy(n: Indices, values: Floats) -> Floats:
    """By how much the logarithm of the sum of squares times n must fall for a second coefficient.

    BIC asks for ln n, which one in five of equal offsets on six sizes reaches: so it is no less
    than what an F-test at ``OFFSET`` asks for.
    """
    from perfvcs.statistics.student import quantile

    df = np.maximum(n - 2.0, 1.0)
    return np.asarray(
        np.maximum(
            np.log(np.maximum(values, 1)), n * np.log1p(quantile(1 - OFFSET / 2, df) ** 2 / df)
        )
    )


def _tame(pairs: Pairs, weights: Floats, names: Sequence[str]) -> tuple[Pairs, list[KindFit]]:
    """The candidates, and the differences that they are fitted to: those far from the best curve
    are pulled in (Huber 1981, 7.7).
    """
    raw, tamed = pairs.difference, pairs
    wide = (np.bincount(pairs.group, minlength=pairs.groups) >= ENOUGH_SIZES)[pairs.group]
    scale = np.sqrt(weights)
    for _ in range(4):
        candidates = list(_candidates(tamed, weights, names))
        curve = _best(tamed, candidates)
        rest = (raw - curve) * scale
        limit = (
            FAR_DEVIATIONS * NORMAL * medians(np.abs(rest), pairs.group, pairs.groups)[pairs.group]
        )
        far = wide & (limit > 0) & (np.abs(rest) > limit)
        share = np.bincount(pairs.group, far, pairs.groups) / np.maximum(
            np.bincount(pairs.group, minlength=pairs.groups), 1
        )
        far &= (share <= FAR_SHARE)[pairs.group]  # more are not outliers: the noise has two modes
        new = np.where(far, curve + np.clip(rest, -limit, limit) / scale, raw)
        if (np.abs(new - tamed.difference) * scale <= 0.01 * limit).all():
            break
        tamed = replace(tamed, difference=new)
    return tamed, candidates


def _worth(pairs: Pairs, weights: Floats, squares: Floats, doubted: Flags) -> Flags:
    """Which candidates explain enough more of each group than the best one that is not ``doubted``;
    shape (candidates, groups).
    """
    total, linear, square = (
        np.bincount(pairs.group, weights * pairs.difference**power, pairs.groups)
        for power in (0, 1, 2)
    )
    varied = np.maximum(square - linear**2 / np.where(total > 0, total, 1.0), 0.0)
    others = np.where(doubted, np.inf, squares).min(axis=0)
    better: Flags = (squares <= others - DOUBTED_GAIN * varied) | (squares <= REST * others)
    return better


def _best(pairs: Pairs, candidates: Sequence[KindFit]) -> Floats:
    """The closest of the candidates at each row."""
    squares = np.stack(
        [
            np.where(np.isfinite(candidate.squares), candidate.squares, np.inf)
            for candidate in candidates
        ]
    )
    best = squares.argmin(axis=0)[pairs.group]
    curve = np.zeros(len(pairs.x))
    for place, candidate in enumerate(candidates):
        here = best == place
        number = pairs.group[here]
        first, second = candidate.offset[number], candidate.coefficient[number]
        if candidate.kind == "constant":
            first, second = second, first
        elif candidate.kind in SHAPED:
            first, second = second, candidate.shape[number]
        curve[here] = evaluate(candidate.kind, pairs.x[here], first, second)
    return np.where(np.isfinite(curve), curve, 0.0)


def _candidates(pairs: Pairs, weights: Floats, names: Sequence[str]) -> Iterator[KindFit]:
    """The curves through 0 and those with an offset; all arrays of the shape (groups,)."""
    nan, zero = np.full(pairs.groups, np.nan), np.zeros(pairs.groups)
    fits = fit(pairs.x, pairs.difference, pairs.group, weights, groups=pairs.groups, models=names)
    for name in names:
        line = fits[name]
        first, second = line.coefficients.T
        if name == "constant":
            yield KindFit(
                kind=name,
                parameters=1,
                squares=line.squares,
                coefficient=first,
                error=line.errors[:, 0],
                offset=zero,
                shape=nan,
            )
        elif name in SHAPED:
            yield KindFit(
                kind=name,
                parameters=2,
                squares=line.squares,
                coefficient=first,
                error=line.errors[:, 0],
                offset=zero,
                shape=second,
            )
        else:
            yield _through(name, pairs, weights)
            yield KindFit(
                kind=name,
                parameters=2,
                squares=line.squares,
                coefficient=second,
                error=line.errors[:, 1],
                offset=first,
                shape=nan,
            )


def _through(name: str, pairs: Pairs, weights: Floats) -> KindFit:
    """y = b f(x), without an offset."""
    f = transform(name, pairs.x)
    with np.errstate(all="ignore"):
        weighted = weights * f
        length = np.bincount(pairs.group, weighted * f, pairs.groups)
        b = np.bincount(pairs.group, weighted * pairs.difference, pairs.groups) / length
        rest = pairs.difference - b[pairs.group] * f
        squares = np.bincount(pairs.group, weights * rest * rest, pairs.groups)
        n = np.bincount(pairs.group, minlength=pairs.groups)
        error = np.sqrt(squares / np.maximum(n - 1, 1) / length)
    return KindFit(
        kind=name,
        parameters=1,
        squares=np.where(length > 0, squares, np.nan),
        coefficient=b,
        error=error,
        offset=np.zeros(pairs.groups),
        shape=np.full(pairs.groups, np.nan),
    )
