"""What all series along a history show, or those of one benchmark, and what kept others from being looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError, nearest
from perfvcs.git.project import UnknownRevision
from perfvcs.history.finding import title
from perfvcs.history.judging import SHORTEST, judged
from perfvcs.history.successions import successions
from perfvcs.history.verdict import Verdicts

if TYPE_CHECKING:
    from perfvcs.git.project import Commit, Fixed
    from perfvcs.history.finding import Finding, Newest, Noisier, Switching
    from perfvcs.history.judging import JudgedLine
    from perfvcs.index.lines import Course, Line
    from perfvcs.repository import Repository


@dataclass(frozen=True)
class SeriesBreak:
    """Where ``lines`` series begin anew, since what they were measured with changed."""

    commit: str
    reason: str
    lines: int


@dataclass(frozen=True)
class Overview:
    """Findings, newest first, as are the others. ``details`` describes their commits.

    ``lines`` and ``commits`` were looked at, from the first to the last of ``ends`` (full ids, empty without any); ``short`` names the
    benchmarks and metrics with fewer than six commits of which nothing was settled in turns, ``unusable`` counts values without a
    logarithm that were left out, ``aside`` measured commits on branches that were merged.
    """

    findings: Sequence[Finding]
    switching: Sequence[Switching]
    noisier: Sequence[Noisier]
    newest: Sequence[Newest]
    details: dict[str, Commit]
    lines: int
    commits: int
    ends: Sequence[str]
    short: Sequence[tuple[str, str]]
    cuts: Sequence[SeriesBreak]
    unusable: int
    aside: int


def overview_of(repository: Repository, names: Sequence[str] = (), *, metric: str = "") -> Overview:
    """The findings on all series, or on one benchmark's, along HEAD, a revision, or a range; raises UsageError, UnknownRevision.

    ``names`` are a benchmark, a revision or range, or both in this order. The history is that of the first parents: on it every commit
    follows the one before, while commits of branches that went on side by side do not.
    """
    return repository.index.consistent(lambda: _annals(repository, names, metric))


def _annals(repository: Repository, names: Sequence[str], metric: str) -> Overview:
    known, courses, revision, commits = _read(repository, names, metric)
    merged = repository.index.commits() - set(commits)
    aside = len(merged.intersection(repository.project.walk(revision))) if merged else 0
    whole = not aside and ".." not in str(revision)
    found = judged(repository, known, courses, commits, Verdicts(repository, commits if whole else ()))
    findings = [finding for one in found.values() for finding in one.findings]
    findings.sort(key=lambda one: (-one.turn, -abs(one.effect)))
    switching = sorted((one.switching for one in found.values() if one.switching), key=lambda one: -one.turn)
    noisier = sorted((each for one in found.values() for each in one.noisier), key=lambda one: -one.turn)
    newest = sorted((one.newest for one in found.values() if one.newest), key=lambda one: (-one.turn, -abs(one.effect)))
    places = {course.places.tobytes(): course.places for course in courses.values()}  # most series have the same
    told = [one.commit for one in findings] + [one.commit for one in noisier] + [one.commit for one in newest]
    short = {
        (title(known[number]), known[number].metric) for number, course in courses.items() if _is_short(course, found.get(number))
    }
    return Overview(
        findings, switching, noisier, newest, repository.project.describe([*told, *(one.first for one in switching)]),
        len(courses),
        len(measured := set().union(*places.values())),
        [commits[int(place)] for place in (min(measured), max(measured))] if measured else [],
        sorted(short),
        _cuts(known, courses, commits),
        sum(course.unusable for course in courses.values()),
        aside,
    )  # fmt: skip


def _is_short(course: Course, judged: JudgedLine | None) -> bool:
    """Whether a series is too short to be looked at, and measured in turns neither where it changed nor from end to end."""
    in_turns = judged and (judged.findings or len(judged.verdicts) >= len(course.levels) - 1)
    return len(course.levels) < SHORTEST and not in_turns


def _read(
    repository: Repository, names: Sequence[str], metric: str
) -> tuple[dict[int, Line], dict[int, Course], Fixed, list[str]]:
    """All lines, the courses of those that were asked for, along which revision or range, and its commits, oldest first."""
    known = repository.index.lines()
    numbers, named = _asked(repository, known, names)
    if metric:
        numbers = _measuring(known, numbers, metric)
    revision = repository.project.fixed(named)
    commits = list(repository.project.walk(revision, straight=True))[::-1]
    return known, repository.index.courses(numbers, commits), revision, commits


def _asked(repository: Repository, lines: dict[int, Line], names: Sequence[str]) -> tuple[list[int], str]:
    """Which lines, along which revision or range."""
    everything = list(lines)
    if not names:
        return everything, "HEAD"
    if whole := _named(lines, names[0], begins=False):
        return whole, names[1] if len(names) > 1 else "HEAD"
    begun = _named(lines, names[0], begins=True)
    hint = nearest(names[0], dict.fromkeys(title(line) for line in lines.values())) if lines else ": nothing was measured yet"
    if len(names) > 1:
        if not begun:
            raise UsageError(f"no benchmark is called `{names[0]}`{hint}")
        return begun, names[1]
    if ".." not in names[0]:
        try:
            repository.project.resolve(names[0])
        except UnknownRevision as error:
            if begun:
                return begun, "HEAD"
            raise UnknownRevision(f"{error}; nor is it a benchmark{hint}") from None
    return everything, names[0]


def _named(lines: dict[int, Line], name: str, *, begins: bool) -> list[int]:
    """The lines of the benchmarks with this name, or whose name begins with it."""

    def fits(line: Line) -> bool:
        called = (title(line), line.job.label, line.job.name, line.uid)
        return any(one.startswith(name) for one in called) if begins else name in called

    return [number for number, line in lines.items() if fits(line)]


def _measuring(lines: dict[int, Line], numbers: Sequence[int], metric: str) -> list[int]:
    chosen = [number for number in numbers if lines[number].metric == metric]
    if not chosen:
        raise UsageError(f"no metric is called `{metric}`{nearest(metric, {lines[number].metric: None for number in numbers})}")
    return chosen


def _cuts(lines: dict[int, Line], courses: dict[int, Course], commits: Sequence[str]) -> list[SeriesBreak]:
    counts: dict[tuple[int, str], int] = defaultdict(int)
    for number, reason in successions(lines, courses).items():
        counts[courses[number].places[0], reason] += 1
    return [SeriesBreak(commits[position], reason, count) for (position, reason), count in sorted(counts.items(), reverse=True)]
