"""Heat maps over time: the counters of a job, or what its functions kept alive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from perfvcs.drawing.bins import BinColumns, numbered, seconds
from perfvcs.drawing.canvas import plain
from perfvcs.drawing.heat.cells import cells
from perfvcs.drawing.heat.sheet import HeatSide, Panel, Sheet, chosen, limits
from perfvcs.summary import SAMPLER
from perfvcs.text.quantity import quantity
from perfvcs.text.words import metric_name, plural

MOST_NAMED_COUNTERS = 4  # counters that are left out
OWN_AXES_RATIO = 5  # times as long as the other revision, from which the two have axes of their own


def over_time(sides: list[HeatSide], most: tuple[int, int]) -> Sheet:
    """Counters, or the units of one metric, over time."""
    import numpy as np

    keys: dict[tuple[str, str], int] = {}
    units: list[str] = []
    points = []
    for side in sides:
        parts = []
        for rows in side.rows:
            place = np.array([keys.setdefault((unit.uid or unit.job, rows.metric), len(keys)) for unit in rows.units])
            units += [rows.meaning.unit] * (len(keys) - len(units))
            parts.append((place[rows.unit], rows.iteration, rows.values))
        points.append([np.concatenate(column) for column in zip(*parts, strict=True)])
    profile, metric = sides[-1].rows[0].profile, sides[-1].rows[0].metric
    columns = _timed(numbered([own[1] for own in points], most[1]), sides)
    lengths = [float(own.edges[-1] - own.edges[0]) for own in columns]
    linked = max(lengths) <= OWN_AXES_RATIO * min(lengths)
    if not linked:
        columns = _timed([numbered([own[1]], most[1])[0] for own in points], sides)
    panels = [
        Panel(side.name, own, cells(row, own.place(place), values, (len(keys), own.count)), _spans(own))
        for side, own, (row, place, values) in zip(sides, columns, points, strict=True)
    ]
    counters = profile.job.collector == SAMPLER
    title = f"{plain(profile.job.label)} · {'counters' if counters else plain(metric_name(metric))} over time"
    names = _called(list(keys)) if counters else [unit for unit, _ in keys]
    notes = [_said(sides, columns)] + ([] if linked else ["note the time axes: the lengths differ greatly"])
    sheet = Sheet(title, "time" if columns[0].unit else "part", "", names, units, panels, counters, notes, linked=linked)
    return _first(_moving(sheet) if counters else _ranked(sheet), most[0])


def _timed(columns: list[BinColumns], sides: Sequence[HeatSide]) -> list[BinColumns]:
    """With edges in seconds where all sides know them."""
    found = [seconds(own, side.rows[0]) for own, side in zip(columns, sides, strict=True)]
    return found if all(own.unit for own in found) else [replace(own, edges=own.edges - 0.5) for own in columns]


def _spans(columns: BinColumns) -> list[str]:
    """The labels of the columns of time."""
    edges = columns.edges.tolist()
    if columns.unit:
        return [f"{quantity(start, 's')} to {quantity(end, 's')}" for start, end in pairwise(edges)]
    return [f"part {start + 0.5:,.0f}" + (f" to {end - 0.5:,.0f}" if columns.step > 1 else "") for start, end in pairwise(edges)]


def _called(keys: Sequence[tuple[str, str]]) -> list[str]:
    """The names of counters, with the unit where several have one."""
    several = Counter(metric for _, metric in keys)
    return [f"{unit} · {metric_name(metric)}" if several[metric] > 1 else metric_name(metric) for unit, metric in keys]


def _said(sides: Sequence[HeatSide], columns: Sequence[BinColumns]) -> str:
    """The values that a cell averages, in words."""
    counts = [max(len(rows.executions) for rows in side.rows) for side in sides]
    executions = " and ".join(f"{count:,}" for count in dict.fromkeys(counts)) + f" {plural(max(counts), 'execution')}"
    steps = dict.fromkeys(own.step for own in columns)
    if max(steps) > 1:
        return f"{executions}, {' and '.join(f'{step:,}' for step in steps)} samples to a cell"
    return f"means of {executions}" if max(counts) > 1 else executions


def _moving(sheet: Sheet) -> Sheet:
    """Without the rows that never change, which a note names."""
    import numpy as np

    low, high = limits(sheet)
    still = np.flatnonzero(~(high > low))
    if not len(still):
        return sheet
    named = [plain(sheet.names[row], 24) for row in still[:MOST_NAMED_COUNTERS].tolist()]
    more = f" and {len(still) - MOST_NAMED_COUNTERS:,} more" if len(still) > MOST_NAMED_COUNTERS else ""
    note = f"{len(still):,} constant, left out: {', '.join(named)}{more}"
    return chosen(sheet, np.flatnonzero(high > low), [*sheet.notes, note])


def _ranked(sheet: Sheet) -> Sheet:
    """Those rows first that have the largest values."""
    import numpy as np

    return chosen(sheet, np.argsort(-limits(sheet)[1], kind="stable"), sheet.notes)


def _first(sheet: Sheet, most: int) -> Sheet:
    """At most so many rows."""
    import numpy as np

    if len(sheet.names) <= most:
        return sheet
    return chosen(sheet, np.arange(most), [*sheet.notes, f"{most:,} of {len(sheet.names):,} rows drawn"])
