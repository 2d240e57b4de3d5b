"""What to do after a check, in one line: the next command, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.check.acceptance import is_committed, is_open
from perfvcs.check.settling import on_hosts, settling
from perfvcs.check.text import revision
from perfvcs.git.ancestry import way
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.change import Change, Report
    from perfvcs.repository import Repository
    from perfvcs.state import State

MOVED_VERDICTS = ("degradation", "improvement")
WARNING = 240  # characters of a warning


def following(
    repository: Repository, baseline: State, target: State, report: Report, pairs: int = 0, *, shown: bool = False,
    scheduler: str = "",
) -> str:  # fmt: skip
    """The next step, a sentence; empty where there is nothing to do.

    ``pairs`` is how many were just measured in turns, on the hosts of a ``scheduler`` if there is one; ``shown``: the reader looks at both
    already.
    """
    moved = [change for change in report.changes if change.word in MOVED_VERDICTS and change.accepted is None]
    if not moved:
        products = [one.product for one in (baseline, target) if one.product]
        return settling(report, pairs, lambda job: _noise(repository, target, job), scheduler, products)
    if not is_committed(report):
        return ""
    return _located(repository, baseline, target, report, moved, shown=shown, scheduler=scheduler)


def _located(
    repository: Repository, baseline: State, target: State, report: Report, moved: Sequence[Change], *, shown: bool, scheduler: str
) -> str:  # fmt: skip
    """Which commit did it, where there are several; else how to look at it, and how to accept it."""
    old, new = revision(report.baseline), revision(report.target)
    between, measured = between_them(repository, baseline, target)
    if between - measured > 0:
        are = f"{counted(between - measured, 'commit')} between {plural(between - measured, 'is', 'are')} not measured"
        return f"Next: perf bisect {old} {new}{on_hosts(scheduler)} finds the commit: {are}."
    if measured:
        return f"Next: perf check {old}..{new} judges the {counted(measured, 'commit')} between, one by one."
    look = "" if shown else f"perf show {old} {new}"
    wanted = "if wanted: perf accept ID --reason TEXT" if any(map(is_open, moved)) else ""
    steps = "; ".join(filter(None, [look, wanted]))
    return f"Next: {steps}" if steps else ""


def between_them(repository: Repository, baseline: State, target: State) -> tuple[int, int]:
    """How many commits lie on the way from one to another, and how many are measured; 0 without one."""
    if baseline.commit == target.commit:
        return 0, 0
    inner = [one.commit for one in way(repository.project, baseline.commit, target.commit)[:-1]]
    return len(inner), len(list(repository.with_profiles(inner)))


def _noise(repository: Repository, target: State, job: str) -> str:
    """What disturbed the newest measurement of a job, with the cure; empty where nothing is known."""
    measured = [one.header for one in repository.measured(target) if one.header.job.label == job]
    newest = max(measured, key=lambda header: header.collected.started, default=None)
    return shorten(newest.environment.warnings[0], WARNING) if newest and newest.environment.warnings else ""
