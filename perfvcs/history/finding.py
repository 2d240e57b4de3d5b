"""What a series shows, in words of the project: steps with their commits, and its newest value."""

from __future__ import annotations

from math import exp, expm1, isfinite
from typing import TYPE_CHECKING, Literal

import msgspec

from perfvcs.check.text import NAME_WIDTH
from perfvcs.check.vocabulary import direction
from perfvcs.profile.naming import labelled
from perfvcs.statistics.changepoints.steps import TURNS, ChangePoint
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import at_sizes, change, quantities, share, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.history.judging import JudgedLine
    from perfvcs.history.record import SeriesRecord
    from perfvcs.index.lines import Course, Line


COMMITS_AROUND = 12  # commits shown on each side of a step
LARGEST_EXPONENT = 700.0  # exp of more is beyond a float

Direction = Literal["degradation", "improvement"]
ID_CHARACTERS = 10  # characters of a commit's id


class CurveLevels(msgspec.Struct, frozen=True):
    """What a verdict on a curve says before and after, over ``sizes``, in the metric's unit."""

    sizes: tuple[float, float]
    before: float
    after: float


class Finding(msgspec.Struct, frozen=True):
    """A step of one line.

    ``commit`` is the likeliest one; it may be any of the ``commits`` from
    ``first`` to ``last``, those that were not measured among them. ``effect`` is after/before - 1
    with its 99 % interval ``low``..``high`` (None: unknown), ``before`` and ``after`` are levels in
    the metric's unit, ``around`` those of the single commits nearby. ``turn`` is the likeliest
    commit's place in the history. A step that a verdict measured in turns has settled has ``turns``
    among its ``detectors``, and that verdict's numbers; its levels are in ``curve`` where it is on
    a curve, of which the series knows one value per commit. ``preceding`` is the last commit that
    was measured before ``first``; empty where none was. ``contradiction`` says in words what the
    series and the verdicts measured in turns disagree about; empty where they do not. ``rank`` is
    its place among the findings of its commit, as `perf check` has them.
    """

    line: Line
    turn: int
    commit: str
    first: str
    last: str
    commits: int
    effect: float
    low: float | None
    high: float | None
    before: float
    after: float
    p: float | None
    detectors: tuple[str, ...]
    around: tuple[float, ...]
    preceding: str
    contradiction: str = ""
    curve: CurveLevels | None = None
    rank: int = 0

    @property
    def judged_levels(self) -> tuple[float, float]:
        """Before and after, of a curve as its verdict says."""
        judged = self.curve or self
        return judged.before, judged.after

    @property
    def levels(self) -> str:
        """``5.9 -> 13.5 us at sizes 1,900 to 2,000``: the levels, a curve's with their sizes."""
        sizes = f" {at_sizes(self.curve.sizes)}" if self.curve else ""
        return step(*self.judged_levels, self.line.unit) + sizes

    @property
    def direction(self) -> Direction:
        """Whether it became worse, as the metric says."""
        return direction(self.line, self.effect)

    @property
    def word(self) -> Direction:
        """What it is called: its direction."""
        return self.direction

    @property
    def denied(self) -> bool:
        """Whether the series shows a step where its commits, measured in turns, are the same."""
        return bool(self.contradiction) and TURNS not in self.detectors


class Newest(msgspec.Struct, frozen=True):
    """The newest value of a line, which is not what one more value at the present level would be.

    ``commit`` is the newest measured one, ``value`` and the level ``expected`` are in the metric's
    unit, ``low``..``high`` is where one more value would be but for a ``chance`` of 1 in 1,000;
    ``support`` counts the earlier values. ``word``: the direction, or ``suspected`` where it is
    alone, and too few support the level or chance is not below 1 in 10,000. ``since`` is the first
    of the newest values that are all unusual.
    """

    line: Line
    turn: int
    commit: str
    since: str
    word: Literal["degradation", "improvement", "suspected"]
    effect: float
    value: float
    expected: float
    low: float
    high: float
    chance: float
    support: int


