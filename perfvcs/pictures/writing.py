"""A table as text: for a terminal, as Markdown, as comma separated values, and as LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from perfvcs.check.markdown import escape
from perfvcs.pictures.listing import Column, Listing, TableCell, TableRow
from perfvcs.text.characters import columns as taken
from perfvcs.text.characters import disarmed, fitted, padded, shorten, wrapped

WIDEST = 32  # columns of a terminal that one column of a table takes
COLUMN_GAP = 2
NAME_COLUMN = "benchmark"
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}


def plain(table: Listing, width: int) -> str:
    """A table in at most ``width`` columns: a line per benchmark, its rows below."""
    shown = [number for number, column in enumerate(table.columns) if not column.apart]
    texts = [
        [_said(row.cells[number]) for number in range(len(table.columns))] for row in table.rows
    ]
    widths = [
        min(WIDEST, max(map(taken, [column.title, *(row[number] for row in texts)])))
        for number, column in enumerate(table.columns)
    ]
    left_out: list[int] = []
    while (
        len(shown) > 1
        and COLUMN_GAP + sum(widths[number] + COLUMN_GAP for number in shown) - COLUMN_GAP > width
    ):
        left_out.append(
            next((number for number in reversed(shown) if table.columns[number].minor), shown[-1])
        )
        shown.remove(left_out[-1])

    def line(cells: Sequence[str]) -> str:
        parts = [_aligned(cells[number], widths[number], table.columns[number]) for number in shown]
        if len(shown) == 1:
            return fitted("  ".join(["", *parts]).rstrip(), width)
        return "  ".join(["", *parts]).rstrip()

    lines = [*wrapped([table.heading], width), line([column.title for column in table.columns])]
    name = None
    for row, cells in zip(table.rows, texts, strict=True):
        if row.full != name:
            name = row.full
            lines.append(fitted(name, width))
        lines.append(line(cells))
    notes = [table.caption, *table.notes]
    if left_out:
        notes.append(
            f"No room for {', '.join(table.columns[number].title for number in sorted(left_out))}."
        )
    return "\n".join([*lines, *wrapped(notes, width)])


def _aligned(text: str, width: int, column: Column) -> str:
    cut = padded(text, width)
    return " " * (taken(cut) - taken(cut.rstrip())) + cut.rstrip() if column.number else cut


def _said(cell: TableCell | None) -> str:
    return "" if cell is None else shorten(cell.said, 10_000)


def markdown(table: Listing) -> str:
    """A table as Markdown, names escaped."""
    shown = [number for number, column in enumerate(table.columns) if not column.apart]
    heads = [NAME_COLUMN, *(table.columns[number].title for number in shown)]
    rules = ["---", *("---:" if table.columns[number].number else "---" for number in shown)]
    rows = [
        [escape(row.full), *(escape(_said(row.cells[number])) for number in shown)]
        for row in table.rows
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (map(escape, heads), rules, *rows)]
    return "\n".join(
        [
            f"**{escape(table.heading)}**",
            "",
            *lines,
            "",
            *(escape(note) for note in (table.caption, *table.notes)),
        ]
    )


def separated(table: Listing) -> str:
    """A table as comma separated values: numbers plain, in the unit that their row names or in
    percent, text never a formula.
    """
    import csv
    import io

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([NAME_COLUMN, *(column.name for column in table.columns)])
    for row in table.rows:
        writer.writerow([_unarmed(row), *map(_plain_value, row.cells, table.columns)])
    return file.getvalue().rstrip("\n")


def _unarmed(row: TableRow) -> str:
    return disarmed(shorten(row.full, 10_000))


def _plain_value(cell: TableCell | None, column: Column) -> str:
    """A number in full; a column of numbers has no word in the place of one."""
    if cell is None or (column.number and cell.value is None):
        return ""
    return disarmed(_said(cell)) if cell.value is None else f"{cell.value:.12g}"


def latex(table: Listing) -> str:
    """A table as LaTeX's ``tabular``, which needs no package; letters beyond Latin need XeLaTeX or
    LuaLaTeX and a font that has them.
    """
    shown = [number for number, column in enumerate(table.columns) if not column.apart]
    kinds = "l" + "".join("r" if table.columns[number].number else "l" for number in shown)
    heads = [NAME_COLUMN, *(table.columns[number].title for number in shown)]
    rows = [
        [_tex(row.full), *(_amount(row.cells[number]) for number in shown)] for row in table.rows
    ]
    lines = [f"{' & '.join(cells)} \\\\" for cells in ([*map(_tex, heads)], *rows)]
    notes = [f"% {shorten(note, 1000)}" for note in (table.heading, table.caption, *table.notes)]
    return "\n".join(
        [
            *notes,
            rf"\begin{{tabular}}{{{kinds}}}",
            r"\hline",
            lines[0],
            r"\hline",
            *lines[1:],
            r"\hline",
            r"\end{tabular}",
        ]
    )


def _amount(cell: TableCell | None) -> str:
    text = _tex(_said(cell))
    return f"$-${text[1:]}" if text.startswith("-") and cell and cell.value is not None else text


def _tex(text: str) -> str:
    """Text that LaTeX sets as it is: no command, and no ligature out of several hyphens."""
    return (
        "".join(LATEX.get(character, character) for character in shorten(text, 10_000))
        .replace("--", "-{}-")
        .replace("--", "-{}-")
    )
