"""The changes between two revisions with their intervals, one row each: a forest plot of a
check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import expm1, floor, log, log1p, log10
from typing import TYPE_CHECKING, Any, Self

from perfvcs.check import Change
from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import (
    FONT,
    GRID,
    HOVER,
    INK,
    MUTED,
    SEEN,
    canvas,
    hover,
    legend,
    plain,
    seen,
    stack,
)
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.plugins import Count
from perfvcs.plugins.view import Unfit, View
from perfvcs.text.characters import beside, columns, cut, padded, shorten, wrapped
from perfvcs.text.quantity import at_sizes, percent, step
from perfvcs.text.quantity import change as change_text
from perfvcs.text.words import metric_name, metric_rank

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

ROW_HEIGHT = 40  # pixels
DEFAULT_DELTA = 0.01
LARGEST_FALL = -0.99  # a fall by more is drawn like this one
CUT_RATIO = 5.0  # times the largest change, beyond which intervals are cut
UNCUT_LOGARITHM = 0.5  # a logarithm of a ratio up to which they are not cut
STRAIGHT = 0.3  # a logarithm up to which ticks stand at equal distances in percent
TICKS = 3  # to each side
ROWS_AMONG_OTHERS = 24  # rows on a page with many other figures
POINTS_PER_ROW = 150  # of these weigh as much as one row
WIDE_COLUMNS = 72  # columns from which name, interval and numbers have room beside one another


@dataclass(frozen=True)
class Effects(View[list[list[Change]]]):
    """``rows``: at most so many changes of a metric are drawn, those that matter first."""

    rows: Count = 60

    def cut(self, subject: Subject) -> list[list[Change]]:
        """The changes of each metric that has an effect, wall time first."""
        if subject.report is None:
            raise Unfit("it draws the comparison of two revisions")
        changes = subject.report.changes
        if not changes:
            raise Unfit("nothing was compared")
        metrics = sorted(
            {change.metric for change in changes if change.effect is not None}, key=metric_rank
        )
        if not metrics:
            raise Unfit("no comparison has an effect to draw")
        return [[change for change in changes if change.metric == metric] for metric in metrics]

    def bounded(self, *, points: int, both: bool) -> Self:  # noqa: ARG002
        """With fewer rows."""
        return replace(self, rows=min(self.rows, max(ROWS_AMONG_OTHERS, points // POINTS_PER_ROW)))

    def render(self, data: list[list[Change]]) -> UIElement:
        """One figure per metric."""
        return stack([self._draw(changes) for changes in data])

    def text(self, data: list[list[Change]], width: int) -> str:
        """The same in characters, one line per change."""
        return "\n\n".join("\n".join(_lines(changes, self.rows, width)) for changes in data)

    def _draw(self, changes: Sequence[Change]) -> figure:
        from bokeh.core.properties import value
        from bokeh.models import ColumnDataSource, FixedTicker, Range1d
        from bokeh.models.annotations import Span

        better = changes[0].better
        having = [change for change in changes if change.effect is not None]
        drawn = having[: self.rows]
        edge = _edge(drawn)
        title, *notes = _notes(changes, drawn, edge)
        plot = canvas(
            title,
            _direction(better),
            "",
            caption=notes,
            height=ROW_HEIGHT * len(drawn) + 130,
            tools="",
        )
        plot.toolbar_location = None
        plot.x_range = Range1d(start=-1.04 * edge, end=1.04 * edge)
        plot.y_range = Range1d(start=-0.5, end=len(drawn) - 0.4)
        ticks = _ticks(edge)
        labels: dict[float | str, Any] = dict(ticks.items())
        plot.xaxis.ticker, plot.xaxis.major_label_overrides = FixedTicker(ticks=list(ticks)), labels
        plot.extra_x_ranges = {"width": Range1d(start=0, end=1)}
        plot.yaxis.visible = plot.ygrid.visible = False
        rows = [_row(change, len(drawn) - 1 - place, edge) for place, change in enumerate(drawn)]
        data = ColumnDataSource(_columns_of(rows))
        band = plot.quad(
            "less", "more", "above", "below", source=data, color=MUTED, alpha=0.14, line_color=None
        )
        plot.add_layout(
            Span(location=0, dimension="height", line_color=INK, line_width=1, level="underlay")
        )
        plot.segment(0, "above", 1, "above", source=data, x_range_name="width", line_color=GRID)
        text: dict[str, Any] = {
            "source": data,
            "x_range_name": "width",
            "text_font": value(FONT),
            "background_fill_color": "#ffffff",
            "background_fill_alpha": 0.8,
            "text_baseline": "middle",
            "text_font_size": "12px",
        }
        plot.text(0, "label", "name", text_color=INK, **text)
        plot.text(1, "label", "numbers", text_color=INK, text_align="right", **text)
        entries: list[tuple[str, list[Any]]] = []
        for word, style in SEEN.items():
            mine = [row for row in rows if row["word"] == word]
            if not mine:
                continue
            word_data = ColumnDataSource(_columns_of(mine))
            line = plot.segment(
                "low", "y", "high", "y", source=word_data, line_color=style.colour, line_width=3
            )
            points = plot.scatter(
                "at",
                "y",
                source=word_data,
                marker=style.marker,
                size=11,
                line_color=style.colour,
                line_width=2,
                fill_color=style.colour if style.filled else "#ffffff",
            )
            lines = [
                ("", "@full"),
                ("verdict", "@word @why"),
                ("change", "@numbers"),
                ("from, to", "@centres"),
                ("executions", "@count"),
            ]
            hover(plot, [points, line], lines)
            entries.append((word, [line, points]))
        entries.append((_within(drawn), [band]))
        legend(plot, entries)
        return plot


def _notes(changes: Sequence[Change], drawn: Sequence[Change], edge: float) -> list[str]:
    """The numbers of changes that are drawn, that reach beyond, and that have no effect."""
    count, having = len(drawn), sum(change.effect is not None for change in changes)
    shown = {1: "1 comparison", 2: "both comparisons"}.get(count, f"all {count} comparisons")
    if count < having:
        shown = f"{count} of {having} comparisons"
    notes = [f"{metric_name(changes[0].metric)}: {shown}"]
    beyond = sum(_reach(change) > edge for change in drawn)
    notes += [f"{beyond} beyond the edge: see the numbers"] if beyond else []
    without = len(changes) - having
    return notes + ([f"{without} more without an effect: see the table"] if without else [])


def _direction(better: str) -> str:
    """The label of the axis: which way is better."""
    low, high = ("worse", "better") if better == "higher" else ("better", "worse")
    return f"{low} ←  change, %  → {high}"


def _lines(changes: Sequence[Change], most: int, width: int) -> Iterator[str]:
    """A heading, a row per change with an effect, and the axis; shaded is too small to matter."""
    from perfvcs.pictures.terminal import Axis, foot, rail

    drawn = [change for change in changes if change.effect is not None][:most]
    edge = _edge(drawn)
    yield from wrapped(_notes(changes, drawn, edge), width)
    numbers = [change_text(change.effect or 0.0, change.low, change.high) for change in drawn]
    names = [DrawnUnit(change.job, "", change.uid, change.size).title for change in drawn]
    room = max(map(columns, numbers))
    single = width >= WIDE_COLUMNS
    if single:
        left = min(max(map(columns, names)), max(6, (width - room - 6) // 2))
    else:
        left = width - room - 4
    inner = max(1, width - left - room - 6) if single else width - 2
    axis = Axis(-edge, edge, _direction(changes[0].better), names=_ticks(edge))
    for change, name, number in zip(drawn, names, numbers, strict=True):
        at, low, high = (
            None if end is None else _ratio(end) for end in (change.effect, change.low, change.high)
        )
        sign, band = seen(change)[1].sign, log1p(change.delta or DEFAULT_DELTA)
        row = rail(axis, inner, at, low, high, sign, zero=0.0, band=band)
        if single:
            yield cut(f"{sign} {padded(name, left)}  {row}  {number}", width)
        else:
            yield cut(f"{sign} {padded(name, left)}  {number}", width)
            yield f"  {row}".rstrip()
    for line in foot(axis, inner):
        yield f"{' ' * (left + 4 if single else 2)}{line}"
    words = dict.fromkeys(seen(change) for change in drawn)
    yield from beside(
        [axis.label, *(f"{style.sign} {word}" for word, style in words), f"░ {_within(drawn)}"],
        width,
    )


def _within(changes: Sequence[Change]) -> str:
    deltas = {change.delta or DEFAULT_DELTA for change in changes}
    return f"within ±{percent(max(deltas))[1:]}" if len(deltas) == 1 else "too small to matter"


def _ratio(share: float) -> float:
    """A share of the baseline as a place on the axis: the logarithm of target/baseline, for which
    half and double are equally far.
    """
    return log1p(max(LARGEST_FALL, share))


def _columns_of(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _ticks(edge: float) -> dict[float, str]:
    """Places on the axis with their texts: round shares, or powers of a ratio if these crowd."""
    if edge <= STRAIGHT:
        rough = expm1(edge) / TICKS
        power = 10.0 ** floor(log10(rough))
        step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * 0.99)
        shares = [
            turn * step for turn in range(-TICKS, TICKS + 1) if abs(_ratio(turn * step)) <= edge
        ]
        return {_ratio(share): f"{100 * share:+.4g}" if share else "0" for share in shares}
    base = next((ratio for ratio in (1.25, 2, 4, 10, 100) if log(ratio) * TICKS >= edge), 1000.0)
    turns = floor(edge / log(base) + 1e-9)
    places = [turn * log(base) for turn in range(-turns, turns + 1)]
    labels = {}
    for place in places:
        form = "+,.0f" if place > 0 else ".3g"
        labels[place] = f"{100 * expm1(place):{form}}" if place else "0"
    return labels


def _reach(change: Change) -> float:
    ends = (change.effect, change.low, change.high)
    return max(abs(_ratio(end)) for end in ends if end is not None)


def _edge(changes: Sequence[Change]) -> float:
    """The reach of the axis to both sides: all intervals, except a few long ones."""
    reaches = sorted(_reach(change) for change in changes)
    usual = reaches[(3 * len(reaches)) // 4] if len(reaches) > 3 else reaches[-1]
    largest = max(abs(_ratio(change.effect or 0.0)) for change in changes)
    delta = max(change.delta or DEFAULT_DELTA for change in changes)
    return max(
        1.1 * min(reaches[-1], 4 * usual, max(CUT_RATIO * largest, UNCUT_LOGARITHM)),
        2.5 * log1p(delta),
        0.02,
    )


def _row(change: Change, y: int, edge: float) -> dict[str, str | float]:
    """The columns of one change; positions cut at the edge of the axis."""

    def place(value: float | None) -> float:
        return max(-edge, min(edge, _ratio(value if value is not None else (change.effect or 0.0))))

    why = change.reason if change.accepted is None else change.accepted
    levels = step(change.baseline, change.target, change.unit).replace("->", "→")
    sizes = at_sizes(change.curve.at) if change.curve and change.curve.at else ""
    delta = change.delta or DEFAULT_DELTA
    name = DrawnUnit(change.job, "", change.uid, change.size).title
    return {
        "word": seen(change)[0],
        "y": y - 0.12,
        "label": y + 0.25,
        "above": y + 0.5,
        "below": y - 0.5,
        "less": -log1p(delta),
        "more": log1p(delta),
        "at": place(change.effect),
        "low": place(change.low),
        "high": place(change.high),
        "name": plain(name, 30),
        "numbers": change_text(change.effect or 0.0, change.low, change.high),
        "full": shorten(name, HOVER),
        "centres": f"{levels or '?'} {sizes}".rstrip(),
        "count": f"{change.executions[0]} and {change.executions[1]}",
        "why": f"({shorten(why, HOVER)})" if why else "",
    }
