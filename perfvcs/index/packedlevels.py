"""The levels of lines in the index, packed: a history is read in a few rows, and not in one for
each of its values.
"""

from __future__ import annotations

import struct
from array import array
from math import fsum, inf, isnan, log, nan, sqrt
from sys import byteorder
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Container, Sequence


LEVELS_SCHEMA = """
CREATE TABLE levels (id INTEGER PRIMARY KEY, line INTEGER NOT NULL, packed BLOB NOT NULL);
CREATE INDEX levels_line ON levels (line)"""
LEVEL_RECORD = struct.Struct("<IIddII")
WHOSE = struct.Struct("<II")  # its beginning
ROW_BYTES = 64 * LEVEL_RECORD.size  # bytes of a row: what one more level writes again
MOST_WAITING = 100_000  # levels that wait in memory

NEWEST = (
    "SELECT id, packed FROM levels WHERE line = ? AND length(packed) < ? ORDER BY id DESC LIMIT 1"
)
OF_JOB = (
    "SELECT id, packed FROM levels WHERE line IN (SELECT id FROM lines WHERE job = ? AND"
    " environment = ?)"
)


class StoredLevels:
    """Changes the table inside one transaction of ``connection``; there from ``flush`` on."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._waiting: dict[int, bytearray] = {}
        self._gone: dict[tuple[int, int], set[bytes]] = {}
        self._count = 0

    def add(
        self, line: int, commit: int, profile: int, session: int, medians: Sequence[float]
    ) -> None:
        """A profile's values of a line: medians of executions, its session (see ``together``)."""
        centre = level(medians)
        record = LEVEL_RECORD.pack(
            commit, profile, centre, deviation(medians, centre), len(medians), session
        )
        self._waiting.setdefault(line, bytearray()).extend(record)
        self._count += 1
        if self._count >= MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Take out what has gone, and write what waits; in this order, since a new profile may have
        the number of one that has gone.
        """
        execute = self._connection.execute
        for (job, environment), whose in self._gone.items():
            self._take_out(job, environment, whose)
        self._gone.clear()
        for line, new in self._waiting.items():
            number, begun = execute(NEWEST, (line, ROW_BYTES)).fetchone() or (None, b"")
            whole = begun + new
            for start in range(0, len(whole), ROW_BYTES):
                execute(
                    "INSERT OR REPLACE INTO levels VALUES (?, ?, ?)",
                    (number, line, whole[start : start + ROW_BYTES]),
                )
                number = None
        self._waiting.clear()
        self._count = 0

    def remove(self, profile: int, commit: int, job: int, environment: int) -> None:
        """Forget the levels of profiles together: each look at a history takes that long."""
        if self._waiting:
            self.flush()
        self._gone.setdefault((job, environment), set()).add(WHOSE.pack(commit, profile))

    def _take_out(self, job: int, environment: int, whose: Container[bytes]) -> None:
        for number, packed in self._connection.execute(OF_JOB, (job, environment)).fetchall():
            records = [
                packed[start : start + LEVEL_RECORD.size]
                for start in range(0, len(packed), LEVEL_RECORD.size)
            ]
            left = b"".join(record for record in records if record[: WHOSE.size] not in whose)
            if not left:
                self._connection.execute("DELETE FROM levels WHERE id = ?", (number,))
            elif len(left) < len(packed):
                self._connection.execute(
                    "UPDATE levels SET packed = ? WHERE id = ?", (left, number)
                )


class LevelColumns(NamedTuple):
    """The records of a line as they came, by columns."""

    commit: array[int]
    level: array[float]
    deviation: array[float]
    executions: array[int]
    session: array[int]


def of_line(connection: sqlite3.Connection, line: int) -> LevelColumns:
    """The records of a line.

    Without numpy, whose import takes longer; raises struct.error where they are damaged.
    """
    rows = connection.execute(
        "SELECT packed FROM levels WHERE line = ? ORDER BY id", (line,)
    ).fetchall()
    packed = b"".join(row[0] for row in rows)
    if len(packed) % LEVEL_RECORD.size:
        raise struct.error("levels that are not whole records")
    words, numbers = array("I", packed), array("d", packed)
    if byteorder == "big":
        words.byteswap()
        numbers.byteswap()
    return LevelColumns(words[0::8], numbers[1::4], numbers[2::4], words[6::8], words[7::8])


def together_of(columns: Sequence[LevelColumns]) -> LevelColumns:
    """The records of several lines as those of one."""
    whole = LevelColumns(array("I"), array("d"), array("d"), array("I"), array("I"))
    for part in columns:
        whole.commit.extend(part.commit)
        whole.level.extend(part.level)
        whole.deviation.extend(part.deviation)
        whole.executions.extend(part.executions)
        whole.session.extend(part.session)
    return whole


def together(session: str, order: str) -> int:
    """A number for a session that took its versions in turns, by which its levels know each other;
    0 for any other.

    Two sessions have the same number once in 4,000,000,000: what is compared for that reason is
    compared as `perf check` does.
    """
    return crc32(session.encode()) or 1 if order == "interleaved" else 0


def level(medians: Sequence[float]) -> float:
    """The logarithm of the geometric mean of the medians; NaN if one is not above 0 or finite."""
    if not medians or not 0 < min(medians) <= max(medians) < inf:
        return nan
    return fsum(map(log, medians)) / len(medians)


def deviation(medians: Sequence[float], centre: float) -> float:
    """The standard deviation of the medians' logarithms about ``centre``; NaN of one."""
    if len(medians) < 2 or isnan(centre):
        return nan
    return sqrt(sum([(log(value) - centre) ** 2 for value in medians]) / (len(medians) - 1))
