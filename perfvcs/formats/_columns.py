"""Rows of a table whose columns a tool has named, by these names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfvcs.formats._readings import text_of
from perfvcs.formats._table import TextTable
from perfvcs.validity import Malformed


def rows(document: bytes, needed: Sequence[str]) -> Iterator[dict[str, str]]:
    """Each row as texts; raises Malformed with the line, also where a column is missing or stands there twice."""
    table = TextTable(text_of(document).encode(), ",")
    if missing := [name for name in needed if name not in table.titles]:
        raise Malformed(f"line 1: there is no column `{missing[0]}`")
    if len(set(table.titles)) < len(table.titles):
        raise Malformed("line 1: two columns have one title")
    columns = table.read(dict.fromkeys(range(len(table.titles)), str))
    for row in zip(*columns, strict=True):
        yield dict(zip(table.titles, row, strict=True))
