"""What a bisection does next, and when it ends: pure functions of what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple

from perfvcs.locate.bisect.posterior import OWN_DEVIATION, Belief, believe
from perfvcs.profile.rules import USUAL_DELTA
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perfvcs.locate.bisect.evidence import Evidence, EvidenceSummary

    # of the difference of the ends: the commits' shares of the prior
    Weights = Callable[[float], Floats]


FIRST_PAIRS = 4  # of the ends, before anything else is built
LIKELY = 2.0  # standard errors: from this difference on a candidate is measured along with the ends
# the evidence that proves a difference, with at most 1 % of false alarms however often one looks
PROOF = 100.0
CERTAIN = 0.99
MOST_STEPS = 60  # pairs of a commit and its parent
MOST_SETTLING = 30  # of them only so that `perf check` shows the change, too
FINAL_OTHER_JUMPS = 0.04  # expected jumps beside those named, below which the search ends
WORTHLESS = 0.0005  # a variance, of which 1/4 is the most where one jump is open
# executions that a build is worth where these vary as much as the ends differ; fewer as fewer
# settle a level
BUILD = 24.0
NEGLIGIBLE = 1e-12  # a variance, by the square of the difference: rounding
# executions that it is worth at least, or else values that hardly vary lead to a build of every
# commit
LEAST_BUILD = 2.0
LIKELIEST = 0.95  # a probability above which a pair of neighbours is not called cheaper
NEVER = 1e-9  # a probability next to 0


@dataclass(frozen=True)
class NextStep:
    """The next thing to do: ``pair`` measures both ends, ``block`` these with a ``commit``,
    ``confirm`` a commit and its parent.

    ``ended``: nothing more; ``why`` says that the commit is found, that the ends are equal, that no
    difference is shown, that the good one is the worse, that several commits remain that cannot be
    told apart, or that too much was measured.
    """

    what: Literal["pair", "block", "confirm", "ended"]
    commit: int = 0
    why: Literal["", "found", "equal", "unproved", "reversed", "range", "worn out"] = ""


@dataclass(frozen=True)
class Decision:
    """The next ``step`` and what it rests on: the ``evidence`` that the ends differ, its interval
    for their difference, and the belief about the commits as soon as there is one. ``named`` are
    the commits that are certain and confirmed, the likeliest first.
    """

    step: NextStep
    evidence: float
    interval: tuple[float, float]
    belief: Belief | None = None
    named: tuple[int, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether something changed between the ends."""
        return self.evidence >= PROOF


@dataclass(frozen=True)
class StoppingRules:
    """When a bisection is content: ``least`` is the smallest difference of the ends that counts, as
    its values are (see ``Evidence``).
    """

    least: float = USUAL_DELTA
    most_pairs: int = 120
    most_blocks: int = 400


def decide(seen: Evidence, weights: Weights, rules: StoppingRules | None = None) -> Decision:
    """What to do next; ``weights`` gives the prior by the difference of the ends that was measured
    so far.
    """
    rules = rules or StoppingRules()
    if not seen.pairs or (not seen.exact and len(seen.pairs) < FIRST_PAIRS):
        return Decision(NextStep("pair"), 1.0, (float("-inf"), float("inf")))
    evidence, low, high = proof(seen)
    decision = partial(Decision, evidence=evidence, interval=(low, high))
    if -rules.least < low and high < rules.least:
        return decision(NextStep("ended", why="equal"))
    proved, summary = evidence >= PROOF, seen.summary()
    if proved and summary.effect < 0:
        return decision(NextStep("ended", why="reversed"))
    if not proved and len(seen.pairs) >= rules.most_pairs:
        return decision(NextStep("ended", why="unproved"))
    if not proved and summary.effect**2 <= LIKELY**2 * 2 * summary.variance / summary.pairs:
        return decision(NextStep("pair"))
    belief = believe(summary, weights(summary.effect))
    named = _named(seen, belief, summary)
    decision = partial(decision, belief=belief, named=named)
    step = _next(seen, belief, named, summary.variance)
    if not proved and step.what == "ended":
        return decision(NextStep("pair"))
    if step.what == "block" and len(seen.pairs) >= rules.most_blocks:
        step = NextStep("ended", why="worn out")
    return decision(step)


class EndsProof(NamedTuple):
    """The evidence that something changed between the ends, and the interval of their difference
    that holds however often one looks.
    """

    evidence: float
    low: float
    high: float


