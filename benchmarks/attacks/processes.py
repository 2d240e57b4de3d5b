"""Processes of the attack: whatever perf starts and leaves becomes our child, so that nothing can
hide.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


class Said(NamedTuple):
    """How a command ended (below 0: minus the signal; None: not within its time) and what it
    printed.
    """

    code: int | None
    out: str
    err: str


def adopt_orphans() -> None:
    """Become the parent of all that is left behind below this process."""
    if ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def alive() -> list[psutil.Process]:
    """The processes below this one that run; those that have ended are taken away."""
    found, numbers, before = [], set(_below(os.getpid())), None
    # an orphan that becomes ours while we read is on no list that is still to be read
    while numbers != before:
        numbers, before = set(_below(os.getpid())), numbers
    for number in numbers:
        with contextlib.suppress(psutil.NoSuchProcess, ChildProcessError):
            process = psutil.Process(number)
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
            elif process.ppid() == os.getpid():
                os.waitpid(process.pid, os.WNOHANG)
    return found


def _below(number: int) -> Iterator[int]:
    """The processes below one, without a look at all others of the machine."""
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{number}/task"):  # noqa: PTH208
            for child in map(int, Path(f"/proc/{number}/task/{task}/children").read_text().split()):
                yield child
                yield from _below(child)


def left(patience: float) -> list[str]:
    """The command lines of the processes that still run after ``patience`` seconds; they are
    ended.
    """
    until = time.monotonic() + patience
    while (found := alive()) and time.monotonic() < until:
        time.sleep(0.01)
    names = []
    for process in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            names.append(" ".join(process.cmdline()))
            process.kill()
    if found:
        psutil.wait_procs(found, 5)
        alive()
    return names


def wait(process: subprocess.Popen[str], seconds: float) -> Said:
    """What a process said, or that it did not end; then it is killed with all that it started."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        for child in [
            psutil.Process(process.pid),
            *psutil.Process(process.pid).children(recursive=True),
        ]:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        out, err = process.communicate()
        return Said(None, out, err)
    return Said(process.returncode, out, err)


def start(words: Sequence[str], folder: str, env: dict[str, str]) -> subprocess.Popen[str]:
    """A command in a session of its own, as a terminal or a cron job starts it."""
    return subprocess.Popen(
        words,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
