"""The contents of a heat map: names, and a grid of cells for each revision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from perfvcs.pictures.bundle import UnitRows
from perfvcs.pictures.canvas import plain
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.pictures.sample import BinColumns, numbered
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.quantity import number
from perfvcs.text.words import metric_name

By = Literal["time", "execution", "size"]
TICKS = 6  # sizes that are named


@dataclass(frozen=True)
class HeatCells:
    """Mean, lowest and highest value, and number of values of each cell, all of shape (rows,
    columns).

    A cell without a value has NaN, and a ``count`` of 0.
    """

    mean: Floats
    low: Floats
    high: Floats
    count: Integers


def cells(row: Integers, column: Integers, values: Floats, shape: tuple[int, int]) -> HeatCells:
    """The cells of values; ``row`` and ``column`` say where each falls, all of shape (values,)."""
    size = shape[0] * shape[1]
    place = row * shape[1] + column
    count = np.bincount(place, minlength=size)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, place, values)
    np.maximum.at(high, place, values)
    there = count > 0
    # the sum of numbers near the largest float is none
    largest = np.abs(values).max(initial=0.0) or 1.0
    sums = np.bincount(place, weights=values / largest, minlength=size)
    mean = np.where(there, np.clip(sums / np.maximum(count, 1) * largest, low, high), np.nan)
    least, most = (np.where(there, end, np.nan).reshape(shape) for end in (low, high))
    return HeatCells(mean.reshape(shape), least, most, count.reshape(shape).astype(np.int64))


class Panel(NamedTuple):
    """One revision's part of a sheet, with a text for each column; ``name``: empty of one alone."""

    name: str
    columns: BinColumns
    cells: HeatCells
    headings: list[str]


@dataclass(frozen=True)
class Sheet:
    """One heat map, of one revision or two: rows have a name and a unit each, and panels the cells
    of them.

    ``own``: every row is coloured by its own range, for rows of different metrics. ``linked``:
    panels share one axis of columns. ``ticks``: what columns are called, where they are not the
    numbers of an axis in the columns' unit.
    """

    title: str
    x: str
    y: str
    names: list[str]
    units: list[str]
    panels: list[Panel]
    own: bool = False
    notes: list[str] = field(default_factory=list)
    ticks: dict[float, str] = field(default_factory=dict)
    linked: bool = True


class HeatSide(NamedTuple):
    """The rows of one revision, one entry per metric."""

    name: str
    rows: list[UnitRows]


def limits(sheet: Sheet) -> tuple[Floats, Floats]:
    """Lowest and highest mean of each row over all panels, (rows,); NaN without a value."""
    means = np.concatenate([panel.cells.mean for panel in sheet.panels], axis=1)
    return np.fmin.reduce(means, axis=1), np.fmax.reduce(means, axis=1)


def chosen(sheet: Sheet, rows: Integers, notes: list[str]) -> Sheet:
    """Some of the rows, in this order."""
    panels = []
    for panel in sheet.panels:
        cells = panel.cells
        picked = HeatCells(cells.mean[rows], cells.low[rows], cells.high[rows], cells.count[rows])
        panels.append(panel._replace(cells=picked))
    places = rows.tolist()
    return replace(
        sheet,
        names=[sheet.names[row] for row in places],
        units=[sheet.units[row] for row in places],
        panels=panels,
        notes=notes,
    )


def measurements(sides: list[HeatSide], by: By, most: tuple[int, int]) -> Iterator[Sheet]:
    """One metric's values of each unit, a row per execution, in their order or by size."""
    for unit in dict.fromkeys(
        _unit(drawn_unit, by) for side in sides for rows in side.rows for drawn_unit in rows.units
    ):
        yield _unit_sheet(
            unit, [side._replace(rows=[_of(side.rows[0], unit, by)]) for side in sides], by, most
        )


def _unit(unit: DrawnUnit, by: By) -> DrawnUnit:
    """The key of a sheet; over sizes, the sizes are not part of it."""
    return unit._replace(size=None) if by == "size" else unit


def _of(rows: UnitRows, unit: DrawnUnit, by: By) -> UnitRows:
    wanted = np.array([_unit(drawn_unit, by) == unit for drawn_unit in rows.units])[rows.unit]
    return rows.keep(wanted & np.isfinite(rows.size) if by == "size" else wanted)


def _unit_sheet(unit: DrawnUnit, sides: list[HeatSide], by: By, most: tuple[int, int]) -> Sheet:
    rows_of_sides = [side.rows[0] for side in sides]
    sizes = (
        np.unique(np.concatenate([rows.size for rows in rows_of_sides])) if by == "size" else None
    )
    numbers = [
        rows.iteration if sizes is None else np.searchsorted(sizes, rows.size)
        for rows in rows_of_sides
    ]
    columns = numbered(numbers, most[1])
    executions = max(len(rows.executions) for rows in rows_of_sides)
    step = -(-executions // most[0])
    count = -(-executions // step)
    panels = [
        Panel(
            side.name,
            replace(bins, edges=bins.edges + (sizes is None) / 2),
            cells(rows.execution // step, bins.place(place), rows.values, (count, bins.count)),
            _numbers(bins, sizes),
        )
        for side, rows, bins, place in zip(sides, rows_of_sides, columns, numbers, strict=True)
    ]
    names = [
        f"{step * row + 1:,}" + (f" to {min(step * row + step, executions):,}" if step > 1 else "")
        for row in range(count)
    ]
    wide, what = columns[0].step, "measurement" if sizes is None else "size"
    title = f"{plain(unit.title)} · {plain(metric_name(rows_of_sides[-1].metric))}"
    notes = [f"{wide:,} {what}s to a cell"] if wide > 1 else []
    units = [rows_of_sides[-1].meaning.unit] * count
    return Sheet(
        title,
        what,
        "execution",
        names,
        units,
        panels,
        notes=notes,
        ticks={} if sizes is None else _ticks(sizes),
    )


def _numbers(columns: BinColumns, sizes: Floats | None) -> list[str]:
    """The labels of the columns of measurements or sizes."""
    labels = []
    for start in range(columns.first, columns.first + columns.step * columns.count, columns.step):
        ends = [start, start + columns.step - 1][: columns.step]
        if sizes is not None:
            ends = [min(end, len(sizes) - 1) for end in ends]
        texts = dict.fromkeys(
            f"{end + 1:,}" if sizes is None else number(float(sizes[end])) for end in ends
        )
        labels.append(f"{'measurement' if sizes is None else 'size'} {' to '.join(texts)}")
    return labels


def _ticks(sizes: Floats) -> dict[float, str]:
    """Some of the sizes at the middle of their columns."""
    places = np.unique(np.linspace(0, len(sizes) - 1, min(TICKS, len(sizes))).astype(np.int64))
    return {
        place + 0.5: number(size)
        for place, size in zip(places.tolist(), sizes[places].tolist(), strict=True)
    }
