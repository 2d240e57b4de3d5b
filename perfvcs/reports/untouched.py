"""What a selection left out: in reports it inherits the verdicts of the revision before, and is not called missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from perfvcs.check.change import Report
from perfvcs.check.text import labelled
from perfvcs.locate.sampler import LeftOutSampler
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.jobs.config import Config
    from perfvcs.measure.progress import Progress
    from perfvcs.measure.request import Request
    from perfvcs.repository import Repository
    from perfvcs.state import State


def inheriting(repository: Repository, report: Report, target: State) -> Report:
    """The report in which what was left out at the target inherits; what was measured all the same is counted."""
    sampler = LeftOutSampler(repository.home)
    inherited = sampler.inheriting(target.key)
    if not inherited.units:
        return report
    sampler.judge(inherited.baseline, target.key, report.changes)
    gone = [change for change in report.changes if change.word == "missing" and inherited.has(change.job, change.uid)]
    names = [labelled(change.job, change.uid, change.size) for change in gone]
    present = {(change.job, uid) for change in report.changes for uid in ("", change.uid)}
    names += [uid or job for job, uid in sorted(inherited.units) if (job, uid) not in present]
    kept = [change for change in report.changes if change not in gone]
    return msgspec.structs.replace(report, changes=kept, untouched=list(dict.fromkeys(names)), inherits=inherited.baseline[:10])


def noted(repository: Repository, target: State) -> list[tuple[str, str]]:
    """What was left out at a target, for whoever remembers a report on it."""
    return sorted(LeftOutSampler(repository.home).inheriting(target.key).units)


def steps(repository: Repository, states: Sequence[State], progress: Progress) -> list[tuple[State, State]]:
    """The steps by which states follow each other; the first from the last measured commit before them, where it is not measured itself.

    None at all where there is no such commit.
    """
    from perfvcs.state import State

    first, pairs = states[0], list(pairwise(states))
    below = State(first.commit)
    if pairs and repository.measured(first):
        return pairs
    if first.dirty and repository.measured(below):
        return [(below, first), *pairs]
    before = next(repository.measured_ancestors(first.commit), None)
    if before is None:
        progress.say("nothing is left out: no commit before this one was measured")
        return []
    return [(State(before), first), *pairs]


def selected(
    repository: Repository,
    config: Config,
    request: Request,
    pairs: Sequence[tuple[State, State]],
    progress: Progress,
    one_in: int,
) -> Request:
    """The request without what none of some steps can touch; of that, one in so many is measured all the same (0: none)."""
    from perfvcs.jobs import matrix
    from perfvcs.locate.selecting import LeftOut, select

    if not pairs:
        return request
    cells = matrix(config, request.jobs)
    selections = [select(repository, config, cells, old, new) for old, new in pairs]
    units = set.intersection(*(set(selection.left_out(one_in).units) for selection in selections))
    tests, jobs = sum(bool(one.uid) for one in units), sum(not one.uid for one in units)
    for selection in selections:
        left = selection.left_out(one_in)
        whole = LeftOut(
            frozenset(cell for cell in left.jobs if (*cell, "") in units),
            {cell: frozenset(uid for uid in names if (*cell, uid) in units) for cell, names in left.tests.items()},
            left.sampled,
        )
        LeftOutSampler(repository.home).note(selection.baseline.key, selection.target.key, whole)
    again = len({unit for selection in selections for unit in selection.left_out(one_in).sampled})
    said = " and ".join(counted(count, noun) for count, noun in ((jobs, "job"), (tests, "test")) if count) or "nothing"
    more = f"; {counted(again, 'other')} that it cannot touch {'is' if again == 1 else 'are'} measured anyway" if again else ""
    progress.say(f"left out, since the change cannot touch it: {said}{more}")
    return replace(request, left_out=tuple(sorted(units)))
