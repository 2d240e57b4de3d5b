"""Results that are computed once, in files of their own: of series, and the last verdict per commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from perfvcs.index.database import Database
from perfvcs.statistics.changepoints import judgement, steps
from perfvcs.statistics.changepoints.judgement import Judgement
from perfvcs.statistics.changepoints.steps import ChangePoint

if TYPE_CHECKING:
    from array import array


VERDICTS_VERSION = 2
VERDICTS_SCHEMA = """
CREATE TABLE verdicts (
    number INTEGER PRIMARY KEY, target TEXT NOT NULL, baseline TEXT NOT NULL, made TEXT NOT NULL, words TEXT NOT NULL, report BLOB NOT NULL,
    basis TEXT NOT NULL, shown TEXT NOT NULL,
    UNIQUE (target, baseline)
)"""

Kind = TypeVar("Kind")


class LastVerdict(msgspec.Struct, frozen=True):
    """The last ``check`` of ``target``: how often each word, against which baseline; ``made`` is UTC, ISO 8601.

    Both are named as in ``LastVerdicts.remember``.
    """

    baseline: str
    target: str
    made: str
    words: dict[str, int]


class Remembered(NamedTuple):
    """A report as it was remembered; ``basis`` names all that it was made from, ``shown`` the report on the pair that was shown last.

    Both are empty if that is not known, or has not happened.
    """

    baseline: str
    target: str
    report: bytes
    basis: str = ""
    shown: str = ""


class _Change(msgspec.Struct):
    word: str
    accepted: str | None = None


class _Report(msgspec.Struct):
    changes: list[_Change]


class LastVerdicts:
    """The verdicts in the SQLite file at ``path``; one per pair of commits, the newer one stays."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, VERDICTS_SCHEMA, VERDICTS_VERSION)

    def remember(self, baseline: str, target: str, report: bytes, basis: str = "") -> None:
        """Keep a report (the JSON of ``perfvcs.check.Report``), as the newest, with what it was made from.

        Both revisions are full commit ids, or one with ``+`` and the hash of the uncommitted changes on top (``State.verdict_key``).
        """
        words: Counter[str] = Counter()
        for change in msgspec.json.decode(report, type=_Report).changes:
            words["accepted" if change.accepted is not None else change.word] += 1
        counts = msgspec.json.encode(words).decode()
        sql = "INSERT OR REPLACE INTO verdicts (target, baseline, made, words, report, basis, shown) VALUES (?, ?, ?, ?, ?, ?, ?)"

        def keep() -> None:
            old = self._recall(baseline, target)
            row = (target, baseline, _now(), counts, report, basis, old.shown if old else "")
            self._database.connection.execute(sql, row).close()

        self._database.attempt(keep)

    def show(self, baseline: str, target: str, name: str) -> None:
        """Keep the name of the report on this pair that is shown now."""
        sql = "UPDATE verdicts SET shown = ? WHERE target = ? AND baseline = ?"
        self._database.attempt(lambda: self._database.connection.execute(sql, (name, target, baseline)).close())

    def recall(self, baseline: str, target: str) -> Remembered | None:
        """The stored verdicts on a pair."""
        return self._database.attempt(lambda: self._recall(baseline, target))

    def _recall(self, baseline: str, target: str) -> Remembered | None:
        sql = "SELECT baseline, target, report, basis, shown FROM verdicts WHERE target = ? AND baseline = ?"
        rows = self._database.connection.execute(sql, (target, baseline)).fetchall()
        return Remembered(*rows[0]) if rows else None

    def all(self) -> Iterator[Remembered]:
        """Everything that is remembered, the newest first, as far as it is asked for."""
        sql = "SELECT number, baseline, target, report, basis, shown FROM verdicts WHERE number < ? ORDER BY number DESC LIMIT 1"

        def before(number: int) -> tuple[int, Remembered] | None:
            rows = self._database.connection.execute(sql, (number,)).fetchall()
            return (rows[0][0], Remembered(*rows[0][1:])) if rows else None

        number = (1 << 63) - 1
        while found := self._database.attempt(partial(before, number)):
            number, report = found
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


