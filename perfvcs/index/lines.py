"""Lines of history in the index: one unit and metric of one job in one environment, with its level on each commit."""

from __future__ import annotations

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

    places: NDArray[np.int64]
    levels: NDArray[np.float64]
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

    Several profiles of one commit count as their mean: each is a session of its own.
    """
    import numpy as np

    ids = dict(connection.execute("SELECT text, id FROM commits"))
    place = np.full(max(ids.values(), default=0) + 1, -1)
    for number, commit in enumerate(commits):
        if commit in ids:
            place[ids[commit]] = number
    found = {}
    for line in numbers:
        rows = connection.execute("SELECT commit_id, level FROM levels WHERE line = ?", (line,)).fetchall()
        if rows:
            columns = zip(*rows, strict=True)
            places, levels = place[np.array(next(columns))], np.array(next(columns), dtype=np.float64)
            there = places >= 0
            usable = there & np.isfinite(levels)
            if there.any():
                counts = np.bincount(places[usable])
                known = np.flatnonzero(counts)
                means = np.bincount(places[usable], levels[usable])[known] / counts[known]
                found[line] = Course(known, means, int(there.sum() - usable.sum()))
    return found


def _shared(connection: sqlite3.Connection, table: str, kind: type[Kind]) -> dict[int, Kind]:
    decode = msgspec.json.Decoder(kind).decode
    return {number: decode(text) for number, text in connection.execute(f"SELECT id, text FROM {table}")}
