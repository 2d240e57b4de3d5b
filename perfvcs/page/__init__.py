"""A page of `perf show`: one self-contained HTML file made of a table and the views that fit."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from perfvcs.page.choice import choose, nothing
from perfvcs.page.facts import facts, warnings
from perfvcs.page.packing import Backend
from perfvcs.page.sections import draw
from perfvcs.page.table import overview
from perfvcs.subject import Subject
from perfvcs.text.characters import shorten, written

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


def render(
    subject: Subject,
    view: str | None = None,
    options: Mapping[str, str] | None = None,
    *,
    backend: Backend = "canvas",
    links: Mapping[str, str] | None = None,
) -> str:
    """The HTML of a page with every view that fits the subject, or only the one named; ``options`` are values for the views' fields.

    ``links`` stand above the title: words and addresses of pages around this one.

    Raises UsageError as ``choice.choose`` does.
    """
    chosen = choose(subject, view, options)
    told = overview(subject)
    listed = [one.view.table(one.data) for one in chosen]
    drawing = draw(subject, [one for one, own in zip(chosen, listed, strict=True) if own is None], told, backend)
    tables = [own for own in listed if own is not None] or ([told.table()] if told else [])
    words = [] if drawing.sections or chosen else [nothing(subject)]
    bokeh, template = _bokeh() if drawing.sections else "", _template()
    script = str(template.module.loader()) + _file("listing.js")  # type: ignore[attr-defined]  # a macro of the template
    return template.render(
        title=shorten(subject.title, 160) or "perfvcs", full_title=shorten(subject.title, 10_000) or "perfvcs", facts=facts(subject),
        warnings=warnings(subject), table=tables[0] if tables else None, sections=list(drawing.sections.values()), anchors=drawing.anchors,
        notes=[*subject.notes, *drawing.notes], words=words, links=links, policy=_policy(bokeh, script), bokeh=_verbatim(bokeh),
        script=_verbatim(script),
    )  # fmt: skip


@cache
def _bokeh() -> str:
    """BokehJS with nothing but plots, as one script."""
    from bokeh.resources import Resources

    resources = Resources(mode="inline", components=["bokeh"], log_level="error")
    return "\n".join(resources.js_raw).replace("\r\n", "\n")


@cache
def _template() -> Template:
    from jinja2 import Environment

    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=written).from_string(_file("page.html"))


def _file(name: str) -> str:
    return files("perfvcs.page").joinpath(name).read_text(encoding="utf-8")


def _verbatim(script: str) -> Markup:
    """A script of the program's own, unescaped; it must not be able to end its element."""
    from markupsafe import Markup

    if "</script" in script.lower():
        raise AssertionError("a script that ends its own element cannot stand in a page")
    return Markup(script)


def _policy(*scripts: str) -> str:
    """A content security policy that allows these scripts by their hashes, styles and images of the page itself, and no request."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
