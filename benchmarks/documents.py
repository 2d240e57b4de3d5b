"""The tables in docs that are made of recorded figures.

Where a page has `<!-- recorded NAME -->` on a line of its own, the table behind it is the one of
benchmarks/recorded/NAME.json; `<!-- recorded NAME 2 -->` is its second table, and words behind a colon
are the columns that are shown, of the rows with a value: `<!-- recorded NAME: kind=all; n; s, median -->`.
"""

from __future__ import annotations

import re
from pathlib import Path

from .figures import ROOT, recorded, tables, text

PAGES = ROOT / "docs" / "evaluation"
OTHERS = (ROOT / "docs" / "languages.md",)
MARK = re.compile(r"<!-- recorded (?P<name>\w+)(?: (?P<number>\d+))?(?:: (?P<columns>.+))? -->")


def filled(page: str) -> str:
    """A page with the tables as they are recorded."""
    lines, found, at = page.split("\n"), [], 0
    while at < len(lines):
        found.append(lines[at])
        mark = MARK.fullmatch(lines[at])
        at += 1
        if mark:
            found += ["", _table(mark), ""]
            while at < len(lines) and (not lines[at] or lines[at].startswith("|")):
                at += 1
    return "\n".join(found)


def _table(mark: re.Match[str]) -> str:
    """The table that a mark asks for."""
    rows = recorded(mark["name"])["rows"]
    for word in (mark["columns"] or "").split("; "):
        name, equals, value = word.partition("=")
        if equals:
            rows = [row for row in rows if text(row.get(name)) == value]
    columns = [word for word in (mark["columns"] or "").split("; ") if word and "=" not in word]
    if columns:
        rows = [{name: row[name] for name in columns if name in row} for row in rows]
    return tables(rows)[int(mark["number"] or 1) - 1]


def names(page: str) -> list[str]:
    """The benchmarks whose recorded figures a page shows."""
    return [mark["name"] for mark in MARK.finditer(page)]


def pages() -> list[Path]:
    """The pages that may have such tables."""
    return [*sorted(PAGES.glob("*.md")), *OTHERS]


def write() -> list[Path]:
    """Write all pages again; those that changed."""
    changed = []
    for path in pages():
        before = path.read_text()
        after = filled(before)
        if after != before:
            path.write_text(after)
            changed.append(path)
    return changed
