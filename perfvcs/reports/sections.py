"""The figures of a page: sections that open and close, with a block per metric."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import get_args

import msgspec

from perfvcs.check.subject import Subject
from perfvcs.pictures.listing import Listing, title
from perfvcs.pictures.pageparts import BenchmarkKey
from perfvcs.pictures.sample import samples
from perfvcs.plugins.view import Scope
from perfvcs.profile import Profile
from perfvcs.reports.packing import Backend, FigureArchive, compressed
from perfvcs.reports.pagetable import PageTable
from perfvcs.reports.pieces import Drawable, PagePiece, fitted, pieces
from perfvcs.system.numeric import Floats, np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import scale
from perfvcs.text.words import FIRST_METRICS, metric_name

ROOM = 24_000  # characters in a page, compressed
MOST = 600  # figures
SIDE_POINTS = 60  # of a side
NAME_CHARACTERS = 160
SIGNIFICANT_DIGITS = 4
FIGURES = 40  # in one page: one costs some 40 ms to make, and its reader the time to look
MISSES = 3  # pieces that have no room, after which no smaller one is looked for
FIGURE_OVERHEAD = 400  # characters around a figure
VIEW_CHARACTERS = 2_000_000  # characters of all figures of a view that was asked for
PAGE_POINTS = 80_000  # in all figures of a page
OPEN_SECTIONS = 3  # sections that are open at first
BOTH = 5  # sections with figures on both kinds of axes, which take twice as long to make


class FigureNumbers(msgspec.Struct, omit_defaults=True):
    """The data of one figure: the values of each side (of its executions, or with ``sizes`` the
    means there), in ``unit``.
    """

    name: str
    metric: str
    unit: str
    said: str
    sides: list[list[float]]
    sizes: list[list[float]] = []


@dataclass(frozen=True)
class Further:
    """The packed numbers of ``count`` figures, and how many pairs beyond these have none."""

    packed: str = ""
    count: int = 0
    missing: int = 0


def on_demand(pieces: Iterable[PagePiece], table: PageTable | None) -> Further:
    """As many of the pieces as there is room for, in their order."""
    asked = list(pieces)
    figures = [numbers for piece in asked[:MOST] if (numbers := _numbers(piece, table)) is not None]
    while figures:
        packed = compressed(msgspec.json.encode(figures).decode())
        if len(packed) <= ROOM:
            return Further(packed, len(figures), len(asked) - len(figures))
        figures = figures[: int(len(figures) * min(0.9, ROOM / len(packed)))]
    return Further(missing=len(asked))


def _numbers(piece: PagePiece, table: PageTable | None) -> FigureNumbers | None:
    """The numbers of a piece; None if it is not of one benchmark and metric."""
    if piece.scope not in ("sample", "sizes"):
        return None
    subject = piece.narrow()
    sides = [side for side in (subject.baseline, subject.target) if side]
    columns = [_columns(side, sized=piece.scope == "sizes") for side in sides]
    if not columns or not all(len(values) for _, values in columns):
        return None
    unit = next(sample.meaning.unit for side in sides for sample in samples(side, whole=True))
    chosen = scale(max(float(abs(values).max()) for _, values in columns), unit)
    sentence = "" if table is None else table.sentence(piece.key, piece.metric)
    x = [_rounded(sizes) for sizes, _ in columns] if piece.scope == "sizes" else []
    return FigureNumbers(
        shorten(piece.section, NAME_CHARACTERS),
        metric_name(piece.metric),
        chosen.unit,
        shorten(sentence, NAME_CHARACTERS),
        [_rounded(values * chosen.factor) for _, values in columns],
        x,
    )


def _columns(profiles: Sequence[Profile], *, sized: bool) -> tuple[Floats, Floats]:
    """Sizes and means of a side, or its executions' medians; evenly spaced ones of many."""
    drawn = samples(profiles, whole=True)
    if not sized:
        values = np.concatenate([np.empty(0), *(sample.medians[1] for sample in drawn)])
        return values[:SIDE_POINTS], values[:SIDE_POINTS]
    size = np.concatenate([np.empty(0), *(sample.size for sample in drawn)])
    value = np.concatenate([np.empty(0), *(sample.values for sample in drawn)])
    there, which = np.unique(size[np.isfinite(size)], return_inverse=True)
    means = np.bincount(which, value[np.isfinite(size)]) / np.maximum(1, np.bincount(which))
    if len(there):
        shown = np.unique(np.linspace(0, len(there) - 1, min(SIDE_POINTS, len(there))).astype(int))
    else:
        shown = np.empty(0, int)
    return there[shown], means[shown]


def _rounded(values: Floats) -> list[float]:
    return [float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in values.tolist()]


@dataclass(frozen=True)
class Figure:
    """One place for a figure; ``label`` says in words what is drawn."""

    id: str
    view: str
    label: str
    height: int


