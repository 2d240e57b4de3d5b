"""The contents of a heat map: names, and a grid of cells for each revision."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from perfvcs.drawing.bins import BinColumns
from perfvcs.drawing.heat.cells import HeatCells
from perfvcs.drawing.units import UnitRows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

By = Literal["time", "execution", "size"]


class Panel(NamedTuple):
    """One revision's part of a sheet, with a text for each column; an empty ``name`` where there is only one."""

    name: str
    columns: BinColumns
    cells: HeatCells
    headings: list[str]


@dataclass(frozen=True)
class Sheet:
    """One heat map, of one revision or two: rows have a name and a unit each, and panels the cells of them.

    ``own``: every row is coloured by its own range, for rows of different metrics. ``linked``: panels share one axis of columns.
    ``ticks``: what columns are called, where they are not the numbers of an axis in the columns' unit.
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


def limits(sheet: Sheet) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest mean of each row over all panels, of shape (rows,); NaN if it has no value."""
    import numpy as np

    means = np.concatenate([panel.cells.mean for panel in sheet.panels], axis=1)
    return np.fmin.reduce(means, axis=1), np.fmax.reduce(means, axis=1)


def chosen(sheet: Sheet, rows: NDArray[np.int64], notes: list[str]) -> Sheet:
    """Some of the rows, in this order."""
    panels = [
        panel._replace(cells=HeatCells(*(getattr(panel.cells, name)[rows] for name in ("mean", "low", "high", "count"))))
        for panel in sheet.panels
    ]
    places = rows.tolist()
    return replace(
        sheet, names=[sheet.names[row] for row in places], units=[sheet.units[row] for row in places], panels=panels, notes=notes
    )
