"""Where the cost of one revision comes from: its call stacks as a flame graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from perfvcs.pictures.canvas import legend, stack
from perfvcs.pictures.flame import SAMPLE_METRIC, Flame, draw, flames, sampling_rate
from perfvcs.pictures.listing import Column, Listing, TableCell, TableRow
from perfvcs.pictures.stacks import FrameTree, StackGroup, Traces, located, split
from perfvcs.system.numeric import Flags, np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import quantity
from perfvcs.text.words import apart, metric_name
from perfvcs.views._flames import FlameView

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

# Tints on which black can be read, told apart by every common kind of colour vision; the last is
# for all other files.
TINTS = ("#f3c566", "#8cc9f0", "#7fcfb5", "#f0a27a", "#e3bbd3", "#f2ea7f", "#a9b8e8", "#c9ced6")
NAME_CHARACTERS = 48  # characters of a function's name
MOST_NEIGHBOURS = 3  # callers and callees of each
SMALLEST_LISTED_SHARE = 0.001  # of all: what has less is not listed


@dataclass(frozen=True)
class Flamegraph(FlameView):
    """``points``: at most so many frames are drawn, the widest."""

    of_two: ClassVar[bool] = False
    unfit: ClassVar[str] = "it draws one revision, not two"

    def beside(self, data: dict[StackGroup, Traces]) -> list[Listing]:
        """The functions with their callers and callees, of each group under its first metric."""
        return sandwiches(data)

    def render(self, data: dict[StackGroup, Traces]) -> UIElement:
        """One figure per job, engine and metric, callers above callees."""
        tints: dict[StackGroup, dict[str, str]] = {}
        return stack(
            [_draw(flame, tints.setdefault(flame.name, {})) for flame in flames(data, self.points)]
        )


def _draw(flame: Flame, tints_by_file: dict[str, str]) -> figure:
    side = 1 if flame.subject.target else 0
    which = ", of the baseline" if flame.subject.baseline else ""
    tints = _by_file(flame, tints_by_file)
    plot = draw(
        flame,
        flame.amount(side) + which,
        [],
        [side],
        {"fill": [tints.get(file, TINTS[-1]) for _, file in flame.parts]},
    )
    swatches = [
        # out of sight
        (file, [plot.quad([-2], [-1], [-2], [-1], fill_color=tint, line_color=None)])
        for file, tint in [*tints.items(), ("others", TINTS[-1])]
    ]
    plot.height = (plot.height or 0) + 24
    legend(plot, swatches)
    plot.legend.click_policy = "none"
    return plot


def _by_file(flame: Flame, assigned: dict[str, str]) -> dict[str, str]:
    """The colour of each file that has one alone, where none is ``known`` already.

    These are the files with the largest amounts of their own; where only allocators have any, those
    of the project come first.
    """
    own_amounts: dict[str, float] = {}
    for (_, file), value in zip(
        flame.parts, flame.tree.own[flame.kept].sum(axis=1).tolist(), strict=True
    ):
        own_amounts[file] = own_amounts.get(file, 0.0) + value
    ranked = sorted(
        (file for file in own_amounts if file),
        key=lambda file: (-own_amounts[file], file.startswith(("/", ".")), file),
    )
    free = [tint for tint in TINTS[:-1] if tint not in assigned.values()]
    assigned |= dict(zip([file for file in ranked if file not in assigned], free, strict=False))
    return {file: assigned[file] for file in ranked if file in assigned}


class FunctionRow(NamedTuple):
    """One function: shares of all without and with its callees (0.1 is 10 %), and the largest of
    its callers and callees with theirs.

    ``total`` counts a recursive function once in each stack.
    """

    function: str
    file: str
    own: float
    total: float
    callers: list[tuple[str, float]]
    callees: list[tuple[str, float]]


def functions(tree: FrameTree, side: int, most: int = 20) -> list[FunctionRow]:
    """The functions with the largest amounts of their own on one side, then in all."""
    whole = float(tree.total[0, side]) or 1.0
    frame, total = tree.frame, tree.total[:, side] / whole
    own_amounts = np.bincount(
        frame[1:], weights=tree.own[1:, side] / whole, minlength=len(tree.frames)
    )
    # recursive calls several times
    every = np.bincount(frame[1:], weights=total[1:], minlength=len(tree.frames))
    ranked = dict.fromkeys(
        [
            *np.argsort(-own_amounts, kind="stable")[:most].tolist(),
            *np.argsort(-every, kind="stable")[:most].tolist(),
        ]
    )
    names = [split(name) for name in tree.frames]
    rows: list[FunctionRow] = []
    for number in ranked:
        if max(own_amounts[number], every[number]) < SMALLEST_LISTED_SHARE or len(rows) == most:
            continue
        nodes = np.flatnonzero(frame == number)
        outermost = nodes[~_inside(tree, number)[nodes]]
        before = [
            (int(frame[parent]), weight)
            for parent, weight in zip(tree.parent[outermost], total[outermost], strict=True)
        ]
        children = np.flatnonzero(np.isin(tree.parent, nodes) & (frame != number))
        after = list(zip(frame[children].tolist(), total[children].tolist(), strict=True))
        function, file = names[number][0], located(tree.frames[number])
        rows.append(
            FunctionRow(
                function,
                file,
                float(own_amounts[number]),
                float(total[outermost].sum()),
                _largest(before, names),
                _largest(after, names),
            )
        )
    return sorted(rows, key=lambda row: (-row.own, -row.total, row.function))


def _inside(tree: FrameTree, number: int) -> Flags:
    """Whether each node is below another one of this frame; parents come before children."""
    below = np.zeros(len(tree.frame), bool)
    for depth in range(1, int(tree.depth.max()) + 1):
        level = tree.depth == depth
        parents = tree.parent[level]
        below[level] = below[parents] | (tree.frame[parents] == number)
    return below


def _largest(
    pairs: list[tuple[int, float]], names: list[tuple[str, str]]
) -> list[tuple[str, float]]:
    """The functions with the largest sums, the outermost frame's caller left out."""
    sums: dict[int, float] = {}
    for number, weight in pairs:
        if number >= 0:
            sums[number] = sums.get(number, 0.0) + weight
    ranked = sorted(sums.items(), key=lambda pair: -pair[1])[:MOST_NEIGHBOURS]
    return [
        (names[number][0], weight) for number, weight in ranked if weight >= SMALLEST_LISTED_SHARE
    ]


