"""Tries a proposal before it is written into perf.toml: whether it builds, whether its command
runs, and how long it takes.
"""

from __future__ import annotations

import shlex
import time
import tomllib
from collections.abc import Sequence

from msgspec import Struct, structs

from perfvcs.errors import PerfError
from perfvcs.git.project import Project
from perfvcs.jobs import knobs, matrix
from perfvcs.jobs.config import read
from perfvcs.jobs.harness import program_of
from perfvcs.jobs.harnessoffers import shorter
from perfvcs.jobs.proposals import STARTS
from perfvcs.jobs.pythonoffers import PYTEST
from perfvcs.jobs.starter import RUNNER as SUITE
from perfvcs.jobs.starter import Proposal
from perfvcs.launcher.execution import UNNOTICED
from perfvcs.measure.budget import Budget
from perfvcs.measure.counting import LEAST_ROOM, affordable
from perfvcs.measure.journal import Identity
from perfvcs.measure.progress import Progress, Reasons
from perfvcs.measure.reason import TAKES_LONG, Reason
from perfvcs.measure.repair import Repair, repair
from perfvcs.measure.session import Session
from perfvcs.measure.site import Version
from perfvcs.measure.sites import Sites
from perfvcs.measure.tellingtests import (
    changes_by_file,
    changes_of_code,
    telling,
    telling_files,
    telling_suite,
    timed_files,
)
from perfvcs.measure.testprograms import without_starter
from perfvcs.measure.unitseconds import units, wholes
from perfvcs.plan.expected import SHARE, Estimate, about, longest_execution
from perfvcs.plugins.collector import Observations
from perfvcs.profile import Profile
from perfvcs.repository import Repository
from perfvcs.statistics.multiplicity import PAIRS
from perfvcs.text.quantity import duration

LONGEST_EXECUTION = 120.0  # seconds of one execution that is still proposed
LONGEST_CHECK = 300.0  # seconds of a verdict from which on something quicker is looked for
BUILD = 300.0  # seconds of one build
ALL_TRIALS_SECONDS = 600.0  # seconds of all trials
MOST_REPAIRS = 6  # trials of one proposal, each without what kept the one before from running


class Trial(Struct, frozen=True):
    """A proposal that ran: the ``seconds`` of one execution, of everything before it, and of
    counting the work of both sides of a check that time left open.
    """

    proposal: Proposal
    seconds: float
    preparation: float
    counting: float = 0.0
    direct: Repair | None = None  # what it starts, without it

    @property
    def collect(self) -> Estimate:
        """What `perf collect` is expected to take."""
        executions = self.proposal.executions(self.seconds)
        return Estimate.of_collect(self.preparation, self.seconds, executions)

    @property
    def check(self) -> Estimate:
        """What `perf check --measure` is expected to take."""
        return Estimate.of_check(self.preparation, self.seconds, counting=self.counting)


def first_that_runs(
    repository: Repository, proposals: Sequence[Proposal], progress: Progress
) -> Trial | None:
    """The first proposal that builds and runs at the committed HEAD, or None; prints why the others
    do not.

    One that fails for a cause that others share speaks for them: they are not tried. Where a
    verdict would take long, the first that is quicker is taken, else the quickest; what only
    starts the project is not, nor the same commands after another preparation.
    """
    trials = _Trials(repository, progress)
    slow: Trial | None = None
    ran: list[Proposal] = []
    waiting = list(proposals)
    with repository.measuring():
        while waiting:
            proposal = waiting.pop(0)
            if not trials.left:
                progress.say(
                    f"no other command is tried: the trials took {duration(ALL_TRIALS_SECONDS)}"
                )
                break
            starts = slow is not None and proposal.found.endswith(STARTS)
            again = any(proposal.commands == known.commands for known in ran)
            if trials.is_hopeless(proposal) or starts or again:
                continue
            if (trial := trials.of(proposal)) is None:
                continue
            ran.append(proposal)
            if trial.direct is not None:
                progress.say(f"  {trial.direct.why}")
                direct = trials.of(trial.direct.proposal) or trial
                # whose build was kept, which check makes anew for both sides
                direct = structs.replace(direct, preparation=trial.preparation)
                longest = max(LONGEST_CHECK, trial.check.expected)
                trial = direct if direct.check.expected <= longest else trial
            if trial.check.expected <= LONGEST_CHECK:
                return trial
            progress.say(
                f"  it runs, but a verdict takes {about(trial.check.expected)}: looking for"
                " something quicker"
            )
            if slow is None or trial.check.expected < slow.check.expected:
                slow = trial
    return slow


