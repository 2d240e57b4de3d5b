"""Heat maps of measurements: a row per execution, by their order or by the size of what was worked on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from perfvcs.drawing.bins import BinColumns, numbered
from perfvcs.drawing.canvas import plain
from perfvcs.drawing.heat.cells import cells
from perfvcs.drawing.heat.sheet import By, HeatSide, Panel, Sheet
from perfvcs.drawing.parts import DrawnUnit
from perfvcs.drawing.units import UnitRows
from perfvcs.text.quantity import number
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TICKS = 6  # sizes that are named


def measurements(sides: list[HeatSide], by: By, most: tuple[int, int]) -> Iterator[Sheet]:
    """One metric's values of each unit, a row per execution, in their order or by size."""
    for unit in dict.fromkeys(_unit(one, by) for side in sides for rows in side.rows for one in rows.units):
        yield _unit_sheet(unit, [side._replace(rows=[_of(side.rows[0], unit, by)]) for side in sides], by, most)


def _unit(unit: DrawnUnit, by: By) -> DrawnUnit:
    """The key of a sheet; over sizes, the sizes are not part of it."""
    return unit._replace(size=None) if by == "size" else unit


def _of(rows: UnitRows, unit: DrawnUnit, by: By) -> UnitRows:
    """The rows of one unit."""
    import numpy as np

    wanted = np.array([_unit(one, by) == unit for one in rows.units])[rows.unit]
    return rows.keep(wanted & np.isfinite(rows.size) if by == "size" else wanted)


def _unit_sheet(unit: DrawnUnit, sides: list[HeatSide], by: By, most: tuple[int, int]) -> Sheet:
    import numpy as np

    found = [side.rows[0] for side in sides]
    sizes = np.unique(np.concatenate([rows.size for rows in found])) if by == "size" else None
    numbers = [rows.iteration if sizes is None else np.searchsorted(sizes, rows.size) for rows in found]
    columns = numbered(numbers, most[1])
    executions = max(len(rows.executions) for rows in found)
    step = -(-executions // most[0])
    count = -(-executions // step)
    panels = [
        Panel(
            side.name, replace(own, edges=own.edges + (sizes is None) / 2),
            cells(rows.execution // step, own.place(place), rows.values, (count, own.count)), _numbers(own, sizes),
        )
        for side, rows, own, place in zip(sides, found, columns, numbers, strict=True)
    ]  # fmt: skip
    names = [f"{step * row + 1:,}" + (f" to {min(step * row + step, executions):,}" if step > 1 else "") for row in range(count)]
    wide, what = columns[0].step, "measurement" if sizes is None else "size"
    title = f"{plain(unit.title)} · {plain(metric_name(found[-1].metric))}"
    notes = [f"{wide:,} {what}s to a cell"] if wide > 1 else []
    units = [found[-1].meaning.unit] * count
    return Sheet(title, what, "execution", names, units, panels, notes=notes, ticks={} if sizes is None else _ticks(sizes))


def _numbers(columns: BinColumns, sizes: NDArray[np.float64] | None) -> list[str]:
    """The labels of the columns of measurements or sizes."""
    found = []
    for start in range(columns.first, columns.first + columns.step * columns.count, columns.step):
        ends = [start, start + columns.step - 1][: columns.step]
        if sizes is not None:
            ends = [min(end, len(sizes) - 1) for end in ends]
        texts = dict.fromkeys(f"{end + 1:,}" if sizes is None else number(float(sizes[end])) for end in ends)
        found.append(f"{'measurement' if sizes is None else 'size'} {' to '.join(texts)}")
    return found


def _ticks(sizes: NDArray[np.float64]) -> dict[float, str]:
    """Some of the sizes at the middle of their columns."""
    import numpy as np

    places = np.unique(np.linspace(0, len(sizes) - 1, min(TICKS, len(sizes))).astype(np.int64))
    return {place + 0.5: number(size) for place, size in zip(places.tolist(), sizes[places].tolist(), strict=True)}
