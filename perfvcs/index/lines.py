"""Lines of history in the index: one unit and metric of one job in one environment, with its level on each commit."""

from __future__ import annotations

from array import array
from itertools import groupby
from math import isfinite
from operator import itemgetter
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from perfvcs.index import levels
from perfvcs.profile import Environment, Job

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

Kind = TypeVar("Kind")


class Line(NamedTuple):
    """What is followed; ``environment`` has no notes. A metric with another unit or direction is another line."""

    job: Job
    environment: Environment
    uid: str
    size: float | None
    metric: str
    unit: str
    better: str


class Course(NamedTuple):
    """A line along commits: ascending ``places`` among them, the ``levels`` there (mean logarithms), and how many had no logarithm."""

    places: array[int]
    levels: array[float]
    unusable: int


def lines(connection: sqlite3.Connection) -> dict[int, Line]:
    """All lines that have a level, by their number."""
    jobs = _shared(connection, "jobs", Job)
    environments = _shared(connection, "environments", Environment)
    decode = msgspec.json.Decoder(tuple[int, int, str, float | None, str, str, str]).decode
    found = {}
    rows = "SELECT id, text FROM lines l WHERE EXISTS (SELECT 1 FROM levels WHERE line = l.id) ORDER BY id"
    for number, text in connection.execute(rows):
        job, environment, uid, size, metric, unit, better = decode(text)
        found[number] = Line(jobs[job], environments[environment], uid, size, metric, unit, better)
    return found


def courses(connection: sqlite3.Connection, numbers: Iterable[int], commits: Sequence[str]) -> dict[int, Course]:
    """The courses of some lines along ``commits``, oldest first; lines that have no place there are left out.

    Several profiles of one commit count as their mean: each is a session of its own. Without numpy, whose import takes as long.
    """
    turns = {commit: turn for turn, commit in enumerate(commits)}
    ids = dict(connection.execute("SELECT text, id FROM commits"))
    turn_of = [-1] * (max(ids.values(), default=0) + 1)
    for commit, number in ids.items():
        turn_of[number] = turns.get(commit, -1)
    found = {}
    for line in numbers:
        here = [(turn, level) for commit, level in levels.of_line(connection, line) if (turn := turn_of[commit]) >= 0]
        if here:
            usable = [one for one in here if isfinite(one[1])]
            usable.sort(key=itemgetter(0))
            means = dict(usable)
            if len(means) < len(usable):
                means = {turn: fmean(level for _, level in same) for turn, same in groupby(usable, key=itemgetter(0))}
            found[line] = Course(array("q", means), array("d", means.values()), len(here) - len(usable))
    return found


class Spreads(NamedTuple):
    """How executions differ, one element per level of a commit: the ``line``, the ``place`` of the commit, by both ascending.

    ``level`` is the mean logarithm, ``deviation`` the standard deviation of the executions' logarithms (NaN: there was one), ``executions``
    how many there were; several profiles of one commit are several elements. ``unusable`` have no logarithm, and are left out.
    """

    line: NDArray[np.int64]
    place: NDArray[np.int64]
    level: NDArray[np.float64]
    deviation: NDArray[np.float64]
    executions: NDArray[np.int64]
    unusable: int


def spreads(connection: sqlite3.Connection, commits: Sequence[str], numbers: Iterable[int] | None = None) -> Spreads:
    """The levels of all lines, or of some, along ``commits``, oldest first, with what is needed for their intervals."""
    import numpy as np

    turns = {commit: turn for turn, commit in enumerate(commits)}
    ids = dict(connection.execute("SELECT text, id FROM commits"))
    turn_of = np.full(max(ids.values(), default=0) + 1, -1)
    for commit, number in ids.items():
        turn_of[number] = turns.get(commit, -1)
    table = levels.table(connection, numbers)
    place = turn_of[table.commit]
    here, usable = place >= 0, np.isfinite(table.level)
    chosen = np.flatnonzero(here & usable)
    turn = table.line[chosen] * (len(commits) + 1) + place[chosen]
    order = chosen[np.argsort(turn, kind="stable")]
    unusable = int(np.count_nonzero(here & ~usable))
    return Spreads(
        table.line[order], place[order], table.level[order], table.deviation[order], table.executions[order], unusable
    )  # fmt: skip


def _shared(connection: sqlite3.Connection, table: str, kind: type[Kind]) -> dict[int, Kind]:
    decode = msgspec.json.Decoder(kind).decode
    return {number: decode(text) for number, text in connection.execute(f"SELECT id, text FROM {table}")}
