"""Which of the fitted models a group's values follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from perfvcs.statistics.regression.models import MODELS, Fit, order
from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray


ChoiceRule = Literal["aicc", "r2"]
FREE = ("power", "exponential")  # curves of free shape, which can imitate any other
FLAT_ALPHA = 0.001  # how often flat values may be mistaken for a curve: seven curves are tried
# a curve that rises less than this over its sizes, in shares of the level, is flat
LEAST_RISE = 0.01
# of the variance that a curve of free shape must explain more; caches bend every curve a little,
FREE_GAIN = 0.003
# and the same beside a logarithm, from which small powers hardly differ at sizes that people
# measure,
LOGARITHM_GAIN = 0.01
REST = 0.02  # unless it leaves less than this share of what the best fixed one leaves;
# and the exponent that a power must be away from that of the best fixed curve, which is that curve
# in caches otherwise
DISTINCT_EXPONENT = 0.2
# of the value at the largest size must come from the size, or caches may have made the growth,
GROWN = 0.4
CLOSE = 0.95  # unless a curve faster than a logarithm explains so much of the variance
# by how much AICc must be lower for a curve of free shape: "strong evidence" in Burnham, Anderson
# 2002
FREE_MARGIN = 6.0


@dataclass(frozen=True)
class ModelChoice:
    """The model of each group: its index in ``MODELS``, or -1 if there is no value; shape
    (groups,).

    ``p`` is that of the F-test of the best curve against a constant (NaN where there is no curve),
    ``r2`` that of the chosen model. ``grows`` says whether the values rise by enough to name an
    order of growth.
    """

    index: Indices
    p: Floats
    r2: Floats
    coefficients: Floats
    grows: Flags
    fits: Mapping[str, Fit]

    def model(self, group: int = 0) -> str | None:
        """The name of a group's model; None where nothing is known."""
        place = int(self.index[group])
        return MODELS[place] if place >= 0 else None

    def order(self, group: int = 0, *, shape: bool = False) -> str | None:
        """The order of growth of a group, "O(n log n)"; with ``shape`` the exponent or base of its
        curve is written out.

        A curve that falls is O(1), and so is one that rises by little: a hash table is slower when
        it no longer fits into the cache.
        """
        model = self.model(group)
        if model is None:
            return None
        if not self.grows[group]:
            model = "constant"
        return order(model, float(self.coefficients[group, 1]) if shape else None)

    def predict(self, x: ArrayLike, group: ArrayLike = 0) -> Floats:
        """The chosen curves at sizes ``x`` of groups ``group``, broadcast; NaN where unknown."""
        return self._of("predict", x, group)

    def predict_variance(self, x: ArrayLike, group: ArrayLike = 0) -> Floats:
        """The variance of ``predict`` as an estimate of the mean, given that the model is right."""
        return self._of("predict_variance", x, group)

    def _of(self, what: str, x: ArrayLike, group: ArrayLike) -> Floats:
        size, row = np.broadcast_arrays(
            np.asarray(x, dtype=np.float64), np.asarray(group, dtype=np.intp)
        )
        predicted = np.full(size.shape, np.nan)
        chosen = self.index[row]
        for place in np.unique(chosen[chosen >= 0]).tolist():
            here = chosen == place
            predicted[here] = getattr(self.fits[MODELS[place]], what)(size[here], row[here])
        return predicted


