"""`perf bisect` from its ends to its result: the target, the suspects, and the search."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfvcs.check.movement import Followed
from perfvcs.jobs import matrix
from perfvcs.locate.bisect.saved import Begun, SavedBisections, Target
from perfvcs.locate.bisect.searched import (
    earlier_sessions,
    is_of,
    judged_ends,
    series_of,
    session_of_ends,
    verdicts,
)
from perfvcs.locate.bisect.span import (
    Span,
    TargetFilter,
    UnmeasurableEnd,
    brought,
    cells_with,
    default_ends,
    others,
    require_fitting,
    span,
    target_of,
)
from perfvcs.locate.bisect.suspicion import SuspectCommit, suspect, suspects
from perfvcs.locate.sources.differences import changes
from perfvcs.measure.countingcosts import COUNTERS
from perfvcs.repository.lastreport import last_report
from perfvcs.repository.state import State

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from perfvcs.check.change import Change, Report
    from perfvcs.jobs.cell import Cell
    from perfvcs.jobs.config import Config
    from perfvcs.locate.bisect.rounds import Outcome
    from perfvcs.measure.request import Request
    from perfvcs.measure.rig import Rig
    from perfvcs.repository import Repository

MOST_SOURCES = 6 << 20  # bytes that a search reads: some 4 s of a processor, which spare two builds


class Asked(msgspec.Struct, frozen=True):
    """What the caller asks for: the ends (empty: the default ones), and the ``budget`` in seconds.

    ``brought``: the ends are those of what a merge brought: a verdict says whether they differ.
    """

    good: str = ""
    bad: str = ""
    wanted: TargetFilter = msgspec.field(default_factory=TargetFilter)
    budget: float | None = None
    delta: float | None = None
    afresh: bool = False
    merged: bool = False
    brought: bool = False


@dataclass
class Bisection:
    """A span with what is known of it: the target (None: nothing was measured that changed),
    suspects, and the outcome of measuring.

    ``report`` is the verdict on the ends from which the target was chosen, if it was, among
    ``judged``; ``choice`` says why it is this one, and ``also`` changed beside it. ``within`` is
    the bisection of what a merge brought, ``merged``: which was asked for. ``verdicts`` has what
    `perf check` says of the target: at 0 between the ends, else between a commit that is named, by
    its number, and its parent. ``measured_ends``: the ends were measured for the choice.
    """

    span: Span
    target: Target | None
    suspects: list[SuspectCommit] | None
    improvement: bool = False
    begun: Begun | None = None
    outcome: Outcome | None = None
    report: Report | None = None
    judged: list[Change] = field(default_factory=list)
    choice: str = ""
    also: list[Change] = field(default_factory=list)
    within: Bisection | None = None
    merged: bool = False
    verdicts: dict[int, Change] = field(default_factory=dict)
    measured_ends: bool = False

    @property
    def recalled(self) -> int:
        """How many blocks were stored before this call."""
        return 0 if self.outcome is None or self.measured_ends else self.outcome.recalled

    @property
    def why(self) -> str:
        """How it ended; ``equal`` or ``unproved`` too where the ends' verdict names nothing to
        follow.
        """
        if self.outcome is not None:
            return self.outcome.why
        changes = self.judged
        return (
            "equal" if changes and all(change.word == "same" for change in changes) else "unproved"
        )

    def shares(self) -> list[float]:
        """Each commit's share of the prior, by what it changes; the good one has none."""
        from perfvcs.locate.bisect.posterior import Prior

        touched = None if self.suspects is None else [commit.touches for commit in self.suspects]
        shares: list[float] = Prior(self.span.last, touched).weights(0.0).tolist()
        return shares

    @property
    def innermost(self) -> Bisection:
        """The bisection that names the cause: that of what a merge brought, where that names a
        commit.
        """
        return self if self.within is None or self.within.status else self.within.innermost

    def parent(self, number: int) -> str:
        """What a commit of the span is compared with: ``its parent``, or one of the parents of a
        merge.
        """
        before, commit = self.span.commits[number - 1 : number + 1]
        parents = self.span.merges.get(commit)
        if parents is None:
            return "its parent"
        return f"its parent {before[:10]} ({parents.index(before) + 1} of {len(parents)})"

    @property
    def status(self) -> int:
        """The exit status: 0 where commits are named, 4 otherwise."""
        return 0 if self.why == "found" else 4


