"""The rows behind headers and summaries, for methods that need more than a median per execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from perfvcs.profile import REPEATED, Profile, Resources
from perfvcs.profile.summary import PACE, Header, Measured
from perfvcs.profile.units import in_base_units
from perfvcs.profile.validity import MAX_INTEGER
from perfvcs.system.numeric import Floats, Integers, np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from perfvcs.check.case import Case


# numbers of executions within this range are grouped by a table, not by sorting
TABLE_RANGE = 1 << 20


class CasePoints(Struct, frozen=True, eq=False):
    """One side's rows of a case as columns: size (NaN without), value (finite), and the execution
    of each.

    Executions are numbered through all profiles of the side; with the case ``paired`` the same
    number is the same pair on both sides. ``builds`` says of each execution the number of its
    profile and of its build there; shape (executions, 2). ``weight`` is how many rows a value is
    the mean of; None: it is one row. ``turns`` is the place of each execution in its block, -1
    where it is unknown.
    """

    size: Floats
    value: Floats
    execution: Integers
    builds: Integers
    weight: Integers | None = None
    turns: Integers | None = None

    @property
    def executions(self) -> int:
        """How many there are."""
        return len(self.builds)


def points(case: Case) -> tuple[CasePoints, CasePoints]:
    """The rows of both sides over all sizes; with the case paired, of the executions that both
    have.

    For recorded calls, the first ones of each execution (a tenth, at most twenty) are cold and left
    out. Where the machine's pace was recorded beside them, they are as they would have been at the
    same pace throughout, unless the sides' paces differ by more than chance: then they may be the
    program's own doing.
    """
    from perfvcs.statistics.regression.condensed import warm
    from perfvcs.statistics.sessions import adjusted, far_apart

    tables = [
        [case.rows.table(measured, case.uid) for measured in side] for side in case.chosen.sides
    ]
    single = all((table.binary == table.binary[:1]).all() for side in tables for table in side)
    columns = []
    for number, side in enumerate(tables):
        for profile, table in enumerate(side):
            value = table.metrics.get(case.metric, np.full(len(table.size), np.nan))
            usable = np.isfinite(value)
            if case.calls:
                usable &= warm(table.iteration, _numbered_rows(table.binary, table.execution)[0])
            build = np.zeros_like(table.binary) if single else table.binary
            count = np.count_nonzero(usable)
            place = (
                np.full(count, number),
                np.full(count, profile),
                build[usable],
                table.execution[usable],
            )
            pace = table.metrics.get(PACE, np.full(len(table.size), np.nan))
            columns.append((*place, table.size[usable], value[usable], pace[usable]))
    sided, profiles, builds, executions, size, value, pace = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    code, keys = _numbered_rows(profiles, builds, executions)
    if ((pace > 0) & (pace < np.inf)).all() and not far_apart(*_levels(pace, sided, code)):
        value = adjusted(value, pace, _cells(sided, size), code)
    on = np.zeros((2, len(keys)), dtype=bool)
    on[sided, code] = True
    sides = []
    for number in (0, 1):
        counted = on[0] & on[1] if case.chosen.paired else on[number]
        rows = (sided == number) & counted[code]
        numbers = np.cumsum(counted) - 1
        turns = None
        if case.chosen.paired:
            turns = _turns(case.chosen.sides[number], tables[number], keys[counted], single=single)
        sides.append(
            CasePoints(size[rows], value[rows], numbers[code[rows]], keys[counted, :2], turns=turns)
        )
    return sides[0], sides[1]


def _turns(
    measured: Sequence[Measured], tables: Sequence[UnitTable], executions: Integers, *, single: bool
) -> Integers:
    """The place in its block of each execution, as profile, build (0 where there is a ``single``
    one) and number; -1 where unknown.
    """
    places = []
    for profile, build, number in executions.tolist():
        binary = tables[profile].binary
        numbered = int(binary[0]) if single and len(binary) else build
        places.append(measured[profile].turns.get((numbered, number), -1))
    return np.array(places, dtype=np.int64)


def _levels(pace: Floats, sided: Integers, execution: Integers) -> tuple[list[float], list[float]]:
    """The mean logarithm of the pace in each execution of either side."""
    log, sides = np.log(pace), []
    for number in (0, 1):
        rows = sided == number
        count = np.bincount(execution[rows])
        sides.append(
            (np.bincount(execution[rows], log[rows])[count > 0] / count[count > 0]).tolist()
        )
    return sides[0], sides[1]


def _cells(sided: Integers, size: Floats) -> Integers:
    """A number for each side and quarter of a doubling of the size."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quarter = np.nan_to_num(np.round(4 * np.log2(np.abs(size))), nan=-5000.0, neginf=-5001.0)
    return np.asarray(2 * quarter + sided, dtype=np.int64)


def _numbered_rows(*columns: Integers) -> tuple[Integers, Integers]:
    """The number of each row's key among the distinct keys in rising order, and these keys; (rows,)
    and (keys, columns).
    """
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if (column == column[:1]).all():  # distinguishes nothing
            continue
        distinct, part = _ranked(column)
        _, code = _ranked(code * max(1, len(distinct)) + part)
    first = np.zeros(int(code.max(initial=-1)) + 1, dtype=np.int64)
    first[code] = np.arange(len(code))
    return code, np.stack(columns, axis=1)[first]


