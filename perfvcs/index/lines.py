"""Lines of history in the index: one unit and metric of one job in one environment, with its level
on each commit.
"""

from __future__ import annotations

from array import array
from itertools import groupby, repeat
from math import fsum, isfinite, isnan
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from perfvcs.index import packedlevels
from perfvcs.index.filling import PackedSummary
from perfvcs.profile import Environment, Job
from perfvcs.profile.summary import Summary

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

    ``variances`` are those of the levels as their own ``executions`` show (NaN: there was one),
    with ``df`` degrees of freedom. ``turns`` are the elements that were measured in turns with the
    one before.
    """

    places: array[int]
    levels: array[float]
    unusable: int
    variances: array[float]
    executions: array[int]
    df: array[int]
    turns: tuple[int, ...] = ()


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
    sessions = [columns.session[element] for element in order] if any(columns.session) else ()
    if columns.executions.count(1) == len(columns.executions):  # as a rule of foreign profiles
        variances, executions = columns.deviation[: len(order)], columns.executions[: len(order)]
    else:
        executions = array("I", map(columns.executions.__getitem__, order))
        deviations = map(columns.deviation.__getitem__, order)
        variances = array(
            "d",
            [
                deviation * deviation / (count or 1)
                for deviation, count in zip(deviations, executions, strict=True)
            ],
        )
    if not distinct:
        rows = zip(places, values, variances, executions, sessions or repeat(0), strict=False)
        return _of_several(rows, unusable)
    together = tuple(
        k for k in range(1, len(sessions)) if sessions[k] and sessions[k] == sessions[k - 1]
    )
    df = array("I", [count - 1 for count in executions])
    return Course(
        places=places,
        levels=values,
        unusable=unusable,
        variances=variances,
        executions=executions,
        df=df,
        turns=together,
    )


def _of_several(rows: Iterable[tuple[int, float, float, int, int]], unusable: int) -> Course:
    """The course of places, levels, variances, executions and sessions of profiles, of which some
    are of one commit: their mean counts.
    """
    groups = [(place, list(same)) for place, same in groupby(rows, key=itemgetter(0))]
    sessions = [{session for *_, session in same if session} for _, same in groups]
    executions = array("I", [sum(count for *_, count, _ in same) for _, same in groups])
    return Course(
        places=array("q", [place for place, _ in groups]),
        levels=array("d", [fsum(level for _, level, *_ in same) / len(same) for _, same in groups]),
        unusable=unusable,
        variances=array("d", [_variance([row[1:3] for row in same]) for _, same in groups]),
        executions=executions,
        df=array("I", [n - len(same) for n, (_, same) in zip(executions, groups, strict=True)]),
        turns=tuple(k for k in range(1, len(groups)) if sessions[k] & sessions[k - 1]),
    )


def _variance(same: Sequence[tuple[float, float]]) -> float:
    """The variance of the mean of a commit's levels with variances: their own or their scatter's,
    the larger.
    """
    inside = sum(variance for _, variance in same) / len(same) ** 2
    if len(same) == 1:
        return inside
    centre = fsum(level for level, _ in same) / len(same)
    scatter = sum((level - centre) ** 2 for level, _ in same) / (len(same) - 1) / len(same)
    return scatter if isnan(inside) else max(inside, scatter)


def _shared(connection: sqlite3.Connection, table: str, kind: type[Kind]) -> dict[int, Kind]:
    decode = msgspec.json.Decoder(kind).decode
    return {
        number: decode(text) for number, text in connection.execute(f"SELECT id, text FROM {table}")
    }