def prepare(
    repository: Repository, asked: Asked, cells: Sequence[Cell]
) -> tuple[Bisection, SavedBisections]:
    """The span, and the target where stored profiles of ``cells`` name one. Measures nothing."""
    saved = SavedBisections(repository.home)
    good, bad, begun = _ends(repository, asked, saved)
    between = span(repository.project, good, bad)
    target = begun.target if begun else None
    report = None
    if target is None:
        report = last_report(repository, State(good), State(bad), asked.wanted.benchmarks)
        if report and (chosen := asked.wanted.target(report, series_of(repository, cells))):
            target = _as_target(chosen.change, asked.wanted)
    return Bisection(
        between, target, None, asked.wanted.improvement, begun, report=report, merged=asked.merged
    ), saved


def listed(rig: Rig, asked: Asked) -> Bisection:
    """The span with its suspects, by everything they change. Measures nothing."""
    wanted = asked.wanted.benchmarks
    cells = [cell for cell in matrix(rig.config) if wanted.has_job(cell.label, cell.collector_name)]
    bisection, _ = prepare(rig.repository, asked, cells)
    bisection.suspects = suspects(rig, bisection.span, bisection.target, cells=cells)
    return bisection


def bisect(rig: Rig, asked: Asked, request: Request) -> Bisection:
    """Measures until the commit that made the difference is known; raises UsageError,
    UnmeasurableEnd, and what measuring raises.
    """
    from perfvcs.locate.bisect.rounds import Search, measuring

    begin, repository = monotonic(), rig.repository
    cells, rig = rig.asked(request)
    bisection, saved = prepare(repository, asked, cells)
    with repository.measuring(wait=request.wait):
        pass  # whoever has to wait, or to come again, knows it at once
    chosen = _chosen(rig, bisection, cells, asked, request)
    if chosen is None:
        return bisection
    cell, bisection.target = chosen
    if bisection.begun is None or asked.afresh:
        bisection.begun = _begin(repository, bisection, bisection.target, saved, asked)
    between, target = bisection.span, bisection.target
    with measuring(rig, wait=request.wait) as watched:
        search = Search(
            watched,
            cell,
            between,
            bisection.begun,
            saved,
            lambda: suspects(watched, between, target, MOST_SOURCES),
            least=asked.delta,
            seed=request.seed,
        )
        bisection.outcome = search.run(asked.budget)
    named = bisection.outcome.decision.named
    bisection.suspects = _looked_into(repository, between, search.suspects, named, rig.config)
    bisection.verdicts = dict(verdicts(repository, between, target, named))
    if asked.budget is not None:
        asked = replace(asked, budget=max(0.0, asked.budget - (monotonic() - begin)))
    bisection.within = _within(rig, bisection, asked, request)
    return bisection


def _begin(
    repository: Repository,
    bisection: Bisection,
    target: Target,
    saved: SavedBisections,
    asked: Asked,
) -> Begun:
    """The saved bisection of the span and the target. Begins with the pairs of the session by which
    the ends were compared.
    """
    good, bad = bisection.span.good, bisection.span.bad
    begun = saved.begin(good, bad, target, afresh=asked.afresh)
    if asked.afresh:
        begun.ignored += earlier_sessions(repository, bisection.span)
    session = None
    if bisection.report is not None:
        session = session_of_ends(repository, bisection.span, target)
    if session is not None and session not in begun.sessions:
        begun.sessions.insert(0, session)
        begun.built = list(dict.fromkeys([good, bad, *begun.built]))
    return begun


def _looked_into(
    repository: Repository,
    span: Span,
    read_suspects: list[SuspectCommit] | None,
    named: Sequence[int],
    config: Config,
) -> list[SuspectCommit] | None:
    """The suspects; reads the changes of those that are named and were not read yet."""
    if read_suspects is None:
        return None
    for number in named:
        if not read_suspects[number - 1].read:
            before, commit = span.commits[number - 1 : number + 1]
            changed = changes(repository.project, before, commit)
            read_suspects[number - 1] = suspect(commit, changed, None, config.overlay)
    return read_suspects


def _ends(
    repository: Repository, asked: Asked, saved: SavedBisections
) -> tuple[str, str, Begun | None]:
    """Both ends as full ids, and the bisection between them that was begun and fits what is asked
    for.
    """
    project = repository.project
    if (
        not asked.good
        and not asked.bad
        and not asked.afresh
        and (newest := saved.unfinished())
        and asked.wanted.follows(newest.target)
    ):
        return newest.good, newest.bad, newest
    if asked.good:
        good, bad = project.resolve(asked.good), project.resolve(asked.bad or "HEAD")
    else:
        good, bad = default_ends(repository, asked.wanted, asked.bad or "HEAD")
    alike = [
        begun
        for begun in saved.all
        if (begun.good, begun.bad) == (good, bad) and asked.wanted.follows(begun.target)
    ]
    return good, bad, alike[-1] if alike and not asked.afresh else None


