"""What figures over commits share: series that stand together, the order of their commits, their
axis, and how far the values range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from perfvcs.check.subject import Point, Series
from perfvcs.pictures.canvas import HOVER, AxisScale, plain
from perfvcs.pictures.frame import (
    NAME_CHARACTERS,
    TICKS,
    FramedCommit,
    FramedLine,
    HistoryFrame,
    frame,
)
from perfvcs.pictures.present import present
from perfvcs.pictures.sketch import Outline, outline
from perfvcs.system.numeric import np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import change, interval, percent, quantity
from perfvcs.text.words import metric_rank, newest_first
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from bokeh.plotting import figure

EDGE = 0.12  # of the axis: nearer to its end, a label is not centred, so that it is not cut off
TITLE_LINE = 52  # characters of a title that a telephone has room for
REASON_CHARACTERS = 160  # of the reason why a series begins anew
REMARK = 240  # of what it shows beside steps
TOOLTIP = [
    ("commit", "@id @commit"),
    ("author", "@author"),
    ("centre", "@centre"),
    ("executions", "@executions"),
    ("verdict", "@verdict"),
]


@dataclass(frozen=True)
class Chart:
    """One benchmark's one metric in all its environments; ``commits`` are drawn, the newest, of
    ``every`` one that was measured.
    """

    group: Sequence[Series]
    every: list[str]
    commits: list[str]
    place: dict[str, int]

    @classmethod
    def of(cls, group: Sequence[Series], most: int) -> Chart:
        """The chart of series that ``grouped`` put together, of at most so many commits."""
        every = order(group)
        commits = every[-most:]
        return cls(group, every, commits, {commit: turn for turn, commit in enumerate(commits)})

    def outline(self, series: Series) -> Outline:
        """The levels and changes of a series that are drawn."""
        return outline(series, self.place)

    def points(self, series: Series) -> list[Point]:
        """Those points of a series that are drawn."""
        return [point for point in series.points if point.commit in self.place]

    @cached_property
    def frame(self) -> HistoryFrame:
        """The axes of the figure, and what is said beside it."""
        points = [self.points(series) for series in self.group]
        titles = {point.commit: point.title for series in self.group for point in series.points}
        return frame(
            self.group[0].metric,
            self.group[0].unit,
            [_framed(line) for line in points],
            [FramedCommit(commit, titles[commit]) for commit in self.commits],
            every=len(self.every),
            days=[point.when[:10] for series in self.group for point in series.points],
            changes=self._changes(),
            notes=self._notes(),
        )

    def bounds(self, axis: AxisScale = "linear") -> tuple[float, float]:
        """The ends of an axis in the unit of the frame."""
        values = self.frame.values
        low, high = values.log if axis == "log" and values.log else (values.low, values.high)
        return low * values.factor, high * values.factor

    def _changes(self) -> list[str] | None:
        """What changed for good among the commits that are drawn; None if none was looked at."""
        if not any(series.levels for series in self.group):
            return None
        return [rise.name for series in self.group for _, rise in self.outline(series).rises]

    def now(self, series: Series) -> str:
        """What a series that has points is like now, in words."""
        points = [point for point in series.points if not point.aside] or series.points
        begin, change = 0, ""
        places = {point.commit: turn for turn, point in enumerate(points)}
        steps = [step for step in series.steps if step.commit in places]
        if steps:
            step = max(steps, key=lambda step: places[step.commit])
            begin = places[step.commit]
            change = f"{percent(step.effect)}, {points[begin].when[:10]}"
        return present(
            [point.centre for point in points],
            [point.when[:10] for point in points],
            series.unit,
            begin=begin,
            change=change,
        ).words

    def _notes(self) -> list[str]:
        """What only points and series know: branches, beginnings and remarks."""
        points = [point for series in self.group for point in self.points(series)]
        aside = len({point.commit for point in points if point.aside})
        notes = [f"{aside:,} on branches that were merged, not joined"] if aside else []
        for series in self.group:
            if series.begins and series.points:
                notes.append(
                    f"begins anew at {series.points[0].commit[:8]}:"
                    f" {plain(series.begins, REASON_CHARACTERS)}"
                )
            notes += [plain(remark, REMARK) for remark in series.remarks]
        return notes

    def along(self, plot: figure) -> None:
        """The commits as the horizontal axis of a figure."""
        from bokeh.models import AdaptiveTicker, Range1d

        drawn = self.frame
        plot.x_range = Range1d(start=drawn.start, end=drawn.end)
        plot.xaxis.ticker = AdaptiveTicker(
            min_interval=1, desired_num_ticks=TICKS, num_minor_ticks=0
        )
        plot.xaxis.major_label_overrides = {
            number: plain(name) for number, name in enumerate(drawn.names)
        }
        plot.xaxis.major_label_orientation = 0.6
        plot.xgrid.visible = False

    def aligned(self, place: float) -> str:
        """How the label of a mark at this place is aligned."""
        frame = self.frame
        share = (place - frame.start) / (frame.end - frame.start)
        if share < EDGE:
            return "left"
        return "right" if share > 1 - EDGE else "center"


def folded(notes: Sequence[str], width: int = TITLE_LINE) -> list[str]:
    """Notes on as few lines as there is room for: of a title, what a telephone has."""
    lines: list[str] = []
    for note in notes:
        if lines and len(lines[-1]) + len(note) + 3 <= width:
            lines[-1] += f" · {note}"
        else:
            lines += wrap(note, width)
    return lines


def grouped(history: Sequence[Series]) -> list[list[Series]]:
    """Series that are drawn together (one per environment, the newest versions first, unless one
    goes on where another ended), wall time of all benchmarks first; those without points are left
    out.
    """
    groups: dict[tuple[str, str, float | None, str], list[Series]] = {}
    for series in sorted(history, key=lambda series: metric_rank(series.metric)):
        if series.points:
            groups.setdefault((series.label, series.uid, series.size, series.metric), []).append(
                series
            )
    for group in groups.values():
        if not any(series.begins for series in group):
            group.sort(key=lambda series: newest_first(series.environment))
    return list(groups.values())


def order(group: Sequence[Series]) -> list[str]:
    """The commits of several series, each ordered by ancestry, as one order that keeps all of
    theirs; the date decides where none does.

    A series that begins anew follows the one before it.
    """
    after: dict[str, list[str]] = {}
    waiting: dict[str, int] = {}
    dates: dict[str, str] = {}
    for series in group:
        dates |= {point.commit: point.when for point in series.points}
        waiting = {point.commit: 0 for point in series.points} | waiting
        for before, point in pairwise(series.points):
            after.setdefault(before.commit, []).append(point.commit)
            waiting[point.commit] += 1
    for old, new in pairwise(group):
        if new.begins and new.points and old.points:
            after.setdefault(old.points[-1].commit, []).append(new.points[0].commit)
            waiting[new.points[0].commit] += 1
    ready = [(dates[commit], commit) for commit, count in waiting.items() if not count]
    heapify(ready)
    ordered: dict[str, None] = {}
    while ready:
        _, commit = heappop(ready)
        ordered[commit] = None
        for follower in after.get(commit, []):
            waiting[follower] -= 1
            if not waiting[follower]:
                heappush(ready, (dates[follower], follower))
    # series that contradict one another still have all their commits
    return list(ordered | dict.fromkeys(waiting))


def _framed(points: Sequence[Point]) -> FramedLine:
    return FramedLine(
        [point.centre for point in points],
        [point.low for point in points],
        [point.high for point in points],
    )


def _distinct(lists: Sequence[Sequence[str]], count: int) -> bool:
    """Whether the first ``count`` words of no two lists are the same."""
    return len({tuple(words[:count]) for words in lists}) == len(lists)


def environments(group: Sequence[Series]) -> list[str]:
    """A short name for the environment of each series: what tells it from the others."""
    parts = [series.environment.split(", ") for series in group]
    common = set.intersection(*map(set, parts)) if len(parts) > 1 else set()
    apart = [[word for word in words if word not in common] for words in parts]
    enough = next((count for count in (1, 2, 3) if _distinct(apart, count)), 1)
    names: list[str] = []
    for words in apart:
        name = ", ".join(words[:enough] if len(group) > 1 else words) or "unknown environment"
        names.append(f"{name} ({names.count(name) + 1})" if name in names else name)
    return names


def places(chart: Chart, points: Sequence[Point], shift: float = 0.0) -> dict[str, Any]:
    """Where points and the ends of their intervals are drawn, as columns; a point without an
    interval has its own height for both.
    """
    ends = []
    for point in points:
        low_end = point.centre if point.low is None else point.low
        high_end = point.centre if point.high is None else point.high
        ends.append((point.centre, low_end, high_end))
    y, low, high = np.array(ends, dtype=np.float64).reshape(-1, 3).T * chart.frame.values.factor
    x = np.array([chart.place[point.commit] for point in points], dtype=np.float64)
    return {"x": x + shift, "y": y, "low": low, "high": high}


def texts(points: Sequence[Point], unit: str) -> dict[str, Any]:
    """What a tooltip says of each point."""
    return {
        "id": [point.commit[:NAME_CHARACTERS] for point in points],
        "commit": [_short(point.title) for point in points],
        "author": [f"{_short(point.author)}, {_short(point.when)}" for point in points],
        "centre": [f"{quantity(point.centre, unit)} {_relative(point)}" for point in points],
        "executions": np.array([point.executions for point in points], dtype=np.int64),
        "verdict": [_judged(point) for point in points],
    }


def _judged(point: Point) -> str:
    """``degradation, +12.0 % [+11.0, +13.0] (why)``."""
    if point.effect is None:
        effect = ""
    else:
        effect = f", {change(point.effect, point.effect_low, point.effect_high)}"
    return (
        f"{point.verdict or 'none'}{effect}{f' ({_short(point.reason)})' if point.reason else ''}"
    )


@lru_cache(4096)
def _short(text: str) -> str:
    """Cached: the same commits are in the series of every metric."""
    return shorten(text, HOVER // 3)


def _relative(point: Point) -> str:
    if point.low is None or point.high is None or not point.centre:
        return "(no interval)"
    return interval(point.low / point.centre - 1, point.high / point.centre - 1)
