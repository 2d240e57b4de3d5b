"""What measuring on many hosts shows, by drawn times through the project's own decisions.

    python benchmarks/hosts_drawn.py simulate [--runs 1000]
    python benchmarks/hosts_drawn.py bisect [--runs 200]

``simulate`` puts drawn times through the check's own code: hosts whose speed differs by 30 %, pairs
within a block that share their host and their moment, and hosts that differ in the effect itself by
0 or 2 %. Prints false alarms, with how many of these the report says that hosts differ, how often
+5 % is found, also by one host with the same blocks, how many intervals hold the truth, how often a
report lists each host's effect, and how many of the listed ones are right. ``bisect`` searches
among drawn commits.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from math import log, log1p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator

    from perfvcs.check.change import Change

OLD, NEW = "a" * 40, "b" * 40
EXECUTIONS = 0.01  # what executions differ by, as a standard deviation


@dataclass(frozen=True)
class Drawn:
    """A comparison of drawn times: its verdict, and what each host's effect is in truth."""

    change: Change
    truths: list[float]
    blocks: int

    @property
    def listed(self) -> list[bool]:
        """Of each host that the report lists with an effect of its own: whether that is within
        three standard errors of the truth.
        """
        found = re.findall(r"([+-][\d.]+) % on host(\d+)", self.change.finding)
        spread = 2**0.5 * EXECUTIONS / (self.blocks / len(self.truths)) ** 0.5
        return [
            abs(log1p(float(effect) / 100) - self.truths[int(host)]) < 3 * spread + 0.0005
            for effect, host in found
        ]


def simulate(runs: int) -> None:
    """Comparisons of drawn times."""
    import numpy as np

    print(
        "hosts  blocks  hosts differ by  false alarms  of these say so   +5 % found  by one host "
        " intervals with the truth  `differs by host`  effects listed  of these right"
    )
    for hosts, blocks in ((2, 10), (3, 12), (4, 12), (4, 20), (8, 24)):
        for differ in (0.0, 0.02):
            chance = np.random.default_rng([hosts, blocks, int(1000 * differ)])
            alarms = said = found = single = held = unlike = 0
            listed: list[bool] = []
            for _ in range(runs):
                quiet, change, alone = (
                    _compared(chance, *case)
                    for case in (
                        (hosts, blocks, differ, 0.0),
                        (hosts, blocks, differ, log(1.05)),
                        (1, blocks, differ, log(1.05)),
                    )
                )
                is_alarm = quiet.change.word in ("degradation", "improvement")
                alarms += is_alarm
                said += is_alarm and bool(quiet.listed)
                found += change.change.word == "degradation"
                single += alone.change.word == "degradation"
                held += sum(
                    one.change.low <= truth <= one.change.high
                    for one, truth in ((quiet, 0.0), (change, 0.05))
                )
                unlike += bool(quiet.listed)
                listed += quiet.listed + change.listed
            print(
                f"{hosts:5}  {blocks:6}  {100 * differ:13.0f} %  {100 * alarms / runs:10.1f} % "
                f" {said:6} of {alarms:4}  {100 * found / runs:10.1f} %  {100 * single / runs:9.1f}"
                f" %  {50 * held / runs:22.1f} %  {100 * unlike / runs:14.1f} %  {len(listed):14} "
                f" {100 * sum(listed) / max(len(listed), 1):12.1f} %",
                flush=True,
            )


