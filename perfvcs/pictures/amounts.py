"""The amounts of bars: rows grouped by a column, a number for each execution, and the centre of
these.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from perfvcs.check import Change
from perfvcs.pictures.bundle import UnitRows
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.pictures.sample import CENTRE_CONFIDENCE, FEWEST_FOR_INTERVAL, Centre, centre, stated
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.quantity import number
from perfvcs.text.words import metric_name

BarColumn = Literal["unit", "uid", "size", "execution", "session", "metric"]
Statistic = Literal["mean", "median", "sum", "min", "max"]
RANKED = ("unit", "uid", "metric")  # columns whose values have no order of their own
REST_BAR = ("rest",)  # what stands for all values that have no bar of their own


@dataclass(frozen=True)
class BarSide:
    """The rows of one revision, of the shape (rows,): ``place`` and ``part`` number the values of
    two columns.

    ``execution`` is an index into ``job``, which numbers the job of each execution.
    """

    place: Integers
    part: Integers
    execution: Integers
    values: Floats
    weight: Floats
    job: Integers

    def amounts(
        self, code: Integers, count: int, statistic: Statistic, *, own: bool = False
    ) -> Floats:
        """The statistic of the rows of each code in each execution, shape (codes, executions); NaN
        if there are none.

        A sum is 0 in an execution without rows of a code, where other executions of the same job
        have some, unless ``own``: each execution belongs to one code.
        """
        executions = len(self.job)
        cell = code * executions + self.execution
        total = count * executions
        shape = (count, executions)
        if statistic in ("sum", "mean"):
            totals = np.bincount(cell, self.values * self.weight, total).reshape(shape)
            if statistic == "mean":
                weight = np.bincount(cell, self.weight, total).reshape(shape)
                return np.asarray(totals / np.where(weight > 0, weight, np.nan))
            group = np.arange(executions) if own else self.job
            present = np.zeros((count, int(group.max()) + 1), dtype=bool)
            present[code, group[self.execution]] = True
            return np.where(present[:, group], totals, np.nan)
        ranked = self.values[np.lexsort((self.values, cell))]
        counts = np.bincount(cell, minlength=total)
        there = counts > 0
        many, start = counts[there], (np.cumsum(counts) - counts)[there]
        low, high = {"min": (0 * many, 0 * many), "max": (many - 1, many - 1)}.get(
            statistic, ((many - 1) // 2, many // 2)
        )
        middle: Floats = np.full(total, np.nan)
        middle[there] = ranked[start + low] / 2 + ranked[start + high] / 2
        return middle.reshape(shape)


@dataclass(frozen=True)
class BarAmounts:
    """Bars by their ``keys``, each side's ``centres`` (None if it has nothing) and how many
    ``rows`` are under each.

    Divided ones have ``parts``, and per side the means of these, of the shape (bars, parts).
    ``rest``: how many keys the last bar, and how many parts the last part, stand for. ``changes``
    are the verdicts on the bars of two revisions, None if there is none.
    """

    keys: list[Hashable]
    centres: list[list[Centre | None]]
    rows: list[list[int]]
    parts: list[Hashable]
    means: list[Floats]
    rest: tuple[int, int]
    changes: list[Change | None] = field(default_factory=list)

    def at(self, verdicts: Mapping[Hashable, Change | None]) -> BarAmounts:
        """The bars of two revisions at the levels that the verdicts state, as all of a page."""
        changes = [verdicts.get(key) for key in self.keys]
        sides = []
        for newer, side in enumerate(self.centres):
            levels = [stated(change, newer=bool(newer)) for change in changes]
            sides.append([bar and bar.at(level) for bar, level in zip(side, levels, strict=True)])
        return replace(self, centres=sides, changes=changes)


class _LargestOf(NamedTuple):
    """The sides with all but the largest values under one number, the values, and the rest."""

    sides: list[BarSide]
    keys: list[Hashable]
    more: int


def bars(
    sides: Sequence[Sequence[UnitRows]],
    by: BarColumn,
    stacked: BarColumn | None,
    statistic: Statistic,
    top: int,
    most: int,
) -> BarAmounts:
    """Rows of each side by a column, divided by another: ``top`` bars of ``most`` parts."""
    keys, parts = dict[Hashable, int](), dict[Hashable, int]()
    coded = [_side(pieces, by, stacked, keys, parts) for pieces in sides]
    shown = _largest(coded, "place", list(keys), by, statistic, top)
    divided = _largest(shown.sides, "part", list(parts), stacked, statistic, most)
    centres, means, rows = [], [], []
    for side in divided.sides:
        amounts = side.amounts(
            side.place, len(shown.keys), statistic, own=by in ("execution", "session")
        )
        if stacked is None:
            centres.append([centre(row[np.isfinite(row)]) for row in amounts])
        else:
            code = side.place * len(divided.keys) + side.part
            pieces = np.nan_to_num(
                side.amounts(code, len(shown.keys) * len(divided.keys), statistic)
            )
            pieces = pieces.reshape(len(shown.keys), len(divided.keys), -1)
            measured = np.isfinite(amounts)
            means.append(pieces.sum(axis=2) / np.maximum(measured.sum(axis=1), 1)[:, None])
            centres.append(
                [
                    _plain(total[there])
                    for total, there in zip(pieces.sum(axis=1), measured, strict=True)
                ]
            )
        rows.append(np.bincount(side.place, minlength=len(shown.keys)).tolist())
    return BarAmounts(
        shown.keys,
        centres,
        rows,
        divided.keys if stacked else [],
        means,
        (shown.more, divided.more),
    )


def _plain(values: Floats) -> Centre | None:
    """The arithmetic mean with Student's interval, to which parts add up; None for no value."""
    from perfvcs.statistics.difference import interval

    if not len(values):
        return None
    mean = interval(values[None], CENTRE_CONFIDENCE)
    few = len(values) < FEWEST_FOR_INTERVAL
    low, high = (None if few else float(end[0]) for end in (mean.low, mean.high))
    return Centre(float(mean.centre[0]), low, high, len(values))


