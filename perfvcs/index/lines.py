"""Lines of history in the index: one unit and metric of one job in one environment, with its level on each commit."""

from __future__ import annotations

from array import array
from itertools import chain, groupby
from operator import itemgetter
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

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
        rows = connection.execute("SELECT commit_id, level FROM levels WHERE line = ?", (line,))
        here = [(turn, level) for number, level in rows if (turn := turn_of[number]) >= 0]
        if here:
            usable = [one for one in here if one[1] is not None]
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
    sql = "SELECT line, commit_id, coalesce(level, 9e999), coalesce(deviation, -1), executions FROM levels"  # infinite, no number
    some = () if numbers is None else (msgspec.json.encode(list(numbers)).decode(),)
    rows = connection.execute(f"{sql} WHERE line IN (SELECT value FROM json_each(?))" if some else sql, some)
    # one row after another: a list of them would be a million Python objects
    table = np.fromiter(chain.from_iterable(rows), np.float64).reshape(-1, 5)
    place = turn_of[table[:, 1].astype(np.int64)]
    here, usable = place >= 0, np.isfinite(table[:, 2])
    table, place = table[here & usable], place[here & usable]
    order = np.lexsort((place, table[:, 0]))
    table, place = table[order], place[order]
    spread = np.where(table[:, 3] < 0, np.nan, table[:, 3])
    unusable = int(np.count_nonzero(here & ~usable))
    return Spreads(table[:, 0].astype(np.int64), place, table[:, 2], spread, table[:, 4].astype(np.int64), unusable)


def _shared(connection: sqlite3.Connection, table: str, kind: type[Kind]) -> dict[int, Kind]:
    decode = msgspec.json.Decoder(kind).decode
    return {number: decode(text) for number, text in connection.execute(f"SELECT id, text FROM {table}")}
