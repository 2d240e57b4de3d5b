"""The fields of Perun's resources as columns, whichever block a resource is in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from perfvcs.formats._table import WrittenNumber, written
from perfvcs.profile.validity import MAX_INTEGER, MAX_NAME, MAX_ROWS, Malformed

MAX_KEYS = 1000  # different fields of resources


class ResourceBlock(msgspec.Struct, frozen=True):
    """Resources that stand together: ``shared`` fields are the same for all, ``columns`` have a
    value each (or None).
    """

    path: str
    count: int
    shared: Mapping[str, Any]
    columns: Mapping[str, list[Any]] = {}

    def where(self, row: int, key: str) -> str:
        """The JSON path of a field of a row."""
        return (
            f"{self.path}[{row}].{key}"
            if isinstance(self, RowwiseBlock)
            else f"{self.path}.{key}[{row}]"
        )

    def column(self, key: str) -> list[Any]:
        """A field of all rows; None where one has none."""
        values = self.columns.get(key)
        return values if values is not None else [self.shared.get(key)] * self.count


class RowwiseBlock(ResourceBlock, frozen=True):
    """A block that stands in the document row by row."""


def blocks(document: Mapping[str, Any]) -> list[ResourceBlock]:
    """The blocks of a document; raises Malformed with the place, also where there are none."""
    read: list[ResourceBlock] = []
    for key in ("global", "resources", "snapshots"):
        value = document.get(key)
        if key == "snapshots":
            for number, snapshot in enumerate(listed(value, "$.snapshots")):
                place = f"$.snapshots[{number}]"
                holder = mapping(snapshot, place)
                read.append(
                    _rows(
                        holder.get("resources"),
                        f"{place}.resources",
                        {"snapshot": number, "time": holder.get("time")},
                    )
                )
        elif isinstance(value, dict) and key == "global":
            read.append(_rows(value.get("resources"), "$.global.resources", {}))
        elif isinstance(value, dict):
            types = mapping(document.get("resource_type_map"), "$.resource_type_map")
            read += [_columns(name, columns, types) for name, columns in value.items()]
        else:
            read.append(_rows(value, f"$.{key}", {}))
    count = sum(block.count for block in read)
    if count > MAX_ROWS:
        raise Malformed(f"it has {count:,} resources, over the limit of {MAX_ROWS:,}")
    if not count:
        raise Malformed("it has no resources with amounts")
    return read


def _rows(value: Any, path: str, shared: Mapping[str, Any]) -> ResourceBlock:
    rows = listed(value, path)
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise Malformed(f"{path}[{number}] is not an object")
    keys = dict.fromkeys(key for row in rows for key in row)
    if len(keys) > MAX_KEYS:
        raise Malformed(
            f"{path} has {len(keys):,} different fields, over the limit of {MAX_KEYS:,}"
        )
    return RowwiseBlock(
        path, len(rows), shared, {key: [row.get(key) for row in rows] for key in keys}
    )


def _columns(name: str, value: Any, types: Mapping[str, Any]) -> ResourceBlock:
    label = msgspec.json.encode(name[:MAX_NAME]).decode()
    place = f"$.resources[{label}]"
    if name not in types:
        raise Malformed(f"{place} is not in $.resource_type_map")
    columns = {
        key: listed(column, f"{place}.{key}") for key, column in mapping(value, place).items()
    }
    count = len(next(iter(columns.values()), []))
    for key, column in columns.items():
        if len(column) != count:
            raise Malformed(f"{place}.{key} has {len(column)} values, others have {count}")
    return ResourceBlock(
        place, count, mapping(types[name], f"$.resource_type_map[{label}]"), columns
    )


def mapping(value: Any, path: str) -> Mapping[str, Any]:
    """An object; an empty one for what is not there, or an empty text. Raises Malformed."""
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise Malformed(f"{path} is not an object")
    return value


def listed(value: Any, path: str) -> list[Any]:
    """A list; an empty one for what is not there, or an empty text. Raises Malformed."""
    if value is None or value == "":
        return []
    if not isinstance(value, list):
        raise Malformed(f"{path} is not a list")
    return value


def text(value: Any, path: str) -> str:
    """A text of bounded length; numbers are written out, lists of words joined, and what is not
    there is empty. Raises Malformed.
    """
    if value is None or value == {} or isinstance(value, bool):
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = " ".join(value)
    if isinstance(value, int | float):
        value = str(value) if abs(value) < 1e300 else "?"
    if not isinstance(value, str) or len(value) > MAX_NAME:
        raise Malformed(f"{path} is not a text of at most {MAX_NAME:,} characters")
    return value


LARGEST_INTEGER = 1 << 53  # of an integer that a float holds exactly
DIGITS = re.compile(r"\d{1,18}", re.ASCII)
Amount = WrittenNumber | float | None  # with its unit where one is written


class ResourceFields:
    """All blocks as one table."""

    def __init__(self, blocks: Sequence[ResourceBlock]) -> None:
        self.blocks = [block for block in blocks if block.count]
        self.count = sum(block.count for block in self.blocks)

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
        values = self.written(key)
        if values is None:
            return None
        for row, value in enumerate(values):
            if isinstance(value, WrittenNumber) and value.unit:
                raise self.wrong(row, key, "is not a finite number")
        return [value.value if isinstance(value, WrittenNumber) else value for value in values]

    def written(self, key: str) -> list[Amount] | None:
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
        numbers: list[Amount] = []
        for row, value in enumerate(column):
            number = None if value is None or value == "" else written(value)
            if number is None and value is not None and value != "":
                raise self.wrong(row, key, "is not a finite number")
            numbers.append(number)
        return numbers

    def integers(self, key: str) -> list[int] | None:
        """A column of integers from 0 on; None where no resource has one, 0 where one has none."""
        if not self.has(key):
            return None
        column = [0 if value is None else value for value in self.column(key)]
        if set(map(type, column)) != {int}:
            column = [*map(whole, column)]
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
        code_of: dict[Any, int] = {}
        names: dict[str, int] = {}
        codes: list[int] = []
        for block in self.blocks:
            column = block.columns.get(key)
            for value in column if column is not None else [block.shared.get(key)]:
                token = value if isinstance(value, str) else msgspec.json.encode(value)
                if token not in code_of:
                    try:
                        code_of[token] = names.setdefault(name(value), len(names))
                    except ValueError as error:
                        raise self.wrong(len(codes), key, str(error)) from None
                codes.append(code_of[token])
            if column is None:
                codes += codes[-1:] * (block.count - 1)
        return list(names), codes

    def numbers_in_text(self, key: str) -> list[float | None] | None:
        """A column of numbers that may be written as texts, such as "0.025" or "0.025s"; None where
        one is something else.
        """
        try:
            numbers = [
                None if value is None else float(str(value).removesuffix("s"))
                for value in self.column(key)
            ]
        except ValueError:
            return None
        return numbers if all(value is None or isfinite(value) for value in numbers) else None


def whole(value: Any) -> Any:
    """The integer that a value is or says, such as 3.0 or "3"; else the value itself."""
    if value == "":
        return 0
    if isinstance(value, str) and DIGITS.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_INTEGER:
        return int(value)
    return value