def _side(
    pieces: Sequence[UnitRows],
    by: BarColumn,
    stacked: BarColumn | None,
    keys: dict[Hashable, int],
    parts: dict[Hashable, int],
) -> BarSide:
    """The rows of one revision; values that are new are added to ``keys`` and ``parts``."""
    executions, jobs = dict[Any, int](), dict[str, int]()
    columns: dict[str, list[Any]] = {
        name: [] for name in ("place", "part", "execution", "values", "weight")
    }
    for piece in pieces:
        numbers = np.array(
            [executions.setdefault(execution, len(executions)) for execution in piece.executions],
            dtype=np.int64,
        )
        columns["execution"].append(numbers[piece.execution])
        columns["place"].append(_coded(piece, by, keys))
        columns["part"].append(
            _coded(piece, stacked, parts)
            if stacked
            else np.zeros(len(piece.values), dtype=np.int64)
        )
        columns["values"].append(piece.values)
        columns["weight"].append(piece.weight)
    job = np.array(
        [jobs.setdefault(execution.job, len(jobs)) for execution in executions], dtype=np.int64
    )
    return BarSide(**{name: np.concatenate(column) for name, column in columns.items()}, job=job)


def _coded(rows: UnitRows, column: BarColumn, known_values: dict[Hashable, int]) -> Integers:
    """The number of each row's value of a column; ``known_values`` grows by new ones."""
    values: list[Hashable]
    match column:
        case "metric":
            values, code = [rows.metric], np.zeros(len(rows.values), dtype=np.int64)
        case "size":
            distinct, code = np.unique(rows.size, return_inverse=True)
            values = [None if np.isnan(size) else float(size) for size in distinct]
        case "execution" | "session":
            values = [
                execution.number + 1 if column == "execution" else execution.session
                for execution in rows.executions
            ]
            code = rows.execution
        case _:
            values = [unit if column == "unit" else unit.uid for unit in rows.units]
            code = rows.unit
    there, place = np.unique(code, return_inverse=True)
    numbers = [
        known_values.setdefault(values[number], len(known_values)) for number in there.tolist()
    ]
    return np.array(numbers, dtype=np.int64)[place]


def _largest(
    sides: list[BarSide],
    name: Literal["place", "part"],
    keys: list[Hashable],
    column: BarColumn | None,
    statistic: Statistic,
    most: int,
) -> _LargestOf:
    """The ``most`` values of a column with the largest amounts.

    They come by their amounts, the largest first, or in their own order.
    """
    if column is None:
        return _LargestOf(sides, keys, 0)
    size = np.zeros(len(keys))
    for side in sides:
        amounts = side.amounts(getattr(side, name), len(keys), statistic)
        with np.errstate(invalid="ignore"):
            mean = np.nansum(amounts, axis=1) / np.maximum(np.isfinite(amounts).sum(axis=1), 1)
        size = np.maximum(size, np.abs(mean))
    order = np.argsort(-size, kind="stable")
    largest = order if len(keys) <= most else order[: max(1, most - 1)]
    if column not in RANKED:
        largest = np.array(
            sorted(largest.tolist(), key=lambda place: _rank(keys[place])), dtype=np.intp
        )
    number = np.full(len(keys), len(largest), dtype=np.int64)
    number[largest] = np.arange(len(largest))
    shown = [keys[place] for place in largest.tolist()]
    more = len(keys) - len(largest)
    moved = [replace(side, **{name: number[getattr(side, name)]}) for side in sides]
    return _LargestOf(moved, [*shown, REST_BAR] if more else shown, more)


def _rank(key: Any) -> tuple[bool, Any]:
    return (key is None, 0.0 if key is None else key)


def text(key: Hashable, column: BarColumn, label: str, rest: int) -> str:
    """A value of a column, or the ``rest``, in words; without the ``label`` all have."""
    if key == REST_BAR:
        return f"{rest:,} other{'s together' if rest > 1 else ''}"
    match column:
        case "unit":
            assert isinstance(key, DrawnUnit)
            whole = key.title
            return whole.removeprefix(f"{label} · ") if label else whole
        case "size":
            return "no size" if key is None else f"size {number(float(str(key)))}"
        case "execution" | "session":
            return f"{column} {key}"
        case "metric":
            return metric_name(str(key))
        case _:
            return str(key)
