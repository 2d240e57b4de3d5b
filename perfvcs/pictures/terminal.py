"""Drawing with characters: axes with units, points and lines of braille dots, levels, whiskers, and
rows with an interval each.

Names, legends and sentences around a drawing: ``_columns``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.characters import columns, fitted
from perfvcs.text.quantity import number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

HEIGHT = 14  # lines of a plot, its axis and title left out
NARROW = 1e-6  # share of its middle that an axis spans at least
LARGEST_END = 1e299  # an axis that reaches further has its ends for ticks
NARROWEST = 8  # columns between the axes: less shows nothing
DOTS = (4, 2)  # of one character of braille: down and across
TICK_ROOM = 8  # columns of a tick's text
BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BRAILLE = 0x2800
STEPS = (1, 2, 5)


@dataclass(frozen=True)
class Axis:
    """From ``low`` to ``high``, shown as ``label``; ``names`` are the texts of places that have
    one, in the place of numbers.

    A logarithmic axis (``log``) wants positive ends.
    """

    low: float
    high: float
    label: str = ""
    log: bool = False
    names: Mapping[float, str] = field(default_factory=dict)

    @classmethod
    def over(
        cls, values: ArrayLike, label: str = "", *, log: bool = False, least: float = 0.0
    ) -> Axis:
        """An axis over all finite values (positive if ``log``), at least ``least`` wide."""
        finite = np.asarray(values, dtype=np.float64).ravel()
        finite = finite[np.isfinite(finite) & (finite > 0 if log else True)]
        if not len(finite):
            return cls(1.0, 10.0, label, log) if log else cls(0.0, 1.0, label)
        low, high = float(finite.min()), float(finite.max())
        if log:
            room = max(0.0, math.log1p(max(least, NARROW)) - math.log(high) + math.log(low)) / 2
            return cls(low * math.exp(-room), high * math.exp(room), label, log)
        middle = low / 2 + high / 2
        room = max(0.0, max(least, NARROW) * abs(middle) - (high - low)) / 2
        room = room or (0.5 if low == high else 0.0)
        return cls(low - room, high + room, label)

    def shares(self, values: ArrayLike) -> Floats:
        """Where values lie between the ends, 0 to 1; NaN if that cannot be said."""
        places = np.asarray(values, dtype=np.float64)
        with np.errstate(all="ignore"):
            if self.log:
                return np.asarray(
                    (np.log(places) - math.log(self.low))
                    / (math.log(self.high) - math.log(self.low))
                )
            span = self.high / 2 - self.low / 2  # halves: the whole may be beyond a float
            return np.asarray((places / 2 - self.low / 2) / span)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """At most ``most`` round numbers (or two) with their texts, or all named places."""
        if self.names:
            return sorted(self.names.items())
        return (_decades(self.low, self.high, most) if self.log else []) or _round(
            self.low, self.high, max(2, most)
        )


def _round(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Multiples of the smallest 1, 2 or 5 times a power of ten of which no more than ``most`` lie
    between the ends.

    Where that leaves less than two, the next smaller ones; where there are none, the ends.
    """
    apart = high / most - low / most
    power = math.floor(math.log10(apart)) if 1 / LARGEST_END < apart < LARGEST_END else 999
    labelled: list[tuple[float, str]] = []
    for exponent, step in (
        (exponent, step) for exponent in range(power, min(power + 3, 300)) for step in STEPS
    ):
        size = step * 10.0**exponent
        places = [
            turn * size
            for turn in range(math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9) + 1)
        ]
        if len(places) < 2 and labelled:
            break
        digits = max(0, -exponent)
        labelled = [
            (place, f"{place:,.{digits}f}" if abs(place) < 1e9 and digits < 10 else f"{place:g}")
            for place in places
        ]
        if 2 <= len(places) <= most:
            break
    return labelled or [(low, f"{low:.3g}"), (high, f"{high:.3g}")]


