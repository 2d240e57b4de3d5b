"""The last verdict per commit, remembered for listings; a file of its own, so that a rebuilt index
does not forget them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from perfvcs.index.database import Database

VERDICTS_VERSION = 3


VERDICTS_SCHEMA = """
CREATE TABLE verdicts (
    number INTEGER PRIMARY KEY, target TEXT NOT NULL, baseline TEXT NOT NULL, made TEXT NOT NULL,
    words TEXT NOT NULL, report BLOB NOT NULL,
    basis TEXT NOT NULL,
    UNIQUE (target, baseline)
)"""


class LastVerdict(msgspec.Struct, frozen=True):
    """The last ``check`` of ``target``: how often each word, against which baseline; ``made`` is
    UTC, ISO 8601.

    Both are named as in ``LastVerdicts.remember``.
    """

    baseline: str
    target: str
    made: str
    words: dict[str, int]


class Remembered(NamedTuple):
    """A report as it was remembered; ``basis`` names all that it was made from, ``stored`` the
    profiles of both sides; they are empty where that is not known.
    """

    baseline: str
    target: str
    report: bytes
    basis: str = ""
    stored: str = ""

    @classmethod
    def of(cls, baseline: str, target: str, report: bytes, origin: str) -> Remembered:
        """A row: ``origin`` holds both names, since another column would make the file anew."""
        basis, _, stored = origin.partition(" ")
        return cls(baseline, target, report, basis, stored)


class _Change(msgspec.Struct):
    word: str
    accepted: str | None = None


class _Report(msgspec.Struct):
    changes: list[_Change]
    limits: list[_Change] = []


class LastVerdicts:
    """The verdicts in the SQLite file at ``path``; one per pair of commits, the newer one stays."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, VERDICTS_SCHEMA, VERDICTS_VERSION)

    def remember(
        self, baseline: str, target: str, report: bytes, basis: str = "", stored: str = ""
    ) -> None:
        """Keep a report (the JSON of ``perfvcs.check.Report``), as the newest, with the names of
        what it was made from, which have no blanks.

        Both revisions are full commit ids, or one with ``+`` and the hash of the uncommitted
        changes on top (``State.verdict_key``).
        """
        words: Counter[str] = Counter()
        document = msgspec.json.decode(report, type=_Report)
        for change in document.changes:
            words["accepted" if change.accepted is not None else change.word] += 1
        words += Counter(
            "limit exceeded" for limit in document.limits if limit.word == "degradation"
        )
        counts = msgspec.json.encode(words).decode()
        sql = (
            "INSERT OR REPLACE INTO verdicts (target, baseline, made, words, report, basis)"
            " VALUES (?, ?, ?, ?, ?, ?)"
        )
        row = (target, baseline, _now(), counts, report, f"{basis} {stored}")
        self._database.attempt(lambda: self._database.connection.execute(sql, row).close())

    def recall(self, baseline: str, target: str) -> Remembered | None:
        """The stored verdicts on a pair."""
        sql = (
            "SELECT baseline, target, report, basis FROM verdicts WHERE target = ? AND baseline = ?"
        )

        def stored() -> Remembered | None:
            rows = self._database.connection.execute(sql, (target, baseline)).fetchall()
            return Remembered.of(*rows[0]) if rows else None

        return self._database.attempt(stored)

    def forget(self, commits: Iterable[str]) -> None:
        """Forget all verdicts on these commits (full ids), those with uncommitted changes too."""
        wanted = msgspec.json.encode(list(commits)).decode()
        sql = (
            "DELETE FROM verdicts WHERE substr(target, 1, instr(target || '+', '+') - 1) IN"
            " (SELECT value FROM json_each(?1)) OR substr(baseline, 1, instr(baseline || '+', '+')"
            " - 1) IN (SELECT value FROM json_each(?1))"
        )
        self._database.attempt(lambda: self._database.connection.execute(sql, (wanted,)).close())

    def all(self) -> Iterator[Remembered]:
        """Everything that is remembered, the newest first, as far as it is asked for."""
        sql = (
            "SELECT number, baseline, target, report, basis FROM verdicts WHERE number < ?"
            " ORDER BY number DESC LIMIT 1"
        )

        def before(number: int) -> tuple[int, Remembered] | None:
            rows = self._database.connection.execute(sql, (number,)).fetchall()
            return (rows[0][0], Remembered.of(*rows[0][1:])) if rows else None

        number = (1 << 63) - 1
        while row := self._database.attempt(partial(before, number)):
            number, report = row
            yield report

    def of(self, commits: Iterable[str]) -> dict[str, LastVerdict]:
        """The last verdict of each of these commits that has one."""
        wanted = msgspec.json.encode(list(commits)).decode()
        sql = (
            "SELECT baseline, target, made, words, max(number) FROM verdicts"
            " WHERE target IN (SELECT value FROM json_each(?)) GROUP BY target"
        )
        words = msgspec.json.Decoder(dict[str, int]).decode

        def verdicts() -> dict[str, LastVerdict]:
            rows = self._database.connection.execute(sql, (wanted,))
            return {row[1]: LastVerdict(row[0], row[1], row[2], words(row[3])) for row in rows}

        return self._database.attempt(verdicts)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
