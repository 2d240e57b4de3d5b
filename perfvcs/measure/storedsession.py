"""Sessions whose measurements are stored when they end, whatever ends them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from perfvcs.errors import PerfError
from perfvcs.measure.announcement import announced
from perfvcs.measure.budget import Budget, TurnTimes
from perfvcs.measure.journal import Identity
from perfvcs.measure.rig import Rig, versions
from perfvcs.measure.session import Session
from perfvcs.plan.needs import forecast
from perfvcs.profile.summary import Header
from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.measure.outcome import CampaignOutcome
    from perfvcs.measure.request import Request
    from perfvcs.measure.site import Version
    from perfvcs.repository import Repository
    from perfvcs.repository.state import State

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
