"""Bars on a figure: names above them, numbers to the right of the names, whiskers, and parts with a
pattern each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfvcs.pictures.amounts import BarAmounts, BarColumn, text
from perfvcs.pictures.canvas import (
    CYCLE,
    FONT,
    HOVER,
    INK,
    AxisReach,
    canvas,
    hover,
    legend,
    plain,
    source,
)
from perfvcs.pictures.sample import Centre
from perfvcs.system.numeric import np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import percent, quantity, scale
from perfvcs.text.words import counted, plural

if TYPE_CHECKING:
    from bokeh.models.renderers import GlyphRenderer
    from bokeh.plotting import figure

REACH = 0.5  # of the span of the bars, by which the axis goes on for intervals at most
ROW, NEXT = 36, 16  # pixels of a bar with its name, and of the other side's bar
PATTERNS = ("blank", "right_diagonal_line", "dot", "horizontal_line", "diagonal_cross")


@dataclass(frozen=True)
class Picture:
    """Bars with what their sides look like, the columns that they and their parts are by, the job
    where it is one, and the unit.
    """

    found: BarAmounts
    styles: Sequence[tuple[str, str, str]]
    by: BarColumn
    parts: BarColumn
    job: str
    unit: str

    def draw(self, metric: str, notes: list[str]) -> figure:
        """Names above the bars, numbers to the right of them."""
        from bokeh.models import Range1d

        amounts, count, sides = self.found, len(self.found.keys), len(self.styles)
        low, high, beyond = self._reach()
        cut = (
            [f"{counted(beyond, 'interval')} {plural(beyond, 'reaches', 'reach')} beyond this axis"]
            if beyond
            else []
        )
        chosen = scale(max(-low, high), self.unit)
        plot = canvas(
            f"{metric} of {self._counted()}",
            f"{metric} ({chosen.unit})".replace(" ()", ""),
            "",
            caption=[*notes, *self._stacked_note(), *cut],
            height=(ROW + NEXT * (sides - 1)) * count + 110,
            tools="save",
        )
        margin = 0.02 * ((high - low) or 1.0)
        plot.x_range = Range1d(
            start=(low - margin if low < 0 else 0.0) * chosen.factor,
            end=(high + margin) * chosen.factor,
        )
        plot.y_range = Range1d(start=-0.55, end=count - 0.45)
        plot.extra_x_ranges = {"width": Range1d(start=0, end=1)}
        plot.yaxis.visible = plot.ygrid.visible = False
        entries: list[tuple[str, list[Any]]] = []
        whiskers: list[Any] = []
        for place, style in enumerate(self.styles):
            y = [
                count - 1 - row - (0.12 if sides == 1 else 0.02 + 0.3 * place)
                for row in range(count)
            ]
            if amounts.parts:
                drawn = self._divided(plot, place, y, chosen.factor)
            else:
                drawn = self._plain(plot, place, style, y, chosen.factor)
            entries += [entry for entry in drawn if not (place and amounts.parts)]
            whiskers += self._whiskers(plot, place, y, chosen.factor)
        if whiskers:
            entries.append(("99 % interval of the mean", whiskers))
        self._names(plot)
        legend(plot, entries)
        return plot

    def _reach(self) -> AxisReach:
        """From zero, or beyond it, over all bars, but not to the ends of much longer intervals."""
        means = [
            part
            for side in self.found.means
            for part in (np.minimum(side, 0).sum(axis=1), np.maximum(side, 0).sum(axis=1))
        ]
        values = [
            0.0,
            *(mean.value for side in self.found.centres for mean in side if mean),
            *np.concatenate([np.zeros(0), *means]).tolist(),
        ]
        room = REACH * (max(values) - min(values))
        ends = [
            end
            for side in self.found.centres
            for mean in side
            if mean
            for end in (mean.low, mean.high)
            if end is not None
        ]
        low = max(min([*values, *ends]), min(values) - room)
        high = min(max([*values, *ends]), max(values) + room)
        return AxisReach(low, high, sum(1 for end in ends if end < low or end > high))

    def _counted(self) -> str:
        count = len(self.found.keys)
        rest, rows = self.found.rest[0], sum(map(sum, self.found.rows))
        shown = f"{count - bool(rest):,} {plural(count, self.by)}" + (
            f", the largest of {count - 1 + rest:,}" if rest else ""
        )
        return f"{shown}; {counted(rows, 'row')}"

    def _stacked_note(self) -> list[str]:
        if not self.found.parts:
            return []
        above = ["above: baseline, below: target"] if len(self.styles) > 1 else []
        negative = any((means < 0).any() for means in self.found.means)
        return above + (["parts below zero go to the left"] if negative else [])

    def _name(self, key: Any) -> str:
        return text(key, self.by, self.job, self.found.rest[0])

    def _plain(
        self, plot: figure, number: int, style: tuple[str, str, str], y: list[float], factor: float
    ) -> list[tuple[str, list[Any]]]:
        name, colour, pattern = style
        rows = [row for row, mean in enumerate(self.found.centres[number]) if mean]
        data = self._data(number, rows, [y[row] for row in rows])
        data |= {
            "left": [0.0] * len(rows),
            "right": [self._centre(number, row).value * factor for row in rows],
        }
        glyph = self._bars(plot, data, colour, pattern, 0.6)
        hover(
            plot,
            [glyph],
            [("", "@name"), (name, "@text"), ("executions", "@count"), ("rows", "@rows")],
        )
        return [(name, [glyph])]

    def _divided(
        self, plot: figure, number: int, y: list[float], factor: float
    ) -> list[tuple[str, list[Any]]]:
        """Parts beside one another, those above zero to the right, those below to the left."""
        means = self.found.means[number]
        entries: list[tuple[str, list[Any]]] = []
        for part, key in enumerate(self.found.parts):
            mine, sign = means[:, part], np.sign(means[:, part])
            before = np.where(np.sign(means[:, :part]) == sign[:, None], means[:, :part], 0.0).sum(
                axis=1
            )
            rows = np.flatnonzero(mine).tolist()
            data = self._data(number, rows, [y[row] for row in rows])
            name = text(key, self.parts, self.job, self.found.rest[1])
            whole = np.abs(means).sum(axis=1)
            data |= {
                "left": before[rows] * factor,
                "right": (before + mine)[rows] * factor,
                "part": [shorten(name, HOVER)] * len(rows),
                "amount": [
                    f"{quantity(mine[row], self.unit)}, {percent(abs(mine[row]) / whole[row])[1:]}"
                    for row in rows
                ],
            }
            colour = CYCLE[part % len(CYCLE)]
            pattern = PATTERNS[part % len(PATTERNS)]
            glyph = self._bars(plot, data, colour, pattern, 0.7)
            side = self.styles[number][0] if len(self.styles) > 1 else ""
            hover(
                plot,
                [glyph],
                [("", "@part"), ("mean", "@amount"), (side or "all", "@text"), ("of", "@name")],
            )
            entries.append((name, [glyph]))
        return entries

    def _bars(
        self, plot: figure, data: dict[str, Any], colour: str, pattern: str, hatched: float
    ) -> GlyphRenderer[Any]:
        return plot.hbar(
            "y",
            0.44 if len(self.styles) == 1 else 0.27,
            "right",
            "left",
            source=source(**data),
            fill_color=colour,
            fill_alpha=0.55,
            line_color=colour,
            hatch_pattern=pattern,
            hatch_color=colour,
            hatch_alpha=hatched,
            hatch_weight=0.8,
        )

    def _centre(self, number: int, row: int) -> Centre:
        mean = self.found.centres[number][row]
        assert mean is not None
        return mean

    def _data(self, number: int, rows: list[int], y: list[float]) -> dict[str, Any]:
        centres = [self._centre(number, row) for row in rows]
        return {
            "y": y,
            "name": [shorten(self._name(self.found.keys[row]), HOVER) for row in rows],
            "text": [mean.text(self.unit) for mean in centres],
            "count": [mean.executions for mean in centres],
            "rows": [f"{self.found.rows[number][row]:,}" for row in rows],
        }

    def _whiskers(self, plot: figure, number: int, y: list[float], factor: float) -> list[Any]:
        there = [
            (at, mean)
            for at, mean in zip(y, self.found.centres[number], strict=True)
            if mean and mean.low is not None and mean.high is not None
        ]
        if not there:
            return []
        low = [(mean.low or 0.0) * factor for _, mean in there]
        high = [(mean.high or 0.0) * factor for _, mean in there]
        data = source(y=[at for at, _ in there], low=low, high=high)
        line = plot.segment("low", "y", "high", "y", source=data, line_color=INK, line_width=1.5)
        caps = [
            plot.scatter(
                end,
                "y",
                source=data,
                marker="dash",
                angle=1.5708,
                size=8,
                line_color=INK,
                line_width=1.5,
            )
            for end in ("low", "high")
        ]
        return [line, *caps]

    def _names(self, plot: figure) -> None:
        from bokeh.core.properties import value

        keys = self.found.keys
        numbers = [self._numbers(row) for row in range(len(keys))]
        data = source(
            y=[len(keys) - 1 - row + 0.29 for row in range(len(keys))],
            name=[plain(self._name(key), 28) for key in keys],
            numbers=numbers,
        )
        options: dict[str, Any] = {
            "source": data,
            "x_range_name": "width",
            "text_font": value(FONT),
            "text_baseline": "middle",
            "text_font_size": "12px",
            "text_color": INK,
        }
        plot.text(0, "y", "name", x_offset=3, **options)
        plot.text(1, "y", "numbers", text_align="right", **options)

    def _numbers(self, row: int) -> str:
        """The centres of a bar's sides, and by how much they differ."""
        ones = [side[row] for side in self.found.centres]
        if len(ones) == 1:
            return ones[0].text(self.unit) if ones[0] else ""
        before, after = ones
        texts = [quantity(mean.value, self.unit) if mean else "–" for mean in ones]
        change = self.found.changes[row] if self.found.changes else None
        if change is not None and change.effect is not None:
            return f"{texts[0]} → {texts[1]}, {percent(change.effect)}"
        moved = ""
        if before and after and before.value > 0:
            moved = f", {percent(after.value / before.value - 1)}"
        return f"{texts[0]} → {texts[1]}{moved}"
