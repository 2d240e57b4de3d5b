"""Counted words, and what metrics and benchmarks are called."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from perfvcs.text.characters import shorten

Name = TypeVar("Name", bound=Hashable)

METRICS = {
    "wall": "wall time",
    "cpu": "CPU time",
    "maxrss": "peak memory",
    "run_delay": "run-queue delay",
    "site_bytes": "allocated bytes",  # of a call stack, as the next three
    "site_count": "allocations",
    "site_peak": "bytes at the peak",
    "site_leaked": "bytes not freed",
}
CLOCKS = ("wall", "cpu")
COUNTS = ("instructions", "bytecodes")  # metrics that count all that a program executes
FIRST_METRICS = (*CLOCKS, "maxrss")
PLURALS = {  # of words that have one
    "degradation": "degradations",
    "improvement": "improvements",
    "limit exceeded": "limits exceeded",
}
ELLIPSIS = "…"  # what ``shorten`` puts in the middle of a long name


def wordset(text: str) -> frozenset[str]:
    """The words of a text: a set that would take a line for each of them.

    >>> sorted(wordset("sort qsort"))
    ['qsort', 'sort']
    """
    return frozenset(text.split())


def plural(count: int, noun: str, several: str = "") -> str:
    """A noun as it stands behind a number.

    >>> plural(1, "step"), plural(0, "step"), plural(2, "entry", "entries")
    ('step', 'steps', 'entries')
    """
    return noun if count == 1 else several or f"{noun}s"


def counted(count: int, noun: str, several: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "step"), counted(1200, "step"), counted(2, "entry", "entries")
    ('1 step', '1,200 steps', '2 entries')
    """
    return f"{count:,} {plural(count, noun, several)}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of some files, and how many there are beyond; safe for a terminal.

    >>> listed(["a.c"]), listed(["a.c", "b.c", "c.c", "d.c", "e.c"])
    ('a.c', 'a.c, b.c, c.c and 2 more')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shorten(name, 60) for name in names[:most]) + more


def tallied(words: Iterable[tuple[str, int]]) -> str:
    """Words of verdicts with their numbers.

    >>> tallied([("degradation", 2), ("same", 3)])
    '2 degradations, 3 same'
    """
    return ", ".join(counted(count, word, PLURALS.get(word, word)) for word, count in words)


def metric_name(metric: str) -> str:
    """What a metric is called in headings; an unknown one keeps its name."""
    return METRICS.get(metric, metric)


def newest_first(name: str) -> tuple[str | int, ...]:
    """Sorts names by their texts and, where these are the same, the highest versions first.

    >>> sorted(["3.9", "3.13", "arm 3.9"], key=newest_first)
    ['3.13', '3.9', 'arm 3.9']
    """
    parts = re.split(r"([0-9]{1,18})", name)
    return tuple(-int(part) if turn % 2 else part for turn, part in enumerate(parts))


def metric_rank(metric: str) -> tuple[int, str]:
    """A sort key that puts wall time, CPU time and peak memory first."""
    return (
        (FIRST_METRICS.index(metric), "")
        if metric in FIRST_METRICS
        else (len(FIRST_METRICS), metric)
    )


def ambiguous(pairs: Iterable[tuple[Name, str]]) -> set[Name]:
    """The names that stand beside several words, such as a benchmark with several collectors: these
    have to be said, too.

    >>> ambiguous([("sort", "time"), ("sort", "memory"), ("parse", "time")])
    {'sort'}
    """
    first: dict[Name, str] = {}
    return {name for name, word in pairs if first.setdefault(name, word) != word}


def named(benchmarks: Sequence[tuple[str, str]]) -> list[str]:
    """Names of benchmarks, given as label and collector: with the collector in brackets where a
    label has several of these.

    >>> named([("sort", "time"), ("sort", "memory"), ("parse", "time")])
    ['sort (time)', 'sort (memory)', 'parse']
    """
    several = ambiguous(benchmarks)
    return [
        f"{label} ({collector})" if label in several else label for label, collector in benchmarks
    ]


def apart(names: Sequence[str], width: int) -> list[str]:
    """Names of at most ``width`` characters as ``shorten`` makes them; of those that would look
    alike, what tells them apart is kept.

    >>> apart(["test_parse_a_long_table_of_cells", "test_parse_a_wide_table_of_cells"], 16)
    ['test_…a_long_ta…', 'test_…a_wide_ta…']
    """
    short = {name: shorten(name, width) for name in names}
    alike: dict[str, list[str]] = {}
    for name, text in ((name, text) for name, text in short.items() if len(name) > width):
        alike.setdefault(text, []).append(name)
    for group in alike.values():
        if len(group) > 1:
            group.sort()
            shared = [_shared(former, later) for former, later in pairwise(group)]
            for name, before, after in zip(group, [0, *shared], [*shared, 0], strict=True):
                short[name] = _around(name, max(before, after), width)
    return [short[name] for name in names]


def _shared(name: str, other: str) -> int:
    """How many characters two different names begin with alike."""
    return next(
        (place for place, pair in enumerate(zip(name, other, strict=False)) if pair[0] != pair[1]),
        min(len(name), len(other)),
    )


def _around(name: str, position: int, width: int) -> str:
    """The beginning of a name, and its part around a place from which on it differs from another
    name.
    """
    head = width // 3
    room = width - head - 2  # two ellipses
    start = max(head, min(position - min(4, room // 4), len(name) - room - 1))
    end = len(name) if start + room + 1 >= len(name) else start + room
    return shorten(
        f"{name[:head]}{ELLIPSIS}{name[start:end]}{ELLIPSIS if end < len(name) else ''}", width
    )
