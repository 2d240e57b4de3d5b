"""Models of a value against a size: their names, their orders of growth, and what is known of a
fitted one.

``fitting.fit`` fits them to many groups at once, ``choice.choose`` picks one per group.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# From the slowest growth to the fastest: the order of `best-model-order`, and of preference among
# equally good models.
MODELS = (
    "constant",
    "logarithmic",
    "linear",
    "linearithmic",
    "quadratic",
    "cubic",
    "power",
    "exponential",
)
LINEARISED = ("linearised power", "linearised exponential")
# contains a line and a quadratic, so that it is never chosen among them
FULL_QUADRATIC = "full-quadratic"
FITTED_MODELS = (*MODELS, *LINEARISED, FULL_QUADRATIC)
# the second coefficient is the shape of the curve, the first only its scale
SHAPED = ("power", "exponential", *LINEARISED)

ORDERS = {
    "constant": "O(1)",
    "logarithmic": "O(log n)",
    "linear": "O(n)",
    "linearithmic": "O(n log n)",
    "quadratic": "O(n^2)",
    "cubic": "O(n^3)",
    "power": "O(n^b)",
    "exponential": "O(b^n)",
    FULL_QUADRATIC: "O(n^2)",
}
FORMULAS = {
    "constant": "b0",
    "logarithmic": "b0 + b1 log n",
    "linear": "b0 + b1 n",
    "linearithmic": "b0 + b1 n log n",
    "quadratic": "b0 + b1 n^2",
    "cubic": "b0 + b1 n^3",
    "power": "b0 n^b1",
    "exponential": "b0 b1^n",
    FULL_QUADRATIC: "b0 + b1 n + b2 n^2",
}
_EXPONENTS = {
    "constant": (0, 0),
    "logarithmic": (0, 1),
    "linear": (1, 0),
    "linearithmic": (1, 1),
    "quadratic": (2, 0),
    "cubic": (3, 0),
}


@dataclass(frozen=True)
class Fit:
    """One model fitted to every group; arrays of the shape (groups,), ``coefficients`` and
    ``errors`` (groups, 2).

    Those of ``FULL_QUADRATIC`` have the shape (groups, 3).

    ``model`` is one of ``FITTED_MODELS``: y = b0 + b1 f(x) with f(x) = x, ln x, x ln x, x^2, x^3; y
    = b0 x^b1 (power); y = b0 b1^x (exponential); y = b0 + b1 x + b2 x^2 (``FULL_QUADRATIC``).
    ``errors`` are standard errors. ``n`` counts the finite rows, ``low``..``high`` is their range
    of sizes. ``squares`` is the (weighted) sum of squared residuals, and ``r2``, ``adjusted_r2``
    and ``aicc`` follow from it: on the original scale for every model, so that they compare.
    ``log_r2`` is that of the straight line through ln y, and NaN for all but ``LINEARISED``.
    ``variance`` is that of the residuals on the scale of the fit (log for ``LINEARISED``).
    ``weight``, ``centre`` and ``spread`` are what the variance of a prediction needs: the sum of
    weights, and the mean and centred sum of squares of f(x). A group for which a model is not
    defined is NaN throughout, but for ``n`` and the range.
    """

    model: str
    coefficients: Floats
    errors: Floats
    r2: Floats
    log_r2: Floats
    adjusted_r2: Floats
    aicc: Floats
    n: Indices
    variance: Floats
    squares: Floats
    low: Floats
    high: Floats
    weight: Floats
    centre: Floats
    spread: Floats

    @property
    def known(self) -> Flags:
        """For which groups the model is there; shape (groups,)."""
        return np.asarray(np.isfinite(self.coefficients).all(axis=1))

    @property
    def df(self) -> Floats:
        """Degrees of freedom of ``variance``: rows less the model's coefficients, at least 0."""
        return np.maximum(self.n - parameters(self.model), 0).astype(np.float64)

    def predict(self, x: ArrayLike, group: ArrayLike = 0) -> Floats:
        """The curve's value at sizes ``x`` of groups ``group``, which are broadcast; NaN where
        unknown, inf beyond what a float holds.
        """
        rows = np.asarray(group, dtype=np.intp)
        return evaluate(
            self.model,
            x,
            *(self.coefficients[rows, place] for place in range(self.coefficients.shape[1])),
        )

    def predict_variance(self, x: ArrayLike, group: ArrayLike = 0) -> Floats:
        """The variance of ``predict`` as an estimate of the mean there, to first order for power
        and exponential; shapes as there.

        ``ValueError`` for ``FULL_QUADRATIC``.
        """
        rows = np.asarray(group, dtype=np.intp)
        with np.errstate(over="ignore", invalid="ignore"):
            share = np.broadcast_to(
                1 / self.weight[rows], np.broadcast_shapes(np.shape(x), rows.shape)
            )
            if self.model != "constant":
                share = (
                    share + (transform(self.model, x) - self.centre[rows]) ** 2 / self.spread[rows]
                )
            if self.model in SHAPED:
                share = share * self.predict(x, group) ** 2
            result: Floats = self.variance[rows] * share
        return result


