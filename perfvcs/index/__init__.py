"""A cache of the store in SQLite: headers, and what verdicts need of the rows.

It can be deleted at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.index.database import Database, Result
from perfvcs.index.filling import (
    ENVIRONMENTS,
    INDEX_SCHEMA,
    INDEX_VERSION,
    SESSIONS_TABLE,
    environments,
    sessions,
)
from perfvcs.index.headers import headers, measured
from perfvcs.index.lines import (
    PATH_QUERY,
    WITHIN_COMMITS,
    Course,
    Line,
    LineParts,
    SeriesEntry,
    courses,
    entries,
    joined,
    lines,
    order,
)
from perfvcs.index.packedlevels import LEVEL_RECORD
from perfvcs.index.snapshot import FormerNames, Snapshot
from perfvcs.index.verdicts import LastVerdict, LastVerdicts
from perfvcs.profile import Environment, Job
from perfvcs.profile.summary import Header, Measured

if TYPE_CHECKING:
    from perfvcs.index.filling import HostSession
    from perfvcs.index.seriesresults import Findings
    from perfvcs.store import Store

FIRST_ASKED, MOST_ASKED = 64, 4096  # commits asked of the file at a time
FEW_COMMITS = 1000  # commits with profiles that are all read at once
SHORTEST_PREFIX = 4  # characters of a prefix
FIND = f"""
SELECT path FROM (SELECT {PATH_QUERY} AS path, c.text AS c, p.name AS name FROM profiles p
JOIN commits c ON c.id = p.commit_id)
WHERE substr(path, 1, length(:p)) = :p OR substr(c, 1, length(:p)) = :p
OR substr(name, 1, length(:p)) = :p
OR substr(name, -17, length(:p)) = :p
UNION SELECT path FROM damaged WHERE substr(path, 1, length(:p)) = :p ORDER BY path"""


class Index:
    """The cache of ``store`` in the file at ``path``.

    The last verdicts (``memory``) are in ``verdicts.db`` beside it, what was found in series
    (``findings``) in ``steps.db``.

    The first read brings the index up to date, and all reads see that state, whatever others store
    meanwhile, until ``refresh`` or ``release``. Makes a damaged file anew, and falls back to an
    in-memory database when the file cannot be written. Lists are ordered by commit as they were
    asked for (by name when none were), then by time. What is stored under ``former`` names is given
    under the present ones.
    """

    def __init__(self, store: Store, path: Path, former: FormerNames | None = None) -> None:
        self.former = former or FormerNames()
        self._database = Database(path, INDEX_SCHEMA, INDEX_VERSION)
        self._snapshot = Snapshot(self._database, store)
        self.memory = LastVerdicts(path.with_name("verdicts.db"))

    @cached_property
    def findings(self) -> Findings:
        """Results computed from series."""
        from perfvcs.index.seriesresults import Findings

        return Findings(self._database.path.with_name("steps.db"))

    def refresh(self) -> None:
        """Follow the store: reads what has come since the last time, and nothing else.

        Raises Damaged when the store is.
        """
        self.release()
        self._database.attempt(self._snapshot.connection)

    def release(self) -> None:
        """Let go of the state that reads see: the next read follows the store.

        While it is held, SQLite's log of changes only grows.
        """
        self._snapshot.release()

    @property
    def head(self) -> str | None:
        """The store's commit that all reads see; None if there is no store."""
        self._database.attempt(self._snapshot.connection)
        return self._snapshot.head

    def consistent(self, action: Callable[[], Result]) -> Result:
        """The result of an action that reads several times and keeps numbers of rows in between.

        Its reads see one state even where the file turns out to be damaged in the middle: the
        action is repeated on the new one.
        """
        return self._database.attempt(action)

    def rebuild(self) -> None:
        """Throw the file away and read the whole store."""
        self._database.discard()
        self.refresh()

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._snapshot.connection().execute(sql, values).fetchall()

    def _texts(self, sql: str, *values: object) -> list[str]:
        """The first column of the rows; raises msgspec.ValidationError where it is not text."""
        return self._database.attempt(
            lambda: msgspec.convert([row[0] for row in self._rows(sql, *values)], list[str])
        )

    def headers(self, commits: Iterable[str] | None = None) -> list[Header]:
        """The headers of all profiles, or of those of some commits."""
        asked = None if commits is None else list(commits)
        return self._database.attempt(
            lambda: list(map(self.former.header, headers(self._snapshot.connection(), asked)))
        )

    def measured(
        self, commits: Iterable[str], environment: str | None = None, *, products: bool = False
    ) -> list[Measured]:
        """Headers with their summaries, of all environments or of that with a fingerprint, for
        verdicts; no blob is opened.

        What was measured of other ``products`` beside the commits is left out unless it is asked
        for.
        """
        asked = list(commits)
        profiles = self._database.attempt(
            lambda: measured(self._snapshot.connection(), asked, environment)
        )
        if not products:
            profiles = [profile for profile in profiles if profile.header.design.product is None]
        return list(map(self.former.measured, profiles)) if self.former else profiles

    def sessions(self) -> list[HostSession]:
        """The sessions on each host, the oldest first."""
        return self._database.attempt(lambda: sessions(self._rows(SESSIONS_TABLE)))

    def environments(self, asked: Sequence[tuple[str, str, str]]) -> dict[int, Environment]:
        """By number of a question (commit, job, fingerprint): the environment measured in last."""
        return self._database.attempt(
            lambda: environments(self._rows(ENVIRONMENTS, msgspec.json.encode(asked).decode()))
        )

    def counts(self, commits: Iterable[str]) -> dict[str, int]:
        """The number of profiles of each of these commits; commits without any are left out."""
        asked = _json(commits)
        sql = (
            "SELECT c.text, count(*) FROM commits c JOIN profiles p ON p.commit_id = c.id WHERE"
            f" {WITHIN_COMMITS} GROUP BY c.id"
        )
        return self._database.attempt(lambda: dict(self._rows(sql, asked)))

    def commits(self) -> set[str]:
        """All commits that have profiles."""
        sql = (
            "SELECT text FROM commits c WHERE EXISTS (SELECT 1 FROM profiles WHERE commit_id ="
            " c.id)"
        )
        return set(self._texts(sql))

    def among(self, commits: Iterable[str], left: int) -> Iterator[str]:
        """Those of some commits that have profiles, of which there are at most so many ``left``;
        asks for no more commits than it needs.
        """
        waiting, size = iter(commits), FIRST_ASKED
        # among many commits without profiles
        few = self.commits() if 0 < left <= FEW_COMMITS else None
        while left > 0 and (chunk := list(islice(waiting, size))):
            measured = self.counts(chunk).keys() if few is None else few.intersection(chunk)
            yield from (commit for commit in chunk if commit in measured)
            left -= len(measured)
            size = min(2 * size, MOST_ASKED)

    def marks(self, commits: Iterable[str] | None = None) -> dict[str, int]:
        """All commits that have profiles, or those of some, each with a number that their names
        have made: it is another one where these are others.
        """
        sql, asked = "SELECT text, mark FROM commits WHERE mark != 0", []
        if commits is not None:
            sql += " AND text IN (SELECT value FROM json_each(?))"
            asked = [msgspec.json.encode(list(commits)).decode()]
        return self._database.attempt(
            lambda: msgspec.convert(dict(self._rows(sql, *asked)), dict[str, int])
        )

    def most_commits(self) -> int:
        """How many commits have profiles, or have had: at most so many have any.

        Counted in no time, unlike ``commits``.
        """
        return self._database.attempt(lambda: int(self._rows("SELECT count(*) FROM commits")[0][0]))

    def most_levels(self) -> int:
        """The number of levels of all lines on all commits."""
        return (
            self._database.attempt(
                lambda: int(self._rows("SELECT total(length(packed)) FROM levels")[0][0])
            )
            // LEVEL_RECORD.size
        )

    def changed(self) -> set[str]:
        """The commits that have profiles of uncommitted changes on top."""
        sql = (
            "SELECT text FROM commits WHERE id IN (SELECT commit_id FROM profiles WHERE dirty IS"
            " NOT NULL)"
        )
        return set(self._texts(sql))

    def total(self) -> int:
        """The number of profiles."""
        return self._database.attempt(
            lambda: int(self._rows("SELECT count(*) FROM profiles")[0][0])
        )

    def series(self) -> list[Job]:
        """The distinct jobs of all profiles, by label."""
        stored = self._database.attempt(self._series)
        jobs = {job.key: job for job in map(self.former.job, stored)}
        return sorted(jobs.values(), key=lambda job: (job.label, job.collector, job.key))

    def has_unit(self, uid: str) -> bool:
        """Whether a profile has a unit of this name."""
        units = (
            "SELECT 1 FROM lines l WHERE json_extract(text, '$[2]') = ? AND EXISTS (SELECT 1 FROM"
            " profiles WHERE job = l.job AND environment = l.environment) LIMIT 1"
        )
        return self._database.attempt(lambda: bool(self._rows(units, uid)))

    def renamed(self) -> list[tuple[Job, Job]]:
        """The stored jobs that have another name now, each with the same under that."""
        return self._database.attempt(self._renamed)

    def _renamed(self) -> list[tuple[Job, Job]]:
        if not self.former:
            return []
        return [
            (job, self.former.job(job)) for job in self._series() if job.name in self.former.names
        ]

    def _series(self) -> list[Job]:
        rows = self._rows(
            "SELECT text FROM jobs j WHERE EXISTS (SELECT 1 FROM profiles WHERE job = j.id)"
        )
        return [msgspec.json.decode(row[0], type=Job) for row in rows]

    def history(self, key: str, commits: Iterable[str] | None = None) -> list[SeriesEntry]:
        """The summaries of one series (its job's ``key``), of all commits or of some."""
        asked = None if commits is None else list(commits)
        return self._database.attempt(lambda: self._history(key, asked))

    def _history(self, key: str, asked: list[str] | None) -> list[SeriesEntry]:
        history = entries(self._snapshot.connection(), key, asked)
        former = [job for job, present in self._renamed() if present.key == key]
        if not former:
            return history
        for job in former:
            history += [
                entry._replace(summary=self.former.summary(job.name, entry.summary))
                for entry in entries(self._snapshot.connection(), job.key, asked)
            ]
        turn = order(asked)
        return sorted(history, key=lambda entry: (turn(entry.commit), entry.started))

    def lines(self) -> dict[int, Line]:
        """The lines of the history, by number: a unit and metric of a job in an environment."""
        return self._database.attempt(lambda: self._lines()[0])

    def _lines(self) -> tuple[dict[int, Line], LineParts]:
        """The lines by number, and the parts of those that began under a former name."""
        by_number = lines(self._snapshot.connection())
        if not self.former:
            return by_number, {}
        return joined({number: self.former.line(line) for number, line in by_number.items()})

    def courses(self, numbers: Iterable[int], commits: Sequence[str]) -> dict[int, Course]:
        """The levels of lines along commits, oldest first; no profile of uncommitted changes."""
        asked = list(numbers)
        return self._database.attempt(
            lambda: courses(self._snapshot.connection(), asked, commits, self._parts())
        )

    def _parts(self) -> LineParts:
        return self._lines()[1] if self.former else {}

    def find(self, prefix: str) -> list[str]:
        """The paths that begin with ``prefix``, or whose commit, name or id does; damaged ones too.

        Less than 4 characters find nothing.
        """
        if len(prefix) < SHORTEST_PREFIX:  # what is found may be removed
            return []
        return self._database.attempt(
            lambda: [row[0] for row in self._snapshot.connection().execute(FIND, {"p": prefix})]
        )

    def origins(self, commit: str) -> dict[str, str]:
        """The paths of the profiles of one commit, each with the SHA-256 of the document that was
        its first version; empty where it was not processed.
        """
        sql = (
            f"SELECT {PATH_QUERY}, ifnull(p.origin, '') FROM profiles p"
            " JOIN commits c ON c.id = p.commit_id WHERE c.text = ?"
        )
        return self._database.attempt(
            lambda: msgspec.convert(dict(self._rows(sql, commit)), dict[str, str])
        )

    def damaged(self) -> dict[str, str]:
        """Files of the store that are not profiles: path -> reason."""
        sql = "SELECT path, reason FROM damaged ORDER BY path"
        return self._database.attempt(
            lambda: msgspec.convert(dict(self._rows(sql)), dict[str, str])
        )

    def verdicts(self, commits: Iterable[str]) -> dict[str, LastVerdict]:
        """The last verdict of each of these commits that has one."""
        return self.memory.of(commits)

    def close(self) -> None:
        """Close the files; the next use opens them again."""
        self._snapshot.forget()
        self._database.close()
        self.memory.close()
        if "findings" in vars(self):
            self.findings.close()


def _json(commits: Iterable[str]) -> str:
    return msgspec.json.encode(list(commits)).decode()
