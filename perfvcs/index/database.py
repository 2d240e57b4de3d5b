"""SQLite files that hold derived data: usable whatever state they are in, and never a reason to
fail.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

WRITER_SECONDS = 60.0  # seconds to wait for another process that writes
IN_MEMORY = ":memory:"
# Not the file's fault: no permission, busy, locked, read-only, disk trouble, disk full, cannot be
# opened.
CIRCUMSTANCES = frozenset({3, 5, 6, 8, 10, 13, 14})

# Also what a changed byte, or a value of another type, does to those who read it.
DAMAGE_ERRORS = (
    sqlite3.Error,
    msgspec.MsgspecError,
    struct.error,
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
)

Result = TypeVar("Result")


class Database:
    """One SQLite file with a schema of a version.

    Makes a damaged file anew, and falls back to a copy in memory when the file cannot be written.
    """

    def __init__(self, path: Path, schema: str, version: int) -> None:
        self.path = path
        self._schema = schema
        self._version = version
        self._connection: sqlite3.Connection | None = None
        self._attempting = False

    def __del__(self) -> None:
        """Close what nobody closed: since Python 3.13 that is a ResourceWarning otherwise."""
        # half made, or in use by another thread
        with contextlib.suppress(AttributeError, sqlite3.Error):
            self.close()

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection, in autocommit mode; another one after a recovery."""
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def discard(self) -> None:
        """Delete the file; the next use makes an empty one."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self.path.with_name(f"{self.path.name}{suffix}").unlink()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; others that write wait until it ends."""
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    def rollback(self) -> None:
        """End the transaction that is open, if one is."""
        if self._connection is not None and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def attempt(self, action: Callable[[], Result]) -> Result:
        """The action's result; it is repeated on a new file when this one is damaged, and in memory
        when it cannot be written.

        The action decodes what it reads, and finds out itself that ``connection`` has become an
        empty one. An attempt inside another leaves the repeating to that one, which is repeated as
        a whole.
        """
        if self._attempting:
            return action()
        self._attempting = True
        try:
            return self._attempt(action)
        finally:
            self._attempting = False

    def _attempt(self, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except DAMAGE_ERRORS as error:
            self._recover(error)
        try:
            return action()
        except DAMAGE_ERRORS:
            self.close()
            self._connection = self._prepared(IN_MEMORY)
        return action()

    def _recover(self, error: Exception) -> None:
        if _circumstance(error):
            self.close()
            self._connection = self._copy_in_memory()
        else:
            self.discard()

    def _open(self) -> sqlite3.Connection:
        deadline = time.monotonic() + WRITER_SECONDS
        while True:
            try:
                return self._prepared(str(self.path))
            except sqlite3.Error as error:
                busy = _code(error) in (5, 6)
                # two that create it at once: SQLite does not wait in every case
                if busy and time.monotonic() < deadline:
                    time.sleep(0.01)
                elif _circumstance(error):
                    return self._copy_in_memory()
                else:
                    self.discard()
                    break
        try:
            return self._prepared(str(self.path))
        except sqlite3.Error:
            return self._prepared(IN_MEMORY)

    def _prepared(self, where: str) -> sqlite3.Connection:
        connection = sqlite3.connect(where, timeout=WRITER_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA trusted_schema = OFF")
            if _version(connection) == self._version and not self._as_made(connection):
                raise sqlite3.DatabaseError(
                    "its tables, views or triggers are not those of perfvcs"
                )
            if _version(connection) != self._version:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                if _version(connection) != self._version:
                    self._start_anew(connection)
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _start_anew(self, connection: sqlite3.Connection) -> None:
        for kind in ("trigger", "view", "table"):
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = ?", (kind,)
            ).fetchall():
                if not name.startswith("sqlite_"):
                    connection.execute(f'DROP {kind} "{name.replace(chr(34), chr(34) * 2)}"')
        for statement in self._schema.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {self._version}")

    def _as_made(self, connection: sqlite3.Connection) -> bool:
        """Whether a file holds the tables and indexes of our schema, word for word, and no more."""
        wanted = {
            text for statement in self._schema.split(";") if (text := " ".join(statement.split()))
        }
        rows = connection.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%'"
            " ESCAPE '\\'"
        )
        return {" ".join(str(sql).split()) for (sql,) in rows} == wanted

    def _copy_in_memory(self) -> sqlite3.Connection:
        """What the file holds, in memory; empty if it cannot be read."""
        memory = sqlite3.connect(IN_MEMORY, isolation_level=None)
        wal = self.path.with_name(f"{self.path.name}-wal")
        with contextlib.suppress(sqlite3.Error, OSError):
            # else the file alone is not the whole state
            if not wal.exists() or not wal.stat().st_size:
                where = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
                with contextlib.closing(sqlite3.connect(where, uri=True)) as file:
                    file.backup(memory)
                if _version(memory) == self._version:
                    return memory
        memory.close()
        return self._prepared(IN_MEMORY)


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _code(error: Exception) -> int:
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _circumstance(error: Exception) -> bool:
    return _code(error) in CIRCUMSTANCES
