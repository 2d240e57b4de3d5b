"""Where the cost of two revisions differs: the target's flame graph, coloured by the change against
the baseline.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from typing import TYPE_CHECKING, ClassVar

from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import plain, stack
from perfvcs.pictures.flame import SAMPLE_METRIC, Flame, draw, flames
from perfvcs.pictures.stacks import StackGroup, Traces, repeats
from perfvcs.plugins.view import Unfit
from perfvcs.system.numeric import Flags, Floats, np
from perfvcs.text.characters import fitted
from perfvcs.text.quantity import percent
from perfvcs.views._flames import FlameView

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

NOISE = 3.0  # standard errors within which a change is not coloured
FALSE_ALARM_RATE = 0.0027  # of a normal value beyond as many
STANDARD_ERRORS = 2.576  # standard errors to both sides that an interval of 99 % has
TINY = 1e-9  # a change, as a part of all, that rounding makes
MOST_PATHS = 20  # paths
SMALLEST_DRAWN_SHARE = 0.005  # of the largest change: what is smaller has no line
BAR = 10  # columns of the largest change
MORE_BAR, LESS_BAR = "■", "□"
NAME_SHARE = 0.5  # of what is left beside the bar: the rest says by how much
GONE = 3  # functions that are named
MORE, LESS, EVEN = (0xE8, 0x79, 0x3A), (0x5B, 0xAE, 0xE3), (0xD3, 0xD7, 0xDD)


@dataclass(frozen=True)
class Flamediff(FlameView):
    """``points``: at most so many frames are drawn, the widest of either revision."""

    of_two: ClassVar[bool] = True
    unfit: ClassVar[str] = (
        "it draws call stacks of two revisions that were taken by the same engine"
    )

    def cut(self, subject: Subject) -> dict[StackGroup, Traces]:
        """The groups in which something changed."""
        groups = super().cut(subject)
        changed = {name: traces for name, traces in groups.items() if self._changed({name: traces})}
        if not changed:
            raise Unfit("no function changed by more than chance")
        return changed

    def _changed(self, data: dict[StackGroup, Traces]) -> list[tuple[Flame, BoxChange]]:
        """The graphs in which something changed: all others would be grey."""
        graphs = ((flame, contrast(flame)) for flame in flames(data, self.points))
        return [(flame, boxes) for flame, boxes in graphs if boxes.sure[1:].any()]

    def render(self, data: dict[StackGroup, Traces]) -> UIElement:
        """One figure per job, engine and metric, callers above callees."""
        return stack([_draw(flame, boxes) for flame, boxes in self._changed(data)])

    def text(self, data: dict[StackGroup, Traces], width: int) -> str:
        """The paths that changed as a tree, per job, engine and metric, with a bar for each."""
        parts = []
        for flame, boxes in self._changed(data):
            changes = _changes(flame, boxes)
            lines = [
                flame.title,
                flame.amount(0, 1),
                *_gone(flame, boxes),
                *flame.left_out(),
                *_branches(flame, boxes.change, boxes.sure, changes, width),
            ]
            parts.append("\n".join(fitted(line, width) for line in lines))
        return "\n\n".join(parts)


@dataclass(frozen=True)
class BoxChange:
    """Change of each box, a part of all with its 99 % interval (infinite where there are too few
    executions), of shape (boxes,).

    ``sure``: it is more than chance. Of samples it is the change of the share, of counts that of
    the amount over ``whole``, the larger total. ``full``: the largest change of a function that is
    sure, which has the full colour.
    """

    change: Floats
    low: Floats
    high: Floats
    sure: Flags
    whole: float
    full: float


def contrast(flame: Flame) -> BoxChange:
    """What changed, and whether it is more than chance.

    Executions are what is repeated, so that a change must be large against what they differ by
    (Welch's t); samples must moreover differ by more than as many independent draws do, pooled
    where there is no difference (the two-proportion z test).
    """
    from perfvcs.statistics.difference import welch

    tree, sampled = flame.tree, flame.metric == SAMPLE_METRIC
    before, after = repeats(tree, flame.subject, flame.metric, flame.kept)
    whole = 1.0 if sampled else float(tree.total[0].max()) or 1.0
    amounts = tree.shares if sampled else tree.total / whole
    change = amounts[flame.kept, 1] - amounts[flame.kept, 0]
    if sampled:
        before, after = (side / np.where(side[0] > 0, side[0], 1.0) for side in (before, after))
    between = welch(before / whole, after / whole)
    sure = (np.abs(change) > TINY) & ~(between.p > FALSE_ALARM_RATE)
    if sampled:
        sure &= np.abs(change) > NOISE * _drawn(flame)
    half = (between.high - between.low) / 2
    if sampled:
        half = np.maximum(np.where(np.isfinite(half), half, 0.0), STANDARD_ERRORS * _drawn(flame))
    full = float(np.abs(change[1:][sure[1:]]).max(initial=0.0)) or float(abs(change[0])) or 1.0
    return BoxChange(change, change - half, change + half, sure, whole, full)


def _drawn(flame: Flame) -> Floats:
    """The standard error of a share's change where as many independent samples were drawn; infinite
    where a side has none.
    """
    counts = np.array(flame.tree.counts)
    if not counts.all():
        return np.full(len(flame.kept), np.inf)
    pooled = np.clip((flame.tree.shares[flame.kept] * counts).sum(axis=1) / counts.sum(), 0, 1)
    error: Floats = np.sqrt(pooled * (1 - pooled) * (1 / counts).sum())
    return error


def _draw(flame: Flame, boxes: BoxChange) -> figure:
    sides = flame.tree.sides[::-1] or [1]  # the target first
    signs = []
    for value, sure in zip(boxes.change.tolist(), boxes.sure.tolist(), strict=True):
        sign = "▲ " if value > 0 else "▼ "
        signs.append(sign if sure else "")
    columns = {"sign": signs, "fill": _colours(boxes), "change": _changes(flame, boxes)}
    return draw(flame, flame.amount(0, 1), _lines(flame, boxes, sides), sides, columns)


def _lines(flame: Flame, change: BoxChange, sides: list[int]) -> list[str]:
    """What widths and colours mean, and what only the baseline has, without a width."""
    lines = [
        "widths: the target's" if 1 in sides else "widths: the baseline's, the target has nothing"
    ]
    if flame.metric == SAMPLE_METRIC:
        lines += [
            "▲ orange: a larger share in the target, ▼ blue: a smaller one",
            "grey: as before, or no more than chance",
        ]
        lines.append(f"full colour: {100 * change.full:.2g} points, the largest change")
    else:
        lines.append("▲ orange: more in the target, ▼ blue: less")
        lines.append(
            f"full colour: {flame.quantity(change.full * change.whole)}, the largest change"
        )
        if (~change.sure & (change.change != 0)).any():
            lines += ["grey: as before, or no more than chance"]
        lines += ["one execution: what is chance is not known"] if _alone(flame, change) else []
    return [*lines, *_gone(flame, change)]


def _alone(flame: Flame, change: BoxChange) -> bool:
    """Whether varying amounts have too few executions to show how much they vary."""
    return flame.meaning.kind == "sampled" and not np.isfinite(change.low).any()


def _gone(flame: Flame, change: BoxChange) -> list[str]:
    """The functions that the target calls no more, outermost first, then the largest."""
    total = flame.tree.total[flame.kept]
    calls = flame.tree.total[flame.tree.parent[flame.kept], 1] > 0
    rows = np.flatnonzero((total[:, 1] == 0) & change.sure & calls & (flame.kept > 0))
    if not len(rows):
        return []
    rows = rows[np.argsort(change.change[rows], kind="stable")]
    named = [
        f"gone: {plain(flame.parts[row][0], 32)} ({_share(flame, float(total[row, 0]))})"
        for row in rows[:GONE].tolist()
    ]
    return [*named, *([f"gone: {len(rows) - GONE:,} more"] if len(rows) > GONE else [])]


def _share(flame: Flame, value: float) -> str:
    """An amount of the baseline, of samples as its share."""
    if flame.metric == SAMPLE_METRIC:
        return f"{100 * value / flame.tree.total[0, 0]:.2f} %"
    return flame.quantity(value)


def _changes(flame: Flame, change: BoxChange) -> list[str]:
    """The change of each box in words, with its interval where there is one."""
    columns = (change.change, change.low, change.high, change.sure, *flame.tree.total[flame.kept].T)
    text = _points if flame.metric == SAMPLE_METRIC else _amount
    lists = [column.tolist() for column in columns]
    return [text(flame, change.whole, *row) for row in zip(*lists, strict=True)]


def _branches(
    flame: Flame, change: Floats, sure: Flags, texts: Sequence[str], width: int
) -> Iterator[str]:
    """A line per path whose change, of shape (boxes,), is ``sure``: the largest, callers above
    callees; ``texts`` say by how much.

    A filled bar is more in the target, an empty one less.
    """
    size = np.where(sure, np.abs(change), 0.0)
    size[0] = 0.0  # all of it is in the heading
    largest = float(size.max(initial=0.0))
    order = [
        place
        for place in np.argsort(-size, kind="stable").tolist()
        if size[place] > SMALLEST_DRAWN_SHARE * largest
    ]
    chosen = set(order[:MOST_PATHS])
    below: dict[int, list[int]] = defaultdict(list)
    parents = np.searchsorted(flame.kept, flame.tree.parent[flame.kept]).tolist()
    for place in sorted(chosen, key=lambda place: -size[place]):
        above = parents[place]
        while above > 0 and above not in chosen:
            above = parents[above]
        below[above].append(place)
    room = width - BAR - 1
    waiting = [(place, 0) for place in reversed(below[0])]
    while waiting:
        place, depth = waiting.pop()
        bar = (MORE_BAR if change[place] > 0 else LESS_BAR) * ceil(BAR * size[place] / largest)
        indent = " " * min(2 * depth, room // 4)
        name = fitted(indent + flame.parts[place][0], int(NAME_SHARE * room))
        yield f"{bar:{BAR}} {name}  {fitted(texts[place], room - len(name) - 2)}"
        waiting += [(child, depth + 1) for child in reversed(below[place])]
    if len(order) > MOST_PATHS:
        yield f"{'':{BAR}} and {len(order) - MOST_PATHS:,} smaller changes"


def _points(
    _: Flame, __: float, change: float, low: float, high: float, sure: float, *___: float
) -> str:
    """The change of a share, in percentage points."""
    bounds = f" [{100 * low:+.2f}, {100 * high:+.2f}]" if isfinite(low) else ""
    return f"{100 * change:+.2f} points{bounds}{'' if sure else ', no more than chance'}"


def _amount(
    flame: Flame,
    whole: float,
    change: float,
    low: float,
    high: float,
    sure: float,
    before: float,
    after: float,
) -> str:
    """The change of an amount: in its unit, relative to the baseline, and as a share of all."""
    if change == 0:
        return "none"
    sign = "+" if change > 0 else ""
    if before == 0:
        relative = "new"
    elif after == 0:
        relative = "gone"
    else:
        relative = percent(after / before - 1)
    bounds = f" [{100 * low:+.2f}, {100 * high:+.2f}]" if isfinite(low) and low < high else ""
    chance = "" if sure else ", no more than chance"
    return (
        f"{sign}{flame.quantity(change * whole)} ({relative}), {100 * change:+.2f} % of"
        f" all{bounds}{chance}"
    )


def _colours(change: BoxChange) -> list[str]:
    """A colour per change: orange is more, blue is less, grey is chance."""
    strength = (
        np.sqrt(np.minimum(np.abs(change.change) / change.full, 1))[:, None] * change.sure[:, None]
    )
    ends = np.where((change.change > 0)[:, None], np.array(MORE), np.array(LESS))
    return [
        f"#{r:02x}{g:02x}{b:02x}"
        for r, g, b in (np.array(EVEN) + strength * (ends - np.array(EVEN))).astype(int).tolist()
    ]
