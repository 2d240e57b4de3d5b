"""The figures of a page: sections that open and close, with a block per metric."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace

from perfvcs.drawing.tables.listing import Key
from perfvcs.page.packing import Backend, pack
from perfvcs.page.places import KINDS, Place, places
from perfvcs.page.table import Overview
from perfvcs.subject import Subject
from perfvcs.text.characters import shorten
from perfvcs.text.words import FIRST, metric_name
from perfvcs.views import View

FIGURES = 40  # in one page: one costs some 40 ms to make, and its reader the time to look
POINTS = 80_000  # in all figures of a page
OPEN = 3  # sections that are open at first
BOTH = 5  # sections with figures on both kinds of axes, which take twice as long to make


@dataclass(frozen=True)
class Figure:
    """One place for a figure: ``packed`` is bokeh's document, JSON, gzip, base64; ``label`` says in words what is drawn."""

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


@dataclass
class Drawing:
    """All figures of a page, the anchor of every benchmark that has one, and what was left out in words.

    ``told`` is what the page's table says of each benchmark, which the figures' alternative texts repeat.
    """

    told: Overview | None = None
    sections: dict[str, Section] = field(default_factory=dict)
    anchors: dict[Key, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    figures: int = 0
    plots: int = 0

    def block(self, place: Place, views: Mapping[str, View], points: int, backend: Backend) -> None:
        """Draw one piece with all views that fit it."""
        narrowed = place.narrow()
        fitting = {name: view for name, view in views.items() if place.suits(view) and view.fits(narrowed) is None}
        if not fitting:
            return
        name = shorten(place.section, 120)
        section = self.sections.setdefault(
            place.section, Section(f"s{len(self.sections) + 1}", name, shorten(place.section, 1000), len(self.sections) < OPEN)
        )
        if place.key is not None:
            self.anchors.setdefault(place.key, section.anchor)
        folded = place.metric not in FIRST and not place.stacks and len(section.blocks) >= 1
        figures = []
        for name, view in list(fitting.items())[: 1 if folded else None]:
            self.figures += 1
            layout = _bounded(view, points, len(self.sections) <= BOTH).render(narrowed)
            packed = pack(layout, f"f{self.figures}", backend)
            self.plots += packed.plots
            label = self._label(place, name, view)
            figures.append(Figure(f"f{self.figures}", name, label, int(getattr(layout, "height", None) or 0), packed.text))
        (section.rest if folded else section.blocks).append(Block(metric_name(place.metric), figures))

    def _label(self, place: Place, name: str, view: View) -> str:
        """What a figure shows, in words: whose, what its numbers are, and how it is to be read."""
        numbers = "" if self.told is None else self.told.sentence(place.key, place.metric)
        about = (sys.modules[type(view).__module__].__doc__ or name).partition("\n")[0]
        whose = ", ".join(filter(None, [shorten(place.section, 120), metric_name(place.metric)]))
        return f"{whose}: {numbers}. {about}" if numbers else f"{whose}. {about}"


def draw(subject: Subject, chosen: Mapping[str, View], told: Overview | None = None, backend: Backend = "canvas") -> Drawing:
    """The figures of a subject by these views, so many as a page can hold; ``backend`` is what bokeh draws with."""
    found = Drawing(told)
    if not chosen:
        return found
    every = places(subject, any(getattr(view, "whole", False) for view in chosen.values()))
    pieces = [place for place in every if any(place.suits(view) for view in chosen.values())]
    if not any(view.fits(place.narrow()) is None for view in chosen.values() for place in pieces if place.suits(view)):
        kinds = sorted({tuple(getattr(view, kind, False) for kind in KINDS) for view in chosen.values()})
        pieces = [Place(subject.title, None, "", lambda: subject, **dict(zip(KINDS, each, strict=True))) for each in kinds]
    points = max(100, POINTS // max(1, min(FIGURES, len(pieces) * len(chosen))))
    left_out = 0
    for place in pieces:
        if found.plots < FIGURES:
            found.block(place, chosen, points, backend)
        else:
            left_out += 1
    if left_out:
        found.notes.append(f"{left_out:,} more pairs of benchmark and metric are not drawn, to keep this page small.")
    return found


def _bounded(view: View, points: int, both: bool) -> View:
    """The view, drawing at most ``points`` and, unless ``both``, on one kind of axes, where it has such bounds."""
    if is_dataclass(view) and not isinstance(view, type):
        bounds = {"points": min(points, getattr(view, "points", points)), "both": both and getattr(view, "both", True)}
        bounded: View = replace(view, **{field.name: bounds[field.name] for field in fields(view) if field.name in bounds})
        return bounded
    return view
