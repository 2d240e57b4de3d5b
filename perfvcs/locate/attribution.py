"""Which function a difference of two call trees comes from.

A path costs what its function costs per call, times how often each function on the way calls the next. So a difference has two kinds of
causes: a function that costs more per call in itself, and a function that calls others more often per call of itself. With u the cost of a
call in itself, r the calls per call of the caller, w the cost of a call with all below it, and n the calls, each of side a or b:

    difference = sum over nodes of  n_b * (u_b - u_a  +  sum over callees of (r_b - r_a) * w_a)

which is exact. Cost that only moved cancels within one node: what was inlined, extracted or renamed costs its caller as much on one hand as
it saves on the other, so that siblings whose sum did not change are not blamed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from perfvcs.collectors._shared.frames import INLINED
from perfvcs.locate.matching import MatchedTree

EXPLAINS = 0.5  # the share of a node's difference from which on a child explains it


@dataclass
class Contribution:
    """What one function adds to the difference: ``dearer`` by costing more per call in itself, ``oftener`` by calling others more often.

    ``callees`` has the second part by what is called, ``at`` the amounts by node, ``calls`` how often it was called on each side.
    """

    function: str
    dearer: float = 0.0
    oftener: float = 0.0
    callees: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    at: dict[int, float] = field(default_factory=dict)
    calls: tuple[float, float] = (0.0, 0.0)

    @property
    def amount(self) -> float:
        """Both parts."""
        return self.dearer + self.oftener

    @property
    def heaviest(self) -> int:
        """The node at which it adds most."""
        return max(self.at, key=lambda node: abs(self.at[node]), default=0)


def contributions(tree: MatchedTree, owner: Callable[[str], str | None] | None = None) -> dict[str, Contribution]:
    """What each function adds to the difference; all of them together are the difference.

    ``owner`` names what answers for a function: a function that it knows nothing of (None), such as one of a library, is answered for by
    its nearest caller that it knows.
    """
    answers, own = _answers(tree, owner)
    found: dict[str, Contribution] = {}
    whole = tree.inclusive()
    calls = tree.calls
    oftener = [0.0] * len(tree)
    parts: list[list[tuple[int, float]]] = [[] for _ in tree.names]
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        before, after = calls[0][parent], calls[1][parent]
        if not (before and after):
            continue  # all of a new or lost path is its caller's
        side = 0 if calls[0][node] else 1
        each = whole[side][node] / calls[side][node] if calls[side][node] else 0.0
        part = (calls[1][node] / after - calls[0][node] / before) * each * after
        if part:
            oftener[parent] += part
            parts[parent].append((node, part))
    for node in range(len(tree)):
        one = found.get(answers[node])
        if one is None:
            found[answers[node]] = one = Contribution(answers[node])
        before, after = calls[0][node], calls[1][node]
        if own[node]:
            one.calls = one.calls[0] + before, one.calls[1] + after
        if not (before and after):
            continue
        dearer = (tree.own[1][node] / after - tree.own[0][node] / before) * after
        one.dearer += dearer
        one.oftener += oftener[node]
        for child, part in parts[node]:
            one.callees[tree.names[child]] += part
        if dearer or oftener[node]:
            one.at[node] = one.at.get(node, 0.0) + dearer + oftener[node]
    return found


def _answers(tree: MatchedTree, owner: Callable[[str], str | None] | None) -> tuple[list[str], list[bool]]:
    """The function that answers for each node, and whether the node is a call of that function itself, not of one inside it."""
    if owner is None:
        return tree.names, [True] * len(tree)
    known = {name: owner(name) for name in set(tree.names)}
    found: list[str] = []
    for node, name in enumerate(tree.names):
        answer = known[name]
        found.append(answer if answer is not None else found[tree.parents[node]] if node else name)
    return found, [known[name] is not None and "<" not in name and INLINED not in name for name in tree.names]


def deepest(tree: MatchedTree) -> int:
    """The deepest node that explains the difference: from the root down to a child that has at least half of it, while there is one."""
    whole = tree.inclusive()
    differences = [after - before for before, after in zip(*whole, strict=True)]
    best: dict[int, int] = {}
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        if parent not in best or _explains(differences, node, parent) > _explains(differences, best[parent], parent):
            best[parent] = node
    node = 0
    while node in best and _explains(differences, best[node], node) >= EXPLAINS:
        node = best[node]
    return node


def _explains(differences: list[float], child: int, parent: int) -> float:
    return differences[child] / differences[parent] if differences[parent] else 0.0


def unsettled(repeats: Iterable[dict[str, Contribution]]) -> dict[str, float]:
    """How far each function's amount varies from execution to execution, as two standard errors of its mean; of one execution, nothing."""
    from statistics import stdev

    several = list(repeats)
    if len(several) < 2:
        return {}
    names = {name for one in several for name in one}
    empty = Contribution("")
    return {name: 2 * stdev(one.get(name, empty).amount for one in several) / len(several) ** 0.5 for name in names}
