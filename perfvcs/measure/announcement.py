"""Sessions under way and interrupted: who is measuring what, and what can be continued."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from perfvcs.environment import clean, recorded
from perfvcs.errors import UsageError, nearest
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import Config
from perfvcs.measure.blocks import ORDER_NAME
from perfvcs.measure.journal import SESSIONS_FOLDER, Journal, SessionHeader, header_of, is_running
from perfvcs.measure.product import read_all
from perfvcs.measure.progress import PassedOn, Progress
from perfvcs.measure.request import digest
from perfvcs.profile.rules import RULES_FILE
from perfvcs.repository import Repository
from perfvcs.system.disk import NotPlain, entries, make_folder, plain
from perfvcs.system.lock import alone_in

# the name of a session, or a beginning that nothing else has
LIKE = r"\d{8}T\d{6}(-[0-9a-f]{0,6})?"
MOST_SESSIONS = 5  # sessions that a message lists
MEASURING_FOLDER = "measuring"
LARGEST_ANNOUNCEMENT = 1 << 20  # bytes of an announcement


def unfinished(home: Path) -> list[SessionHeader]:
    """The sessions that are neither finished nor running, the newest first."""
    names = [name for name in reversed(entries(home / SESSIONS_FOLDER)) if name.endswith(".jsonl")]
    return [
        header for name in names if (header := header_of(home / SESSIONS_FOLDER / name)) is not None
    ]


def choose(home: Path, name: str = "") -> SessionHeader:
    """The newest unfinished session, or the one whose name begins so; raises UsageError."""
    headers = unfinished(home)
    if not headers:
        raise UsageError(
            "no session is unfinished, so there is nothing to continue: measure with `perf collect`"
        )
    wanted = [header for header in headers if header.session.startswith(name)]
    if not wanted:
        raise UsageError(
            f"no session `{name}` is"
            f" unfinished{nearest(name, [header.session for header in headers])}"
        )
    return wanted[0]


def named(home: Path, name: str) -> SessionHeader | None:
    """The unfinished session that a name, or the beginning of one, stands for; None where it stands
    for none.

    Raises UsageError where it stands for several, or for one that is running.
    """
    if not re.fullmatch(LIKE, name):
        return None
    headers = [header for header in unfinished(home) if header.session.startswith(name)]
    if len(headers) > 1:
        raise UsageError(
            f"several sessions begin with `{name}`: name one:"
            f" {', '.join(header.session for header in headers[:MOST_SESSIONS])}"
        )
    if headers:
        return headers[0]
    for entry in entries(home / SESSIONS_FOLDER):
        if entry.startswith(name) and is_running(home / SESSIONS_FOLDER / entry):
            raise UsageError(
                f"session {Path(entry).stem} is running: end it first, Ctrl-C keeps what is"
                " complete"
            )
    return None


def forget(home: Path, header: SessionHeader) -> None:
    """Give up an unfinished session."""
    Journal(home, header).forget()


def variables() -> dict[str, str]:
    """The variables of the caller's environment that profiles record."""
    return recorded(clean(os.environ), built=True)


def differing(header: SessionHeader) -> list[str]:
    """The variables that are not as they were when a session began; empty if it has none."""
    before, now = header.variables, variables()
    if before is None:
        return []
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def intact(
    repository: Repository, header: SessionHeader, config: Config, command: tuple[str, ...]
) -> tuple[list[Cell], Config]:
    """The cells of a session and the configuration with its knobs, or UsageError if changed."""
    given_up = f"or give it up with `perf rm {header.session}` (its profiles stay) and measure anew"
    if header.command != command:
        if header.command:
            raise UsageError(
                f"session {header.session} measured another command: {header.continued_by_name}"
            )
        raise UsageError(
            f"session {header.session} measured the jobs of {RULES_FILE}: leave out `--"
            f" {shlex.join(command)}`"
        )
    same = header.config == digest(config)
    if not same and not command:
        raise UsageError(
            f"{RULES_FILE} changed since session {header.session} began: put it back as it was,"
            f" {given_up}"
        )
    in_place = header.here and not command  # as older versions measured HEAD, too
    if header.order != ORDER_NAME or not same or in_place:
        raise UsageError(
            f"session {header.session} was begun by another version of perfvcs: install that one,"
            f" {given_up}"
        )
    now = {
        product.name: product.digest
        for product in read_all(header.request.against, repository.project)
    }
    for state in header.versions:
        if state.product:
            if now.get(state.product) != state.dirty:
                raise UsageError(
                    f"{state.product} is no longer what session {header.session} measured: put it"
                    f" back as it was, {given_up}"
                )
        elif (state.dirty or header.here) and repository.current(state.commit) != state:
            raise UsageError(
                f"the working tree is no longer {state.name}, which session {header.session}"
                f" measured: put it back as it was, {given_up}"
            )
    cells, measured = header.request.apply(config)
    counts = {(job.label, job.collector): job.executions for job in header.jobs}
    return [
        replace(cell, executions=counts[cell.label, cell.collector_name], auto=None)
        for cell in cells
    ], measured


