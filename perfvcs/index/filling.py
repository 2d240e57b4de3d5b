"""The tables of the index, and how profiles get into them and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

from perfvcs.index import packedlevels
from perfvcs.index.packedlevels import StoredLevels, together
from perfvcs.profile import Collected, Design, Environment, Metric, Results
from perfvcs.profile.summary import Measured, Place, Summary
from perfvcs.store.removal import PROFILE_PATH, Damaged, verified

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    from perfvcs.git.bare import Fault


Number = TypeVar("Number", int, float)

INDEX_VERSION = 18
REMEMBERED = 10_000  # row numbers of shared texts that are kept in memory while filling
INDEX_SCHEMA = f"""
CREATE TABLE mirror (head TEXT NOT NULL);
CREATE TABLE commits (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, mark INTEGER NOT NULL);
CREATE TABLE jobs (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, key TEXT NOT NULL);
CREATE INDEX jobs_key ON jobs (key);
CREATE TABLE environments (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE metrics (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE profiles (
    id INTEGER PRIMARY KEY, commit_id INTEGER NOT NULL, name TEXT NOT NULL, job INTEGER NOT NULL,
    environment INTEGER NOT NULL,
    metrics INTEGER NOT NULL, dirty TEXT, started TEXT NOT NULL, details BLOB NOT NULL, origin TEXT,
    UNIQUE (commit_id, name)
);
CREATE INDEX profiles_dirty ON profiles (commit_id) WHERE dirty IS NOT NULL;
CREATE INDEX profiles_job ON profiles (job, commit_id);
CREATE TABLE summaries (profile INTEGER PRIMARY KEY, packed BLOB NOT NULL);
CREATE TABLE damaged (path TEXT PRIMARY KEY, reason TEXT NOT NULL);
CREATE TABLE lines (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, job INTEGER NOT NULL,
environment INTEGER NOT NULL);
CREATE INDEX lines_job ON lines (job, environment);
{packedlevels.LEVELS_SCHEMA}
"""
TABLES = (
    "mirror",
    "commits",
    "jobs",
    "environments",
    "metrics",
    "profiles",
    "summaries",
    "damaged",
    "lines",
    "levels",
)

PLACED = """
SELECT p.id, p.commit_id, p.job, p.environment FROM profiles p JOIN commits c ON c.id = p.commit_id
WHERE c.text = ? AND p.name = ?"""


# A commit's mark is the exclusive or of those of its profiles' names, which SQLite lacks: the same
# set has the same, and hardly any other.
MARKED = "UPDATE commits SET mark = (mark | :mark) - (mark & :mark) WHERE id = :commit"
# A row for all profiles of one session on one host; the notes, in which the host is, are the third
# part of the details. SQLite takes the other columns from the row with the greatest id.
SESSIONS_TABLE = """
SELECT count(*), group_concat(DISTINCT p.job), e.text, p.details, max(p.id)
FROM profiles p JOIN environments e ON e.id = p.environment
GROUP BY p.started, p.environment, json_extract(CAST(p.details AS TEXT), '$[2].host', '$[2].worker')
ORDER BY p.started"""
# The newest environment of a series on a commit, by the number of the question: a commit, a job's
# key and a fingerprint.
ENVIRONMENTS = """
SELECT a.key, e.text, p.details, max(p.started) FROM json_each(?) a
JOIN commits c ON c.text = json_extract(a.value, '$[0]')
JOIN jobs j ON j.key = json_extract(a.value, '$[1]')
JOIN profiles p ON p.job = j.id AND p.commit_id = c.id AND p.dirty IS NULL
JOIN environments e ON e.id = p.environment
AND json_extract(e.text, '$.fingerprint') = json_extract(a.value, '$[2]')
GROUP BY a.key"""


class OfExecution(NamedTuple, Generic[Number]):
    """A value of one execution, which its build and its number name."""

    build: int
    number: int
    value: Number


class Details(msgspec.Struct, frozen=True, array_like=True):
    """The fields that each header has for itself; the rest is shared by many."""

    collected: Collected
    design: Design
    notes: dict[str, str]
    warnings: list[str]
    paces: list[OfExecution[float]] = []  # the machine's pace
    turns: list[OfExecution[int]] = []  # the execution's place in its block
    seeds: list[OfExecution[int]] = []  # the execution's seed
    results: Results | None = None


class PackedSummary(NamedTuple):
    """A summary with the number of its line in place of uid, size and metric; ``executions`` is
    None where these are 0, 1, 2 and so on.
    """

    line: int
    medians: tuple[float, ...]
    executions: tuple[int, ...] | None
    binaries: tuple[int, ...]
    sizes: int


class Filling:
    """Adds to and removes from the tables inside one transaction of ``connection``."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str], int] = {}
        self._lines: dict[tuple[object, ...], int] = {}
        self._levels = StoredLevels(connection)

    def add(self, path: str, document: bytes | Fault) -> None:
        """Index what the store has at ``path``; what is no profile is a row of ``damaged``."""
        try:
            profile = verified(path, document)
        except Damaged as error:
            self._connection.execute(
                "INSERT OR REPLACE INTO damaged VALUES (?, ?)", (_storable(path), error.reason)
            )
            return
        measured = Measured.of(profile, path)
        header = measured.header
        environment = header.environment
        shared = msgspec.structs.replace(environment, notes={}, warnings=[])
        job = _text(header.job)
        row = (
            self._number("commits", header.commit, 0),
            path.rpartition("/")[2],
            self._known.get(("jobs", job)) or self._number("jobs", job, header.job.key),
            self._number("environments", _text(shared)),
            self._number("metrics", _text(header.metrics)),
            header.dirty,
            header.collected.started,
            msgspec.json.encode(
                Details(
                    collected=header.collected,
                    design=header.design,
                    notes=environment.notes,
                    warnings=environment.warnings,
                    paces=_listed(measured.paces),
                    turns=_listed(measured.turns),
                    seeds=_listed(measured.seeds),
                    results=measured.results,
                )
            ),
            profile.origin,
        )
        inserted = self._connection.execute(
            "INSERT OR IGNORE INTO profiles VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row
        )
        if inserted.rowcount:
            self._connection.execute(MARKED, {"commit": row[0], "mark": _mark(row[1])})
            self._add_summaries(measured, row[0], inserted.lastrowid or 0, row[2], row[3])

    def remove(self, path: str) -> None:
        """Forget ``path``."""
        self._connection.execute("DELETE FROM damaged WHERE path = ?", (_storable(path),))
        match = PROFILE_PATH.fullmatch(path)
        if match:
            for profile, *where in self._connection.execute(
                PLACED, (match[2], match[3])
            ).fetchall():
                self._connection.execute(MARKED, {"commit": where[0], "mark": _mark(match[3])})
                self._levels.remove(profile, *where)
                self._connection.execute("DELETE FROM summaries WHERE profile = ?", (profile,))
                self._connection.execute("DELETE FROM profiles WHERE id = ?", (profile,))

    def flush(self) -> None:
        """Write what waits to be written together."""
        self._levels.flush()

    def clear(self) -> None:
        """Forget everything."""
        for table in TABLES:
            self._connection.execute(f"DELETE FROM {table}")
        self._known.clear()
        self._lines.clear()
        self._levels = StoredLevels(self._connection)

    def _number(self, table: str, text: str, *more: object) -> int:
        """The row number of a text that many profiles share."""
        row = self._known.get((table, text))
        if row is None:
            places = ", ?" * len(more)
            self._connection.execute(
                f"INSERT OR IGNORE INTO {table} VALUES (NULL, ?{places})", (text, *more)
            )
            row = int(
                self._connection.execute(
                    f"SELECT id FROM {table} WHERE text = ?", (text,)
                ).fetchone()[0]
            )
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[table, text] = row
        return row

    def _add_summaries(
        self, measured: Measured, commit: int, profile: int, job: int, environment: int
    ) -> None:
        """The summaries of a profile in one row, and the level of each on its line."""
        session = together(measured.header.collected.session, measured.header.design.order)
        packed = []
        for summary in measured.summaries:
            line = self._line(measured.header.metrics[summary.metric], summary, job, environment)
            usual = summary.executions == tuple(range(len(summary.executions)))
            packed.append(
                PackedSummary(
                    line,
                    summary.medians,
                    None if usual else summary.executions,
                    summary.binaries,
                    summary.sizes,
                )
            )
            if measured.header.dirty is None:  # what was never committed is in no history
                self._levels.add(line, commit, profile, session, summary.medians)
        self._connection.execute(
            "INSERT INTO summaries VALUES (?, ?)", (profile, msgspec.msgpack.encode(packed))
        )

    def _line(self, metric: Metric, summary: Summary, job: int, environment: int) -> int:
        """The number of a summary's line."""
        line = (
            job,
            environment,
            summary.uid,
            summary.size,
            summary.metric,
            metric.unit,
            metric.better,
        )
        number = self._lines.get(line)
        if number is None:
            if len(self._lines) >= REMEMBERED:
                self._lines.clear()
            number = self._lines[line] = self._number("lines", _text(line), job, environment)
        return number


def _listed(values: Mapping[Place, Number]) -> list[OfExecution[Number]]:
    return [OfExecution(build, number, value) for (build, number), value in values.items()]


def _mark(name: str) -> int:
    """The number at the end of a profile's name, which its content has made."""
    return int(name[-17:-5], 16)


def _text(value: object) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _storable(path: str) -> str:
    """A path from git may hold any bytes; SQLite wants text."""
    return path.encode("utf-8", "backslashreplace").decode()


class HostSession(NamedTuple):
    """The measurements of one session in one environment of one host: so many ``profiles`` of
    ``jobs``, numbered as in the index.

    ``paces`` are those of the machine in the executions of one of the profiles, in s.
    """

    session: str
    started: str
    environment: Environment
    profiles: int
    jobs: frozenset[int]
    paces: tuple[float, ...]


def sessions(rows: Iterable[tuple[Any, ...]]) -> list[HostSession]:
    """The sessions in the rows of ``SESSIONS_TABLE``, the oldest first."""
    environment = msgspec.json.Decoder(Environment).decode
    details = msgspec.json.Decoder(Details).decode
    read = []
    for count, jobs, text, document, _ in rows:
        session = details(document)
        where = msgspec.structs.replace(environment(text), notes=session.notes)
        paces = tuple(pace for *_, pace in session.paces)
        numbers = frozenset(map(int, jobs.split(",")))
        read.append(
            HostSession(
                session.collected.session, session.collected.started, where, count, numbers, paces
            )
        )
    return read


def environments(rows: Iterable[tuple[Any, ...]]) -> dict[int, Environment]:
    """The environments in the rows of ``ENVIRONMENTS``, with their notes."""
    environment = msgspec.json.Decoder(Environment).decode
    details = msgspec.json.Decoder(Details).decode
    return {
        number: msgspec.structs.replace(environment(text), notes=details(document).notes)
        for number, text, document, _ in rows
    }