def _fitting(report: Report, wanted: TargetFilter) -> list[Change]:
    return [change for change in report.comparisons if wanted.fits(change)]


def _as_target(change: Change, wanted: TargetFilter) -> Target:
    return Target(
        change.job,
        "",
        change.uid,
        change.size,
        change.metric,
        change.unit,
        change.better,
        wanted.improvement,
    )


def _chosen(
    rig: Rig, bisection: Bisection, cells: Sequence[Cell], asked: Asked, request: Request
) -> tuple[Cell, Target] | None:
    """The cell and the target: followed before, named by stored profiles, or else found by
    measuring both ends.
    """
    # what was counted beside a cell's time is stored, but no execution of the cell prolongs it
    wanted, measured = asked.wanted, series_of(rig.repository, cells)
    if bisection.begun is not None:
        target = bisection.begun.target
        for cell in cells_with(cells, target.job, target.uid, target.metric):
            if cell.collector_name == target.collector:
                _choose_again(bisection, rig.repository, wanted, measured)
                return cell.alone(target.uid), target
        bisection.begun = None
    chosen = wanted.target(bisection.report, measured) if bisection.report else None
    if chosen is None or not chosen.change.paired or asked.afresh:
        # which of several to follow takes as many pairs as a verdict, one alone a few
        few = bool(wanted.benchmarks.metric) and len(cells) == 1 and not asked.brought
        fitting = _judged(rig, bisection, asked, request, cells, few=few)
        assert bisection.report is not None
        alone = few and len(fitting) == 1
        measured = series_of(rig.repository, cells)
        chosen = Followed(fitting[0], 1) if alone else wanted.target(bisection.report, measured)
    if chosen is None:
        return None
    assert bisection.report is not None
    bisection.choice = chosen.choice
    bisection.also = others(bisection.report, chosen.change)
    return target_of(chosen.change, cells, improvement=wanted.improvement)


def _choose_again(
    bisection: Bisection, repository: Repository, wanted: TargetFilter, measured: Container[str]
) -> None:
    """Why a target is followed that was chosen before, by what is stored now."""
    assert bisection.begun is not None
    ends = State(bisection.span.good), State(bisection.span.bad)
    report = bisection.report = last_report(repository, *ends, wanted.benchmarks)
    chosen = wanted.target(report, measured) if report else None
    if report and chosen and is_of(bisection.begun.target, chosen.change):
        bisection.choice, bisection.also = chosen.choice, others(report, chosen.change)


def _judged(
    rig: Rig,
    bisection: Bisection,
    asked: Asked,
    request: Request,
    cells: Sequence[Cell],
    *,
    few: bool,
) -> list[Change]:
    """The verdicts on the ends that fit what is wanted, measured for that; a ``few`` pairs do where
    only one fits.
    """

    by_work = asked.wanted.benchmarks.metric in COUNTERS

    def is_enough(report: Report) -> bool:
        return by_work or len(_fitting(report, asked.wanted)) == 1

    enough = is_enough if few or by_work else None
    bisection.measured_ends = True
    bisection.report = judged_ends(
        rig, bisection.span, request, asked.delta, enough, by_work=by_work
    )
    require_fitting(bisection.report.comparisons, asked.wanted)
    measured = series_of(rig.repository, cells)
    fitting = _fitting(bisection.report, asked.wanted)
    bisection.judged = [change for change in fitting if change.series in measured]
    return bisection.judged


def _within(rig: Rig, bisection: Bisection, asked: Asked, request: Request) -> Bisection | None:
    """The bisection inside the only commit that is named, where that commit is a merge.

    Searches what came by its first parent, and what came by the others if that is asked for. Of
    several, returns the first with a culprit, else the last.
    """
    assert bisection.outcome is not None and bisection.target is not None
    named, target = bisection.outcome.decision.named, bisection.target
    if len(named) != 1:
        return None
    merge = bisection.span.commits[named[0]]
    wanted = replace(asked.wanted, benchmarks=target.alone)
    request = replace(request, jobs=(target.job,))
    inner, project = None, rig.repository.project
    for good, bad in brought(project, bisection.span, named[0], everything=asked.merged):
        ends = f"{good[:10]} to {bad[:10]}"
        rig.progress.say(f"{merge[:10]} is a merge: bisecting what it brought, {ends}")
        again = replace(asked, good=good, bad=bad, wanted=wanted, brought=True)
        try:
            inner = bisect(rig, again, request)
        except UnmeasurableEnd as error:
            rig.progress.fail(f"what {merge[:10]} brought cannot be searched: {error}")
            continue
        if inner.status == 0:
            break
    return inner
