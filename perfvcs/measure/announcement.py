"""Who is measuring what just now: a file per run in ``.perf/measuring``, locked as long as the run goes on.

The lock belongs to an open file, not to a process. So a hook can announce a run and hand the file to the process that it starts, and
nobody sees a moment without it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from perfvcs.descriptors import NotPlain, entries, make_folder, plain
from perfvcs.errors import UsageError
from perfvcs.lock import alone_in
from perfvcs.measure.progress import Progress, Silent

MEASURING_FOLDER = "measuring"
LARGEST_ANNOUNCEMENT = 1 << 20  # bytes of an announcement


class RunningSession(msgspec.Struct, frozen=True):
    """A run that goes on: its commits, when it began (seconds since 1970), and how many of its executions are done, of how many.

    ``total`` is 0 before the first execution: the run prepares, or waits for another one.
    """

    commits: tuple[str, ...] = ()
    began: float = 0.0
    done: int = 0
    total: int = 0


_decoder = msgspec.json.Decoder(RunningSession)


class Announcement:
    """The announcement of one run, for as long as this object is open; it shows the progress that it passes on."""

    def __init__(self, path: Path, descriptor: int, running: RunningSession, progress: Progress) -> None:
        self.path, self.descriptor, self._running, self._progress = path, descriptor, running, progress

    @classmethod
    def open(cls, home: Path, commits: Sequence[str]) -> Announcement:
        """Announce a run on commits, and forget those of runs that have ended; raises NotPlain, OSError."""
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
        found = cls(path, descriptor, RunningSession(tuple(commits), time.time()), Silent())
        found._write()
        return found

    @classmethod
    def inherited(cls, home: Path, descriptor: int) -> Announcement:
        """The announcement whose open file another process has handed us; raises UsageError."""
        with suppress(OSError, NotPlain):
            about = os.fstat(descriptor)
            for name in entries(home / MEASURING_FOLDER):
                path = home / MEASURING_FOLDER / name
                if os.path.samestat(path.lstat(), about):
                    os.set_inheritable(descriptor, False)
                    return cls(path, descriptor, _read(descriptor) or RunningSession(began=time.time()), Silent())
        raise UsageError("--announced is for the hook after a commit, which hands over an open file: leave it out")

    def over(self, progress: Progress) -> Announcement:
        """The same, passing on to ``progress`` what it notes."""
        return Announcement(self.path, self.descriptor, self._running, progress)

    def about(self, commits: Sequence[str]) -> None:
        """The commits that are measured as they were committed, now that they are known."""
        self._note(commits=tuple(commits))

    def close(self) -> None:
        """The run has ended."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)

    def hand_over(self) -> None:
        """Let go of the file, which another process holds by now."""
        os.close(self.descriptor)

    def begin(self, total: int) -> None:
        """``total`` steps are ahead."""
        self._note(done=0, total=total)
        self._progress.begin(total)

    def step(self, what: str) -> None:
        """One of them is done."""
        self._note(done=self._running.done + 1)
        self._progress.step(what)

    def drop(self, steps: int) -> None:
        """So many steps are no longer ahead."""
        self._note(total=self._running.total - steps)
        self._progress.drop(steps)

    def say(self, line: str) -> None:
        """Pass it on."""
        self._progress.say(line)

    def fail(self, failure: str) -> None:
        """Pass it on."""
        self._progress.fail(failure)

    def _note(self, **changes: object) -> None:
        self._running = msgspec.structs.replace(self._running, **changes)
        with suppress(OSError):  # a full disk is not a reason not to measure
            self._write()

    def _write(self) -> None:
        content = msgspec.json.encode(self._running)
        os.pwrite(self.descriptor, content, 0)
        os.ftruncate(self.descriptor, len(content))


@contextmanager
def announced(home: Path, commits: Sequence[str], progress: Progress, descriptor: int | None = None) -> Iterator[Announcement]:
    """Others see meanwhile that these commits are being measured; ``descriptor`` is the file of an announcement that was made for us.

    Give what it yields to the run as its progress.
    """
    made = Announcement.open(home, commits) if descriptor is None else Announcement.inherited(home, descriptor)
    found = made.over(progress)
    try:
        yield found
    finally:
        found.close()


def running(home: Path) -> list[RunningSession]:
    """The runs that go on, the one that was announced first at the top; what is in the folder but not ours is left out."""
    found = []
    for name in entries(home / MEASURING_FOLDER):
        with suppress(OSError, NotPlain):
            if _is_running(home / MEASURING_FOLDER / name):
                found.append(_patiently(home / MEASURING_FOLDER / name))
    return sorted(filter(None, found), key=lambda run: run.began)


def _patiently(path: Path) -> RunningSession | None:
    """The content of a file; read again if its owner was just writing, and None if it is not ours."""
    for _ in range(5):
        descriptor = plain(path, os.O_RDONLY)
        try:
            if (found := _read(descriptor)) is not None:
                return found
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
