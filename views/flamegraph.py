"""Where the cost of one revision comes from: its call stacks as a flame graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from perfvcs.pictures.canvas import legend, stack
from perfvcs.pictures.flame import Flame, draw, flames
from perfvcs.pictures.functiontables import sandwiches
from perfvcs.pictures.listing import Listing
from perfvcs.pictures.stacks import StackGroup, Traces
from perfvcs.views._flames import FlameView

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

# Tints on which black can be read, told apart by every common kind of colour vision; the last is
# for all other files.
TINTS = ("#f3c566", "#8cc9f0", "#7fcfb5", "#f0a27a", "#e3bbd3", "#f2ea7f", "#a9b8e8", "#c9ced6")


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
