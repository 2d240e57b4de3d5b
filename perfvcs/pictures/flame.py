"""A flame graph as a figure, and the table of functions beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perfvcs.check.subject import Subject
from perfvcs.pictures.bundle import RATE_COLUMN
from perfvcs.pictures.canvas import FONT, HOVER, INK, canvas, hover, plain, source, stepped
from perfvcs.pictures.stacks import FrameTree, StackGroup, Traces, located, spans, split, widest
from perfvcs.profile import Metric
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.quantity import quantity, step
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from bokeh.models import ColumnDataSource
    from bokeh.plotting import figure


ROW_HEIGHT = 18  # pixels
LETTER = 6.4  # pixels of one, on average
WIDTH = 1200  # pixels of a figure, until the page knows better
LEAST_SHARE = 0.0005  # of all: half a pixel on a wide screen
SEEN_SHARE = 0.004  # of all: five pixels, below which a row of boxes looks empty
EDGE_BITS = 16  # of an edge's place: a sixtieth of a pixel on a wide screen
BOX_POINTS = 2  # of other figures weigh as much as one box with its texts
MOST_METRICS = 4  # of one group of profiles
BLACK = "#101010"
SAMPLE_METRIC = "samples"  # the metric that is drawn by chance: how often a stack was seen


@dataclass(frozen=True)
class Flame:
    """One metric of a group's stacks, and the nodes ``kept`` that are drawn of it, ascending, of
    shape (boxes,); the first is node 0.
    """

    name: StackGroup
    subject: Subject
    metric: str
    meaning: Metric
    tree: FrameTree
    kept: Integers

    @cached_property
    def parts(self) -> list[tuple[str, str]]:
        """Function and file of each box."""
        return [("all", "")] + [
            split(self.tree.frames[number]) for number in self.tree.frame[self.kept][1:].tolist()
        ]

    @cached_property
    def places(self) -> list[str]:
        """File and line of each box."""
        numbers = self.tree.frame[self.kept][1:].tolist()
        return ["", *(located(self.tree.frames[number]) for number in numbers)]

    @cached_property
    def rate(self) -> float | None:
        """Samples per second, where the metric is samples and that is known."""
        return sampling_rate(self.subject) if self.metric == SAMPLE_METRIC else None

    def quantity(self, value: float) -> str:
        """A value in the metric's unit; of samples, the time that they stand for."""
        if self.rate:
            return quantity(value / self.rate, "s")
        return quantity(value, self.meaning.unit)

    def amount(self, *sides: int) -> str:
        """What all boxes together have in one execution; samples, which are counted in all of them,
        with the time that they stand for.
        """
        each = [float(self.tree.total[0, side]) for side in sides]
        seen = self._stepped([self.tree.counts[side] for side in sides], self.meaning.unit)
        if self.metric != SAMPLE_METRIC:
            return f"{self._stepped(each, self.meaning.unit)} per execution"
        if self.rate is None:
            return f"{seen} in all executions"
        took = self._stepped([count / self.rate for count in each], "s")
        return f"{took} per execution, {seen} samples at {self.rate:g} Hz"

    def _stepped(self, values: Sequence[float], unit: str) -> str:
        """One value, or two with an arrow."""
        if len(values) == 1:
            return quantity(values[0], unit)
        before, after = values
        return step(before, after, unit).replace("->", "→")

    def amounts(self, values: Floats) -> list[str]:
        """Amounts of one execution with their shares, (boxes, 2); of two revisions both."""
        whole = self.tree.total[0]
        sides = [
            side for side, there in enumerate((self.subject.baseline, self.subject.target)) if there
        ]
        texts = []
        for side in sides:
            total = whole[side] or 1
            amounts = values[self.kept, side].tolist()
            texts.append(
                [f"{self.quantity(value)} ({100 * value / total:.2f} %)" for value in amounts]
            )
        return [" → ".join(pair) for pair in zip(*texts, strict=True)]

    @property
    def title(self) -> str:
        """The job, the metric, and the collector's engine."""
        name = self.name
        return (
            f"{plain(name.job)} · {plain(metric_name(self.metric))}, by"
            f" {plain(name.engine or name.collector)}"
        )

    def left_out(self) -> list[str]:
        """What is not drawn, in words."""
        drawn, total = len(self.kept), len(self.tree.frame)
        left_out = [f"{drawn:,} of {total:,} frames drawn, the widest"] if drawn < total else []
        cut = ["deeper calls are counted in the last frame drawn"] if self.tree.deeper else []
        return [*left_out, *cut]


def flames(groups: Mapping[StackGroup, Traces], most: int) -> list[Flame]:
    """The graphs of each group: its first metrics, with at most ``most`` boxes each, the widest on
    either side; those of one revision have calls.
    """
    graphs = []
    for name, traces in groups.items():
        for metric, meaning in list(traces.metrics.items())[:MOST_METRICS]:
            grown = traces.tree(metric)
            if not (grown.has_calls or traces.of_two):
                continue
            graphs.append(
                Flame(
                    name,
                    traces.profiles,
                    metric,
                    meaning,
                    grown,
                    widest(grown.shares.max(axis=1), max(1, most), LEAST_SHARE),
                )
            )
    return graphs


