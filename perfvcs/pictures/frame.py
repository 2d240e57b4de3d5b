"""The axes of a figure of a history and the words around it, decided once for every renderer.

Pages draw them with bokeh, terminals with characters, and the scripts of a site with SVG out of
the JSON of the same structs. Those scripts fit the value axis to what is in sight by the rule that
stands here, and a test compares both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from perfvcs.text.characters import shorten, usual_range
from perfvcs.text.quantity import Scale, numbers, percent, scale
from perfvcs.text.words import counted, metric_name

COMMITS_LABEL = "commit, oldest first"
TITLED_COMMITS = 12  # commits whose titles have room below an axis
TITLE_CHARACTERS = 20  # characters of such a title
NAME_CHARACTERS = 8  # characters of a commit's id
TICKS = 6  # numbers along an axis, about
LOGARITHMIC_RATIO = 4.0  # of the largest to the smallest value, from which logarithms help
DECADE = 10.0  # the same, above which the axis is logarithmic at first
SMALLEST_SPREAD = 5e-5  # of values, below which percents read as none
NARROWEST = 1e-300  # of an axis
NARROWEST_RATIO = 1.002  # of the end of a logarithmic axis to the farthest value
DAY = re.compile(r"\d{4}-\d\d-\d\d")  # ISO 8601


class AxisRule(msgspec.Struct, frozen=True):
    """How far a value axis goes. It spans at least the share ``least`` of its middle, so that noise
    of a percent is no mountain; intervals take at most the share ``room`` of the centres' range on
    either side, since those of few executions can be enormous; ``air`` is left beyond both. A
    centre that is further from those around it on its line than the line's last one is from 0 does
    not count: it stands at the edge.

    On a logarithmic axis the air is the power ``log_air`` of the ratio of the ends.
    """

    least: float = 0.02
    room: float = 0.75
    air: float = 0.06
    log_air: float = 0.08

    def linear(self, low: float, high: float, ends: Iterable[float]) -> tuple[float, float]:
        """The ends of an axis for centres that go from ``low`` to ``high`` and the ``ends`` of
        their intervals.
        """
        least = self.least * abs(low / 2 + high / 2)
        span = max(high - low, least, NARROWEST)
        listed = list(ends)
        bottom = max(min([low, *listed]), low - self.room * span) - self.air * span
        top = min(max([high, *listed]), high + self.room * span) + self.air * span
        spare = max(0.0, least - (top - bottom)) / 2
        return bottom - spare, top + spare

    def usual(self, lines: Sequence[Sequence[float]]) -> tuple[float, float]:
        """The lowest and the highest centre that counts."""
        ranges = [usual_range(line, abs(line[-1])) for line in lines if len(line)]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def logarithmic(self, low: float, high: float) -> tuple[float, float]:
        """The same of a logarithmic axis; the centres are positive."""
        air = max(NARROWEST_RATIO, (high / low) ** self.log_air)
        return low / air, high * air


RULE = AxisRule()


class ValueAxis(msgspec.Struct, frozen=True, kw_only=True):
    """The axis of values, called ``label``, with about so many ``ticks``.

    The ends are in the metric's unit; values times ``factor`` are in ``unit``. ``log`` are those of
    a logarithmic axis, None where some value is not positive; ``wide``: values are so far apart
    that it helps, ``decades``: so far that it comes first. ``rule`` fits the ends to what is in
    sight.
    """

    label: str
    unit: str
    factor: float
    low: float
    high: float
    log: tuple[float, float] | None
    wide: bool
    decades: bool
    ticks: int = TICKS
    rule: AxisRule = RULE


class HistoryFrame(msgspec.Struct, frozen=True, kw_only=True):
    """The axes of a figure: commits by their ``names`` along ``start`` to ``end``, and values.

    ``extent`` says how many commits there are and of which days, ``changes`` counts what changed
    for good, ``ranges`` say how much is drawn and how far the values range, ``cut`` that the axis
    of values does not begin at 0, ``beyond`` how many values stand at its edge, and ``notes`` what
    else is not as one would think.
    """

    names: list[str]
    start: float
    end: float
    values: ValueAxis
    extent: str
    changes: list[str]
    ranges: list[str]
    cut: str
    beyond: str
    notes: list[str]

    @property
    def caption(self) -> list[str]:
        """What is said below the figure."""
        return [*self.ranges, *filter(None, [self.cut, self.beyond]), *self.notes]


@dataclass(frozen=True)
class FramedLine:
    """The values of one environment: the centre of each commit, and the ends of its interval, None
    where one execution has none; both are empty where no commit has one.
    """

    centres: Sequence[float]
    low: Sequence[float | None]
    high: Sequence[float | None]


class FramedCommit(NamedTuple):
    """A commit along the axis."""

    id: str
    title: str


def frame(
    metric: str,
    unit: str,
    lines: Sequence[FramedLine],
    commits: Sequence[FramedCommit],
    *,
    every: int,
    days: Sequence[str],
    changes: Iterable[str] | None = None,
    notes: Sequence[str] = (),
) -> HistoryFrame:
    """The frame of some lines, of which at least one has a value, over ``commits``.

    ``changes`` are the names of all that changed for good, None where that was not looked for.

    Of ``every`` measured commit these are the newest; ``days`` are those of all, ISO 8601.
    """
    middle = sorted(abs(centre) for line in lines for centre in line.centres)
    values = value_axis(metric, lines, scale(middle[len(middle) // 2], unit))
    extent = f"{every:,} commits{_span(days)}"
    ranges = [f"the newest {len(commits):,} drawn"] if len(commits) < every else []
    alone = any(len(line.low) < len(line.centres) or None in line.low for line in lines)
    interval_notes = ["commits with fewer than three executions have no interval"] if alone else []
    cut = "the axis does not begin at 0" if values.low > 0 or values.high < 0 else ""
    far = sum(not values.low <= centre <= values.high for line in lines for centre in line.centres)
    beyond = f"{counted(far, 'value')} beyond the axis, at its edge" if far else ""
    if every <= 1:
        extent = "one commit: no history yet"
    tally = [] if changes is None else _tally(changes)
    return HistoryFrame(
        names=names(commits),
        start=-0.7,
        end=len(commits) - 0.3,
        values=values,
        extent=extent,
        changes=tally,
        ranges=[*ranges, *_ranges(lines, values)],
        cut=cut,
        beyond=beyond,
        notes=list(dict.fromkeys([*interval_notes, *notes])),
    )


def _tally(changes: Iterable[str]) -> list[str]:
    """``2 lasting degradations``; or that there is none."""
    words = Counter(changes)
    return [counted(count, word) for word, count in words.items()] or ["no lasting change"]


def value_axis(metric: str, lines: Sequence[FramedLine], chosen: Scale) -> ValueAxis:
    """The axis of the values of some lines, in the unit that was chosen."""
    centres = [line.centres for line in lines]
    ends = (end for line in lines for end in (*line.low, *line.high) if end is not None)
    least, most = RULE.usual(centres)
    low, high = RULE.linear(least, most, ends)
    positive = least > 0 and all(min(line, default=1.0) > 0 for line in centres)
    ratio = most / least if positive else 1.0
    return ValueAxis(
        label=f"{metric_name(metric)} ({chosen.unit})".replace(" ()", ""),
        unit=chosen.unit,
        factor=chosen.factor,
        low=low,
        high=high,
        log=RULE.logarithmic(least, most) if positive else None,
        wide=ratio >= LOGARITHMIC_RATIO,
        decades=ratio > DECADE,
    )


def names(commits: Sequence[FramedCommit]) -> list[str]:
    """What stands below the axis: the titles of few commits, the ids of more."""
    if len(commits) > TITLED_COMMITS:
        return [commit.id[:NAME_CHARACTERS] for commit in commits]
    return [
        shorten(commit.title, TITLE_CHARACTERS) or commit.id[:NAME_CHARACTERS] for commit in commits
    ]


def _span(days: Sequence[str]) -> str:
    """``, 2024-01-03 to 2024-06-30``; empty where these are one, or no days."""
    first, last = min(days), max(days)
    dated = DAY.fullmatch(first) and DAY.fullmatch(last)
    return f", {first} to {last}" if dated and first != last else ""


def _ranges(lines: Sequence[FramedLine], axis: ValueAxis) -> list[str]:
    """``values from 12.9 to 14.7 ms, 14 % apart``; of several environments, how far they are apart
    in one at most, since machines of several speeds are no change.
    """
    centres = [centre for line in lines for centre in line.centres]
    if len(centres) < 2:
        return []
    low, high = min(centres), max(centres)
    least, most = numbers([end * axis.factor for end in (low, high)])
    if low == high:
        return [f"all values are {least} {shorten(axis.unit, 24)}".rstrip()]
    reach = f"values from {least} to {most} {shorten(axis.unit, 24)}".rstrip()
    if low <= 0:
        return [reach]
    widest = max(max(line.centres) / min(line.centres) for line in lines if len(line.centres))
    several = sum(len(line.centres) > 0 for line in lines) > 1
    if widest - 1 < SMALLEST_SPREAD:
        same = "each environment" if several else "all commits"
        return [f"{reach}, nearly the same in {same}"]
    apart = f"{percent(widest - 1).removeprefix('+')} apart"
    return [f"{reach}, {f'up to {apart} in one environment' if several else apart}"]
