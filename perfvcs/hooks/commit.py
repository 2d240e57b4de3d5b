"""Measures each new commit in the background, detached from the terminal, with a log."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from perfvcs.errors import PerfError
from perfvcs.gate import enter
from perfvcs.git.command import environment
from perfvcs.git.project import Project
from perfvcs.measure.announcement import Announcement
from perfvcs.system.children import released
from perfvcs.system.disk import NotPlain, make_folder, plain

HOOK_LOG = Path("log", "post-commit.log")  # in .perf
LARGEST_LOG = 1_000_000  # bytes, then the log moves to one older file
ANNOUNCED = 3  # the number of the file that announces the measurement, in the process that measures
# in git's folder while several commits are being made
UNFINISHED = ("rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD")


class NoProcess(PerfError):
    """The system starts no more processes."""


class NoLog(PerfError):
    """The log cannot be written, and a measurement that fails in silence helps nobody."""


def measure(project: Project) -> str | None:
    """Start to measure HEAD in turns with its parent; the commit's id, None during a rebase and the
    like.

    Raises NoRepository, Untrusted, NotStarted and NoLog; the measurement goes on when this process
    ends.
    """
    commit = project.head
    if commit is None or any((project.git_dir / name).exists() for name in UNFINISHED):
        return None
    home = enter(project)
    log = _opened(home / HOOK_LOG)
    try:
        os.write(
            log,
            f"== {datetime.now().astimezone():%a %b %e %H:%M:%S %Z %Y} {commit}\n".encode(
                errors="replace"
            ),
        )
        # in turns with its parent, so that the check before a push can tell a change of the code
        # from one of the machine
        commits = [
            *project.git("rev-list", "--parents", "--max-count=1", commit).split()[1:2],
            commit,
        ]
        # before this process ends, so that a push that follows waits
        announcement = Announcement.open(home, commits)
        try:
            _start(project, commits, log, announcement.descriptor)
        except OSError as error:
            announcement.close()
            raise NoProcess(
                f"not measuring, no process can be started ({error.strerror}): measure it with"
                " `perf collect`"
            ) from None
        announcement.hand_over()
    except NotPlain as error:
        raise NoLog(f"not measuring: {error}") from None
    except OSError as error:
        raise _no_log(error) from None
    finally:
        os.close(log)
    return commit


def _start(project: Project, commits: Sequence[str], log: int, announcement: int) -> None:
    """Start to measure commits in a session of its own, which holds the announcement; raises
    OSError.
    """
    command = [
        sys.executable,
        "-P",
        "-m",
        "perfvcs",
        "-C",
        str(project.root),
        "collect",
        "--wait",
        "--committed",
    ]
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        *((os.POSIX_SPAWN_DUP2, log, number) for number in (1, 2)),
        (os.POSIX_SPAWN_DUP2, announcement, ANNOUNCED),
    ]
    variables = released(environment()) | {"PERFVCS_SKIP": "1"}
    os.posix_spawn(
        sys.executable,
        [*command, f"--announced={ANNOUNCED}", *commits],
        variables,
        file_actions=streams,
        setsid=True,
    )


def _opened(path: Path) -> int:
    try:
        make_folder(path.parent)
        if path.is_file() and path.stat().st_size > LARGEST_LOG:
            path.replace(path.with_name(f"{path.name}.1"))
        return plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    except NotPlain as error:
        raise NoLog(f"not measuring: {error}") from None
    except OSError as error:
        raise _no_log(error) from None


def _no_log(error: OSError) -> NoLog:
    return NoLog(
        f"not measuring, {error.filename or f'.perf/{HOOK_LOG}'} cannot be written"
        f" ({error.strerror}): make it writable for you"
    )
