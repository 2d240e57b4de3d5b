"""Call stacks of profiles as one tree: every node is a frame with the callers above it, and what
was counted there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

from perfvcs.check.subject import Subject
from perfvcs.profile import REPEATED, Metric, Profile, is_derived
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.words import metric_rank

LEVELS = 100  # of callers; what is deeper counts for the frame at the last level
BATCHES = 200  # of executions that are told apart
SHARE_METRIC = "share"  # a metric that is another one in percent


class StackGroup(NamedTuple):
    """Profiles whose stacks belong on one picture: of one job, measured by one engine."""

    job: str
    collector: str
    engine: str


@dataclass(frozen=True)
class Traces:
    """The profiles of a group, and the metrics with values in rows with stacks; trees are kept."""

    profiles: Subject
    metrics: dict[str, Metric]
    _trees: dict[str, FrameTree] = field(default_factory=dict, compare=False, repr=False)

    def tree(self, metric: str) -> FrameTree:
        """The tree of all stacks of both sides, by one metric."""
        if metric not in self._trees:
            self._trees[metric] = tree(self.profiles, metric)
        return self._trees[metric]

    @property
    def of_two(self) -> bool:
        """Whether there are profiles of both revisions."""
        return bool(self.profiles.target and self.profiles.baseline)


@dataclass(frozen=True)
class FrameTree:
    """Frames with their callers, parents before children; node 0 is what they have in common.

    ``frame`` (index into ``frames``, -1 for node 0), ``parent`` and ``depth`` have the shape
    (nodes,); ``total`` and ``own``, with and without the callees, have (nodes, 2), for baseline and
    target, and are means over the executions. ``ends`` has the last node of each stack, profile
    after profile, those of the baseline first. ``counts``: what the executions have together, of
    each side; ``deeper``: whether stacks are deeper than ``LEVELS``.
    """

    frames: list[str]
    frame: Integers
    parent: Integers
    depth: Integers
    total: Floats
    own: Floats
    ends: Integers
    counts: tuple[float, float]
    deeper: bool

    @cached_property
    def shares(self) -> Floats:
        """Each node's part of all, of shape (nodes, 2); 0 on a side without anything."""
        return self.total / np.where(self.total[0] > 0, self.total[0], 1.0)

    @property
    def has_calls(self) -> bool:
        """Whether some frame has a caller."""
        return int(self.depth.max()) > 1

    @property
    def sides(self) -> list[int]:
        """The sides that have anything: baseline (0), target (1)."""
        return [side for side in (0, 1) if self.total[0, side] > 0]


def traced(profile: Profile) -> bool:
    """Whether a profile has rows with call stacks."""
    return (
        profile.stacks is not None
        and profile.resources.trace is not None
        and any(row >= 0 for row in profile.resources.trace)
    )


def groups(subject: Subject) -> dict[StackGroup, Subject]:
    """The profiles with call stacks, those together that can be compared."""
    by_group: dict[StackGroup, Subject] = {}
    for side in ("target", "baseline"):
        for profile in getattr(subject, side):
            if traced(profile):
                group = StackGroup(profile.job.label, profile.job.collector, profile.job.engine)
                group_subject = by_group.get(group, Subject(subject.title))
                sides = {"target": group_subject.target, "baseline": group_subject.baseline} | {
                    side: [*getattr(group_subject, side), profile]
                }
                by_group[group] = Subject(subject.title, **sides)
    return by_group


def traces(subject: Subject) -> dict[StackGroup, Traces]:
    """The groups of which some metric has values in call stacks."""
    by_group = {name: Traces(group, metrics(group)) for name, group in groups(subject).items()}
    return {name: group_traces for name, group_traces in by_group.items() if group_traces.metrics}


def metrics(subject: Subject) -> dict[str, Metric]:
    """The metrics that have values in rows with stacks, those first that are judged."""
    having: dict[str, Metric] = {}
    for profile in (*subject.target, *subject.baseline):
        at_stacks = np.asarray(profile.resources.integers("trace"), np.int64) >= 0
        for name, metric in profile.metrics.items():
            if name in having or name == SHARE_METRIC or is_derived(name, profile.metrics):
                continue
            if (profile.resources.array(name)[at_stacks] > 0).any():
                having[name] = metric
    return dict(
        sorted(having.items(), key=lambda pair: (pair[1].better == "none", metric_rank(pair[0])))
    )