def _ranked(column: Integers) -> tuple[Integers, Integers]:
    """The distinct values in rising order, and the place of each row's value among them; without
    sorting small numbers.
    """
    least, most = int(column.min(initial=MAX_INTEGER)), int(column.max(initial=0))
    if len(column) == 0 or most - least > TABLE_RANGE:
        distinct, place = np.unique(column, return_inverse=True)
        return distinct, place.astype(np.int64)
    there = np.zeros(most - least + 1, dtype=bool)
    there[column - least] = True
    places = np.cumsum(there) - 1
    return np.flatnonzero(there) + least, places[column - least]


class UnitTable(Struct, frozen=True):
    """The rows of one unit in one profile, in their order; columns of equal length.

    ``size`` and the metrics are NaN where a row has none; units have no prefix. Rows whose
    execution was repeated are left out.
    """

    size: Floats
    binary: Integers
    execution: Integers
    iteration: Integers
    metrics: dict[str, Floats]


class ProfileRows:
    """Opens profiles, each once, and hands out their rows unit by unit.

    ``given`` are profiles that are in memory, by the id of their ``Measured``; ``read`` gets the
    others from their headers. Where neither has it, its summaries serve as rows, one per execution.
    """

    def __init__(
        self,
        given: Mapping[int, Profile] | None = None,
        read: Callable[[Sequence[Header]], Sequence[Profile]] | None = None,
    ) -> None:
        self._given = dict(given or {})
        self._read = read
        self._opened: dict[int, _Opened] = {}

    def prepare(self, wanted: Iterable[Measured]) -> None:
        """Read what will be asked for in one go."""
        missing = {
            id(measured): measured
            for measured in wanted
            if id(measured) not in self._given and measured.header.path
        }
        if missing and self._read:
            profiles = self._read([measured.header for measured in missing.values()])
            self._given |= zip(missing, profiles, strict=True)

    def table(self, measured: Measured, uid: str) -> UnitTable:
        """The rows of a unit; none where the profile has no such unit."""
        return self._open(measured).unit(uid)

    def units(self, measured: Measured) -> list[str]:
        """The units of a profile, in its order."""
        return self._open(measured).units

    def _open(self, measured: Measured) -> _Opened:
        if id(measured) not in self._opened:
            self.prepare([measured])
            profile = self._given.get(id(measured))
            self._opened[id(measured)] = (
                _Opened(profile) if profile else _Opened.summarised(measured)
            )
        return self._opened[id(measured)]


class _Opened:
    """The columns of a profile as arrays, sorted by unit."""

    def __init__(self, profile: Profile) -> None:
        rows = in_base_units(profile).resources
        codes = np.array(rows.uid, dtype=np.int64)
        used = np.flatnonzero(np.array(rows.integers("mark"), dtype=np.int64) != REPEATED)
        self._order = used[np.argsort(codes[used], kind="stable")]
        self._codes = codes[self._order]
        self._numbers = {name: number for number, name in enumerate(rows.names)}
        self._columns = {
            name: np.array(rows.integers(name), dtype=np.int64)
            for name in ("binary", "execution", "iteration")
        }
        self._size = rows.array("size") if rows.size is not None else np.full(len(rows), np.nan)
        self._metrics = {name: rows.array(name) for name in rows.metrics}

    @classmethod
    def summarised(cls, measured: Measured) -> _Opened:
        """The summaries in place of rows: a row per execution and metric."""
        rows = Resources(
            names=list(dict.fromkeys(summary.uid for summary in measured.summaries)),
            size=[],
            binary=[],
        )
        rows.metrics = {name: [] for name in measured.header.metrics}
        numbers = {name: number for number, name in enumerate(rows.names)}
        assert rows.size is not None
        assert rows.binary is not None
        for summary in measured.summaries:
            for (binary, execution), value in zip(summary.places, summary.medians, strict=True):
                rows.uid.append(numbers[summary.uid])
                rows.execution.append(execution)
                rows.binary.append(binary)
                rows.size.append(summary.size)
                for name, column in rows.metrics.items():
                    column.append(value if name == summary.metric else None)
        header = measured.header
        return cls(
            Profile(
                commit=header.commit,
                job=header.job,
                collected=header.collected,
                metrics=header.metrics,
                resources=rows,
            )
        )

    @property
    def units(self) -> list[str]:
        return list(self._numbers)

    def unit(self, uid: str) -> UnitTable:
        number = self._numbers.get(uid, -1)
        start, end = np.searchsorted(self._codes, [number, number + 1])
        chosen = self._order[start:end]
        binary, execution, iteration = (
            self._columns[name][chosen] for name in ("binary", "execution", "iteration")
        )
        return UnitTable(
            self._size[chosen],
            binary,
            execution,
            iteration,
            {name: column[chosen] for name, column in self._metrics.items()},
        )
