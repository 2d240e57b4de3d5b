"""A step for each bucket of sizes."""

from __future__ import annotations

from dataclasses import dataclass

from perfvcs.postprocessors._curve import CurvePoints, SmoothCurve, entries, most_points
from perfvcs.postprocessors._entries import check_number, check_word
from perfvcs.postprocessors._rows import Groups, quantile
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import RegressogramEntry
from perfvcs.system.numeric import Floats, Indices, np

BIN_RULES = ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges")
MOST_BUCKETS = 200  # buckets: one far size would else make millions
STATISTICS = ("mean", "median")


@dataclass(frozen=True)
class Regressogram(SmoothCurve):
    """Computes the mean or median of the values in equal parts of the sizes.

    ``buckets`` is the number of parts, or one of numpy's rules for histograms, which derives it
    from the sizes of each unit: auto, doane, fd, rice, scott, sqrt, stone, sturges. ``statistic``
    is the mean or the median of a bucket. ``of`` names the metrics (by default, all that are
    judged); ``by`` names the column of x. The points of the result are the centres of the buckets
    that have values; its r2 is that of the steps. There are at most 200 buckets, fewer for very
    many units. Source: the regressogram of Perun; Tukey 1961.
    """

    buckets: int | str = "doane"
    statistic: str = "mean"
    of: tuple[str, ...] = ()
    by: str = "size"

    def __post_init__(self) -> None:
        if isinstance(self.buckets, str):
            check_word(self, "buckets", BIN_RULES)
        else:
            check_number(self, "buckets", 1, MOST_BUCKETS, "20", whole=True)
        check_word(self, "statistic", STATISTICS)

    def curves(self, profile: Profile, metric: str, groups: Groups) -> list[RegressogramEntry]:
        """The curves of one metric."""
        buckets = np.minimum(_count(groups, self.buckets), most_points(len(groups)))
        last = groups.starts + groups.counts - 1
        low, high = groups.x[groups.starts], groups.x[last]
        width = np.where(high > low, (high - low) / buckets, 1.0)
        inside = ((groups.x - low[groups.number]) / width[groups.number]).astype(np.intp)
        first = np.cumsum(buckets) - buckets
        bucket = first[groups.number] + np.minimum(inside, buckets[groups.number] - 1)
        total = int(buckets.sum())
        there = np.flatnonzero(np.bincount(bucket, minlength=total))
        if self.statistic == "median":
            values = quantile(groups.y, bucket, total, 0.5)
        else:
            away = np.bincount(bucket, groups.y - groups.mean[groups.number], total)
            values = away / np.maximum(np.bincount(bucket, minlength=total), 1) + np.repeat(
                groups.mean, buckets
            )
        owner = np.repeat(np.arange(len(groups)), buckets)[there]
        middle = low[owner] + (there - first[owner] + 0.5) * width[owner]
        middle = np.where(high[owner] > low[owner], middle, low[owner])
        return entries(
            RegressogramEntry,
            profile,
            metric,
            self.by,
            groups,
            CurvePoints(owner, middle, values[there]),
            {"statistic": np.full(len(groups), self.statistic), "buckets": buckets},
            values[bucket],
        )


def _count(groups: Groups, rule: int | str) -> Indices:
    """The number of buckets of each group, 1 to ``MOST_BUCKETS``: the given one, or by a rule for
    the x of its rows.

    The rules are those of ``numpy.histogram_bin_edges``, whose page gives their sources; ``stone``
    tries no more than ``MOST_BUCKETS``.
    """
    last = groups.starts + groups.counts - 1
    span = groups.x[last] - groups.x[groups.starts]
    if isinstance(rule, int):
        counts = np.full(len(groups), float(rule))
    elif rule == "stone":
        counts = _stone(groups, span)
    else:
        width = _width(groups, rule, span)
        with np.errstate(divide="ignore", over="ignore"):
            counts = np.ceil(np.where(width > 0, span / np.where(width > 0, width, 1.0), 1.0))
    return np.clip(np.where(span > 0, counts, 1.0), 1, MOST_BUCKETS).astype(np.intp)


def _width(groups: Groups, rule: str, span: Floats) -> Floats:
    n = groups.counts.astype(np.float64)
    match rule:
        case "sqrt":
            return np.asarray(span / np.sqrt(n))
        case "sturges":
            return np.asarray(span / (np.log2(n) + 1))
        case "rice":
            return np.asarray(span / (2 * np.cbrt(n)))
        case "fd":
            quarters = [
                quantile(groups.x, groups.number, len(groups), share) for share in (0.25, 0.75)
            ]
            return np.asarray(2 * (quarters[1] - quarters[0]) / np.cbrt(n))
        case "auto":
            narrow = np.maximum(_width(groups, "fd", span), _width(groups, "sqrt", span) / 2)
            return np.minimum(narrow, _width(groups, "sturges", span))
    away = groups.x - (groups.total(groups.x) / n)[groups.number]
    deviation = np.sqrt(groups.total(away**2) / n)
    if rule == "scott":
        return np.asarray(np.cbrt(24 * np.sqrt(np.pi) / n) * deviation)
    spread = np.sqrt(6 * np.maximum(n - 2, 0) / ((n + 1) * (n + 3)))
    skewed = (deviation > 0) & (n > 2)
    skewness = groups.total((away / np.where(skewed, deviation, 1.0)[groups.number]) ** 3) / n
    with np.errstate(divide="ignore"):
        parts = 1 + np.log2(n) + np.log2(1 + np.abs(skewness) / np.where(skewed, spread, 1.0))
    return np.where(skewed, span / parts, 0.0)


def _stone(groups: Groups, span: Floats) -> Floats:
    """The number with the least estimated error of the histogram, by leaving one out."""
    n = groups.counts.astype(np.float64)
    upper = np.clip(np.sqrt(n).astype(np.intp), 100, MOST_BUCKETS)
    away = (groups.x - groups.x[groups.starts][groups.number]) / np.where(span > 0, span, 1.0)[
        groups.number
    ]
    best, counts = np.full(len(groups), np.inf), np.ones(len(groups))
    for buckets in range(1, int(upper.max(initial=0)) + 1):
        inside = np.minimum((away * buckets).astype(np.intp), buckets - 1)
        shares = (
            np.bincount(groups.number * buckets + inside, minlength=len(groups) * buckets).reshape(
                -1, buckets
            )
            / n[:, None]
        )
        error = (2 - (n + 1) * (shares**2).sum(axis=1)) * buckets
        better = (error < best) & (buckets <= upper)
        best, counts = np.where(better, error, best), np.where(better, buckets, counts)
    return counts
