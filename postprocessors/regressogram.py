"""A step for each bucket of sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfvcs.postprocessors._buckets import MOST, RULES, count
from perfvcs.postprocessors._curve import Curve, entries, most_points
from perfvcs.postprocessors._groups import group, quantile
from perfvcs.postprocessors._options import check_number, check_word
from perfvcs.postprocessors._outcome import conclude
from perfvcs.postprocessors._rows import chosen, rows
from perfvcs.profile import Profile

STATISTICS = ("mean", "median")


@dataclass(frozen=True)
class Regressogram:
    """The mean or median of the values in each of some equal parts of the sizes.

    ``buckets`` is their number, or numpy's rule for histograms that finds it from the sizes of each unit: auto, doane, fd, rice, scott,
    sqrt, stone, sturges. ``statistic`` is the mean or the median of a bucket. ``of`` names the metrics, all that are judged without it;
    ``by`` is what x is. The points of the result are the middles of the buckets that have values; its r2 is that of the steps. There are
    at most 200 buckets, fewer for very many units. Source: the regressogram of Perun; Tukey 1961.
    """

    buckets: int | str = "doane"
    statistic: str = "mean"
    of: tuple[str, ...] = ()
    by: str = "size"

    def __post_init__(self) -> None:
        if isinstance(self.buckets, str):
            check_word(self, "buckets", RULES)
        else:
            check_number(self, "buckets", 1, MOST, "20", whole=True)
        check_word(self, "statistic", STATISTICS)

    def apply(self, profile: Profile) -> Profile:
        """The profile with a model per unit and metric."""
        return conclude(
            profile, self, [entry for metric in chosen(profile, self.of, self.by) for entry in self._of(profile, metric)]
        )

    def _of(self, profile: Profile, metric: str) -> list[dict[str, Any]]:
        import numpy as np

        groups = group(rows(profile, metric, self.by), self.by)
        buckets = np.minimum(count(groups, self.buckets), most_points(len(groups)))
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
            values = away / np.maximum(np.bincount(bucket, minlength=total), 1) + np.repeat(groups.mean, buckets)
        owner = np.repeat(np.arange(len(groups)), buckets)[there]
        middle = low[owner] + (there - first[owner] + 0.5) * width[owner]
        middle = np.where(high[owner] > low[owner], middle, low[owner])
        return entries(
            profile, metric, self.by, groups, Curve(owner, middle, values[there]),
            {"statistic": np.full(len(groups), self.statistic), "buckets": buckets}, values[bucket],
        )  # fmt: skip
