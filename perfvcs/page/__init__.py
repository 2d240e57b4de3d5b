"""A page of `perf show`: one self-contained HTML file made of a table and the views that fit."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs import plugins
from perfvcs.errors import UsageError, nearest
from perfvcs.page.table import Key, facts, tabulate, title, warnings
from perfvcs.quantity import FIRST, metric_name, metric_rank, shorten
from perfvcs.summary import MAX_SIZES, RECORDER
from perfvcs.views import Subject, View
from perfvcs.views._samples import Part, parts
from perfvcs.views._sides import FEWEST
from perfvcs.views._stacks import groups
from perfvcs.views.history import grouped

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from jinja2 import Template
    from markupsafe import Markup

FIGURES = 90  # in one page: one costs some 50 ms to make, and its reader the time to look
POINTS = 80_000  # in all figures of a page
ORDER = ("effects", "history", "curves", "executions")  # of the views in a block; then by name
OPEN = 3  # sections that are open at first
BOTH = 5  # sections with figures on both kinds of axes, which take twice as long to make


@dataclass(frozen=True)
class Figure:
    """One place for a figure: ``packed`` is bokeh's document, JSON, gzip, base64."""

    id: str
    view: str
    label: str
    height: int
    packed: str


@dataclass(frozen=True)
class Block:
    """The figures of one metric."""

    heading: str
    figures: list[Figure]


@dataclass
class Section:
    """One benchmark (or all of them): what opens and closes; ``rest`` is folded."""

    anchor: str
    title: str
    full: str
    open: bool = False
    blocks: list[Block] = field(default_factory=list)
    rest: list[Block] = field(default_factory=list)


class Place(NamedTuple):
    """A piece of the subject that becomes one block: which section, under which heading, and what to draw.

    ``whole``: over all sizes; ``stacks``: of all call stacks of one job.
    """

    section: str
    key: Key | None
    metric: str
    narrow: Callable[[], Subject]
    whole: bool = False
    stacks: bool = False

    def suits(self, view: View) -> bool:
        """Whether a view draws pieces of this kind."""
        return all(getattr(view, kind, False) == getattr(self, kind) for kind in ("whole", "stacks"))


def render(subject: Subject, view: str | None = None) -> str:
    """The HTML of a page with every view that fits the subject, or only the one named.

    Raises UsageError when there is no such view, or when it does not fit.
    """
    chosen = _choose(subject, view)
    sections, anchors, notes = _sections(subject, chosen)
    words = [] if sections or chosen else [_nothing(subject)]
    bokeh, template = _bokeh(), _template()
    script = str(template.module.loader())  # type: ignore[attr-defined]  # a macro of the template
    return template.render(
        title=shorten(subject.title, 160) or "perfvcs", full_title=shorten(subject.title, 10_000) or "perfvcs", facts=facts(subject),
        warnings=warnings(subject), table=tabulate(subject), sections=sections, anchors=anchors, notes=notes, words=words,
        policy=_policy(bokeh, script), bokeh=_verbatim(bokeh), script=_verbatim(script),
    )  # fmt: skip


def _choose(subject: Subject, view: str | None) -> dict[str, View]:
    """The views that fit, by name; raises UsageError for a named one that is not among them."""
    names = plugins.names("views")
    if view is not None and view not in names:
        raise UsageError(f"there is no view `{view}`{nearest(view, names)}")
    views: dict[str, View] = {name: plugins.find("views", name)() for name in names}
    reasons = {name: found.fits(subject) for name, found in views.items()}
    fitting = sorted(
        (name for name, reason in reasons.items() if reason is None),
        key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name),
    )
    if view is not None and reasons[view] is not None:
        cure = f"these do: {', '.join(fitting)}" if fitting else "and no other does: collect something first"
        raise UsageError(f"view `{view}` does not fit here, {reasons[view]}; {cure}")
    return {name: views[name] for name in (fitting if view is None else [view])}


def _nothing(subject: Subject) -> str:
    """Why there is no figure, in words."""
    if subject.report is not None and subject.report.changes:
        return "Nothing to draw: no comparison has an effect; the table says why."
    if subject.history:
        return "Nothing to draw: no commit of this series was measured."
    if subject.target or subject.baseline:
        return "Nothing to draw: the profiles have no measurements."
    return "Nothing to draw: there is no profile. `perf collect` makes one."


