"""The decisions of `perf bisect` on simulated machines, beside `git bisect run`.

Executions have a standard deviation s, the machine's level one of t between sessions; a block of three
shares its session. Each row: the share that was right, builds and executions on average (those that
confirm included), and those of the search alone. Levels between sessions reach only what measures in
sessions of its own: git bisect, and the profiles that were stored before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from perfvcs.locate.bisect.decision import Decision, StoppingRules, decide
from perfvcs.locate.bisect.evidence import Evidence
from perfvcs.locate.bisect.posterior import Prior

from .figures import Row, percent
from .made import Array
from .registry import benchmark

# of the commits, and each of these in a session of its own
STORED_SHARE, STORED_EXECUTIONS = 0.25, 10
RUN = 30  # commits that cannot be built one after another
# the share of commits that touch what the benchmark runs, and of culprits that seem not to
TOUCHING, MISSED = 0.2, 0.02


@dataclass
class Machine:
    """A range of commits with known levels (logarithms), and what measuring it gives."""

    levels: Array
    s: float
    t: float
    rng: np.random.Generator
    broken: frozenset[int] = frozenset()
    executions: int = 0
    confirming: int = 0
    built: set[int] = field(default_factory=set)

    @property
    def last(self) -> int:
        return len(self.levels) - 1

    def session(self, *commits: int) -> list[float]:
        """One execution of each in one session."""
        self.built.update(commits)
        self.executions += len(commits)
        state = self.rng.normal(0, self.t)
        return [
            float(self.levels[commit] + state + self.rng.normal(0, self.s)) for commit in commits
        ]

    def alone(self, commit: int, count: int) -> float:
        """The median of executions in one session."""
        self.built.add(commit)
        self.executions += count
        return float(
            np.median(
                self.levels[commit] + self.rng.normal(0, self.t) + self.rng.normal(0, self.s, count)
            )
        )


def search(machine: Machine, prior: Prior) -> Decision:
    """A bisection by the shipped decisions."""
    evidence, rules = Evidence(machine.last), StoppingRules()
    while True:
        decision = decide(evidence, prior.weights, rules)
        step = decision.step
        if step.what == "ended":
            return decision
        if step.commit in machine.broken:
            machine.built.add(step.commit)
            evidence.skipped.add(step.commit)
        elif step.what == "confirm":
            for parent in {step.commit - 1} & machine.broken:
                evidence.skipped.add(parent)
            if step.commit - 1 not in machine.broken:
                evidence.add_step(step.commit, *machine.session(step.commit - 1, step.commit))
                machine.confirming += 2
        elif step.what == "pair":
            good, bad = machine.session(0, machine.last)
            evidence.add(good, bad)
        else:
            good, value, bad = machine.session(0, step.commit, machine.last)
            evidence.add(good, bad, step.commit, value)


def touching(machine: Machine, culprits: list[int]) -> list[bool]:
    """Which commits change functions that the benchmark runs."""
    found: list[bool] = (machine.rng.random(machine.last) < TOUCHING).tolist()
    for culprit in culprits:
        found[culprit - 1] = machine.rng.random() > MISSED
    return found


def stored(machine: Machine) -> dict[int, float]:
    """Levels that were measured before, each in a session of its own."""
    count = int(STORED_SHARE * (machine.last + 1))
    places = np.sort(machine.rng.choice(np.arange(1, machine.last), count, replace=False))
    noise = np.hypot(machine.t, machine.s / STORED_EXECUTIONS**0.5)
    return {
        int(place): float(machine.levels[place] + machine.rng.normal(0, noise)) for place in places
    }


def git_bisect(machine: Machine, count: int) -> int:
    """`git bisect run` with a threshold halfway between the ends, the median of some executions
    each.
    """
    good, bad = machine.alone(0, count), machine.alone(machine.last, count)
    low, high = 0, machine.last
    while high - low > 1:
        middle = (low + high) // 2
        if (machine.alone(middle, count) > (good + bad) / 2) == (bad > good):
            high = middle
        else:
            low = middle
    return high


WAYS = (
    "git bisect run, executions 5",
    "git bisect run, executions 20",
    "blocks of three",
    "+ functions",
    "+ stored",
    "+ both",
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one draw."""

    right: bool
    builds: int
    executions: int
    confirming: int
    why: str = ""