FINDINGS_VERSION = 3
FINDINGS_SCHEMA = "CREATE TABLE findings (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, found BLOB NOT NULL)"
MOST_RESULTS = 50_000  # results that are kept; the oldest make room


class Given(NamedTuple):
    """A series to be judged: its finite levels, the variance of each (NaN: unknown), and the places of the steps that are settled."""

    levels: array[float]
    variances: array[float]
    evidence: tuple[int, ...] = ()


class BoundedStep(NamedTuple):
    """A step with the ends of its 99 % interval."""

    step: ChangePoint
    low: float
    high: float


class Found(NamedTuple):
    """A judgement with the ends of the 99 % interval of each of its steps, which take numpy to compute."""

    judgement: Judgement
    ends: list[tuple[float, float]]

    @property
    def steps(self) -> list[BoundedStep]:
        """The steps with the ends of their intervals."""
        return [BoundedStep(step, *ends) for step, ends in zip(self.judgement.steps, self.ends, strict=True)]


class Findings:
    """Results by what they were computed from."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, FINDINGS_SCHEMA, FINDINGS_VERSION)

    def judged(self, series: Sequence[Given], *, compute: bool = True) -> list[Found | None]:
        """The judgement of each series; only those that are not known yet are computed, and then kept. None without ``compute``."""
        keys = [_key(one) for one in series]
        known = self.recall(keys, Found)
        new = {key: one for key, one in zip(keys, series, strict=True) if key not in known}
        if new and compute:
            computed = _computed(new)
            self.keep(computed)
            known |= computed
        return [known.get(key) for key in keys]

    def recall(self, keys: Sequence[str], kind: type[Kind]) -> dict[str, Kind]:
        """The results stored under these keys; entries that cannot be read as a ``kind`` are left out."""
        decode = msgspec.msgpack.Decoder(kind).decode
        sql = "SELECT key, found FROM findings WHERE key IN (SELECT value FROM json_each(?))"

        def known() -> dict[str, Kind]:
            rows = self._database.connection.execute(sql, (msgspec.json.encode(keys).decode(),))
            return {key: decode(found) for key, found in rows}

        return self._database.attempt(known)

    def keep(self, new: Mapping[str, object]) -> None:
        """Keep results under their keys."""
        rows = [(key, msgspec.msgpack.encode(found)) for key, found in new.items()]

        def insert() -> None:
            with self._database.transaction() as connection:
                connection.executemany("INSERT OR REPLACE INTO findings (key, found) VALUES (?, ?)", rows)
                connection.execute("DELETE FROM findings WHERE number <= (SELECT max(number) FROM findings) - ?", (MOST_RESULTS,))

        self._database.attempt(insert)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def keyed(kind: str) -> Callable[..., str]:
    """Makes keys for results of a kind and version: of some bytes, which cannot run into one another."""
    from hashlib import blake2b

    begun = blake2b(kind.encode(), digest_size=16)

    def key(*parts: bytes) -> str:
        digest = begun.copy()
        for part in parts:
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
        return digest.hexdigest()

    return key


def _computed(series: dict[str, Given]) -> dict[str, Found]:
    given = list(series.values())
    judged = judgement.judge_all(
        [one.levels for one in given], variances=[one.variances for one in given], evidence=[one.evidence for one in given]
    )
    found = dict(zip(series, judged, strict=True))
    # together: each call costs as much as a hundred steps
    ends = iter(steps.intervals([step for one in found.values() for step in one.steps]))
    return {key: Found(one, [next(ends) for _ in one.steps]) for key, one in found.items()}


def _key(given: Given) -> str:
    places = b"".join(place.to_bytes(4, "little") for place in given.evidence)
    return keyed(f"judgement {judgement.VERSION}")(given.levels.tobytes(), given.variances.tobytes(), places)
