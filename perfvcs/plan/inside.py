"""What the measurements inside executions show: levels of variance, impact of starting again,
warm-up, dependence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite, isnan, pi, sqrt
from operator import itemgetter
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.profile import REPEATED, Profile
from perfvcs.profile.summary import Place
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from perfvcs.statistics.runs import Impact


FEWEST_DRAWN = 4  # pairs of executions from different blocks
# degrees of freedom that such a pair is worth at least: neighbouring ones have a block in common
DEPENDENT = 2 / 3
INTERVAL_COVERAGE = 0.8
SizedMetric = tuple[str, float | None, str]  # uid, size, metric
ExecutionRuns = dict[Place, list[float]]  # the measurements of each execution, in their order
CONVINCING = 3  # executions from which a warm-up is seen
FEWEST_IN_SERIES = 8  # measurements in a row from which a dependence is seen
NOTABLE_CORRELATION = 0.3  # lag 1 autocorrelation
RESAMPLES = 2000  # of the impact factor, whose median then has two digits
MEDIAN_VARIANCE = pi / 2  # variance of a median over that of a mean, for many normal values


class Drawn(NamedTuple):
    """One version in a session: a relative value per execution, and each one's place in its block
    and its seed.
    """

    values: Mapping[Place, float]
    turns: Mapping[Place, int]
    seeds: Mapping[Place, int]


class Share(msgspec.Struct, frozen=True):
    """The ``share`` of the variance between executions that goes with the block's seed, 0 to 1, and
    the range in which it lies (80 %).

    ``blocks`` are those that it was seen in.
    """

    share: float
    low: float
    high: float
    blocks: int


class _DrawnBlock(NamedTuple):
    """A block in which all versions shared a seed: its number, the seed, and what is left of the
    values, by turns.
    """

    number: int
    seed: int
    left: list[float]


def explained(sessions: Sequence[Sequence[Drawn]]) -> Share | None:
    """The share that the seed explains, from the versions of sessions that were measured in turns;
    None where too little is known.

    Executions that follow each other inside a block share its seed. The last of a block and the
    first of the next one follow each other too, but have different seeds: as much more as these
    differ is the seeds' doing. The variances of both kinds of difference are compared; versions and
    places are taken out before. The range is that of an F distribution, which takes the noise for
    normal.
    """
    together: list[float] = []
    across: list[float] = []
    lost, blocks = 0, 0
    for versions in sessions:
        measured = list(_residuals(versions)) if len(versions) > 1 else []
        for block in measured:
            together += [_half(earlier, later) for earlier, later in pairwise(block.left)]
        for before, after in pairwise(measured):
            if before.number == after.number - 1 and before.seed != after.seed:
                across.append(_half(before.left[-1], after.left[0]))
        lost += 2 * (len(versions) - 1) if measured else 0  # means of versions and of places
        blocks += len(measured)
    freedom = len(together) - lost, DEPENDENT * (len(across) - 1)
    if len(across) < FEWEST_DRAWN or freedom[0] < 1 or not fmean(across):
        return None
    from scipy.special import fdtri

    ratio = fmean(together) * len(together) / freedom[0] / fmean(across)
    low, high = (
        _share(ratio / float(fdtri(*freedom, tail)))
        for tail in ((1 - INTERVAL_COVERAGE) / 2, (1 + INTERVAL_COVERAGE) / 2)
    )
    return Share(_share(ratio), low, high, blocks)


def _share(ratio: float) -> float:
    return min(max(1 - ratio, 0.0), 1.0)


def _residuals(versions: Sequence[Drawn]) -> Iterator[_DrawnBlock]:
    """What is left of the values where means of versions and of places in a block are taken out."""
    first = versions[0]

    def is_shared(place: Place) -> bool:
        return all(
            place in version.values
            and place in version.turns
            and version.seeds.get(place) == first.seeds.get(place)
            for version in versions
        )

    shared = sorted(filter(is_shared, first.values), key=itemgetter(1))
    if not shared:
        return
    means = [fmean(version.values[place] for place in shared) for version in versions]
    turns: defaultdict[int, list[float]] = defaultdict(list)
    for version, mean in zip(versions, means, strict=True):
        for place in shared:
            turns[version.turns[place]].append(version.values[place] - mean)
    effects = {turn: fmean(values) for turn, values in turns.items()}
    for place in shared:
        row = sorted(
            (version.turns[place], version.values[place] - mean)
            for version, mean in zip(versions, means, strict=True)
        )
        yield _DrawnBlock(
            place[1], first.seeds[place], [value - effects[turn] for turn, value in row]
        )


def _half(first: float, second: float) -> float:
    return (first - second) ** 2 / 2


class Inside(msgspec.Struct, frozen=True):
    """All deviations are relative: 0.02 is 2 %; what is unknown is None.

    ``within`` is the deviation between the measurements of one execution, ``executions`` what
    executions add, ``builds`` what builds add (Kalibera 2006, eq. 14-16, separated by expected mean
    squares). ``factor`` is the impact factor of starting again, ``control`` the same without the
    executions' means, each None with too few executions or measurements. ``warmup``: how many first
    measurements most executions need to become steady. ``dependence``: the mean autocorrelation at
    lag 1.
    """

    within: float | None
    executions: float | None
    builds: float | None
    factor: float | None
    control: float | None
    warmup: int
    dependence: float | None

    def single(self, measurements: int) -> float:
        """The variance of one measurement as it counts in a median of so many, in squared relative
        deviations.

        Dependence enlarges it by (1 + r) / (1 - r), and the median of three and more by pi / 2.
        """
        r = min(self.dependence or 0.0, 0.95)
        enlarged = (1 + r) / (1 - r) if r > NOTABLE_CORRELATION else 1.0
        return (MEDIAN_VARIANCE if measurements > 2 else 1.0) * enlarged * (self.within or 0.0) ** 2


def runs(profile: Profile, keys: Collection[SizedMetric]) -> dict[SizedMetric, ExecutionRuns]:
    """The measurements of some units and metrics, execution by execution; values that are not
    finite are left out.
    """
    rows = profile.resources
    units = {(uid, size) for uid, size, _ in keys}
    sizes: Sequence[float | None] = rows.size if rows.size is not None else [None] * len(rows)
    places = list(zip(rows.integers("binary"), rows.execution, strict=True))
    where: dict[tuple[str, float | None], list[int]] = defaultdict(list)
    for number, (code, size, mark) in enumerate(
        zip(rows.uid, sizes, rows.integers("mark"), strict=True)
    ):
        if mark != REPEATED:
            unit = (rows.names[code], size)
            where[unit if unit in units else (unit[0], None)].append(number)
    by_key: dict[SizedMetric, ExecutionRuns] = {}
    for key in keys:
        column, grouped = rows.metrics.get(key[2]), defaultdict[Place, list[float]](list)
        for number in where[key[0], key[1]] if column is not None else ():
            value = column[number] if column is not None else None
            if value is not None and isfinite(value):
                grouped[places[number]].append(value)
        if grouped:
            by_key[key] = dict(grouped)
    return by_key


class _Levels(NamedTuple):
    """The relative deviations that the three levels add, pooled over the sessions by degrees of
    freedom.
    """

    within: float | None = None
    executions: float | None = None
    builds: float | None = None


def inside(sessions: Sequence[ExecutionRuns]) -> Inside | None:
    """What the executions of several profiles show, newest last; None where no execution has two
    measurements.

    Where all values are positive their logarithms are taken, whose deviations are relative ones;
    else values are divided by the size of their profile's mean. Warm-up is left out of everything
    else. Warm-up, dependence and impact are those of the newest profile.
    """
    if not any(len(run) > 1 for session in sessions for run in session.values()):
        return None
    newest = list(sessions[-1].values())
    warmup = _warmup(newest)
    warm = [
        {place: run[warmup:] for place, run in session.items() if len(run) > warmup}
        for session in sessions
    ]
    last = [np.array(run) for run in (warm[-1] or sessions[-1]).values()]
    levels = _levels([session for session in warm if session])
    factors = _impact(last)
    return Inside(
        *levels, _finite(factors.factor), _finite(factors.control), warmup, _dependence(last)
    )


def _warmup(measurements: Sequence[Sequence[float]]) -> int:
    from perfvcs.statistics.changepoints.warmup import warmup

    if len(measurements) < CONVINCING or min(map(min, measurements)) <= 0:
        return 0
    seen = warmup(measurements)
    return int(np.median(seen.counts[seen.steady])) if seen.steady.sum() >= CONVINCING else 0


def _levels(sessions: Sequence[ExecutionRuns]) -> _Levels:
    from perfvcs.statistics.components import components

    columns: list[tuple[float, int, int, int]] = []
    positive = all(value > 0 for session in sessions for run in session.values() for value in run)
    for group, session in enumerate(sessions):
        centre = abs(np.mean([value for run in session.values() for value in run]))
        if not positive and not centre > 0:
            continue
        for (build, execution), run in session.items():
            columns += [
                (float(np.log(value) if positive else value / centre), execution, build, group)
                for value in run
            ]
    if not columns:
        return _Levels()
    values, execution_, build_, group_ = (np.array(column) for column in zip(*columns, strict=True))
    seen = components(values, execution_, build_, group_)
    parts = seen.separate()
    pooled = (
        (parts.within, seen.within_df),
        (parts.executions, seen.executions_df),
        (parts.binaries, seen.binaries_df),
    )
    return _Levels(*(_pool(*pair) for pair in pooled))


def _pool(variances: Floats, df: Floats) -> float | None:
    defined = np.isfinite(variances) & (df > 0)
    return (
        sqrt(float(np.average(variances[defined], weights=df[defined]))) if defined.any() else None
    )


def _impact(measurements: Sequence[Floats]) -> Impact:
    from perfvcs.statistics.runs import impact

    return impact(measurements, iterations=RESAMPLES)


def _dependence(measurements: Sequence[Floats]) -> float | None:
    """The mean autocorrelation at lag 1; None where no execution has enough measurements, or
    nothing varies.
    """
    from perfvcs.statistics.runs import autocorrelation

    seen = [
        autocorrelation(run[None, :], lags=1).coefficients[0, 1]
        for run in measurements
        if run.size >= FEWEST_IN_SERIES
    ]
    coefficients = [float(value) for value in seen if not isnan(value)]
    return float(np.mean(coefficients)) if coefficients else None


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
