"""How far the numbers of one judgement can be trusted: the base against itself, and the smallest
effect that could have been found.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from math import expm1, log, sqrt

import msgspec

from perfvcs.profile import Profile
from perfvcs.profile.naming import labelled
from perfvcs.profile.rules import USUAL_DELTA
from perfvcs.profile.summary import Measured, Summary
from perfvcs.text.words import CLOCKS

FEWEST = 6  # executions of the base, below which an interval says nothing
# the chance that a quiet machine is called restless in one judgement
FALSE_ALARM = 1e-4


class Trust(msgspec.Struct, frozen=True):
    """The base against itself in this very call: its odd blocks against its even ones.

    ``effect`` is a share with its 99 % interval ``low``..``high``, of the ``benchmark`` that
    differs most surely; None where there are too few executions. ``quiet``: no benchmark differs by
    more than chance. ``smallest``: the smallest effect of the benchmark judged on that would have
    been found with a chance of 80 %. ``load``: processes that were running or ready, on average
    over the last minute.
    """

    quiet: bool = True
    benchmark: str = ""
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    smallest: float | None = None
    load: float | None = None


class _Unrest(msgspec.Struct, frozen=True):
    benchmark: str
    effect: float
    low: float
    high: float
    p: float


def trust(base: Iterable[Profile], deciding: tuple[str, str] | None) -> Trust:
    """What the profiles of the base say of themselves; ``deciding`` is the unit and metric that
    decided.
    """
    compared: list[_Unrest] = []
    smallest = None
    for profile in base:
        measured = Measured.of(profile)
        for summary in measured.summaries:
            values = _logarithms(summary)
            if summary.metric not in CLOCKS or len(values) < FEWEST:
                continue
            compared.append(_unrest(measured, summary, values))
            if deciding == (summary.uid, summary.metric):
                smallest = _smallest(values)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    if not compared:
        return Trust(load=load)
    worst = min(compared, key=lambda unrest: unrest.p)
    quiet = worst.p > FALSE_ALARM / len(compared) or abs(worst.effect) < USUAL_DELTA
    return Trust(
        quiet, worst.benchmark, worst.effect, worst.low, worst.high, smallest=smallest, load=load
    )


def _logarithms(summary: Summary) -> list[float]:
    return [log(value) for value in summary.medians if value > 0]


def _unrest(measured: Measured, summary: Summary, values: Sequence[float]) -> _Unrest:
    from perfvcs.statistics.difference import welch

    difference = welch([values[::2]], [values[1::2]])
    return _Unrest(
        labelled(measured.header.job.label, summary.uid, summary.size),
        expm1(float(difference.estimate[0])),
        expm1(float(difference.low[0])),
        expm1(float(difference.high[0])),
        float(difference.p[0]),
    )


def _smallest(values: Sequence[float]) -> float | None:
    """The smallest effect that so many pairs of such executions find, as a share; of pairs that
    have nothing in common, so that it is not too small.
    """
    from statistics import stdev

    from perfvcs.statistics.power import detectable

    effect = detectable(sqrt(2) * stdev(values), len(values))
    return None if effect is None else expm1(effect)
