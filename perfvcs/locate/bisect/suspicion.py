"""The commits of a span by what they change, before anything is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite, log
from statistics import fmean
from typing import TYPE_CHECKING

from perfvcs.locate.select.changereach import touches
from perfvcs.locate.select.impact import impact
from perfvcs.locate.select.reached import BenchmarkUnit, Reach, recorded, seen
from perfvcs.locate.select.static import reach as static_reach
from perfvcs.locate.select.static import resolved
from perfvcs.locate.sources import is_within, language
from perfvcs.locate.sources.differences import UNREAD, Changes, FileChange, each
from perfvcs.locate.sources.imports import is_build
from perfvcs.locate.sources.uses import Sources
from perfvcs.profile.naming import is_whole
from perfvcs.profile.rules import RULES_FILE
from perfvcs.text.words import counted, plural

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.jobs.config import Config
    from perfvcs.locate.bisect.saved import Target
    from perfvcs.locate.bisect.span import Span
    from perfvcs.measure.rig import Rig
    from perfvcs.repository import Repository


MOST_READ = 1000  # commits whose files are looked into: of more, all are alike
NOTHING_RUNS = "changes nothing that runs"


@dataclass(frozen=True)
class SuspectCommit:
    """A commit, whether it ``touches`` what the benchmark runs, and the ``reasons``, or why not.

    Reasons are functions and files. ``read``: whether all that it changes was looked into.
    """

    commit: str
    touches: bool
    reasons: tuple[str, ...]
    read: bool = True


def suspects(
    rig: Rig, span: Span, target: Target | None, most: int | None = None, cells: Iterable[Cell] = ()
) -> list[SuspectCommit] | None:
    """What is known of each commit after the good one, in order, by what the target runs, or
    without one any of the ``cells``; None of more than are read.

    ``most`` as in ``differences.each``.
    """
    if span.last > MOST_READ:
        return None
    repository, config = rig.repository, rig.config
    commits = counted(span.last, "commit")
    rig.progress.say(f"reading what {commits} {plural(span.last, 'changes', 'change')}")
    sources = Sources(repository.project, repository.home, span.bad)
    units = [BenchmarkUnit(cell.label, cell.collector_name) for cell in cells]
    if target is not None:
        uid = "" if is_whole(target.job, target.uid) else target.uid
        units = [BenchmarkUnit(target.job, target.collector, uid)]
    reach = _together(_reach(repository, span, unit, config, sources) for unit in units)
    changed = each(repository.project, [*pairwise(span.commits)], most)
    rows = zip(span.commits[1:], changed, strict=True)
    return [_followed(sources, commit, change, reach, config.overlay) for commit, change in rows]


def _together(reaches: Iterable[Reach | None]) -> Reach | None:
    """What any of several units runs; None where that of one, or what its processes run, is not
    known: then no other is asked for.
    """
    known: list[Reach] = []
    for reach in reaches:
        if reach is None or reach.processes:
            return None
        known.append(reach)
    if not known:
        return None
    return replace(
        known[0],
        functions=frozenset().union(*(reach.functions for reach in known)),
        outside=frozenset().union(*(reach.outside for reach in known)),
    )


def _reach(
    repository: Repository, span: Span, unit: BenchmarkUnit, config: Config, sources: Sources
) -> Reach | None:
    """What a unit runs: as it was recorded on the span's newest commits or before, else the
    functions in which it was seen, else what it can run by the ``sources`` of the bad end.
    """
    commits = [
        *reversed(span.commits),
        *repository.with_profiles(repository.project.ancestors(span.good)),
    ]
    reaches = recorded(repository, commits, [unit])
    same = reaches.get(unit) or reaches.get(BenchmarkUnit(*unit.cell))
    if same or (
        same := next(
            (reach for recorded_unit, reach in reaches.items() if recorded_unit.job == unit.job),
            None,
        )
    ):
        named = resolved(sources, same)
        if not isinstance(named, str):
            return named
    for commit in repository.with_profiles(commits):
        headers = [
            header
            for header in repository.index.headers([commit])
            if header.job.label == unit.job and header.dirty is None
        ]
        for profile in repository.profiles(headers):
            if (reach := seen(profile)).functions:
                return reach
        if headers:
            break
    return _static(span, unit, config, sources)


def _static(span: Span, unit: BenchmarkUnit, config: Config, sources: Sources) -> Reach | None:
    """What a unit can run by the sources of the bad end; None where these do not tell."""
    from perfvcs.jobs import matrix

    cell = (
        next((cell for cell in matrix(config) if cell.label == unit.job), None)
        if config.job
        else None
    )
    if cell is None:
        return None
    command = " ".join(filter(None, (cell.cmd, cell.args)))
    reach = static_reach(sources, span.bad, command, shell=cell.shell)
    return None if isinstance(reach, str) else reach


def _followed(
    sources: Sources, commit: str, changed: Changes, reach: Reach | None, overlay: Sequence[str]
) -> SuspectCommit:
    """Like ``suspect``, and follows changed names to where ``sources`` use them."""
    direct = suspect(commit, changed, reach, overlay)
    if reach is None or direct.touches or direct.reasons == (NOTHING_RUNS,):
        return direct
    followed = impact(Changes(_mattering(changed, overlay)), sources, reach.outside)
    reason = touches(reach, followed)
    return SuspectCommit(commit, touches=True, reasons=(reason,)) if reason else direct


def suspect(
    commit: str, changed: Changes, reach: Reach | None, overlay: Sequence[str] = ()
) -> SuspectCommit:
    """A commit by the functions and files that it changes itself; ``reach`` is what the benchmark
    runs, None where that is not known.
    """
    mattering = _mattering(changed, overlay)
    if not mattering:
        return SuspectCommit(commit, touches=False, reasons=(NOTHING_RUNS,))
    unread = any(file.why == UNREAD for file in mattering)
    unseen = tuple(
        file.path if file.why == UNREAD else f"{file.path} ({file.why})"
        for file in sorted(mattering, key=_order)
        if file.why
    )
    if reach is None:
        named = [name for file in mattering for name in _named(file)]
        return SuspectCommit(commit, touches=True, reasons=(*named, *unseen), read=not unread)
    touched = tuple(sorted(reach.touched(changed)))
    if touched or unseen:
        return SuspectCommit(commit, touches=True, reasons=(*touched, *unseen), read=not unread)
    return SuspectCommit(
        commit, touches=False, reasons=("changes nothing that the benchmark is known to run",)
    )


def _order(file: FileChange) -> tuple[bool, bool, str]:
    """Sources come first, then what the project is built by, then other files."""
    return not language(file.path), not is_build(file.path), file.path


def _named(file: FileChange) -> list[str]:
    """The functions of a source that changed; the source where none did."""
    if file.functions:
        return [f"{file.path}:{name}" for name in sorted(file.functions)]
    return [file.path] if file.statements else []


def _mattering(changed: Changes, overlay: Sequence[str]) -> tuple[FileChange, ...]:
    """Without the benchmark's own files, which all commits get from the newest configuration."""
    own = (RULES_FILE, *overlay)
    return tuple(file for file in changed.files if file.matters and not is_within(file.path, own))


def stored_levels(
    repository: Repository,
    span: Span,
    target: Target,
    key: str,
    environment: str,
    without: set[str],
) -> dict[int, float]:
    """The logarithm of what was measured on each commit, by its number, in sessions other than
    ``without``.
    """
    places = {commit: number for number, commit in enumerate(span.commits)}
    by_place: dict[int, list[float]] = {}
    for measured in repository.index.measured(list(span.commits), environment):
        header = measured.header
        if header.dirty is not None or header.job.key != key or header.collected.session in without:
            continue
        for summary in measured.summaries:
            if (summary.uid, summary.size, summary.metric) == (
                target.uid,
                target.size,
                target.metric,
            ):
                usable = [value for value in summary.medians if isfinite(value) and value > 0]
                if usable:
                    by_place.setdefault(places[header.commit], []).append(
                        target.sign * fmean(map(log, usable))
                    )
    return {place: fmean(levels) for place, levels in by_place.items()}
