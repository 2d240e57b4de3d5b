"""A campaign: revisions are measured in interleaved sessions and stored, until everything is
measured or decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import NamedTuple

from msgspec import structs

from perfvcs.check.change import Report
from perfvcs.check.method import CheckRequest
from perfvcs.check.vocabulary import SURE
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import Config
from perfvcs.measure.announcement import announced, choose, differing, intact, unfinished, variables
from perfvcs.measure.blocks import ORDER_NAME
from perfvcs.measure.budget import WORTH_SAYING, Budget, Changed, run, settle_jobs, spend
from perfvcs.measure.journal import Identity, Journal, Planned, SessionHeader
from perfvcs.measure.product import read_all
from perfvcs.measure.progress import Progress
from perfvcs.measure.request import Request, digest
from perfvcs.measure.rig import Rig, product_states, versions
from perfvcs.measure.session import Session
from perfvcs.measure.site import Version
from perfvcs.measure.storedsession import (
    CampaignOutcome,
    is_present_build,
    kept,
    opened,
    turn_times,
)
from perfvcs.profile import Profile
from perfvcs.profile.summary import Header
from perfvcs.repository import Repository
from perfvcs.repository.state import State
from perfvcs.statistics.multiplicity import MOST_PAIRS, is_look, schedule
from perfvcs.text.words import listed

# versions of one session; more would stretch a block until its pairs see different weather
SESSION_VERSIONS = 8


def groups(states: Sequence[State]) -> list[list[State]]:
    """States in groups to be measured together; neighbours share a group, to be compared."""
    step = SESSION_VERSIONS - 1
    starts = range(0, max(len(states) - 1, 1), step) if states else ()
    return [list(states[start : start + SESSION_VERSIONS]) for start in starts]


def collect(
    rig: Rig,
    commits: Sequence[str],
    request: Request,
    command: Sequence[str] = (),
    announcement: int | None = None,
    *,
    typed: bool = False,
) -> CampaignOutcome:
    """Measures the job matrix on commits and stores the profiles, group by group; what was stored
    stays whatever happens later.

    ``command`` is what the configuration was made from, if not from perf.toml; ``announcement`` the
    open file of one that was made for this run. A command that somebody ``typed`` runs in the
    working tree as it stands where HEAD alone is measured. ``resume`` continues a session that was
    interrupted.
    """
    repository, progress = rig.repository, rig.progress
    cells, asked = rig.asked(request)
    with (
        announced(repository.home, commits, progress, announcement) as seen,
        repository.measuring(wait=request.wait),
    ):
        if not request.committed and repository.project.head in commits:
            rig.learn(rig.unexplained())
        states = [
            State(commit) if request.committed else repository.current(commit) for commit in commits
        ]
        if not request.committed:
            _say_changes(repository, states, progress)
        for state in states:
            if state.dirty is None:
                repository.promote(state.commit)
        states += product_states(commits[-1], read_all(request.against, repository.project))
        if request.missing:
            states = [
                state for state in states if not _complete(repository, state, cells, rig.config)
            ]
        if not states or not cells:
            return CampaignOutcome()
        seen.about([state.commit for state in states if state.dirty is None])
        cells = _planned(repository, cells, commits, progress)
        group, *waiting = groups(states)
        measured = versions(repository, group, request, typed=typed)
        alone = measured[0] if len(measured) == 1 else None
        header = SessionHeader(
            **structs.asdict(Identity.new(request.seed)),
            order=ORDER_NAME,
            config=digest(rig.config),
            request=request,
            versions=group,
            waiting=waiting,
            jobs=[Planned(cell.label, cell.collector_name, cell.executions) for cell in cells],
            here=alone is not None and alone.here and not request.scheduler,
            command=tuple(command),
            variables=variables(),
        )
        return _measure(asked.watched(seen), cells, header, measured)


def resume(
    rig: Rig, name: str = "", *, wait: bool = False, command: Sequence[str] = ()
) -> CampaignOutcome:
    """Finish the newest interrupted session, or the one whose name begins with ``name``, and those
    that were to follow it.

    It goes on with the design and the seed that it began with. ``command`` is what the
    configuration was made from, if not from perf.toml. Raises UsageError where something of that
    has changed.
    """
    repository = rig.repository
    with announced(repository.home, (), rig.progress) as seen, repository.measuring(wait=wait):
        header = choose(repository.home, name)
        cells, config = intact(repository, header, rig.config, tuple(command))
        states = [state for group in (header.versions, *header.waiting) for state in group]
        seen.about([state.commit for state in states if state.dirty is None])
        try:
            measured = versions(repository, header.versions, header.request, typed=header.here)
            return _measure(
                structs.replace(rig, config=config, progress=seen), cells, header, measured
            )
        except Changed as error:
            if names := differing(header):
                raise Changed(
                    f"{error} (these variables are set differently now: {', '.join(names)})"
                ) from None
            raise


def _measure(
    rig: Rig, cells: list[Cell], header: SessionHeader, measured: Sequence[Version]
) -> CampaignOutcome:
    """Run the session of a header on the ``measured`` versions, then those behind it."""
    repository, outcome = rig.repository, CampaignOutcome()
    blocks = {number: cell.executions * cell.binaries for number, cell in enumerate(cells)}
    budget = None if header.request.budget is None else Budget(header.request.budget)
    while True:
        sites = rig.sites(cells, measured)
        with closing(Journal(repository.home, header)) as journal:
            if outcome.paths:
                # the rest of a range is worth continuing, even before any of it is measured
                journal.begin()
            with (
                Session(
                    sites,
                    rig.progress,
                    header.identity,
                    journal,
                    pace=turn_times(repository, cells, header.versions),
                    budget=budget,
                    executor=rig.executor,
                ) as session,
                kept(repository, session, outcome),
            ):
                run(session, blocks)
            journal.forget()
        if not header.waiting:
            return outcome
        group, *waiting = header.waiting
        following = structs.asdict(Identity.new(header.request.seed)) | {
            "versions": group,
            "waiting": waiting,
        }
        header = structs.replace(header, **following)
        measured = versions(repository, group, header.request)


def _say_changes(repository: Repository, states: Sequence[State], progress: Progress) -> None:
    """Say why HEAD is measured with changes on top, and what counts as none."""
    for state in states:
        if state.dirty:
            progress.say(
                f"{state.name} is HEAD with changes in {listed(repository.changes.files())}"
            )
    if repository.project.head in [state.commit for state in states] and (
        artefacts := repository.changes.left_out()
    ):
        progress.say(f"left out of it, since measuring makes it: {listed(artefacts)}")
    if any(state.dirty for state in states) and (inside := repository.changes.repositories()):
        progress.say(f"left out of it, since it is a repository of its own: {listed(inside)}")


def _planned(
    repository: Repository, cells: list[Cell], commits: Sequence[str], progress: Progress
) -> list[Cell]:
    """The cells with their automatic numbers of executions, by what is stored up to HEAD."""
    if not any(cell.auto for cell in cells):
        return cells
    from perfvcs.plan.automatic import planned

    planned_cells, lines = planned(repository, cells, repository.project.head or commits[-1])
    for line in lines:
        progress.say(line)
    return planned_cells


def _complete(repository: Repository, state: State, cells: Iterable[Cell], config: Config) -> bool:
    """Whether all cells are measured on a state, of a build as perf.toml has it now."""
    halves = {header.session for header in unfinished(repository.home)}
    headers = [
        measured.header
        for measured in repository.measured(state)
        if measured.header.collected.session not in halves
    ]
    by_cell: dict[tuple[str, str, str], list[Header]] = defaultdict(list)
    for header in headers:
        by_cell[header.job.label, header.job.collector, header.job.cmd].append(header)
    return all(
        any(
            is_present_build(header, config, cell)
            for header in by_cell[cell.label, cell.collector_name, cell.cmd]
        )
        for cell in cells
    )


class FirstLook(NamedTuple):
    """An interim analysis after so many ``pairs``, whose report may be ``enough``."""

    pairs: int
    enough: Callable[[Report], bool]


def settle(
    rig: Rig,
    pair: tuple[State, State],
    request: Request,
    asked: CheckRequest,
    first: FirstLook | None = None,
    until: Callable[[Report, Sequence[Profile]], bool] | None = None,
) -> tuple[CampaignOutcome, str]:
    """Measures two revisions interleaved until every comparison is decided, with an interim
    analysis after each of 5 to 30 pairs.

    The same revision twice is an A/A measurement. If the request has a number of executions, so
    many pairs are measured and analysed once; if it has a budget, open comparisons are measured as
    long as it lasts, first where it settles most. ``asked`` says when a comparison is decided; the
    method is always ``auto``. A ``first`` analysis comes before the others. ``until``: a job is
    measured until that holds of its report, and of the profiles that this rests on, whatever its
    comparisons are, and as long as the budget lasts also beyond 30 pairs. Returns what was stored,
    and the session.
    """
    from perfvcs.check.answer import headline
    from perfvcs.check.stopping import few_settled, interim

    repository = rig.repository
    rules = repository.criteria_reader.rules(
        pair[0].commit, pair[1].commit, committed=request.committed
    ).rules
    outcome = CampaignOutcome(scheduler=request.scheduler)
    looks = schedule() if request.executions is None else (request.executions,)
    if first is not None and first.pairs < looks[0]:
        looks = (first.pairs, *looks)
    most_pairs = looks[-1] if until is None else MOST_PAIRS
    with opened(rig, pair, request, outcome) as session:
        history, shown = repository.history(pair[1]), dict[int, bool]()

        def decide(number: int) -> str | None:
            """The verdict on a job by what it gave so far; None while a comparison is open."""
            sides, pairs = session.so_far(number), session.count(number)
            if sides is None:
                return ""  # it was given up, which is said
            if pairs >= most_pairs or (pairs > looks[-1] and not is_look(pairs)):
                return None
            look = interim(
                sides[0],
                sides[1],
                pairs=pairs,
                most=most_pairs,
                delta=asked.delta,
                within=asked.within,
                rules=rules,
                history=history,
            )
            is_first = first is not None and pairs <= first.pairs
            is_enough = is_first and first is not None and first.enough(look.report)
            if until is None:
                is_over = look.pairs is None
            else:
                is_over = until(look.report, [profile for side in sides for profile in side])
            if is_enough or is_over:
                return headline(look.report)
            if until is None and (few := few_settled(look.open, pairs, most_pairs)):
                name = session.names[number]
                rig.progress.say(f"{name} ends after {pairs} pairs: {few}")
                outcome.given_up.add(name)
                return headline(look.report)
            is_changed = bool(look.report.having(*SURE))
            ahead = (session.pace.of(number) or 0.0) * (most_pairs - pairs)
            if ahead >= WORTH_SAYING and shown.get(number) not in (is_changed, True):
                shown[number] = is_changed
                rig.progress.say(f"so far: {headline(look.report)}")
            return None

        if session.budget is None or session.executor.width > 1:
            settle_jobs(session, looks, decide)
        else:
            most = dict.fromkeys(range(len(session.cells)), most_pairs)
            if until is not None:  # which what repeats exactly need not come to decide
                most |= {
                    number: min(cell.executions, most_pairs)
                    for number, cell in enumerate(session.cells)
                    if cell.exact
                }
            session.begin(most)
            session.warm_up(most)
            session.run(dict.fromkeys(most, 1))
            spend(session, most, lambda number: decide(number) is not None)
    return outcome, session.identity.session
