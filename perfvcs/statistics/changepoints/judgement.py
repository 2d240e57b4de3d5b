"""Everything that a series says about itself: its steps and drifts, switching, changes of spread, and its newest value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfvcs.statistics.changepoints.newest import Newest
from perfvcs.statistics.changepoints.noisier import Noisier
from perfvcs.statistics.changepoints.steps import Step
from perfvcs.statistics.changepoints.switching import Switching

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

VERSION = 3  # of what `judge` finds: results that were kept are used only under the same number
TURNS = "turns"  # the name, among a step's detectors, of a verdict that was measured in turns


@dataclass(frozen=True)
class Judgement:
    """What was found in a series of n values; all places are indices of the values as they were given, 0 to n - 1.

    ``steps`` are steps and drifts, ascending. ``switching`` is a stretch in which the series moves between levels, ``noisier`` are lasting
    changes of its spread, and ``newest`` the newest value against the present level; None and empty where there is nothing to say.
    """

    steps: tuple[Step, ...]
    switching: Switching | None
    noisier: tuple[Noisier, ...]
    newest: Newest | None


def judge(levels: ArrayLike, *, variance: ArrayLike | None = None, evidence: Sequence[int] = ()) -> Judgement:
    """Judge a series ``levels`` (n,) of logarithms, one per commit in their order; places that are NaN or infinite are skipped.

    ``variance`` (n,) is the variance of each level that its own executions show, in squared logarithms, NaN where it is not known.
    ``evidence`` names the places of steps that verdicts measured in turns have settled: each the index of the first value at the new level,
    from 1 to n - 1. They are among the steps, with ``turns`` as one of their detectors, whatever the series shows; their ``p`` is what the
    series alone gives. ``ValueError`` for shapes that differ and for places outside.
    """
    import numpy as np

    from perfvcs.statistics.changepoints.newest import newest
    from perfvcs.statistics.changepoints.steps import steps

    given = np.asarray(levels, dtype=np.float64)
    if variance is not None and np.shape(variance) != given.shape:
        raise ValueError("there is one variance per level")
    if any(not 0 < place < len(given) for place in evidence):
        raise ValueError("evidence lies between two values")
    there = np.flatnonzero(np.isfinite(given))
    y = given[there]
    found = _with(y, steps(y), sorted({int(place) for place in np.searchsorted(there, evidence)} - {0, len(y)}))
    starts = [step.last if step.word == "drift" else step.place for step in found]
    last = newest(y, max([0, *starts])) if len(y) else None
    if last:
        last = replace(last, place=int(there[last.place]), since=None if last.since is None else int(there[last.since]))
    return Judgement(
        tuple(
            replace(step, place=int(there[step.place]), first=int(there[step.first]), last=int(there[step.last]))
            for step in found
        ),
        None,
        (),
        last,
    )


def _with(series: NDArray[np.float64], found: list[Step], settled: Sequence[int]) -> list[Step]:
    """The steps of a series of finite values with those that are settled already, at whose place the others nearby are."""
    from perfvcs.statistics.changepoints.pelt import winsorise
    from perfvcs.statistics.changepoints.steps import describe

    clipped = winsorise(series) if settled else series
    for place in settled:
        same = [step for step in found if step.word == "step" and step.first <= place <= step.last]
        others = [step for step in found if step not in same]
        names = tuple(dict.fromkeys([*(name for step in same for name in step.detectors), TURNS]))
        low = max([0, *(step.place for step in others if step.place < place)])
        high = min([len(series), *(step.place for step in others if step.place > place)])
        (step,) = describe(clipped[low:high], [(place - low, place - low, place - low, names)])
        new = replace(step, place=place, first=place, last=place, word="step")
        found = sorted([*others, new], key=lambda step: step.place)
    return found


def judge_all(
    series: Sequence[ArrayLike],
    *,
    variances: Sequence[ArrayLike | None] | None = None,
    evidence: Sequence[Sequence[int]] | None = None,
) -> list[Judgement]:
    """Judge many series, each as ``judge`` does."""
    count = len(series)
    return [
        judge(levels, variance=variance, evidence=places)
        for levels, variance, places in zip(series, variances or [None] * count, evidence or [()] * count, strict=True)
    ]
