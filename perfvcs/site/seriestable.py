"""The front page's table: every series with its level now, its change since a release and over
time, how far its commits scatter, and its course on an axis of time that all share.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import takewhile
from math import exp, expm1, log
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.check.vocabulary import direction
from perfvcs.pictures.present import NEWEST, scatter
from perfvcs.site.figures import metric
from perfvcs.site.model import LARGEST_EXPONENT
from perfvcs.site.pages import ListedSeries, SinceChange
from perfvcs.site.seriesnow import TAG
from perfvcs.system.numeric import Floats, np
from perfvcs.text.characters import shorten, usual_range
from perfvcs.text.quantity import percent, quantity
from perfvcs.text.words import metric_rank

if TYPE_CHECKING:
    from perfvcs.history.record import SeriesRecord
    from perfvcs.site.contents import Contents

DAY = 86_400.0  # seconds
SPANS = {"90 days": 90 * DAY, "a year": 365 * DAY}
PARTS = 96  # of the axis of time
LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
EARLY = 0.01  # of the commits, which share the first part: one of long ago would take half the axis
EMPTY = "."  # a part of time without a value
BEYOND = "-+"  # a level far below and far above all others, which stands at the edge
NARROWEST = log(1.1)  # from the bottom to the top of a course: less is noise to the eye
APART = "./:·, _[("  # between the parts of a name


class Cut(NamedTuple):
    """A moment to compare with: how it is called, and how many measured commits are up to it."""

    name: str
    measured: int


def cuts(contents: Contents, when: Floats) -> list[Cut]:
    """The newest release after which something was measured, and moments before the newest
    commit, as far as the history reaches; ``when`` measured commits were made, in seconds.
    """
    record = contents.record
    found = []
    for place, tag in reversed(contents.tags):
        if record.measured[0] <= place < record.measured[-1]:
            count = bisect_right(record.measured, place)
            found.append(Cut(shorten(tag, TAG), count))
            break
    for name, seconds in SPANS.items():
        count = int(np.searchsorted(when, when[-1] - seconds, side="right"))
        if count:
            found.append(Cut(name, count))
    return found


def times(contents: Contents) -> Floats:
    """When measured commits were made, in seconds that never fall."""
    record = contents.record
    moments = [_seconds(record.details[record.commits[place]].when) for place in record.measured]
    known = np.array(moments, dtype=np.float64)
    known[~np.isfinite(known)] = -np.inf
    made = np.maximum.accumulate(known)
    return np.where(np.isfinite(made), made, 0.0)


def _seconds(when: str) -> float:
    try:
        moment = datetime.fromisoformat(when)
    except ValueError:
        return float("nan")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def rows(contents: Contents, since: list[Cut], when: Floats) -> list[ListedSeries]:
    """A row per series that was measured last on its page and environment: those that are still
    measured, then those that ended, each in the order of their names.
    """
    numbers = _current(contents)
    strips = _strips(contents, numbers, when)
    listed = [
        _row(contents, number, since, strip) for number, strip in zip(numbers, strips, strict=True)
    ]
    order = [_order(contents, number) for number in numbers]
    return [row for _, row in sorted(zip(order, listed, strict=True), key=lambda pair: _key(*pair))]


def _key(order: tuple[object, ...], row: ListedSeries) -> tuple[object, ...]:
    return bool(row.ended), *order


def _current(contents: Contents) -> list[int]:
    """The series that was measured last, for each page and environment."""
    newest: dict[tuple[str, str], int] = {}
    for number, series in enumerate(contents.record.series):
        place = (contents.urls[number], series.line.environment.fingerprint)
        other = newest.get(place)
        if other is None or contents.record.series[other].places[-1] <= series.places[-1]:
            newest[place] = number
    return list(newest.values())


def _order(contents: Contents, number: int) -> tuple[object, ...]:
    line = contents.record.series[number].line
    size = -1.0 if line.size is None else line.size
    turn = [*contents.environments].index(line.environment.fingerprint)
    return line.job.label, line.uid, size, metric_rank(line.metric), turn


def _row(contents: Contents, number: int, since: list[Cut], strip: str) -> ListedSeries:
    series = contents.record.series[number]
    places = contents.record.turns(series.places)
    begin = _begin(series, int(series.places[-1]))
    level = _level(series, begin, len(places))
    apart = scatter(np.exp(np.minimum(series.levels[begin:], LARGEST_EXPONENT)).tolist())
    states = {standing.state for standing in contents.statuses[number]}
    return ListedSeries(
        benchmark=contents.benchmark(series),
        metric=metric(series),
        better=series.line.better,
        environment=contents.environment(series).name,
        url=contents.urls[number],
        state=next((state for state in ("open", "accepted") if state in states), ""),
        level=quantity(exp(level), series.line.unit),
        value=level,
        since=[
            _since(contents, number, level, cut, int(np.searchsorted(places, cut.measured)))
            for cut in since
        ],
        scatter=None if apart is None else float(f"{apart:.2g}"),
        strip=strip,
        ended=contents.ended(number),
    )


def _since(
    contents: Contents, number: int, level: float, cut: Cut, turn: int
) -> SinceChange | None:
    """The change of a series to its ``level`` since value number ``turn``; None without values."""
    series = contents.record.series[number]
    if not 0 < turn < len(series.places):
        return None
    start = contents.record.measured[cut.measured - 1]
    effect = level - _level(series, _begin(series, start), turn)
    later = {found.direction for found in series.findings if found.turn > start}
    way = direction(series.line, effect)
    word = way if effect and way in later else ""
    share = expm1(min(effect, LARGEST_EXPONENT))
    return SinceChange(percent(share), float(f"{share:.3g}"), word)


def _begin(series: SeriesRecord, place: int) -> int:
    """The turn at which the level of a series at a place begins: that of the last change so far."""
    changes = [finding.turn for finding in series.findings if finding.turn <= place]
    return int(series.places.searchsorted(max(changes, default=0)))


def _level(series: SeriesRecord, start: int, end: int) -> float:
    """The median of the newest values between two turns, a logarithm."""
    newest: list[float] = series.levels[max(start, end - NEWEST) : end].tolist()
    return median(newest)


def first_place(contents: Contents) -> int:
    """The commit at which strips begin; those before share their first part."""
    measured = contents.record.measured
    return measured[int(EARLY * len(measured))]


def _strips(contents: Contents, numbers: list[int], when: Floats) -> Iterator[str]:
    """The course of each series: its mean level in every part of time, from the lowest (0) to the
    highest (z), a point where it has none, and a sign where it lies far from all others.
    """
    record = contents.record
    start = record.measured.index(first_place(contents))
    if when[-1] > when[start]:
        part = np.maximum(when - when[start], 0) / (when[-1] - when[start])
    else:  # dates that say nothing: by order
        part = np.arange(len(when)) / max(1, len(when) - 1)
    part = np.minimum((part * PARTS).astype(np.int64), PARTS - 1)
    letters = np.array([*LEVELS, EMPTY, *BEYOND])
    for number in numbers:
        series = record.series[number]
        at = part[record.turns(series.places)]
        count = np.bincount(at, minlength=PARTS)
        with np.errstate(invalid="ignore"):
            means = np.bincount(at, series.levels, minlength=PARTS) / count
        low, high = usual_range(means[count > 0].tolist(), NARROWEST)
        air = max(0.0, NARROWEST - (high - low)) / 2
        scaled = (np.clip(means, low, high) - low + air) / max(high - low, NARROWEST)
        steps = np.round(np.nan_to_num(scaled) * (len(LEVELS) - 1)).astype(np.int64)
        beyond = (means > high).astype(np.int64) - (means < low)
        marks = np.where(beyond, len(LEVELS) + 1 + (beyond > 0), steps)
        yield "".join(letters[np.where(count > 0, marks, len(LEVELS))].tolist())


def prefix(names: list[str]) -> str:
    """What all names begin with, up to where one of their parts ends; empty of a single name."""
    if len(set(names)) < 2:
        return ""
    same = "".join(
        letters[0]
        for letters in takewhile(lambda some: len({*some}) == 1, zip(*names, strict=False))
    )
    cut = max(same.rfind(mark) for mark in APART) + 1
    # a bare number is no name
    return "" if all(name[cut : cut + 1].isdigit() for name in names) else same[:cut]