def sandwiches(groups: Mapping[StackGroup, Traces]) -> list[Listing]:
    """A table for each group of one revision, by its first metric."""
    tables = []
    for group, traces in groups.items():
        profiles, (metric, meaning) = traces.profiles, next(iter(traces.metrics.items()))
        grown, side = traces.tree(metric), 1 if profiles.target else 0
        whole, unit = float(grown.total[0, side]), meaning.unit
        rate = sampling_rate(profiles) if metric == SAMPLE_METRIC else None
        if rate:  # samples are time
            whole, unit = whole / rate, "s"
        rows = functions(grown, side)
        names = apart([row.function for row in rows], NAME_CHARACTERS)
        listed = [
            TableRow(
                (group.job, row.function, None),
                name,
                shorten(f"{row.function} {row.file}".strip(), 300),
                [
                    TableCell(shorten(row.file, NAME_CHARACTERS), place=row.file),
                    *(_amount(share, whole, unit) for share in (row.own, row.total)),
                    _around(row.callers),
                    _around(row.callees),
                ],
            )
            for row, name in zip(rows, names, strict=True)
        ]
        columns = [
            Column("file"),
            Column("own", number=True),
            Column("with callees", number=True),
            Column("called by"),
            Column("calls"),
        ]
        caption = (
            f"{shorten(group.job)}: {metric_name(metric)}, shares of"
            f" {quantity(whole, unit)} per execution"
        )
        tables.append(Listing("Function", caption, columns, listed, []))
    return tables


def _amount(share: float, whole: float, unit: str) -> TableCell:
    return TableCell(f"{100 * share:.1f} %", quantity(share * whole, unit), value=share)


def _around(several: Sequence[tuple[str, float]]) -> TableCell:
    return TableCell(
        ", ".join(
            f"{shorten(name, NAME_CHARACTERS)} {100 * share:.1f}\u00a0%" for name, share in several
        )
    )
