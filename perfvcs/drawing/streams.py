"""A metric over time: each unit's part of it, and what all have together, with its interval over the executions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.drawing.centre import CENTRE_CONFIDENCE
from perfvcs.drawing.parts import DrawnUnit
from perfvcs.drawing.units import UnitRows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.drawing.bins import BinColumns
    from perfvcs.statistics.interval import Interval

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """One side: ``x`` is the middle of each bin, in ``unit`` (s, or empty for the number of a measurement), of the shape (bins,).

    ``parts`` are the means of ``units``, the largest first, of the shape (units, bins); where ``more`` is not 0 a last one is that of so
    many others. ``mean`` is that of all together, ``low``..``high`` its 99 % interval at each point by itself, NaN below two of the
    ``count`` executions that have one; ``rows`` are as many as went in.
    """

    x: Floats
    unit: str
    units: tuple[DrawnUnit, ...]
    parts: Floats
    more: int
    mean: Floats
    low: Floats
    high: Floats
    count: NDArray[np.int64]
    step: int
    rows: int


def stream(rows: UnitRows, columns: BinColumns, top: int) -> Stream:
    """The course of a side in its ``columns``, with the ``top`` units that have most."""
    import numpy as np

    weights = np.bincount(rows.unit, np.abs(rows.values) / _largest(rows), len(rows.units))
    order = np.argsort(-weights, kind="stable")
    order = order[np.isin(order, rows.unit)]
    kept = order if len(order) <= top else order[: max(1, top - 1)]
    code = np.full(len(rows.units), len(kept), dtype=np.int64)
    code[kept] = np.arange(len(kept))
    more = len(order) - len(kept)
    amounts, there = _amounts(rows, columns, code[rows.unit], len(kept) + bool(more))
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = amounts.sum(axis=1) / there.sum(axis=0)
    whole = _interval(np.where(there, amounts.sum(axis=0), np.nan))
    known = there.any(axis=0)
    x = ((columns.edges[1:] + columns.edges[:-1]) / 2 if columns.step > 1 or columns.unit else columns.edges[:-1])[known]
    units = tuple(rows.units[place] for place in kept.tolist())
    return Stream(
        x, columns.unit, units, parts[:, known], more, whole.centre[known], whole.low[known], whole.high[known],
        there.sum(axis=0)[known], columns.step, len(rows.values),
    )  # fmt: skip


def _largest(rows: UnitRows) -> float:
    import numpy as np

    return float(np.abs(rows.values).max()) or 1.0


def _amounts(rows: UnitRows, columns: BinColumns, code: NDArray[np.int64], count: int) -> tuple[Floats, NDArray[np.bool_]]:
    """What each part has on average over the moments of a bin, in each execution, and in which bins an execution has any.

    Of the shapes (parts, executions, bins) and (executions, bins). A part without a row at a moment has 0 there.
    """
    import numpy as np

    shape = len(rows.executions), columns.count
    distinct, rank = np.unique(rows.iteration, return_inverse=True)
    moments = np.unique(rows.execution * len(distinct) + rank)
    execution, moment = np.divmod(moments, len(distinct))
    times = np.bincount(execution * shape[1] + columns.place(distinct)[moment], minlength=shape[0] * shape[1]).reshape(shape)
    cell = (code * shape[0] + rows.execution) * shape[1] + columns.place(rows.iteration)
    sums = np.bincount(cell, rows.values / _largest(rows), count * shape[0] * shape[1]).reshape(count, *shape)
    return sums / np.maximum(times, 1) * _largest(rows), times > 0


def _interval(values: Floats) -> Interval:
    """Mean and 99 % interval of each column over the rows that are not NaN, by Student's t; NaN if it has fewer than two."""
    import numpy as np

    from perfvcs.statistics.interval import Interval
    from perfvcs.statistics.student import quantile

    count = np.isfinite(values).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(values, axis=0) / count
        variance = np.nansum((values - mean) ** 2, axis=0) / (count - 1)
        half = quantile((1 + CENTRE_CONFIDENCE) / 2, np.maximum(count - 1, 1)) * np.sqrt(variance / count)
    half = np.where(count > 1, half, np.nan)
    return Interval(mean, mean - half, mean + half)