def choose(
    fits: Mapping[str, Fit],
    rule: ChoiceRule = "aicc",
    alpha: float = FLAT_ALPHA,
    least: float = LEAST_RISE,
    margin: float = FREE_MARGIN,
    gain: float = FREE_GAIN,
) -> ModelChoice:
    """Choose among the models of ``MODELS`` that were fitted (by ``fitting.fit``), for each group.

    "aicc": the curve of the lowest AICc; but a power or an exponential, which can imitate any
    other, only if its AICc is lower by ``margin`` than that of every curve of fixed shape, and if
    it explains ``gain`` more of the variance than the best of these (``LOGARITHM_GAIN`` beside a
    logarithm), a power also having an exponent ``DISTINCT_EXPONENT`` or more from it, or leaves
    less than ``REST`` of what that leaves (and is not near, beside a logarithm): n^1.9 is n^2 on a
    machine with caches. And a constant unless the F-test of the curve against it has p < ``alpha``
    and the curve spans ``least`` of its mean value. All curves have two coefficients, so that below
    five rows, where AICc is infinite, the sums of squares decide. "r2": the published rule, the
    highest r2, which never finds a constant where there is any noise. Equals go to the slower
    growth.

    By "aicc" a curve ``grows`` where it rises and a share ``GROWN`` of its value at the largest
    size is more than its value at size 1. One that is faster than a logarithm may also rise by
    less, if its AICc is lower than that one's by ``margin`` and its r2 ``CLOSE`` to 1. Sources:
    Burnham, Anderson 2002, 2.6; Stupinsky 2018, 3.2; Myers 1990 for the nested F-test.
    """
    names = [model for model in MODELS if model in fits]
    if rule == "r2":
        chosen = _by_r2(fits, names)
    else:
        chosen = _by_aicc(fits, names, alpha, least, margin, gain)
    best = chosen.best
    known = _of_best([fits[model].known for model in names], best)
    places = np.array([MODELS.index(model) for model in names], dtype=np.intp)
    coefficients = _of_best([fits[model].coefficients for model in names], best)
    # An exponential of base 1 and any other curve of coefficient 0 are flat.
    flat = np.array([1.0 if model == "exponential" else 0.0 for model in names])[best]
    constant = np.array([model == "constant" for model in names])[best]
    return ModelChoice(
        np.where(known, places[best], -1),
        chosen.p,
        _of_best([fits[model].r2 for model in names], best),
        coefficients,
        ~constant & (coefficients[:, 1] > flat) & chosen.clear,
        fits,
    )


class _Best(NamedTuple):
    """The choice of a rule; all arrays of the shape (groups,)."""

    best: Indices  # places among the names of the models
    p: Floats  # of the F-test against a constant; NaN where there was none
    clear: Flags  # whether a rise is more than what caches explain


def _by_r2(fits: Mapping[str, Fit], names: list[str]) -> _Best:
    r2 = np.nan_to_num(np.stack([fits[model].r2 for model in names]), nan=-np.inf)
    groups = r2.shape[1]
    return _Best(r2.argmax(axis=0), np.full(groups, np.nan), np.ones(groups, dtype=bool))


def _by_aicc(
    fits: Mapping[str, Fit],
    names: list[str],
    alpha: float,
    least: float,
    margin: float,
    gain: float,
) -> _Best:
    """The rules of ``choose``, which gives their sources:

    1. The curve of fixed shape with the lowest AICc (``_curve``).
    2. A free shape in its place only with an AICc lower by ``margin`` (``_curve``),
    3. and only where it explains enough more (``_worth``).
    4. The constant in place of that curve unless F-test and span speak for the curve.
    5. The rise is clear where it is large, or unlike that of a logarithm (``_clear``).
    """
    some = next(iter(fits.values()))
    p = np.full(len(some.n), np.nan)
    with np.errstate(all="ignore"):
        # AICc less what all curves share
        scores: NDArray[Any] = np.stack([some.n * np.log(fits[model].squares) for model in names])
        scores = np.where(np.isnan(scores), np.inf, np.nan_to_num(scores, neginf=-1e300))
        best = _curve(fits, names, scores, margin, gain)
        if "constant" in names and len(names) > 1:
            p = _chance_of_constant(fits, names, best)
            span = np.abs(_span(fits, names, best))
            rises = (p < alpha) & (span >= least * np.abs(fits["constant"].coefficients[:, 0]))
            best = np.where(rises, best, names.index("constant"))
        return _Best(best, p, _clear(fits, names, scores, best, margin))


def _curve(
    fits: Mapping[str, Fit], names: list[str], scores: Floats, margin: float, gain: float
) -> Indices:
    """The best model but the constant, by ``scores`` of the shape (models, groups)."""
    free = np.array([model in FREE for model in names])
    fixed = np.array([model != "constant" for model in names]) & ~free
    handicapped = np.where(free[:, None], scores + margin, scores)
    handicapped[~(fixed | free)] = np.inf
    if fixed.any() and free.any():
        worth = _worth(fits, names, np.where(fixed[:, None], scores, np.inf), free, gain)
        handicapped[free] = np.where(worth, handicapped[free], np.inf)
    return np.asarray(handicapped.argmin(axis=0))


