"""The state of the index that a command reads: it follows the store first, then stays as it is
until it is released.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace as with_changes
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfvcs.index.filling import Filling
from perfvcs.store.removal import Damaged

if TYPE_CHECKING:
    import sqlite3

    from perfvcs.index.database import Database
    from perfvcs.index.lines import Line
    from perfvcs.profile import Job, Profile
    from perfvcs.profile.summary import Header, Measured, Summary
    from perfvcs.store import BlobChange, Store

# of the store; what a damaged file has is given to git only if it is one
COMMIT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# profiles that one git process reads; only their paths are in memory at once
PROFILES_PER_READ = 2000


class FormerNames(msgspec.Struct, frozen=True):
    """The present ``names`` of jobs by their former ones.

    A unit that was called after its job is renamed with it.
    """

    names: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names)

    def job(self, job: Job) -> Job:
        """A job under its present name."""
        return replace(job, name=self.names[job.name]) if job.name in self.names else job

    def header(self, header: Header) -> Header:
        """The same of a profile's header."""
        return (
            replace(header, job=self.job(header.job)) if header.job.name in self.names else header
        )

    def summary(self, former: str, summary: Summary) -> Summary:
        """A summary of a job of that former name."""
        return replace(summary, uid=self.names[former]) if summary.uid == former else summary

    def measured(self, measured: Measured) -> Measured:
        """The same of a header with its summaries."""
        former = measured.header.job.name
        if former not in self.names:
            return measured
        summaries = [self.summary(former, summary) for summary in measured.summaries]
        return replace(measured, header=self.header(measured.header), summaries=summaries)

    def line(self, line: Line) -> Line:
        """The same of a line."""
        former = line.job.name
        if former not in self.names:
            return line
        return line._replace(
            job=self.job(line.job), uid=self.names[former] if line.uid == former else line.uid
        )

    def profile(self, profile: Profile) -> Profile:
        """The same of a whole profile."""
        former = profile.job.name
        if former not in self.names:
            return profile
        present = self.names[former]
        units = [present if name == former else name for name in profile.resources.names]
        models = [
            replace(entry, uid=present) if entry.uid == former else entry
            for entry in profile.models
        ]
        rows = with_changes(profile.resources, names=units)
        return replace(profile, job=self.job(profile.job), resources=rows, models=models)


class Snapshot:
    """A read transaction on a database of a store, whose commit is ``head`` (None: no store)."""

    def __init__(self, database: Database, store: Store) -> None:
        self._database, self._store = database, store
        self._reading: sqlite3.Connection | None = None  # the connection with the transaction
        self.head: str | None = None

    def forget(self) -> None:
        """The database is about to be closed: the next read begins a transaction of its own."""
        self._reading = None

    def release(self) -> None:
        """End the transaction."""
        self.forget()
        self._database.rollback()

    def connection(self) -> sqlite3.Connection:
        """The connection, in a read transaction on the index as it mirrors the store."""
        connection = self._database.connection
        if connection is self._reading:
            return connection
        self._database.rollback()
        connection.execute("BEGIN")
        if _mirrored(connection) != self._store.head():
            connection.execute("ROLLBACK")
            with self._database.transaction():
                old = _mirrored(connection)
                # asked again: another process may have been faster, and must not be undone
                head = self._store.head()
                if old != head:
                    self._follow(Filling(connection), old, head)
                    connection.execute("DELETE FROM mirror")
                    connection.executemany(
                        "INSERT INTO mirror VALUES (?)", [(head,)] if head else []
                    )
            connection.execute("BEGIN")
        # the first read: from here on the transaction sees this state
        self.head = _mirrored(connection)
        self._reading = connection
        return connection

    def _follow(self, filling: Filling, old: str | None, head: str | None) -> None:
        if old is not None and head is not None:
            try:
                self._apply(filling, self._store.changes(old, head))
                return
            except Damaged:  # the old state is gone from the store
                pass
        filling.clear()
        if head is not None:
            self._apply(filling, self._store.changes(None, head))

    def _apply(self, filling: Filling, changes: Iterator[BlobChange]) -> None:
        while batch := list(islice(changes, PROFILES_PER_READ)):
            for moved in batch:
                if moved.old:
                    filling.remove(moved.path)
            for path, document in self._store.documents(
                {moved.path: moved.new for moved in batch if moved.new}
            ):
                filling.add(path, document)
        filling.flush()


def _mirrored(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT head FROM mirror").fetchone()
    return row[0] if row and isinstance(row[0], str) and COMMIT_ID.fullmatch(row[0]) else None
