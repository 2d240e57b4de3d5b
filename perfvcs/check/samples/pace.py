"""The executions of a pair as they would have been at one pace of the machine, where it was read beside them."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, log, sqrt
from statistics import fmean, variance
from typing import TYPE_CHECKING

from perfvcs.statistics.covariate import FAR, STEEPEST, UNMOVED

if TYPE_CHECKING:
    from perfvcs.check.case import Execution, Executions, Pair
    from perfvcs.summary import Measured

FEWEST = 8  # executions a side: of fewer the slope is not worth its degree of freedom

Logs = list[list[float]]  # by session


def at_one_pace(pair: Pair) -> Pair:
    """The pair with the values of a time at the mean pace of both sides, by analysis of covariance (see ``statistics.covariate``).

    The slope is that inside the sessions of each side. It is estimated too: the values' distances from the mean of their session are
    stretched by as much as that adds to the variance of the difference. Without the pace of every execution, of a metric that is no time
    or has values of 0 and below, with fewer than eight executions a side, and where the paces of the sides differ by more than chance, it
    is the pair itself.
    """
    sides = pair.before, pair.after
    if pair.about.unit != "s" or min(pair.executions) < FEWEST:
        return pair
    if not all(0 < one.value < inf for side in sides for session in side for one in session):
        return pair
    before, after = (_paces(side, measured) for side, measured in zip(sides, pair.case.chosen.sides, strict=True))
    if before is None or after is None or _uneven(before, after):
        return pair
    slope, stretch = _slope((before, after), sides)
    middle = fmean(fmean(pace for session in known for pace in session) for known in (before, after))
    first, second = (
        tuple(
            _moved(session, [slope * (pace - middle) for pace in along], stretch)
            for session, along in zip(side, known, strict=True)
        )
        for side, known in zip(sides, (before, after), strict=True)
    )
    return replace(pair, before=first, after=second)


def _moved(session: tuple[Execution, ...], by: list[float], stretch: float) -> tuple[Execution, ...]:
    logs = [log(one.value) - less for one, less in zip(session, by, strict=True)]
    middle = fmean(logs)
    return tuple(one._replace(value=exp(middle + stretch * (value - middle))) for one, value in zip(session, logs, strict=True))


def _paces(side: Executions, measured: list[Measured]) -> Logs | None:
    """The logarithm of the pace of each execution; None where one is not known."""
    found = [[measured[one.profile].paces.get(one.place, 0.0) for one in session] for session in side]
    if not all(0 < pace < inf for session in found for pace in session):
        return None
    return [[log(pace) for pace in session] for session in found]


def _uneven(first: Logs, second: Logs) -> bool:
    """See ``statistics.covariate.uneven``."""
    old, new = ([pace for session in side for pace in session] for side in (first, second))
    error = sqrt(variance(old) / len(old) + variance(new) / len(new))
    return abs(fmean(new) - fmean(old)) > FAR * error + UNMOVED


def _slope(paces: tuple[Logs, Logs], sides: tuple[Executions, Executions]) -> tuple[float, float]:
    """The slope, and the factor by which it widens the difference's standard error; 0 and 1 where the pace did not move."""
    along = across = 0.0
    sessions = [pair for known, side in zip(paces, sides, strict=True) for pair in zip(known, side, strict=True)]
    for known, session in sessions:
        values = [log(one.value) for one in session]
        x, y = fmean(known), fmean(values)
        along += sum((pace - x) ** 2 for pace in known)
        across += sum((pace - x) * (value - y) for pace, value in zip(known, values, strict=True))
    counts = [sum(map(len, side)) for side in sides]
    if along <= UNMOVED**2 * sum(counts):
        return 0.0, 1.0
    free = sum(counts) - len(sessions)
    first, second = (fmean(pace for session in known for pace in session) for known in paces)
    apart = (second - first) ** 2 / along / sum(1 / count for count in counts)
    return min(STEEPEST, max(0.0, across / along)), sqrt((1 + apart) * free / (free - 1))
