"""The figures of a page: sections that open and close, with a block per metric."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import get_args

from perfvcs.drawing.tables.listing import Key
from perfvcs.page.choice import Drawable, fitted
from perfvcs.page.packing import Backend, pack
from perfvcs.page.pieces import PagePiece, pieces
from perfvcs.page.table import PageTable
from perfvcs.subject import Subject
from perfvcs.text.characters import shorten
from perfvcs.text.words import FIRST, metric_name
from perfvcs.view import Scope

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
class FigureBlock:
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
    blocks: list[FigureBlock] = field(default_factory=list)
    rest: list[FigureBlock] = field(default_factory=list)


@dataclass
class PageFigures:
    """All figures of a page, the anchor of every benchmark that has one, and what was left out in words.

    ``told`` is what the page's table says of each benchmark, which the figures' alternative texts repeat.
    """

    told: PageTable | None = None
    sections: dict[str, Section] = field(default_factory=dict)
    anchors: dict[Key, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    figures: int = 0
    plots: int = 0

    def block(self, piece: PagePiece, drawables: Iterable[Drawable], points: int, backend: Backend) -> None:
        """Draw one piece with all views that fit it; of a metric that is folded with the first of them."""
        found = iter(drawables)
        if (first := next(found, None)) is None:
            return
        name = shorten(piece.section, 120)
        section = self.sections.setdefault(
            piece.section, Section(f"s{len(self.sections) + 1}", name, shorten(piece.section, 1000), len(self.sections) < OPEN)
        )
        if piece.key is not None:
            self.anchors.setdefault(piece.key, section.anchor)
        folded = piece.metric not in FIRST and piece.scope != "stacks" and len(section.blocks) >= 1
        figures = []
        for name, view, data in [first] if folded else [first, *found]:
            self.figures += 1
            layout = view.bounded(points=points, both=len(self.sections) <= BOTH).render(data)
            packed = pack(layout, f"f{self.figures}", backend)
            self.plots += packed.plots
            label = self._label(piece, name, type(view).__module__)
            figures.append(Figure(f"f{self.figures}", name, label, int(getattr(layout, "height", None) or 0), packed.text))
        (section.rest if folded else section.blocks).append(FigureBlock(metric_name(piece.metric), figures))

    def _label(self, piece: PagePiece, name: str, module: str) -> str:
        """What a figure shows, in words: whose, what its numbers are, and how it is to be read."""
        numbers = "" if self.told is None else self.told.sentence(piece.key, piece.metric)
        about = (sys.modules[module].__doc__ or name).partition("\n")[0]
        whose = ", ".join(filter(None, [shorten(piece.section, 120), metric_name(piece.metric)]))
        return f"{whose}: {numbers}. {about}" if numbers else f"{whose}. {about}"


def draw(subject: Subject, chosen: Sequence[Drawable], told: PageTable | None = None, backend: Backend = "canvas") -> PageFigures:
    """The figures of a subject by these views, so many as a page can hold; ``backend`` is what bokeh draws with.

    Each view draws the pieces of its scope; the whole subject where no view draws any piece.
    """
    by_scope: dict[Scope, list[Drawable]] = {}
    for one in chosen:
        by_scope.setdefault(one.view.scope, []).append(one)
    cut = [piece for piece in pieces(subject, curves="sizes" in by_scope) if piece.scope in by_scope] if chosen else []
    found, left_out, points = PageFigures(told), 0, _points(len(cut) * len(chosen))
    for piece in cut:
        if found.plots < FIGURES:
            narrowed = piece.narrow()
            suited = (fitted(narrowed, {one.name: one.view}) for one in by_scope[piece.scope])
            found.block(piece, chain.from_iterable(suited), points, backend)
        else:
            left_out += 1
    if left_out:
        found.notes.append(f"{left_out:,} more pairs of benchmark and metric are not drawn, to keep this page small.")
    if not found.sections:
        for scope in sorted(by_scope, key=get_args(Scope).index):
            whole = PagePiece(subject.title, None, "", partial(replace, subject), scope)
            found.block(whole, by_scope[scope], _points(len(by_scope) * len(chosen)), backend)
    return found


def _points(figures: int) -> int:
    """How many one of so many figures may draw."""
    return max(100, POINTS // max(1, min(FIGURES, figures)))