def _decades(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Powers of ten, with twice and five times where there is room; fewer than two are none."""
    powers = range(
        math.floor(math.log10(low)), (math.ceil(math.log10(high)) if high < 1e308 else 308) + 1
    )
    for steps, every in ((STEPS, 1), ((1,), 1), *(((1,), jump) for jump in range(2, 100))):
        places = [step * 10.0**power for power in powers if power % every == 0 for step in steps]
        inside = [place for place in places if low * (1 - 1e-9) <= place <= high * (1 + 1e-9)]
        if len(inside) <= most:
            return [(place, number(place)) for place in inside] if len(inside) > 1 else []
    return []


class Plot:
    """A plot of at most ``width`` columns, its axes included; what is drawn later covers what was
    drawn before.

    Positions are in the units of the axes; what lies outside, or is not finite, is left out.
    """

    def __init__(self, x: Axis, y: Axis, width: int, height: int = HEIGHT) -> None:
        self.x, self.y, self.height = x, y, height
        self._ticks = y.ticks(max(2, height // 3))
        self._margin = max((columns(text) for _, text in self._ticks), default=0)
        self.columns = max(NARROWEST, width - self._margin - 3)
        self._dots = np.zeros((DOTS[0] * height, DOTS[1] * self.columns), dtype=np.bool_)
        self._signs = np.full((height, self.columns), "", dtype="<U1")

    def points(self, x: ArrayLike, y: ArrayLike, sign: str = "") -> None:
        """Points as dots of braille, or as a sign of one character."""
        if sign:
            row, column = self._places(x, y, 1, 1)
            self._signs[row, column] = sign
        else:
            row, column = self._places(x, y, *DOTS)
            self._dots[row, column] = True

    def line(self, x: ArrayLike, y: ArrayLike) -> None:
        """A line of dots through points with ascending ``x``."""
        across, up = self.x.shares(x), self.y.shares(y)
        defined = np.isfinite(across) & np.isfinite(up)
        if defined.any():
            fine = np.linspace(across[defined][0], across[defined][-1], 64 * self.columns)
            self._dot(fine, np.interp(fine, across[defined], up[defined]))

    def level(self, start: float, end: float, y: float, sign: str = "━") -> None:
        """A bold level line."""
        across = np.clip(self.x.shares([start, end]), 0, 1)
        row, column = self._cells(across, np.repeat(self.y.shares(y), 2), 1, 1)
        if len(row) == 2:
            self._signs[row[0], column[0] : column[1] + 1] = sign

    def whiskers(self, x: ArrayLike, low: ArrayLike, high: ArrayLike) -> None:
        """Vertical lines of dots from ``low`` to ``high`` at every ``x``, cut at the axis."""
        across = self.x.shares(x)
        ends = np.clip(self.y.shares(np.array([low, high], dtype=np.float64)), 0, 1)
        fine = np.linspace(ends[0], ends[1], 2 * len(self._dots))
        self._dot(np.broadcast_to(across, fine.shape), fine)

    def lines(self) -> list[str]:
        """The plot with its axes, the vertical label on top, the horizontal one below."""
        weights = np.array(BITS)[None, :, None, :]
        cells = (self._dots.reshape(self.height, DOTS[0], self.columns, DOTS[1]) * weights).sum(
            (1, 3)
        )
        at: dict[int, str] = {}
        for place, text in self._ticks:
            row, _ = self._cells(np.zeros(1), self.y.shares([place]), 1, 1)
            at |= dict.fromkeys(row.tolist(), text)
        room = self._margin + 3 + self.columns
        drawn = [fitted(self.y.label, room)] if self.y.label else []
        for line in range(self.height):
            inner = "".join(
                sign or (chr(BRAILLE + dots) if dots else " ")
                for sign, dots in zip(self._signs[line].tolist(), cells[line].tolist(), strict=True)
            )
            label = at.get(line, "")
            margin = " " * (self._margin - columns(label))
            axis = "┤" if label else "│"
            drawn.append(f"{margin}{label} {axis}{inner}".rstrip())
        drawn += [" " * (self._margin + 1) + line for line in foot(self.x, self.columns, "└")]
        label = fitted(self.x.label, room)
        return [*drawn, " " * (room - columns(label) - 1) + label] if label else drawn

    def _places(
        self, x: ArrayLike, y: ArrayLike, down: int, across: int
    ) -> tuple[Integers, Integers]:
        return self._cells(self.x.shares(x), self.y.shares(y), down, across)

    def _dot(self, across: Floats, up: Floats) -> None:
        row, column = self._cells(across, up, *DOTS)
        self._dots[row, column] = True

    def _cells(
        self, right: Floats, up: Floats, down: int, across: int
    ) -> tuple[Integers, Integers]:
        """Row and column of each share on the plot, in ``down`` x ``across`` parts of a cell."""
        with np.errstate(invalid="ignore"):
            inside = (right >= -1e-9) & (right <= 1 + 1e-9) & (up >= -1e-9) & (up <= 1 + 1e-9)
        rows, wide = down * self.height, across * self.columns
        row = np.clip(np.floor((1 - up[inside]) * rows), 0, rows - 1)
        column = np.clip(np.floor(right[inside] * wide), 0, wide - 1)
        return row.astype(np.int64), column.astype(np.int64)


def rail(
    axis: Axis,
    width: int,
    at: float | None,
    low: float | None,
    high: float | None,
    sign: str,
    *,
    zero: float | None = None,
    band: float = 0.0,
) -> str:
    """One row of ``width`` columns: ``├──●──┤`` for a value and its interval on a horizontal axis,
    with a line at ``zero``.

    What lies within ``band`` of it is shaded; what reaches beyond the axis ends in an arrow at its
    edge.
    """
    row = [" "] * width

    def column(value: float) -> int:
        share = float(axis.shares(value))
        return min(width - 1, max(0, math.floor(share * width))) if math.isfinite(share) else 0

    if zero is not None:
        middle = column(zero)
        half = round(float(axis.shares(zero + band) - axis.shares(zero)) * width)
        shaded = range(max(0, middle - half), min(width, middle + half + 1))
        row[shaded.start : shaded.stop] = "░" * len(shaded)
        row[middle] = "│"
    if low is not None and high is not None:
        start, end = column(low), column(high)
        row[start : end + 1] = "─" * (end - start + 1)
        row[start] = "←" if low < axis.low else "├"
        row[end] = "→" if high > axis.high else "┤"
    if at is not None:
        beyond = "→" if at > axis.high else sign
        row[column(at)] = "←" if at < axis.low else beyond
    return "".join(row)


def foot(axis: Axis, width: int, corner: str = "") -> list[str]:
    """The line of a horizontal axis of ``width`` columns, behind a ``corner``, and the line of its
    texts; both ends have theirs first.
    """
    rule, texts = ["─"] * width, [" "] * (width + len(corner))
    ticks = axis.ticks(max(2, width // TICK_ROOM))
    for place, text in (*ticks[:1], *ticks[:0:-1]):
        share = float(axis.shares(place))
        if not -1e-9 <= share <= 1 + 1e-9 or len(text) > width:
            continue
        column = min(width - 1, math.floor(share * width))
        start = min(max(0, column + len(corner) - len(text) // 2), len(texts) - len(text))
        if all(cell == " " for cell in texts[max(0, start - 1) : start + len(text) + 1]):
            rule[column] = "┬"
            texts[start : start + len(text)] = text
    return [corner + "".join(rule), "".join(texts).rstrip()]
