"""Changes of call stacks as a tree of characters: a line per path, with a bar as long as its change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING

from perfvcs.text.columns import fitted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.drawing.flame.boxes import Flame

MOST_PATHS = 20  # paths
SMALLEST_DRAWN_SHARE = 0.005  # of the largest change: what is smaller has no line
BAR = 10  # columns of the largest change
MORE, LESS = "■", "□"
TREE_INDENT = 2
NAME_SHARE = 0.5  # of what is left beside the bar: the rest says by how much


def branches(
    flame: Flame, change: NDArray[np.float64], sure: NDArray[np.bool_], texts: Sequence[str], width: int
) -> Iterator[str]:
    """A line per path whose change, of shape (boxes,), is ``sure``: the largest, callers above callees; ``texts`` say by how much.

    A filled bar is more in the target, an empty one less.
    """
    import numpy as np

    size = np.where(sure, np.abs(change), 0.0)
    size[0] = 0.0  # all of it is in the heading
    largest = float(size.max(initial=0.0))
    order = [place for place in np.argsort(-size, kind="stable").tolist() if size[place] > SMALLEST_DRAWN_SHARE * largest]
    if not order:
        yield "nothing changed beyond chance"
        return
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
        bar = (MORE if change[place] > 0 else LESS) * ceil(BAR * size[place] / largest)
        indent = " " * min(TREE_INDENT * depth, room // 4)
        name = fitted(indent + flame.parts[place][0], int(NAME_SHARE * room))
        yield f"{bar:{BAR}} {name}  {fitted(texts[place], room - len(name) - 2)}"
        waiting += [(one, depth + 1) for one in reversed(below[place])]
    if len(order) > MOST_PATHS:
        yield f"{'':{BAR}} and {len(order) - MOST_PATHS:,} smaller changes"
