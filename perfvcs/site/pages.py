"""The pages of a published site, as their templates draw them and as their JSON has them; ``model``
says what texts and numbers are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from perfvcs.history.triage import ChangeState
from perfvcs.pictures.frame import HistoryFrame
from perfvcs.pictures.present import Present
from perfvcs.pictures.sketch import LevelLine, Rise
from perfvcs.site.model import (
    BranchData,
    CellData,
    CommitData,
    EnvironmentData,
    FileData,
    GroupData,
    JobTotal,
    Link,
    MovedData,
    Possible,
    StepData,
)
from perfvcs.text.characters import ISOLATED

LISTED = 1000  # series whose rows are in the front page itself: with more it would be too large
LAST_PART = re.compile(
    r"([^\[(]*(?:::|[./]|: | · ))(?=\w)(.{3,})", re.DOTALL
)  # of a name, before its parameters, and all before it


def name_parts(benchmark: str, prefix: str) -> tuple[str, str]:
    """A benchmark's name without a ``prefix`` in two: where it belongs, and what tells it from its
    neighbours. One that is isolated, as right-to-left text is, stays in one piece.

    >>> name_parts("bench.sort.time_merge[10]", "bench.")
    ('sort.', 'time_merge[10]')
    """
    if ISOLATED[0] in benchmark:
        return "", benchmark
    name = benchmark.removeprefix(prefix)
    split = LAST_PART.match(name)
    return (split[1], split[2]) if split else ("", name)


class SinceChange(msgspec.Struct, frozen=True):
    """A change since a moment in words and as a number; ``word`` (degradation, improvement) where
    a lasting change since then has its direction.
    """

    text: str
    effect: float
    word: str


class ListedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One series in one environment: the ``level`` now (the median of its newest values; ``value``
    is its logarithm), the changes ``since`` each of the front page's moments, the ``scatter`` of
    commits at one level (a share), and the gravest ``state`` of its changes (or empty).

    ``strip`` is its course in equal parts of the time of all series: from 0 (lowest) over A to z
    (highest), a point where it has no value. ``ended``: the day it was measured last, where
    nothing more will come; else empty.
    """

    benchmark: str
    metric: str
    better: str
    environment: str
    url: str
    state: str
    level: str
    value: float
    since: list[SinceChange | None]
    scatter: float | None
    strip: str
    ended: str


class OpenChange(msgspec.Struct, frozen=True):
    """A change that is in force: how many of the ``newest`` values hold it, why it is to be checked
    (``doubts``, and ``asked``: numbers among what the list asks first), and its series' strip.
    """

    step: StepData
    holds: int
    newest: int
    doubts: Sequence[str]
    asked: Sequence[int]
    strip: str


class OpenList(msgspec.Struct, frozen=True):
    """Open changes by what their commits cost; ``more`` are not listed, all are at ``commits``.
    ``asked`` says once what is to be asked first of several of them.
    """

    changes: list[OpenChange]
    more: int
    commits: int
    asked: list[str]


class Front(msgspec.Struct, frozen=True, kw_only=True):
    """The front page: its state in one ``sentence``, the open changes that are ``certain`` and
    those ``to_check``, and all series that are measured and that ended (``rows``), with the names
    of the moments that they are compared with (``since``).

    ``prefix`` is what all benchmarks' names begin with, ``days`` the first and the last of a strip.
    ``open``, ``accepted``, ``over`` and
    ``improvements`` count changes.
    """

    sentence: str
    open: int
    accepted: int
    over: int
    improvements: int
    newest: CommitData
    environments: list[EnvironmentData]
    since: list[str]
    prefix: str
    rows: list[ListedSeries]
    certain: OpenList
    to_check: OpenList
    days: tuple[str, str]
    series: int
    commits: int
    values: int
    notes: list[str]

    @property
    def listed(self) -> RowsByEnd:
        """The rows in the page itself."""
        return _by_end(self.rows[:LISTED])

    @property
    def further(self) -> RowsByEnd:
        """The rows that are in a script of their own."""
        return _by_end(self.rows[LISTED:])

    @property
    def columns(self) -> TableColumns:
        """The columns that tell rows apart."""
        return TableColumns(
            metric=len({row.metric for row in self.rows}) > 1,
            environment=len({row.environment for row in self.rows}) > 1,
            scatter=any(row.scatter is not None for row in self.rows),
        )


class RowsByEnd(NamedTuple):
    """Rows of series that are still measured, and of those that ended."""

    live: list[ListedSeries]
    ended: list[ListedSeries]

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.live) + len(self.ended)


def _by_end(rows: Sequence[ListedSeries]) -> RowsByEnd:
    return RowsByEnd([row for row in rows if not row.ended], [row for row in rows if row.ended])