def _compared(chance: Generator, hosts: int, blocks: int, differ: float, effect: float) -> Drawn:
    """The verdict on one benchmark: a pair per block, the blocks shared out over the hosts as they
    come.
    """
    import numpy as np

    from perfvcs.check import compare
    from perfvcs.profile import (
        Collected,
        Design,
        Environment,
        Job,
        Metric,
        Profile,
        Resources,
        Turns,
    )

    speed, own = chance.normal(0, 0.3, hosts), chance.normal(0, differ, hosts)
    sides: tuple[list[Profile], list[Profile]] = [], []
    for host in range(hosts):
        numbers = list(range(host, blocks, hosts))
        moment = chance.normal(0, 0.03, len(numbers))  # what both of a block share
        for version, shift in enumerate((0.0, effect + own[host])):
            times = 0.1 * np.exp(
                speed[host] + moment + shift + chance.normal(0, EXECUTIONS, len(numbers))
            )
            places = [(version + number) % 2 for number in numbers]
            sides[version].append(
                Profile(
                    commit=(OLD, NEW)[version],
                    job=Job(name="sort", collector="time", cmd="./sort", engine="launcher/1"),
                    collected=Collected(
                        "20261123T090000-abcdef",
                        "2026-11-23T09:00:00Z",
                        "2026-11-23T09:10:00Z",
                        "perfvcs 0.2.0",
                    ),
                    environment=Environment(
                        {"cpu": "drawn"}, "0123456789ab", {"worker": f"host{host}"}
                    ),
                    design=Design(
                        executions=len(numbers),
                        order="interleaved",
                        version=version,
                        versions=[OLD, NEW],
                    ),
                    metrics={"wall": Metric("s")},
                    turns=Turns(numbers, places, [1] * len(numbers)),
                    resources=Resources(
                        ["sort"], [0] * len(numbers), numbers, metrics={"wall": times.tolist()}
                    ),
                )
            )
    (change,) = compare(*sides).changes
    return Drawn(change, [effect + one for one in own], blocks)


def bisect(runs: int, commits: int = 100) -> None:
    """Searches among drawn commits for one that is 5 % slower, by the shipped decisions, with more
    and more hosts.
    """
    import numpy as np

    print("hosts  candidates at a time  rounds  builds  executions  right")
    for hosts in (1, 2, 4, 8):
        for several in (False, True) if hosts > 1 else (False,):
            rounds, builds, executions, right = [], [], [], 0
            for number in range(runs):
                found = _searched(np.random.default_rng(number), hosts, commits, several)
                rounds.append(found[0])
                builds.append(found[1])
                executions.append(found[2])
                right += found[3]
            means = "  ".join(f"{np.mean(values):8.1f}" for values in (rounds, builds, executions))
            print(
                f"{hosts:5}  {'several' if several else 'one':20}  {means} "
                f" {100 * right / runs:5.1f} %",
                flush=True,
            )


def _searched(chance, hosts: int, commits: int, several: bool) -> tuple[int, int, int, bool]:
    """The rounds, builds and executions of a search, and whether it is right.

    In a round every host measures a block.
    """
    import numpy as np

    from perfvcs.locate.bisect.decision import decide, together
    from perfvcs.locate.bisect.evidence import Evidence
    from perfvcs.locate.bisect.posterior import Prior

    culprit = int(chance.integers(1, commits))
    levels = np.where(np.arange(commits) >= culprit, log(1.05), 0.0)
    evidence, prior, rounds, executions = Evidence(commits - 1), Prior(commits - 1), 0, 0
    built = {0, commits - 1}

    def values(*measured: int) -> list[float]:
        nonlocal executions
        executions += len(measured)
        built.update(measured)
        moment = chance.normal(0, 0.03)
        return [float(levels[commit] + moment + chance.normal(0, 0.01)) for commit in measured]

    while (decision := decide(evidence, prior.weights)).step.what != "ended":
        step, rounds = decision.step, rounds + 1
        candidates = (
            together(evidence, decision, hosts)
            if several and step.what == "block"
            else [step.commit] * hosts
        )
        for commit in candidates:
            if step.what == "pair":
                evidence.add(*values(0, commits - 1))
            elif step.what == "confirm":
                evidence.add_step(commit, *values(commit - 1, commit))
            else:
                good, value, bad = values(0, commit, commits - 1)
                evidence.add(good, bad, commit, value)
    return rounds, len(built), executions, decision.named == (culprit,)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, runs in (("simulate", 1000), ("bisect", 200)):
        commands.add_parser(name).add_argument("--runs", type=int, default=runs)
    given = parser.parse_args()
    {"simulate": simulate, "bisect": bisect}[given.command](given.runs)


if __name__ == "__main__":
    main()
