"""Which units of a job changed by far more than the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from perfvcs.check.case import Case
from perfvcs.check.change import Change
from perfvcs.check.curves.sides import Sides, share
from perfvcs.check.curves.thresholds import judged
from perfvcs.check.method import Method
from perfvcs.check.vocabulary import Word, direction
from perfvcs.statistics.difference import NORMAL
from perfvcs.system.numeric import Floats, np

SCORE = 3.5  # of the modified z-score
QUARTILES = 1.5  # interquartile ranges beyond a quartile
DEVIATIONS = 2.0  # standard deviations of the rest
MEAN = 0.7979  # mean absolute deviation
FEWEST_UNITS = 5


@dataclass(frozen=True)
class ExclusiveTimeOutliers(Method):
    """Changed where a unit's difference is an outlier among those of all units of the same job and
    metric.

    The difference is that of the mean totals of an execution. Outliers: a modified z-score beyond
    3.5, or more than 1.5 interquartile ranges outside the quartiles; of the rest, those beyond two
    of their standard deviations are suspected. An outlier that moved less than the others moved, or
    the other way, did not change by itself. Below five units it has no answer. The effect is the
    relative difference of the totals; noise does not enter. It is meant for functions with their
    exclusive times. Sources: Perun, exclusive time outliers; Iglewicz, Hoaglin 1993 for the
    modified z-score; Tukey 1977.
    """

    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """One change per unit."""
        sides, decided = share(cases)
        jobs: dict[tuple[int, str], list[Sides]] = defaultdict(list)
        for side in sides:
            jobs[id(side.case.chosen), side.case.metric].append(side)
        return [*(change for units in jobs.values() for change in self._judge(units)), *decided]

    def _judge(self, units: list[Sides]) -> list[Change]:
        totals = np.array([[_total(unit, "baseline"), _total(unit, "target")] for unit in units])
        largest = max(unit.unit for unit in units)
        scale = np.array([unit.unit / largest for unit in units])
        words = _words((totals[:, 1] - totals[:, 0]) * scale)
        changes = []
        for unit, (old, new), (changed, reason) in zip(units, totals.tolist(), words, strict=True):
            word: Word = "same"
            if changed == "few" and not unit.equal:
                word = "inconclusive"
            elif changed == "perhaps":
                word = "suspected"
            elif changed == "surely":
                word = direction(unit.case.about, new - old)
            changes.append(
                judged(
                    unit,
                    "exclusive-time-outliers",
                    word,
                    reason if word != "same" else "",
                    delta=self.delta,
                    effect=new / old - 1 if old > 0 else None,
                    centres=(old * unit.unit, new * unit.unit),
                )
            )
        return changes


def _total(unit: Sides, side: str) -> float:
    """The mean over the executions of the sum of an execution's values."""
    points = getattr(unit, side)
    return float(points.value.sum() / max(1, len(set(points.execution.tolist()))))


def _words(deltas: Floats) -> list[tuple[str, str]]:
    """For each difference, whether it is an outlier, and by which rule."""
    if len(deltas) < FEWEST_UNITS:
        reason = f"too few units ({len(deltas)}): outliers among them need at least {FEWEST_UNITS}"
        return [("few", reason)] * len(deltas)
    middle = float(np.median(deltas))
    away = np.abs(deltas - middle)
    # If most units did the same, the median distance is 0 and the mean distance replaces it
    # (Iglewicz and Hoaglin).
    median, mean = float(np.median(away)), float(away.mean())
    spread = NORMAL * median if median > 0 else mean / MEAN
    scores = (deltas - middle) / (spread if spread > 0 else 1.0)
    lower, upper = np.percentile(deltas, (25, 75))
    reach = QUARTILES * (upper - lower)
    severe = np.abs(scores) > SCORE
    ordinary = ((deltas < lower - reach) | (deltas > upper + reach)) & ~severe
    rest = deltas[~severe & ~ordinary]
    deviation = float(rest.std(ddof=1)) if len(rest) > 1 else 0.0
    perhaps = ~severe & ~ordinary & (np.abs(deltas) > DEVIATIONS * deviation) & (deviation > 0)
    alone = (np.sign(deltas) == np.sign(deltas - middle)) & (np.abs(deltas) > abs(middle))
    words = []
    for score, far, out, edge, moved in zip(
        scores.tolist(), severe, ordinary, perhaps, alone, strict=True
    ):
        word, reason = "not", ""
        if moved and far:
            word = "surely"
            reason = f"far outside what the other units did (modified z-score {score:+.1f})"
        elif moved and out:
            word, reason = "surely", "outside what the other units did (interquartile range)"
        elif moved and edge:
            word, reason = "perhaps", "at the edge of what the other units did (standard deviation)"
        words.append((word, reason))
    return words
