"""Commands that prepare a measurement (builds, generators, installers): without a shell, within limits, leaving no process."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from perfvcs import keeper
from perfvcs.descriptors import plain
from perfvcs.errors import PerfError
from perfvcs.keeper import MARKER

MAX_OUTPUT = 1 << 30
TAIL = 400
END_SECONDS = 2.0
DEATH_PATIENCE = 5.0  # seconds that processes get to die after SIGKILL


class CommandFailed(PerfError):
    """A preparing command was missing, failed, hung or printed too much; the message ends with the end of its output."""

    exit_code = 5


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    output: IO[bytes] | None = None,
    log: Path | None = None,
    limit: int = MAX_OUTPUT,
    pass_fds: Sequence[int] = (),
) -> None:
    """Run a command to its end, with no standard input; all processes that it started are gone afterwards, daemons too.

    ``timeout`` is in seconds; standard output, at most ``limit`` bytes, goes into ``output``. What does not, and standard error, is
    appended to ``log``, or kept only for the message. ``pass_fds`` stay open in the command. Raises CommandFailed.
    """
    import tempfile

    command, marker = shlex.join(argv), keeper.marker()
    with open(log, "a+b", opener=plain) if log else tempfile.TemporaryFile() as log_file:
        try:
            # Popen would look the program up on our own PATH, not on the one given
            program = _which(argv[0], cwd, env)
            process = subprocess.Popen(
                [program, *argv[1:]], cwd=cwd, env={**env, MARKER: marker}, stdin=subprocess.DEVNULL,
                stdout=output or log_file, stderr=log_file, start_new_session=True, pass_fds=pass_fds,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise CommandFailed(f"`{command}` cannot be started: {reason}") from None
        with _ending(process, marker):
            files = [file.fileno() for file in (log_file, output) if file is not None]
            problem = _wait(process.pid, timeout, files, limit)
        if problem is None and process.returncode == 0:
            return
        end = _tail(log_file)
    more = f" (log: {log})" if log else ""
    said = f": {end}" if end else ", and printed nothing"
    raise CommandFailed(f"`{command}` {problem or ended(process.returncode)}{said}{more}")


def ended(status: int) -> str:
    """How a process with this return code (negative: minus the signal) ended, in words."""
    if status >= 0:
        return f"exited with status {status}"
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(-status).name}"
    return f"was killed by signal {-status}"


def _which(name: str, cwd: Path, env: Mapping[str, str]) -> str:
    import shutil

    if "/" in name:
        return name if name.startswith("/") else str(cwd / name)
    found = shutil.which(name, path=env.get("PATH", os.defpath))
    if found is None:
        raise FileNotFoundError(2, "there is no such command on PATH: install it, or correct its name")
    return found


@contextlib.contextmanager
def _ending(process: subprocess.Popen[bytes], marker: str) -> Iterator[None]:
    """Ends a process and all that it started on the way out: asked first, when the process itself still runs, then killed."""
    try:
        yield
    finally:
        if not _has_ended(process.pid):
            os.killpg(process.pid, signal.SIGTERM)
            deadline = time.monotonic() + END_SECONDS
            while not _has_ended(process.pid) and time.monotonic() < deadline:
                time.sleep(0.01)
        # the leader has not been waited for yet, so its session's number cannot belong to anybody else
        stop(process.pid, marker)
        process.wait()


def stop(session: int, marker: str, grace: float = 0.0) -> int:
    """Kill what is left of a session, and what has ``marker`` in its environment; returns how many outlived ``grace`` seconds."""
    until = time.monotonic() + grace
    while (left := _members(session, marker)) and time.monotonic() < until:
        time.sleep(0.01)
    seen: set[int] = set()
    until = time.monotonic() + DEATH_PATIENCE
    while left and time.monotonic() < until:
        seen.update(left)
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
        left = _members(session, marker)
    return len(seen)


def _members(session: int, marker: str) -> list[int]:
    found = []
    wanted = f"{MARKER}={marker}".encode()
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal():
            continue
        try:
            state, _, _, sid = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()[:4]
            if state in (b"Z", b"X"):
                continue
            if int(sid) == session or (marker and wanted in Path(entry.path, "environ").read_bytes().split(b"\0")):
                found.append(int(entry.name))
        except (OSError, ValueError):  # it ended meanwhile, or belongs to somebody else
            continue
    return found


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _wait(pid: int, timeout: float, files: Sequence[int], limit: int) -> str | None:
    """Wait for the end of a process; what was wrong when it may not go on, else None."""
    deadline, pause = time.monotonic() + timeout, 0.001
    while not _has_ended(pid):
        if time.monotonic() > deadline:
            return f"was stopped after {timeout:g} s (its time limit)"
        if any(os.fstat(file).st_size > limit for file in files):
            return f"was stopped after printing more than {limit:,} bytes"
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    over = any(os.fstat(file).st_size > limit for file in files)
    return f"printed more than {limit:,} bytes" if over else None


def _tail(output: IO[bytes]) -> str:
    """The last lines of an output as one line of printable characters."""
    size = os.fstat(output.fileno()).st_size
    output.seek(max(0, size - 4 * TAIL))
    lines = [line.strip() for line in output.read().decode("utf-8", "replace").splitlines() if line.strip()]
    text = " | ".join(lines[-3:])
    text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= TAIL else "..." + text[-TAIL:]
