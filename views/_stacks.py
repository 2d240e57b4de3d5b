"""Call stacks of profiles as one tree: every node is a frame with the callers above it, and what was counted there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.profile import REPEATED, Metric, Profile, is_derived
from perfvcs.quantity import metric_rank
from perfvcs.views import Subject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEVELS = 100  # of callers; what is deeper counts for the frame at the last level
SHARE = "share"  # a metric that is another one in percent


class Group(NamedTuple):
    """Profiles whose stacks belong on one picture: of one job, measured by one engine."""

    job: str
    collector: str
    engine: str


@dataclass(frozen=True)
class Tree:
    """Frames with their callers, parents before children; node 0 is what they have in common.

    ``frame`` (index into ``frames``, -1 for node 0), ``parent`` and ``depth`` have the shape (nodes,); ``total`` and ``own``, with and
    without the callees, have (nodes, 2), for baseline and target, and are means over the executions. ``counts``: what the executions
    have together, of each side; ``deeper``: whether stacks are deeper than ``LEVELS``.
    """

    frames: list[str]
    frame: NDArray[np.int64]
    parent: NDArray[np.int64]
    depth: NDArray[np.int64]
    total: NDArray[np.float64]
    own: NDArray[np.float64]
    counts: tuple[float, float]
    deeper: bool

    @property
    def shares(self) -> NDArray[np.float64]:
        """Each node's part of all, of shape (nodes, 2); 0 on a side without anything."""
        import numpy as np

        return self.total / np.where(self.total[0] > 0, self.total[0], 1.0)


def traced(profile: Profile) -> bool:
    """Whether a profile has rows with call stacks."""
    return profile.stacks is not None and profile.resources.trace is not None and any(row >= 0 for row in profile.resources.trace)


def groups(subject: Subject) -> dict[Group, Subject]:
    """The profiles with call stacks, those together that can be compared."""
    found: dict[Group, Subject] = {}
    for side in ("target", "baseline"):
        for profile in getattr(subject, side):
            if traced(profile):
                group = Group(profile.job.label, profile.job.collector, profile.job.engine)
                known = found.get(group, Subject(subject.title))
                sides = {"target": known.target, "baseline": known.baseline} | {side: [*getattr(known, side), profile]}
                found[group] = Subject(subject.title, **sides)
    return found


def metrics(subject: Subject) -> dict[str, Metric]:
    """The metrics that have values in rows with stacks, those first that are judged."""
    import numpy as np

    found: dict[str, Metric] = {}
    for profile in (*subject.target, *subject.baseline):
        at_stacks = np.asarray(profile.resources.integers("trace"), np.int64) >= 0
        for name, metric in profile.metrics.items():
            if name in found or name == SHARE or is_derived(name, profile.metrics):
                continue
            if (profile.resources.array(name)[at_stacks] > 0).any():
                found[name] = metric
    return dict(sorted(found.items(), key=lambda pair: (pair[1].better == "none", metric_rank(pair[0]))))


def tree(subject: Subject, metric: str) -> Tree:
    """The tree of all stacks of both sides, by one metric; children are in the order of their names."""
    import numpy as np

    sides = [[profile for profile in side if traced(profile)] for side in (subject.baseline, subject.target)]
    names = sorted({frame for side in sides for profile in side if profile.stacks for frame in profile.stacks.frames})
    numbers = {name: number for number, name in enumerate(names)}
    codes, lengths, weights, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty((0, 2))], [0.0, 0.0]
    for place, side in enumerate(sides):
        values = [_weights(profile, metric) for profile in side]
        executions = max(1, sum(count for _, count in values))
        for profile, (weight, _) in zip(side, values, strict=True):
            stacks = profile.stacks.stacks if profile.stacks else []
            renumbered = np.array([numbers[frame] for frame in profile.stacks.frames] if profile.stacks else [], np.int64)
            lengths.append(np.fromiter(map(len, stacks), np.int64, len(stacks)))
            codes.append(renumbered[np.fromiter(chain.from_iterable(stacks), np.int64, int(lengths[-1].sum()))])
            both = np.zeros((len(stacks), 2))
            both[:, place] = weight / executions
            weights.append(both)
            counts[place] += float(weight.sum())
    return _grow(names, np.concatenate(codes), np.concatenate(lengths), np.concatenate(weights), (counts[0], counts[1]))