class _Trials:
    """Trials of several proposals, which learn from those that failed."""

    def __init__(self, repository: Repository, progress: Progress) -> None:
        self.repository, self.progress = repository, progress
        self._end = time.monotonic() + ALL_TRIALS_SECONDS
        self._failed: set[tuple[str, ...]] = set()  # builds
        self._unmade: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()  # environments
        self._causes: set[str] = set()  # why builds and environments failed
        self._tools: set[str] = set()  # what prepares nothing here

    @property
    def left(self) -> float:
        """The seconds that are left for all."""
        return max(0.0, self._end - time.monotonic())

    def is_hopeless(self, proposal: Proposal) -> bool:
        """Whether what it needs could not be made before."""
        if proposal.build in self._failed or _tool(proposal) in self._tools:
            return True
        if proposal.python is None:
            return False
        return (proposal.requires, proposal.python) in self._unmade

    def of(self, proposal: Proposal) -> Trial | None:
        """The trial of a proposal, less what cannot run; None where nothing is left."""
        for _ in range(MOST_REPAIRS):
            after = f" after {'; '.join(proposal.build)}" if proposal.build else ""
            commands = " and ".join(f"`{cmd}`" for cmd in proposal.commands.values())
            self.progress.say(f"trying {commands}{after}")
            quiet = Reasons()
            trial = _tried(self.repository, proposal, quiet, self.left)
            reason = self._said(trial, quiet)
            if trial is not None:
                return trial
            repaired = repair(self.repository.project, proposal, reason)
            if repaired is None or not self.left:
                break
            self.progress.say(f"  {repaired.why}")
            proposal = repaired.proposal
        self._learn(proposal, reason)
        return None

    def _learn(self, proposal: Proposal, reason: Reason) -> None:
        """Keep what failed before the command ran. Where there is no network, or the project cannot
        be installed alone, or two fail for one cause, what the same tool prepares is not tried.
        """
        if not reason.of_the_build and not reason.of_the_environment:
            return
        is_environment = proposal.python is not None and reason.of_the_environment
        if reason.of_the_build and proposal.build:
            self._failed.add(proposal.build)
        if is_environment:
            self._unmade.add((proposal.requires, proposal.python or ()))
        alone = proposal.python == (".",) and proposal.requires in ((), ("pytest",))
        if str(reason) in self._causes or reason.of_the_machine or (is_environment and alone):
            self._tools.add(_tool(proposal))
        self._causes.add(str(reason))

    def _said(self, trial: Trial | None, quiet: Reasons) -> Reason:
        """Say why something does not run; the last of these reasons."""
        reasons = [Reason(text) for text in dict.fromkeys(quiet.reasons)]
        if not reasons and trial is None:
            reasons = [Reason(f"{TAKES_LONG} {LONGEST_EXECUTION:.0f} s")]
        for text in dict.fromkeys(map(str, reasons)):
            self.progress.say(f"  it does not run: {text}")
        return reasons[-1] if reasons else Reason("")


def _tool(proposal: Proposal) -> str:
    """What prepares a proposal, or runs it where nothing does."""
    if proposal.python is not None:
        return "pip"
    return program_of(shlex.split((*proposal.build, proposal.cmd)[0]))


