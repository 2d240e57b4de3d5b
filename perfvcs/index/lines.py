"""Lines of history in the index: one unit and metric of one job in one environment, with its level
on each commit.
"""

from __future__ import annotations

from array import array
from itertools import groupby
from math import fsum, isfinite, isnan
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from perfvcs.index import packedlevels
from perfvcs.index.filling import PackedSummary
from perfvcs.profile import Environment, Job
from perfvcs.profile.summary import Summary
from perfvcs.system.numeric import Floats, Integers, np

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence


PATH_QUERY = "substr(c.text, 1, 2) || '/' || c.text || '/' || p.name"
WITHIN_COMMITS = "c.text IN (SELECT value FROM json_each(?))"
HISTORY_QUERY = f"""
SELECT c.text, p.dirty, p.details, p.started, e.text, {PATH_QUERY}, s.packed
FROM jobs j JOIN profiles p ON p.job = j.id JOIN commits c ON c.id = p.commit_id
JOIN environments e ON e.id = p.environment JOIN summaries s ON s.profile = p.id"""
LINES_QUERY = "SELECT l.id, l.text FROM jobs j JOIN lines l ON l.job = j.id WHERE j.key = ?"
Kind = TypeVar("Kind")
# of a line that goes on under another name: the numbers of all its parts, its own too
LineParts = dict[int, list[int]]


class SeriesEntry(NamedTuple):
    """One summary of a series, with what it is compared by; ``environment`` is a fingerprint."""

    commit: str
    dirty: str | None
    session: str
    started: str
    environment: str
    path: str
    summary: Summary


def entries(
    connection: sqlite3.Connection, key: str, commits: list[str] | None
) -> list[SeriesEntry]:
    """The entries of the job with this ``key``, by commit as they were asked for, then by time."""
    condition, values = "j.key = ?", [key]
    if commits is not None:
        condition += f" AND {WITHIN_COMMITS}"
        values.append(msgspec.json.encode(commits).decode())
    rows = connection.execute(f"{HISTORY_QUERY} WHERE {condition} ORDER BY p.started, p.id", values)
    details = msgspec.json.Decoder(_Session).decode
    environment = msgspec.json.Decoder(_Fingerprint).decode
    unpack = unpacked(connection.execute(LINES_QUERY, (key,)))
    history = [
        SeriesEntry(
            commit=row[0],
            dirty=row[1],
            session=details(row[2]).collected.session,
            started=row[3],
            environment=environment(row[4]).fingerprint,
            path=row[5],
            summary=summary,
        )
        for row in rows
        for summary in unpack(row[6])
    ]
    turn = order(commits)
    return sorted(history, key=lambda entry: turn(entry.commit))


def unpacked(lines: Iterable[tuple[int, str]]) -> Callable[[bytes], list[Summary]]:
    """Unpacks the summaries of profiles, which are on some of these lines."""
    unit = msgspec.json.Decoder(tuple[int, int, str, float | None, str, str, str]).decode
    units = {number: unit(text)[2:5] for number, text in lines}
    decode = msgspec.msgpack.Decoder(list[PackedSummary]).decode

    def summary(packed: PackedSummary) -> Summary:
        line, medians, executions, binaries, sizes = packed
        numbers = tuple(range(len(medians))) if executions is None else executions
        return Summary(*units[line], numbers, medians, binaries, sizes)

    return lambda document: [summary(packed) for packed in decode(document)]


def order(commits: list[str] | None) -> Callable[[str], tuple[int, str]]:
    """The place of a commit among those that were asked for, else its name."""
    if commits is None:
        return lambda commit: (0, commit)
    places = {commit: place for place, commit in reversed(list(enumerate(commits)))}
    return lambda commit: (places.get(commit, 0), "")


class _Collected(msgspec.Struct):
    session: str


class _Session(msgspec.Struct, array_like=True):
    """The first field of Details, without decoding the others."""

    collected: _Collected


class _Fingerprint(msgspec.Struct):
    fingerprint: str = ""


class Line(NamedTuple):
    """A series to follow; ``environment`` has no notes.

    A metric with another unit or direction is another line.
    """

    job: Job
    environment: Environment
    uid: str
    size: float | None
    metric: str
    unit: str
    better: str


