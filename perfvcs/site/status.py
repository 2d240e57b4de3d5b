"""Which degradations are open: in force at the newest commit, and accepted by nobody."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from perfvcs.history.allowance import Allowance
from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from perfvcs.history.finding import Finding
    from perfvcs.history.record import HistoryRecord, SeriesRecord
    from perfvcs.repository import Repository
    from perfvcs.site.model import State

HALF = 0.5  # of a step: while the level is beyond it, the step is in force
TINY = 5e-324
REASON = 300  # characters


@dataclass(frozen=True)
class ChangeStatus:
    """What became of a change, and why it is accepted or over."""

    state: State
    reason: str = ""


def statuses(repository: Repository, record: HistoryRecord) -> list[list[ChangeStatus]]:
    """The status of every finding of every trail of the record, in their order."""
    ended = _ended(record)
    accepted = Allowance(repository, record.commits)
    return [
        [_status(trail, turn, ended.get(number, ""), accepted) for turn in range(len(trail.findings))]
        for number, trail in enumerate(record.trails)
    ]


def _status(trail: SeriesRecord, turn: int, ended: str, accepted: Allowance) -> ChangeStatus:
    finding = trail.findings[turn]
    if finding.direction == "improvement":
        return ChangeStatus("improvement")
    if finding.denied:
        return ChangeStatus("over", shorten(finding.contradiction, REASON))
    if ended:
        return ChangeStatus("over", shorten(f"its series has ended: {ended}", REASON))
    for later in trail.findings[turn + 1 :]:
        if _share(finding, later.after) <= HALF:
            return ChangeStatus("over", f"undone by {later.commit[:10]}")
    reason = accepted.reason(finding)
    return ChangeStatus("open") if reason is None else ChangeStatus("accepted", shorten(reason, REASON))


def _share(finding: Finding, level: float) -> float:
    """How much of a step is left at a later level: 1 at the level after it, 0 at the one before."""
    before, after, now = (log(max(value, TINY)) for value in (finding.before, finding.after, level))
    return (now - before) / (after - before) if after != before else 0.0


def _ended(record: HistoryRecord) -> dict[int, str]:
    """The trails, by number, that others of the same benchmark and metric have followed, and why."""
    same: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, trail in enumerate(record.trails):
        line = trail.line
        same[line.job.label, line.job.collector, line.uid, line.size, line.metric].append(number)
    found = {}
    for numbers in same.values():
        starts = [(record.trails[number].places[0], record.trails[number].began) for number in numbers]
        for number in numbers:
            later = [pair for pair in starts if pair[1] and pair[0] > record.trails[number].places[-1]]
            if later:
                found[number] = min(later)[1]
    return found
