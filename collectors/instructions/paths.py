"""Call paths out of a call graph: callgrind knows who called whom and how often, but not from
where.

What a function and its callees took is shared among its callers in proportion to what each caller's
calls took, as if every call of it did the same whoever called. Where functions call each other in a
circle, callgrind counts nested calls repeatedly. There, what a call takes is computed anew from the
numbers of calls (a Markov chain, left where a function runs itself or calls out of the circle), and
a path that comes back to a context it went through goes on from there: no context is on a path
twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from perfvcs.collectors._shared.frames import inlined
from perfvcs.collectors.instructions.counts import Counts, FunctionCounts, functions, sums
from perfvcs.errors import nearest
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import Metric, Stacks
from perfvcs.system.numeric import Flags, Floats, Integers, np

REST_OF_PATHS = -1  # the end of a path that stands for several
MOST_CONTEXTS = 150  # contexts of one path
MOST_PATHS = 20_000  # from which on circles get no more than others
REST_FRAME = "[rest]"  # the last frame of a path that stands for several
Row = dict[str, float | None]


@dataclass
class _Flow:
    """How the instructions inside a context are divided: ``own`` is its own share, ``next`` those
    of what it calls.

    ``circle`` is the number of the circle that the context is in, ``turns`` how often that is gone
    round whenever it is entered.
    """

    own: float
    next: list[tuple[int, float]]
    circle: int
    turns: float


@dataclass
class _Walk:
    """The paths while they are followed from the roots; those of under ``least`` instructions end
    together as ``REST_OF_PATHS``.
    """

    flows: list[_Flow]
    least: float
    path: list[int] = field(default_factory=list)
    found: list[tuple[tuple[int, ...], float]] = field(default_factory=list)

    def follow(self, context: int, amount: float, grows: float = 1.0) -> dict[int, float]:
        """Follow ``amount`` instructions that are in ``context``; returns what came back to the
        contexts before it, by context.

        What comes back is followed by making all that was found larger, ``grows`` times at most.
        """
        flow, start = self.flows[context], len(self.found)
        self.path.append(context)
        rest = 0.0
        back: defaultdict[int, float] = defaultdict(float)
        for callee, share in flow.next:
            part, inner = share * amount, self.flows[callee]
            larger = grows if inner.circle == flow.circle else grows * inner.turns
            if callee in self.path:
                back[callee] += part
            elif (
                part * (larger if len(self.found) < MOST_PATHS else 1.0) < self.least
                or len(self.path) >= MOST_CONTEXTS
            ):
                rest += part
            else:
                for earlier, returned in self.follow(callee, part, larger).items():
                    back[earlier] += returned
        self.found += [
            ((*self.path, *end), value)
            for end, value in (((), flow.own * amount), ((REST_OF_PATHS,), rest))
            if value > 0
        ]
        self.path.pop()
        again = back.pop(context, 0.0)
        if again >= amount * (1 - 1e-9):
            self.found[start:] = [((*self.path, context), amount)]
            return {}
        scale = amount / (amount - again)
        if again:
            self.found[start:] = [(path, value * scale) for path, value in self.found[start:]]
        return {earlier: returned * scale for earlier, returned in back.items()}


def paths(counts: Counts, least: float) -> list[tuple[tuple[int, ...], float]]:
    """Paths of contexts, root first, with the instructions of their last context; together about as
    many as there are.

    Of what a context calls, all that is under ``least`` instructions is one path, which ends in
    ``REST_OF_PATHS``.
    """
    flows, roots = _flows(counts)
    walk = _Walk(flows, least)
    for context, amount in roots:
        walk.follow(context, amount, flows[context].turns)
    return walk.found


def _flows(counts: Counts) -> tuple[list[_Flow], list[tuple[int, float]]]:
    """How instructions are shared between a context and those that it calls, and the contexts where
    paths begin.
    """
    count = len(counts.contexts)
    nested = _nested(counts)
    circle = _circles(counts, nested)
    inside = nested & (circle[counts.caller] == circle[counts.callee])
    cost = counts.inclusive.copy()
    outside = ~inside
    # what a context took itself or had taken by what is not in its circle
    out = counts.exclusive + sums(counts.caller[outside], cost[outside], count)
    if inside.any():
        cost[inside] = (
            counts.calls[inside] * _per_call(counts, inside, circle, out)[counts.callee[inside]]
        )
    whole = counts.exclusive + sums(counts.caller, cost, count)
    scale = np.divide(1.0, whole, out=np.zeros(count), where=whole > 0)
    entered = np.maximum(1.0, sums(circle[counts.callee[outside]], counts.calls[outside], count))
    visits = np.ones(count)
    np.maximum.at(visits, circle, sums(counts.callee, counts.calls, count))
    turns = np.maximum(1.0, visits / entered)[circle]
    columns = zip((counts.exclusive * scale).tolist(), circle.tolist(), turns.tolist(), strict=True)
    flows = [_Flow(exclusive, [], number, times) for exclusive, number, times in columns]
    share = cost * scale[counts.caller]
    for place in np.lexsort((-share, counts.caller))[: len(share)].tolist():
        flows[counts.caller[place]].next.append((int(counts.callee[place]), float(share[place])))
    return flows, _roots(counts, circle, outside, out)


def _nested(counts: Counts) -> Flags:
    """Which edges may be open several times at once: a context of level 1 is active but once, and
    so is a call by it or of it.
    """
    inner = np.array([context.level > 1 for context in counts.contexts], bool)
    nested: Flags = (inner[counts.caller] & inner[counts.callee]) | (counts.caller == counts.callee)
    return nested


def _circles(counts: Counts, nested: Flags) -> Integers:
    """The number of the circle (strongly connected component of the nested calls) of each
    context.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(counts.contexts)
    edges = counts.caller[nested], counts.callee[nested]
    graph = coo_array((np.ones(len(edges[0])), edges), shape=(count, count)).tocsr()
    circles: Integers = connected_components(graph, directed=True, connection="strong")[1].astype(
        np.int64
    )
    return circles


