"""How often `perf bisect` is right, and what that costs: its own decisions on simulated machines,
beside `git bisect run`.

    python benchmarks/bisecting.py [--draws 1000] [--only PART] [--commits 64]

Executions have a standard deviation s, the machine's level one of t between sessions; a block of
three shares its session. Each line: the share that was right, builds and executions on average
(those that confirm included), and those of the search alone. Levels between sessions reach only
what measures in sessions of its own: git bisect, and the profiles that were stored before.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import process_time

import numpy as np
from numpy.typing import NDArray

from perfvcs.locate.bisect.decision import Decision, StoppingRules, decide
from perfvcs.locate.bisect.evidence import Evidence
from perfvcs.locate.bisect.posterior import Prior

Array = NDArray[np.float64]
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
            evidence.add(*machine.session(0, machine.last))
        else:
            good, value, bad = machine.session(0, step.commit, machine.last)
            evidence.add(good, bad, step.commit, value)


def touching(machine: Machine, culprits: list[int]) -> list[bool]:
    """Which commits change functions that the benchmark runs."""
    found = (machine.rng.random(machine.last) < TOUCHING).tolist()
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


@dataclass(frozen=True)
class Row:
    """The outcome of one draw."""

    right: bool
    builds: int
    executions: int
    confirming: int
    why: str = ""


def draw(
    rng: np.random.Generator,
    commits: int,
    effects: tuple[float, ...],
    s: float,
    t: float,
    way: str,
    broken: float = 0.0,
    run: int = 0,
) -> Row:
    """One range with culprits of these effects, searched in a ``way``."""
    last = commits - 1
    culprits = sorted(
        int(one) for one in rng.choice(np.arange(1, last), len(effects), replace=False)
    )
    levels = np.zeros(commits)
    for culprit, effect in zip(culprits, effects, strict=True):
        levels[culprit:] += effect
    unbuildable = frozenset(
        int(one) for one in np.flatnonzero(rng.random(commits) < broken) if 0 < one < last
    )
    if run:
        begin = int(rng.integers(1, last - run + 1))
        unbuildable = frozenset(range(begin, begin + run))
    machine = Machine(levels, s, t, rng, unbuildable)
    if way.startswith("git"):
        found = git_bisect(machine, int(way.rsplit(maxsplit=1)[-1]))
        return Row([found] == culprits, len(machine.built), machine.executions, 0)
    prior = Prior(
        last,
        touched=touching(machine, culprits) if "functions" in way or "both" in way else None,
        stored=stored(machine) if "stored" in way or "both" in way else {},
    )
    decision = search(machine, prior)
    right = sorted(decision.named) == culprits and decision.step.why == "found"
    if not culprits:
        right = decision.step.why in ("equal", "unproved")
    elif unbuildable and decision.step.why == "range":
        assert decision.belief is not None
        likely = decision.belief.range()
        right = set(culprits) <= {*likely, *decision.named}
    return Row(right, len(machine.built), machine.executions, machine.confirming, decision.step.why)


WAYS = (
    "git bisect run, executions 5",
    "git bisect run, executions 20",
    "blocks of three",
    "+ functions",
    "+ stored",
    "+ both",
)


def table(name: str, one: Callable[[str], Row], ways: tuple[str, ...], draws: int) -> None:
    print(f"-- {name}")
    for way in ways:
        begin = process_time()
        rows = [one(way) for _ in range(draws)]
        ends = {
            why: sum(row.why == why for row in rows) for why in sorted({row.why for row in rows})
        }
        print(
            f"   {way:30} {100 * np.mean([row.right for row in rows]):6.1f}"
            f" {np.mean([row.builds for row in rows]):6.2f}"
            f" {np.mean([row.executions for row in rows]):7.1f}"
            f" {np.mean([row.executions - row.confirming for row in rows]):7.1f}  "
            f" {ends if ends != {'': draws} else ''}  [{process_time() - begin:.0f} s]",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="one, none, two, broken or runs")
    parser.add_argument("--effect", type=float, help="only of this size: 0.02 or 0.05")
    parser.add_argument("--ways", default="", help="only ways with this word")
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    given = partial(draw, rng, asked.commits)
    ways = tuple(way for way in WAYS if asked.ways in way)
    sizes = [effect for effect in (0.02, 0.05) if asked.effect in (None, effect)]
    ours = tuple(way for way in ways if not way.startswith("git"))
    print(
        f"{asked.commits} commits, {asked.draws} draws; right %, builds, executions, those without"
        " the confirming ones"
    )
    if asked.only in ("", "one"):
        for s, t, effect in ((0.01, 0.0, 0.02), (0.02, 0.02, 0.02), (0.02, 0.02, 0.05)):
            if asked.effect in (None, effect):
                name = f"one culprit of {effect:+.0%}, s {s:.0%}, t {t:.0%}"
                table(
                    name, lambda way, e=effect, s=s, t=t: given((e,), s, t, way), ways, asked.draws
                )
    if asked.only in ("", "none"):
        table("no culprit, s 2 %, t 2 %", lambda way: given((), 0.02, 0.02, way), ours, asked.draws)
    if asked.only in ("", "two"):
        for effect in sizes:
            table(
                f"two culprits of {effect:+.0%} each, s 2 %, t 2 %",
                lambda way, e=effect: given((e, e), 0.02, 0.02, way),
                ours,
                asked.draws,
            )
    if asked.only in ("", "broken"):
        for effect in sizes:
            name = (
                f"one culprit of {effect:+.0%}, a tenth of the commits cannot be built, s 2 %,"
                " t 2 %"
            )
            table(name, lambda way, e=effect: given((e,), 0.02, 0.02, way, 0.1), ours, asked.draws)
    if asked.only in ("", "runs"):
        name = f"one culprit of +5%, {RUN} commits in a row cannot be built, s 2 %, t 2 %"
        table(name, lambda way: given((0.05,), 0.02, 0.02, way, run=RUN), ours, asked.draws)


if __name__ == "__main__":
    main()
