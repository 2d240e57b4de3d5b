"""A table of text: its delimiter, its heading, and the values of its columns, with line and column
of what is wrong.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple

from perfvcs.formats._readings import text_of
from perfvcs.profile.units import base
from perfvcs.profile.validity import MAX_INTEGER, MAX_NAME, MAX_ROWS, Malformed

LONGEST_NUMBER = 400  # characters; more are not a number
WRITTEN = re.compile(
    r"\s*+([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?)\s*+([^\W\d_][^\s\d]{0,31}|%)?\s*+"
)
MAX_COLUMNS = 1000
HEADING_BYTES = 1 << 20  # bytes in which the delimiter is looked for
BATCH = 1 << 9  # rows that are text at a time
Parser = Callable[[str], Any]


class WrittenNumber(NamedTuple):
    """A number and the unit behind it, which is empty where there is none."""

    value: float
    unit: str = ""


def written(value: Any) -> WrittenNumber | None:
    """The finite number that a value is, or that a text says; None where it is or says something
    else.

    >>> written("0.616s"), written(" 12 ms")
    (WrittenNumber(value=0.616, unit='s'), WrittenNumber(value=12.0, unit='ms'))
    >>> written(3), written("fast"), written("1_0")
    (WrittenNumber(value=3.0, unit=''), None, None)
    """
    unit = ""
    if isinstance(value, str):
        match = WRITTEN.fullmatch(value) if len(value) <= LONGEST_NUMBER else None
        if match is None:
            return None
        value, unit = float(match[1]), match[2] or ""
    elif type(value) not in (int, float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return WrittenNumber(number, unit) if isfinite(number) else None


def common_unit(units: Sequence[str]) -> str:
    """The unit for values in some units: theirs where it is one, else that without a prefix; empty
    where they have none in common.
    """
    distinct = dict.fromkeys(filter(None, units))
    if len(distinct) < 2:
        return next(iter(distinct), "")
    bases = {base(unit).unit for unit in distinct}
    return bases.pop() if len(bases) == 1 else ""


def converted(quantity: WrittenNumber, unit: str) -> float | None:
    """The value in a unit, in which one without a unit is already; None where both measure
    different things.

    >>> converted(WrittenNumber(12.0, "ms"), "s"), converted(WrittenNumber(12.0), "s")
    (0.012, 12.0)
    >>> converted(WrittenNumber(1.0, "B"), "s")
    """
    if quantity.unit in ("", unit):
        return quantity.value
    old, new = base(quantity.unit), base(unit)
    value = quantity.value * old.times / old.over * new.over / new.times
    return value if old.unit == new.unit and isfinite(value) else None


class TextTable:
    """A table in UTF-8 whose first line names the columns; ``titles`` has them as they are written.

    Raises Malformed.
    """

    def __init__(self, document: bytes, delimiter: str = "") -> None:
        self._document = document
        self._delimiter = delimiter or _delimiter(
            document[:HEADING_BYTES].decode("utf-8-sig", "replace")
        )
        self.titles = next(self._rows(), [])
        _require(self.titles, "the table is empty: its first line names the columns")
        count = len(self.titles)
        _require(
            count <= MAX_COLUMNS,
            f"the table has {count:,} columns, over the limit of {MAX_COLUMNS:,}",
        )
        for number, title in enumerate(self.titles, 1):
            _require(
                len(title) <= MAX_NAME,
                f"line 1, the title of column {number} has over {MAX_NAME:,} characters:"
                " shorten it",
            )

    def read(self, parsers: Mapping[int, Parser]) -> list[list[Any]]:
        """The values of some columns, each made from its text by a parser that raises ValueError
        with what is wrong.
        """
        columns_read: list[list[Any]] = [[] for _ in parsers]
        texts: dict[str, str] = {}  # one object for equal ones
        rows = islice(self._rows(), 1, None)
        start = 0
        while batch := list(islice(rows, BATCH)):
            _require(
                start + len(batch) <= MAX_ROWS, f"the table has over {MAX_ROWS:,} rows: split it"
            )
            if set(map(len, batch)) != {len(self.titles)}:
                place = next(
                    place for place, row in enumerate(batch) if len(row) != len(self.titles)
                )
                raise self._wrong(
                    start + place,
                    f"it has {len(batch[place])} cells, the heading has {len(self.titles)}",
                )
            columns: list[Sequence[str]] = list(zip(*batch, strict=True))
            for values, (number, parser) in zip(columns_read, parsers.items(), strict=True):
                try:
                    cells = columns[number]
                    values.extend(
                        map(texts.setdefault, cells, cells)
                        if parser is str
                        else _all(parser, cells)
                    )
                except ValueError:
                    self._explain(start, number, columns[number], parser)
            start += len(batch)
        _require(start, "the table has no rows below its heading")
        return columns_read

    def _explain(self, start: int, number: int, cells: Sequence[str], parser: Parser) -> None:
        for place, cell in enumerate(cells):
            try:
                parser(cell)
            except ValueError as error:
                raise self._wrong(
                    start + place, f"column `{self.titles[number][:80]}`: {error}"
                ) from None

    def _wrong(self, row: int, message: str) -> Malformed:
        """The error about one row; its line is counted only now, since cells may go over several
        lines.
        """
        reader = self._reader()
        next(islice(filter(None, reader), row + 1, None))
        return Malformed(f"line {reader.line_num}, {message}")

    def _reader(self) -> Any:
        # decoded piece by piece: as one text, a table takes four bytes a character
        lines = io.TextIOWrapper(io.BytesIO(self._document), "utf-8-sig", newline="")
        return csv.reader(lines, delimiter=self._delimiter, strict=True)

    def _rows(self) -> Iterator[list[str]]:
        """The heading and the rows; blank lines are none."""
        reader = self._reader()
        try:
            yield from filter(None, reader)
        except csv.Error as error:
            raise Malformed(f"line {reader.line_num}: {error}") from None
        except UnicodeDecodeError:
            raise Malformed(
                f"line {_line(self._document)} is not UTF-8: save the table as UTF-8"
            ) from None


def number(cell: str) -> float | None:
    """A finite number; None for an empty cell, or a word that other programs write into one."""
    if not cell or cell.strip().lower() in ("na", "n/a", "nan", "null", "none"):
        return None
    try:
        parsed = float(cell)
    except ValueError:
        cure = (
            "; decimals are written with a point"
            if re.fullmatch(r"\s*[-+]?\d+,\d+\s*", cell)
            else ""
        )
        if not re.search(r"\d", cell):
            cure = (
                "; --format csv --option ignore=COLUMN ignores it, uid=COLUMN takes names from it"
            )
        raise ValueError(f"`{cell[:80]}` is not a number{cure}") from None
    if not isfinite(parsed) or "_" in cell:
        raise ValueError(
            f"`{cell[:80]}` is not a finite number; leave the cell empty where there is none"
        )
    return parsed


def integer(cell: str) -> int:
    """An integer from 0 on, as arrays hold it."""
    try:
        # a column of floats, where a program had some empty
        parsed = int(cell.removesuffix(".0")) if "_" not in cell else -1
    except ValueError:
        parsed = -1
    if not 0 <= parsed <= MAX_INTEGER:
        raise ValueError(f"`{cell[:80]}` is not an integer from 0 to {MAX_INTEGER}")
    return parsed


def _all(parser: Parser, cells: Sequence[str]) -> Iterable[Any]:
    """What a parser makes of many cells; of those that are all plain numbers many times faster."""
    plain: list[Any] = []
    with suppress(ValueError):
        plain = [*map(float if parser is number else int, cells)]
    fits = (
        map(isfinite, plain) if parser is number else (0 <= value <= MAX_INTEGER for value in plain)
    )
    usable = plain and "_" not in "".join(cells) and all(fits)
    return plain if usable else map(parser, cells)


def _line(document: bytes) -> int:
    """The number of the line where the bytes stop being UTF-8."""
    try:
        document.decode()
    except UnicodeDecodeError as error:
        return document.count(b"\n", 0, error.start) + 1
    raise AssertionError("it is UTF-8")


def _delimiter(text: str) -> str:
    """The delimiter that the heading has most of, outside quotes and (inner) brackets."""
    heading = re.sub(r'"[^"]*"|\[[^\[\]]*\]', "", text.lstrip("\r\n").split("\n", 1)[0])
    return max((",", ";", "\t"), key=heading.count)


def _require(holds: object, message: str) -> None:
    if not holds:
        raise Malformed(message)


def rows(document: bytes, needed: Sequence[str]) -> Iterator[dict[str, str]]:
    """Each row as texts; raises Malformed with the line, also where a column is missing or stands
    there twice.
    """
    table = TextTable(text_of(document).encode(), ",")
    if missing := [name for name in needed if name not in table.titles]:
        raise Malformed(f"line 1: there is no column `{missing[0]}`")
    if len(set(table.titles)) < len(table.titles):
        raise Malformed("line 1: two columns have one title")
    columns = table.read(dict.fromkeys(range(len(table.titles)), str))
    for row in zip(*columns, strict=True):
        yield dict(zip(table.titles, row, strict=True))
