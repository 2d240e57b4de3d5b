"""Counts of instructions guide a bisection of times: they repeat exactly, and need one execution a
commit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import expm1, log
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perfvcs.errors import UsageError
from perfvcs.locate.bisect.decision import Decision, decide
from perfvcs.locate.bisect.evidence import Evidence
from perfvcs.measure.counting import under_counter
from perfvcs.measure.journal import Identity
from perfvcs.measure.session import Session
from perfvcs.system.numeric import Floats
from perfvcs.text.words import CLOCKS

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.locate.bisect.saved import Target
    from perfvcs.locate.bisect.searched import Searched

SLOWER = 60  # how much longer an execution takes under valgrind
CHEAP = 60.0  # seconds that counting may take in any case
FEWEST_GUIDED = 8  # commits: of fewer, blocks are quicker
# commits that are counted beyond those that halving takes: the ends, and two neighbours
COUNTED_MORE = 4


@dataclass(frozen=True)
class Guide:
    """What counts say: the difference of the ends, as a logarithm that is above 0 where the bad one
    is worse, and the probability of each commit to have made it, shape (commits,).
    """

    effect: float
    jump: Floats

    def relative(self, *, improvement: bool = False) -> float:
        """The bad end's count by the good one's, minus 1."""
        return expm1(-self.effect if improvement else self.effect)


@dataclass
class Counting:
    """A search by counts; ``count`` gives those of some commits by number, and leaves out what
    cannot be counted.

    ``known`` are the counts so far. It ends by itself, mostly after as many commits as halving
    takes.
    """

    last: int
    known: dict[int, float]
    skipped: set[int]
    weights: Callable[[float], Floats]
    sign: int
    count: Callable[[Sequence[int]], dict[int, float]]

    def run(self) -> Guide | None:
        """Counts until the commits are known; None where the counts do not differ, or differ in the
        other direction.
        """
        while (decision := self._decide()).step.what != "ended":
            wanted = self._wanted(decision)
            counts = self.count(wanted) if wanted else {}
            self.known |= counts
            self.skipped |= set(wanted) - counts.keys()
            if not counts and {0, self.last} & self.skipped:
                return None
            if not wanted:
                break
        return self.guide()

    def guide(self) -> Guide | None:
        """What the counts so far say; None where they do not differ, or in the other direction."""
        decision = self._decide()
        if decision.belief is None or decision.step.why in ("equal", "unproved", "reversed"):
            return None
        return Guide(decision.belief.effect, decision.belief.jump)

    def _wanted(self, decision: Decision) -> list[int]:
        step = decision.step
        places = {"pair": [0, self.last], "confirm": [step.commit - 1, step.commit]}.get(
            step.what, [step.commit]
        )
        return [place for place in places if place not in self.known and place not in self.skipped]

    def _decide(self) -> Decision:
        evidence = Evidence(self.last, exact=True, skipped=self.skipped)
        levels = {place: self.sign * log(value) for place, value in sorted(self.known.items())}
        if {0, self.last} <= levels.keys():
            ends = levels[0], levels[self.last]
            evidence.add(*ends)
            for place, level in levels.items():
                if 0 < place < self.last:
                    evidence.add(*ends, place, level)
                if place - 1 in levels:
                    evidence.add_step(place, levels[place - 1], level)
        return decide(evidence, self.weights)


def counting(cell: Cell, target: Target) -> Cell | None:
    """The benchmark under a collector that counts its instructions; None where nothing does, or
    where not its time is asked for.
    """
    if target.metric not in CLOCKS or target.uid != cell.name or cell.exact:
        return None
    try:
        counted = under_counter(cell, "instructions", target.uid)
    except UsageError:
        return None
    return replace(counted, executions=1, retries=1)


def pays(seconds: float, commits: int, blocks: int) -> bool:
    """Whether counts of some commits are worth their time, where an execution takes so many
    ``seconds`` and ``blocks`` are ahead.
    """
    return seconds * SLOWER * commits <= max(CHEAP, 3 * seconds * blocks)


class InstructionCounts:
    """Counts that guide a search; ``guide`` is what they say, if they were taken and differ.

    ``weights`` gives the commits' shares of the prior, by the difference of the ends.
    """

    def __init__(self, searched: Searched, weights: Callable[[float], Floats]) -> None:
        self._searched, self._weights = searched, weights
        self._taken = False
        self.guide: Guide | None = None

    def recall(self) -> None:
        """What the counts say that were taken before: asked again, a search that ended says the
        same.
        """
        if self._searched.begun.counted:
            self.guide = self._counting(lambda _: {}).guide()

    def pay(self, decision: Decision, remaining: Callable[[], tuple[int, int]]) -> bool:
        """Whether they are to be taken now: to guide the search from here on, or to say where else
        to look if times show nothing. ``remaining`` gives the builds and blocks that it would take
        without.
        """
        on, seen = self._searched, self._searched.seen
        unproved = decision.step.why == "unproved"
        if (
            self._taken
            or not (decision.step.what == "block" or unproved)
            or on.span.last < FEWEST_GUIDED
            or on.begun.target.metric not in CLOCKS
        ):
            return False
        builds, ahead = (on.span.last.bit_length(), 0) if unproved else remaining()
        seconds = seen.mean([value for block in seen.blocks for value in block.values])
        # what is ahead is a guess: at the latest it pays where as much was measured without
        return bool(on.begun.counted) or pays(
            seconds, builds + COUNTED_MORE, max(ahead, len(seen.blocks))
        )

    def take(self) -> None:
        """Count the instructions of commits until these say where to look."""
        on, begun = self._searched, self._searched.begun
        self._taken = True
        cell = counting(on.cell, begun.target)
        if cell is None:
            return
        on.rig.progress.say("counting instructions, which repeat exactly, to see where to look")
        begin, before = time.monotonic(), begun.seconds

        def count(numbers: Sequence[int]) -> dict[int, float]:
            counts = self._counted(cell, numbers)
            begun.counted |= {on.span.commits[number]: value for number, value in counts.items()}
            begun.seconds = before + time.monotonic() - begin
            on.saved.write()
            return counts

        self.guide = self._counting(count).run()

    def _counting(self, count: Callable[[Sequence[int]], dict[int, float]]) -> Counting:
        """The search by counts from those that were taken."""
        on, numbers = self._searched, self._searched.seen.numbers
        counts = {
            numbers[commit]: value
            for commit, value in on.begun.counted.items()
            if commit in numbers
        }
        sign = -1 if on.begun.target.improvement else 1
        return Counting(on.span.last, counts, on.seen.skipped, self._weights, sign, count)

    def _counted(self, cell: Cell, numbers: Sequence[int]) -> dict[int, float]:
        """The instructions of one execution of each of some commits, of those that run."""
        from perfvcs.locate.blame.laboratory import Quiet, level

        on = self._searched
        sites = on.sites(numbers, [on.cell, cell])
        with Session(sites, Quiet(on.rig.progress), Identity.new(on.seed)) as session:
            on.note_built(numbers)
            session.begin({0: 1})
            session.warm_up({0: 1})  # without counting: Python compiles what it imports
            session.begin({1: 1})
            session.run({1: 1})
            by_commit = {profile.commit: level(profile) for profile in session.profiles()}
        on.skip(session, numbers, ends=False)
        levels = {number: by_commit.get(on.span.commits[number], []) for number in numbers}
        return {number: values[0] for number, values in levels.items() if values and values[0] > 0}