def parameters(model: str) -> int:
    """How many coefficients a model has."""
    return {"constant": 1, FULL_QUADRATIC: 3}.get(model, 2)


def transform(model: str, x: ArrayLike) -> Floats:
    """What a model is linear in, elementwise: f(x), ln x of a power, x of an exponential; NaN where
    it is not defined.

    x ln x is 0 at 0, its limit. ``ValueError`` for an unknown model.
    """
    size = np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        match model.removeprefix("linearised "):
            case "constant":
                values = np.zeros(size.shape)
            case "linear" | "exponential":
                values = size
            case "logarithmic" | "power":
                values = np.where(size > 0, np.log(size), np.nan)
            case "linearithmic":
                values = np.where(size == 0, 0.0, size * np.log(size))
            case "quadratic":
                values = size * size
            case "cubic":
                values = size * size * size
            case _:
                raise ValueError(f"no model {model}; there are {', '.join(MODELS + LINEARISED)}")
    return values


def evaluate(model: str, x: ArrayLike, b0: ArrayLike, b1: ArrayLike, b2: ArrayLike = 0.0) -> Floats:
    """A model's value at ``x`` for given coefficients, all broadcast; NaN where it is not defined,
    inf beyond what a float holds.
    """
    first, second = np.asarray(b0, dtype=np.float64), np.asarray(b1, dtype=np.float64)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        f = transform("linear" if model == FULL_QUADRATIC else model, x)
        if model == FULL_QUADRATIC:
            values = first + f * (second + f * np.asarray(b2, dtype=np.float64))
        elif model in SHAPED:
            shape = np.log(second) if "exponential" in model else second
            values = np.sign(first) * np.exp(np.log(np.abs(first)) + shape * f)
        else:
            values = first + second * f
    result: Floats = np.asarray(values)
    return result


def order(model: str, shape: float | None = None) -> str:
    """The order of growth in words: "O(n log n)"; with the coefficient b1 as ``shape``, "O(n^1.52)"
    of a power and "O(1.6^n)".
    """
    name = model.removeprefix("linearised ")
    if shape is not None and name == "power":
        return f"O(n^{shape:.3g})"
    if shape is not None and name == "exponential":
        return f"O({shape:.3g}^n)"
    return ORDERS[name]


def rank(model: str) -> int:
    """The place of a model in ``MODELS``: the published order of growth, by name alone."""
    return MODELS.index(model.removeprefix("linearised "))


def growth(model: str, shape: float | None = None) -> tuple[float, float]:
    """The true order of growth, to be compared with <: (exponent of n, exponent of log n).

    By name alone a power ranks above a quadratic, whatever its exponent. Here n^0.5 stands between
    log n and n, n^-1 below a constant, and an exponential above everything, or below if its base b1
    is less than 1. Without ``shape`` both are taken to grow.
    """
    name = model.removeprefix("linearised ")
    if name == "power":
        return (float(rank(name)) if shape is None else shape, 0.0)
    if name == "exponential":
        if shape is None or shape > 1:
            return (inf, 0.0)
        return (0.0 if shape == 1 else -inf, 0.0)
    return _EXPONENTS[name]