def tree(subject: Subject, metric: str) -> FrameTree:
    """The tree of all stacks of both sides, by one metric; children by their names."""
    sides = _sides(subject)
    names = sorted(
        {
            frame
            for side in sides
            for profile in side
            if profile.stacks
            for frame in profile.stacks.frames
        }
    )
    numbers = {name: number for number, name in enumerate(names)}
    codes = [np.empty(0, np.int64)]
    lengths = [np.empty(0, np.int64)]
    weights = [np.empty((0, 2))]
    counts = [0.0, 0.0]
    for place, side in enumerate(sides):
        rows_of_side = [_rows(profile, metric) for profile in side]
        executions = max(1, sum(rows.executions for rows in rows_of_side))
        for profile, rows in zip(side, rows_of_side, strict=True):
            stacks = profile.stacks.stacks if profile.stacks else []
            renumbered = np.array(
                [numbers[frame] for frame in profile.stacks.frames] if profile.stacks else [],
                np.int64,
            )
            lengths.append(np.fromiter(map(len, stacks), np.int64, len(stacks)))
            codes.append(
                renumbered[
                    np.fromiter(chain.from_iterable(stacks), np.int64, int(lengths[-1].sum()))
                ]
            )
            weight = np.bincount(rows.trace, weights=rows.values, minlength=len(stacks))
            both = np.zeros((len(stacks), 2))
            both[:, place] = weight / executions
            weights.append(both)
            counts[place] += float(weight.sum())
    return _grow(
        names,
        np.concatenate(codes),
        np.concatenate(lengths),
        np.concatenate(weights),
        (counts[0], counts[1]),
    )


class _Rows(NamedTuple):
    """The rows that count, (rows,): stack, value, execution from 0; and how many executions."""

    trace: Integers
    values: Floats
    execution: Integers
    executions: int


def _sides(subject: Subject) -> list[list[Profile]]:
    baseline = [profile for profile in subject.baseline if traced(profile)]
    return [baseline, [profile for profile in subject.target if traced(profile)]]


def _rows(profile: Profile, metric: str) -> _Rows:
    """The rows with a stack and a positive value; repeated executions count nothing."""
    rows = profile.resources
    counting = np.asarray(rows.integers("mark"), np.int64) != REPEATED
    _, build = np.unique(
        np.asarray(rows.integers("binary"), np.int64)[counting], return_inverse=True
    )
    numbers, number = np.unique(np.asarray(rows.execution, np.int64)[counting], return_inverse=True)
    pairs, place = np.unique(build * len(numbers) + number, return_inverse=True)
    trace = np.asarray(rows.integers("trace"), np.int64)[counting]
    values = (
        rows.array(metric)[counting] if metric in profile.metrics else np.full(len(trace), np.nan)
    )
    positive = (trace >= 0) & np.isfinite(values) & (values > 0)
    return _Rows(trace[positive], values[positive], place[positive].astype(np.int64), len(pairs))


def repeats(tree: FrameTree, subject: Subject, metric: str, nodes: Integers) -> list[Floats]:
    """What each execution has of ``nodes`` with their callees: arrays of (nodes, executions), for
    baseline and target.

    Of more than ``BATCHES`` executions neighbours are put together, as their means. Node 0 must be
    among ``nodes``.
    """
    place = np.full(len(tree.frame), -1)
    place[nodes] = np.arange(len(nodes))
    for level in _levels(tree.depth):
        lost = level.start + np.flatnonzero(place[level] < 0)
        place[lost] = place[tree.parent[lost]]
    arrays, first = [], 0
    for side in _sides(subject):
        columns = [np.zeros((len(nodes), 1))]  # where nothing was executed
        for profile in side:
            rows = _rows(profile, metric)
            batches = min(BATCHES, rows.executions)
            batch = rows.execution * batches // max(1, rows.executions)
            sums = np.bincount(
                place[tree.ends[first + rows.trace]] * batches + batch,
                weights=rows.values,
                minlength=len(nodes) * batches,
            )
            sizes = np.bincount(
                np.arange(rows.executions) * batches // max(1, rows.executions), minlength=batches
            )
            columns.append(sums.reshape(len(nodes), batches) / sizes)
            first += len(profile.stacks.stacks) if profile.stacks else 0
        there = [column for column in columns[1:] if column.shape[1]] or columns[:1]
        arrays.append(_with_callees(tree, nodes, np.concatenate(there, axis=1)))
    return arrays


