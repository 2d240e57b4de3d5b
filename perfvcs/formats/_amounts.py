"""Rows of a profile from the resources of Perun: one amount is one value of one metric."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from perfvcs.formats._blocks import ResourceBlock, text
from perfvcs.formats._foreign import counted, grouped
from perfvcs.formats._metric import BETTER, METRIC_KINDS, metric, usable
from perfvcs.formats._table import WrittenNumber, common_unit, converted, written
from perfvcs.profile import Metric, Resources, Stacks
from perfvcs.profile.validity import INTEGER_COLUMNS, MAX_INTEGER, MAX_NAME, MAX_STACKS, Malformed

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
LARGEST_INTEGER = 1 << 53  # of an integer that a float holds exactly
MAX_EXTRA = 50
MOST_KINDS = 1000  # of types of resources, each of which is a column as long as all
UNREACHABLE = "unreachable"
EXCLUSIVE = "exclusive"  # what a function took without those that it called
DIGITS = re.compile(r"\d{1,18}", re.ASCII)


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


class _Resources:
    """All blocks as one table."""

    def __init__(self, blocks: Sequence[ResourceBlock]) -> None:
        self.blocks = [block for block in blocks if block.count]
        self.count = sum(block.count for block in self.blocks)
        self.kinds: list[int] = []

    def has(self, key: str) -> bool:
        """Whether any resource has a field."""
        return any(
            key in block.columns or block.shared.get(key) is not None for block in self.blocks
        )

    def column(self, key: str) -> list[Any]:
        """A field of all resources."""
        return [value for block in self.blocks for value in block.column(key)]

    def wrong(self, row: int, key: str, message: str) -> Malformed:
        """The error about a field of one resource."""
        block = self.blocks[0]
        for block in self.blocks:
            if row < block.count:
                break
            row -= block.count
        return Malformed(f"{block.where(row, key)} {message}")

    def numbers(self, key: str) -> list[float | None] | None:
        """A column of finite numbers, which may be written as texts, or None; None where no
        resource has one.
        """
        found = self.written(key)
        if found is None:
            return None
        for row, one in enumerate(found):
            if isinstance(one, WrittenNumber) and one.unit:
                raise self.wrong(row, key, "is not a finite number")
        return [one.value if isinstance(one, WrittenNumber) else one for one in found]

    def written(self, key: str) -> list[WrittenNumber | float | None] | None:
        """A column of finite numbers, those written as texts with their units; None where no
        resource has one.
        """
        if not self.has(key):
            return None
        column = self.column(key)
        if set(map(type, column)) <= {int, float, type(None)}:
            try:
                plain = [None if value is None else float(value) for value in column]
            except OverflowError:
                plain = [float("inf")]
            if all(value is None or isfinite(value) for value in plain):
                return [*plain]
        found: list[WrittenNumber | float | None] = []
        for row, value in enumerate(column):
            one = None if value is None or value == "" else written(value)
            if one is None and value is not None and value != "":
                raise self.wrong(row, key, "is not a finite number")
            found.append(one)
        return found

    def integers(self, key: str) -> list[int] | None:
        """A column of integers from 0 on; None where no resource has one, 0 where one has none."""
        if not self.has(key):
            return None
        column = [0 if value is None else value for value in self.column(key)]
        if set(map(type, column)) != {int}:
            column = [*map(_whole, column)]
        if set(map(type, column)) == {int} and min(column) >= 0 and max(column) <= MAX_INTEGER:
            return column
        row = next(
            row
            for row, value in enumerate(column)
            if type(value) is not int or not 0 <= value <= MAX_INTEGER
        )
        raise self.wrong(row, key, f"is not an integer from 0 to {MAX_INTEGER}")

    def coded(self, key: str, name: Callable[[Any], str]) -> tuple[list[str], list[int]]:
        """A column as codes of its different texts; ``name`` makes a text of a value or raises
        ValueError.
        """
        known: dict[Any, int] = {}
        names: dict[str, int] = {}
        codes: list[int] = []
        for block in self.blocks:
            own = block.columns.get(key)
            for value in own if own is not None else [block.shared.get(key)]:
                token = value if isinstance(value, str) else msgspec.json.encode(value)
                if token not in known:
                    try:
                        known[token] = names.setdefault(name(value), len(names))
                    except ValueError as error:
                        raise self.wrong(len(codes), key, str(error)) from None
                codes.append(known[token])
            if own is None:
                codes += codes[-1:] * (block.count - 1)
        return list(names), codes

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
        found: dict[str, Metric] = {}
        columns: dict[str, list[float | None]] = {}
        if len(pairs) > MOST_KINDS:
            raise Malformed(
                f"its resources are of {len(pairs):,} kinds, over {MOST_KINDS:,}: a column for each"
                " would be too large"
            )
        for (first, second), kind in pairs.items():
            name = _free(
                usable(METRIC_NAMES.get(subtypes[second], subtypes[second] or types[first])), found
            )
            mine = (
                amounts
                if len(pairs) == 1
                else [
                    amount if own == kind else None
                    for amount, own in zip(amounts, self.kinds, strict=True)
                ]
            )
            units = [one.unit for one in mine if isinstance(one, WrittenNumber) and one.unit]
            found[name] = _metric(header, types[first], subtypes[second], name, common_unit(units))
            columns[name] = self.in_unit(mine, found[name].unit)
        times = self.numbers_in_text("time") if self.has("snapshot") and self.has("time") else None
        if times is not None:
            name = _free("snapshot", found)
            found[name], columns[name] = Metric("s", "none"), times
        for key in self.extra():
            name = _free(usable(key), found)
            column = self.numbers(key)
            assert column is not None
            exclusive = key == EXCLUSIVE
            found[name] = (
                Metric(next(iter(found.values())).unit, "lower")
                if exclusive
                else Metric("", "none")
            )
            columns[name] = column
        return found, columns

    def in_unit(
        self, column: Sequence[WrittenNumber | float | None], unit: str
    ) -> list[float | None]:
        """Amounts in the unit of their metric; raises Malformed for one that measures something
        else.
        """
        found: list[float | None] = []
        for row, one in enumerate(column):
            value = converted(one, unit) if isinstance(one, WrittenNumber) else one
            if value is None and isinstance(one, WrittenNumber):
                raise self.wrong(row, "amount", f"is in `{one.unit}`, and the metric in `{unit}`")
            found.append(value)
        return found

    def extra(self) -> list[str]:
        """Other fields that are numbers wherever they are."""
        keys = dict.fromkeys(
            key
            for block in self.blocks
            for key in (*block.shared, *block.columns)
            if key not in MEANT
        )
        return [
            key
            for key in list(keys)[:MAX_EXTRA]
            if (self.has(key) and all(map(_is_number, self.column(key))))
            or (
                key == EXCLUSIVE
                and all(value is None or written(value) for value in self.column(key))
            )
        ]

    def numbers_in_text(self, key: str) -> list[float | None] | None:
        """A column of numbers that may be written as texts, such as "0.025" or "0.025s"; None where
        one is something else.
        """
        try:
            found = [
                None if value is None else float(str(value).removesuffix("s"))
                for value in self.column(key)
            ]
        except ValueError:
            return None
        return found if all(value is None or isfinite(value) for value in found) else None

    def gathered(self, rows: Resources) -> Resources:
        """The rows, those of one number ``row`` as one with the values of all its metrics."""
        numbers = self.integers("row")
        if numbers is None:
            return rows
        places: dict[int, int] = {}
        index = [places.setdefault(number, len(places)) for number in numbers]
        first = {row: place for place, row in reversed(list(enumerate(index)))}
        kept = [first[row] for row in range(len(places))]
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
                setattr(rows, name, [values[place] for place in kept])
        rows.metrics = metrics
        return rows


def _metric(header: Mapping[str, Any], kind: str, subtype: str, name: str, said: str) -> Metric:
    """What the header says of a metric; ``said`` is the unit that its amounts name, which counts
    where the header has none.
    """
    units, better, kinds = (
        found if isinstance(found := header.get(key), dict) else {}
        for key in ("units", "better", "kinds")
    )
    keys = (f"{kind}({subtype})", subtype, kind)
    unit = next(
        (units[key] for key in keys if isinstance(units.get(key), str)),
        said or DEFAULT_UNITS.get(kind, ""),
    )
    words = [
        str(given.get(name)) if given.get(name) in known else known[0]
        for given, known in ((better, BETTER), (kinds, METRIC_KINDS))
    ]
    return metric(unit[:MAX_NAME], *words)


def _free(name: str, taken: Mapping[str, Metric]) -> str:
    number = 1
    found = name
    while found in taken:
        number += 1
        found = f"{name[:60]}_{number}"
    return found


def _is_number(value: Any) -> bool:
    """Whether a value can stand in a column of numbers."""
    if value is None:
        return True
    try:
        return type(value) in (int, float) and isfinite(float(value))
    except OverflowError:
        return False


def _whole(value: Any) -> Any:
    """The integer that a value is or says, such as 3.0 or "3"; else the value itself."""
    found = (
        0
        if value == ""
        else int(value)
        if isinstance(value, str) and DIGITS.fullmatch(value)
        else value
    )
    return (
        int(found)
        if isinstance(found, float) and found.is_integer() and abs(found) < LARGEST_INTEGER
        else found
    )


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
    found = _frame(value) if isinstance(value, dict) else _word(value)
    if len(found) > MAX_NAME:
        raise ValueError(f"is longer than {MAX_NAME:,} characters")
    return found


def _frame(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise ValueError("is neither a text nor an object with function, source and line")
    function, source = (_word(value.get(key)) for key in ("function", "source"))
    lines = (_whole(value.get(key)) for key in ("line", "column") if value.get(key) != "")
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