def _places(subject: Subject, curves: bool) -> Iterator[Place]:
    """The pieces in the order in which they are worth drawing: effects per metric, the history per series, then the benchmarks.

    With ``curves`` those with sizes come as a whole; recorded calls, and what has very many sizes, then come in no other way.

    Those that matter most come first, each with its wall time, CPU time and peak memory; their other metrics follow."""
    if subject.report is not None:
        for metric in sorted({change.metric for change in subject.report.changes}, key=metric_rank):
            changes = [change for change in subject.report.changes if change.metric == metric]
            report = msgspec.structs.replace(subject.report, changes=changes)
            yield Place("All changes", None, metric, partial(Subject, subject.title, report=report))
    for group in grouped(subject.history):
        key = (group[0].label, group[0].uid, group[0].size)
        yield Place(title(key), key, group[0].metric, partial(Subject, subject.title, history=group))
    for stacks, whole in groups(subject).items():
        yield Place(title((stacks.job, "", None)), None, "call stacks", partial(replace, whole), stacks=True)
    ranks: dict[Key, int] = {}
    for change in subject.report.changes if subject.report else ():
        ranks.setdefault((change.job, change.uid, change.size), len(ranks))
    found = [(part, (part.unit.job, part.unit.uid, part.unit.size)) for part in parts(subject) if not part.traced]
    if curves:
        along = [part for part in parts(subject, whole=True) if part.judged and part.sizes >= FEWEST]
        yield from _whole(subject, along, ranks)
        told = {(part.unit.job, part.unit.uid) for part in along if part.unit.collector == RECORDER or part.sizes > MAX_SIZES}
        found = [(part, key) for part, key in found if key[:2] not in told]
    ordered = sorted(found, key=lambda pair: (pair[0].metric not in FIRST, ranks.get(pair[1], len(ranks))))
    for part, key in ordered:
        yield Place(title(key), key, part.metric, part.narrow)


def _whole(subject: Subject, along: list[Part], ranks: Mapping[Key, int]) -> Iterator[Place]:
    """Benchmarks over all their sizes, with their verdicts, those first that matter most."""
    changes = subject.report.changes if subject.report else []
    verdicts = {(change.job, change.uid, change.metric): change for change in changes if change.size is None}
    for part in sorted(along, key=lambda part: ranks.get((part.unit.job, part.unit.uid, None), len(ranks))):
        verdict = verdicts.get((part.unit.job, part.unit.uid, part.metric))
        key = (part.unit.job, part.unit.uid, None)
        yield Place(title(key), key, part.metric, partial(part.narrow, verdict), whole=True)


def _sections(subject: Subject, chosen: Mapping[str, View]) -> tuple[list[Section], dict[Key, str], list[str]]:
    """Sections with their figures, the anchor of every benchmark that has one, and what was left out in words."""
    sections: dict[str, Section] = {}
    anchors: dict[Key, str] = {}
    places = list(_places(subject, any(getattr(view, "whole", False) for view in chosen.values())))
    if not any(view.fits(place.narrow()) is None for view in chosen.values() for place in places if place.suits(view)):
        places = [Place(subject.title, None, "", lambda: subject)] if chosen else []
    points = max(100, POINTS // max(1, min(FIGURES, len(places) * len(chosen))))
    drawn, left_out, number = 0, 0, 0
    for place in places:
        narrowed = place.narrow() if drawn < FIGURES else None
        able = {name: view for name, view in chosen.items() if place.suits(view)}
        fitting = {name: view for name, view in able.items() if narrowed is not None and view.fits(narrowed) is None}
        left_out += narrowed is None
        if narrowed is None or not fitting:
            continue
        name = shorten(place.section, 120)
        section = sections.setdefault(place.section, Section(f"s{len(sections) + 1}", name, shorten(place.section, 1000)))
        if place.key is not None:
            anchors.setdefault(place.key, section.anchor)
        figures = []
        for name, view in fitting.items():
            number += 1
            layout = _bounded(view, points, len(sections) <= BOTH).render(narrowed)
            packed, plots = _pack(layout, f"f{number}")
            drawn += plots
            label = f"{name}, {metric_name(place.metric)}: {section.title}"
            figures.append(Figure(f"f{number}", name, label, int(getattr(layout, "height", None) or 0), packed))
        folded = place.metric not in FIRST and not place.stacks and len(section.blocks) >= 1
        (section.rest if folded else section.blocks).append(Block(metric_name(place.metric), figures))
    ordered = list(sections.values())
    for section in ordered[:OPEN]:
        section.open = True
    notes = [f"{left_out:,} more pairs of benchmark and metric are not drawn, to keep this page small."] if left_out else []
    return ordered, anchors, notes


def _bounded(view: View, points: int, both: bool) -> View:
    """The view, drawing at most ``points`` and, unless ``both``, on one kind of axes, where it has such bounds."""
    if is_dataclass(view) and not isinstance(view, type):
        bounds = {"points": min(points, getattr(view, "points", points)), "both": both}
        bounded: View = replace(view, **{field.name: bounds[field.name] for field in fields(view) if field.name in bounds})
        return bounded
    return view


def _pack(layout: UIElement, target: str) -> tuple[str, int]:
    """What BokehJS needs to draw a layout into the element ``target``, and how many plots these are: gzip keeps a page of many small.

    Base64 has no character that could end the script element around it.
    """
    import bokeh
    from bokeh.document import Document
    from bokeh.models import Plot

    document = Document()
    document.add_root(layout)
    item = {"target_id": target, "root_id": layout.id, "doc": document.to_json(deferred=False), "version": bokeh.__version__}
    text = json.dumps(item, separators=(",", ":"), allow_nan=False)
    packed = base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
    return packed, sum(isinstance(model, Plot) for model in document.models)


@cache
def _bokeh() -> str:
    """BokehJS with nothing but plots, as one script."""
    from bokeh.resources import Resources

    resources = Resources(mode="inline", components=["bokeh"], log_level="error")
    return "\n".join(resources.js_raw).replace("\r\n", "\n")


@cache
def _template() -> Template:
    from jinja2 import Environment

    text = files("perfvcs.views").joinpath("page.html").read_text(encoding="utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)


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
