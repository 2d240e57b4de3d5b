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

    repository = rig.repository
    if not request.committed:
        _learn(rig, revisions, request)
    pair = _pair(rig, revisions, request)
    baseline, target = pair.baseline, pair.target
    why = "" if pair.usual else pair.why
    # both are read before any version runs, which could write to these files
    criteria = repository.criteria(baseline, target, committed=request.committed)
    _ = repository.acceptances
    if select is not None:
        request = selected(rig, request, [(baseline, target)], select)
    settled = _settled_alike(rig, pair, request, criteria, asked)
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
        nothing = f"nothing was measured on {target.name}: see `perf status`"
        raise NothingToCompare(next(iter(outcome.warnings), nothing))
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


def _pair(rig: Rig, revisions: tuple[str, ...], request: Request) -> ComparedPair:
    """What is compared: two revisions, or one with a product that is built already."""
    from perfvcs.measure.product import read_all
    from perfvcs.measure.rig import product_states

    repository = rig.repository
    if request.against:
        (name,) = revisions or ("HEAD",)
        if request.committed:
            baseline = State(repository.project.resolve(name))
        else:
            baseline = repository.current(name)
        products = read_all(request.against, repository.project)
        (target,) = product_states(baseline.commit, products)
        return ComparedPair(baseline, target)
    pair = measured(repository, revisions, committed=request.committed)
    if pair.why:
        rig.progress.say(f"comparing {pair.baseline.name} with {pair.target.name}: {pair.why}")
    return pair


def _settled_alike(
    rig: Rig, pair: ComparedPair, request: Request, criteria: Criteria, asked: CheckRequest
) -> list[str]:
    """The jobs that what is stored decides, and whose builds are still those that were measured."""
    from perfvcs.measure.storedsession import outdated

    if request.executions:
        return []
    settled = _settled(rig.repository, pair.baseline, pair.target, criteria, asked)
    if not settled:
        return []
    sides = [rig.repository.measured(state) for state in (pair.baseline, pair.target)]
    other_builds = outdated(sides, rig.config, request.apply(rig.config)[0])
    return [job for job in settled if job not in other_builds]


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