class Course(NamedTuple):
    """A line along commits: ascending ``places`` among them, the ``levels`` there (mean
    logarithms), and how many had no logarithm.

    ``variances`` are those of the levels as their own executions show (NaN: there was one).
    ``turns`` are the elements that were measured in turns with the one before.
    """

    places: array[int]
    levels: array[float]
    unusable: int
    variances: array[float]
    turns: tuple[int, ...] = ()

    def moved(self, element: int) -> float:
        """The difference of an element's level from the one before."""
        return self.levels[element] - self.levels[element - 1]


def lines(connection: sqlite3.Connection) -> dict[int, Line]:
    """All lines that have a level, by their number."""
    jobs = _shared(connection, "jobs", Job)
    environments = _shared(connection, "environments", Environment)
    decode = msgspec.json.Decoder(tuple[int, int, str, float | None, str, str, str]).decode
    by_number = {}
    rows = (
        "SELECT id, text FROM lines l WHERE EXISTS (SELECT 1 FROM levels WHERE line = l.id) ORDER"
        " BY id"
    )
    for number, text in connection.execute(rows):
        job, environment, uid, size, metric, unit, better = decode(text)
        by_number[number] = Line(
            job=jobs[job],
            environment=environments[environment],
            uid=uid,
            size=size,
            metric=metric,
            unit=unit,
            better=better,
        )
    return by_number


def joined(by_number: Mapping[int, Line]) -> tuple[dict[int, Line], LineParts]:
    """The lines, each once under its smallest number, and by that the parts of a line."""
    numbers: dict[tuple[object, ...], list[int]] = {}
    for number, line in sorted(by_number.items()):
        content = (
            line.job.key,
            msgspec.json.encode(line.environment, order="deterministic"),
            *line[2:],
        )
        numbers.setdefault(content, []).append(number)
    return {same[0]: by_number[same[0]] for same in numbers.values()}, {
        same[0]: same for same in numbers.values() if len(same) > 1
    }


def courses(
    connection: sqlite3.Connection,
    numbers: Iterable[int],
    commits: Sequence[str],
    parts: LineParts | None = None,
) -> dict[int, Course]:
    """The courses of some lines along ``commits``, oldest first; lines that have no place there are
    left out.

    Several profiles of one commit count as their mean. Without numpy, whose import takes as long.
    """
    parts = parts or {}
    all_places = _Places(connection, commits)
    by_line = {}
    for line in numbers:
        columns = [packedlevels.of_line(connection, part) for part in parts.get(line, (line,))]
        joint = columns[0] if len(columns) == 1 else packedlevels.together_of(columns)
        course = _course(joint, all_places)
        if course is not None:
            by_line[line] = course
    return by_line


class _Placed(NamedTuple):
    """Which elements of a column have a place along a history: their ``order`` and ``places``."""

    order: list[int]
    places: array[int]
    distinct: bool


class _Places:
    """Where commits are along a history; most lines were measured on the same ones."""

    def __init__(self, connection: sqlite3.Connection, commits: Sequence[str]) -> None:
        turns = {commit: turn for turn, commit in enumerate(commits)}
        ids = dict(connection.execute("SELECT text, id FROM commits"))
        self._turn_of = [-1] * (max(ids.values(), default=0) + 1)
        for commit, number in ids.items():
            self._turn_of[number] = turns.get(commit, -1)
        self._known: dict[bytes, _Placed] = {}

    def of(self, commits: array[int]) -> _Placed:
        """A column of commits, by their numbers in the index."""
        column = commits.tobytes()
        if column not in self._known:
            turns = list(map(self._turn_of.__getitem__, commits))
            order = sorted(
                (element for element, turn in enumerate(turns) if turn >= 0), key=turns.__getitem__
            )
            places = array("q", [turns[element] for element in order])
            self._known[column] = _Placed(order, places, len(set(places)) == len(places))
        return self._known[column]


def _course(columns: packedlevels.LevelColumns, all_places: _Places) -> Course | None:
    """The course of a line's records; None if none of their commits has a place."""
    order, places, distinct = all_places.of(columns.commit)
    if not order:
        return None
    values = array("d", map(columns.level.__getitem__, order))
    unusable = 0
    if not isfinite(sum(values)):
        order = [element for element in order if isfinite(columns.level[element])]
        unusable = len(values) - len(order)
        places = array(
            "q", [place for place, level in zip(places, values, strict=True) if isfinite(level)]
        )
        values = array("d", filter(isfinite, values))
    variances = _variances(columns, order)
    if not distinct:
        return _of_several(columns, places, values, variances, order, unusable)
    sessions = [columns.session[element] for element in order] if any(columns.session) else ()
    together = tuple(
        k for k in range(1, len(sessions)) if sessions[k] and sessions[k] == sessions[k - 1]
    )
    return Course(places, values, unusable, variances, together)