@dataclass(frozen=True)
class FigureBlock:
    """The figures of one metric, what diagnostics have to say, and tables that belong to them."""

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
    """All figures of a page, the anchor of every benchmark that has one, and the pieces that were
    left out.

    ``table`` is what the page's table says of each benchmark, which the figures' alternative texts
    repeat; ``asked`` is as in ``draw``.
    """

    archive: FigureArchive
    table: PageTable | None = None
    asked: bool = False
    sections: dict[str, Section] = field(default_factory=dict)
    left_out: list[PagePiece] = field(default_factory=list)
    figures: int = 0
    plots: int = 0

    def block(
        self, piece: PagePiece, drawables: Iterable[Drawable], points: int, room: int
    ) -> bool:
        """Draw one piece with all views that fit it; of a metric that is folded with the first of
        them. False: there is no room for it.

        Of diagnostics, unless ``asked`` for, only those that have something to say.
        """
        telling = (
            (drawable, remark)
            for drawable in drawables
            if (remark := None if self.asked else drawable.view.telling(drawable.data)) != ""
        )
        section = self.sections.get(piece.section)
        folded = (
            piece.metric not in FIRST_METRICS
            and piece.scope != "stacks"
            and not piece.changed
            and section is not None
            and section.blocks
        )
        remarks = [] if self.asked or not piece.remark else [piece.remark]
        block, complete = FigureBlock(metric_name(piece.metric), [], remarks), True
        for (name, view, data), remark in islice(telling, 1 if folded else None):
            both = len(self.sections) + (section is None) <= BOTH
            layout = view.bounded(points=points, both=both).render(data)
            number = f"f{self.figures + 1}"
            plots = self.archive.add(
                layout, number, room - FIGURE_OVERHEAD * self.figures if self.figures else None
            )
            complete = complete and plots > 0
            if plots:
                self.figures, self.plots = self.figures + 1, self.plots + plots
                label = self._label(piece, name, type(view).__module__)
                block.figures.append(
                    Figure(number, name, label, int(getattr(layout, "height", None) or 0))
                )
                block.remarks.extend([remark] if remark else [])
                block.tables.extend(view.beside(data))
        if block.figures:
            section = section or self._section(piece)
            (section.rest if folded else section.blocks).append(block)
        return complete

    def _section(self, piece: PagePiece) -> Section:
        """A new section, with a name that others can be sent to."""
        name, count = shorten(piece.section, 120), len(self.sections)
        section = self.sections[piece.section] = Section(
            f"s{count + 1}", name, shorten(piece.section, 1000), count < OPEN_SECTIONS
        )
        return section

    @property
    def anchors(self) -> dict[BenchmarkKey, str]:
        """The section of each row of the table that has one."""
        keys = {key for key, _ in self.table.cells} if self.table else ()
        sections = {key: self.sections.get(title(key)) for key in keys}
        return {key: section.anchor for key, section in sections.items() if section}

    def _label(self, piece: PagePiece, name: str, module: str) -> str:
        """The caption of a figure: its benchmark, its numbers, and how to read it."""
        numbers = "" if self.table is None else self.table.sentence(piece.key, piece.metric)
        explanation = " ".join((sys.modules[module].__doc__ or name).partition("\n\n")[0].split())
        whose = ", ".join(filter(None, [shorten(piece.section, 120), metric_name(piece.metric)]))
        return f"{whose}: {numbers}. {explanation}" if numbers else f"{whose}. {explanation}"


def draw(
    subject: Subject,
    chosen: Sequence[Drawable],
    table: PageTable | None = None,
    backend: Backend = "canvas",
    *,
    asked: bool = False,
    room: int = VIEW_CHARACTERS,
) -> PageFigures:
    """The figures of a subject by these views, so many as a page can hold; ``backend`` is what
    bokeh draws with.

    ``asked``: somebody has named the views, which are then drawn whatever they have to say;
    otherwise they have ``room`` characters. Each view draws the pieces of its scope; the whole
    subject where no view draws any piece.
    """
    room = max(room, VIEW_CHARACTERS) if asked else room
    by_scope: dict[Scope, list[Drawable]] = {}
    for drawable in chosen:
        by_scope.setdefault(drawable.view.scope, []).append(drawable)
    cut = (
        [piece for piece in pieces(subject, curves="sizes" in by_scope) if piece.scope in by_scope]
        if chosen
        else []
    )
    echoes = [] if asked else [piece for piece in cut if piece.echo]
    cut = [piece for piece in cut if asked or not piece.echo]
    figures = PageFigures(FigureArchive(backend), table, asked)
    points = _points(len(cut) * len(chosen))
    for piece in cut:
        drawn = False
        if figures.plots < FIGURES and len(figures.left_out) < MISSES:
            narrowed = piece.narrow()
            suited = (
                fitted(narrowed, {drawable.name: drawable.view})
                for drawable in by_scope[piece.scope]
            )
            drawn = figures.block(piece, chain.from_iterable(suited), points, room)
        if not drawn:
            figures.left_out.append(piece)
    figures.left_out += echoes
    if not figures.sections:
        for scope in sorted(by_scope, key=get_args(Scope).index):
            whole = PagePiece(subject.title, None, "", partial(replace, subject), scope)
            figures.block(whole, by_scope[scope], _points(len(by_scope) * len(chosen)), room)
    return figures


def _points(figures: int) -> int:
    """The most points of one of so many figures."""
    return max(100, PAGE_POINTS // max(1, min(FIGURES, figures)))
