"""All numbers in a table: every unit under every metric, with intervals, and the verdicts where two
revisions were compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, ClassVar

from perfvcs.check.subject import Subject
from perfvcs.pictures.listing import Listing, listing
from perfvcs.plugins import Count
from perfvcs.plugins.view import Unfit, View

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement


@dataclass(frozen=True)
class Table(View[Listing]):
    """``rows``: at most so many are listed in a page or a terminal; a file of the table has all."""

    asked: ClassVar[bool] = True

    rows: Count = 2000

    def cut(self, subject: Subject) -> Listing:
        """The complete table."""
        if not (table := listing(subject)):
            raise Unfit("it lists what was measured, and there is nothing")
        return table

    def table(self, data: Listing) -> Listing:
        """The table cut to ``rows``, which a page can sort and search."""
        left_out = len(data.rows) - self.rows
        if left_out > 0:
            more = [f"{left_out:,} more rows are not listed: write a file with -o FILE.csv."]
        else:
            more = []
        return replace(data, rows=data.rows[: self.rows], notes=[*data.notes, *more])

    def text(self, data: Listing, width: int) -> str:
        """The table for a terminal."""
        from perfvcs.pictures.writing import plain

        return plain(self.table(data), width)

    def render(self, data: Listing) -> UIElement:
        """The table as text of a page, for layouts that are not pages of `perf show`."""
        from bokeh.models.widgets import Div

        table = self.table(data)
        shown = [number for number, column in enumerate(table.columns) if not column.apart]
        titles = ["benchmark", *(table.columns[number].title for number in shown)]
        heads = "".join(f"<th>{escape(title)}</th>" for title in titles)
        rows = ""
        for row in table.rows:
            cells = [row.cells[number] for number in shown]
            values = "".join(f"<td>{escape(cell.said) if cell else ''}</td>" for cell in cells)
            rows += f"<tr><th>{escape(row.name)}</th>{values}</tr>"
        return Div(
            text=f"<table><caption>{escape(table.caption)}</caption><tr>{heads}</tr>{rows}</table>",
            disable_math=True,
        )
