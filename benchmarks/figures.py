"""Rows of figures: as a text, as a table of Markdown, and recorded with commit and machine."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from .repositories import git

Cell = str | int | float | bool | None
Row = dict[
    str, Any
]  # cells by heading; a benchmark with several tables has several sets of headings
ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "perfvcs"  # whose links to plugins are part of it
RECORDED = Path(__file__).resolve().parent / "recorded"


def percent(some: float, of: float) -> float | None:
    """A share in percent; None of nothing."""
    return 100 * some / of if of else None


def plain(row: Row) -> Row:
    """The row with Python's own numbers, of six significant digits."""
    return {name: _plain(cell) for name, cell in row.items()}


def _plain(cell: Any) -> Cell:
    """A cell of any library."""
    own: Cell = cell.item() if hasattr(cell, "item") else cell
    return float(f"{own:.6g}") if isinstance(own, float) else own


def text(cell: Cell) -> str:
    """A cell as people read it: numbers with three significant digits, in thousands."""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if cell is None:
        return ""
    if not isinstance(cell, float):
        return f"{cell:,}" if isinstance(cell, int) else cell
    if cell == 0 or not math.isfinite(cell):
        return f"{cell:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(cell))))
    rounded = f"{cell:,.{digits}f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def lines(rows: Iterable[Row]) -> Iterator[str]:
    """The rows as they come, with their headings where these change."""
    headings: tuple[str, ...] = ()
    for row in rows:
        if tuple(row) != headings:
            if headings:
                yield ""
            headings = tuple(row)
            yield "  ".join(_padded(heading, row[heading], heading) for heading in headings)
        yield "  ".join(_padded(text(cell), cell, heading) for heading, cell in row.items())


def _padded(word: str, cell: Cell, heading: str) -> str:
    """A word in the column of a cell: texts at its left, numbers at its right."""
    if isinstance(cell, str):
        return f"{word:{max(24, len(heading))}}"
    return f"{word:>{max(8, len(heading))}}"


def tables(rows: Iterable[Row]) -> list[str]:
    """The tables of Markdown, one for each set of headings."""
    return ["\n".join(_table(list(part))) for _, part in groupby(rows, tuple)]


def _table(rows: list[Row]) -> Iterator[str]:
    yield f"| {' | '.join(rows[0])} |"
    yield "|---" * len(rows[0]) + "|"
    for row in rows:
        yield f"| {' | '.join(text(cell) for cell in row.values())} |"


def record(
    name: str, options: dict[str, Any], rows: list[Row], seconds: float, cpu: float
) -> dict[str, Any]:
    """The rows with what they are of: the commit, the machine, its load, and the options."""
    return {
        "benchmark": name,
        "commit": _commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": {
            "processor": _processor(),
            "processors": os.cpu_count(),
            "kernel": platform.release(),
            "python": platform.python_version(),
            "load": round(os.getloadavg()[1], 1),
        },
        "options": json.loads(
            json.dumps({name: _without_folder(one) for name, one in options.items()}, default=str)
        ),
        "seconds": round(seconds, 1),
        "cpu": round(cpu, 1),
        "rows": rows,
    }


def _without_folder(value: object) -> object:
    """An option as others may read it: a path by its name."""
    if isinstance(value, Path) or (isinstance(value, str) and value.startswith("/")):
        return Path(value).name
    return value


def _commit() -> str:
    """The newest commit that changed the package, with a mark where it was changed since."""
    commit = git(ROOT, "log", "-1", "--abbrev=10", "--format=%h", "--", PACKAGE)
    return commit + ("-dirty" if git(ROOT, "status", "--porcelain", "--", PACKAGE) else "")


def _processor() -> str:
    """The model in /proc/cpuinfo, or what Python knows."""
    try:
        names = Path("/proc/cpuinfo").read_text().partition("model name")[2]
    except OSError:
        return platform.processor()
    return names.partition(":")[2].partition("\n")[0].strip() or platform.processor()


def write(path: Path, found: dict[str, Any]) -> None:
    """Write a record, a row on a line."""
    head = json.dumps({name: found[name] for name in found if name != "rows"}, indent=1)
    rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in found["rows"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{head[:-2]},\n "rows": [\n  {rows}\n ]\n}}\n')


def recorded(name: str) -> dict[str, Any]:
    """What was recorded of a benchmark; exits where nothing was."""
    path = RECORDED / f"{name}.json"
    if not path.exists():
        sys.exit(f"nothing is recorded of {name}: python -m benchmarks {name} --record")
    document: dict[str, Any] = json.loads(path.read_text())
    return document
