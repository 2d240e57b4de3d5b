"""What a worker runs for a client: it passes blocks on to its measurer, and answers in bytes."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

import perfvcs
from perfvcs.environment.host import facts
from perfvcs.hosts import wire
from perfvcs.hosts.wire import Executing, Failed

PATIENCE = 30.0  # seconds for a measurer to end in good order


class Slot(NamedTuple):
    """This worker's own folder among those of all workers of the host, held by a lock, and what the
    host is called.
    """

    folder: Path
    lock: IO[bytes]
    host: str


class _State:
    slot: Slot | None = None
    measurer: _Beside | None = None
    closing: threading.Thread | None = None
    lock = threading.Lock()


def about() -> tuple[str, str, bytes]:
    """The version of perfvcs on this worker, what its host is called, and the host's facts,
    encoded.

    A host without room says so only when it is asked to measure.
    """
    try:
        host = slot().host
    except OSError:
        host = f"{os.uname().nodename}/{os.getpid()}"
    return perfvcs.__version__, host, wire.encode(msgspec.structs.replace(facts(), host=host))


def cache() -> Path:
    """Where this host keeps what it needs for clients: clones, builds, and the files of Dask."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perfvcs" / "hosts"


def slot() -> Slot:
    """The first folder that no other worker of this host holds: a host with one worker always has
    the first.
    """
    with _State.lock:
        if _State.slot is None:
            number = 0
            while True:
                folder = cache() / str(number)
                folder.mkdir(parents=True, exist_ok=True)
                lock = open(folder / "lock", "ab")  # noqa: SIM115
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    lock.close()
                    number += 1
            name = os.uname().nodename
            _State.slot = Slot(folder, lock, f"{name}/{number}" if number else name)
    return _State.slot


def measure(project: str, topic: str, task: bytes) -> bytes:
    """Measure a block in the clone of a project: an encoded HostAnswer.

    Says under ``topic`` which execution begins.
    """
    wanted = wire.task(task).parcel
    our_slot = slot()
    beside = _State.measurer
    if beside is None or beside.parcel != wanted or beside.process.poll() is not None:
        release()
        if _State.closing is not None:
            _State.closing.join()
        beside = _State.measurer = _Beside(our_slot, project, wanted)
    answer = beside.ask(task, topic)
    if answer is None:
        release()
        return wire.encode(
            Failed(
                our_slot.host,
                "the process that measures was ended: see the host's log for who did it",
            )
        )
    return answer


def release(parcel: str = "") -> None:
    """End the measurer; with a name only that of this parcel."""
    beside = _State.measurer
    if beside is not None and parcel in ("", beside.parcel):
        _State.measurer = None
        # Dask asks this in the thread in which the worker answers
        _State.closing = threading.Thread(target=beside.close, name="close")
        _State.closing.start()


class _Beside:
    """The measurer of this worker."""

    def __init__(self, our_slot: Slot, project: str, parcel: str) -> None:
        self.parcel = parcel
        reading, writing = os.pipe()
        command = [
            sys.executable,
            "-P",
            "-m",
            "perfvcs.hosts.measurer",
            str(our_slot.folder / project),
            our_slot.host,
            str(writing),
        ]
        # it holds the lock, too, so that no other worker takes the folder before it is gone
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(writing, our_slot.lock.fileno()),
            start_new_session=True,
        )
        os.close(writing)
        self.answers = open(reading, "rb")  # noqa: SIM115

    def ask(self, task: bytes, topic: str) -> bytes | None:
        """The answer to a task; None where the measurer ended without one."""
        assert self.process.stdin is not None
        try:
            wire.send(self.process.stdin, task)
        except OSError:
            return None
        while (message := wire.receive(self.answers)) is not None:
            reply = wire.reply(message)
            if not isinstance(reply, Executing):
                return message
            _log(topic, message)
        return None

    def close(self) -> None:
        """Let it end in good order, else without."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.answers.close()


def _log(topic: str, message: bytes) -> None:
    """Tell the client, through the scheduler."""
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(topic, {"worker": worker.address, "message": message})
