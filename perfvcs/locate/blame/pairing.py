"""Two call trees as one, and the functions from which their difference comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import isnan

from perfvcs.collectors._shared.frames import INLINED, inclusive, inlined
from perfvcs.locate.blame.calltree import CallTree

# the share of common names below two functions from which on they are taken for one that was
# renamed
COMMON_NAMES_SHARE = 0.5
MOST_LEFT = 30  # functions below one caller that are compared with each other
FEWEST_BELOW = 2  # names below a function that can tell it from others
SAME_SHARE = 1e-4  # of all that was counted: so far counts differ by themselves
EXPLAINS = 0.5  # the share of a node's difference from which on a child explains it


@dataclass(frozen=True)
class MatchedTree:
    """Two trees as one, with a cost and a number of calls for each side; both are 0 for a node that
    a side does not have.

    ``names`` are those of the second side where it has the node. Nobody counts how often a function
    runs that the compiler put into its caller: as often per call of that as on the other side, or
    once.
    """

    names: list[str]
    parents: list[int]
    own: tuple[list[float], list[float]]
    calls: tuple[list[float], list[float]]

    def __len__(self) -> int:
        return len(self.names)

    def inclusive(self) -> tuple[list[float], list[float]]:
        """The cost of each node with all below it, for each side."""
        return inclusive(self.own[0], self.parents), inclusive(self.own[1], self.parents)

    @property
    def difference(self) -> float:
        """What the second side costs more."""
        return float(sum(self.own[1]) - sum(self.own[0]))

    def side(self, side: int) -> CallTree:
        """One of the two trees that it was made from, as far as names are known."""
        chosen = [node for node in range(len(self)) if node == 0 or self.calls[side][node]]
        place = {-1: -1} | {node: number for number, node in enumerate(chosen)}
        return CallTree(
            [self.names[node] for node in chosen],
            [place[self.parents[node]] for node in chosen],
            [self.own[side][node] for node in chosen],
            [self.calls[side][node] for node in chosen],
        )

    def path(self, node: int) -> list[str]:
        """The names on the way to a node, root first, without the root."""
        names = []
        while node > 0:
            names.append(self.names[node])
            node = self.parents[node]
        return names[::-1]


def match(a: CallTree, b: CallTree, renamed: Mapping[str, str] | None = None) -> MatchedTree:
    """Match two trees from their roots; ``renamed`` has the new names of functions whose bodies
    tell so.

    Below a caller, functions of the same name are one, called or a part of its body, then those of
    the same name in another file, then those that call the same.
    """
    renamed = renamed or {}
    below = _children(a), _children(b)
    matched = MatchedTree([], [], ([], []), ([], []))
    waiting = [(0, 0, -1)]
    while waiting:
        first, second, parent = waiting.pop()
        number = len(matched)
        matched.names.append(b.names[second] if second >= 0 else a.names[first])
        matched.parents.append(parent)
        for side, (tree, node) in enumerate(((a, first), (b, second))):
            matched.own[side].append(tree.own[node] if node >= 0 else 0.0)
            matched.calls[side].append(tree.calls[node] if node >= 0 else 0.0)
        _estimate(matched, number)
        left = below[0][first] if first >= 0 else []
        right = below[1][second] if second >= 0 else []
        waiting += [(x, y, number) for x, y in _pairs(a, b, left, right, below, renamed)]
    return matched


def _estimate(matched: MatchedTree, node: int) -> None:
    """Set the calls of a node that is a part of its caller on one side or both."""
    unknown = [isnan(calls[node]) for calls in matched.calls]
    if not any(unknown):
        return
    if INLINED not in matched.names[node]:
        matched.names[node] = inlined(matched.names[node])
    parent = matched.parents[node]
    rates = [
        calls[node] / calls[parent]
        for calls, lost in zip(matched.calls, unknown, strict=True)
        if not lost and calls[node] and calls[parent]
    ]
    for calls, lost in zip(matched.calls, unknown, strict=True):
        if lost:
            calls[node] = calls[parent] * (rates[0] if rates else 1.0)


def _children(tree: CallTree) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in tree.names]
    for node in range(1, len(tree)):
        children[tree.parents[node]].append(node)
    return children


def _pairs(
    a: CallTree,
    b: CallTree,
    left: list[int],
    right: list[int],
    below: tuple[list[list[int]], list[list[int]]],
    renamed: Mapping[str, str],
) -> list[tuple[int, int]]:
    """Pairs of children, -1 for one that has none on the other side."""
    if not left or not right:
        return [*((x, -1) for x in left), *((-1, y) for y in right)]
    names = {b.names[y]: y for y in right}
    pairs, lost = [], []
    for x in left:
        name = a.names[x]
        partner = names.pop(renamed.get(name, name), None)
        if partner is None:
            lost.append(x)
        else:
            pairs.append((x, partner))
    bare = {b.names[y].replace(INLINED, ""): b.names[y] for y in names.values()}
    inlined = {x: bare.pop(a.names[x].replace(INLINED, ""), None) for x in lost}
    pairs += [(x, names.pop(other)) for x, other in inlined.items() if other is not None]
    lost = [x for x, other in inlined.items() if other is None]
    if not lost or not names:
        return [*pairs, *((x, -1) for x in lost), *((-1, y) for y in names.values())]
    more = _alike(a, b, lost, list(names.values()), below)
    taken = {y for _, y in more}
    matched = {x for x, _ in more}
    lost_alone = [(x, -1) for x in lost if x not in matched]
    new_alone = [(-1, y) for y in names.values() if y not in taken]
    return [*pairs, *more, *lost_alone, *new_alone]


def _alike(
    a: CallTree,
    b: CallTree,
    left: list[int],
    right: list[int],
    below: tuple[list[list[int]], list[list[int]]],
) -> list[tuple[int, int]]:
    """Functions without a namesake that are probably the same: only the file is another one, or
    what they call is alike.
    """
    if len(left) > MOST_LEFT or len(right) > MOST_LEFT:
        left, right = _heaviest(a, left), _heaviest(b, right)
    sets = {("a", x): _names_below(a, x, below[0]) for x in left} | {
        ("b", y): _names_below(b, y, below[1]) for y in right
    }
    scores = []
    for x, y in product(left, right):
        first, second = a.names[x].partition(" (")[0], b.names[y].partition(" (")[0]
        if first == second:
            scores.append((2.0, x, y))
            continue
        below_x, below_y = sets["a", x], sets["b", y]
        share = len(below_x & below_y) / len(below_x | below_y) if below_x | below_y else 0.0
        if share >= COMMON_NAMES_SHARE and min(len(below_x), len(below_y)) >= FEWEST_BELOW:
            scores.append((share, x, y))
    pairs: list[tuple[int, int]] = []
    taken: set[tuple[str, int]] = set()
    for _, x, y in sorted(scores, key=lambda score: (-score[0], score[1], score[2])):
        if ("a", x) not in taken and ("b", y) not in taken:
            taken |= {("a", x), ("b", y)}
            pairs.append((x, y))
    return pairs


def _heaviest(tree: CallTree, nodes: list[int]) -> list[int]:
    return sorted(nodes, key=lambda node: -tree.own[node])[:MOST_LEFT]


def _names_below(tree: CallTree, node: int, below: list[list[int]]) -> set[str]:
    """The names at most two levels below a node."""
    return {tree.names[child] for parent in [node, *below[node]] for child in below[parent]}


@dataclass
class Contribution:
    """What one function adds to the difference: ``dearer`` by costing more per call in itself,
    ``oftener`` by calling others more often.

    ``callees`` has the second part by what is called, ``at`` the amounts by node, ``calls`` how
    often it was called on each side.
    """

    function: str
    dearer: float = 0.0
    oftener: float = 0.0
    callees: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    at: dict[int, float] = field(default_factory=dict)
    calls: tuple[float, float] = (0.0, 0.0)

    @property
    def amount(self) -> float:
        """What it adds in all."""
        return self.dearer + self.oftener

    @property
    def heaviest(self) -> int:
        """The node at which it adds most."""
        return max(self.at, key=lambda node: abs(self.at[node]), default=0)


def contributions(
    tree: MatchedTree, owner: Callable[[str], str | None] | None = None
) -> dict[str, Contribution]:
    """What each function adds to the difference; together they make up all of it.

    ``owner`` names the function that answers for another one: where it knows nothing of a function
    (None), such as one of a library, the nearest caller that it knows answers.
    """
    answers, own = _answers(tree, owner)
    by_function: dict[str, Contribution] = {}
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
        cost = whole[side][node] / calls[side][node] if calls[side][node] else 0.0
        part = (calls[1][node] / after - calls[0][node] / before) * cost * after
        if part:
            oftener[parent] += part
            parts[parent].append((node, part))
    for node in range(len(tree)):
        contribution = by_function.get(answers[node])
        if contribution is None:
            by_function[answers[node]] = contribution = Contribution(answers[node])
        before, after = calls[0][node], calls[1][node]
        if own[node]:
            contribution.calls = contribution.calls[0] + before, contribution.calls[1] + after
        if not (before and after):
            continue
        dearer = (tree.own[1][node] / after - tree.own[0][node] / before) * after
        contribution.dearer += dearer
        contribution.oftener += oftener[node]
        for child, part in parts[node]:
            contribution.callees[tree.names[child]] += part
        if dearer or oftener[node]:
            contribution.at[node] = contribution.at.get(node, 0.0) + dearer + oftener[node]
    return by_function


def _answers(
    tree: MatchedTree, owner: Callable[[str], str | None] | None
) -> tuple[list[str], list[bool]]:
    """The function that answers for each node, and whether the node is a call of that function
    itself, not of one inside it.
    """
    if owner is None:
        return tree.names, [True] * len(tree)
    owners = {name: owner(name) for name in set(tree.names)}
    answers: list[str] = []
    for node, name in enumerate(tree.names):
        answer = owners[name]
        if answer is None:
            answer = answers[tree.parents[node]] if node else name
        answers.append(answer)
    return answers, [
        owners[name] is not None and "<" not in name and INLINED not in name for name in tree.names
    ]


def deepest(tree: MatchedTree) -> int:
    """The deepest node that explains the difference: from the root down to a child that has at
    least half of it, while there is one.
    """
    whole = tree.inclusive()
    differences = [after - before for before, after in zip(*whole, strict=True)]
    best: dict[int, int] = {}
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        if parent not in best or _explains(differences, node, parent) > _explains(
            differences, best[parent], parent
        ):
            best[parent] = node
    node = 0
    while node in best and _explains(differences, best[node], node) >= EXPLAINS:
        node = best[node]
    return node


def _explains(differences: list[float], child: int, parent: int) -> float:
    return differences[child] / differences[parent] if differences[parent] else 0.0


def differing(a: CallTree, b: CallTree) -> tuple[int, int]:
    """How many functions two exact trees have, and how many of them cost another amount."""
    costs: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for side, tree in enumerate((a, b)):
        for name, cost in zip(tree.names, tree.own, strict=True):
            costs[name.replace(INLINED, "")][side] += cost
    least = SAME_SHARE * max(a.total, b.total)
    known = [pair for pair in costs.values() if any(pair)]
    return len(known), sum(abs(after - before) > least for before, after in known)


def unsettled(repeats: Iterable[dict[str, Contribution]]) -> dict[str, float]:
    """How far each function's amount varies from execution to execution, as two standard errors of
    its mean; of one execution, nothing.
    """
    from statistics import stdev

    several = list(repeats)
    if len(several) < 2:
        return {}
    names = {name for execution in several for name in execution}
    empty = Contribution("")
    return {
        name: 2
        * stdev(execution.get(name, empty).amount for execution in several)
        / len(several) ** 0.5
        for name in names
    }
