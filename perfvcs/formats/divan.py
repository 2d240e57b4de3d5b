"""The text of divan (https://docs.rs/divan), as docs/exchange/divan.md describes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfvcs.formats._readings import (
    Marked,
    Reading,
    ReadingValue,
    ToolFormat,
    lines_of,
    number,
    summary,
)
from perfvcs.formats._table import converted, written
from perfvcs.profile.validity import Malformed

TITLES = re.compile(r"(?<= )fastest +│ slowest +│ median +│ mean +│ samples +│ iters *+$")
SIGNATURE = re.compile(
    "^.* fastest +│ slowest +│ median +│ mean +│ samples +│ iters *\\r?$".encode(), re.MULTILINE
)
TREE_ROW = re.compile(r"(?P<bars>(?:│  |   )*)(?:├─|╰─) (?P<rest>.*)")
WIDTH = 3  # columns of a level
FASTEST, SLOWEST, MEDIAN, MEAN, SAMPLE_COLUMNS = range(5)


@dataclass(frozen=True)
class Divan(Marked, ToolFormat):
    """What ``cargo bench`` printed: of each benchmark the mean, with the fastest, slowest and
    median; divan does not print the samples.
    """

    tool = "divan"
    printed = True
    word = b" fastest "
    mark = SIGNATURE

    def readings(self, document: bytes) -> Iterator[Reading]:
        """The benchmarks, each below the branches above it; raises Malformed with the line."""
        above: list[str] = []
        for place, line in enumerate(lines_of(document), 1):
            if heading := TITLES.search(line):
                above = [line[: heading.start()].strip()]
            elif above and (branch := TREE_ROW.fullmatch(line)):
                first, *cells = branch["rest"].split("│")
                above[len(branch["bars"]) // WIDTH + 1 :] = []
                name, fastest = _cut(first, place)
                above.append(name)
                columns = [fastest, *map(str.strip, cells)]
                if len(columns) > SAMPLE_COLUMNS and columns[MEAN]:
                    yield _reading(above, columns, place)


def _cut(first: str, column: int) -> tuple[str, str]:
    """The name and the cell behind it, which is empty for a group."""
    words = first.split()
    if not words:
        raise Malformed(f"line {column}: a branch has no name")
    pair = written(" ".join(words[-2:])) if len(words) > 2 else None
    return (
        (" ".join(words[:-2]), " ".join(words[-2:]))
        if pair is not None and pair.unit
        else (" ".join(words), "")
    )


def _reading(above: list[str], columns: list[str], column: int) -> Reading:
    *around, last = above
    size = number(last)
    uid = "::".join(around if size is not None else above)
    cells = {"least": FASTEST, "largest": SLOWEST, "median": MEDIAN}
    more = {word: _seconds(columns[at], column) for word, at in cells.items()}
    samples = number(columns[SAMPLE_COLUMNS].replace(",", ""))
    mean = _seconds(columns[MEAN], column)
    return Reading(uid, summary("wall", mean, over=1.0, **more, samples=samples), size)


def _seconds(cell: str, column: int) -> ReadingValue:
    time = written(cell)
    value = converted(time, "s") if time is not None and time.unit else None
    if cell and value is None:
        raise Malformed(f"line {column}: {cell[:80]!r} is not a time")
    return value
