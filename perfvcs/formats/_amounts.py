"""Rows of a profile from the resources of Perun: one amount is one value of one metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from perfvcs.formats._fields import (
    LARGEST_INTEGER,
    Amount,
    ResourceBlock,
    ResourceFields,
    text,
    whole,
)
from perfvcs.formats._foreign import counted, grouped
from perfvcs.formats._metric import BETTER, METRIC_KINDS, metric, usable
from perfvcs.formats._table import WrittenNumber, common_unit, converted, written
from perfvcs.profile import Metric, Resources, Stacks
from perfvcs.profile.validity import INTEGER_COLUMNS, MAX_NAME, MAX_STACKS, Malformed

# of metrics, where Perun's word for it is not the usual one
METRIC_NAMES = {"time delta": "duration"}
DEFAULT_UNITS = {"time": "s", "mixed": "us", "memory": "B"}  # where the header names none
SIZE_FIELD = "structure-unit-size"
MEANT = {
    "amount",
    "uid",
    "type",
    "subtype",
    "trace",
    "time",
    "snapshot",
    "order",
    "row",
    SIZE_FIELD,
    *INTEGER_COLUMNS,
}
MOST_KINDS = 1000  # of types of resources, each of which is a column as long as all
UNREACHABLE = "unreachable"
EXCLUSIVE = "exclusive"  # what a function took without those that it called


class MeasuredRows(NamedTuple):
    """The part of a profile that was measured."""

    metrics: dict[str, Metric]
    rows: Resources
    stacks: Stacks | None


def resources(
    blocks: Sequence[ResourceBlock], header: Mapping[str, Any], unnamed: str
) -> MeasuredRows:
    """Metrics, rows and stacks of a profile of Perun; raises Malformed with the place of what is
    wrong.

    ``unnamed`` is the unit of the resources without a uid.
    """
    table = _Resources(blocks)
    rows = Resources()
    rows.names, rows.uid = table.coded(
        "uid", lambda value: unnamed if value is None else _uid(value)
    )
    stacks = table.stacks(rows)
    rows.size = table.numbers(SIZE_FIELD)
    metrics, rows.metrics = table.metrics(header)
    snapshots, repeats = table.integers("snapshot"), table.integers("order")
    for name in ("binary", "mark", "iteration", "execution"):
        setattr(rows, name, table.integers(name))
    if not rows.execution and repeats:
        rows.execution = repeats
    elif not rows.execution:
        alone = rows.size is None and stacks is None and snapshots is None
        rows.execution = (
            counted(grouped([rows.uid, table.kinds])).tolist() if alone else [0] * table.count
        )
    if rows.iteration is None and any(snapshots or ()):
        rows.iteration = snapshots
    return MeasuredRows(metrics, table.gathered(rows), stacks)


class _Resources(ResourceFields):
    """Stacks and metrics of resources."""

    def __init__(self, blocks: Sequence[ResourceBlock]) -> None:
        super().__init__(blocks)
        self.kinds: list[int] = []

    def stacks(self, rows: Resources) -> Stacks | None:
        """The stacks of the resources that have a trace, root first; ``rows.trace`` gets their
        numbers.
        """
        if not self.has("trace"):
            return None
        traces, codes = self.coded("trace", _trace)
        if sum(map(len, traces)) > MAX_STACKS:
            raise Malformed(f"the traces have over {MAX_STACKS:,} bytes")
        frames: dict[str, int] = {}
        made = [
            [frames.setdefault(frame, len(frames)) for frame in msgspec.json.decode(trace)]
            for trace in traces
        ]
        order = {
            place: number
            for number, place in enumerate(place for place, stack in enumerate(made) if stack)
        }
        rows.trace = [order.get(code, -1) for code in codes]
        return Stacks(list(frames), [made[place] for place in order])

    def metrics(
        self, header: Mapping[str, Any]
    ) -> tuple[dict[str, Metric], dict[str, list[float | None]]]:
        """A metric per type and subtype, and one that is not judged per other number that resources
        have.
        """
        common = text(header.get("type"), "$.header.type") or "mixed"
        types, by_type = self.coded("type", lambda value: _word(value) or common)
        subtypes, by_subtype = self.coded("subtype", _word)
        pairs: dict[tuple[int, int], int] = {}
        self.kinds = [
            pairs.setdefault(pair, len(pairs)) for pair in zip(by_type, by_subtype, strict=True)
        ]
        amounts = self.written("amount")
        if amounts is None:
            raise Malformed("its resources have no amount")
        metrics: dict[str, Metric] = {}
        columns: dict[str, list[float | None]] = {}
        if len(pairs) > MOST_KINDS:
            raise Malformed(
                f"its resources are of {len(pairs):,} kinds, over {MOST_KINDS:,}: a column for each"
                " would be too large"
            )
        for (first, second), kind in pairs.items():
            type_, subtype = types[first], subtypes[second]
            name = _free(usable(METRIC_NAMES.get(subtype, subtype or type_)), metrics)
            column = amounts if len(pairs) == 1 else self.of_kind(kind, amounts)
            unit = common_unit(_units(column))
            metrics[name] = _metric(header, type_, subtype, name, unit)
            columns[name] = self.in_unit(column, metrics[name].unit)
        times = self.numbers_in_text("time") if self.has("snapshot") and self.has("time") else None
        if times is not None:
            name = _free("snapshot", metrics)
            metrics[name], columns[name] = Metric("s", "none"), times
        for key in self.extra():
            name = _free(usable(key), metrics)
            numbers = self.numbers(key)
            assert numbers is not None
            metrics[name] = Metric("", "none")
            if key == EXCLUSIVE:
                metrics[name] = Metric(next(iter(metrics.values())).unit, "lower")
            columns[name] = numbers
        return metrics, columns

    def of_kind(self, kind: int, amounts: Sequence[Amount]) -> list[Amount]:
        """The amounts of one kind; None for those of others."""
        return [
            amount if row_kind == kind else None
            for amount, row_kind in zip(amounts, self.kinds, strict=True)
        ]

    def in_unit(self, column: Sequence[Amount], unit: str) -> list[float | None]:
        """Amounts in the unit of their metric; raises Malformed for one that measures something
        else.
        """
        amounts: list[float | None] = []
        for row, amount in enumerate(column):
            value = converted(amount, unit) if isinstance(amount, WrittenNumber) else amount
            if value is None and isinstance(amount, WrittenNumber):
                raise self.wrong(
                    row, "amount", f"is in `{amount.unit}`, and the metric in `{unit}`"
                )
            amounts.append(value)
        return amounts

    def extra(self) -> list[str]:
        """Other fields that are numbers wherever they are."""
        keys = dict.fromkeys(
            key
            for block in self.blocks
            for key in (*block.shared, *block.columns)
            if key not in MEANT
        )
        return [key for key in list(keys)[:50] if self._is_numeric(key)]

    def _is_numeric(self, key: str) -> bool:
        column = self.column(key)
        if self.has(key) and all(map(_is_number, column)):
            return True
        return key == EXCLUSIVE and all(value is None or written(value) for value in column)

    def gathered(self, rows: Resources) -> Resources:
        """The rows, those of one number ``row`` as one with the values of all its metrics."""
        numbers = self.integers("row")
        if numbers is None:
            return rows
        places: dict[int, int] = {}
        index = [places.setdefault(number, len(places)) for number in numbers]
        first = {row: place for place, row in reversed(list(enumerate(index)))}
        firsts = [first[row] for row in range(len(places))]
        metrics: dict[str, list[float | None]] = {}
        for name, values in rows.metrics.items():
            column: list[float | None] = [None] * len(places)
            for place, value in enumerate(values):
                if value is not None:
                    if column[index[place]] is not None:
                        raise self.wrong(place, "row", "has a second amount of the same kind")
                    column[index[place]] = value
            metrics[name] = column
        for name in ("uid", "size", *INTEGER_COLUMNS):
            if (values := getattr(rows, name)) is not None:
                setattr(rows, name, [values[place] for place in firsts])
        rows.metrics = metrics
        return rows


def _metric(
    header: Mapping[str, Any], kind: str, subtype: str, name: str, named_unit: str
) -> Metric:
    """What the header says of a metric; ``named_unit`` is the unit that its amounts name, which
    counts where the header has none.
    """
    units, better, kinds = (
        by_metric if isinstance(by_metric := header.get(key), dict) else {}
        for key in ("units", "better", "kinds")
    )
    keys = (f"{kind}({subtype})", subtype, kind)
    unit = next(
        (units[key] for key in keys if isinstance(units.get(key), str)),
        named_unit or DEFAULT_UNITS.get(kind, ""),
    )
    words = [
        str(given.get(name)) if given.get(name) in allowed else allowed[0]
        for given, allowed in ((better, BETTER), (kinds, METRIC_KINDS))
    ]
    return metric(unit[:MAX_NAME], *words)


def _free(name: str, taken: Mapping[str, Metric]) -> str:
    number = 1
    candidate = name
    while candidate in taken:
        number += 1
        candidate = f"{name[:60]}_{number}"
    return candidate


def _units(column: Iterable[Amount]) -> list[str]:
    """The units that are written beside amounts."""
    return [amount.unit for amount in column if isinstance(amount, WrittenNumber) and amount.unit]


def _is_number(value: Any) -> bool:
    if value is None:
        return True
    try:
        return type(value) in (int, float) and isfinite(float(value))
    except OverflowError:
        return False


def _word(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_NAME:
        raise ValueError(f"is not a text of at most {MAX_NAME:,} characters")
    return value


def _uid(value: Any) -> str:
    """The name of a unit; an object of function, source and line is ``function (source:line)``."""
    if type(value) in (int, float):
        value = msgspec.json.encode(value).decode()
    name = _frame(value) if isinstance(value, dict) else _word(value)
    if len(name) > MAX_NAME:
        raise ValueError(f"is longer than {MAX_NAME:,} characters")
    return name


def _frame(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ValueError("is neither a text nor an object with function, source and line")
    function, source = (_word(value.get(key)) for key in ("function", "source"))
    lines = (whole(value.get(key)) for key in ("line", "column") if value.get(key) != "")
    places = [str(line) for line in lines if type(line) is int and abs(line) < LARGEST_INTEGER]
    if source in ("", UNREACHABLE) and places in ([], ["0"]):
        return function
    return f"{function} ({':'.join([source, *places])})"


def _trace(value: Any) -> str:
    """The frames of a trace, root first, as a JSON text; Perun has the innermost first."""
    if value is None or value == "":
        return "[]"
    if not isinstance(value, list):
        raise ValueError("is not a list of frames")
    return msgspec.json.encode([_frame(frame) for frame in reversed(value)]).decode()
