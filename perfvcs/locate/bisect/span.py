"""What a bisection is about: its ends, its target, and the commits between."""

from __future__ import annotations

import errno
import os
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from msgspec import Struct, field

from perfvcs.check.change import Change, NothingToCompare, Report
from perfvcs.check.executedwork import PARTIAL
from perfvcs.check.movement import Followed, SizedUnit, followed
from perfvcs.check.text import benchmark
from perfvcs.check.vocabulary import Word
from perfvcs.errors import CURES, PerfError, UsageError, disk_is_full
from perfvcs.git.ancestry import way
from perfvcs.git.command import GitError
from perfvcs.git.project import Project
from perfvcs.jobs.cell import Cell
from perfvcs.locate.bisect.saved import Target
from perfvcs.measure.counting import under_counter
from perfvcs.measure.countingcosts import COUNTERS
from perfvcs.measure.unitseconds import TIMED
from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter, catalogue, chosen
from perfvcs.profile.naming import ONCE, Benchmark, is_whole
from perfvcs.repository import Repository
from perfvcs.repository.state import State

MOST_COMMITS = 100_000  # of a span
ANCESTORS = 60  # measured ones that are compared with the bad end
CURE = (
    "name a commit on which the benchmark runs; its own files that old commits do not have go into"
    " `overlay` of perf.toml"
)


class Span(Struct, frozen=True):
    """``commits`` are full ids, the good one first, the bad one last; each is a parent of the next.

    ``merges``: the parents of those behind the good one that have several.
    """

    commits: tuple[str, ...]
    merges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def good(self) -> str:
        """The good end."""
        return self.commits[0]

    @property
    def bad(self) -> str:
        """The bad end."""
        return self.commits[-1]

    @property
    def last(self) -> int:
        """The number of the bad end; the good one has 0."""
        return len(self.commits) - 1

    def beside(self, number: int) -> tuple[str, ...]:
        """The parents of a merge that are not on the span, in git's order; () of another commit."""
        parents = self.merges.get(self.commits[number], ())
        return tuple(parent for parent in parents if parent != self.commits[number - 1])


def span(project: Project, good: str, bad: str) -> Span:
    """The span between two commits (full ids), by first parents as far as these lead to ``good``.

    Raises UsageError where the good one is not an ancestor of the bad one.
    """
    if good == bad:
        raise UsageError(f"both ends are {good[:10]}: name two commits, the better one first")
    commits = way(project, good, bad)
    if not commits:
        raise UsageError(_unrelated(project, good, bad))
    if len(commits) > MOST_COMMITS:
        ends = f"{good[:10]} and {bad[:10]}"
        raise UsageError(
            f"{len(commits):,} commits lie between {ends}: name ends closer to each other"
        )
    merges = {passed.commit: passed.parents for passed in commits if len(passed.parents) > 1}
    return Span((good, *(passed.commit for passed in commits)), merges)


def brought(
    project: Project, between: Span, number: int, *, everything: bool
) -> list[tuple[str, str]]:
    """The ends of what a merge brought: for each further parent, the commit where the lines part,
    and the parent.

    Without ``everything``, only what came by its first parent. A parent that brought nothing, or
    has no ancestor in common, has none.
    """
    ends, on = [], between.commits[number - 1]
    for tip in between.beside(number):
        if everything or tip == between.merges[between.commits[number]][0]:
            with suppress(GitError):
                base = project.git("merge-base", on, tip)
                if base != tip:
                    ends.append((base, tip))
    return ends


def _unrelated(project: Project, good: str, bad: str) -> str:
    what = f"{good[:10]} is not an ancestor of {bad[:10]}"
    if way(project, bad, good):
        return f"{what} but the other way round: perf bisect {bad[:10]} {good[:10]}"
    if project.shallow:
        return f"{what} in this shallow clone: get the rest with `git fetch --unshallow`"
    try:
        base = project.git("merge-base", good, bad)
    except GitError:
        return f"{what}, and they have no common ancestor: name two commits of one line"
    return f"{what}: from where their lines part it is perf bisect {base[:10]} {bad[:10]}"


class FullDisk(PerfError):
    """Commits could not be measured because the disk is full, which says nothing of them."""


class UnmeasurableEnd(PerfError):
    """One of the ends cannot be measured, so that nothing can be compared with it."""

    exit_code = 5


def require_room(home: Path, reasons: Iterable[str]) -> None:
    """Raises FullDisk where one of the ``reasons`` is a disk without room: then the commit is not
    at fault.
    """
    lacking = os.strerror(errno.ENOSPC), CURES[errno.ENOSPC]
    if any(disk_is_full(home) or any(sign in reason for sign in lacking) for reason in reasons):
        raise FullDisk(CURES[errno.ENOSPC])


