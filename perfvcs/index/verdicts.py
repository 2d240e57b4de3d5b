"""The last verdict per commit, remembered for listings; a file of its own, so that a rebuilt index does not forget them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from perfvcs.index.database import Database

VERSION = 1
SCHEMA = """
CREATE TABLE verdicts (
    number INTEGER PRIMARY KEY, target TEXT NOT NULL, baseline TEXT NOT NULL, made TEXT NOT NULL, words TEXT NOT NULL, report BLOB NOT NULL,
    UNIQUE (target, baseline)
)"""


class Verdict(msgspec.Struct, frozen=True):
    """What the last ``check`` of ``target`` said: how often each word, against which baseline; ``made`` is UTC, ISO 8601."""

    baseline: str
    target: str
    made: str
    words: dict[str, int]


class _Change(msgspec.Struct):
    word: str


class _Report(msgspec.Struct):
    changes: list[_Change]


class Verdicts:
    """The verdicts in the SQLite file at ``path``; one per pair of commits, the newer one stays."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA, VERSION)

    def remember(self, baseline: str, target: str, report: bytes) -> None:
        """Keep a report (the JSON of ``perfvcs.check.Report``) under two full commit ids."""
        words = Counter(change.word for change in msgspec.json.decode(report, type=_Report).changes)
        row = (target, baseline, datetime.now(UTC).isoformat(timespec="seconds"), msgspec.json.encode(words).decode(), report)
        sql = "INSERT OR REPLACE INTO verdicts (target, baseline, made, words, report) VALUES (?, ?, ?, ?, ?)"
        self._database.attempt(lambda: self._database.connection.execute(sql, row).close())

    def of(self, commits: Iterable[str]) -> dict[str, Verdict]:
        """The last verdict of each of these commits that has one."""
        wanted = msgspec.json.encode(list(commits)).decode()
        sql = (
            "SELECT baseline, target, made, words, max(number) FROM verdicts"
            " WHERE target IN (SELECT value FROM json_each(?)) GROUP BY target"
        )
        words = msgspec.json.Decoder(dict[str, int]).decode

        def verdicts() -> dict[str, Verdict]:
            rows = self._database.connection.execute(sql, (wanted,))
            return {row[1]: Verdict(row[0], row[1], row[2], words(row[3])) for row in rows}

        return self._database.attempt(verdicts)

    def report(self, baseline: str, target: str) -> bytes | None:
        """The report of a pair as it was remembered."""
        sql = "SELECT report FROM verdicts WHERE target = ? AND baseline = ?"
        rows = self._database.attempt(lambda: self._database.connection.execute(sql, (target, baseline)).fetchall())
        return rows[0][0] if rows else None

    def close(self) -> None:
        """Close the file."""
        self._database.close()
