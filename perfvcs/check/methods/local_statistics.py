"""The two curves window by window."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign

from perfvcs.check.change import Change
from perfvcs.check.curves.sides import FittedCurves, Sides
from perfvcs.check.curves.thresholds import CurveMethod, effect, judged
from perfvcs.check.vocabulary import Word, direction
from perfvcs.system.numeric import Floats, np
from perfvcs.text.quantity import number

WINDOWS = 20  # windows of sizes at most
FEWEST_IN_WINDOW = 2  # sizes in a window
SAME_STATISTIC = 0.10  # of a statistic's relative difference
CHANGED_STATISTIC = 0.25  # of it: surely changed
SOME = 0.2  # of the statistics, and of the windows: above, suspected
CHANGED_SHARE = 0.5  # from here, changed

PART = "{} of {} windows changed"


@dataclass(frozen=True)
class LocalStatistics(CurveMethod):
    """Changed where half of up to 20 windows of sizes changed, suspected above a fifth, else the
    same.

    In each window seven statistics of either side's values are compared: integral, mean, median,
    least, largest and both quartiles. One changed beyond 25 %, and perhaps beyond 10 %; the window
    changed where half of them did in one direction, perhaps where more than a fifth did at least
    perhaps. A window that perhaps changed counts as half. Windows hold equally many of the common
    sizes, at least two; without sizes there is one. The effect is the mean relative difference at
    the common sizes. Source: Perun, local statistics (Stupinsky 2019), whose windows are reported
    one by one; the word for all of them follows the same two shares.
    """

    def judge(self, fits: FittedCurves, number: int) -> Change:
        """The change of the case at that place."""
        sides = fits.sides[number]
        distinct = fits.sizes(number)
        count = max(1, min(WINDOWS, len(distinct) // FEWEST_IN_WINDOW))
        edges = [part[0] for part in np.array_split(distinct, count)][1:] if len(distinct) else []
        scores = np.array(_scores(sides, edges))
        measured_effect = effect(*fits.measured(number))
        total = float(scores.mean())
        word: Word = "same"
        reason = ""
        if abs(total) >= CHANGED_SHARE:
            word = direction(sides.case.about, total)
        elif np.abs(scores).mean() > SOME:
            word = "suspected"
            reason = "some windows changed, and not all in one direction"
            if abs(total) > SOME:
                reason = PART.format(np.count_nonzero(scores), len(scores))
        finding = ""
        if word != "same" and sides.sized:
            finding = _windows(scores, [sides.low, *edges, sides.high])
        return judged(
            sides,
            "local-statistics",
            word,
            reason,
            effect=measured_effect,
            delta=self.delta,
            finding=finding,
            curve=fits.curve(number) if sides.sized else None,
        )


def _scores(sides: Sides, edges: list[float]) -> list[float]:
    """For each window: 1 if it rose, 0.5 if perhaps, 0 if it stayed, negative if it fell."""
    both = [
        (side, np.searchsorted(edges, side.size, side="right"))
        for side in (sides.baseline, sides.target)
    ]
    scores = []
    for window in range(len(edges) + 1):
        parts = [(side.size[where == window], side.value[where == window]) for side, where in both]
        if min(len(parts[0][0]), len(parts[1][0])) == 0:
            continue
        old, new = (_statistics(*part) for part in parts)
        comparable = (old > 0) & np.isfinite(new)
        moved = np.where(
            comparable,
            new / np.where(comparable, old, 1.0) - 1,
            np.where(new == old, 0.0, np.sign(new - old)),
        )
        if not sides.sized:
            moved = moved[1:]
        surely = np.sign(moved) * (np.abs(moved) > CHANGED_STATISTIC)
        perhaps = np.sign(moved) * (np.abs(moved) > SAME_STATISTIC)
        scores.append(_score(float(surely.mean()), float(perhaps.mean())))
    return scores or [0.0]


def _score(surely: float, perhaps: float) -> float:
    """The score of a window by the shares of its statistics that changed, signed."""
    if abs(surely) >= CHANGED_SHARE:
        return copysign(1.0, surely)
    return copysign(0.5, perhaps) if abs(perhaps) > SOME else 0.0


def _statistics(sizes: Floats, values: Floats) -> Floats:
    """Integral over the sizes (per size), mean, median, least, largest, lower and upper
    quartile.
    """
    distinct, place = np.unique(sizes, return_inverse=True)
    means = np.bincount(place, values) / np.bincount(place)
    width = np.diff(distinct)
    area = (
        float((width * (means[1:] + means[:-1]) / 2).sum() / width.sum())
        if len(width)
        else float(means.mean())
    )
    lower, median, upper = np.percentile(values, (25, 50, 75))
    return np.array([area, values.mean(), median, values.min(), values.max(), lower, upper])


def _windows(scores: Floats, edges: list[float]) -> str:
    """How many windows moved, and from which size to which."""
    moved = scores.nonzero()[0].tolist()
    first, last = edges[moved[0]], edges[min(moved[-1] + 1, len(edges) - 1)]
    return f"{len(moved)} of {len(scores)} windows, sizes {number(first)} to {number(last)}"
