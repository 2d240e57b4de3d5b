"""The steps and drifts of all series along a history, and what kept others from being looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, expm1, isfinite
from typing import TYPE_CHECKING, Any, Literal

from perfvcs.check.change import Change
from perfvcs.check.comparability import differences, redefined
from perfvcs.check.text import benchmark
from perfvcs.errors import UsageError, nearest
from perfvcs.profile import Collected, Design, Metric
from perfvcs.summary import Header
from perfvcs.vcs import UnknownRevision

if TYPE_CHECKING:
    from perfvcs.index.findings import Found
    from perfvcs.index.lines import Course, Line
    from perfvcs.repository import Repository
    from perfvcs.vcs import Commit, Fixed

SHORTEST = 6  # commits: with fewer no place has three on both sides
AROUND = 12  # commits shown on each side of a step
LARGEST_EXPONENT = 700.0  # exp of more is beyond a float

Word = Literal["degradation", "improvement", "drift"]


@dataclass(frozen=True)
class Finding:
    """A step or drift of one line.

    ``commit`` is the likeliest one, of a drift the last; it may be any of the ``commits`` from ``first`` to ``last``, those that were not
    measured among them. ``effect`` is after/before - 1 with its 99 % interval ``low``..``high`` (None: unknown), ``before`` and ``after``
    are levels in the metric's unit, ``around`` those of the single commits nearby. ``turn`` is the likeliest commit's place in the history.
    """

    line: Line
    turn: int
    commit: str
    first: str
    last: str
    commits: int
    drift: bool
    effect: float
    low: float | None
    high: float | None
    before: float
    after: float
    p: float
    detectors: tuple[str, ...]
    around: tuple[float, ...]

    @property
    def direction(self) -> Literal["degradation", "improvement"]:
        """Whether it became worse, as the metric says."""
        return "degradation" if (self.effect > 0) == (self.line.better == "lower") else "improvement"

    @property
    def word(self) -> Word:
        """The direction of a step; a drift is called one."""
        return "drift" if self.drift else self.direction


@dataclass(frozen=True)
class Cut:
    """Where ``lines`` series begin anew, since what they were measured with changed."""

    commit: str
    reason: str
    lines: int


@dataclass(frozen=True)
class Annals:
    """Findings, newest first. ``details`` describes their commits.

    ``lines`` and ``commits`` were looked at; ``short`` names the benchmarks and metrics with fewer than six commits, ``unusable`` counts
    values without a logarithm that were left out, ``aside`` measured commits on branches that were merged.
    """

    findings: Sequence[Finding]
    details: dict[str, Commit]
    lines: int
    commits: int
    short: Sequence[tuple[str, str]]
    cuts: Sequence[Cut]
    unusable: int
    aside: int


def annals(repository: Repository, names: Sequence[str] = (), *, metric: str = "") -> Annals:
    """The findings on all series, or on one benchmark's, along HEAD, a revision, or a range; raises UsageError, UnknownRevision.

    ``names`` are a benchmark, a revision or range, or both in this order. The history is that of the first parents: on it every commit
    follows the one before, while commits of branches that went on side by side do not.
    """
    known, courses, revision, commits = repository.index.consistent(lambda: _read(repository, names, metric))
    findings = [one for found in steps(repository, known, courses, commits).values() for one in found]
    findings.sort(key=lambda one: (-one.turn, -abs(one.effect)))
    places = {course.places.tobytes(): course.places for course in courses.values()}  # most series have the same
    merged = repository.index.commits() - set(commits)
    return Annals(
        findings,
        repository.project.describe(one.commit for one in findings),
        len(courses),
        len(set().union(*places.values())),
        sorted({(title(known[number]), known[number].metric) for number, course in courses.items() if not _long(course)}),
        _cuts(known, courses, commits),
        sum(course.unusable for course in courses.values()),
        len(merged.intersection(repository.project.walk(revision))) if merged else 0,
    )


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


def steps(
    repository: Repository, known: dict[int, Line], courses: dict[int, Course], commits: Sequence[str]
) -> dict[int, list[Finding]]:
    """The findings on each line that is long enough, oldest first; ``commits`` are those along which its course was read."""
    long = {number: course for number, course in courses.items() if _long(course)}
    found = repository.index.findings.steps([course.levels for course in long.values()])
    return {
        number: [described(known[number], long[number], step, commits) for step in one]
        for number, one in zip(long, found, strict=True)
    }


def _long(course: Course) -> bool:
    return len(course.levels) >= SHORTEST


def title(line: Line) -> str:
    """What a line's benchmark is called."""
    return benchmark(shaped(line))


