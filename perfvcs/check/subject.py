"""What a page is about: profiles of one revision or two, a report, or series over commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perfvcs.check import Change, Report
from perfvcs.profile import Profile


@dataclass(frozen=True)
class Point:
    """One commit in the history of one unit's metric: centre and 99 % interval of the log-median,
    in the metric's unit.

    ``low`` and ``high`` are None with a single execution; ``verdict`` is the word against the
    measured commit before (``accepted`` where the project has accepted it), or empty, with its
    ``effect`` and its interval, and the ``reason`` for an acceptance or an open verdict.
    ``medians`` are those of the executions. ``aside``: on a branch that was merged, so that it does
    not stand between its neighbours.
    """

    commit: str
    title: str
    author: str
    when: str
    executions: int
    centre: float
    low: float | None
    high: float | None
    verdict: str = ""
    effect: float | None = None
    effect_low: float | None = None
    effect_high: float | None = None
    reason: str = ""
    aside: bool = False
    medians: Sequence[float] = ()


@dataclass(frozen=True)
class Level:
    """The commits ``first`` to ``last``, between which nothing changed for good: their centre and
    its 99 % interval, None if unknown.
    """

    first: str
    last: str
    centre: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Step:
    """A lasting change of a series, as `perf history` finds it.

    ``word`` is degradation or improvement, and so is ``direction``. It may be in any of the
    ``commits`` from ``first`` to ``last``, most likely in ``commit``. ``effect`` is after/before -
    1 with its 99 % interval, None if unknown; ``accepted`` the reason for which the project has
    accepted it. ``contradiction`` says what the series and the verdicts measured in turns disagree
    about, ``p`` is None where the change is exact. ``levels`` are those in words that are to be
    shown, where they are not ``before`` and ``after``; ``standing`` says why it is to be checked,
    or over.
    """

    commit: str
    word: str
    direction: str
    first: str
    last: str
    commits: int
    before: float
    after: float
    effect: float
    low: float | None
    high: float | None
    p: float | None
    detectors: Sequence[str]
    accepted: str | None = None
    contradiction: str = ""
    levels: str = ""
    standing: str = ""


@dataclass(frozen=True)
class Series:
    """The history of one unit's metric; points are ordered by ancestry, oldest first.

    ``levels`` and ``steps`` are along the first parents, on commits that have points, oldest first.
    ``begins`` says why an older series of the same benchmark ended where this one begins.
    ``remarks`` say in words what else it shows: that it switches between levels, that its spread
    changed, and that its newest value is not a usual one.
    """

    label: str
    uid: str
    size: float | None
    metric: str
    unit: str
    better: str
    environment: str
    points: Sequence[Point]
    levels: Sequence[Level] = ()
    steps: Sequence[Step] = ()
    begins: str = ""
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Subject:
    """What a page is about; a view takes what it needs of it.

    ``baseline`` is empty for a page about one revision; ``report`` is there when two were compared;
    ``history`` for series. ``verdict`` is that on the one benchmark and metric which a page has cut
    out. ``notes`` say what was left out. ``causes`` is what is known of the reasons why a unit of a
    job moved, ``following`` what else is to be said of two revisions and what to do next.
    ``sources`` are the addresses of files that call stacks name, behind which a line's number may
    follow.
    """

    title: str
    target: Sequence[Profile] = ()
    baseline: Sequence[Profile] = ()
    report: Report | None = None
    history: Sequence[Series] = ()
    verdict: Change | None = None
    notes: Sequence[str] = ()
    causes: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    following: Sequence[str] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