class RunningSession(msgspec.Struct, frozen=True):
    """A run that goes on: its commits, when it began (seconds since 1970), and how many of its
    executions are done, of how many.

    ``total`` is 0 before the first execution: the run prepares, or waits for another one.
    """

    commits: tuple[str, ...] = ()
    began: float = 0.0
    done: int = 0
    total: int = 0


_decoder = msgspec.json.Decoder(RunningSession)


class Announcement(PassedOn):
    """The announcement of one run, while this object is open; it passes the progress on."""

    def __init__(
        self, path: Path, descriptor: int, running: RunningSession, progress: Progress
    ) -> None:
        super().__init__(progress)
        self.path, self.descriptor, self._running = path, descriptor, running

    @classmethod
    def open(cls, home: Path, commits: Sequence[str]) -> Announcement:
        """Announce a run on commits, and forget runs that have ended; raises NotPlain, OSError."""
        folder = make_folder(home / MEASURING_FOLDER)
        with alone_in(folder):  # nobody sweeps between making the file and locking it
            for name in entries(folder):
                with suppress(OSError, NotPlain):
                    if not _is_running(folder / name):
                        (folder / name).unlink()
            path = folder / f"{secrets.token_hex(6)}.json"
            descriptor = plain(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            with suppress(OSError):  # some network file systems have no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # a reader has it for a moment at most
        announcement = cls(
            path, descriptor, RunningSession(tuple(commits), time.time()), Progress()
        )
        announcement._write()
        return announcement

    @classmethod
    def inherited(cls, home: Path, descriptor: int) -> Announcement:
        """The announcement whose open file another process has handed us; raises UsageError."""
        with suppress(OSError, NotPlain):
            status = os.fstat(descriptor)
            for name in entries(home / MEASURING_FOLDER):
                path = home / MEASURING_FOLDER / name
                if os.path.samestat(path.lstat(), status):
                    os.set_inheritable(descriptor, False)
                    return cls(
                        path,
                        descriptor,
                        _read(descriptor) or RunningSession(began=time.time()),
                        Progress(),
                    )
        raise UsageError(
            "--announced is for the hook after a commit, which hands over an open file: leave"
            " it out"
        )

    def over(self, progress: Progress) -> Announcement:
        """The same announcement, which passes what it notes on to ``progress``."""
        return Announcement(self.path, self.descriptor, self._running, progress)

    def about(self, commits: Sequence[str]) -> None:
        """Names the commits that are measured as they were committed, once they are known."""
        self._note(commits=tuple(commits))

    def close(self) -> None:
        """The run has ended."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)

    def hand_over(self) -> None:
        """Lets go of the file, which another process holds by now."""
        os.close(self.descriptor)

    def begin(self, total: int) -> None:
        """``total`` steps are ahead."""
        self._note(done=0, total=total)
        super().begin(total)

    def step(self, what: str) -> None:
        """One of them is done."""
        self._note(done=self._running.done + 1)
        super().step(what)

    def drop(self, steps: int) -> None:
        """So many steps are no longer ahead."""
        self._note(total=self._running.total - steps)
        super().drop(steps)

    def _note(self, **changes: object) -> None:
        self._running = msgspec.structs.replace(self._running, **changes)
        with suppress(OSError):  # a full disk is not a reason not to measure
            self._write()

    def _write(self) -> None:
        content = msgspec.json.encode(self._running)
        os.pwrite(self.descriptor, content, 0)
        os.ftruncate(self.descriptor, len(content))


@contextmanager
def announced(
    home: Path, commits: Sequence[str], progress: Progress, descriptor: int | None = None
) -> Iterator[Announcement]:
    """Announces to others that these commits are being measured, until the context ends;
    ``descriptor`` is the open file of an announcement that another process made for this run.

    Give what it yields to the run as its progress.
    """
    if descriptor is None:
        original = Announcement.open(home, commits)
    else:
        original = Announcement.inherited(home, descriptor)
    announcement = original.over(progress)
    try:
        yield announcement
    finally:
        announcement.close()


def running(home: Path) -> list[RunningSession]:
    """The runs that are under way, the first announced at the top."""
    runs = []
    for name in entries(home / MEASURING_FOLDER):
        with suppress(OSError, NotPlain):
            if _is_running(home / MEASURING_FOLDER / name):
                runs.append(_patiently(home / MEASURING_FOLDER / name))
    return sorted(filter(None, runs), key=lambda run: run.began)


def _patiently(path: Path) -> RunningSession | None:
    """The content of a file, read again if its owner was just writing; None if it is not ours."""
    for _ in range(5):
        descriptor = plain(path, os.O_RDONLY)
        try:
            if (session := _read(descriptor)) is not None:
                return session
        finally:
            os.close(descriptor)
        time.sleep(0.005)
    return None


def _read(descriptor: int) -> RunningSession | None:
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decoder.decode(os.pread(descriptor, LARGEST_ANNOUNCEMENT, 0))
    return None


def _is_running(path: Path) -> bool:
    """Whether somebody holds the lock of a file."""
    descriptor = plain(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
