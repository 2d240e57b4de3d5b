"""Counts of instructions guide a bisection of times: they repeat exactly, and need one execution a
commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import expm1, log
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perfvcs.locate.bisect.decision import decide
from perfvcs.locate.bisect.evidence import Evidence
from perfvcs.system.numeric import Floats

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.locate.bisect.decision import Decision
    from perfvcs.locate.bisect.saved import Target


TIME_METRICS = ("cpu", "wall")


SLOWER = 60  # how much longer an execution takes under valgrind


CHEAP = 60.0  # seconds that counting may take in any case


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

    from perfvcs.plugins import build
    from perfvcs.plugins.collector import Collector

    if target.metric not in TIME_METRICS or target.uid != cell.name or cell.exact:
        return None
    options: dict[str, object] = {"tool": "cachegrind", "repeat": 0}
    member: Collector = build("collectors", "instructions", options, f"job `{cell.name}`")
    if member.available():
        return None
    return replace(
        cell,
        collector_name="instructions",
        collector=member,
        options=options,
        executions=1,
        warmup=0,
        binaries=1,
        retries=1,
        postprocessors=(),
        auto=None,
        timeout=cell.timeout * SLOWER,
    )


def pays(seconds: float, commits: int, blocks: int) -> bool:
    """Whether counts of some commits are worth their time, where an execution takes so many
    ``seconds`` and ``blocks`` are ahead.
    """
    return seconds * SLOWER * commits <= max(CHEAP, 3 * seconds * blocks)
