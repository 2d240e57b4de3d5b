"""A curve as its executions repeat it: of each, how far it lies above the common curve, and how
that grows with the size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from perfvcs.system.numeric import Flags, Floats, Indices, Integers, np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perfvcs.check.curves.sides import Sides
    from perfvcs.check.rows import CasePoints
    from perfvcs.statistics.regression.models import Fit


FEWEST_SIZES = 3
# of either side's rows at sizes that half of the executions of both sides have: the others are left
# out
COMMON_SHARE = 0.8
TENTH = 10
KNOTS = 6  # of the common curve where the executions had sizes of their own
DISTANCE_ROUNDING = 1e-13  # a distance below this share of the values is their rounding
# As a share of a curve's mean distance from 0: where it comes nearer, its own distance is not a
# useful scale.
LEAST_DISTANCE = 0.1


class ExpectedRows(NamedTuple):
    """Sizes, values and executions of rows, the values that the common curve expects, and what a
    share of them is of.
    """

    size: Floats
    value: Floats
    execution: Integers
    level: Floats
    share: Floats


class ExecutionLines(Struct, frozen=True, eq=False):
    """The lines of both sides' executions, or of builds where they were repeated; shape
    (executions, 4).

    A line is the distance from the common curve over the size (its logarithm where all sizes are
    above 0): of logarithms where ``logarithmic``, else in shares of how far the common curve is
    from 0, at least a tenth of what it is on average. Its columns: the offset at the centre of the
    sizes, the slope, and the mean distances at both ends as they were, whatever the line says: over
    the sizes up to ``ends[0]``, a tenth of them and of the values at least, and over those from
    ``ends[1]``. ``rows`` are those of either side that count; ``members`` the numbers of the
    executions that do, and ``groups`` the profile and build of each. ``later`` says of each pair
    whether the target was measured after the baseline; None where that is not known of all.
    """

    first: Floats
    second: Floats
    ends: tuple[float, float]
    logarithmic: bool
    builds: bool
    rows: tuple[ExpectedRows, ExpectedRows]
    members: tuple[Indices, Indices]
    groups: tuple[Integers, Integers]
    later: Flags | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """How many there are a side."""
        return len(self.first), len(self.second)


def lines(sides: Sides) -> ExecutionLines | None:
    """The lines of a case; None where a side has fewer than three sizes in common, or in each
    execution.

    Executions with fewer than three rows, or with one size, are left out, in pairs where the case
    is paired.
    """
    points = sides.baseline, sides.target
    z = [_along(side, sides.low) for side in points]
    logarithmic = all(float(side.value.min()) > 0 for side in points)
    values = [np.log(side.value) if logarithmic else side.value for side in points]
    expected = _expected(points, z, values)
    if expected is None:
        return None
    finite = [np.isfinite(part) for part in expected]
    shares = [np.exp(part) for part in expected] if logarithmic else _shares(expected, finite)
    centre = float(
        np.concatenate([part[here] for part, here in zip(z, finite, strict=True)]).mean()
    )
    ends = _ends(points, finite)
    distances = []
    for side, along, value, level, share, here in zip(
        points, z, values, expected, shares, finite, strict=True
    ):
        away = (value - level)[here] / (1.0 if logarithmic else share[here])
        away[np.abs(away) <= DISTANCE_ROUNDING * max(1.0, float(np.abs(value).max()))] = 0.0
        line = _lines(along[here] - centre, away, side.execution[here], side.executions)
        tails = side.size[here] <= ends[0], side.size[here] >= ends[1]
        distances.append(_with_ends(line, along[here] - centre, away, side.execution[here], tails))
    groups = points[0].builds, points[1].builds
    usable = [np.isfinite(part).all(axis=1) for part in distances]
    if sides.case.chosen.paired:
        usable = [usable[0] & usable[1]] * 2
    if not all(part.any() for part in usable):
        return None
    several = any(
        (group[:, 1] != group[0, 1]).any()
        and len(np.unique(group, axis=0)) > len(np.unique(group[:, 0]))
        for group in groups
    )
    members = np.flatnonzero(usable[0]), np.flatnonzero(usable[1])
    both = groups[0][members[0]], groups[1][members[1]]
    counted = [
        _counted(part[here], group, builds=several)
        for part, here, group in zip(distances, members, both, strict=True)
    ]
    rows = [
        ExpectedRows(
            side.size[here],
            side.value[here],
            side.execution[here],
            (share if logarithmic else level)[here],
            share[here],
        )
        for side, level, share, here in zip(points, expected, shares, finite, strict=True)
    ]
    later = _later(sides, members) if sides.case.chosen.paired and not several else None
    return ExecutionLines(
        first=counted[0],
        second=counted[1],
        ends=ends,
        logarithmic=logarithmic,
        builds=several,
        rows=(rows[0], rows[1]),
        members=members,
        groups=both,
        later=later,
    )


def _later(sides: Sides, members: tuple[Indices, Indices]) -> Flags | None:
    """For each pair, whether the target came after the baseline; None if that is not known for
    all.
    """
    first, second = sides.baseline.turns, sides.target.turns
    if first is None or second is None:
        return None
    before, after = first[members[0]], second[members[1]]
    in_order = ((before >= 0) & (after >= 0) & (before != after)).all()
    return after > before if in_order else None


def coefficients(lines: ExecutionLines, kind: str, *, through: bool) -> tuple[Floats, Floats]:
    """The size of an error of that kind against the common curve, for each execution or build.

    ``through`` 0 where the kind's function is 0, else with an offset. Least squares with weights 1
    / share^2. NaN where unknown.
    """
    from perfvcs.statistics.regression.fitting import fit
    from perfvcs.statistics.regression.models import transform

    if kind != "constant" and through:
        return along(lines, lambda size: transform(kind, size))
    sides = []
    for (size, value, execution, level, share), members, groups in zip(
        lines.rows, lines.members, lines.groups, strict=True
    ):
        count = int(execution.max(initial=0)) + 1
        model: Fit = fit(size, value - level, execution, 1 / share**2, groups=count, models=[kind])[
            kind
        ]
        every = model.coefficients[:, 0 if kind == "constant" else 1]
        sides.append(_counted(every[members, None], groups, builds=lines.builds)[:, 0])
    return sides[0], sides[1]


def along(lines: ExecutionLines, error: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """For each execution or build, how many times an error (a value at each size) it lies above the
    common curve; weights as there.
    """
    sides = []
    for (size, value, execution, level, share), members, groups in zip(
        lines.rows, lines.members, lines.groups, strict=True
    ):
        f, weights, count = error(size), 1 / share**2, int(execution.max(initial=0)) + 1
        length = np.bincount(execution, weights * f * f, count)
        above = np.bincount(execution, weights * f * (value - level), count)
        every = np.where(length > 0, above / np.where(length > 0, length, 1.0), np.nan)
        sides.append(_counted(every[members, None], groups, builds=lines.builds)[:, 0])
    return sides[0], sides[1]


def _shares(expected: tuple[Floats, Floats], finite: Sequence[Flags]) -> list[Floats]:
    """How far the common curve is from 0 at each row, where all of it is above 0; else at least a
    share of what it is on average.
    """
    every = np.concatenate([level[here] for level, here in zip(expected, finite, strict=True)])
    least = 0.0 if (every > 0).all() else LEAST_DISTANCE * float(np.abs(every).mean()) or 1.0
    return [np.maximum(np.abs(level), least) for level in expected]


def _ends(points: tuple[CasePoints, CasePoints], finite: Sequence[Flags]) -> tuple[float, float]:
    """Up to which size, and from which on, a tenth of the sizes lies, and of the values: a tenth of
    the sizes may hold few of these.
    """
    size = np.concatenate([side.size[here] for side, here in zip(points, finite, strict=True)])
    weights = [np.ones(len(side.size)) if side.weight is None else side.weight for side in points]
    distinct, place = np.unique(size, return_inverse=True)
    count = np.bincount(
        place, np.concatenate([weight[here] for weight, here in zip(weights, finite, strict=True)])
    )
    tenth = max(1, len(distinct) // TENTH)
    # so many sizes have, where all are as frequent
    enough = count.sum() * tenth / max(len(distinct), tenth * TENTH)
    low, high = (
        max(tenth - 1, int(np.searchsorted(np.cumsum(counts), enough)))
        for counts in (count, count[::-1])
    )
    return float(distinct[low]), float(distinct[-1 - high])


def _along(side: CasePoints, low: float) -> Floats:
    return np.log(side.size) if low > 0 else side.size


def _expected(
    points: tuple[CasePoints, CasePoints], z: list[Floats], values: list[Floats]
) -> tuple[Floats, Floats] | None:
    """The common curve at each row of either side, NaN for rows that do not count; None where there
    are too few sizes.

    Where the executions had the same sizes it is the middle of both sides' means at each; else a
    smooth curve, since the mean of a few rows would follow each of them.
    """
    distinct, place = np.unique(np.concatenate([side.size for side in points]), return_inverse=True)
    split = len(points[0].size)
    places = place[:split], place[split:]
    rows = np.stack([np.bincount(part, minlength=len(distinct)) for part in places])
    both = rows.min(axis=0) > 0
    common = (rows >= np.array([[side.executions / 2] for side in points])).all(axis=0) & both
    if all(common[part].sum() >= COMMON_SHARE * len(part) for part in places):
        if common.sum() < FEWEST_SIZES:
            return None
        sums = [
            np.bincount(part, value, len(distinct))
            for part, value in zip(places, values, strict=True)
        ]
        level = np.where(
            common,
            sum(total / np.maximum(count, 1) for total, count in zip(sums, rows, strict=True)) / 2,
            np.nan,
        )
        return level[places[0]], level[places[1]]
    if min((count > 0).sum() for count in rows) < FEWEST_SIZES:
        return None
    return _smooth(z, values)


def _smooth(z: list[Floats], values: list[Floats]) -> tuple[Floats, Floats]:
    """A curve of straight pieces through both sides, each side with a level and a tilt of its own;
    the middle of the two.
    """
    along, value = np.concatenate(z), np.concatenate(values)
    target = np.repeat([-0.5, 0.5], [len(part) for part in z])
    low, high = along.min(), along.max()
    x = (along - low) / ((high - low) or 1.0)
    inner = np.unique(np.quantile(x, np.linspace(0, 1, KNOTS + 2)[1:-1]))
    basis = np.stack(
        [
            np.ones(len(x)),
            x,
            *(np.maximum(x - knot, 0.0) for knot in inner[(inner > 0) & (inner < 1)]),
        ],
        axis=1,
    )
    columns = np.concatenate([basis, target[:, None], (target * x)[:, None]], axis=1)
    solution = np.linalg.lstsq(columns, value, rcond=None)[0]
    curve = basis @ solution[: basis.shape[1]]
    return curve[: len(z[0])], curve[len(z[0]) :]


def _lines(z: Floats, away: Floats, execution: Integers, count: int) -> Floats:
    """Offset at z = 0 and slope of each execution by least squares; NaN for fewer than three rows
    or one size.
    """
    n = np.bincount(execution, minlength=count)
    some = np.maximum(n, 1)
    middle, mean = (
        np.bincount(execution, z, count) / some,
        np.bincount(execution, away, count) / some,
    )
    apart = z - middle[execution]
    spread = np.bincount(execution, apart * apart, count)
    able = (n >= FEWEST_SIZES) & (spread > 1e-12 * np.maximum(middle**2, 1e-300) * some)
    slope = np.bincount(execution, apart * (away - mean[execution]), count) / np.where(
        able, spread, 1.0
    )
    return np.where(able[:, None], np.stack([mean - slope * middle, slope], axis=1), np.nan)


def _with_ends(
    line: Floats, z: Floats, away: Floats, execution: Integers, tails: tuple[Flags, Flags]
) -> Floats:
    """The lines, and of each execution the mean distance over the smallest and the largest sizes;
    by the line where it has none there.
    """
    columns = [line]
    for tail in tails:
        count = np.bincount(execution[tail], minlength=len(line))
        mean = np.bincount(execution[tail], away[tail], len(line)) / np.maximum(count, 1)
        end = float(z[tail].mean()) if tail.any() else 0.0
        columns.append(np.where(count > 0, mean, line[:, 0] + line[:, 1] * end)[:, None])
    return np.concatenate(columns, axis=1)


def _counted(values: Floats, groups: Integers, *, builds: bool) -> Floats:
    """What counts of values (executions, n): they themselves, or the mean of each build, in the
    order of profiles and builds.
    """
    if not builds:
        return values
    _, place = np.unique(groups, axis=0, return_inverse=True)
    where = place.reshape(-1)
    return np.stack(
        [np.bincount(where, column) / np.bincount(where) for column in values.T], axis=1
    )