def described(
    line: Line, course: Course, point: ChangePoint, low: float, high: float, commits: Sequence[str]
) -> Finding:
    """A step of a line's course along ``commits``, with the ends of its interval."""
    places = course.places
    turn = places[point.place]
    last = places[point.last]
    preceding = places[point.first - 1] if point.first else None
    # What came after the last measured commit at the old level is under suspicion, measured or not.
    first = places[0] if preceding is None else preceding + 1
    before_it = "" if preceding is None else commits[preceding]
    p = point.p if isfinite(point.p) else None
    around = course.levels[max(0, point.place - COMMITS_AROUND) : point.place + COMMITS_AROUND]
    return Finding(
        line=line,
        turn=turn,
        commit=commits[turn],
        first=commits[first],
        last=commits[last],
        commits=last - first + 1,
        effect=moved(point.effect),
        low=relative(low),
        high=relative(high),
        before=level(point.before),
        after=level(point.after),
        p=p,
        detectors=point.detectors,
        around=tuple(map(level, around)),
        preceding=before_it,
    )


def level(logarithm: float) -> float:
    """A level in the metric's unit."""
    return exp(min(logarithm, LARGEST_EXPONENT))


def relative(difference: float) -> float | None:
    """A difference of logarithms as after/before - 1; None where it is beyond a float."""
    return expm1(difference) if isfinite(difference) and difference < LARGEST_EXPONENT else None


def moved(difference: float) -> float:
    """``relative`` of what was found to change: as large as a float can be where it is beyond
    one, so that its direction is still known.
    """
    return expm1(min(difference, LARGEST_EXPONENT))


def title(line: Line) -> str:
    """What a line's benchmark is called."""
    return shorten(labelled(line.job.label, line.uid, line.size), NAME_WIDTH)


class SeriesFields(msgspec.Struct, frozen=True):
    """Which series a row of a document is about; ``environment`` is a fingerprint."""

    benchmark: str
    job: str
    uid: str
    size: float | None
    metric: str
    unit: str
    better: str
    key: str
    environment: str

    @classmethod
    def of(cls, line: Line) -> SeriesFields:
        """The fields of a line."""
        return SeriesFields(
            benchmark=title(line),
            job=line.job.label,
            uid=line.uid,
            size=line.size,
            metric=line.metric,
            unit=line.unit,
            better=line.better,
            key=line.job.key,
            environment=line.environment.fingerprint,
        )


def remarks_of(series: JudgedLine | SeriesRecord) -> list[str]:
    """The remarks on one line."""
    return [newest(series.newest)] if series.newest else []


def newest(finding: Newest) -> str:
    """``degradation at the newest commit abc1234: 12.3 ms, +20 % ...``."""
    unit = finding.line.unit
    word: str = finding.word
    if word == "suspected":
        word = f"suspected {direction(finding.line, finding.effect)}"
    since = f", since {finding.since[:ID_CHARACTERS]}" if finding.since != finding.commit else ""
    effect = change(finding.effect, None, None)
    value, expected, low, high = quantities(
        [finding.value, finding.expected, finding.low, finding.high], unit
    )
    return (
        f"{word} at the newest commit {finding.commit[:ID_CHARACTERS]}{since}:"
        f" {value}, {effect} against the level of {expected}, where 99.9 % of single values are"
        f" from {low} to {high}{_doubt(finding)}"
    )


def _doubt(finding: Newest) -> str:
    """Why a newest value is only suspected."""
    if finding.word != "suspected":
        return ""
    from perfvcs.statistics.changepoints.newest import SUPPORT

    few = f"only {finding.support} earlier values are at this level"
    chance = f"a value as far away has a chance of {share(finding.chance)}"
    return (
        f"; {few if finding.support < SUPPORT else chance}, and the next commit confirms or"
        " withdraws it"
    )
