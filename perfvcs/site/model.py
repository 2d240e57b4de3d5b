"""What the pages of a published site say: the data that templates draw, and that is written as JSON beside every page.

Texts are short, on one line, and safe to print (``perfvcs.text.characters.shorten``); they still have to be escaped where they are written.
Addresses (``url``) are relative to the top of the site, ``None`` where there is no page. Values are in the metric's unit, effects are
after/before - 1 with their 99 % interval ``low``..``high``; what is unknown is None, and every number is finite.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

FORMAT = "perfvcs-site/1"
LAST_PART = re.compile(r"([^\[(]*(?:::|[./]|: | · ))(?=\w)(.{3,})$")  # of a name, before its parameters, and all before it
State = Literal["open", "accepted", "over", "improvement"]


class SiteData(msgspec.Struct, frozen=True):
    """What all pages share: the project's title, the program that made them, and the way ``root`` from a page to the top (``../``).

    ``branches``: some are not merged and were measured.
    """

    title: str
    generator: str
    root: str = ""
    branches: bool = False


class CommitData(msgspec.Struct, frozen=True):
    """One commit; ``when`` is the author date, ISO 8601."""

    id: str
    short: str
    title: str
    author: str
    when: str
    url: str | None = None


class FileData(msgspec.Struct, frozen=True):
    """One file of a commit's diff: ``status`` is git's letter (A added, M modified, D deleted, T type changed)."""

    status: str
    path: str


class EnvironmentData(msgspec.Struct, frozen=True):
    """Where something was measured: a short name that tells it from the others, and its facts.

    ``retired``: the day of its newest commit, where nothing is measured there any more; else empty.
    """

    name: str
    fingerprint: str
    fields: dict[str, str]
    retired: str = ""


class Elsewhere(msgspec.Struct, frozen=True):
    """The same change of the same benchmark in another environment: its effect with the interval, and its levels, in words."""

    environment: str
    change: str
    levels: str


class SuspectData(msgspec.Struct, frozen=True):
    """A commit that may have made a change, and why: functions and files."""

    commit: CommitData
    why: str


class StepData(msgspec.Struct, frozen=True, kw_only=True):
    """A lasting change of one series in one environment.

    ``word`` is degradation, improvement or drift, ``direction`` the first or the second. ``state``: ``open`` is a degradation that is
    in force and not accepted, ``over`` one that is no longer in force; ``reason`` says why it is accepted, or over. It may be in any
    of the ``commits`` from ``first`` to ``last`` (short ids), most likely in ``commit``. ``change`` and ``levels`` are texts. Lists by
    commit have a change once, in the environment where it is largest, and name ``also`` the others. ``suspects`` are the likeliest of
    several commits, by what they change.
    """

    word: str
    direction: str
    state: State
    reason: str = ""
    benchmark: str
    metric: str
    unit: str
    environment: str
    url: str
    commit: CommitData
    first: str
    last: str
    commits: int
    effect: float
    low: float | None
    high: float | None
    before: float
    after: float
    change: str
    levels: str
    p: float | None
    detectors: list[str]
    contradiction: str = ""
    also: list[Elsewhere] = []
    suspects: list[SuspectData] = []

    @property
    def environments(self) -> list[str]:
        """All environments that have it, by their names."""
        return sorted([self.environment, *(one.environment for one in self.also)])

    @property
    def rises(self) -> bool:
        """Whether values are larger after it."""
        return self.effect > 0


class Possible(msgspec.Struct, frozen=True, kw_only=True):
    """A lasting change, named where it may be as well: without its numbers, which every new commit at the level after it moves a little.

    ``commit`` is the likeliest one, the others are as in ``StepData``; ``rises``: values are larger after it.
    """

    word: str
    direction: str
    state: State
    rises: bool
    benchmark: str
    metric: str
    environment: str
    url: str
    commit: CommitData


class Overall(msgspec.Struct, frozen=True):
    """What several benchmarks have in common under one metric: the geometric mean of their effects, and of how many."""

    metric: str
    direction: str
    benchmarks: int
    effect: float
    change: str


class GroupData(msgspec.Struct, frozen=True):
    """A commit with its diff's files (``more`` of them are not listed) and the changes that are laid to it, the largest first.

    ``overall`` sums these up by metric and direction, the most benchmarks first.
    """

    commit: CommitData
    files: list[FileData]
    more: int
    steps: list[StepData]
    overall: list[Overall] = []


class CellData(msgspec.Struct, frozen=True):
    """A version of one series against the measured version before: ``text`` is ``=``, ``?``, ``+1.2 %``, ``-1.2 %``, ``N/A`` or ``new``.

    ``word`` is one of `perf check`, accepted, new, missing (not measured), or empty (not compared); ``value`` the level with its unit,
    ``detail`` what to say on hover.
    """

    word: str
    text: str
    value: str = ""
    detail: str = ""
    effect: float | None = None
    low: float | None = None
    high: float | None = None


class RowData(msgspec.Struct, frozen=True, kw_only=True):
    """One series in one environment (a number in the front page's list) with a cell per version, newest first.

    ``metric`` is what it is called, ``level`` the newest value with its unit, ``state`` the gravest of its changes (or empty); ``trace``
    are the newest levels relative to their mean, oldest first.
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
        found = LAST_PART.match(self.benchmark)
        return (found[1], found[2]) if found else ("", self.benchmark)

    @property
    def words(self) -> str:
        """The words of the cells, which the page filters by."""
        return "|".join(cell.word for cell in self.cells)


class Front(msgspec.Struct, frozen=True, kw_only=True):
    """The front page: its state in one ``sentence``, and the chart's rows (``left_out`` more are not drawn).

    ``versions`` are the newest measured commits of each environment, newest first, as many in each (None: there are no more); they are
    ``shared`` where all environments have the same.
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
    """All changes by commit, newest commit first: open ones, accepted ones, and what is past; ``left_out`` of these are not drawn."""

    open: list[GroupData]
    accepted: list[GroupData]
    past: list[GroupData]
    left_out: int = 0


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A step as a figure draws it: the same as ``StepData``, with numbers of the page's list of commits.

    A ``drift`` takes its commits from ``first`` to ``last``; a step is at ``place``, and may be at any of them.
    """

    place: int
    first: int
    last: int
    word: str
    drift: bool
    state: State
    reason: str
    effect: float
    low: float | None
    high: float | None
    before: float
    after: float


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a figure: a series in one environment, by columns.

    ``places`` are numbers in the page's list of commits, ascending; ``low`` and ``high`` are the 99 % interval of the level of one
    commit, None where there was one execution. ``effects`` compare with the place before, ``words`` are those of the cells. ``began``
    says why the series of the same benchmark before it could not go on (empty: there was none).
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
    began: str = ""
    profile: str | None = None


class Value(msgspec.Struct, frozen=True):
    """One commit's level for the table of the newest ones, in words."""

    commit: CommitData
    environment: str
    value: str
    interval: str
    executions: int
    cell: CellData


class Remark(msgspec.Struct, frozen=True):
    """What a series shows in one environment beside steps: that it switches, that its spread changed, an unusual newest value."""

    environment: str
    text: str


class SeriesData(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one benchmark's one metric in all environments; ``factor`` and ``scaled`` bring values to a readable unit.

    The commits that any of its tracks has come as columns, oldest first by ancestry: short id (its page is ``commits/ID.html``), day,
    author (a number in ``authors``) and title.
    """

    benchmark: str
    metric: str
    unit: str
    better: str
    factor: float
    scaled: str
    span: str
    authors: list[str]
    ids: list[str]
    days: list[str]
    author: list[int]
    titles: list[str]
    tracks: list[Track]
    steps: list[StepData]
    remarks: list[Remark]
    newest: list[Value]
    siblings: list[Link]
    notes: list[str]


class Link(msgspec.Struct, frozen=True):
    """Another page and what it is called."""

    name: str
    url: str


class MovedData(msgspec.Struct, frozen=True, kw_only=True):
    """One series in one environment that differs at a commit from the measured commit before it (``since``); one that is not on
    the published line has no ``url``."""

    benchmark: str
    metric: str
    environment: str
    url: str | None
    since: CommitData
    levels: str
    cell: CellData


class JobTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What a job did as a whole at a commit: the total of its ``series`` under one metric, of which so many became worse and better."""

    job: str
    environment: str
    metric: str
    series: int
    worse: int
    better: int
    change: str
    levels: str
    direction: str


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one commit: a ``sentence``, ``jobs`` as a whole, what moved there, those that matter most first, ``rest`` for all
    else, the ``next`` step; then lasting changes laid to it, and those that ``may`` be its. ``blamed``: what `perf blame` named.
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


class BranchData(msgspec.Struct, frozen=True, kw_only=True):
    """A branch or a pull request that is not merged: its ``newest`` measured commit against ``base``, a measured one before it.

    ``commits`` of it are not on the published line, ``measured`` of these have profiles. ``sentence`` sums the comparison up, ``word`` is
    its gravest verdict (empty: nothing is known). ``forge`` is its address on the web.
    """

    name: str
    url: str
    forge: str | None
    newest: CommitData
    base: CommitData | None
    commits: int
    measured: int
    sentence: str
    word: str


class BranchList(msgspec.Struct, frozen=True):
    """The page that lists branches and pull requests, the newest first."""

    branches: list[BranchData]


class BranchPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one branch: what moved on it, the largest first, and its measured commits (``more`` of them are not listed)."""

    branch: BranchData
    listed: list[CommitData]
    more: int
    moved: list[MovedData]
    left_out: int


class Benchmark(msgspec.Struct, frozen=True):
    """What one job runs, as the page about the site lists it."""

    label: str
    collector: str
    command: str
    pages: list[Link]


class About(msgspec.Struct, frozen=True, kw_only=True):
    """How the site was made: environments, benchmarks, and what could not be looked at, in words."""

    environments: list[EnvironmentData]
    benchmarks: list[Benchmark]
    notes: list[str]