def _tried(repository: Repository, proposal: Proposal, quiet: Reasons, left: float) -> Trial | None:
    """One execution of a proposal in a checkout of HEAD, with the jobs that run; None where none
    does.

    ``left``: the seconds for its build.
    """
    tests = proposal.collector == PYTEST
    tried = timed_files(proposal) or proposal
    if tests:
        tried = structs.replace(
            proposal, collector='{ name = "pytest", repeat = 0, functions = false }'
        )
    config = structs.replace(
        read(tomllib.loads(tried.toml())), build_timeout=f"{max(1, round(min(BUILD, left)))}s"
    )
    try:
        cells = [
            structs.replace(cell, executions=1, warmup=0, retries=0, timeout=LONGEST_EXECUTION)
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
            session.tally.budget = Budget(min(left, LONGEST_EXECUTION * len(cells)))
            session.run(dict.fromkeys(range(len(cells)), 1))
            lacking = [line for line in session.warnings if UNNOTICED in line]
            for line in lacking:
                quiet.fail(line)
            running = [
                number
                for number, name in enumerate(session.names)
                if session.count(number)
                and not any(line.startswith(f"{name}: ") for line in lacking)
            ]
            seconds = sum(session.pace.of(number) or 0.0 for number in running)
            if tests:
                seconds /= 2  # the first one ran all tests twice
            first = seconds
            if running and 4 * seconds < LONGEST_EXECUTION:
                # the first may have compiled what the next ones run, or left what they stumble over
                again = time.monotonic()
                session.run(dict.fromkeys(running, 1))
                if min(map(session.count, running)) > 1:
                    seconds = min(seconds, time.monotonic() - again)
                running = [number for number in running if session.count(number)]
            if not running:
                return None
            block = session.blocks.of(running[0], 0)[0]
            chosen = proposal.only([cells[number].name for number in running])
            once, full = first - seconds, seconds
            seen, longest = block.seen[0], longest_execution(prepared - began + once)
            chosen, seconds = _most_telling(repository.project, chosen, seen, seconds, longest)
            counting = _counting(chosen, seconds, session.profiles(), seconds / full)
            direct = without_starter(proposal, *sites.place(0))
        return Trial(chosen, seconds, prepared - began + once, counting, direct)
    except PerfError as error:
        quiet.fail(str(error))
        return None


def _most_telling(
    project: Project, proposal: Proposal, seen: Observations, seconds: float, longest: float
) -> tuple[Proposal, float]:
    """A proposal that ran, cut to executions of at most ``longest`` (s) as far as it can be, and
    the seconds of one.
    """
    if proposal.collector == PYTEST:
        files = {unit.partition("::")[0] for unit in seen.uid}
        return telling(proposal, seen, seconds, changes_of_code(project, files), longest)
    if timed_files(proposal) is not None:
        return telling_files(proposal, seen, seconds, changes_by_file(project), longest)
    if SUITE in proposal.cmd:
        return telling_suite(proposal, seen, seconds, longest)
    rows = set(zip(seen.uid, seen.size, strict=True))  # with one of all of it
    return shorter(proposal, len(rows) - 1, seconds, longest)


def _counting(
    proposal: Proposal, seconds: float, profiles: Sequence[Profile], share: float
) -> float:
    """What counting the work of two versions is expected to take (s) where time left the jobs of a
    proposal open, of which an execution takes so many ``seconds``: a ``share`` of what was tried.
    """
    cells = matrix(read(tomllib.loads(proposal.toml())))
    room = max(2 * PAIRS * seconds * SHARE / (1 - SHARE), LEAST_ROOM)
    # the files of tests of Perl are executed as one
    has = {} if timed_files(proposal) else units(profiles)
    by_unit = {
        label: unit._replace(once=share * unit.once, measured=share * unit.measured)
        for label, unit in has.items()
    }
    jobs, _ = affordable(cells, seconds / len(cells), room, by_unit, wholes(profiles))
    return sum(job.seconds for job in jobs)
