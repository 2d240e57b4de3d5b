"""A metric over time: each unit's part of it, as an area or as a heat map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from perfvcs.pictures.bundle import UnitRows
from perfvcs.pictures.canvas import plain
from perfvcs.pictures.heat import HeatSide, Panel, Sheet, cells, chosen, limits
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.pictures.sample import (
    CENTRE_CONFIDENCE,
    FEWEST_FOR_INTERVAL,
    BinColumns,
    numbered,
    seconds,
)
from perfvcs.profile.summary import SAMPLER
from perfvcs.system.numeric import Flags, Floats, Integers, np
from perfvcs.text.quantity import span
from perfvcs.text.words import metric_name, plural

if TYPE_CHECKING:
    from perfvcs.statistics.difference import Interval


MOST_NAMED_COUNTERS = 4  # counters that are left out
OWN_AXES_RATIO = 5  # times as long as the other revision, from which the two have axes of their own


@dataclass(frozen=True)
class Stream:
    """One side: ``x`` is the middle of each bin, in ``unit`` (s, or empty for the number of a
    measurement), of the shape (bins,).

    ``parts`` are the means of ``units``, the largest first, of the shape (units, bins); where
    ``more`` is not 0 a last one is that of so many others. ``mean`` is that of all together,
    ``low``..``high`` its 99 % interval at each point by itself, NaN below three of the ``count``
    executions that have one; ``rows`` are as many as went in.
    """

    x: Floats
    unit: str
    units: tuple[DrawnUnit, ...]
    parts: Floats
    more: int
    mean: Floats
    low: Floats
    high: Floats
    count: Integers
    step: int
    rows: int


def stream(rows: UnitRows, columns: BinColumns, top: int) -> Stream:
    """The course of a side in its ``columns``, with the ``top`` units that have most."""
    weights = np.bincount(rows.unit, np.abs(rows.values) / _largest(rows), len(rows.units))
    order = np.argsort(-weights, kind="stable")
    order = order[np.isin(order, rows.unit)]
    shown = order if len(order) <= top else order[: max(1, top - 1)]
    code = np.full(len(rows.units), len(shown), dtype=np.int64)
    code[shown] = np.arange(len(shown))
    more = len(order) - len(shown)
    amounts, there = _amounts(rows, columns, code[rows.unit], len(shown) + bool(more))
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = amounts.sum(axis=1) / there.sum(axis=0)
    whole = _interval(np.where(there, amounts.sum(axis=0), np.nan))
    measured = there.any(axis=0)
    x = (
        (columns.edges[1:] + columns.edges[:-1]) / 2
        if columns.step > 1 or columns.unit
        else columns.edges[:-1]
    )[measured]
    units = tuple(rows.units[place] for place in shown.tolist())
    return Stream(
        x=x,
        unit=columns.unit,
        units=units,
        parts=parts[:, measured],
        more=more,
        mean=whole.centre[measured],
        low=whole.low[measured],
        high=whole.high[measured],
        count=there.sum(axis=0)[measured],
        step=columns.step,
        rows=len(rows.values),
    )


def _largest(rows: UnitRows) -> float:
    return float(np.abs(rows.values).max()) or 1.0


def _amounts(
    rows: UnitRows, columns: BinColumns, code: Integers, count: int
) -> tuple[Floats, Flags]:
    """What each part has on average over the moments of a bin, in each execution, and in which bins
    an execution has any.

    Of the shapes (parts, executions, bins) and (executions, bins). A part without a row at a moment
    has 0 there.
    """
    shape = len(rows.executions), columns.count
    distinct, rank = np.unique(rows.iteration, return_inverse=True)
    moments = np.unique(rows.execution * len(distinct) + rank)
    execution, moment = np.divmod(moments, len(distinct))
    times = np.bincount(
        execution * shape[1] + columns.place(distinct)[moment], minlength=shape[0] * shape[1]
    ).reshape(shape)
    cell = (code * shape[0] + rows.execution) * shape[1] + columns.place(rows.iteration)
    sums = np.bincount(cell, rows.values / _largest(rows), count * shape[0] * shape[1]).reshape(
        count, *shape
    )
    return sums / np.maximum(times, 1) * _largest(rows), times > 0


def _interval(values: Floats) -> Interval:
    """Mean and 99 % interval of each column's known rows, by Student's t; NaN below three."""
    from perfvcs.statistics.difference import Interval
    from perfvcs.statistics.student import quantile

    count = np.isfinite(values).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(values, axis=0) / count
        variance = np.nansum((values - mean) ** 2, axis=0) / (count - 1)
        half = quantile((1 + CENTRE_CONFIDENCE) / 2, np.maximum(count - 1, 1)) * np.sqrt(
            variance / count
        )
    half = np.where(count >= FEWEST_FOR_INTERVAL, half, np.nan)
    return Interval(mean, mean - half, mean + half)


def over_time(sides: list[HeatSide], most: tuple[int, int]) -> Sheet:
    """Counters, or the units of one metric, over time."""
    keys: dict[tuple[str, str], int] = {}
    units: list[str] = []
    points = []
    for side in sides:
        parts = []
        for rows in side.rows:
            place = np.array(
                [
                    keys.setdefault((unit.uid or unit.job, rows.metric), len(keys))
                    for unit in rows.units
                ]
            )
            units += [rows.meaning.unit] * (len(keys) - len(units))
            parts.append((place[rows.unit], rows.iteration, rows.values))
        points.append([np.concatenate(column) for column in zip(*parts, strict=True)])
    profile, metric = sides[-1].rows[0].profile, sides[-1].rows[0].metric
    columns = _timed(numbered([arrays[1] for arrays in points], most[1]), sides)
    lengths = [float(bins.edges[-1] - bins.edges[0]) for bins in columns]
    linked = max(lengths) <= OWN_AXES_RATIO * min(lengths)
    if not linked:
        columns = _timed([numbered([arrays[1]], most[1])[0] for arrays in points], sides)
    panels = [
        Panel(
            side.name,
            bins,
            cells(row, bins.place(place), values, (len(keys), bins.count)),
            _spans(bins),
        )
        for side, bins, (row, place, values) in zip(sides, columns, points, strict=True)
    ]
    counters = profile.job.collector == SAMPLER
    title = (
        f"{plain(profile.job.label)} · {'counters' if counters else plain(metric_name(metric))}"
        " over time"
    )
    names = _called(list(keys)) if counters else [unit for unit, _ in keys]
    notes = [_said(sides, columns)] + (
        [] if linked else ["note the time axes: the lengths differ greatly"]
    )
    sheet = Sheet(
        title=title,
        x="time" if columns[0].unit else "part",
        y="",
        names=names,
        units=units,
        panels=panels,
        own=counters,
        notes=notes,
        linked=linked,
    )
    return _first(_moving(sheet) if counters else _ranked(sheet), most[0])


def _timed(columns: list[BinColumns], sides: Sequence[HeatSide]) -> list[BinColumns]:
    """With edges in seconds where all sides know them."""
    timed = [seconds(bins, side.rows[0]) for bins, side in zip(columns, sides, strict=True)]
    if all(bins.unit for bins in timed):
        return timed
    return [replace(bins, edges=bins.edges - 0.5) for bins in columns]


def _spans(columns: BinColumns) -> list[str]:
    edges = columns.edges.tolist()
    if columns.unit:
        return [span(start, end, "s") for start, end in pairwise(edges)]
    return [
        f"part {start + 0.5:,.0f}" + (f" to {end - 0.5:,.0f}" if columns.step > 1 else "")
        for start, end in pairwise(edges)
    ]


def _called(keys: Sequence[tuple[str, str]]) -> list[str]:
    """The names of counters, with the unit where several have one."""
    several = Counter(metric for _, metric in keys)
    return [
        f"{unit} · {metric_name(metric)}" if several[metric] > 1 else metric_name(metric)
        for unit, metric in keys
    ]


def _said(sides: Sequence[HeatSide], columns: Sequence[BinColumns]) -> str:
    """The values that a cell averages, in words."""
    counts = [max(len(rows.executions) for rows in side.rows) for side in sides]
    executions = (
        " and ".join(f"{count:,}" for count in dict.fromkeys(counts))
        + f" {plural(max(counts), 'execution')}"
    )
    steps = dict.fromkeys(bins.step for bins in columns)
    if max(steps) > 1:
        return f"{executions}, {' and '.join(f'{step:,}' for step in steps)} samples to a cell"
    return f"means of {executions}" if max(counts) > 1 else executions


def _moving(sheet: Sheet) -> Sheet:
    """Without the rows that never change, which a note names."""
    low, high = limits(sheet)
    still = np.flatnonzero(~(high > low))
    if not len(still):
        return sheet
    named = [plain(sheet.names[row], 24) for row in still[:MOST_NAMED_COUNTERS].tolist()]
    more = ""
    if len(still) > MOST_NAMED_COUNTERS:
        more = f" and {len(still) - MOST_NAMED_COUNTERS:,} more"
    note = f"{len(still):,} constant, left out: {', '.join(named)}{more}"
    return chosen(sheet, np.flatnonzero(high > low), [*sheet.notes, note])


def _ranked(sheet: Sheet) -> Sheet:
    return chosen(sheet, np.argsort(-limits(sheet)[1], kind="stable"), sheet.notes)


def _first(sheet: Sheet, most: int) -> Sheet:
    if len(sheet.names) <= most:
        return sheet
    return chosen(
        sheet, np.arange(most), [*sheet.notes, f"{most:,} of {len(sheet.names):,} rows drawn"]
    )
