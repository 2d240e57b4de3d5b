"""The journal of a session: its design and its complete blocks, in a file, so that what was
interrupted can be continued.

``.perf/sessions/<session>.jsonl`` has a line per entry: the CRC-32 of what follows in 8 hex digits,
a space, and JSON. The first is the header. A line that a crash cut off, or that does not match its
sum, does not count: its block is measured again.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shlex
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO
from zlib import crc32

import msgspec

from perfvcs.jobs import MAX_COUNT
from perfvcs.measure.request import Request
from perfvcs.plugins.collector import Observations
from perfvcs.profile import Environment, Job, Reached
from perfvcs.repository.state import State
from perfvcs.system.disk import NotPlain, make_folder, plain

SESSIONS_FOLDER = "sessions"
FORMAT = "perfvcs-session/1"
MAX_JOURNAL_HEADER = 1 << 24  # bytes of a header: 10,000 jobs and many thousand revisions
MAX_LINE = 1 << 30
SESSION = r"\d{8}T\d{6}-[0-9a-f]{6}"
COMMIT_ID = r"[0-9a-f]{40}|[0-9a-f]{64}"


class Identity(msgspec.Struct, frozen=True):
    """What distinguishes a session from all others, and the seed of its chance."""

    session: str
    started: str
    seed: int

    @classmethod
    def new(cls, seed: int | None = None) -> Identity:
        """One that begins now; without a seed of the caller's a random one."""
        now = datetime.now(UTC)
        return cls(
            f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}",
            moment(now),
            secrets.randbelow(1 << 31) if seed is None else seed,
        )


class Planned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One job of a session: its label, its collector, and its executions per version and build."""

    label: str
    collector: str
    executions: int


class SessionHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The design of a session. ``started`` is UTC, ISO 8601.

    ``here``: the working tree itself is measured. ``waiting``: the versions of the sessions that
    the same call was to run after this one. ``command``: what stood behind ``--``. ``config`` is
    the digest of perf.toml, ``order`` the name of the plan of turns. ``variables``: those of the
    caller's environment that profiles record; None in sessions of older versions.
    """

    format: str = FORMAT
    session: str
    started: str
    seed: int
    order: str
    config: str
    request: Request
    jobs: list[Planned]
    versions: list[State]
    here: bool = False
    waiting: list[list[State]] = []
    command: tuple[str, ...] = ()
    variables: dict[str, str] | None = None

    @property
    def identity(self) -> Identity:
        """What distinguishes the session from all others."""
        return Identity(self.session, self.started, self.seed)

    @property
    def continued(self) -> str:
        """The command that continues it, while it is the newest."""
        return self._continued("--continue")

    @property
    def continued_by_name(self) -> str:
        """The command that continues it, whichever others there are."""
        return self._continued(f"--continue {self.session}")

    def _continued(self, words: str) -> str:
        return f"perf collect {words}" + (f" -- {shlex.join(self.command)}" if self.command else "")

    @property
    def names(self) -> str:
        """The versions, for people."""
        return ", ".join(dict.fromkeys(state.name for state in self.versions))


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="block"):
    """One job's part of a block: what each version gave, how many of its executions failed before
    that, its turn, and its series.

    The keys are numbers of versions. All versions shared the ``seed``. ``places`` are those of the
    turns, 0 for the first. A series is the job's key and the environment's fingerprint. ``host``
    ran all of it; empty: the machine of the session.
    """

    job: int
    block: int
    binary: int
    seed: int
    seen: dict[int, Observations]
    failed: dict[int, int]
    places: dict[int, int]
    series: dict[int, tuple[str, str]]
    host: str = ""


class Lost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="lost"):
    """A job that was given up on a version, and why."""

    job: int
    version: int
    reason: str


class Described(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="described"):
    """What a host says of a job on a version: what identifies the series, its environment, and
    which functions ran in the warm-up.
    """

    host: str
    job: int
    version: int
    about: Job
    environment: Environment
    reached: Reached | None = None


