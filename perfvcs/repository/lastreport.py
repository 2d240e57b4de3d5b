"""What the newest report on two states says."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfvcs.check.change import Report
    from perfvcs.profile.benchmarkfilter import BenchmarkFilter
    from perfvcs.repository import Repository
    from perfvcs.repository.state import State


def last_report(
    repository: Repository, baseline: State, target: State, wanted: BenchmarkFilter
) -> Report | None:
    """The report that was given last, with what is accepted now, unless a state has other profiles
    now; else that on all that is stored: the first that has any of the benchmarks ``wanted``, None
    without one.
    """
    for report in _reports(repository, baseline, target):
        if any(
            wanted.has(change.job, change.uid, change.size, change.metric, change.series)
            for change in report.changes
        ):
            return report
    return None


def _reports(repository: Repository, baseline: State, target: State) -> Iterator[Report]:
    from perfvcs.check import NothingToCompare
    from perfvcs.check.markdown import decode
    from perfvcs.profile.validity import Malformed

    memory = repository.index.memory
    remembered = memory.recall(baseline.verdict_key, target.verdict_key)
    if remembered is not None and remembered.stored == stored_profiles(
        repository, baseline, target
    ):
        with suppress(Malformed):
            report = decode(remembered.report)
            opened = [replace(change, accepted=None) for change in report.changes]
            yield replace(report, changes=repository.accepted(opened, baseline, target))
    with suppress(NothingToCompare):
        yield repository.compare(baseline, target)


def stored_profiles(repository: Repository, baseline: State, target: State) -> str:
    """A name of the profiles that two states have, whenever they were measured or pulled."""
    sides = (baseline.filed, target.filed)
    marks = repository.index.marks(sides)
    return ".".join(f"{marks.get(commit, 0):x}" for commit in sides)
