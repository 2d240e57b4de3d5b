"""Tries a proposal before it is written into perf.toml: whether it builds, whether its command
runs, and how long it takes.
"""

from __future__ import annotations

import shlex
import time
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import structs

from perfvcs.errors import PerfError
from perfvcs.jobs import knobs, matrix
from perfvcs.jobs.config import read
from perfvcs.jobs.pythonoffers import PROPOSED_REPEATS, PYTEST
from perfvcs.measure.budget import Budget
from perfvcs.measure.journal import Identity
from perfvcs.measure.session import Session
from perfvcs.measure.site import Version
from perfvcs.measure.sites import Sites
from perfvcs.text.quantity import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.jobs.starter import Proposal
    from perfvcs.measure.progress import Progress
    from perfvcs.plugins.collector import Observations
    from perfvcs.repository import Repository

LONGEST_EXECUTION = 120.0  # seconds of one execution that is still proposed
BUILD = 300.0  # seconds of one build
ALL_TRIALS_SECONDS = 600.0  # seconds of all trials
MOST_NAMES = 20  # files, or tests, in a command
MANY_TESTS = 30.0  # seconds of tests above which only the most expensive ones are proposed
EXECUTION_SECONDS = 20.0  # seconds that an execution of the proposed ones takes
REPEATED_SECONDS = 0.1  # seconds for which the collector repeats a test, see its `budget`


@dataclass(frozen=True)
class Trial:
    """A proposal that ran: the ``seconds`` of one execution, and of everything before it."""

    proposal: Proposal
    seconds: float
    preparation: float

    @property
    def collect(self) -> float:
        """The seconds that `perf collect` is expected to take."""
        return self.preparation + self.seconds * (self.proposal.executions(self.seconds) + 1)


class _Quiet:
    """Keeps why something failed instead of showing it."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def begin(self, total: int) -> None:
        """Ignored."""

    def step(self, what: str) -> None:
        """Ignored."""

    def drop(self, steps: int) -> None:
        """Ignored."""

    def say(self, line: str) -> None:
        """Ignored."""

    def fail(self, failure: str) -> None:
        """Keep it."""
        self.reasons.append(failure)


def first_that_runs(
    repository: Repository, proposals: Sequence[Proposal], progress: Progress
) -> Trial | None:
    """The first proposal that builds and runs at the committed HEAD, or None; prints why the others
    do not.
    """
    failed: set[tuple[str, ...]] = set()
    end = time.monotonic() + ALL_TRIALS_SECONDS
    with repository.measuring():
        for proposal in proposals:
            if proposal.build in failed:
                continue
            if (left := end - time.monotonic()) <= 0:
                progress.say(
                    f"no other command is tried: the trials took {duration(ALL_TRIALS_SECONDS)}"
                )
                break
            after = f" after {'; '.join(proposal.build)}" if proposal.build else ""
            progress.say(f"trying `{proposal.cmd}`{after}")
            quiet = _Quiet()
            tried = _tried(repository, proposal, quiet, left)
            if tried is not None:
                return tried
            reason = (
                quiet.reasons[-1]
                if quiet.reasons
                else f"it takes more than {LONGEST_EXECUTION:.0f} s"
            )
            if proposal.build and "the build failed" in reason:
                failed.add(proposal.build)
            progress.say(f"  it does not run: {_short(reason)}")
    return None


def _short(reason: str) -> str:
    from perfvcs.text.characters import shorten

    return shorten(reason, 200)


def _tried(repository: Repository, proposal: Proposal, quiet: _Quiet, left: float) -> Trial | None:
    """One execution of a proposal in a checkout of HEAD; None where it fails.

    ``left``: the seconds for its build.
    """
    tests = proposal.collector == PYTEST
    tried = proposal
    if tests:
        tried = replace(proposal, collector='{ name = "pytest", repeat = 0, functions = false }')
    config = structs.replace(
        read(tomllib.loads(tried.toml())), build_timeout=f"{max(1, round(min(BUILD, left)))}s"
    )
    try:
        cells = [
            replace(cell, executions=1, warmup=0, retries=0, timeout=LONGEST_EXECUTION)
            for cell in matrix(config)
        ]
        head = repository.project.head
        assert head is not None
        sites = Sites(
            repository.project, repository.home, config, cells, [Version(head)], knobs(config)
        )
        began = time.monotonic()
        with Session(sites, quiet, Identity.new()) as session:
            prepared = time.monotonic()
            session.tally.budget = Budget(LONGEST_EXECUTION)
            session.run({0: 1})
            if not session.count(0):
                return None
            seconds = session.pace.of(0) or 0.0
            seen = session.blocks.of(0, 0)[0].seen[0]
        if tests:
            proposal, seconds = _bounded(proposal, seen, seconds)
        return Trial(proposal, seconds, prepared - began)
    except PerfError as error:
        quiet.fail(str(error))
        return None


def _bounded(proposal: Proposal, seen: Observations, once: float) -> tuple[Proposal, float]:
    """A proposal of tests, cut to the most expensive ones where all of them take long; with the
    seconds of one execution.

    ``once`` is what it took to run each test once; the collector repeats them.
    """
    spent: dict[str, float] = {}
    repeated = 0.0
    for unit, value in zip(seen.uid, seen.values["wall"], strict=True):
        test = unit.removesuffix(" (once)").partition("[")[0]
        spent[test] = spent.get(test, 0.0) + (value or 0.0)
        repeated += min(PROPOSED_REPEATS * (value or 0.0), (value or 0.0) + REPEATED_SECONDS)
    seconds, total = once + repeated, sum(spent.values())
    if seconds <= MANY_TESTS or not total:
        return proposal, seconds
    files: dict[str, float] = {}
    for test, value in spent.items():
        files[test.partition("::")[0]] = files.get(test.partition("::")[0], 0.0) + value
    chosen = _dearest(files, total * EXECUTION_SECONDS / seconds) or _dearest(
        spent, total * EXECUTION_SECONDS / seconds
    )
    if not chosen:
        return proposal, seconds
    share = sum((files | spent)[name] for name in chosen) / total
    reason = f"{proposal.found}: those with {100 * share:.0f} % of the time of all {len(spent)}"
    options = [word for word in shlex.split(proposal.cmd) if word.startswith("--")]
    cmd = shlex.join(["python", "-m", "pytest", *options, *chosen])
    return replace(proposal, found=reason, cmd=cmd), seconds * share


def _dearest(spent: dict[str, float], left: float) -> list[str]:
    """The most expensive files, or tests, of which all together take no longer than is ``left``."""
    names: list[str] = []
    for name, seconds in sorted(spent.items(), key=lambda pair: -pair[1]):
        if seconds <= left and len(names) < MOST_NAMES:
            left -= seconds
            names.append(name)
    return names