def shaped(line: Line, before: float | None = None, after: float | None = None) -> Change:
    """A line in the shape of a verdict, for what writes those out."""
    return Change(
        word="same", job=line.job.label, uid=line.uid, size=line.size, metric=line.metric, unit=line.unit, better=line.better, series="",
        baseline=before, target=after,
    )  # fmt: skip


def _asked(repository: Repository, known: dict[int, Line], names: Sequence[str]) -> tuple[list[int], str]:
    """Which lines, along which revision or range."""
    everything = list(known)
    if not names:
        return everything, "HEAD"
    if whole := _named(known, names[0], begins=False):
        return whole, names[1] if len(names) > 1 else "HEAD"
    begun = _named(known, names[0], begins=True)
    hint = nearest(names[0], dict.fromkeys(title(line) for line in known.values())) if known else ": nothing was measured yet"
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


def _named(known: dict[int, Line], name: str, *, begins: bool) -> list[int]:
    """The lines of the benchmarks with this name, or whose name begins with it."""

    def fits(line: Line) -> bool:
        called = (title(line), line.job.label, line.job.name, line.uid)
        return any(one.startswith(name) for one in called) if begins else name in called

    return [number for number, line in known.items() if fits(line)]


def _measuring(known: dict[int, Line], numbers: Sequence[int], metric: str) -> list[int]:
    found = [number for number in numbers if known[number].metric == metric]
    if not found:
        raise UsageError(f"no metric is called `{metric}`{nearest(metric, {known[number].metric: None for number in numbers})}")
    return found


def described(line: Line, course: Course, found: Found, commits: Sequence[str]) -> Finding:
    """A step of a line's course along ``commits`` in words of the project."""
    places, step = course.places, found.step
    drift = step.word == "drift"
    turn = places[step.last if drift else step.place]
    # What came after the last measured commit at the old level is under suspicion, measured or not.
    first = places[step.first - 1] + 1 if step.first else places[0]
    last = places[step.last]
    around = course.levels[max(0, step.place - AROUND) : step.place + AROUND]
    return Finding(
        line, turn, commits[turn], commits[first], commits[last], last - first + 1, drift, relative(step.effect) or 0.0,
        relative(found.low), relative(found.high), exp(step.before), exp(step.after), step.p, step.detectors, tuple(map(exp, around)),
    )  # fmt: skip


def relative(difference: float) -> float | None:
    """A difference of logarithms as after/before - 1; None where it is beyond a float."""
    return expm1(difference) if isfinite(difference) and difference < LARGEST_EXPONENT else None


def _cuts(known: dict[int, Line], courses: dict[int, Course], commits: Sequence[str]) -> list[Cut]:
    found: dict[tuple[int, str], int] = defaultdict(int)
    for number, reason in successions(known, courses).items():
        found[courses[number].places[0], reason] += 1
    return [Cut(commits[place], reason, count) for (place, reason), count in sorted(found.items(), reverse=True)]


def successions(known: dict[int, Line], courses: dict[int, Course]) -> dict[int, str]:
    """The lines that begin where another of the same benchmark and metric has ended, and in words what keeps the two from being one."""
    same: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, course in courses.items():
        line = known[number]
        if len(course.places):
            same[line.job.label, line.job.collector, line.uid, line.size, line.metric].append(number)
    found = {}
    for numbers in same.values():
        numbers.sort(key=lambda number: courses[number].places[0])
        for old, new in pairwise(numbers):
            if courses[new].places[0] > courses[old].places[-1]:
                found[new] = difference(known[old], known[new])
    return found


def difference(old: Line, new: Line) -> str:
    """In words, what keeps two lines from being one."""
    nobody = Collected("", "", "", "")
    headers = [Header("", "", None, line.job, nobody, line.environment, Design(), {}) for line in (old, new)]
    metrics = [Metric(line.unit, line.better) for line in (old, new)]  # type: ignore[arg-type]
    return "; ".join(filter(None, (differences(*headers), redefined(*metrics)))) or "the job was redefined"
