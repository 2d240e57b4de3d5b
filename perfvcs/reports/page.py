"""A page of `perf show`: one self-contained HTML file made of a table and the views that fit."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from perfvcs.check.subject import Subject
from perfvcs.reports.head import answer, facts, warnings
from perfvcs.reports.packing import LETTERS, Backend, compressed
from perfvcs.reports.pagetable import overview
from perfvcs.reports.pieces import choose, nothing, pieces
from perfvcs.reports.sections import Further, draw, on_demand
from perfvcs.reports.templating import environment
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import micro_sign

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

PAGE_ROOM = 150_000  # characters of all figures, with which a page of few rows has at most 0.65 MB
ROW, FOLDED = 900, 130  # characters of a row, and of one that is compressed
SKETCHED = ("sample", "units")  # what views draw that a reader sees in sketches or in the table
UNCOMPRESSED_ROWS = 20  # rows of a table that stand in the page as they are; more are compressed


@micro_sign()
def render(
    subject: Subject,
    view: str | None = None,
    options: Mapping[str, str] | None = None,
    *,
    backend: Backend = "canvas",
    links: Mapping[str, str] | None = None,
    sketched: bool = False,
) -> str:
    """The HTML of a page with every view that fits the subject, or only the one named; ``options``
    are values for the views' fields.

    ``links`` stand above the title: words and addresses of pages around this one. ``sketched``:
    executions are drawn by the browser, those of the benchmark that the reader asks for, and units
    stand in the table only.

    Raises UsageError as ``choice.choose`` does.
    """
    from markupsafe import Markup

    chosen = choose(subject, view, options)
    page_table = overview(subject)
    listed = [drawable.view.table(drawable.data) for drawable in chosen]
    drawn = [
        drawable for drawable, view_table in zip(chosen, listed, strict=True) if view_table is None
    ]
    table = next(
        (view_table for view_table in listed if view_table is not None),
        page_table.table() if page_table else None,
    )
    if sketched:
        sketches = [piece for piece in pieces(subject, curves=False) if piece.scope == "sample"]
    else:
        sketches = []
    drawing = draw(
        subject,
        [each for each in drawn if not (sketched and each.view.scope in SKETCHED)],
        page_table,
        backend,
        asked=view is not None,
        room=_room(len(table.rows) if table else 0),
    )
    more = on_demand([*sketches, *drawing.left_out], page_table)
    words = [] if drawing.sections or chosen else [nothing(subject)]
    bokeh, template = _bokeh() if drawing.sections else "", _template()
    macros: Any = template.module
    script = (
        str(macros.loader(Markup(LETTERS.decode())))
        + _file("listing.js")
        + (_file("further.js") if more.count else "")
    )
    folded = ""
    if table and table.rows[UNCOMPRESSED_ROWS:]:
        folded = compressed(
            str(
                macros.rows(table, table.rows[UNCOMPRESSED_ROWS:], drawing.anchors, subject.sources)
            )
        )
    return template.render(
        title=shorten(subject.title, 160) or "perfvcs",
        full_title=shorten(subject.title, 10_000) or "perfvcs",
        facts=facts(subject),
        warnings=warnings(subject),
        answer=answer(subject),
        table=table,
        plain=UNCOMPRESSED_ROWS,
        folded=folded,
        sections=list(drawing.sections.values()),
        anchors=drawing.anchors,
        notes=[*subject.notes, *_missing(more)],
        further=more,
        words=words,
        links=links,
        sources=subject.sources,
        policy=_policy(bokeh, script),
        bokeh=_packed(bokeh) if bokeh else "",
        figures=drawing.archive.text(),
        script=_verbatim(script),
    )


def _missing(more: Further) -> list[str]:
    """How many pairs of benchmark and metric have neither a figure nor the numbers for one."""
    if not more.missing:
        return []
    return [
        f"{more.missing:,} more pairs of benchmark and metric are not drawn, to keep this page"
        " small; `--view NAME` draws those of a view."
    ]


def _room(rows: int) -> int:
    """Characters that a table of so many rows leaves to the figures."""
    return max(
        0,
        PAGE_ROOM - ROW * min(rows, UNCOMPRESSED_ROWS) - FOLDED * max(0, rows - UNCOMPRESSED_ROWS),
    )


@cache
def _bokeh() -> str:
    """BokehJS with nothing but plots, as one script."""
    from bokeh.resources import Resources

    resources = Resources(mode="inline", components=["bokeh"], log_level="error")
    return "\n".join(resources.js_raw).replace("\r\n", "\n")


@cache
def _packed(bokeh: str) -> str:
    return compressed(bokeh)


@cache
def _template() -> Template:
    templates = environment({"page.html": _file("page.html")})
    templates.filters["address"] = _address
    return templates.get_template("page.html")


def _address(place: str, sources: Mapping[str, str]) -> str:
    """The address of a file and line; empty if it has none."""
    file, _, line = place.rpartition(":")
    return f"{sources[file]}{line}" if file in sources else sources.get(place, "")


def _file(name: str) -> str:
    return files("perfvcs.reports").joinpath(name).read_text(encoding="utf-8")


def _verbatim(script: str) -> Markup:
    """A script of the program's own, unescaped; it must not be able to end its element."""
    from markupsafe import Markup

    if "</script" in script.lower():
        raise AssertionError("a script that ends its own element cannot be in a page")
    return Markup(script)


def _policy(*scripts: str) -> str:
    """A content security policy with these scripts' hashes, own styles and images, no request."""
    hashes = (
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    )
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:;"
        " font-src data:; base-uri 'none'; form-action 'none'"
    )
