"""Measuring on many hosts, by drawn times through the project's own decisions.

The speed of hosts differs by 30 %, pairs within a block share their host and their moment, and hosts
differ in the effect itself by 0 or 2 %.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import log, log1p

import msgspec
import numpy as np
from numpy.random import Generator

from perfvcs.check import compare
from perfvcs.check.change import Change
from perfvcs.locate.bisect.decision import decide, together
from perfvcs.locate.bisect.evidence import Evidence
from perfvcs.locate.bisect.posterior import Prior
from perfvcs.profile import Environment, Job, Profile, Resources, Turns

from .figures import Row, percent
from .made import CHANGED, side
from .registry import benchmark

EXECUTIONS = 0.01  # what executions differ by, as a standard deviation
JOB = Job("sort", "time", "./sort", engine="launcher/1")


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


@benchmark("hosts", quick={"runs": 2})
def hosts_drawn(*, runs: int = 1000) -> Iterator[Row]:
    """How often are comparisons over hosts wrong, and do they say what hosts differ by?"""
    for (hosts, blocks), differ in product(
        ((2, 10), (3, 12), (4, 12), (4, 20), (8, 24)), (0.0, 0.02)
    ):
        chance = np.random.default_rng([hosts, blocks, int(1000 * differ)])
        quiet, moved, alone = [], [], []
        for _ in range(runs):
            quiet.append(_compared(chance, hosts, blocks, differ, 0.0))
            moved.append(_compared(chance, hosts, blocks, differ, log(1.05)))
            alone.append(_compared(chance, 1, blocks, differ, log(1.05)))
        alarms = [one for one in quiet if one.change.word in CHANGED]
        held = sum(_holds(one, 0.0) for one in quiet) + sum(_holds(one, 0.05) for one in moved)
        listed = [right for one in (*quiet, *moved) for right in one.listed]
        yield {
            "hosts": hosts,
            "blocks": blocks,
            "hosts differ by, %": 100 * differ,
            "false alarms, %": percent(len(alarms), runs),
            "of these say so": sum(bool(one.listed) for one in alarms),
            "+5% found, %": percent(_worse(moved), runs),
            "by one host, %": percent(_worse(alone), runs),
            "intervals with the truth, %": percent(held, 2 * runs),
            "`differs by host`, %": percent(sum(bool(one.listed) for one in quiet), runs),
            "effects listed": len(listed),
            "of these right, %": percent(sum(listed), len(listed)),
        }


def _worse(drawn: list[Drawn]) -> int:
    return sum(one.change.word == "degradation" for one in drawn)


def _holds(drawn: Drawn, truth: float) -> bool:
    low, high = drawn.change.low, drawn.change.high
    return low is not None and high is not None and low <= truth <= high


def _compared(chance: Generator, hosts: int, blocks: int, differ: float, effect: float) -> Drawn:
    """The verdict on one benchmark: a pair per block, the blocks shared out over the hosts as they
    come.
    """
    speed, own = chance.normal(0, 0.3, hosts), chance.normal(0, differ, hosts)
    sides: tuple[list[Profile], list[Profile]] = [], []
    for host in range(hosts):
        numbers = list(range(host, blocks, hosts))
        moment = chance.normal(0, 0.03, len(numbers))  # what both of a block share
        for version, shift in enumerate((0.0, effect + own[host])):
            noise = chance.normal(0, EXECUTIONS, len(numbers))
            times = 0.1 * np.exp(speed[host] + moment + shift + noise)
            metrics = {"wall": times.tolist()}
            rows = Resources(["sort"], [0] * len(numbers), numbers, metrics=metrics)
            places = [(version + number) % 2 for number in numbers]
            sides[version].append(
                msgspec.structs.replace(
                    side(version, rows, len(numbers), job=JOB),
                    environment=Environment(
                        {"cpu": "drawn"}, "0123456789ab", {"worker": f"host{host}"}
                    ),
                    turns=Turns(numbers, places, [1] * len(numbers)),
                )
            )
    (change,) = compare(*sides).changes
    return Drawn(change, [effect + one for one in own], blocks)


@dataclass(frozen=True)
class Search:
    """What a search among drawn commits took, and whether it was right."""

    rounds: int
    builds: int
    executions: int
    right: bool


@benchmark("hosts", quick={"runs": 2})
def hosts_bisect(*, runs: int = 200, commits: int = 100) -> Iterator[Row]:
    """How much sooner does `perf bisect` find a commit that is 5 % slower with more hosts?"""
    for hosts, several in ((1, False), *product((2, 4, 8), (False, True))):
        found = [
            _searched(np.random.default_rng(number), hosts, commits, several=several)
            for number in range(runs)
        ]
        yield {
            "hosts": hosts,
            "candidates at a time": "several" if several else "one",
            "rounds": np.mean([one.rounds for one in found]),
            "builds": np.mean([one.builds for one in found]),
            "executions": np.mean([one.executions for one in found]),
            "right, %": percent(sum(one.right for one in found), runs),
        }


def _searched(chance: Generator, hosts: int, commits: int, *, several: bool) -> Search:
    """One search; in a round every host measures a block."""
    culprit, last = int(chance.integers(1, commits)), commits - 1
    levels = np.where(np.arange(commits) >= culprit, log(1.05), 0.0)
    evidence, prior, rounds, executions = Evidence(last), Prior(last), 0, 0
    built = {0, last}

    def values(*measured: int) -> list[float]:
        nonlocal executions
        executions += len(measured)
        built.update(measured)
        moment = chance.normal(0, 0.03)
        return [float(levels[commit] + moment + chance.normal(0, 0.01)) for commit in measured]

    while (decision := decide(evidence, prior.weights)).step.what != "ended":
        step, rounds = decision.step, rounds + 1
        candidates = [step.commit] * hosts
        if several and step.what == "block":
            candidates = together(evidence, decision, hosts)
        for commit in candidates:
            if step.what == "pair":
                good, bad = values(0, last)
                evidence.add(good, bad)
            elif step.what == "confirm":
                evidence.add_step(commit, *values(commit - 1, commit))
            else:
                good, value, bad = values(0, commit, last)
                evidence.add(good, bad, commit, value)
    return Search(rounds, len(built), executions, decision.named == (culprit,))