@dataclass(frozen=True)
class Problem:
    """Ranges of one kind: the effects of their culprits, the noise, and what cannot be built: a
    share of the commits, or ``run`` in a row.
    """

    what: str
    effects: tuple[float, ...]
    s: float = 0.02
    t: float = 0.02
    broken: float = 0.0
    run: int = 0

    def machine(self, rng: np.random.Generator, commits: int) -> tuple[Machine, list[int]]:
        """One range, and its culprits."""
        last = commits - 1
        chosen = rng.choice(np.arange(1, last), len(self.effects), replace=False)
        culprits = sorted(int(one) for one in chosen)
        levels = np.zeros(commits)
        for culprit, effect in zip(culprits, self.effects, strict=True):
            levels[culprit:] += effect
        failing = np.flatnonzero(rng.random(commits) < self.broken)
        unbuildable = frozenset(int(one) for one in failing if 0 < one < last)
        if self.run:
            begin = int(rng.integers(1, last - self.run + 1))
            unbuildable = frozenset(range(begin, begin + self.run))
        return Machine(levels, self.s, self.t, rng, unbuildable), culprits

    def draw(self, rng: np.random.Generator, commits: int, way: str) -> Outcome:
        """One range, searched in a ``way``."""
        machine, culprits = self.machine(rng, commits)
        if way.startswith("git"):
            found = git_bisect(machine, int(way.rsplit(maxsplit=1)[-1]))
            return Outcome([found] == culprits, len(machine.built), machine.executions, 0)
        touched = touching(machine, culprits) if way in ("+ functions", "+ both") else None
        before = stored(machine) if way in ("+ stored", "+ both") else {}
        decision = search(machine, Prior(machine.last, touched=touched, stored=before))
        return Outcome(
            _is_right(decision, culprits, machine.broken),
            len(machine.built),
            machine.executions,
            machine.confirming,
            decision.step.why,
        )


def _is_right(decision: Decision, culprits: list[int], broken: frozenset[int]) -> bool:
    """Whether all culprits are named, or none where there is none; a range holds them where commits
    cannot be built.
    """
    if not culprits:
        return decision.step.why in ("equal", "unproved")
    if broken and decision.step.why == "range":
        assert decision.belief is not None
        return set(culprits) <= {*decision.belief.range(), *decision.named}
    return sorted(decision.named) == culprits and decision.step.why == "found"


PROBLEMS = {
    "one": [
        Problem("one culprit of +2%, s 1%, t 0%", (0.02,), 0.01, 0.0),
        Problem("one culprit of +2%, s 2%, t 2%", (0.02,)),
        Problem("one culprit of +5%, s 2%, t 2%", (0.05,)),
    ],
    "none": [Problem("no culprit, s 2%, t 2%", ())],
    "two": [
        Problem(f"two culprits of +{effect:.0%} each, s 2%, t 2%", (effect, effect))
        for effect in (0.02, 0.05)
    ],
    "broken": [
        Problem(f"one of +{effect:.0%}, a tenth cannot be built", (effect,), broken=0.1)
        for effect in (0.02, 0.05)
    ],
    "runs": [Problem(f"one of +5%, {RUN} in a row cannot be built", (0.05,), run=RUN)],
}


@benchmark("bisecting", quick={"draws": 2})
def bisecting(
    *, draws: int = 1000, commits: int = 64, only: tuple[str, ...] = tuple(PROBLEMS), seed: int = 1
) -> Iterator[Row]:
    """How often is `perf bisect` right, and what does that cost?"""
    rng = np.random.default_rng(seed)
    for name in only:
        ways = [way for way in WAYS if name == "one" or not way.startswith("git")]
        for problem in PROBLEMS[name]:
            for way in ways:
                outcomes = [problem.draw(rng, commits, way) for _ in range(draws)]
                builds, executions, confirming = np.mean(
                    [(one.builds, one.executions, one.confirming) for one in outcomes], axis=0
                )
                ends = Counter(one.why for one in outcomes if one.why)
                yield {
                    "range": problem.what,
                    "way": way,
                    "right, %": percent(sum(one.right for one in outcomes), draws),
                    "builds": builds,
                    "executions": executions,
                    "without confirming": executions - confirming,
                    "ended": ", ".join(f"{why} {count}" for why, count in sorted(ends.items())),
                }