def proof(evidence: Evidence) -> EndsProof:
    """What was measured in turns so far proves; the interval is that of the pairs of the ends, in
    their unit.

    ``evidence`` is an e-value against the hypothesis that nothing changed between the ends: that of
    the ends' pairs, times those of the pairs of single commits with their parents. Which pair comes
    next depends only on what was seen before, so the product stays an e-value, and the proof goes
    on while the search does. Source: Gruenwald, de Heide, Koolen 2024, Safe testing, section 2.
    """
    from perfvcs.statistics.multiplicity import t_mixture

    if evidence.exact:
        return EndsProof(
            PROOF if evidence.pairs[-1] else 1.0, evidence.pairs[-1], evidence.pairs[-1]
        )
    seen, *steps = (
        t_mixture([[0.0] * len(values)], [values], confidence=CERTAIN)
        for values in (evidence.pairs, *evidence.steps.values())
    )
    return EndsProof(
        prod(float(estimate.e[0]) for estimate in (seen, *steps)),
        float(seen.low[0]),
        float(seen.high[0]),
    )


def _named(evidence: Evidence, belief: Belief, summary: EvidenceSummary) -> tuple[int, ...]:
    """The commits that are certain and confirmed: against their parents they differ in the
    direction of the ends.

    Between ends that are neighbours, their own difference does.
    """
    certain = [
        place + 1
        for place in belief.change.argsort()[::-1].tolist()
        if belief.change[place] >= CERTAIN
    ]
    return tuple(
        commit for commit in certain if evidence.last == 1 or _is_confirmed(commit, summary)
    )


def _is_confirmed(commit: int, summary: EvidenceSummary) -> bool:
    mean, count = summary.steps.get(commit, (0.0, 1))
    return bool(mean) and abs(mean) >= LIKELY * (2 * summary.variance / count) ** 0.5


def _is_settled(steps: list[float]) -> bool:
    """Whether a commit's pairs alone show a change to `perf check`, by its interval and by a
    permutation, or more would cost too much.
    """
    from perfvcs.check.method import FEWEST_EXECUTIONS
    from perfvcs.check.samples.estimate import VETO
    from perfvcs.statistics.difference import paired
    from perfvcs.statistics.permutation import sign_flips, smallest

    if not FEWEST_EXECUTIONS <= len(steps) < MOST_SETTLING:
        return len(steps) >= MOST_SETTLING
    seen = paired([[0.0] * len(steps)], [steps], confidence=CERTAIN)
    if seen.low[0] <= 0 <= seen.high[0]:
        return False
    return bool(sign_flips([steps])[0] <= max(VETO, smallest(len(steps))))


def _next(evidence: Evidence, belief: Belief, named: tuple[int, ...], variance: float) -> NextStep:
    """The next step, given what is believed of the commits."""
    rest = float(belief.jump.sum()) - sum(float(belief.jump[commit - 1]) for commit in named)
    if named and rest <= FINAL_OTHER_JUMPS:
        unsettled = [
            commit
            for commit in named
            if not evidence.exact and evidence.last > 1 and not _is_settled(evidence.steps[commit])
        ]
        return NextStep("confirm", unsettled[0]) if unsettled else NextStep("ended", why="found")
    # whether a jump is the whole difference, and nothing is left for others
    if named and rest < 0.5:
        fewest = min(named, key=lambda commit: len(evidence.steps[commit]))
        count = len(evidence.steps[fewest])
        # both differences must be known as well
        if not evidence.exact and len(evidence.pairs) < min(count, MOST_STEPS):
            return NextStep("pair")
        if count < MOST_STEPS:
            return NextStep("confirm", fewest)
    return _most_telling(evidence, belief, named, variance) or NextStep(
        "ended", why="found" if named and rest < 0.5 else "range"
    )