def _variances(columns: packedlevels.LevelColumns, order: Sequence[int]) -> array[float]:
    """Those of the levels at these elements, by their executions; a single one has none (NaN)."""
    if columns.executions.count(1) == len(columns.executions):
        return columns.deviation[: len(order)]
    deviations, counts = (
        [column[element] for element in order] for column in (columns.deviation, columns.executions)
    )
    return array(
        "d",
        [
            deviation * deviation / (count or 1)
            for deviation, count in zip(deviations, counts, strict=True)
        ],
    )


def _of_several(
    columns: packedlevels.LevelColumns,
    places: Sequence[int],
    values: Sequence[float],
    variances: Sequence[float],
    order: Sequence[int],
    unusable: int,
) -> Course:
    """``_course`` where some commits have several profiles: their mean counts."""
    rows = zip(
        places, values, variances, [columns.session[element] for element in order], strict=True
    )
    groups = [
        (place, [row[1:] for row in same]) for place, same in groupby(rows, key=itemgetter(0))
    ]
    sessions = [{session for _, _, session in same if session} for _, same in groups]
    return Course(
        array("q", [place for place, _ in groups]),
        array("d", [fsum(level for level, _, _ in same) / len(same) for _, same in groups]),
        unusable,
        array("d", [_variance(same) for _, same in groups]),
        tuple(k for k in range(1, len(groups)) if sessions[k] & sessions[k - 1]),
    )


def _variance(same: Sequence[tuple[float, float, int]]) -> float:
    """The variance of the mean of a commit's profiles: their own or their scatter's, the larger."""
    inside = sum(variance for _, variance, _ in same) / len(same) ** 2
    if len(same) == 1:
        return inside
    centre = fsum(level for level, _, _ in same) / len(same)
    scatter = sum((level - centre) ** 2 for level, _, _ in same) / (len(same) - 1) / len(same)
    return scatter if isnan(inside) else max(inside, scatter)


class Spreads(NamedTuple):
    """How executions differ, one element per level of a commit: the ``line``, the ``position`` of
    the commit, by both ascending.

    ``level`` is the mean logarithm, ``deviation`` the standard deviation of the executions'
    logarithms (NaN: there was one), ``executions`` how many there were; several profiles of one
    commit are several elements. ``unusable`` have no logarithm, and are left out. ``session`` is a
    number that profiles have in common which were measured in turns, 0 for the others.
    """

    line: Integers
    position: Integers
    level: Floats
    deviation: Floats
    executions: Integers
    unusable: int
    session: Integers


def spreads(
    connection: sqlite3.Connection,
    commits: Sequence[str],
    numbers: Iterable[int] | None = None,
    parts: LineParts | None = None,
) -> Spreads:
    """The levels of all or some lines along ``commits``, oldest first, with their variances."""
    turns = {commit: turn for turn, commit in enumerate(commits)}
    ids = dict(connection.execute("SELECT text, id FROM commits"))
    turn_of = np.full(max(ids.values(), default=0) + 1, -1)
    for commit, number in ids.items():
        turn_of[number] = turns.get(commit, -1)
    parts = parts or {}
    if numbers is None:
        asked = None
    else:
        asked = [part for number in numbers for part in parts.get(number, (number,))]
    table = packedlevels.table(connection, asked)
    for number, members in parts.items():
        table.line[np.isin(table.line, members)] = number
    place = turn_of[table.commit]
    here, usable = place >= 0, np.isfinite(table.level)
    chosen = np.flatnonzero(here & usable)
    turn = table.line[chosen] * (len(commits) + 1) + place[chosen]
    order = chosen[np.argsort(turn, kind="stable")]
    unusable = int(np.count_nonzero(here & ~usable))
    return Spreads(
        line=table.line[order],
        position=place[order],
        level=table.level[order],
        deviation=table.deviation[order],
        executions=table.executions[order],
        unusable=unusable,
        session=table.session[order],
    )


def _shared(connection: sqlite3.Connection, table: str, kind: type[Kind]) -> dict[int, Kind]:
    decode = msgspec.json.Decoder(kind).decode
    return {
        number: decode(text) for number, text in connection.execute(f"SELECT id, text FROM {table}")
    }
