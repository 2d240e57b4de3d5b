"""Which commits changed a level, by all that was measured: a hidden Markov chain of levels along
the commits.

The level is 0 at the good end and 1 at the bad one. At every commit it may jump, a priori with the
commit's own weight, and by at least ``SMALLEST_NAMED_JUMP`` of the whole difference; a second jump
in a range is expected in about one of ten. What lies between two measured commits is one link of
the chain, so that ten thousand commits cost as much as there are measurements. Sources: Karp,
Kleinberg 2007 and Ben-Or, Hassidim 2008 for noisy binary search; the chain is Baum's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from perfvcs.locate.bisect.evidence import EvidenceSummary
    from perfvcs.locate.bisect.instructioncounts import Guide


# culprits that seem not to touch what the benchmark runs: no prior may rule a commit out
MISSED = 0.05
MISLED = 0.05  # ranges in which the stored levels have been moved by something else
FEWEST_STORED = 3  # levels: with fewer, how much they vary by themselves is not known
JUMPS = 0.4  # expected jumps of a range beyond the one that is known
SMALLEST_NAMED_JUMP = 0.375  # of the whole difference: a jump that is named
SMALLEST_EXPECTATION = 0.1  # expected changes of a range that are smaller
# of the whole difference: the standard deviation of a build's own level, which no number of
# executions takes away
OWN_DEVIATION = 0.1
STEP = 0.125  # between the levels that are told apart
LEAST, MOST = -0.25, 1.25


@dataclass(frozen=True)
class Prior:
    """Shares of the prior of commits 1 to ``last``.

    ``touched`` says of each whether it changes what the benchmark runs; ``stored`` has by commit (0
    is the good end) the level that was measured in a session of its own, as the values of
    ``Evidence``; ``guide`` is what counts of instructions say.
    """

    last: int
    touched: Sequence[bool] | None = None
    stored: Mapping[int, float] = field(default_factory=dict)
    guide: Guide | None = None

    def weights(self, effect: float) -> Floats:
        """The shares, shape (last,), place 0 for commit 1; ``effect`` is the difference of the
        ends.
        """
        even = np.full(self.last, 1 / self.last)
        shares = even
        if self.touched is not None and any(self.touched):
            touched = np.array(self.touched, float)
            shares = (1 - MISSED) * touched / touched.sum() + MISSED * even
        if len(self.stored) >= FEWEST_STORED and effect:
            likely = self._likely(effect) * shares
            shares = (1 - MISLED) * likely / likely.sum() + MISLED * shares
        if self.guide is not None and effect > 0 and self.guide.effect > 0:
            # of a difference of which instructions explain a part, the rest may be anywhere
            explained = (1 - MISLED) * min(1.0, self.guide.effect / effect)
            shares = explained * self.guide.jump / self.guide.jump.sum() + (1 - explained) * shares
        return shares

    def _likely(self, effect: float) -> Floats:
        """How likely the stored levels are by the place of a single step of that size; the variance
        of sessions is estimated from them.
        """
        places, levels = np.array(list(self.stored)), np.array(list(self.stored.values()))
        without = levels - effect * (places >= np.arange(1, self.last + 1)[:, None])
        squares = ((without - without.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        least = max(float(squares.min()), 1e-18)
        likelihoods: Floats = (np.maximum(squares, least) / least) ** (-(len(levels) - 1) / 2)
        return likelihoods


@dataclass(frozen=True)
class Belief:
    """``jump``: the probability of each commit from 1 to the last (place 0 is commit 1) that the
    level jumps there, ``change`` that it moves there at all; ``doubt`` the variance of each one's
    level, as a share of the difference, and ``moved`` the mean square by which its level differs
    from its parent's.

    ``effect`` is the difference of the ends with its standard ``error``; ``levels`` has by measured
    commit the share of the difference that it has, with its standard error.
    """

    jump: Floats
    change: Floats
    doubt: Floats
    moved: Floats
    effect: float
    error: float
    levels: dict[int, tuple[float, float]]

    def range(self, share: float = 0.95) -> list[int]:
        """The fewest commits that hold that share of what is expected to jump, in order."""
        return likeliest(self.jump, share)


def likeliest(jump: Floats, share: float = 0.95) -> list[int]:
    """The fewest commits that hold a share of the jumps that are expected, in order; ``jump`` has
    place 0 for commit 1.
    """
    commits, held, whole = [], 0.0, float(jump.sum())
    for place in jump.argsort()[::-1].tolist():
        if held >= share * whole:
            break
        commits.append(place + 1)
        held += float(jump[place])
    return sorted(commits)


def believe(summary: EvidenceSummary, weights: Floats) -> Belief:
    """The posterior by a ``summary``; ``weights`` are the commits' shares of the prior, shape
    (commits,), place 0 for commit 1.

    1. The nodes of the chain are both ends, the measured commits, and both sides of a measured step
       (``_nodes``); a measurement says how likely each level is there (``_emitted``).
    2. From node to node the level stays, changes by too little to be named, or jumps: more probably
       the more prior weight lies between (``_transition``).
    3. Forward and backward along the chain follow what each link did and the level at each node
       (``_links``). Source: Baum et al. 1970.
    4. The commits of a link share that by their prior weights (``_shared``).
    """
    prior = weights / weights.sum()
    before = np.concatenate([[0.0], np.cumsum(prior)])  # weight up to each commit
    nodes = _nodes(summary, len(prior))
    transitions = [
        _transition(first, last, float(before[last] - before[first]), summary)
        for first, last in pairwise(nodes)
    ]
    links = _links(_emitted(nodes, summary), transitions)
    jump, change, doubt, moved = _shared(nodes, before, links)
    levels = {
        commit: (mean / summary.effect + 0.5, _variance(count, 0.5, summary) ** 0.5)
        for commit, (mean, count) in summary.candidates.items()
    }
    error = (2 * summary.variance / summary.pairs) ** 0.5
    return Belief(
        jump=jump,
        change=change,
        doubt=doubt,
        moved=moved,
        effect=summary.effect,
        error=error,
        levels=levels,
    )


class _Transition(NamedTuple):
    """How probably a link leads from each level to each, by what happens in it, and by anything;
    each of the shape (levels, levels).
    """

    stay: Floats
    small: Floats
    jump: Floats
    whole: Floats


class _Link(NamedTuple):
    """The probabilities that a link jumped and that it changed at all, the mean square by which its
    ends differ, and mean and mean square of the level at either end.
    """

    jumped: float
    changed: float
    moved: float
    start: tuple[float, float]
    end: tuple[float, float]


def _nodes(summary: EvidenceSummary, last: int) -> list[int]:
    """The commits between which the links of the chain are, in order."""
    steps = {commit for step in summary.steps for commit in (step - 1, step)}
    return sorted({0, last, *summary.candidates, *steps})


def _emitted(nodes: Sequence[int], summary: EvidenceSummary) -> list[Floats]:
    """How likely each level is at each node, by what was measured there."""
    grid, ends = _levels(), _ends()
    emitted = [ends.start]
    for node in nodes[1:-1]:
        if node in summary.candidates:
            mean, count = summary.candidates[node]
            emitted.append(_seen(mean / summary.effect + 0.5, count, grid, summary))
        else:
            emitted.append(np.ones(len(grid)))
    return [*emitted, ends.end]


def _transition(first: int, last: int, weight: float, summary: EvidenceSummary) -> _Transition:
    """What may happen after commit ``first`` up to ``last``, whose prior has that ``weight``; a
    step that was measured there decides with it.
    """
    jumps = -np.expm1(-JUMPS * weight)
    drifts = -np.expm1(-SMALLEST_EXPECTATION * weight)
    stay = (1 - jumps) * (1 - drifts) * _ends().same
    small = (1 - jumps) * drifts * _drifts()
    jump = jumps * _jumps()
    if last - first == 1 and last in summary.steps:
        mean, count = summary.steps[last]
        likely = _stepped(mean / summary.effect, count, _levels(), summary)
        stay, small, jump = stay * likely, small * likely, jump * likely
    return _Transition(stay, small, jump, stay + small + jump)


def _links(emitted: Sequence[Floats], transitions: Sequence[_Transition]) -> list[_Link]:
    """The posteriors of the links, in their order."""
    grid, apart = _levels(), _ends().apart
    forward = [emitted[0]]
    for transition, here in zip(transitions, emitted[1:], strict=True):
        ahead = (forward[-1] @ transition.whole) * here
        forward.append(ahead / ahead.sum())
    backward, end = emitted[-1], (1.0, 1.0)
    links = []
    for place in range(len(transitions) - 1, -1, -1):
        transition = transitions[place]
        stay, small, jump = (float(forward[place] @ part @ backward) for part in transition[:3])
        total = stay + small + jump
        moved = float(forward[place] @ (transition.whole * apart) @ backward / total)
        ahead = transition.whole @ backward
        level = forward[place] * ahead
        start = float(level @ grid / level.sum()), float(level @ grid**2 / level.sum())
        links.append(_Link(jump / total, (small + jump) / total, moved, start, end))
        backward, end = ahead * emitted[place], start
        backward /= backward.max()
    return links[::-1]


def _shared(nodes: Sequence[int], before: Floats, links: Sequence[_Link]) -> Floats:
    """``jump``, ``change``, ``doubt`` and ``moved`` of each commit, shape (4, commits)."""
    jump, change, doubt, moved = columns = np.empty((4, len(before) - 1))
    for (first, last), link in zip(pairwise(nodes), links, strict=True):
        commits = slice(first, last)
        reached = (before[first + 1 : last + 1] - before[first]) / (before[last] - before[first])
        shares = np.diff(reached, prepend=0.0)
        jump[commits] = link.jumped * shares
        change[commits] = link.changed * shares
        moved[commits] = link.moved * shares
        # the level of a commit in between is that of the node before or after it
        mean, square = (
            (1 - reached) * old + reached * new
            for old, new in zip(link.start, link.end, strict=True)
        )
        doubt[commits] = square - mean**2
    return columns


@cache
def _levels() -> Floats:
    """The levels that are told apart, as shares of the whole difference."""
    return np.arange(LEAST, MOST + STEP / 2, STEP)


class _Ends(NamedTuple):
    """The levels of the good end and of the bad one, the squares by which two levels differ, and
    which two are the same.
    """

    start: Floats
    end: Floats
    apart: Floats
    same: Floats


@cache
def _ends() -> _Ends:
    grid = _levels()
    start, end = (np.isclose(grid, level).astype(float) for level in (0.0, 1.0))
    return _Ends(start, end, (grid - grid[:, None]) ** 2, np.eye(len(grid)))


@cache
def _drifts() -> Floats:
    """Where a change leads that is too small to be named: to any level as near as that."""
    grid = _levels()
    apart = np.abs(grid[:, None] - grid)
    near = (apart > STEP / 2) & (apart < SMALLEST_NAMED_JUMP - STEP / 2)
    drifts: Floats = near / near.sum(axis=1, keepdims=True)
    return drifts


@cache
def _jumps() -> Floats:
    """Where a jump leads from each level: to that of the bad end half of the time, else
    anywhere.
    """
    grid = _levels()
    far = np.abs(grid[:, None] - grid) > SMALLEST_NAMED_JUMP - STEP / 2
    anywhere = far / far.sum(axis=1, keepdims=True)
    to_end = far & np.isclose(grid, 1.0)
    jumps: Floats = np.where(to_end.any(axis=1, keepdims=True), (to_end + anywhere) / 2, anywhere)
    return jumps


def _variance(count: int, share: float, summary: EvidenceSummary) -> float:
    """The variance of a commit's level: its executions', its build's, and that of the ends it is
    compared with.
    """
    from perfvcs.locate.bisect.evidence import OF_CANDIDATE, OF_PAIR

    executions = summary.variance * (OF_CANDIDATE / count + OF_PAIR * share**2 / summary.pairs)
    return executions / summary.effect**2 + OWN_DEVIATION**2


def _seen(level: float, count: int, grid: Floats, summary: EvidenceSummary) -> Floats:
    """How likely a commit's measured ``level`` is by its true one."""
    return _t((level - grid) ** 2 / _variance(count, 0.5, summary), summary.free)


def _stepped(step: float, count: int, grid: Floats, summary: EvidenceSummary) -> Floats:
    """How likely the measured difference of a commit to its parent is by both of their levels, the
    parent's first.
    """
    return _t(
        (step - (grid - grid[:, None])) ** 2
        / (2 * summary.variance / count / summary.effect**2 + OWN_DEVIATION**2),
        summary.free,
    )


def _t(square: Floats, free: int) -> Floats:
    """Student's density but for a factor, at most 1: the variance is estimated.

    It is relative to that of the nearest level, since a value far from all levels would be
    impossible at each. Never so small that it rules anything out.
    """
    nearest = square.min()
    if free < 200:
        density = ((1 + square / free) / (1 + nearest / free)) ** (-(free + 1) / 2)
    else:
        density = np.exp((nearest - square) / 2)
    likely: Floats = np.maximum(density, 1e-12)
    return likely
