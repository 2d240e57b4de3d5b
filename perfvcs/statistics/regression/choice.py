"""Which of the fitted models a group's values follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from perfvcs.statistics.regression.models import MODELS, order

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from perfvcs.statistics.regression.models import Fit

ChoiceRule = Literal["aicc", "r2"]
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

    index: NDArray[np.intp]
    p: NDArray[np.float64]
    r2: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    grows: NDArray[np.bool_]
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
        return order(
            model if self.grows[group] else "constant",
            float(self.coefficients[group, 1]) if shape else None,
        )

    def predict(self, x: ArrayLike, group: ArrayLike = 0) -> NDArray[np.float64]:
        """The value of the chosen curves at sizes ``x`` of groups ``group``, which are broadcast;
        NaN where nothing is known.
        """
        return self._of("predict", x, group)

    def predict_variance(self, x: ArrayLike, group: ArrayLike = 0) -> NDArray[np.float64]:
        """The variance of ``predict`` as an estimate of the mean, given that the model is right."""
        return self._of("predict_variance", x, group)

    def _of(self, what: str, x: ArrayLike, group: ArrayLike) -> NDArray[np.float64]:
        import numpy as np

        size, row = np.broadcast_arrays(
            np.asarray(x, dtype=np.float64), np.asarray(group, dtype=np.intp)
        )
        found = np.full(size.shape, np.nan)
        chosen = self.index[row]
        for place in np.unique(chosen[chosen >= 0]).tolist():
            here = chosen == place
            found[here] = getattr(self.fits[MODELS[place]], what)(size[here], row[here])
        return found


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
    import numpy as np

    from perfvcs.statistics.student import two_sided

    names = [model for model in MODELS if model in fits]
    some = next(iter(fits.values()))
    place = np.array([MODELS.index(model) for model in names], dtype=np.intp)
    clear: NDArray[np.bool_] = np.ones(len(some.n), dtype=bool)
    if rule == "r2":
        r2 = np.nan_to_num(np.stack([fits[model].r2 for model in names]), nan=-np.inf)
        best = r2.argmax(axis=0)
        p = np.full(len(some.n), np.nan)
    else:
        with np.errstate(all="ignore"):
            # AICc less what all curves share
            scores = np.stack([some.n * np.log(fits[model].squares) for model in names])
            scores = np.where(np.isnan(scores), np.inf, np.nan_to_num(scores, neginf=-1e300))
            fixed = np.array([model not in ("constant", "power", "exponential") for model in names])
            free = np.array([model in ("power", "exponential") for model in names])
            shaped = np.where(free[:, None], scores + margin, scores)
            shaped[~(fixed | free)] = np.inf
            if fixed.any() and free.any():
                shaped[free] = np.where(
                    _worth(fits, names, np.where(fixed[:, None], scores, np.inf), free, gain),
                    shaped[free],
                    np.inf,
                )
            best = shaped.argmin(axis=0)
            p = np.full(len(some.n), np.nan)
            if "constant" in names and (fixed | free).any():
                squares = np.stack([fits[model].squares for model in names])
                curve = np.take_along_axis(squares, best[None], axis=0)[0]
                flat, df = fits["constant"].squares, np.maximum(some.n - 2.0, 1.0)
                there = np.isfinite(curve) & (some.n > 2)
                saved = np.where(there, np.maximum(flat - curve, 0.0), 0.0)
                t = np.sqrt(saved / np.where(there & (curve > 0), curve, 1.0) * df)
                p = np.where(curve > 0, two_sided(t, df), np.where(saved > 0, 0.0, 1.0))
                p = np.where(there, p, np.nan)
                span = np.abs(_span(fits, names, best))
                rises = (p < alpha) & (span >= least * np.abs(fits["constant"].coefficients[:, 0]))
                best = np.where(rises, best, names.index("constant"))
            clear = _clear(fits, names, scores, best, margin)
    known = np.take_along_axis(
        np.stack([fits[model].known for model in names]), best[None], axis=0
    )[0]
    index = np.where(known, place[best], -1)
    r2 = np.take_along_axis(np.stack([fits[model].r2 for model in names]), best[None], axis=0)[0]
    coefficients = np.stack([fits[model].coefficients for model in names])[
        best, np.arange(len(best))
    ]
    even = np.array([{"exponential": 1.0}.get(model, 0.0) for model in names])[best]
    flat_ = np.array([model == "constant" for model in names])[best]
    return ModelChoice(
        index, p, r2, coefficients, ~flat_ & (coefficients[:, 1] > even) & clear, fits
    )


def _clear(
    fits: Mapping[str, Fit],
    names: list[str],
    scores: NDArray[Any],
    best: NDArray[Any],
    margin: float,
) -> NDArray[np.bool_]:
    """Whether the best curves rise by so much, or are so unlike a logarithm, that caches do not
    explain them.
    """
    import numpy as np

    rows = np.arange(len(best))
    ends = [
        (fit.predict(np.minimum(fit.low, 1.0), rows), fit.predict(fit.high, rows))
        for fit in (fits[model] for model in names)
    ]
    first, last = (np.stack(column)[best, rows] for column in zip(*ends, strict=True))
    # also where the curve is not defined at size 1
    far: NDArray[np.bool_] = ~(last - first < GROWN * last)
    if "logarithmic" not in names:
        return far
    slow = np.array([model == "logarithmic" for model in names])[best]
    r2 = np.stack([fits[model].r2 for model in names])[best, rows]
    return np.asarray(
        far
        | (
            ~slow
            & (r2 >= CLOSE)
            & (scores[names.index("logarithmic")] >= scores[best, rows] + margin)
        )
    )


def _span(fits: Mapping[str, Fit], names: list[str], best: NDArray[np.intp]) -> NDArray[np.float64]:
    """By how much the best curve rises or falls over its sizes."""
    import numpy as np

    rows = np.arange(len(best))
    spans = [
        fit.predict(fit.high, rows) - fit.predict(fit.low, rows)
        for fit in (fits[model] for model in names)
    ]
    return np.stack(spans)[best, rows]


def _worth(
    fits: Mapping[str, Fit],
    names: list[str],
    fixed: NDArray[np.float64],
    free: NDArray[np.bool_],
    gain: float,
) -> NDArray[np.bool_]:
    """Whether the models marked ``free`` explain enough more than the best fixed one; ``fixed`` are
    the scores of these, others inf.
    """
    import numpy as np

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


def _away(
    fits: Mapping[str, Fit], names: list[str], first: NDArray[np.intp]
) -> NDArray[np.float64]:
    """How far the exponent of each model is from that of the fixed model at place ``first``; only
    that of a power is asked for.

    The exponent of log n is what it gains over the sizes.
    """
    import numpy as np

    some = next(iter(fits.values()))
    low = np.maximum(some.low, 2.0)
    wide = some.high > low
    log = np.log(
        np.where(wide, np.log(some.high), 1.0) / np.where(wide, np.log(low), 1.0)
    ) / np.log(np.where(wide, some.high / low, 2.0))
    known = {
        "linear": 1.0 + 0 * log,
        "logarithmic": log,
        "linearithmic": 1 + log,
        "quadratic": 2.0 + 0 * log,
        "cubic": 3.0 + 0 * log,
    }
    exponent = np.stack([known.get(model, 0 * log) for model in names])[
        first, np.arange(len(first))
    ]
    away = [
        np.abs(fits[model].coefficients[:, 1] - exponent)
        if model == "power"
        else np.full(len(first), np.inf)
        for model in names
    ]
    return np.stack(away)
