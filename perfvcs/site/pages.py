"""The pages of a published site, as their templates draw them and as their JSON has them; ``model``
says what texts and numbers are.
"""

from __future__ import annotations

import re

import msgspec

from perfvcs.pictures.frame import HistoryFrame
from perfvcs.pictures.sketch import LevelLine, Rise
from perfvcs.site.model import (
    BranchData,
    CellData,
    ChangeState,
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

LAST_PART = re.compile(
    r"([^\[(]*(?:::|[./]|: | · ))(?=\w)(.{3,})", re.DOTALL
)  # of a name, before its parameters, and all before it


class RowData(msgspec.Struct, frozen=True, kw_only=True):
    """One series in one environment (a number in the front page's list) with a cell per version,
    newest first.

    ``metric`` is what it is called, ``level`` the newest value with its unit, ``state`` the gravest
    of its changes (or empty); ``trace`` are the newest levels relative to their mean, oldest first.
    """

    benchmark: str
    metric: str
    unit: str
    better: str
    environment: int
    url: str
    level: str
    state: str
    trace: list[float]
    cells: list[CellData]

    @property
    def parts(self) -> tuple[str, str]:
        """The benchmark's name in two: where it belongs, and what tells it from its neighbours."""
        split = LAST_PART.match(self.benchmark)
        return (split[1], split[2]) if split else ("", self.benchmark)

    @property
    def words(self) -> str:
        """The words of the cells, which the page filters by."""
        return "|".join(cell.word for cell in self.cells)


class Front(msgspec.Struct, frozen=True, kw_only=True):
    """The front page: its state in one ``sentence``, and the chart's rows (``left_out`` more are
    not drawn).

    ``versions`` are the newest measured commits of each environment, newest first, as many in each
    (None: there are no more); they are ``shared`` where all environments have the same.
    """

    sentence: str
    open: int
    accepted: int
    over: int
    improvements: int
    newest: CommitData
    versions: list[list[CommitData | None]]
    shared: bool
    environments: list[EnvironmentData]
    rows: list[RowData]
    left_out: int
    groups: list[GroupData]
    series: int
    commits: int
    values: int
    notes: list[str]


class ChangesData(msgspec.Struct, frozen=True):
    """All changes by commit, newest commit first: open ones, accepted ones, and what is past;
    ``left_out`` of these are not drawn.
    """

    open: list[GroupData]
    accepted: list[GroupData]
    past: list[GroupData]
    left_out: int = 0


class Mark(Rise, frozen=True, kw_only=True):
    """A step as a figure draws it: the same as ``StepData``, on a ``place`` in the page's list of
    commits.
    """

    place: int
    word: str
    drift: bool
    state: ChangeState
    reason: str
    effect: float
    low: float | None
    high: float | None


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a figure: a series in one environment, by columns.

    ``places`` are numbers in the page's list of commits, ascending; ``low`` and ``high`` are the 99
    % interval of the level of one commit, None if there was one execution. ``effects`` compare with
    the place before, ``words`` are those of the cells. ``lines`` are the levels before, between and
    after the ``steps``. ``began`` says why the series of the same benchmark before it could not go
    on (empty: there was none).
    """

    environment: EnvironmentData
    command: str
    places: list[int]
    levels: list[float]
    low: list[float | None]
    high: list[float | None]
    executions: list[int]
    effects: list[float | None]
    words: list[str]
    steps: list[Mark]
    lines: list[LevelLine]
    began: str = ""
    profile: str | None = None


class NewestLevel(msgspec.Struct, frozen=True):
    """One commit's level for the table of the newest ones, in words."""

    commit: CommitData
    environment: str
    value: str
    interval: str
    executions: int
    cell: CellData


class Remark(msgspec.Struct, frozen=True):
    """Findings in one environment other than steps: a series that switches, a changed spread, an
    unusual newest value.
    """

    environment: str
    text: str


class SeriesData(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one benchmark's one metric in all environments; ``frame`` has the axes and
    the words of its figure.

    The commits that any of its tracks has come as columns, oldest first by ancestry: short id (its
    page is ``commits/ID.html``), day, author (a number in ``authors``) and title.
    """

    benchmark: str
    metric: str
    unit: str
    better: str
    frame: HistoryFrame
    authors: list[str]
    ids: list[str]
    days: list[str]
    author: list[int]
    titles: list[str]
    tracks: list[Track]
    steps: list[StepData]
    remarks: list[Remark]
    newest: list[NewestLevel]
    siblings: list[Link]
    notes: list[str]


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one commit: a ``sentence``, ``jobs`` as a whole, what moved there, those that
    matter most first, ``rest`` for all else, the ``next`` step; then lasting changes laid to it,
    and those that ``may`` be its. ``blamed``: what `perf blame` named.
    """

    commit: CommitData
    parents: list[str]
    files: list[FileData]
    more: int
    steps: list[StepData]
    may: list[Possible]
    sentence: str
    jobs: list[JobTotal]
    moved: list[MovedData]
    left_out: int
    rest: str
    next: str
    before: CommitData | None
    after: CommitData | None
    blamed: list[str]


class BranchList(msgspec.Struct, frozen=True):
    """The page that lists branches and pull requests, the newest first."""

    branches: list[BranchData]


class BranchPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one branch: what moved on it, the largest first, and its measured commits
    (``more`` of them are not listed).
    """

    branch: BranchData
    listed: list[CommitData]
    more: int
    moved: list[MovedData]
    left_out: int


class ListedBenchmark(msgspec.Struct, frozen=True):
    """The command of one job, for the page about the site."""

    label: str
    collector: str
    command: str
    pages: list[Link]


class AboutPage(msgspec.Struct, frozen=True, kw_only=True):
    """How the site was made: environments, benchmarks, and what could not be looked at, in
    words.
    """

    environments: list[EnvironmentData]
    benchmarks: list[ListedBenchmark]
    notes: list[str]
