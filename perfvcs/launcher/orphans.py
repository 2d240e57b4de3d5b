"""Processes that a killed launcher leaves behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

DEATH_PATIENCE = 5.0  # seconds that processes get to die after SIGKILL


def stop_orphans(leader: int, stderr: int) -> None:
    """Stop what a killed launcher left: the session of its command (``leader``, 0 where it is not
    known), and those of all that still hold the pipe for standard error.
    """
    if sys.platform != "linux":  # all that is known of it is its process group
        if leader:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, signal.SIGKILL)
        return
    sessions = _sessions_holding(str(Path(f"/proc/self/fd/{stderr}").readlink()))
    for session in (sessions | {leader}) - {0, os.getsid(0)}:
        _stop(session)


def _sessions_holding(pipe: str) -> set[int]:
    """The sessions with a process that has ``pipe`` (such as ``pipe:[1234]``) open."""
    sessions = set()
    for entry in os.scandir("/proc"):
        with suppress(OSError):
            if entry.name.isdecimal() and any(
                str(link.readlink()) == pipe for link in Path(entry.path, "fd").iterdir()
            ):
                sessions.add(os.getsid(int(entry.name)))
    return sessions


def _stop(session: int) -> None:
    until = time.monotonic() + DEATH_PATIENCE
    while (left := _members(session)) and time.monotonic() < until:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _members(session: int) -> list[int]:
    members = []
    for entry in os.scandir("/proc"):
        with suppress(OSError, ValueError):  # it ended meanwhile, or is no process
            state, _, _, its_session = (
                Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()[:4]
            )
            if state not in (b"Z", b"X") and int(its_session) == session:
                members.append(int(entry.name))
    return members
