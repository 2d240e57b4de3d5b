"""A check that first measures both revisions, in turns."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfvcs.check.answer import criteria as said
from perfvcs.check.change import JudgedBy, NothingToCompare
from perfvcs.git.project import UnknownRevision
from perfvcs.reports.check import Check, compared, remember
from perfvcs.reports.pair import ComparedPair, inheriting, measured, selected
from perfvcs.reports.untouchable import announcement, doubted, untouchable
from perfvcs.repository.state import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.method import CheckRequest
    from perfvcs.measure.request import Request
    from perfvcs.measure.rig import Rig
    from perfvcs.repository import Repository
    from perfvcs.repository.criteria import Criteria


def measure(
    rig: Rig,
    revisions: tuple[str, ...],
    request: Request,
    asked: CheckRequest,
    *,
    select: int | None = None,
) -> Check:
    """Measures both revisions in turns, then checks them; leaves out jobs whose comparisons are all
    decided by what is stored.

    A number of executions in the request measures all jobs. ``pair.measured`` says what is compared
    where nobody names both revisions. ``select`` leaves out what the change cannot touch, but for
    one in so many (0: all of it).
    """
    from perfvcs.measure.campaign import settle
    from perfvcs.measure.counting import count
    from perfvcs.measure.product import read_all
    from perfvcs.measure.rig import product_states
    from perfvcs.measure.storedsession import outdated

    repository = rig.repository
    if not request.committed:
        _learn(rig, revisions, request)
    if request.against:
        (name,) = revisions or ("HEAD",)
        baseline = (
            State(repository.project.resolve(name))
            if request.committed
            else repository.current(name)
        )
        (target,) = product_states(baseline.commit, read_all(request.against, repository.project))
        pair = ComparedPair(baseline, target)
    else:
        pair = measured(repository, revisions, committed=request.committed)
        baseline, target = pair.baseline, pair.target
    if pair.why:
        rig.progress.say(f"comparing {baseline.name} with {target.name}: {pair.why}")
    why = "" if pair.usual else pair.why
    # before any version runs, which could write to these files
    criteria, _ = (
        repository.criteria(baseline, target, committed=request.committed),
        repository.acceptances,
    )
    if select is not None:
        request = selected(rig, request, [(baseline, target)], select)
    settled = [] if request.executions else _settled(repository, baseline, target, criteria, asked)
    if settled:
        sides = [repository.measured(state) for state in (baseline, target)]
        other_builds = outdated(sides, rig.config, request.apply(rig.config)[0])
        settled = [job for job in settled if job not in other_builds]
    remaining = replace(request, settled=tuple(settled))
    cells, _ = remaining.apply(rig.config)
    if not cells:
        check = compared(repository, baseline, target, asked, criteria)
        return msgspec.structs.replace(check, why=why)
    untouched = untouchable(repository, rig.config, cells, baseline, target)
    changes = said(JudgedBy(differences=criteria.judged_by.differences))
    for line in filter(None, [announcement(untouched, cells), changes]):
        rig.progress.say(line)
    began = monotonic()
    outcome, session = settle(rig, (baseline, target), remaining, asked)
    count(rig, (baseline, target), remaining, outcome, session, monotonic() - began)
    if not outcome.profiles:
        outcome.raise_failures()
        raise NothingToCompare(
            next(
                iter(outcome.warnings), f"nothing was measured on {target.name}: see `perf status`"
            )
        )
    try:
        report = repository.compare(
            baseline, target, asked, session=session, settled=settled, criteria=criteria
        )
        report = doubted(repository, report, baseline, target)
    except NothingToCompare:
        outcome.raise_failures()  # of a side that could not be measured just now
        raise
    report = inheriting(repository, report, target) if select is not None else report
    remember(repository, baseline, target, msgspec.json.encode(report))
    return Check(repository, baseline, target, report, outcome, why)


def _learn(rig: Rig, revisions: Sequence[str], request: Request) -> None:
    """Sees what HEAD's build makes, before the baseline of HEAD is chosen."""
    project = rig.repository.project
    with suppress(UnknownRevision):
        if project.head in [project.resolve(name) for name in revisions or ("HEAD",)] and (
            new := rig.unexplained(beside=True)
        ):
            with rig.repository.measuring(wait=request.wait):
                rig.learn(new)


def _settled(
    repository: Repository, baseline: State, target: State, criteria: Criteria, asked: CheckRequest
) -> list[str]:
    """Labels of the jobs of which every comparison is decided already."""
    try:
        report = repository.compare(baseline, target, asked, criteria=criteria)
    except NothingToCompare:
        return []
    open_jobs = {change.job for change in report.changes if not change.settled}
    return list(
        dict.fromkeys(change.job for change in report.changes if change.job not in open_jobs)
    )
