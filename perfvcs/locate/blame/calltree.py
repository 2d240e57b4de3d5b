"""A tree of calls, made from any collector that knows who called whom: names that two revisions
share, costs, calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from math import nan
from typing import TYPE_CHECKING

from perfvcs.collectors._shared.frames import INLINED, above, inclusive

if TYPE_CHECKING:
    from perfvcs.profile import Profile

ROOT = "(all)"
# what differs from run to run: addresses, numbers of objects, names of temporary files, and the
# place of a lambda among others
VARYING = re.compile(r"0x[0-9a-f]+|\d{5,}|\btmp[0-9a-z_]{8}\b")
LAMBDA = re.compile(r"(\{lambda\([^{}]*\))#\d+\}")
METRICS = (
    "self",
    "time",
    "samples",
    "bytes",
    "allocated",
    "count",
    "site_bytes",
)  # of the rows that have a call stack, as collectors name them


@lru_cache(maxsize=200_000)
def normal(name: str) -> str:
    """A frame's name without what differs from run to run.

    >>> normal("make.<locals>.f_140234871 (tmpab12_x9z.py)")
    'make.<locals>.f_# (#.py)'
    """
    return LAMBDA.sub(r"\1}", VARYING.sub("#", name))


@dataclass(frozen=True)
class CallTree:
    """Call paths as a tree, node 0 its root; a node's parent has a smaller number.

    ``own`` is what a node cost in itself, ``calls`` how often its parent entered it: 1 where that
    is not known, NaN for a function that the compiler put into its parent. What a function does
    inside a call of itself belongs to its outermost call.
    """

    names: list[str]
    parents: list[int]
    own: list[float]
    calls: list[float]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def total(self) -> float:
        """The cost of all nodes."""
        return float(sum(self.own))

    def inclusive(self) -> list[float]:
        """The cost of each node with all below it."""
        return inclusive(self.own, self.parents)

    @classmethod
    def of_paths(
        cls, paths: Iterable[tuple[Sequence[str], float, float]], *, collapsed: bool = False
    ) -> CallTree:
        """The tree of paths (names, root first; the cost of the last one itself; how often it was
        entered from there, 0: not known).

        ``collapsed``: whoever recorded the paths left recursion out, and a name that is twice on
        one has two nodes.
        """
        names, parents, own, calls = [ROOT], [-1], [0.0], [1.0]
        below: list[dict[str, int]] = [{}]
        for path, cost, entered in paths:
            node, outer = 0, 0
            recursive = not collapsed and len(set(path)) < len(path)
            for name in path:
                outer = node
                child = below[node].get(name)
                if child is None:
                    child = above(names, parents, node, name) if recursive else None
                    if child is None:
                        child = len(names)
                        names.append(name)
                        parents.append(node)
                        own.append(0.0)
                        calls.append(0.0)
                        below.append({})
                    below[node][name] = child
                node = child
            own[node] += cost
            if node > outer:
                calls[node] += entered
        return cls(names, parents, own, [count or 1.0 for count in calls])

    @classmethod
    def of(cls, profile: Profile, metric: str = "") -> CallTree | None:
        """The tree of a profile's rows with call stacks, by the metric that such rows have; None
        without any.

        Several executions make one tree of their sums. Where calls are known by function only, a
        path has its share of them by cost.
        """
        rows, stacks = profile.resources, profile.stacks
        if stacks is None or rows.trace is None:
            return None
        has_stack = [trace >= 0 for trace in rows.trace]
        columns = {
            name: list(compress(rows.metrics[name], has_stack))
            for name in ([metric] if metric else METRICS)
            if name in rows.metrics
        }
        column = next(
            (values for values in columns.values() if any(value is not None for value in values)),
            None,
        )
        if column is None:
            return None
        frames = [normal(frame) for frame in stacks.frames]
        entries = rows.metrics.get("entered")
        entered = (
            list(compress(entries, has_stack)) if entries is not None else [None] * len(column)
        )
        traces = compress(rows.trace, has_stack)
        tree = cls.of_paths(
            (
                ([frames[place] for place in stacks.stacks[trace]], value, count or 0.0)
                for trace, value, count in zip(traces, column, entered, strict=True)
                if value is not None
            ),
            collapsed=entries is not None,
        )
        return tree if entries is not None else _with_calls(tree, profile)


def least_of(trees: Sequence[CallTree]) -> CallTree:
    """One tree of several executions: each path with its smallest cost, which others cannot have
    disturbed, and its calls.
    """
    values: dict[tuple[int, str], int] = {}
    names, parents, own, calls = [ROOT], [-1], [min(tree.own[0] for tree in trees)], [1.0]
    seen = [len(trees)]
    for tree in trees:
        place = [0] * len(tree)
        for node in range(1, len(tree)):
            key = place[tree.parents[node]], tree.names[node]
            number = values.get(key)
            if number is None:
                values[key] = number = len(names)
                names.append(tree.names[node])
                parents.append(key[0])
                own.append(tree.own[node])
                calls.append(tree.calls[node])
                seen.append(0)
            place[node] = number
            own[number] = min(own[number], tree.own[node])
            seen[number] += 1
    # a path that not every execution has costs nothing in the others
    return CallTree(
        names,
        parents,
        [cost if count >= len(trees) else 0.0 for cost, count in zip(own, seen, strict=True)],
        calls,
    )


def _with_calls(tree: CallTree, profile: Profile) -> CallTree:
    """The tree with the calls that the profile has by function, shared among the function's paths
    by what they cost.
    """
    rows = profile.resources
    column = rows.metrics.get("calls")
    if column is None:
        return tree
    counts: dict[str, float] = {}
    for place, count in enumerate(column):
        if count is not None:
            name = normal(rows.names[rows.uid[place]])
            counts[name] = counts.get(name, 0.0) + count
    whole = tree.inclusive()
    sums: dict[str, float] = {}
    for node, name in enumerate(tree.names):
        sums[name] = sums.get(name, 0.0) + whole[node]
    calls = [1.0]
    for node in range(1, len(tree)):
        name = tree.names[node]
        if INLINED in name:
            calls.append(nan)
            continue
        count = counts.get(name, counts.get(name.rpartition(" (")[0]))
        share = whole[node] / sums[name] if sums[name] else 0.0
        calls.append(max(count * share, 1e-9) if count else 1.0)
    return CallTree(tree.names, tree.parents, tree.own, calls)
