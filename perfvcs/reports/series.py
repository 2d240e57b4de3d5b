"""The series of one benchmark for views: a point per commit with its verdict, the levels, steps and drifts, and where one begins anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.check import compare, past_of
from perfvcs.quantity import metric_rank
from perfvcs.reports.annals import LARGEST_EXPONENT, successions
from perfvcs.reports.levels import shapes
from perfvcs.repository import State
from perfvcs.subject import Point, Series

if TYPE_CHECKING:
    from perfvcs.check import Change
    from perfvcs.profile import Environment, Profile
    from perfvcs.repository import Repository
    from perfvcs.summary import Header, Measured
    from perfvcs.vcs import Commit, Project

COMMITS = 3000  # the newest measured ones are drawn
JUDGED = 40  # the newest of them are compared with the one before
OPENED = 24  # profiles whose rows are read for that, where a verdict needs them
SERIES = 60  # units and metrics, wall time first
TOLD = ("cpu", "kernel", "python")  # of an environment, with its fingerprint


class Place(NamedTuple):
    """One environment of one job: its key and the fingerprint."""

    key: str
    environment: str


Unit = tuple[str, float | None, str]  # uid, size, metric


@dataclass(frozen=True)
class Trail:
    """The commits up to HEAD in the order of ancestry, oldest first; ``straight`` are those along the first parents."""

    commits: list[str]
    straight: list[str]
    before: Mapping[str, str]

    @classmethod
    def of(cls, project: Project) -> Trail:
        """That of a project, asked of git at once."""
        listed = [
            line.split() for line in project.git("rev-list", "--topo-order", "--parents", project.resolve("HEAD")).splitlines()
        ]
        before = {commit: parents[0] for commit, *parents in listed if parents}
        straight = [listed[0][0]]
        while straight[-1] in before:
            straight.append(before[straight[-1]])
        return cls([commit for commit, *_ in reversed(listed)], straight[::-1], before)

    def nearest(self, commit: str, among: Mapping[str, object]) -> str | None:
        """The nearest of some commits on the way back along the first parents, without the commit itself."""
        found = self.before.get(commit)
        while found is not None and found not in among:
            found = self.before.get(found)
        return found


@dataclass(frozen=True)
class Gathered:
    """The series of a benchmark, and what was left out, in sentences."""

    series: list[Series]
    notes: list[str]


def gather(repository: Repository, keys: set[str], *, delta: float | None = None) -> Gathered:
    """The series of the jobs with these keys, in every environment, along all ancestors of HEAD."""
    return repository.index.consistent(lambda: _gather(repository, keys, delta))


def _gather(repository: Repository, keys: set[str], delta: float | None) -> Gathered:
    known = {number: line for number, line in repository.index.lines().items() if line.job.key in keys}
    trail = Trail.of(repository.project)
    courses = repository.index.courses(known, trail.commits)
    chosen = sorted(courses, key=lambda number: (metric_rank(known[number].metric), courses[number].places[:1]))[:SERIES]
    places = sorted(set().union(*(courses[number].places for number in chosen)))
    commits = [trail.commits[place] for place in places[-COMMITS:]]
    verdicts = _verdicts(repository, trail, keys, commits, delta)
    medians = _medians(repository, {known[number].job.key for number in chosen}, commits[-JUDGED:])
    found = shapes(repository, {number: known[number] for number in chosen}, trail.straight)
    begun = successions(known, courses)
    about = _About(repository.project.describe(commits), set(trail.straight))
    series, notes = [], _notes(len(places), len(courses), sum(course.unusable for course in courses.values()))
    for number, centres in _centres(repository, commits, chosen).items():
        line = known[number]
        place, unit = Place(line.job.key, line.environment.fingerprint), (line.uid, line.size, line.metric)
        points = list(_points(centres, about, verdicts.get(place, {}), medians[place, unit], unit))
        levels, steps = found.get(number, ((), ()))
        series.append(
            Series(
                line.job.label, *unit, line.unit, line.better, _named(line.environment), points, levels, steps, begun.get(number, "")
            )
        )  # fmt: skip
    return Gathered(series, notes)


def _notes(commits: int, series: int, unusable: int) -> list[str]:
    found = []
    if commits > COMMITS:
        found.append(f"The newest {COMMITS:,} of {commits:,} measured commits are drawn; steps are looked for in all of them.")
    if commits > JUDGED:
        found.append(f"The newest {JUDGED:,} commits are judged against the one before, the others by the steps only.")
    if series > SERIES:
        found.append(f"{SERIES:,} of {series:,} series of this benchmark are drawn; `perf history` looks at all of them.")
    if unusable:
        found.append(f"{unusable:,} value{'s' * (unusable > 1)} with a zero, negative or infinite measurement left out.")
    return found


class _About(NamedTuple):
    """What is told of commits, and which are along the first parents."""

    details: Mapping[str, Commit]
    straight: set[str]


class _Centre(NamedTuple):
    """One commit of a line: how many executions, their geometric mean, and its 99 % interval, which a single one does not have."""

    commit: str
    executions: int
    centre: float
    low: float | None
    high: float | None


def _centres(repository: Repository, commits: Sequence[str], numbers: Sequence[int]) -> dict[int, list[_Centre]]:
    """Every line on every commit, in their orders; all executions of a commit together, whatever their session."""
    import numpy as np

    from perfvcs.statistics.student import quantile

    spreads = repository.index.spreads(commits, numbers)
    groups, group = np.unique(np.stack([spreads.line, spreads.place]), axis=1, return_inverse=True)
    group = group.ravel()
    n = np.bincount(group, spreads.executions)
    mean = np.bincount(group, spreads.executions * spreads.level) / np.maximum(n, 1)
    within = (spreads.executions - 1) * np.nan_to_num(spreads.deviation) ** 2
    squares = np.bincount(group, within + spreads.executions * (spreads.level - mean[group]) ** 2)
    half = quantile(0.995, np.maximum(n - 1, 1)) * np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1))
    known = (n > 1) & (mean + half < LARGEST_EXPONENT)
    found: dict[int, list[_Centre]] = {number: [] for number in numbers}
    ends = np.exp(np.clip([mean, mean - half, mean + half], -LARGEST_EXPONENT, LARGEST_EXPONENT))
    rows = zip(*groups.tolist(), n.astype(np.int64).tolist(), *ends.tolist(), known.tolist(), strict=True)
    for line, place, count, centre, low, high, certain in rows:
        found[line].append(_Centre(commits[place], count, centre, *((low, high) if certain else (None, None))))
    return found


def _medians(
    repository: Repository, keys: Iterable[str], commits: Sequence[str]
) -> dict[tuple[Place, Unit], dict[str, list[float]]]:
    """The medians of all executions on the newest commits."""
    found: dict[tuple[Place, Unit], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for key in keys:
        for entry in repository.index.history(key, commits):
            one = entry.summary
            if entry.dirty is None:
                found[Place(key, entry.environment), (one.uid, one.size, one.metric)][entry.commit] += one.medians
    return found


def _points(
    centres: Sequence[_Centre], about: _About, verdicts: Mapping[tuple[str, Unit], Change], medians: Mapping[str, Sequence[float]],
    unit: Unit,
) -> Iterator[Point]:  # fmt: skip
    for commit, executions, centre, low, high in centres:
        if commit not in about.details:
            continue
        told = about.details[commit]
        own = verdicts.get((commit, unit))
        change = own or verdicts.get((commit, (unit[0], None, unit[2])))  # of a curve all sizes have one verdict
        ends = (own.effect, own.low, own.high) if own else (None, None, None)
        word, reason = "", ""
        if change is not None:
            word, reason = (change.word, change.reason) if change.accepted is None else ("accepted", change.accepted)
        yield Point(
            commit, told.title, told.author, told.when, executions, centre, low, high, word, *ends, reason,
            commit not in about.straight, tuple(medians.get(commit, ())),
        )  # fmt: skip


def _verdicts(
    repository: Repository, trail: Trail, keys: set[str], commits: Sequence[str], delta: float | None
) -> dict[Place, dict[tuple[str, Unit], Change]]:
    """The verdicts of the newest commits, each against the nearest before it along the first parents, by the project's own rules."""
    groups: dict[Place, dict[str, list[Measured]]] = defaultdict(lambda: defaultdict(list))
    for one in repository.index.measured(commits[-JUDGED - 1 :]):
        header = one.header
        if header.job.key in keys and header.dirty is None:
            groups[Place(header.job.key, header.environment.fingerprint)][header.commit].append(one)
    found: dict[Place, dict[tuple[str, Unit], Change]] = {}
    for place, group in groups.items():
        own = found.setdefault(place, {})
        history, reader = past_of(one for measured in group.values() for one in measured), _Reader(repository)
        for commit, after in reversed(group.items()):
            before = trail.nearest(commit, group)
            if before is None:
                continue
            try:
                report = compare(group[before], after, rules=repository.rules, delta=delta, history=history, read=reader.read)
            except _Enough:
                break
            changes = repository.with_acceptances(report, State(before), State(commit)).changes
            own |= {(commit, (change.uid, change.size, change.metric)): change for change in reversed(changes)}
    return found


class _Enough(Exception):
    """So many profiles were opened that the commits before stay without a verdict."""


class _Reader:
    """Opens profiles, and keeps those that were asked for last: of two neighbours, the next pair needs one again."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._kept: dict[str, Profile] = {}
        self._left = OPENED

    def read(self, headers: Sequence[Header]) -> Sequence[Profile]:
        """The profiles of headers."""
        new = [header for header in headers if header.path not in self._kept]
        self._left -= len(new)
        if self._left < 0:
            raise _Enough
        opened = dict(zip((header.path for header in new), self._repository.profiles(new), strict=True))
        self._kept = {header.path: self._kept.get(header.path) or opened[header.path] for header in headers}
        return [self._kept[header.path] for header in headers]


def _named(environment: Environment) -> str:
    """An environment in one line; the fingerprint tells apart what the named fields do not."""
    told = [f"{name} {environment.fields[name]}" for name in TOLD if name in environment.fields]
    return ", ".join(filter(None, [*told, environment.fingerprint[:8]]))
