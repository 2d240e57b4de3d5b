"""Which counters move together, over the observations of one revision or two: the tree of their
clusters, and where it is cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from perfvcs.check.methods.counters import ASIDE
from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import (
    CYCLE,
    FONT,
    HOVER,
    INK,
    MUTED,
    canvas,
    hover,
    legend,
    plain,
    source,
    stack,
)
from perfvcs.pictures.pageparts import DrawnUnit, Part, parts
from perfvcs.plugins import Count
from perfvcs.plugins.view import Unfit, View
from perfvcs.profile import REPEATED
from perfvcs.profile.summary import has_totals
from perfvcs.system.numeric import Floats, np
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

    from perfvcs.statistics.multivariate.counters import CounterCluster, Structure
    from perfvcs.statistics.multivariate.redundancy import ClusterTree

FIGURES = 12  # units that are drawn
ROW_HEIGHT, AROUND = 24, 122  # pixels of a branch, and of what is around them all
MARKERS = (
    "circle",
    "square",
    "triangle",
    "diamond",
    "inverted_triangle",
    "hex",
    "plus",
)  # one more than colours: 42 combinations


@dataclass(frozen=True)
class Dendrogram(View[dict[DrawnUnit, list[Part]]]):
    """``rows``: at most so many branches are drawn; the closest counters then share one.

    ``distance`` and ``redundancy`` are those of the method `counters`.
    """

    rows: Count = 60
    distance: str = "correlation"
    redundancy: float = 0.9

    def cut(self, subject: Subject) -> dict[DrawnUnit, list[Part]]:
        """The counters of each unit, where they vary, of many units those of the first."""
        profiles = [*subject.baseline, *subject.target]
        units: dict[DrawnUnit, list[Part]] = {}
        if not any(
            len(profile.metrics) > 1 and any(profile.resources.iteration or ())
            for profile in profiles
        ):
            raise Unfit("it draws several counters that were recorded over time")
        for part in parts(subject):
            if _is_compared(part):
                units.setdefault(part.unit, []).append(part)
        # Where some benchmark has nothing but counters, the others, whose metrics are judged one by
        # one, have no place beside it.
        counters = {unit: mine for unit, mine in units.items() if all(map(_is_counter, mine))}
        if not units:
            raise Unfit("there are no counters")
        drawn, still = {}, ""
        for unit, mine in (counters or units).items():
            structure = self._compared(mine).structure
            if structure.counters:
                drawn[unit] = mine
            still = still or ", ".join(_left_out(structure))
        if not drawn:
            raise Unfit(f"there is no counter to draw: {still}")
        return dict(islice(drawn.items(), FIGURES))

    def telling(self, data: dict[DrawnUnit, list[Part]]) -> str:
        """Clusters that behave differently in the newer of two revisions."""
        regressed = (
            cluster
            for mine in data.values()
            for cluster in self._compared(mine).clusters
            if cluster.regressed
        )
        return "; ".join(
            f"the cluster of {metric_name(cluster.target)} is off by {100 * cluster.error:.0f} %"
            for cluster in regressed
        )

    def render(self, data: dict[DrawnUnit, list[Part]]) -> UIElement:
        """One figure per unit."""
        return stack([self._draw(unit, mine) for unit, mine in data.items()])

    def _draw(self, unit: DrawnUnit, mine: list[Part]) -> figure:
        structure, clusters, count, rows = self._compared(mine)
        summary, *notes = _summary(structure, count, rows)
        title, label = f"{plain(unit.title)}\n{summary}", "distance (0: together, 1: unrelated)"
        plot = canvas(
            title, label, "", caption=notes, height=AROUND, tools="xpan,xwheel_zoom,reset,save"
        )
        self._branches(plot, structure, clusters)
        return plot

    def _compared(self, mine: list[Part]) -> _Compared:
        """The clusters of the counters that all executions have."""
        from perfvcs.statistics.multivariate.counters import compare, structure

        everywhere = max(len(part.baseline) + len(part.target) for part in mine)
        counters = [part for part in mine if len(part.baseline) + len(part.target) == everywhere]
        names = [part.metric for part in counters]
        old, new = _runs(counters, 0), _runs(counters, 1)
        options: dict[str, Any] = {"distance": self.distance, "redundancy": self.redundancy}
        joint = structure([side for side in (old, new) if side], names, **options)
        clusters: tuple[CounterCluster, ...] = ()
        lengths = [len(run) for run in joint.complete]
        rows = [sum(lengths[: len(old)]), sum(lengths[len(old) :])]
        if all(rows) and joint.counters:
            clusters = compare(old, np.concatenate(new), names, **options).clusters
        return _Compared(joint, clusters, len(names), sum(rows))

    def _branches(
        self, plot: figure, structure: Structure, clusters: tuple[CounterCluster, ...]
    ) -> None:
        from bokeh.models import FixedTicker, Range1d

        tree, names = structure.tree, [metric_name(name) for name in structure.counters]
        leaves, forks = _layout(tree, max(self.rows, len(tree.clusters)))
        plot.height = (plot.height or 0) + ROW_HEIGHT * len(leaves)
        plot.x_range = Range1d(start=-0.03, end=1.03, bounds=(-0.1, 1.1))
        plot.y_range = Range1d(start=len(leaves) - 0.4, end=-0.6)
        plot.ygrid.visible = False
        plot.yaxis.ticker = FixedTicker(ticks=list(range(len(leaves))))
        plot.yaxis.major_label_overrides = {
            place: plain(names[members[0]], 26)
            + (f" +{len(members) - 1}" if len(members) > 1 else "")
            for place, (members, _) in enumerate(leaves)
        }
        ends = [-0.6, len(leaves) - 0.4]
        cut = plot.line(
            [tree.height] * 2, ends, line_color=INK, line_width=1.5, line_dash="dashed", name="cut"
        )
        entries: list[tuple[str, list[Any]]] = []
        # of the clusters, from the top
        numbers = list(dict.fromkeys(int(tree.labels[leaf]) for leaf in tree.order))
        for number, label in enumerate([*numbers, None]):
            colour = MUTED if label is None else CYCLE[number % len(CYCLE)]
            branches = [fork for fork in forks if (fork.label if fork.inside else None) == label]
            cluster = clusters[label] if clusters and label is not None else None
            lines: list[Any] = []
            if branches:
                data = source(
                    x=[fork.x for fork in branches],
                    y=[fork.y for fork in branches],
                    at=[f"{fork.height:.2f}" for fork in branches],
                    count=[fork.count for fork in branches],
                )
                lines = [
                    plot.multi_line(
                        "x", "y", source=data, line_color=colour, line_width=_width(label, cluster)
                    )
                ]
                hover(plot, lines, [("distance", "@at"), ("counters", "@count")])
            if label is None:
                continue
            points = [
                (place, shown)
                for place, (shown, _) in enumerate(leaves)
                if tree.labels[shown[0]] == label
            ]
            target = structure.counters.index(cluster.target) if cluster else -1
            joined = [", ".join(names[leaf] for leaf in shown) for _, shown in points]
            represents = [target in shown for _, shown in points]
            filled = represents if cluster else [True] * len(points)
            data = source(
                x=[0.0] * len(points),
                y=[float(place) for place, _ in points],
                names=[shorten(text, HOVER) for text in joined],
                fill=[colour if fill else "#ffffff" for fill in filled],
                role=["; represents the cluster" * is_target for is_target in represents],
                cluster=[number + 1] * len(points),
            )
            marks = plot.scatter(
                "x",
                "y",
                source=data,
                marker=MARKERS[number % len(MARKERS)],
                size=10,
                line_color=colour,
                line_width=2,
                fill_color="fill",
                level="overlay",
            )
            hover(plot, [marks], [("", "@names"), ("cluster", "@cluster@role")])
            entries.append((_entry(number, len(tree.clusters[label]), cluster), [marks, *lines]))
        legend(plot, [*entries, (f"cut at {tree.height:.2f}", [cut])])
        plot.legend.label_text_font = FONT


def _is_counter(part: Part) -> bool:
    """Whether a metric is neither good nor bad by itself."""
    return all(
        cut.profile.metrics[part.metric].better == "none" for cut in (*part.baseline, *part.target)
    )


def _is_compared(part: Part) -> bool:
    """Whether `check` compares it as a counter: where there are totals beside samples, neither
    these nor the machine.
    """
    profile = (*part.baseline, *part.target)[0].profile
    whole = (
        part.unit.whole
        and _is_counter(part)
        and part.metric not in ASIDE
        and "." not in part.metric
    )
    return whole or not has_totals(profile.job, profile.metrics)


class _Compared(NamedTuple):
    """The tree of some counters, of two revisions their ``clusters``, how many ``counters`` there
    were, and how many ``rows`` of them.
    """

    structure: Structure
    clusters: tuple[CounterCluster, ...]
    counters: int
    rows: int


@dataclass(frozen=True)
class _Fork:
    """One merge as a bracket; ``inside`` a cluster, which then has the number ``label``."""

    x: list[float]
    y: list[float]
    height: float
    count: int
    label: int
    inside: bool


def _layout(tree: ClusterTree, most: int) -> tuple[list[tuple[list[int], float]], list[_Fork]]:
    """At most so many leaves, in drawing order, each with its counters and the height at which they
    are one; and the merges above.
    """
    n = len(tree.labels)
    folded = max(0, n - most)
    members: dict[int, list[int]] = {leaf: [leaf] for leaf in range(n)}
    for step, (left, right) in enumerate(tree.merges.tolist()):
        members[n + step] = members[left] + members[right]
    shown: list[int] = []
    todo = [2 * n - 2]
    while todo:
        node = todo.pop()
        if node < n + folded:
            shown.append(node)
        else:
            todo += tree.merges[node - n].tolist()[::-1]
    height = {node: float(tree.heights[node - n]) if node >= n else 0.0 for node in shown}
    at = {node: float(place) for place, node in enumerate(shown)}
    leaves = [(members[node], height[node]) for node in shown]
    forks, inside = [], n - len(tree.clusters)
    for step in range(folded, n - 1):
        left, right = tree.merges[step].tolist()
        node, top = n + step, float(tree.heights[step])
        starts = [height[child] if child >= n + folded else 0.0 for child in (left, right)]
        forks.append(
            _Fork(
                [starts[0], top, top, starts[1]],
                [at[left], at[left], at[right], at[right]],
                top,
                len(members[node]),
                int(tree.labels[members[node][0]]),
                step < inside,
            )
        )
        at[node], height[node] = (at[left] + at[right]) / 2, top
    return leaves, forks


def _runs(counters: list[Part], side: int) -> list[Floats]:
    """The executions of a side, each a matrix (times, counters)."""
    runs = []
    for cuts in zip(*((part.baseline, part.target)[side] for part in counters), strict=True):
        columns, rows = cuts[0].columns, cuts[0].rows
        values = np.column_stack([columns.floats(part.metric)[rows] for part in counters])
        execution = columns.integers("execution")[rows]
        counting = columns.integers("mark")[rows] != REPEATED
        runs += [
            values[counting & (execution == number)] for number in np.unique(execution[counting])
        ]
    return runs


def _summary(structure: Structure, count: int, rows: int) -> list[str]:
    """The numbers of counters that are drawn and left out, in sentences."""
    shown = len(structure.counters)
    text = f"{shown} of {count} counters" if shown < count else f"{count} counters"
    out = _left_out(structure)
    clusters = len(structure.tree.clusters)
    text += f" in {counted(clusters, 'cluster')}"
    return [text, f"{rows:,} observations", *([f"left out: {', '.join(out)}"] if out else [])]


def _left_out(structure: Structure) -> list[str]:
    """How many counters are not drawn, and why."""
    reasons = {
        "constant": structure.constant,
        "redundant": structure.redundant,
        "unknown": structure.unknown,
    }
    return [f"{len(names)} {why}" for why, names in reasons.items() if names]


def _width(label: int | None, cluster: CounterCluster | None) -> int:
    """The width of a branch: between clusters, inside one, inside one that regressed."""
    if label is None:
        return 1
    return 4 if cluster is not None and cluster.regressed else 2


def _entry(number: int, count: int, cluster: CounterCluster | None) -> str:
    """The words of a cluster in the legend."""
    if cluster is None:
        return f"cluster {number + 1}: {counted(count, 'counter')}"
    state = "regressed" if cluster.regressed else "as before"
    return f"cluster {number + 1}: {state}, off by {100 * cluster.error:.0f} %"
