"""All numbers in a table: every unit under every metric, with intervals, and the verdicts where two revisions were compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, ClassVar

from perfvcs.drawing.tables.listing import Table as Rows
from perfvcs.drawing.tables.listing import has_rows, listing
from perfvcs.plugins import Count
from perfvcs.subject import Subject

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement


@dataclass(frozen=True)
class Table:
    """``rows``: at most so many are listed in a page or a terminal; a file of the table has all."""

    asked: ClassVar[bool] = True

    rows: Count = 2000

    def fits(self, subject: Subject) -> str | None:
        """Why not: it needs something that was measured."""
        return None if has_rows(subject) else "it lists what was measured, and there is nothing"

    def listed(self, subject: Subject) -> Rows:
        """The complete table of a subject that fits, cut to ``rows``; a page shows it as it is, which can be sorted and searched."""
        found = listing(subject)
        assert found is not None
        left_out = len(found.rows) - self.rows
        notes = (
            [*found.notes, f"{left_out:,} more rows are not listed: write a file with -o FILE.csv."]
            if left_out > 0
            else found.notes
        )
        return replace(found, rows=found.rows[: self.rows], notes=notes)

    def text(self, subject: Subject, width: int) -> str:
        """The table for a terminal."""
        from perfvcs.drawing.tables.writing import plain

        return plain(self.listed(subject), width)

    def render(self, subject: Subject) -> UIElement:
        """The table as text of a page, for layouts that are not pages of `perf show`."""
        from bokeh.models.widgets import Div

        table = self.listed(subject)
        shown = [number for number, column in enumerate(table.columns) if not column.apart]
        heads = "".join(
            f"<th>{escape(title)}</th>" for title in ("benchmark", *(table.columns[number].title for number in shown))
        )
        rows = "".join(
            f"<tr><th>{escape(row.name)}</th>"
            + "".join(f"<td>{escape(cell.said) if (cell := row.cells[number]) else ''}</td>" for number in shown)
            + "</tr>"
            for row in table.rows
        )
        return Div(text=f"<table><caption>{escape(table.caption)}</caption><tr>{heads}</tr>{rows}</table>", disable_math=True)