def _most_telling(
    evidence: Evidence, belief: Belief, named: tuple[int, ...], variance: float
) -> NextStep | None:
    """The block or pair of neighbours that tells most for its cost; None where none tells anything.

    A pair of neighbours that turns out to be the right one would have been measured anyway, so that
    it costs less the likelier it is.
    """
    from perfvcs.locate.bisect.evidence import OF_PAIR

    square = variance / belief.effect**2
    build = max(LEAST_BUILD, BUILD * square)
    built, runs = evidence.built(), evidence.chances()
    blocks = worth_of_blocks(evidence, belief, variance, belief.doubt[:-1])
    likely = np.minimum(belief.jump, LIKELIEST)
    doubt = belief.moved * (1 - likely)
    for commit, values in evidence.steps.items():
        doubt[commit - 1] *= (
            _left(OF_PAIR * square / len(values)) if len(values) < MOST_STEPS else 0.0
        )
    builds = (~built[1:]).astype(float) + ~built[:-1]
    steps = _information(doubt, OF_PAIR * square) / ((2 + build * builds) * (1 - likely))
    steps *= runs[1:] * runs[:-1] * (belief.jump >= FINAL_OTHER_JUMPS)
    steps[[commit - 1 for commit in named]] = 0.0
    if blocks.max(initial=0.0) <= 0.0 and steps.max() <= 0.0:
        return None
    if steps.max() > blocks.max(initial=0.0):
        return NextStep("confirm", int(steps.argmax()) + 1)
    return NextStep("block", int(blocks.argmax()) + 1)


def worth_of_blocks(
    evidence: Evidence, belief: Belief, variance: float, doubt: Floats, flying: Sequence[int] = ()
) -> Floats:
    """What a block of each commit between the ends tells for its cost, by the ``doubt`` of its
    level.

    The commits of ``flying`` are being built and measured.
    """
    from perfvcs.locate.bisect.evidence import OF_CANDIDATE

    square = variance / belief.effect**2
    build = max(LEAST_BUILD, BUILD * square)
    built = evidence.built()
    built[list(flying)] = True
    jump = belief.jump / max(1.0, belief.jump.sum())
    unlikely = 1 - jump[:-1] - jump[1:]  # that a commit is not one of the pair that will confirm
    doubt = doubt.copy()
    for commit, values in evidence.candidates.items():
        doubt[commit - 1] *= _left(OF_CANDIDATE * square / len(values))
    blocks: Floats = _information(doubt, OF_CANDIDATE * square) / (
        3 + build * unlikely * ~built[1:-1]
    )
    return blocks * evidence.chances()[1:-1] * (doubt >= WORTHLESS)


def _left(variance: float) -> float:
    """The share of a level's doubt that executions can still take away, given what they have left
    so far: a build's own level stays.
    """
    return variance / (variance + OWN_DEVIATION**2)


def _information(doubt: Floats, variance: float) -> Floats:
    """About how many nats one more value tells, with that ``variance``, of whether a level has
    moved; ``doubt`` is p (1 - p).
    """
    doubt = np.clip(doubt, 0.0, 0.25)
    chance = (1 - np.sqrt(1 - 4 * doubt)) / 2
    safe = np.maximum(chance, 1e-300)
    open_ = -safe * np.log(safe) - (1 - chance) * np.log1p(-chance)
    if variance < NEGLIGIBLE:
        return open_
    return open_ * -np.expm1(-doubt / (2 * variance * np.maximum(open_, 1e-300)))


def together(evidence: Evidence, decision: Decision, count: int) -> list[int]:
    """The commits of as many blocks as run at a time, that of the ``decision`` first; a commit may
    come twice.

    Chooses each next commit as the one that tells most once those before it are measured, if the
    level jumps once: the belief says what two commits' levels have in common.
    """
    from perfvcs.locate.bisect.evidence import OF_CANDIDATE

    belief, variance = decision.belief, evidence.summary().variance
    assert belief is not None
    noise = OF_CANDIDATE * variance / belief.effect**2 + OWN_DEVIATION**2
    moved = np.clip(belief.jump.cumsum() / belief.jump.sum(), NEVER, 1 - NEVER)
    odds = moved / (1 - moved)
    chosen, doubt = [decision.step.commit], belief.doubt.copy()
    columns: list[Floats] = []  # what each chosen one says of the others' levels
    while len(chosen) < count:
        newest = chosen[-1] - 1
        alike = np.sqrt(np.minimum(odds, odds[newest]) / np.maximum(odds, odds[newest]))
        common = alike * np.sqrt(belief.doubt * belief.doubt[newest])
        for column in columns:
            common -= column * column[newest]
        columns.append(common / np.sqrt(doubt[newest] + noise))
        doubt = np.maximum(0.0, doubt - columns[-1] ** 2)
        worth = worth_of_blocks(evidence, belief, variance, doubt[:-1], chosen)
        if worth.max() <= 0.0:
            break
        chosen.append(int(worth.argmax()) + 1)
    return chosen
