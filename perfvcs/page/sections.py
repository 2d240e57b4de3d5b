"""The figures of a page: sections that open and close, with a block per metric."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import get_args

from perfvcs.drawing.parts import BenchmarkKey
from perfvcs.drawing.tables.listing import Listing
from perfvcs.page.choice import Drawable, fitted
from perfvcs.page.packing import Backend, FigureArchive
from perfvcs.page.pieces import PagePiece, pieces
from perfvcs.page.table import PageTable
from perfvcs.subject import Subject
from perfvcs.text.characters import shorten
from perfvcs.text.words import FIRST_METRICS, metric_name
from perfvcs.view import Scope

FIGURES = 40  # in one page: one costs some 40 ms to make, and its reader the time to look
MISSES = 3  # pieces that have no room, after which no smaller one is looked for
FIGURE_OVERHEAD = 400  # characters around a figure
VIEW_CHARACTERS = 2_000_000  # characters of all figures of a view that was asked for
PAGE_POINTS = 80_000  # in all figures of a page
OPEN_SECTIONS = 3  # sections that are open at first
BOTH = 5  # sections with figures on both kinds of axes, which take twice as long to make


@dataclass(frozen=True)
class Figure:
    """One place for a figure; ``label`` says in words what is drawn."""

    id: str
    view: str
    label: str
    height: int


@dataclass(frozen=True)
class FigureBlock:
    """The figures of one metric, what diagnostics among them have to say, and tables that belong to them."""

    heading: str
    figures: list[Figure]
    remarks: list[str]
    tables: list[Listing] = field(default_factory=list)


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
    """All figures of a page, the anchor of every benchmark that has one, and the pieces that were left out.

    ``table`` is what the page's table says of each benchmark, which the figures' alternative texts repeat; ``asked`` is as in ``draw``.
    """

    archive: FigureArchive
    table: PageTable | None = None
    asked: bool = False
    sections: dict[str, Section] = field(default_factory=dict)
    anchors: dict[BenchmarkKey, str] = field(default_factory=dict)
    left_out: list[PagePiece] = field(default_factory=list)
    figures: int = 0
    plots: int = 0

    def block(self, piece: PagePiece, drawables: Iterable[Drawable], points: int, room: int) -> bool:
        """Draw one piece with all views that fit it; of a metric that is folded with the first of them. False: there is no room for it.

        Of diagnostics, unless ``asked`` for, only those that have something to say.
        """
        found = ((one, said) for one in drawables if (said := None if self.asked else one.view.telling(one.data)) != "")
        known = self.sections.get(piece.section)
        folded = (
            piece.metric not in FIRST_METRICS
            and piece.scope != "stacks"
            and not piece.changed
            and known is not None
            and known.blocks
        )
        block, complete = FigureBlock(metric_name(piece.metric), [], []), True
        for (name, view, data), said in islice(found, 1 if folded else None):
            both = len(self.sections) + (known is None) <= BOTH
            layout, number = view.bounded(points=points, both=both).render(data), f"f{self.figures + 1}"
            plots = self.archive.add(layout, number, room - FIGURE_OVERHEAD * self.figures if self.figures else None)
            complete = complete and plots > 0
            if plots:
                self.figures, self.plots = self.figures + 1, self.plots + plots
                label = self._label(piece, name, type(view).__module__)
                block.figures.append(Figure(number, name, label, int(getattr(layout, "height", None) or 0)))
                block.remarks.extend([said] if said else [])
                block.tables.extend(view.beside(data))
        if block.figures:
            section = known or self._section(piece)
            (section.rest if folded else section.blocks).append(block)
        return complete

    def _section(self, piece: PagePiece) -> Section:
        """A new section, with a name that others can be sent to."""
        name, count = shorten(piece.section, 120), len(self.sections)
        section = self.sections[piece.section] = Section(
            f"s{count + 1}", name, shorten(piece.section, 1000), count < OPEN_SECTIONS
        )
        if piece.key is not None:
            self.anchors.setdefault(piece.key, section.anchor)
        return section

    def _label(self, piece: PagePiece, name: str, module: str) -> str:
        """The caption of a figure: its benchmark, its numbers, and how to read it."""
        numbers = "" if self.table is None else self.table.sentence(piece.key, piece.metric)
        about = (sys.modules[module].__doc__ or name).partition("\n")[0]
        whose = ", ".join(filter(None, [shorten(piece.section, 120), metric_name(piece.metric)]))
        return f"{whose}: {numbers}. {about}" if numbers else f"{whose}. {about}"


def draw(
    subject: Subject, chosen: Sequence[Drawable], table: PageTable | None = None, backend: Backend = "canvas", *, asked: bool = False,
    room: int = VIEW_CHARACTERS,
) -> PageFigures:  # fmt: skip
    """The figures of a subject by these views, so many as a page can hold; ``backend`` is what bokeh draws with.

    ``asked``: somebody has named the views, which are then drawn whatever they have to say; otherwise they have ``room`` characters.
    Each view draws the pieces of its scope; the whole subject where no view draws any piece.
    """
    room = max(room, VIEW_CHARACTERS) if asked else room
    by_scope: dict[Scope, list[Drawable]] = {}
    for one in chosen:
        by_scope.setdefault(one.view.scope, []).append(one)
    cut = [piece for piece in pieces(subject, curves="sizes" in by_scope) if piece.scope in by_scope] if chosen else []
    found, points = PageFigures(FigureArchive(backend), table, asked), _points(len(cut) * len(chosen))
    for piece in cut:
        drawn = False
        if found.plots < FIGURES and len(found.left_out) < MISSES:
            narrowed = piece.narrow()
            suited = (fitted(narrowed, {one.name: one.view}) for one in by_scope[piece.scope])
            drawn = found.block(piece, chain.from_iterable(suited), points, room)
        if not drawn:
            found.left_out.append(piece)
    if not found.sections:
        for scope in sorted(by_scope, key=get_args(Scope).index):
            whole = PagePiece(subject.title, None, "", partial(replace, subject), scope)
            found.block(whole, by_scope[scope], _points(len(by_scope) * len(chosen)), room)
    return found


def _points(figures: int) -> int:
    """The most points of one of so many figures."""
    return max(100, PAGE_POINTS // max(1, min(FIGURES, figures)))
