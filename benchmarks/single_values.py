"""What `perf check` says of single values along real histories without labels.

Each history is cut at random, and the newest 120 values up to each of 20 points in a row are judged,
without an addition and with +20 % in the newest one to five. A word holds if the median of the next 25
values keeps at least half of the difference; words with fewer than eight values after them are left
out. Series are split in two halves, so that what is chosen on one can be measured on the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import starmap
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np

from perfvcs.check.pastsessions import EarlierSessions
from perfvcs.check.samples.newestsession import Compared, NewestSession, newest_sessions

from .changepoints import asv_series
from .figures import Row
from .registry import benchmark
from .series_noise import Series

WINDOW, STRETCH, AFTER = 120, 20, 25  # values
DELTA = 0.01  # of times
MOST_HIGH = 5  # newest values that are raised


class Point(NamedTuple):
    """A place of a series whose value is the newest one."""

    series: Series
    place: int

    @property
    def window(self) -> Series:
        return self.series[self.place - WINDOW + 1 : self.place + 1]

    def holds(self, said: NewestSession) -> bool | None:
        """Whether what is said holds in the values after it; None where these are too few."""
        after = self.series[self.place + 1 : self.place + 1 + AFTER]
        if len(after) < 8:
            return None
        moved = np.median(after) - said.expected
        return bool(moved * np.sign(said.difference) > abs(said.difference) / 2)


def said_of(values: Series) -> NewestSession | None:
    """What the check says of the newest value and the one before; None where it says nothing."""
    commits = tuple(map(str, range(len(values))))
    past = EarlierSessions(tuple(values.tolist()), commits)
    (said,) = newest_sessions([Compared(past, *commits[-2:])])
    if said is None or abs(said.difference) < DELTA:
        return None
    return said


def said_with_high(point: Point, high: int) -> bool:
    """Whether the newest values are called worse with +20 % in so many of them."""
    raised = point.window.copy()
    raised[-high:] += log(1.2)
    said = said_of(raised)
    return said is not None and said.difference > 0


@benchmark("histories", quick="needs results of asv", needs=("results of asv",))
def single_values(*, results: Path, runs: int = 150, seed: int = 7) -> Iterator[Row]:
    """How many words are said of single values, how many of them hold, and is +20 % found?"""
    whole = [np.log(one) for one in asv_series(results) if len(one) > WINDOW + STRETCH]
    for half in (0, 1):
        rng = np.random.default_rng([seed, half])
        series = [one for turn, one in enumerate(whole) if turn % 2 == half]
        words, found = Counter[str](), Counter[int]()
        within = 0
        for _ in range(runs):
            chosen = series[int(rng.integers(len(series)))]
            end = int(rng.integers(WINDOW + STRETCH, len(chosen) + 1))
            points = [Point(chosen, place) for place in range(end - STRETCH, end)]
            words.update(starmap(_kind, ((point, said_of(point.window)) for point in points)))
            hits = [high for high in range(1, MOST_HIGH + 1) if said_with_high(points[-1], high)]
            found.update(hits)
            within += bool(hits)
        share = 1000 / (runs * STRETCH)
        yield {
            "half": half + 1,
            "points": runs * STRETCH,
            "words, per 1,000": share * (sum(words.values()) - words[""]),
            **{
                f"{word}, {end}": share * words[f"{word}, {end}"]
                for word in ("changed", "suspected")
                for end in ("holds", "does not")
            },
            **{f"+20 % in {high}, %": 100 * found[high] / runs for high in (1, 2, 3, 5)},
            "found within five, %": 100 * within / runs,
        }


def _kind(point: Point, said: NewestSession | None) -> str:
    """The word, and whether it holds; empty where nothing is said."""
    if said is None:
        return ""
    holds = point.holds(said)
    return f"{said.word}, {'unknown' if holds is None else 'holds' if holds else 'does not'}"