JournalEntry = Block | Lost | Described
_header = msgspec.json.Decoder(SessionHeader)
_entry = msgspec.json.Decoder(JournalEntry)


def moment(when: datetime) -> str:
    """A time of UTC as profiles have it."""
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Journal:
    """The journal of one session; its file is made with the first entry.

    While it is open, its session is running.
    """

    def __init__(self, home: Path, header: SessionHeader) -> None:
        self.header = header
        self.path = home / SESSIONS_FOLDER / f"{header.session}.jsonl"
        self._file: IO[bytes] | None = None

    def begin(self) -> None:
        """Make the file, or go on in it."""
        if self._file is None:
            make_folder(self.path.parent)
            descriptor = plain(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            self._file = open(descriptor, "r+b", buffering=0)  # noqa: SIM115
            with suppress(OSError):  # some network file systems have no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            if not size:
                self._write(msgspec.json.encode(self.header))
            elif os.pread(descriptor, 1, size - 1) != b"\n":
                os.write(descriptor, b"\n")  # a crash cut off the last line

    def add(self, entry: JournalEntry) -> None:
        """Append an entry."""
        line = msgspec.json.encode(entry)
        self.begin()
        self._write(line)

    def _write(self, line: bytes) -> None:
        assert self._file is not None
        content = memoryview(b"%08x %b\n" % (crc32(line), line))
        while content:
            content = content[self._file.write(content) :]

    def close(self) -> None:
        """Let go of the file, with all of it on the disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None

    def forget(self) -> None:
        """Removes the file: the session is finished, or will never be."""
        self.path.unlink(missing_ok=True)
        if self._file is not None:
            self._file.close()
            self._file = None

    def entries(self) -> Iterator[JournalEntry]:
        """The complete records so far."""
        with suppress(FileNotFoundError), _opened(self.path) as file:
            file.readline(MAX_JOURNAL_HEADER)
            while line := file.readline(MAX_LINE):
                with suppress(msgspec.DecodeError, RecursionError):
                    if (content := _checked(line)) is not None and _is_sound(
                        entry := _entry.decode(content)
                    ):
                        yield entry


def header_of(path: Path) -> SessionHeader | None:
    """The header in a file; None where its session runs, or it is no journal of ours."""
    try:
        with _opened(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            content = _checked(file.readline(MAX_JOURNAL_HEADER))
        header = None if content is None else _header.decode(content)
    except (NotPlain, OSError, msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    sound = (
        header is not None
        and header.format == FORMAT
        and header.session == path.stem
        and _is_possible(header)
    )
    return header if sound else None


def is_running(path: Path) -> bool:
    """Whether the session of a journal is running."""
    try:
        with _opened(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (NotPlain, OSError):
        pass
    return False


def _is_possible(header: SessionHeader) -> bool:
    """Whether we could have written it: its words become paths and words of git's commands."""
    states = [state for states in (header.versions, *header.waiting) for state in states]
    return (
        re.fullmatch(SESSION, header.session) is not None
        and bool(header.versions)
        and all(re.fullmatch(COMMIT_ID, state.commit) for state in states)
        and all(0 < job.executions <= MAX_COUNT for job in header.jobs)
    )


def _is_sound(entry: JournalEntry) -> bool:
    return (
        not isinstance(entry, Block)
        or entry.seen.keys() == entry.failed.keys() == entry.places.keys() == entry.series.keys()
    )


def _opened(path: Path) -> IO[bytes]:
    return open(plain(path, os.O_RDONLY), "rb")


def _checked(line: bytes) -> bytes | None:
    """The JSON of a line; None where it is not whole."""
    if not line.endswith(b"\n") or line[8:9] != b" " or line[:8] != b"%08x" % crc32(line[9:-1]):
        return None
    return line[9:-1]