def _weights(profile: Profile, metric: str) -> tuple[NDArray[np.float64], int]:
    """The metric's sum per stack over all executions, and how many executions there were; negative amounts count nothing."""
    import numpy as np

    rows, stacks = profile.resources, profile.stacks.stacks if profile.stacks else []
    kept = np.asarray(rows.integers("mark"), np.int64) != REPEATED
    pairs = np.stack([np.asarray(rows.integers("binary"), np.int64), np.asarray(rows.execution, np.int64)])[:, kept]
    executions = np.unique(pairs, axis=1).shape[1]
    if metric not in profile.metrics:
        return np.zeros(len(stacks)), executions
    trace, values = np.asarray(rows.integers("trace"), np.int64), rows.array(metric)
    own = kept & (trace >= 0) & np.isfinite(values) & (values > 0)
    return np.bincount(trace[own], weights=values[own], minlength=len(stacks)).astype(np.float64), executions


def _grow(
    names: list[str], codes: NDArray[np.int64], lengths: NDArray[np.int64], weights: NDArray[np.float64], counts: tuple[float, float]
) -> Tree:  # fmt: skip
    """All stacks at once, a level at a time."""
    import numpy as np

    there = weights.sum(axis=1) > 0
    starts = (np.cumsum(lengths) - lengths)[there]
    lengths, weights = lengths[there], weights[there]
    node, base = np.zeros(len(lengths), np.int64), 1
    frame, parent, depth = [np.array([-1])], [np.array([-1])], [np.array([0])]
    totals = [weights.sum(axis=0, keepdims=True)]
    for level in range(min(LEVELS, int(lengths.max(initial=0)))):
        deep = np.flatnonzero(lengths > level)
        keys, which = np.unique(node[deep] * len(names) + codes[starts[deep] + level], return_inverse=True)
        which = which.ravel()
        frame.append(keys % len(names))
        parent.append(keys // len(names))
        depth.append(np.full(len(keys), level + 1))
        totals.append(_sums(which, weights[deep], len(keys)))
        node[deep] = base + which
        base += len(keys)
    return Tree(
        names, np.concatenate(frame), np.concatenate(parent), np.concatenate(depth), np.concatenate(totals), _sums(node, weights, base),
        counts, bool(lengths.max(initial=0) > LEVELS),
    )  # fmt: skip


def _sums(which: NDArray[np.int64], weights: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The sums of both columns per number."""
    import numpy as np

    return np.stack([np.bincount(which, weights=weights[:, side], minlength=count) for side in (0, 1)], axis=1)


def layout(tree: Tree, most: int, least: float) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """What is drawn: numbers of at most ``most`` nodes of at least the share ``least``, and where all begin and end (0 to 1).

    With two sides a node is as wide as the mean of its shares, so that what came and what went can both be seen.
    """
    import numpy as np

    present = tree.total[0] > 0
    width = tree.shares[:, present].mean(axis=1) if present.any() else np.zeros(len(tree.frame))
    left = np.zeros(len(width))
    for level in range(1, int(tree.depth.max()) + 1):
        own = np.flatnonzero(tree.depth == level)
        before = np.cumsum(width[own]) - width[own]
        first = np.searchsorted(tree.parent[own], tree.parent[own])  # siblings stand together
        left[own] = left[tree.parent[own]] + before - before[first]
    kept = np.flatnonzero(width >= least)
    if len(kept) > most:  # no child is wider than its parent
        bound = np.partition(width[kept], len(kept) - most)[len(kept) - most]
        kept = kept[width[kept] > bound] if np.count_nonzero(width[kept] >= bound) > most else kept[width[kept] >= bound]
    return kept, left, left + width


def split(frame: str) -> tuple[str, str]:
    """Function and file of a frame ``function (file:line)``; the file is empty where it names none."""
    function, bracket, file = frame.rpartition(" (")
    if not bracket or not file.endswith(")") or not function:
        return frame, ""
    file, colon, line = file[:-1].rpartition(":")
    return (function, file) if colon and line.isdecimal() else (function, file + colon + line)
