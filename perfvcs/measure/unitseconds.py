"""What the units of measured jobs take, and whole programs: by that it is known what counting their
work costs, and which unit's count would tell most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf, sqrt
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.profile.naming import ONCE

if TYPE_CHECKING:
    from perfvcs.profile import Profile

TIMED = ("time", "pytest")  # the collectors beside which work is counted


class UnitTime(NamedTuple):
    """What one run of a unit takes (s), at all of so many ``sizes`` together."""

    uid: str
    once: float
    sizes: int = 1


class UnitSeconds(NamedTuple):
    """What one run of each of a ``number`` of units of a job takes (s), and all that were measured
    at once; ``each`` of them, those first whose count would tell most.
    """

    once: float
    measured: float
    number: int = 1
    each: tuple[UnitTime, ...] = ()


def units(profiles: Iterable[Profile]) -> dict[str, UnitSeconds]:
    """The jobs, by their labels, whose timed profiles have units.

    Those come first whose times on both sides lie furthest apart, measured by how much they vary,
    and of equals the longest.
    """
    found: dict[str, UnitSeconds] = {}
    by_job = defaultdict[str, list[_Times]](list)
    for profile in profiles:
        times = _times(profile)
        if not times or profile.job.collector not in TIMED:
            continue
        label = profile.job.label
        by_job[label].append(times)
        measured = sum(map(sum, times.values())) / profile.design.executions
        once = sum(map(median, times.values()))
        found[label] = UnitSeconds(once, measured, len(times), _each(by_job[label]))
    return found


def wholes(profiles: Iterable[Profile]) -> dict[str, float]:
    """What an execution of each timed job takes of a processor (s), by its label: the median. What
    it waits for, or other programs on a busy machine, is no slower where it is counted.
    """
    times = defaultdict[str, list[float]](list)
    for profile in profiles:
        rows = profile.resources
        for uid, seconds in zip(rows.uid, rows.metrics.get("cpu", ()), strict=False):
            if seconds is not None and rows.names[uid] == profile.job.name:
                times[profile.job.label].append(seconds)
    return {label: median(taken) for label, taken in times.items()}


# of one side of a job, by unit and size
_Times = dict[tuple[str, float | None], list[float]]


def _times(profile: Profile) -> _Times:
    rows, times = profile.resources, defaultdict[tuple[str, float | None], list[float]](list)
    for place, seconds in enumerate(rows.metrics.get("wall", ())):
        name = rows.names[rows.uid[place]]
        if seconds is not None and name != profile.job.name:
            times[name, rows.size[place] if rows.size else None].append(seconds)
    return times


def _each(sides: Sequence[_Times]) -> tuple[UnitTime, ...]:
    """The units of the newest side, those first whose count would tell most."""
    sizes = defaultdict[str, list[tuple[float, float]]](list)
    for key, values in sides[-1].items():
        apart = _apart([side[key] for side in sides if key in side])
        sizes[key[0].removesuffix(ONCE)].append((apart, median(values)))
    ranked = sorted(sizes.items(), key=lambda unit: max(unit[1]), reverse=True)
    return tuple(UnitTime(uid, sum(once for _, once in rows), len(rows)) for uid, rows in ranked)


def _apart(sides: Sequence[Sequence[float]]) -> float:
    """How far the means of two sides lie apart, in standard errors; 0 where that is unknown."""
    if len(sides) != 2 or min(map(len, sides)) < 2:
        return 0.0
    difference = abs(fmean(sides[1]) - fmean(sides[0]))
    error = sqrt(sum(stdev(side) ** 2 / len(side) for side in sides))
    if not error:
        return inf if difference else 0.0
    return difference / error