class TableColumns(NamedTuple):
    """Whether a table of series has these columns."""

    metric: bool
    environment: bool
    scatter: bool


class ChangesData(msgspec.Struct, frozen=True):
    """All changes by commit, newest commit first: open ones, accepted ones, and what is past;
    ``left_out`` of these are not drawn.
    """

    open: list[GroupData]
    accepted: list[GroupData]
    past: list[GroupData]
    left_out: int = 0


class Mark(Rise, frozen=True, kw_only=True):
    """A step as a figure draws it, like ``StepData``, on a ``place`` among the page's commits."""

    place: int
    word: str
    state: ChangeState
    reason: str
    effect: float
    low: float | None
    high: float | None


class ComparedRow(msgspec.Struct, frozen=True, array_like=True):
    """The ``word`` for a row of a track and its effect, against the row before it."""

    row: int
    word: str
    effect: float | None


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a figure: a series in one environment, by columns.

    ``places`` are numbers in the page's list of commits, ascending; ``low`` and ``high`` are the 99
    % interval of the level of one commit, None if it has none (empty: everywhere), ``executions``
    how many there are of each (empty: one). ``compared`` are the rows that have a verdict.
    ``lines`` are the levels before, between and after the ``steps``; no line leads to the turns
    ``breaks``, which follow a gap. ``began`` says why the series of the same benchmark before it
    could not go on (empty: there was none). ``now`` is None where nothing is measured any more.
    """

    environment: EnvironmentData
    command: str
    places: list[int]
    levels: list[float]
    low: list[float | None]
    high: list[float | None]
    executions: list[int]
    compared: list[ComparedRow]
    steps: list[Mark]
    lines: list[LevelLine]
    breaks: list[int]
    now: Present | None
    began: str = ""
    profile: str | None = None


class Tag(msgspec.Struct, frozen=True):
    """A release, at its commit's place in the page's list or the next measured one."""

    place: int
    name: str


class NewestLevel(msgspec.Struct, frozen=True):
    """One commit's level for the table of the newest ones, in words."""

    commit: CommitData
    environment: str
    value: str
    interval: str
    executions: int
    cell: CellData


class Remark(msgspec.Struct, frozen=True):
    """Findings in one environment other than steps, such as an unusual newest value."""

    environment: str
    text: str


class SeriesData(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one benchmark's one metric in all environments; ``frame`` has the axes and
    the words of its figure.

    ``commits`` are those that any of its tracks has, oldest first by ancestry, as numbers in the
    columns of ``assets/commits.json``.
    """

    benchmark: str
    metric: str
    unit: str
    better: str
    frame: HistoryFrame
    commits: list[int]
    tracks: list[Track]
    tags: list[Tag]
    steps: list[StepData]
    remarks: list[Remark]
    newest: list[NewestLevel]
    siblings: list[Link]
    notes: list[str]


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one commit: the ``lasting`` changes laid to it in a sentence, and a ``sentence``
    about the commit before, ``jobs`` as a whole, what moved there, those that matter most first,
    ``rest`` for all else, the ``next`` step; then these lasting ``steps``, and those that ``may``
    be its. ``blamed``: what `perf blame` named. ``left_out`` others that moved are not listed, nor
    are ``unlisted`` changes of series that are laid to it.
    """

    commit: CommitData
    parents: list[str]
    files: list[FileData]
    more: int
    steps: list[StepData]
    unlisted: int
    may: list[Possible]
    lasting: str
    sentence: str
    jobs: list[JobTotal]
    moved: list[MovedData]
    left_out: int
    rest: str
    next: str
    before: CommitData | None
    after: CommitData | None
    blamed: list[str]


class ListedCommit(msgspec.Struct, frozen=True):
    """A measured commit and how many lasting changes are laid to it."""

    commit: CommitData
    worse: int
    better: int


class CommitList(msgspec.Struct, frozen=True):
    """The page of the newest measured commits, newest first; ``more`` are not listed."""

    listed: list[ListedCommit]
    more: int


class BranchList(msgspec.Struct, frozen=True):
    """The page that lists branches and pull requests, the newest first."""

    branches: list[BranchData]


class BranchPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one branch: what moved on it, the largest first, and its measured commits
    (``more`` of them are not listed); ``others`` are the comparisons that did not move.
    """

    branch: BranchData
    listed: list[CommitData]
    more: int
    moved: list[MovedData]
    others: list[MovedData]
    left_out: int


class ListedBenchmark(msgspec.Struct, frozen=True):
    """The command of one job, for the page about the site."""

    label: str
    collector: str
    command: str
    pages: list[Link]


class AboutPage(msgspec.Struct, frozen=True, kw_only=True):
    """How the site was made: environments, benchmarks, and what could not be looked at."""

    environments: list[EnvironmentData]
    benchmarks: list[ListedBenchmark]
    notes: list[str]