def _per_call(counts: Counts, inside: Flags, circle: Integers, out: Floats) -> Floats:
    """The instructions of one call of each context, by w = out / visits + sum over the circle of
    calls / visits * w.
    """
    from scipy.sparse import coo_array, eye_array
    from scipy.sparse.linalg import spsolve

    count = len(out)
    visits = np.maximum(1.0, sums(counts.callee, counts.calls, count))
    entered = sums(circle[counts.callee[~inside]], counts.calls[~inside], int(circle.max()) + 1)
    visits += entered[circle] == 0  # a thread begins in it, or the calls are from before a fork
    rates = counts.calls[inside] / visits[counts.caller[inside]]
    matrix = coo_array(
        (rates, (counts.caller[inside], counts.callee[inside])), shape=(count, count)
    )
    solved = spsolve((eye_array(count) - matrix).tocsc(), out / visits)
    bounded: Floats = np.nan_to_num(np.maximum(solved, 0.0), nan=0.0, posinf=0.0)
    return bounded


def _roots(
    counts: Counts, circle: Integers, outside: Flags, out: Floats
) -> list[tuple[int, float]]:
    """The contexts whose instructions nobody's calls account for, and those instructions; of a
    circle the one called least.
    """
    circles = int(circle.max()) + 1
    entering = sums(circle[counts.callee[outside]], counts.inclusive[outside], circles)
    missing = sums(circle, out, circles) - entering
    called = sums(counts.callee, counts.calls, len(out))
    order = np.lexsort((called, circle))
    first = order[np.searchsorted(circle[order], np.arange(circles))]
    return [(int(first[number]), float(missing[number])) for number in np.flatnonzero(missing >= 1)]


def observations(
    run: Run,
    counts: Counts,
    metrics: Mapping[str, Metric],
    chosen: Sequence[str],
    least: float,
    repeatability: float | None,
) -> Observations:
    """The rows under ``metrics``: those of the engine, which may know less than callgrind does.

    ``chosen`` are patterns of functions' names; raises CollectError for one that no function has.
    ``least`` is the share of all instructions below which functions and paths are left out.
    """
    rows = Observations(
        metrics=dict(metrics), values={name: [] for name in metrics}, warnings=list(counts.warnings)
    )
    rows.add(run.uid, {"instructions": counts.total, "repeatability": repeatability}, size=run.size)
    if "exclusive" not in metrics:
        return rows
    table = functions(counts, run.cwd, run.uid)
    judged = _chosen(table, chosen)
    column = "inclusive" if "inclusive" in metrics else "exclusive"
    weight = getattr(table, column)
    for place in (-weight).argsort(kind="stable").tolist():
        if weight[place] < least * counts.total and place not in judged:
            continue
        row: Row = {
            name: _known(getattr(table, name)[place])
            for name in ("exclusive", "inclusive", "calls")
            if name in metrics
        }
        rows.add(
            table.uid[place],
            row | ({"instructions": row[column]} if place in judged else {}),
            size=run.size,
        )
    if "self" in metrics:
        _append_paths(rows, run, counts, table, least)
    return rows


def _known(value: float) -> float | None:
    from math import isnan

    return None if isnan(value) else float(value)


def _append_paths(
    observations: Observations, run: Run, counts: Counts, table: FunctionCounts, least: float
) -> None:
    """A row for each path, under its last function's name; paths that differ in their contexts only
    are one.
    """
    count = len(table.uid)
    uids, names = (
        [*table.uid, *table.uid, REST_FRAME],
        [*table.frame, *map(inlined, table.frame), REST_FRAME],
    )
    of = [
        place + count * bool(context.within)
        for place, context in zip(table.of.tolist(), counts.contexts, strict=True)
    ]
    of.append(2 * count)
    amounts: dict[tuple[int, ...], float] = {}
    for path, amount in paths(counts, least * counts.total):
        stack = tuple(of[context if context != REST_OF_PATHS else len(of) - 1] for context in path)
        amounts[stack] = amounts.get(stack, 0.0) + amount
    frames: dict[int, int] = {}
    observations.stacks = Stacks([], [])
    for stack, amount in sorted(amounts.items(), key=lambda item: (-item[1], item[0])):
        if round(amount):
            observations.add(
                uids[stack[-1]],
                {"self": float(round(amount))},
                size=run.size,
                trace=len(observations.stacks.stacks),
            )
            observations.stacks.stacks.append(
                [frames.setdefault(frame, len(frames)) for frame in stack]
            )
    observations.stacks.frames.extend(names[frame] for frame in frames)


def _chosen(table: FunctionCounts, patterns: Sequence[str]) -> set[int]:
    """The places of the functions that the patterns are for."""
    places: set[int] = set()
    for pattern in patterns:
        fitting = {
            place
            for place, (uid, name) in enumerate(zip(table.uid, table.name, strict=True))
            if pattern in (uid, name, name.partition("(")[0]) or fnmatchcase(name, pattern)
        }
        if not fitting:
            raise CollectError(
                f"instructions: no function `{pattern}`"
                f" ran{nearest(pattern, dict.fromkeys(table.name))}"
            )
        places |= fitting
    return places
