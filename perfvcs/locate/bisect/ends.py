"""The two ends of a bisection, measured in turns and compared; what `perf check` says of them."""

from __future__ import annotations

from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from perfvcs.check.change import NothingToCompare
from perfvcs.check.method import CheckRequest
from perfvcs.locate.bisect.saved import Measuring
from perfvcs.locate.bisect.span import CURE, UnmeasurableEnd, require_room
from perfvcs.repository.state import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from perfvcs.check.change import Change, Report
    from perfvcs.jobs.cell import Cell
    from perfvcs.locate.bisect.saved import Target
    from perfvcs.locate.bisect.span import Span
    from perfvcs.measure.request import Request
    from perfvcs.measure.rig import Rig
    from perfvcs.repository import Repository


def judged_ends(
    rig: Rig,
    between: Span,
    request: Request,
    delta: float | None,
    enough: Callable[[Report], bool] | None,
    *,
    by_work: bool,
) -> Report:
    """The verdict on the ends, measured in turns for that, with their work counted beside; raises
    UnmeasurableEnd.

    The first few pairs do where ``enough`` says so of what they show. ``by_work``: the count is
    what is asked for, and counted whatever it costs.
    """
    from perfvcs.locate.bisect.decision import FIRST_PAIRS
    from perfvcs.measure.campaign import FirstLook, settle
    from perfvcs.measure.counting import count

    repository, ends = rig.repository, (State(between.good), State(between.bad))
    rig.progress.say(
        f"measuring {between.good[:10]} and {between.bad[:10]} in turns: is there a difference?"
    )
    wanted = CheckRequest(delta=delta)
    first = None if enough is None else FirstLook(FIRST_PAIRS, enough)
    began = monotonic()
    outcome, session = settle(rig, ends, request, wanted, first)
    if by_work or enough is None:
        count(rig, ends, request, outcome, session, monotonic() - began, always=by_work)
    try:
        return repository.compare(*ends, wanted, session=session)
    except NothingToCompare:
        if not outcome.failures:
            raise
        require_room(repository.home, [failure.reason for failure in outcome.failures])
        names = " and ".join(dict.fromkeys(failure.version for failure in outcome.failures))
        raise UnmeasurableEnd(f"{names} cannot be measured (see above): {CURE}") from None


def series_of(repository: Repository, cells: Iterable[Cell]) -> set[str]:
    """The stored series that executions of some cells prolong, and those of what is counted beside
    their time, by the keys of their jobs.
    """
    from perfvcs.measure.counting import COUNTING

    asked = {
        (cell.label, collector) for cell in cells for collector in (cell.collector_name, *COUNTING)
    }
    jobs = repository.index.series()
    return {job.key for job in jobs if (job.label, job.collector) in asked}


def session_of_ends(repository: Repository, between: Span, target: Target) -> Measuring | None:
    """The newest session that measured the two ends alone, in turns: its pairs count."""
    ends = [between.good, between.bad]
    for measured in reversed(repository.index.measured(ends)):
        header = measured.header
        alike = (header.job.label, header.job.collector) == (target.job, target.collector)
        if alike and header.design.versions == ends and header.dirty is None:
            return Measuring(header.collected.session, "pair")
    return None


def earlier_sessions(repository: Repository, between: Span) -> list[str]:
    """All sessions that measured both ends."""
    ends = {between.good, between.bad}
    sessions = [
        measured.header.collected.session
        for measured in repository.index.measured(list(ends))
        if ends <= set(measured.header.design.versions)
    ]
    return list(dict.fromkeys(sessions))


def verdicts(
    repository: Repository, between: Span, target: Target, named: Iterable[int]
) -> Iterator[tuple[int, Change]]:
    """What `perf check` says of the target: between the ends (0), and between each commit that is
    named (its number) and its parent; nothing of a curve, or of several environments.
    """
    commits = between.commits
    for number in (0, *named):
        good, bad = commits[number - 1 : number + 1] if number else (between.good, between.bad)
        changes: Sequence[Change] = ()
        with suppress(NothingToCompare):
            changes = repository.compare(State(good), State(bad)).comparisons
        judged = [change for change in changes if is_of(target, change)]
        if len(judged) == 1 and judged[0].paired and judged[0].curve is None:
            yield number, judged[0]


def is_of(target: Target, change: Change) -> bool:
    """Whether a change is that of a target."""
    about = change.job, change.uid, change.size, change.metric
    return about == (target.job, target.uid, target.size, target.metric)