def draw(
    flame: Flame,
    amount: str,
    notes: Sequence[str],
    sides: Sequence[int],
    columns: Mapping[str, Sequence[str]],
) -> figure:
    """The figure; boxes are as wide as their share of the first of ``sides``, and the page can
    change to the second.

    It has the rows in which a box is wide enough to be seen; the page adds others on zooming.
    ``amount`` goes into the title, ``notes`` go into the caption. ``columns`` are texts of shape
    (boxes,): ``fill`` is a box's colour, ``sign`` goes before its name, and all others are shown on
    hovering.
    """
    from bokeh.models import ColumnDataSource, Range1d, TapTool

    seen = flame.tree.shares[flame.kept, sides[0]] >= SEEN_SHARE
    levels = int(flame.tree.depth[flame.kept][seen].max(initial=0)) + 1
    plot = canvas(
        f"{flame.title}\n{amount}",
        "",
        "",
        caption=[*notes, *flame.left_out()],
        height=ROW_HEIGHT * levels + 40,
        tools="xpan,xbox_zoom,xwheel_zoom,reset,save",
    )
    plot.name = "flame"
    plot.tags = [metric_name(flame.metric), *(("baseline", "target")[side] for side in sides)]
    plot.x_range = Range1d(start=0, end=1, bounds=(0, 1), min_interval=1e-5)
    plot.y_range = Range1d(start=levels, end=0)
    plot.axis.visible = False
    plot.grid.visible = False
    data = _source(flame, sides, columns)
    boxes = plot.quad(
        "left",
        "right",
        "top",
        "bottom",
        source=data,
        fill_color="fill",
        fill_alpha="alpha",
        line_color="#ffffff",
        line_width=0.6,
        nonselection_fill_alpha="alpha",
        nonselection_line_color="#ffffff",
        selection_line_color="#ffffff",
        name="frames",
    )
    plot.text(
        "at",
        "middle",
        "label",
        source=data,
        text_font_size="11px",
        text_font=FONT,
        text_color=BLACK,
        text_baseline="middle",
        x_offset=3,
        nonselection_text_alpha=1,
    )
    plot.quad(
        "left",
        "right",
        "top",
        "bottom",
        source=ColumnDataSource({name: [] for name in ("left", "right", "top", "bottom")}),
        fill_color=None,
        line_color=INK,
        line_width=2.5,
        name="chosen",
    )
    tooltip = [
        ("function", "@name"),
        ("file", "@file"),
        ("total", "@total"),
        ("without callees", "@own"),
    ]
    hover(
        plot,
        [boxes],
        [*tooltip, *((name, f"@{name}") for name in columns if name not in ("fill", "sign"))],
    )
    plot.add_tools(TapTool(renderers=[boxes], visible=False))
    return plot


def _source(
    flame: Flame, sides: Sequence[int], columns: Mapping[str, Sequence[str]]
) -> ColumnDataSource:
    tree, boxes = flame.tree, flame.kept
    signs = columns.get("sign") or [""] * len(boxes)
    names = [
        f"{sign}{plain(name, 160)}" for sign, (name, _) in zip(signs, flame.parts, strict=True)
    ]
    places = [plain(place, HOVER) for place in flame.places]
    left, right = (
        stepped(edge[boxes], EDGE_BITS) for edge in spans(tree, tree.shares[:, sides[0]])
    )
    widths = ((right - left) * WIDTH / LETTER).tolist()
    depth = tree.depth[boxes].astype(float)
    texts = [f"{100 * share:.1f} %" for share in tree.shares[boxes, sides[0]].tolist()]
    texts[0] = flame.amount(sides[0])
    data: dict[str, Any] = {
        "left": left,
        "right": right,
        "top": depth,
        "bottom": depth + 1,
        "at": left,
        "middle": depth + 0.5,
        "label": [label(*box) for box in zip(names, places, texts, widths, strict=True)],
        "name": [name[:HOVER] for name in names],
        "file": [place or "–" for place in places],
        "alpha": np.ones(len(boxes)),
        # a frame that is drawn has a parent that is
        "parent": np.searchsorted(boxes, tree.parent[boxes]),
        "total": flame.amounts(tree.total),
        "own": flame.amounts(tree.own),
    }
    if len(sides) > 1:
        data["other_left"], data["other_right"] = (
            stepped(edge[boxes], EDGE_BITS) for edge in spans(tree, tree.shares[:, sides[1]])
        )
    return source(**data, **{name: column for name, column in columns.items() if name != "sign"})


def label(name: str, place: str, amount: str, letters: float) -> str:
    """The name in a box, with its amount and its place where there is room for them."""
    texts = (f"{name}  {place}  {amount}" if place else "", f"{name}  {amount}")
    return next((text for text in texts if 0 < len(text) < int(letters)), clip(name, letters))


def clip(name: str, letters: float) -> str:
    """As much of a name as ``letters`` have room for; one or two letters tell nothing."""
    room = int(letters) - 1
    if room < 3:
        return ""
    return name if len(name) <= room else f"{name[: room - 1]}…"


def sampling_rate(subject: Subject) -> float | None:
    """The samples per second that all profiles were taken at; None if they have none or several."""
    rates: set[float] = set()
    for profile in (*subject.baseline, *subject.target):
        if RATE_COLUMN not in profile.metrics:
            return None
        column = profile.resources.array(RATE_COLUMN)
        rates.update(column[np.isfinite(column) & (column > 0)].tolist())
    return rates.pop() if len(rates) == 1 else None
