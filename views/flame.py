"""Where the cost comes from: call stacks as a flame graph, of one revision or as the difference of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from perfvcs.profile import Metric
from perfvcs.quantity import metric_name, quantity
from perfvcs.views import Subject
from perfvcs.views._canvas import FONT, HOVER, INK, canvas, hover, plain, source, stack
from perfvcs.views._stacks import Tree, groups, layout, metrics, split, tree

if TYPE_CHECKING:
    import numpy as np
    from bokeh.models import ColumnDataSource
    from bokeh.models.renderers import GlyphRenderer
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure
    from numpy.typing import NDArray

ROW = 18  # pixels
LETTER = 6.4  # pixels of one, on average
WIDTH = 1200  # pixels of a figure, until the page knows better
LEAST = 0.0005  # of all: half a pixel on a wide screen
METRICS = 4  # of one group of profiles
NOISE = 3.0  # standard errors of a share, within which a change of samples is not coloured
FULL = 0.1  # a change of a share that has the full colour
# Tints on which black can be read, told apart by every common kind of colour vision; the last is for all other files.
TINTS = ("#f3c566", "#8cc9f0", "#7fcfb5", "#f0a27a", "#e3bbd3", "#f2ea7f", "#a9b8e8", "#c9ced6")
MORE, LESS, EVEN = (0xE8, 0x79, 0x3A), (0x5B, 0xAE, 0xE3), (0xD3, 0xD7, 0xDD)
BLACK = "#101010"


@dataclass(frozen=True)
class Flame:
    """``points``: at most so many frames are drawn, the widest."""

    points: int = 2500
    stacks: ClassVar[bool] = True

    def fits(self, subject: Subject) -> str | None:
        """Why not: it needs call stacks."""
        if any(metrics(group) for group in groups(subject).values()):
            return None
        return "it draws call stacks, such as the collector `samples` takes"

    def render(self, subject: Subject) -> UIElement:
        """One figure per job, engine and metric, callers above callees."""
        figures = []
        for name, group in groups(subject).items():
            for metric, meaning in list(metrics(group).items())[:METRICS]:
                title = f"{plain(name.job)} · {plain(metric_name(metric))}, by {plain(name.engine or name.collector)}"
                figures.append(self._draw(tree(group, metric), metric, meaning, title))
        return stack(figures)

    def _draw(self, found: Tree, metric: str, meaning: Metric, title: str) -> figure:
        from bokeh.models import Range1d, TapTool

        kept, left, right = layout(found, self.points, LEAST)
        two = bool((found.total[0] > 0).all())
        sampled = metric == "samples"
        levels = int(found.depth[kept].max(initial=0)) + 1
        plot = canvas(
            _heading(found, meaning, title, len(kept), sampled), "", "", height=ROW * levels + 100,
            tools="xpan,xbox_zoom,xwheel_zoom,reset,save",
        )  # fmt: skip
        plot.name = "flame"
        plot.x_range = Range1d(start=0, end=1, bounds=(0, 1), min_interval=1e-5)
        plot.y_range = Range1d(start=levels, end=0)
        plot.axis.visible = False
        plot.grid.visible = False
        data = _source(found, meaning, kept, left, right, two, sampled)
        boxes = plot.quad(
            "left", "right", "top", "bottom", source=data, fill_color="fill", fill_alpha="alpha", line_color="#ffffff", line_width=0.6,
            nonselection_fill_alpha="alpha", nonselection_line_color="#ffffff", selection_line_color="#ffffff", name="frames",
        )  # fmt: skip
        plot.text(
            "at", "middle", "label", source=data, text_font_size="11px", text_font=FONT, text_color=BLACK, text_baseline="middle",
            x_offset=3, nonselection_text_alpha=1,
        )  # fmt: skip
        lines = [("function", "@name"), ("file", "@file"), ("total", "@total"), ("without callees", "@own")]
        hover(plot, [boxes], [*lines, ("change", "@change")] if two else lines)
        plot.add_tools(TapTool(renderers=[boxes], visible=False))
        if not two:
            _legend(plot, data)
        return plot


def _heading(found: Tree, meaning: Metric, title: str, drawn: int, sampled: bool) -> str:
    """What the figure is about, what its colours mean, and what it leaves out."""
    amounts = [quantity(count, meaning.unit) for count in found.counts]
    if (found.total[0] > 0).all():
        lines = [title, f"{amounts[0]} in all executions of the baseline, {amounts[1]} in those of the target"]
        lines.append("▲ orange: a larger share in the target, ▼ blue: a smaller one")
        lines += ["grey: as before, or no more than chance"] if sampled else []
    else:
        lines = [title, f"{amounts[int(found.total[0, 1] > 0)]} in all executions"]
    if drawn < len(found.frame):
        lines.append(f"{drawn:,} of {len(found.frame):,} frames drawn, the widest")
    if found.deeper:
        lines.append("deeper calls count for the last frame that is drawn")
    return "\n".join(lines)


def _source(
    found: Tree, meaning: Metric, kept: NDArray[np.int64], left: NDArray[np.float64], right: NDArray[np.float64], two: bool, sampled: bool
) -> ColumnDataSource:  # fmt: skip
    """The boxes of the frames ``kept`` with all that is told of them."""
    import numpy as np

    places = np.searchsorted(kept, found.parent[kept])  # a frame that is drawn has a parent that is
    parts = [("all", "")] + [split(found.frames[number]) for number in found.frame[kept][1:].tolist()]
    change = found.shares[kept, 1] - found.shares[kept, 0]
    significant = _significant(found, kept, change, sampled) if two else np.zeros(len(kept), bool)
    signs = np.where(significant, np.where(change > 0, "▲ ", "▼ "), "") if two else np.full(len(kept), "")
    names = [f"{sign}{plain(name, 160)}" for sign, (name, _) in zip(signs.tolist(), parts, strict=True)]
    start, end, depth = left[kept], right[kept], found.depth[kept].astype(float)
    widths = ((end - start) * WIDTH / LETTER).tolist()
    fills = _changed(change, significant) if two else _by_file(found, kept, [file for _, file in parts])
    return source(
        left=start.astype(np.float64), right=end.astype(np.float64), top=depth, bottom=depth + 1, at=start, middle=depth + 0.5,
        label=[clip(name, width) for name, width in zip(names, widths, strict=True)], name=[one[:HOVER] for one in names],
        file=[plain(file, HOVER) or "–" for _, file in parts], fill=fills, alpha=np.ones(len(kept)), parent=np.maximum(places, 0),
        total=_amounts(found.total[kept], found, meaning, two), own=_amounts(found.own[kept], found, meaning, two),
        change=[f"{100 * value:+.2f} points{'' if sure or not sampled else ', no more than chance'}"
                for value, sure in zip(change.tolist(), significant.tolist(), strict=True)],
    )  # fmt: skip


def clip(name: str, letters: float) -> str:
    """As much of a name as ``letters`` have room for; a name of one or two letters tells nothing."""
    room = int(letters) - 1
    if room < 3:
        return ""
    return name if len(name) <= room else f"{name[: room - 1]}…"


def _amounts(values: NDArray[np.float64], found: Tree, meaning: Metric, two: bool) -> list[str]:
    """Amounts of one execution with their shares; of two revisions the baseline's before the target's."""
    sides = [side for side in (0, 1) if found.total[0, side] > 0]
    whole = found.total[0]
    texts = [
        [f"{quantity(value, meaning.unit)} ({100 * value / whole[side]:.2f} %)" for value in values[:, side].tolist()]
        for side in sides
    ]
    return [" → ".join(pair) for pair in zip(*texts, strict=True)] if two else texts[0]


def _significant(found: Tree, kept: NDArray[np.int64], change: NDArray[np.float64], sampled: bool) -> NDArray[np.bool_]:
    """Which changes of a share are more than chance; what is not sampled has none.

    Of samples each side is a share of independent draws, pooled where there is no difference (the two-proportion z test).
    """
    import numpy as np

    if not sampled:
        return np.array(np.abs(change) > 1e-9)
    counts = np.array(found.counts)
    pooled = np.clip((found.shares[kept] * counts).sum(axis=1) / counts.sum(), 0, 1)
    error = np.sqrt(pooled * (1 - pooled) * (1 / counts).sum())
    return np.array(np.abs(change) > np.maximum(NOISE * error, 1e-9))


def _changed(change: NDArray[np.float64], significant: NDArray[np.bool_]) -> list[str]:
    """A colour per change of a share: orange is more, blue is less, grey is chance."""
    import numpy as np

    strength = np.sqrt(np.minimum(np.abs(change) / FULL, 1))[:, None] * significant[:, None]
    ends = np.where((change > 0)[:, None], np.array(MORE), np.array(LESS))
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in (np.array(EVEN) + strength * (ends - np.array(EVEN))).astype(int).tolist()]


def _by_file(found: Tree, kept: NDArray[np.int64], files: list[str]) -> list[str]:
    """A colour per file; those that have most of their own get one alone."""
    own: dict[str, float] = {}
    for file, value in zip(files, found.own[kept].sum(axis=1).tolist(), strict=True):
        own[file] = own.get(file, 0.0) + value
    ranked = sorted((file for file in own if file), key=lambda file: (-own[file], file))
    tints = dict(zip(ranked, TINTS[:-1], strict=False))
    return [tints.get(file, TINTS[-1]) for file in files]


def _legend(plot: figure, data: ColumnDataSource) -> None:
    """The files that have a colour of their own."""
    from bokeh.core.properties import value
    from bokeh.models.annotations import Legend, LegendItem

    files = dict(zip(data.data["fill"], data.data["file"], strict=True))
    named = [(tint, files[tint]) for tint in TINTS[:-1] if tint in files]
    items = []
    for tint, file in named:
        swatch: GlyphRenderer[Any] = plot.quad([-2], [-1], [-2], [-1], fill_color=tint, line_color=None)  # out of sight
        items.append(LegendItem(label=value(plain(file, 30)), renderers=[swatch]))
    listed = Legend(
        location="top_left", orientation="horizontal", ncols=2, border_line_color=None, margin=0, spacing=8, label_text_font_size="11px",
        label_text_font=FONT, label_text_color=INK, background_fill_color=None, glyph_height=14, glyph_width=14, label_height=14,
    )  # fmt: skip
    listed.items = items
    plot.add_layout(listed, "below")
    plot.height = (plot.height or 0) + 22 * (-(-len(items) // 2))