def _with_callees(tree: FrameTree, nodes: Integers, amounts: Floats) -> Floats:
    """The sums over each node and all below it; ``nodes`` ascend, levels in order."""
    parents = np.searchsorted(nodes, tree.parent[nodes])
    for level in reversed(_levels(tree.depth[nodes])):
        np.add.at(amounts, parents[level], amounts[level])
    return amounts


def _grow(
    names: list[str],
    codes: Integers,
    lengths: Integers,
    weights: Floats,
    counts: tuple[float, float],
) -> FrameTree:
    """All stacks at once, a level at a time."""
    there = weights.sum(axis=1) > 0
    starts = (np.cumsum(lengths) - lengths)[there]
    lengths, weights = lengths[there], weights[there]
    node, base = np.zeros(len(lengths), np.int64), 1
    frame, parent, depth = [np.array([-1])], [np.array([-1])], [np.array([0])]
    totals = [weights.sum(axis=0, keepdims=True)]
    for level in range(min(LEVELS, int(lengths.max(initial=0)))):
        deep = np.flatnonzero(lengths > level)
        keys, which = np.unique(
            node[deep] * len(names) + codes[starts[deep] + level], return_inverse=True
        )
        which = which.ravel()
        frame.append(keys % len(names))
        parent.append(keys // len(names))
        depth.append(np.full(len(keys), level + 1))
        totals.append(_sums(which, weights[deep], len(keys)))
        node[deep] = base + which
        base += len(keys)
    ends = np.zeros(len(there), np.int64)
    ends[there] = node
    return FrameTree(
        frames=names,
        frame=np.concatenate(frame),
        parent=np.concatenate(parent),
        depth=np.concatenate(depth),
        total=np.concatenate(totals),
        own=_sums(node, weights, base),
        ends=ends,
        counts=counts,
        deeper=bool(lengths.max(initial=0) > LEVELS),
    )


def _sums(which: Integers, weights: Floats, count: int) -> Floats:
    return np.stack(
        [np.bincount(which, weights=weights[:, side], minlength=count) for side in (0, 1)], axis=1
    )


def spans(tree: FrameTree, width: Floats) -> tuple[Floats, Floats]:
    """The left and right end of all nodes (0 to 1) by widths; siblings ordered by name."""
    left = np.zeros(len(width))
    for level in _levels(tree.depth):
        parent = tree.parent[level]
        before = np.cumsum(width[level]) - width[level]
        begins = np.diff(parent, prepend=-1) > 0  # the first child of each
        left[level] = left[parent] + before - before[begins][np.cumsum(begins) - 1]
    return left, left + width


def _levels(depth: Integers) -> list[slice]:
    """The range of rows of each level below the first; depths ascend."""
    return [
        slice(*ends)
        for ends in pairwise(np.searchsorted(depth, np.arange(1, int(depth.max()) + 2)).tolist())
    ]


def widest(width: Floats, most: int, least: float) -> Integers:
    """Numbers of at most ``most`` nodes, all of at least the width ``least``; no child is wider
    than its parent, so parents are there.
    """
    nodes = np.flatnonzero(width >= least)
    if len(nodes) > most:
        bound = np.partition(width[nodes], len(nodes) - most)[len(nodes) - most]
        if np.count_nonzero(width[nodes] >= bound) > most:
            nodes = nodes[width[nodes] > bound]
        else:
            nodes = nodes[width[nodes] >= bound]
    return nodes if len(nodes) else np.zeros(1, np.int64)


def located(frame: str) -> str:
    """File and line of a frame, as far as it names them."""
    function, bracket, place = frame.rpartition(" (")
    return place[:-1] if function and bracket and place.endswith(")") else ""


def split(frame: str) -> tuple[str, str]:
    """Function and file of a frame ``function (file:line)``; the file is empty if it names none."""
    function, bracket, file = frame.rpartition(" (")
    if not bracket or not file.endswith(")") or not function:
        return frame, ""
    file, colon, line = file[:-1].rpartition(":")
    return (function, file) if colon and line.isdecimal() else (function, file + colon + line)
