"""One metric over the commits: centre and interval per commit, with the verdicts marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from perfvcs.quantity import interval, metric_name, metric_rank, percent, quantity, scale, shorten
from perfvcs.views import Point, Series, Subject
from perfvcs.views._canvas import BLUE, CYCLE, DASHES, HOVER, SEEN, Look, canvas, hover, legend, source, stack

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

LOUD = ("degradation", "improvement", "suspected", "accepted")  # large, in their own colour; the others in their environment's
UNJUDGED = Look(BLUE, "square", "□", filled=False)


@dataclass(frozen=True)
class History:
    """``points``: at most so many commits are drawn, the newest."""

    points: int = 3000

    def fits(self, subject: Subject) -> str | None:
        """Why not: it needs a history with at least one commit."""
        if not subject.history:
            return "it draws a series over the commits"
        return None if any(series.points for series in subject.history) else "no commit of the series was measured"

    def render(self, subject: Subject) -> UIElement:
        """One figure per benchmark and metric, one line per environment."""
        return stack([self._draw(group) for group in grouped(subject.history)])

    def _draw(self, group: Sequence[Series]) -> figure:
        from bokeh.models import AdaptiveTicker, Range1d

        commits = _order(group)
        kept = commits[-self.points :]
        place = {commit: number for number, commit in enumerate(kept)}
        centres = sorted(abs(point.centre) for series in group for point in series.points)
        chosen = scale(centres[len(centres) // 2], group[0].unit)
        notes = [f"{len(commits):,} commits{_span(group)}" if len(commits) > 1 else "one commit: no history yet"]
        notes += [f"the newest {len(kept):,} drawn"] if len(kept) < len(commits) else []
        if any(point.low is None for series in group for point in series.points):
            notes.append("no interval where there was one execution")
        y_label = f"{metric_name(group[0].metric)} ({chosen.unit})".replace(" ()", "")
        plot = canvas("\n".join(notes), "commit, oldest first", y_label, height=320)
        plot.x_range = Range1d(start=-0.7, end=len(kept) - 0.3)
        plot.xaxis.ticker = AdaptiveTicker(min_interval=1, desired_num_ticks=6, num_minor_ticks=0)
        plot.xaxis.major_label_overrides = {number: commit[:8] for commit, number in place.items()}
        plot.xaxis.major_label_orientation = 0.6
        entries: list[tuple[str, list[Any]]] = []
        words: dict[str, list[Any]] = {}
        for number, series in enumerate(group):
            colour = CYCLE[number % len(CYCLE)]
            points = [point for point in series.points if point.commit in place]
            columns = _columns(points, place, chosen.factor, series.unit)
            if not points:
                continue
            data = source(**columns)
            line = plot.line("x", "y", source=data, line_color=colour, line_dash=DASHES[number % len(DASHES)], line_alpha=0.6)
            whiskers = plot.segment("x", "low", "x", "high", source=data, line_color=colour, line_width=2, line_alpha=0.45)
            entries.append((series.environment[:12] or "unknown" if len(group) > 1 else "centres", [line]))
            words.setdefault("99 % interval", []).append(whiskers)
            for word in dict.fromkeys(point.verdict for point in points):
                look = SEEN.get(word, UNJUDGED)
                shade = look.colour if word in LOUD else colour
                rows = [row for row, point in enumerate(points) if point.verdict == word]
                own = source(**{name: [column[row] for row in rows] for name, column in columns.items()})
                marks = plot.scatter(
                    "x", "y", source=own, marker=look.marker, size=12 if word in LOUD else 7 if len(points) <= 100 else 4,
                    line_color=shade, line_width=1.5, fill_color=shade if look.filled else "#ffffff",
                )  # fmt: skip
                words.setdefault(word or "not judged", []).append(marks)
                hover(plot, [marks], _LINES)
        legend(plot, entries + list(words.items()))
        return plot


_LINES = [
    ("commit", "@commit @title"), ("author", "@author"), ("date", "@when"), ("centre", "@centre"), ("executions", "@executions"),
    ("verdict", "@verdict"), ("change", "@effect"),
]  # fmt: skip


def _span(group: Sequence[Series]) -> str:
    """``, 2024-01-03 to 2024-06-30``: the days of the first and the last commit; empty where they are not ISO 8601."""
    days = sorted(point.when[:10] for series in group for point in series.points)
    known = all(re.fullmatch(r"\d{4}-\d\d-\d\d", day) for day in (days[0], days[-1]))
    return f", {days[0]} to {days[-1]}" if known and days[0] != days[-1] else ""


def grouped(history: Sequence[Series]) -> list[list[Series]]:
    """Series that are drawn together (one per environment), wall time of all benchmarks first; those without points are left out."""
    groups: dict[tuple[str, str, float | None, str], list[Series]] = {}
    for series in sorted(history, key=lambda series: metric_rank(series.metric)):
        if series.points:
            groups.setdefault((series.label, series.uid, series.size, series.metric), []).append(series)
    return list(groups.values())


def _order(group: Sequence[Series]) -> list[str]:
    """The commits of several series, each ordered by ancestry, as one order that keeps all of theirs; the date decides where none does."""
    after: dict[str, list[str]] = {}
    waiting: dict[str, int] = {}
    dates: dict[str, str] = {}
    for series in group:
        dates |= {point.commit: point.when for point in series.points}
        waiting = {point.commit: 0 for point in series.points} | waiting
        for before, point in pairwise(series.points):
            after.setdefault(before.commit, []).append(point.commit)
            waiting[point.commit] += 1
    ready = [(dates[commit], commit) for commit, count in waiting.items() if not count]
    heapify(ready)
    order: dict[str, None] = {}
    while ready:
        _, commit = heappop(ready)
        order[commit] = None
        for follower in after.get(commit, []):
            waiting[follower] -= 1
            if not waiting[follower]:
                heappush(ready, (dates[follower], follower))
    return list(order | dict.fromkeys(waiting))  # series that contradict one another still have all their commits


def _columns(points: Sequence[Point], place: dict[str, int], factor: float, unit: str) -> dict[str, list[Any]]:
    def relative(point: Point) -> str:
        if point.low is None or point.high is None or not point.centre:
            return "(no interval)"
        return interval(point.low / point.centre - 1, point.high / point.centre - 1)

    return {
        "x": [place[point.commit] for point in points],
        "y": [point.centre * factor for point in points],
        "low": [(point.centre if point.low is None else point.low) * factor for point in points],
        "high": [(point.centre if point.high is None else point.high) * factor for point in points],
        "commit": [point.commit[:10] for point in points],
        "title": [shorten(point.title, HOVER // 3) for point in points],
        "author": [shorten(point.author, HOVER // 3) for point in points],
        "when": [shorten(point.when, 40) for point in points],
        "centre": [f"{quantity(point.centre, unit)} {relative(point)}" for point in points],
        "executions": [point.executions for point in points],
        "verdict": [point.verdict or "none" for point in points],
        "effect": ["" if point.effect is None else percent(point.effect) for point in points],
    }