class TargetFilter(Struct, frozen=True):
    """What the caller restricts the target to: some ``benchmarks``, and the direction; by default
    the most important of what became worse.
    """

    benchmarks: BenchmarkFilter = EVERYTHING
    improvement: bool = False

    @property
    def word(self) -> Word:
        """The direction."""
        return "improvement" if self.improvement else "degradation"

    def fits(self, change: Change) -> bool:
        """Whether a comparison is about one of the benchmarks."""
        return self.benchmarks.has(
            change.job, change.uid, change.size, change.metric, change.series
        )

    def target(self, report: Report, series: Container[str] | None = None) -> Followed | None:
        """What is followed of a report: the most important change in the direction, of these
        ``series`` if given; None where there is none.
        """

        def fits(change: Change) -> bool:
            is_known = series is None or change.series in series
            return is_known and change.word == self.word and self.fits(change)

        found = followed(report, fits)
        if found is None or self.benchmarks.metric:
            return found
        work = _work_of(report, found.change)
        return found if work is None else found._replace(change=work, instead_of=found.change)

    def follows(self, target: Target) -> bool:
        """Whether a target that is followed already is one of these."""
        return (
            self.benchmarks.has_job(target.job, target.collector)
            and self.benchmarks.has(target.job, target.uid, target.size, target.metric)
            and self.improvement == target.improvement
        )


def _work_of(report: Report, change: Change) -> Change | None:
    """The count that finds the commit of a change in less time than its time does: of one that its
    time leaves open, or of a unit whose time varies more than the instructions that explain it.
    None where there is none.
    """
    if change.low is None or change.high is None:
        return None
    unit = SizedUnit.of(change)
    is_open = change.low <= 0 <= change.high
    counts = (
        count
        for count in report.changes
        if count.metric in COUNTERS
        and count.word == change.word
        and SizedUnit.of(count)._replace(uid=count.uid.removesuffix(ONCE)) == unit
        and (is_open or _explains(count, change))
    )
    return next(counts, None)


def _explains(count: Change, change: Change) -> bool:
    """Whether the count of a unit moved by no less than its time is thought to, and bytecodes,
    which leave out what functions of C do, by half as much at least. Of a whole program each
    commit's count guides the search anyway.
    """
    if None in (count.effect, change.effect, change.low, change.high):
        return False
    work, effect, low, high = (
        abs(number or 0.0) for number in (count.effect, change.effect, change.low, change.high)
    )
    is_most = count.metric != PARTIAL or work >= effect / 2
    return is_most and work >= min(low, high) and not is_whole(change.job, change.uid)


def default_ends(repository: Repository, wanted: TargetFilter, bad: str) -> tuple[str, str]:
    """The ends where only the bad one or none is named: around the newest step of the history, else
    from the newest better ancestor.
    """
    if step := _step(repository, wanted, bad):
        return step
    project = repository.project
    commit = project.resolve(bad)
    for ancestor in islice(repository.measured_ancestors(commit), ANCESTORS):
        with suppress(NothingToCompare):
            if wanted.target(repository.compare(State(ancestor), State(commit))):
                return ancestor, commit
    what = "worse" if wanted.improvement else "better"
    raise UsageError(
        f"no measured ancestor of {commit[:10]} is known to be {what}: name one, perf bisect GOOD"
        f" {bad}"
    )


def _step(repository: Repository, wanted: TargetFilter, bad: str) -> tuple[str, str] | None:
    """The commit before the newest step of the history in the direction asked for, and the last
    that it may be.
    """
    from perfvcs.history.overview import overview_of

    for finding in overview_of(repository, bad, wanted.benchmarks).findings:
        if finding.direction == wanted.word:
            with suppress(UsageError):
                return repository.project.resolve(f"{finding.first}^"), finding.last
    return None


def target_of(
    change: Change, cells: Sequence[Cell], *, improvement: bool = False
) -> tuple[Cell, Target]:
    """The cell that measures what a change is about, and of a curve the largest size of which its
    effect is.
    """
    curve = change.curve
    size = change.size if curve is None else (curve.at or curve.sizes)[1]
    named = cells_with(cells, change.job, change.uid, change.metric)
    # programs may report metrics of their own, of which their collector does not know
    for cell in sorted(named, key=lambda cell: change.metric not in cell.collector.metrics):
        target = Target(
            cell.label,
            cell.collector_name,
            change.uid,
            size,
            change.metric,
            change.unit,
            change.better,
            improvement,
        )
        return cell.alone(target.uid), target
    raise UsageError(
        f"{benchmark(change)} is no longer a job of perf.toml: add it, or name another job"
    )


def cells_with(cells: Sequence[Cell], job: str, uid: str, metric: str) -> list[Cell]:
    """The cells of a job that measure a metric of a unit; of a count beside its time, what counts
    it.
    """
    named = [cell for cell in cells if cell.label == job]
    if metric in COUNTERS and not any(metric in cell.collector.metrics for cell in named):
        timed = [cell for cell in named if cell.collector_name in TIMED]
        return [under_counter(cell, metric, uid) for cell in timed]
    return named


def others(report: Report, chosen: Change) -> list[Change]:
    """The other changes in the direction of the one that is followed."""
    return [change for change in report.changes if change.word == chosen.word and change != chosen]


def require_fitting(changes: Sequence[Change], wanted: TargetFilter) -> None:
    """Refuse a target that none of the verdicts on the ends is about, with the candidates."""
    if changes and not any(map(wanted.fits, changes)):
        known = [
            Benchmark(change.job, change.job, "", change.uid, change.size, change.metric)
            for change in changes
        ]
        words = wanted.benchmarks.words
        chosen(catalogue(known), words)
        raise UsageError(f"the ends have no `{words.text}`: name two commits that have it")