def _chance_of_constant(fits: Mapping[str, Fit], names: list[str], best: Indices) -> Floats:
    """The p of the F-test of the best curve against the constant; NaN where there is none."""
    from perfvcs.statistics.student import two_sided

    n, flat = fits["constant"].n, fits["constant"].squares
    curve = _of_best([fits[model].squares for model in names], best)
    df = np.maximum(n - 2.0, 1.0)
    testable = np.isfinite(curve) & (n > 2)
    saved = np.where(testable, np.maximum(flat - curve, 0.0), 0.0)
    t = np.sqrt(saved / np.where(testable & (curve > 0), curve, 1.0) * df)
    perfect = np.where(saved > 0, 0.0, 1.0)
    return np.where(testable, np.where(curve > 0, two_sided(t, df), perfect), np.nan)


def _of_best(columns: Sequence[NDArray[Any]], best: Indices) -> NDArray[Any]:
    """What the best model of each group has in columns of all models, each (groups, ...)."""
    return np.asarray(np.stack(columns)[best, np.arange(len(best))])


def _clear(
    fits: Mapping[str, Fit],
    names: list[str],
    scores: NDArray[Any],
    best: NDArray[Any],
    margin: float,
) -> Flags:
    """Whether the best curves rise by more, or otherwise, than what caches explain."""
    rows = np.arange(len(best))
    curves = [fits[model] for model in names]
    ends = [
        (curve.predict(np.minimum(curve.low, 1.0), rows), curve.predict(curve.high, rows))
        for curve in curves
    ]
    first, last = (_of_best(column, best) for column in zip(*ends, strict=True))
    # also where the curve is not defined at size 1
    far: Flags = ~(last - first < GROWN * last)
    if "logarithmic" not in names:
        return far
    slow = np.array([model == "logarithmic" for model in names])[best]
    r2 = _of_best([curve.r2 for curve in curves], best)
    better = scores[names.index("logarithmic")] >= scores[best, rows] + margin
    return np.asarray(far | (~slow & (r2 >= CLOSE) & better))


def _span(fits: Mapping[str, Fit], names: list[str], best: Indices) -> Floats:
    """By how much the best curve rises or falls over its sizes."""
    rows = np.arange(len(best))
    curves = [fits[model] for model in names]
    spans = [curve.predict(curve.high, rows) - curve.predict(curve.low, rows) for curve in curves]
    return _of_best(spans, best)


def _worth(
    fits: Mapping[str, Fit], names: list[str], fixed: Floats, free: Flags, gain: float
) -> Flags:
    """Whether the models marked ``free`` explain enough more than the best fixed one; ``fixed`` are
    the scores of these, others inf.
    """
    r2 = np.stack([fits[model].r2 for model in names])
    first = fixed.argmin(axis=0)
    best = np.take_along_axis(r2, first[None], axis=0)
    slow = np.array([model == "logarithmic" for model in names])[first]
    asked = np.where(slow & (gain > 0), np.maximum(gain, LOGARITHM_GAIN), gain)
    unfitted = ~np.isfinite(fixed.min(axis=0))
    away = _away(fits, names, first)[free] >= (DISTINCT_EXPONENT if gain > 0 else 0)
    more = (r2[free] >= best + asked) & away
    return np.asarray(
        more
        | ((1 - r2[free] <= REST * (1 - best)) & (away | ~slow))
        | ~np.isfinite(best)
        | unfitted
    )


def _away(fits: Mapping[str, Fit], names: list[str], first: Indices) -> Floats:
    """How far the exponent of each model is from that of the fixed model at place ``first``; only
    that of a power is asked for.

    The exponent of log n is what it gains over the sizes.
    """
    some = next(iter(fits.values()))
    low = np.maximum(some.low, 2.0)
    wide = some.high > low
    log = np.log(
        np.where(wide, np.log(some.high), 1.0) / np.where(wide, np.log(low), 1.0)
    ) / np.log(np.where(wide, some.high / low, 2.0))
    exponents = {
        "linear": 1.0 + 0 * log,
        "logarithmic": log,
        "linearithmic": 1 + log,
        "quadratic": 2.0 + 0 * log,
        "cubic": 3.0 + 0 * log,
    }
    exponent = np.stack([exponents.get(model, 0 * log) for model in names])[
        first, np.arange(len(first))
    ]
    away = [
        np.abs(fits[model].coefficients[:, 1] - exponent)
        if model == "power"
        else np.full(len(first), np.inf)
        for model in names
    ]
    return np.stack(away)
