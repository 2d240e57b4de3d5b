"""Figures that are drawn when the reader asks for them: pairs of benchmark and metric without a figure travel as numbers only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from perfvcs.drawing.samples import samples
from perfvcs.page.packing import compressed
from perfvcs.page.pieces import PagePiece
from perfvcs.page.table import PageTable
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import scale
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfvcs.profile import Profile

ROOM = 24_000  # characters in a page, compressed
MOST = 600  # figures
SIDE_POINTS = 60  # of a side
NAME_CHARACTERS = 160
SIGNIFICANT_DIGITS = 4


class FigureNumbers(msgspec.Struct, omit_defaults=True):
    """The data of one figure: the values of each side (of its executions, or with ``sizes`` the means there), in ``unit``."""

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
    found = [numbers for piece in asked[:MOST] if (numbers := _numbers(piece, table)) is not None]
    while found:
        packed = compressed(msgspec.json.encode(found).decode())
        if len(packed) <= ROOM:
            return Further(packed, len(found), len(asked) - len(found))
        found = found[: int(len(found) * min(0.9, ROOM / len(packed)))]
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
    unit = next(one.meaning.unit for side in sides for one in samples(side, whole=True))
    chosen = scale(max(float(abs(values).max()) for _, values in columns), unit)
    return FigureNumbers(
        shorten(piece.section, NAME_CHARACTERS), metric_name(piece.metric), chosen.unit,
        "" if table is None else shorten(table.sentence(piece.key, piece.metric), NAME_CHARACTERS),
        [_rounded(values * chosen.factor) for _, values in columns],
        [_rounded(sizes) for sizes, _ in columns] if piece.scope == "sizes" else [],
    )  # fmt: skip


def _columns(profiles: Sequence[Profile], *, sized: bool) -> tuple[NDArray, NDArray]:  # type: ignore[type-arg]
    """Sizes and means of a side, or the medians of its executions (with sizes of no meaning); evenly spaced ones of many."""
    import numpy as np

    found = samples(profiles, whole=True)
    if not sized:
        values = np.concatenate([np.empty(0), *(one.medians[1] for one in found)])
        return values[:SIDE_POINTS], values[:SIDE_POINTS]
    size, value = (np.concatenate([np.empty(0), *(getattr(one, name) for one in found)]) for name in ("size", "values"))
    there, which = np.unique(size[np.isfinite(size)], return_inverse=True)
    means = np.bincount(which, value[np.isfinite(size)]) / np.maximum(1, np.bincount(which))
    kept = np.unique(np.linspace(0, len(there) - 1, min(SIDE_POINTS, len(there))).astype(int)) if len(there) else np.empty(0, int)
    return there[kept], means[kept]


def _rounded(values: NDArray) -> list[float]:  # type: ignore[type-arg]
    return [float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in values.tolist()]
