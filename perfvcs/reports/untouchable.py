"""What seems to have moved though the change cannot touch it: then it is layout, caches or the
machine, unless counts say that the work is another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from perfvcs.check.change import Change, Overall, Report, rank
from perfvcs.check.executedwork import EXACT
from perfvcs.check.vocabulary import SURE, WORDS
from perfvcs.errors import PerfError
from perfvcs.git.blobs import changed_files
from perfvcs.jobs.benchmark_files import SERVICE
from perfvcs.profile.naming import ONCE, is_whole
from perfvcs.profile.rules import REGISTER_FILE, RULES_FILE
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfvcs.jobs.cell import Cell
    from perfvcs.jobs.config import Config
    from perfvcs.repository import Repository
    from perfvcs.repository.state import State

# a share: placement alone moved 100 harmless commits by 13.9 % at most; whoever sees more has found
# what `select` does not know
LARGEST_LAYOUT = 0.25
# a count that the layout changes too, where an interpreter looks objects up by their addresses
OF_INTERPRETERS = "instructions"
MACHINE = "layout, caches or the machine"


class UntouchedUnit(NamedTuple):
    """A unit of a job (its label); the unit "" is the whole job."""

    job: str
    uid: str


def untouchable(
    repository: Repository, config: Config, cells: Sequence[Cell], baseline: State, target: State
) -> Mapping[UntouchedUnit, str]:
    """The units that the change between two states cannot touch, each with the reason; none where
    a source cannot be read.
    """
    from perfvcs.locate.select.selection import select

    if baseline.product or target.product or baseline == target:
        return {}
    reasons: dict[UntouchedUnit, str] = {}
    touched: set[UntouchedUnit] = set()
    try:
        choices = select(repository, config, cells, baseline, target).choices
    except PerfError:  # whoever asks `perf select` gets the reason
        return {}
    for choice in choices:
        unit = UntouchedUnit(choice.unit.job, choice.unit.uid)
        reasons[unit] = choice.reason
        if choice.run:
            touched.add(unit)
    return {unit: reason for unit, reason in reasons.items() if unit not in touched}


def announcement(untouched: Mapping[UntouchedUnit, str], cells: Sequence[Cell]) -> str:
    """That measuring is not needed, in a sentence; empty where the change can touch any of the
    jobs.
    """
    jobs = {cell.label for cell in cells}
    if not jobs or any(UntouchedUnit(job, "") not in untouched for job in jobs):
        return ""
    return (
        f"the change cannot touch {'the job' if len(jobs) == 1 else counted(len(jobs), 'job')}"
        " (`perf select` says why): measuring is not needed"
    )


def doubted(repository: Repository, report: Report, baseline: State, target: State) -> Report:
    """The report in which nothing changed that the change cannot touch and no count confirms."""
    moved = [change for change in report.changes if _is_timed(change) and _may_be_layout(change)]
    path = repository.project.root / RULES_FILE
    if not moved or repository.project.bare or not path.is_file():
        return report
    from perfvcs.jobs import matrix
    from perfvcs.jobs.config import load

    try:
        config = load(path)
        cells = matrix(config)
        if not _changes_the_project(repository, baseline, target):
            return report
    except PerfError:  # a file that cannot be read takes no verdict back
        return report
    untouched = untouchable(repository, config, cells, baseline, target)
    suspects = {id(change): reason for change in moved if (reason := _reason(change, untouched))}
    if not suspects:
        return report
    confirmed = _confirmed(repository, report, target)
    reasons = {
        id(change): suspects[id(change)]
        for change in moved
        if id(change) in suspects and not confirmed & {*_places(change)}
    }
    if not reasons:
        return report
    changes = [
        replace(
            change,
            word="inconclusive",
            reason=_why(reasons[id(change)], change.reason if change.layout else MACHINE),
            gate=False,
            layout=True,
        )
        if id(change) in reasons
        else change
        for change in report.changes
    ]
    still = {change.job for change in changes if _is_timed(change)}
    overall = [_overall(job, still, untouched) for job in report.overall]
    return replace(report, changes=sorted(changes, key=rank), overall=overall)


def _changes_the_project(repository: Repository, baseline: State, target: State) -> bool:
    """Whether a file differs that does not only say how the project is measured and judged: these
    are said by themselves, and where none differs, nothing is known of what was measured.
    """
    if target.dirty is not None:
        return True
    files = changed_files(repository.project, baseline.commit, target.commit)
    return any(
        file.path not in (RULES_FILE, REGISTER_FILE) and not re.fullmatch(SERVICE, file.path)
        for file in files
    )


def _is_timed(change: Change) -> bool:
    """Whether it moved, and is no count."""
    return WORDS[change.word].moved and change.method != EXACT


def _may_be_layout(change: Change) -> bool:
    return change.effect is not None and abs(change.effect) <= LARGEST_LAYOUT


def _places(change: Change) -> tuple[UntouchedUnit, UntouchedUnit]:
    """The unit of a change, and the whole of its job."""
    uid = "" if is_whole(change.job, change.uid) else change.uid.removesuffix(ONCE)
    return UntouchedUnit(change.job, uid), UntouchedUnit(change.job, "")


def _confirmed(repository: Repository, report: Report, target: State) -> set[UntouchedUnit]:
    """The units, and whole jobs, of which an exact count changed."""
    in_python = {
        measured.header.job.label
        for measured in repository.measured(target)
        if "python" in measured.header.environment.fields
    }
    return {
        _places(change)[0]
        for change in report.changes
        if change.method == EXACT
        and change.word in SURE
        and not (change.metric == OF_INTERPRETERS and change.job in in_python)
    }


def _reason(change: Change, untouched: Mapping[UntouchedUnit, str]) -> str:
    """Why the change cannot touch a unit; empty where it can."""
    return next((untouched[unit] for unit in _places(change) if unit in untouched), "")


def _why(reason: str, instead: str) -> str:
    return f"the change cannot touch it ({reason}): {instead}"


def _overall(job: Overall, still: set[str], untouched: Mapping[UntouchedUnit, str]) -> Overall:
    """What a job did as a whole, which is open where nothing in it can have moved."""
    if job.word is None or not WORDS[job.word].moved or job.job in still:
        return job
    reason = untouched.get(UntouchedUnit(job.job, ""), "none of its units")
    return replace(job, word="inconclusive", reason=_why(reason, MACHINE))
