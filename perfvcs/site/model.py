"""Data that several pages of a published site share, for templates and for JSON: commits, changes,
cells.

Texts are short, on one line, and safe to print (``perfvcs.text.characters.shorten``); they still
have to be escaped where they are written. Addresses (``url``) are relative to the top of the site,
``None`` where there is no page. Values are in the metric's unit, effects are after/before - 1 with
their 99 % interval ``low``..``high``; what is unknown is None, and every number is finite.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.history.triage import ChangeState
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.history.record import SeriesRecord


SIGNIFICANT_DIGITS = 6  # significant ones
LARGEST_EXPONENT = 700.0  # exp of more is beyond a float
LIMIT = 300  # the largest power of ten
SITE_FORMAT = "perfvcs-site/3"  # of the JSON of pages


class SeriesDrawing(NamedTuple):
    """One series as a figure draws it, one element per commit: levels with their intervals, changes
    to the one before, and their words.
    """

    levels: Floats
    low: Floats
    high: Floats
    effects: Floats
    words: list[str]


def drawings(all_series: Sequence[SeriesRecord]) -> list[SeriesDrawing]:
    """The drawings of series, in their order."""
    levels = np.concatenate([series.levels for series in all_series])
    reach = np.concatenate([series.reach for series in all_series])
    bounds = np.exp(levels - reach), np.exp(np.minimum(levels + reach, LARGEST_EXPONENT))
    ends = np.cumsum([len(series.places) for series in all_series])[:-1]
    columns = zip(
        *(np.split(rounded(column), ends) for column in (np.exp(levels), *bounds)), strict=True
    )
    return [
        SeriesDrawing(level, low, high, *_compared(series))
        for (level, low, high), series in zip(columns, all_series, strict=True)
    ]


def _compared(series: SeriesRecord) -> tuple[Floats, list[str]]:
    """The effects of a series' commits against the one before (NaN: unknown), and the words."""
    effects, words = np.full(len(series.places), np.nan), [""] * len(series.places)
    words[0] = "new"
    for turn, verdict in series.verdicts.items():
        words[turn] = series.word(turn)
        if verdict.effect is not None:
            effects[turn] = verdict.effect
    return effects.round(SIGNIFICANT_DIGITS), words


def rounded(column: Floats, digits: int = SIGNIFICANT_DIGITS) -> Floats:
    """Numbers rounded to significant digits, for short text; powers of ten exact up to 1e22."""
    size = np.abs(column)
    there = np.where(size > 0, size, 1)  # not where it is NaN either
    exponents = np.clip(digits - 1 - np.floor(np.log10(there)), -LIMIT, LIMIT).astype(np.int64)
    up, down = _powers()[np.maximum(exponents, 0)], _powers()[np.maximum(-exponents, 0)]
    short: Floats = np.round(column * up / down) * down / up
    return short


@cache
def _powers() -> Floats:
    return np.array([10.0**power for power in range(LIMIT + 1)])


def known(column: Floats) -> list[float | None]:
    """The numbers of a column, None if there is none."""
    values: list[float | None] = column.tolist()
    for turn in np.flatnonzero(np.isnan(column)).tolist():
        values[turn] = None
    return values


class SiteData(msgspec.Struct, frozen=True):
    """Data of every page: the project's title, the program that made the site, and the path
    ``root`` from the page to the top (``../``).

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
    """One file of a commit's diff: ``status`` is git's letter (A, M, D, or T: type changed)."""

    status: str
    path: str


class EnvironmentData(msgspec.Struct, frozen=True):
    """An environment: a short name that distinguishes it from the others, and its facts.

    ``retired``: the day of its newest commit, where nothing is measured there any more; else empty.
    """

    name: str
    fingerprint: str
    fields: dict[str, str]
    retired: str = ""


class Elsewhere(msgspec.Struct, frozen=True):
    """The same change in another environment: its effect and its levels, in words."""

    environment: str
    change: str
    levels: str


class SuspectData(msgspec.Struct, frozen=True):
    """A commit that may have made a change, and why: functions and files."""

    commit: CommitData
    why: str


class StepData(msgspec.Struct, frozen=True, kw_only=True):
    """A lasting change of one series in one environment.

    ``word`` and ``direction`` are degradation or improvement. ``state``:
    ``open`` is a degradation that is in force and not accepted, ``over`` one that is no longer in
    force; ``reason`` says why it is accepted, over, or to be checked. It may be in any of the
    ``commits`` from ``first`` to ``last`` (short ids), most likely in ``commit``. ``change`` and
    ``levels`` are texts. Lists by commit have a change once, in the environment where it is
    largest, and name ``also`` the others. ``suspects`` are the likeliest of several commits, by
    what they change.
    """

    word: str
    direction: str
    state: ChangeState
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
        return sorted([self.environment, *(step.environment for step in self.also)])


class Possible(msgspec.Struct, frozen=True, kw_only=True):
    """A lasting change, named where it may be as well: without its numbers, which every new commit
    at the level after it moves a little.

    ``commit`` is the likeliest one, the others are as in ``StepData``.
    """

    word: str
    direction: str
    state: ChangeState
    benchmark: str
    metric: str
    environment: str
    url: str
    commit: CommitData


class OverallData(msgspec.Struct, frozen=True):
    """The geometric mean of the effects of several benchmarks on one metric, and their number."""

    metric: str
    direction: str
    benchmarks: int
    effect: float
    change: str


class GroupData(msgspec.Struct, frozen=True):
    """A commit with its diff's files (``more`` of them are not listed) and the changes that are
    laid to it, the largest first.

    ``overall`` sums these up by metric and direction, the most benchmarks first.
    """

    commit: CommitData
    files: list[FileData]
    more: int
    steps: list[StepData]
    overall: list[OverallData] = []


class CellData(msgspec.Struct, frozen=True):
    """A version of one series against the measured version before: ``text`` is ``=``, ``?``, ``+1.2
    %``, ``-1.2 %``, ``N/A`` or ``new``.

    ``word`` is one of `perf check`, accepted, new, missing (not measured), or empty (not compared);
    ``value`` the level with its unit, ``detail`` what to say on hover. ``finding`` is what the
    method found beyond the effect of what moved, or what it is an effect against.
    """

    word: str
    text: str
    value: str = ""
    detail: str = ""
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    finding: str = ""


class Link(msgspec.Struct, frozen=True):
    """Another page and what it is called."""

    name: str
    url: str


class MovedData(msgspec.Struct, frozen=True, kw_only=True):
    """One series in one environment that differs at a commit from the measured commit before it
    (``since``); one that is not on the published line has no ``url``. ``accept`` is its id for
    `perf accept` (empty: there is nothing to accept). ``lasting``: a lasting change of the series
    is laid to the commit, and the page shows the figures of that one only.
    """

    benchmark: str
    metric: str
    environment: str
    url: str | None
    since: CommitData
    levels: str
    cell: CellData
    accept: str = ""
    lasting: bool = False


class JobTotal(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of a commit on a job: the whole, or the total of its ``series``, under one metric;
    how many became worse and better.
    """

    job: str
    environment: str
    metric: str
    series: int
    worse: int
    better: int
    change: str
    levels: str
    direction: str


class BranchData(msgspec.Struct, frozen=True, kw_only=True):
    """A branch or a pull request that is not merged: its ``newest`` measured commit against
    ``base``, a measured one before it.

    ``commits`` of it are not on the published line, ``measured`` of these have profiles.
    ``sentence`` sums the comparison up, ``word`` is its gravest verdict (empty: nothing is known).
    ``forge`` is its address on the web.
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
