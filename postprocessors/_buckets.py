"""Into how many equal parts a histogram cuts the sizes of each unit: numpy's rules for all units at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.postprocessors._groups import quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.postprocessors._groups import Groups

RULES = ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges")
MOST = 200  # buckets: one far size would else make millions


def count(groups: Groups, rule: int | str) -> NDArray[np.intp]:
    """The number of buckets of each group, 1 to ``MOST``: the given one, or by a rule for the x of its rows.

    The rules are those of ``numpy.histogram_bin_edges``, whose page gives their sources; ``stone`` tries no more than ``MOST``.
    """
    import numpy as np

    last = groups.starts + groups.counts - 1
    span = groups.x[last] - groups.x[groups.starts]
    if isinstance(rule, int):
        found = np.full(len(groups), float(rule))
    elif rule == "stone":
        found = _stone(groups, span)
    else:
        width = _width(groups, rule, span)
        with np.errstate(divide="ignore", over="ignore"):
            found = np.ceil(np.where(width > 0, span / np.where(width > 0, width, 1.0), 1.0))
    return np.clip(np.where(span > 0, found, 1.0), 1, MOST).astype(np.intp)


def _width(groups: Groups, rule: str, span: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    n = groups.counts.astype(np.float64)
    match rule:
        case "sqrt":
            return np.asarray(span / np.sqrt(n))
        case "sturges":
            return np.asarray(span / (np.log2(n) + 1))
        case "rice":
            return np.asarray(span / (2 * np.cbrt(n)))
        case "fd":
            quarters = [quantile(groups.x, groups.number, len(groups), share) for share in (0.25, 0.75)]
            return np.asarray(2 * (quarters[1] - quarters[0]) / np.cbrt(n))
        case "auto":
            narrow = np.maximum(_width(groups, "fd", span), _width(groups, "sqrt", span) / 2)
            return np.minimum(narrow, _width(groups, "sturges", span))
    away = groups.x - (groups.total(groups.x) / n)[groups.number]
    deviation = np.sqrt(groups.total(away**2) / n)
    if rule == "scott":
        return np.asarray(np.cbrt(24 * np.sqrt(np.pi) / n) * deviation)
    spread = np.sqrt(6 * np.maximum(n - 2, 0) / ((n + 1) * (n + 3)))
    known = (deviation > 0) & (n > 2)
    skewness = groups.total((away / np.where(known, deviation, 1.0)[groups.number]) ** 3) / n
    with np.errstate(divide="ignore"):
        parts = 1 + np.log2(n) + np.log2(1 + np.abs(skewness) / np.where(known, spread, 1.0))
    return np.where(known, span / parts, 0.0)


def _stone(groups: Groups, span: NDArray[np.float64]) -> NDArray[np.float64]:
    """The number with the least estimated error of the histogram, by leaving one out."""
    import numpy as np

    n = groups.counts.astype(np.float64)
    upper = np.clip(np.sqrt(n).astype(np.intp), 100, MOST)
    away = (groups.x - groups.x[groups.starts][groups.number]) / np.where(span > 0, span, 1.0)[groups.number]
    best, found = np.full(len(groups), np.inf), np.ones(len(groups))
    for buckets in range(1, int(upper.max(initial=0)) + 1):
        inside = np.minimum((away * buckets).astype(np.intp), buckets - 1)
        shares = np.bincount(groups.number * buckets + inside, minlength=len(groups) * buckets).reshape(-1, buckets) / n[:, None]
        error = (2 - (n + 1) * (shares**2).sum(axis=1)) * buckets
        better = (error < best) & (buckets <= upper)
        best, found = np.where(better, error, best), np.where(better, buckets, found)
    return found
