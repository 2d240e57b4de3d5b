"""A smooth curve that outliers do not bend, with the band in which it lies."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from statistics import NormalDist

from perfvcs.postprocessors._curve import CurvePoints, SmoothCurve, entries, most_points
from perfvcs.postprocessors._entries import check_number
from perfvcs.postprocessors._rows import Groups, thin
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import LowessEntry
from perfvcs.system.numeric import Floats, Indices, np

MOST_ROWS = 300  # of a unit that are fitted: the time grows with their square
BAND_DRAWS = 50  # of a band
FEWEST_DRAWS = 20  # with fewer a band is not worth showing
MOST_DRAWS = 2_000  # of all units
FEWEST_RESAMPLED = 5  # that are drawn as a whole; of fewer, single rows are


@dataclass(frozen=True)
class Lowess(SmoothCurve):
    """Fits a line around each size to the nearest rows, with a band around the curve.

    Outliers weigh little. ``share`` is the part of a unit's rows that each line takes in.
    ``robust`` counts how often rows far from the curve lose weight and the curve is fitted again.
    The band holds the true curve at each size with the given ``confidence``: it is as wide as
    curves differ that are fitted to resampled executions (to resampled rows if there are fewer than
    five executions). A unit's band takes 50 draws, fewer for more than 40 units; for more than 100
    there is none. At most 300 rows of a unit are used, taken evenly. ``of`` names the metrics (by
    default, all that are judged); ``by`` names the column of x. Source: Cleveland 1979, by
    statsmodels.
    """

    share: float = 0.5
    robust: int = 3
    confidence: float = 0.99
    of: tuple[str, ...] = ()
    by: str = "size"

    def __post_init__(self) -> None:
        check_number(self, "share", 0, 1, "0.5", above=True)
        check_number(self, "robust", 0, 100, "3", whole=True)
        check_number(self, "confidence", 0.5, 0.9999, "0.99")

    def curves(self, profile: Profile, metric: str, groups: Groups) -> list[LowessEntry]:
        """The curves of one metric."""
        execution = np.array(profile.resources.integers("execution"), dtype=np.intp)[groups.place]
        thinned = thin(groups.number, len(groups), MOST_ROWS)
        draws = min(BAND_DRAWS, MOST_DRAWS // max(len(groups), 1))
        draws = draws if draws >= FEWEST_DRAWS else 0
        xs, ys, bands = [], [], np.full(len(groups), None, dtype=object)
        for place in range(len(groups)):
            members = (
                np.flatnonzero(
                    thinned[groups.starts[place] : groups.starts[place] + groups.counts[place]]
                )
                + groups.starts[place]
            )
            x, y = groups.x[members], groups.y[members]
            at = _sizes(x, most_points(len(groups)))
            xs.append(at)
            ys.append(self._curve(x, y, at))
            if draws and len(at) > 1:
                bands[place] = self._band(
                    x, y, execution[members], at, ys[-1], draws, scale=float(groups.y_scale[place])
                )
        number = np.repeat(np.arange(len(groups)), [len(at) for at in xs])
        curve = CurvePoints(number, *(np.concatenate([*parts, np.empty(0)]) for parts in (xs, ys)))
        options = {
            "share": np.full(len(groups), self.share),
            "robust": np.full(len(groups), self.robust),
            "confidence": np.full(len(groups), self.confidence),
            "band": bands,
        }
        return entries(LowessEntry, profile, metric, self.by, groups, curve, options)

    def _curve(self, x: Floats, y: Floats, at: Floats) -> Floats:
        """The curve at some sizes: a line through means where the nearest rows have one size."""
        from statsmodels.nonparametric.smoothers_lowess import lowess

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # of a window without a width, whose value is nan
            curve: Floats = lowess(y, x, frac=self.share, it=self.robust, xvals=at, is_sorted=True)
        if np.isfinite(curve).all():
            return curve
        sizes, number = np.unique(x, return_inverse=True)
        means = np.bincount(number, y) / np.bincount(number)
        return np.where(np.isfinite(curve), curve, np.interp(at, sizes, means))

    def _band(
        self,
        x: Floats,
        y: Floats,
        execution: Indices,
        at: Floats,
        curve: Floats,
        draws: int,
        *,
        scale: float,
    ) -> tuple[list[float], list[float]]:
        """The lower and the upper end at each size, in the metric's unit."""
        runs, run = np.unique(execution, return_inverse=True)
        drawn = runs if len(runs) >= FEWEST_RESAMPLED else np.arange(len(x))
        member = run if len(runs) >= FEWEST_RESAMPLED else drawn
        curves = np.empty((draws, len(at)))
        # anew for each unit, so that their order does not matter
        random = np.random.default_rng(0)
        for draw in range(draws):
            weight = np.bincount(random.integers(0, len(drawn), len(drawn)), minlength=len(drawn))
            taken = np.repeat(np.arange(len(x)), weight[member])
            curves[draw] = self._curve(x[taken], y[taken], at)
        # resamples vary about the mean of the executions at hand, and so too little where these are
        # few
        width = (
            NormalDist().inv_cdf((1 + self.confidence) / 2)
            * curves.std(axis=0, ddof=1)
            * np.sqrt(len(drawn) / (len(drawn) - 1))
        )
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            low, high = (
                np.clip((curve + sign * width) * scale, -largest, largest) for sign in (-1, 1)
            )
        return low.tolist(), high.tolist()


def _sizes(x: Floats, most: int) -> Floats:
    """At most so many of the distinct sizes, evenly and with both ends."""
    sizes = np.unique(x)
    return sizes[thin(np.zeros(len(sizes), dtype=np.intp), 1, most)]
