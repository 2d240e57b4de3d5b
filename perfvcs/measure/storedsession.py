"""Sessions whose measurements are stored when they end, whatever ends them, the outcome of a
campaign of them, and whether what is stored was built as perf.toml has it now.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import msgspec

from perfvcs.environment import clean
from perfvcs.errors import PerfError
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import Config, installs
from perfvcs.measure.announcement import announced
from perfvcs.measure.budget import Budget, TurnTimes
from perfvcs.measure.journal import Identity
from perfvcs.measure.request import Request
from perfvcs.measure.rig import Rig, versions
from perfvcs.measure.session import CollectFailed, Failure, Session
from perfvcs.measure.site import Version
from perfvcs.plan.needs import forecast
from perfvcs.profile import Profile
from perfvcs.profile.buildidentity import follows, stated, variables
from perfvcs.profile.summary import Header
from perfvcs.repository import Repository
from perfvcs.repository.state import State
from perfvcs.text.characters import shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.profile.summary import Measured


class StoredProfile(msgspec.Struct, frozen=True):
    """The place of a stored profile, and what it is of."""

    path: str
    commit: str
    dirty: str | None
    job: str
    collector: str
    executions: int
    failed: int
    session: str


class FailedJob(msgspec.Struct, frozen=True):
    """A job that was given up on a version, and why."""

    job: str
    collector: str
    version: str
    reason: str


class CampaignDocument(msgspec.Struct, frozen=True):
    """What `perf collect --json` prints."""

    stored: list[StoredProfile]
    failed: list[FailedJob]
    warnings: list[str]
    seeds: list[int]


class CampaignOutcome(msgspec.Struct):
    """What a campaign did: the places of the stored profiles, what failed, and warnings about
    noise; whose hosts measured, if any. ``given_up``: jobs with open comparisons, of which more
    pairs would settle few.
    """

    paths: list[str] = msgspec.field(default_factory=list)
    profiles: list[Profile] = msgspec.field(default_factory=list)
    failures: list[Failure] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    seeds: list[int] = msgspec.field(default_factory=list)
    scheduler: str = ""
    given_up: set[str] = msgspec.field(default_factory=set)

    def json(self) -> str:
        """What was stored and what failed, as one JSON object."""
        stored = [
            filled(
                StoredProfile,
                profile,
                profile.design,
                path=path,
                job=profile.job.label,
                collector=profile.job.collector,
                session=profile.collected.session,
            )
            for path, profile in zip(self.paths, self.profiles, strict=True)
        ]
        failed = [
            filled(FailedJob, failure, job=failure.label or failure.name)
            for failure in self.failures
        ]
        return json_text(CampaignDocument(stored, failed, self.warnings, self.seeds))

    def raise_failures(self) -> None:
        """Raise CollectFailed when anything could not be measured, which was said before."""
        if self.failures:
            rest = "the rest is stored" if self.paths else "nothing stored"
            raise CollectFailed(f"{counted(len(self.failures), 'failure')} (see above); {rest}")


NAMED, NAMES = 5, 200  # jobs that a warning names, and characters of all their names


@contextmanager
def opened(
    rig: Rig, states: Sequence[State], request: Request, outcome: CampaignOutcome
) -> Iterator[Session]:
    """A session of states that nothing can continue, ready to be run; what it gives is stored when
    it ends, and is in ``outcome`` then.
    """
    repository = rig.repository
    cells, equipped = rig.asked(request)
    commits = [state.commit for state in states if state.dirty is None]
    budget = None if request.budget is None else Budget(request.budget)
    with (
        announced(repository.home, commits, rig.progress) as seen,
        repository.measuring(wait=request.wait),
    ):
        measured = versions(repository, states, request)
        with (
            Session(
                equipped.sites(cells, measured),
                seen,
                Identity.new(request.seed),
                pace=turn_times(repository, cells, measured),
                budget=budget,
                executor=rig.executor,
            ) as session,
            kept(repository, session, outcome),
        ):
            yield session


@contextmanager
def kept(repository: Repository, session: Session, outcome: CampaignOutcome) -> Iterator[None]:
    """Stores what the session gave; if it is interrupted, what is complete."""
    try:
        yield
    except BaseException:
        try:
            _keep(repository, session, outcome)
        except (PerfError, OSError) as error:  # the reason for the end comes first
            session.progress.fail(f"what was measured is not stored yet: {error}")
        else:
            for line in session.left(outcome.profiles):
                session.progress.say(line)
        raise
    try:
        _keep(repository, session, outcome)
    except BaseException:
        for line in session.unstored():
            session.progress.say(line)
        raise


def turn_times(
    repository: Repository, cells: Sequence[Cell], versions: Sequence[State | Version]
) -> TurnTimes:
    """What a turn of each cell is expected to take, by what is stored up to HEAD."""
    seconds = forecast(repository, cells, repository.project.head or versions[-1].commit)
    return TurnTimes(
        {
            number: None if estimate is None else estimate * len(versions)
            for number, estimate in enumerate(seconds)
        }
    )


def _keep(repository: Repository, session: Session, outcome: CampaignOutcome) -> None:
    """Stores what the session gave, in the place of what was stored when it was interrupted."""
    profiles = session.profiles()
    commits = dict.fromkeys(version.commit for version in session.versions)
    stored = [
        header
        for header in repository.index.headers(commits)
        if header.collected.session == session.identity.session
    ]
    earlier = {
        (header.design.version, header.job.key, header.worker): header.path for header in stored
    }
    names = ", ".join(dict.fromkeys(version.name for version in session.versions))
    pairs = [
        (earlier.get((header.design.version, header.job.key, header.worker)), profile)
        for header, profile in zip(map(Header.of, profiles), profiles, strict=True)
    ]
    with repository.replacing() if earlier else nullcontext():
        outcome.paths += repository.store.replace(pairs, f"Collect {names}")
    repository.refresh()
    outcome.profiles += profiles
    outcome.failures += session.failures
    if missing := session.unmeasured():
        names = shorten(", ".join(missing[:NAMED]), NAMES) + (
            f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        )
        outcome.warnings.append(
            f"the budget ended before {names} had a complete block: nothing of it is stored"
        )
    outcome.warnings += [line for line in session.warnings if line not in outcome.warnings]
    outcome.seeds.append(session.identity.seed)


def is_present_build(header: Header, config: Config, cell: Cell) -> bool:
    """Whether a profile of a cell is of the build commands, flags and requirements of a
    configuration, so far as it is known; a product brings its own build.

    The versions of compilers do not count: they change with the machine, as its kernel does.
    """
    if header.design.product is not None or header.collected.is_foreign:
        return True
    fields = stated(config.build, installs(config))
    if config.build or config.python:
        fields |= variables(clean(os.environ, cell.env))
    return follows(header.environment.fields, fields)


def outdated(
    sides: Iterable[Iterable[Measured]], config: Config, cells: Iterable[Cell]
) -> set[str]:
    """The labels of the cells whose newest profile on a side is of another build than now."""
    by_name = {(cell.label, cell.collector_name): cell for cell in cells}
    labels: set[str] = set()
    for side in sides:
        newest: dict[tuple[str, str], Header] = {}
        for measured in sorted(side, key=lambda one: one.header.collected.started):
            newest[measured.header.job.label, measured.header.job.collector] = measured.header
        labels |= {
            name[0]
            for name, header in newest.items()
            if name in by_name and not is_present_build(header, config, by_name[name])
        }
    return labels
