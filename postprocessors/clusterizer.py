"""Rows of each unit that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError
from perfvcs.postprocessors import _clusters
from perfvcs.postprocessors._groups import fill, group
from perfvcs.postprocessors._options import check_number, check_word
from perfvcs.postprocessors._outcome import Column, conclude
from perfvcs.postprocessors._rows import Rows, chosen, named, rows
from perfvcs.profile import REPEATED, Profile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.postprocessors._groups import Groups

STRATEGIES = ("mixture", "sort-order", "sliding-window")
MEASURES = ("absolute", "relative")


@dataclass(frozen=True)
class Clusterizer:
    """Numbers the clusters of each unit, from that of the least values on.

    ``strategy``: ``mixture`` finds up to ``most`` normal distributions, by the BIC as many as there are, such as cache hits and misses
    (of logarithms where all values are positive; of 1,000 values of a unit, which then tell where all others belong). ``sort-order``
    gives every value its rank, equal values the same. ``sliding-window`` begins a cluster at the least value that has none, and takes
    the next ones while they are at most ``height`` above it and at most ``width`` rows; equal values stay together.
    ``height_measure``: ``absolute``, in the metric's unit, or ``relative``, as a share of the unit's range of values;
    ``width_measure``: ``absolute``, rows, or ``relative``, as a share of the unit's rows. Without either option the height is .1 of the
    range. ``by`` is what is clustered: ``value``, or ``size``, whose column is ``size.cluster``. ``of`` names the metrics, all that are
    judged without it. The result is the column
    ``<metric>.cluster``, null where there is no value or the execution was repeated; as the x of other postprocessors it serves
    where there are no sizes. Sources: the clusterizer of Perun; Fraley, Raftery 2002.
    """

    strategy: str = "mixture"
    by: str = "value"
    most: int = 6
    width: float | None = None
    width_measure: str = "absolute"
    height: float | None = None
    height_measure: str = "relative"
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_word(self, "strategy", STRATEGIES)
        check_word(self, "by", ("value", "size"))
        check_number(self, "most", 1, 20, "6", whole=True)
        for option, example in (("width", ("100", "0.1")), ("height", ("1e-6", "0.1"))):
            measure = f"{option}_measure"
            check_word(self, measure, MEASURES)
            relative = getattr(self, measure) == "relative"
            check_number(self, option, 0, 1 if relative else 1e300, example[relative], above=True)
            if getattr(self, option) is not None and self.strategy != "sliding-window":
                raise UsageError(
                    f'clusterizer: {option} belongs to strategy = "sliding-window": give that strategy, or no {option}'
                )
        if self.by == "size" and self.of:
            raise UsageError('clusterizer: by = "size" clusters no metric: leave out of')

    def apply(self, profile: Profile) -> Profile:
        """The profile with a column per metric, or one of the sizes."""
        columns: dict[str, Column] = {}
        if self.by == "size":
            columns["size"] = self._column(profile, _sizes(profile))
        else:
            for metric in chosen(profile, self.of):
                columns[metric] = self._column(profile, rows(profile, metric, "", outliers=True))
        return conclude(profile, self, columns=columns, word="cluster")

    def _column(self, profile: Profile, found: Rows) -> Column:
        groups = group(found, "")
        return "", fill(profile, groups.place, self._labels(groups))

    def _labels(self, groups: Groups) -> NDArray[np.float64]:
        if self.strategy == "mixture":
            return _clusters.mixture(groups, self.most)
        if self.strategy == "sort-order":
            return _clusters.ranks(groups)
        height, relative = self.height, self.height_measure == "relative"
        if height is None and self.width is None:
            height, relative = 0.1, True
        return _clusters.windows(groups, height, relative, self.width, self.width_measure == "relative")


def _sizes(profile: Profile) -> Rows:
    """The sizes as values."""
    import numpy as np

    size = named(profile, "size", "by")
    place = np.flatnonzero(np.isfinite(size) & (np.array(profile.resources.integers("mark"), dtype=np.int64) != REPEATED))
    unit = np.array(profile.resources.uid, dtype=np.intp)[place]
    return Rows(size[place], size[place], unit, place)
