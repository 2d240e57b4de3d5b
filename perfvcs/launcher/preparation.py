"""Commands that prepare a measurement (builds, generators, installers): without a shell, within
limits, leaving no process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from perfvcs.errors import CURES, PerfError, disk_is_full
from perfvcs.launcher import LaunchOptions, launch
from perfvcs.launcher.execution import NO_INTERPRETER, Execution, LaunchError, line_end, says_why
from perfvcs.system.disk import plain

TAIL = 400
LAST_LINES = 3
END_SECONDS = 2.0  # seconds that a command gets to tidy up before it is killed


class CommandFailed(PerfError):
    """A preparing command was missing, failed, hung or printed too much; the message ends with the
    end of its output.
    """

    exit_code = 5


class _TooLong(Exception):
    """A command printed too much."""


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    output: IO[bytes] | None = None,
    log: Path | None = None,
    limit: int = 1 << 30,
    pass_fds: Sequence[int] = (),
    within: tuple[str, ...] = (),
) -> None:
    """Run a command to its end, with no standard input; all processes that it started are gone
    afterwards, daemons too.

    ``timeout`` is in seconds; standard output, at most ``limit`` bytes, goes into ``output``. What
    does not, and standard error, is appended to ``log``, or kept only for the message. ``pass_fds``
    stay open in the command. ``within`` are the words that start it in a sandbox. Raises
    CommandFailed.
    """
    import tempfile

    command = shlex.join(argv)

    def too_long() -> bool:
        return any(
            os.fstat(file.fileno()).st_size > limit
            for file in (log_file, output)
            if file is not None
        )

    def watch() -> None:
        if too_long():
            raise _TooLong

    program = _which(argv[0], cwd, env)
    if program is None:
        raise CommandFailed(
            f"cannot run `{command}`: there is no such command on PATH: install it, or correct its"
            " name"
        )
    with open(log, "a+b", opener=plain) if log else tempfile.TemporaryFile() as log_file:
        try:
            execution = launch(
                [program, *argv[1:]],
                cwd=cwd,
                env=env,
                timeout=timeout,
                options=LaunchOptions(
                    grace=0.0,
                    patience=END_SECONDS,
                    watch=watch,
                    output=(output or log_file).fileno(),
                    errors=log_file.fileno(),
                    pass_fds=pass_fds,
                    within=within,
                ),
            )
            problem = _problem(program, execution, timeout)
            if too_long():
                problem = f"printed more than {limit:,} bytes"
        except LaunchError as error:
            raise CommandFailed(str(error)) from None
        except _TooLong:
            problem = f"was stopped after printing more than {limit:,} bytes"
        if problem is None:
            return
        end = _tail(log_file)
    more = f" (log: {log})" if log else ""
    printed = f": {end}" if end else ", and printed nothing"
    full = f" ({CURES[errno.ENOSPC]})" if disk_is_full(cwd) else ""
    raise CommandFailed(f"`{command}` {problem}{printed}{more}{full}")


def ended(status: int) -> str:
    """How a process with this return code (negative: minus the signal) ended, in words."""
    if status >= 0:
        return f"exited with status {status}"
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(-status).name}"
    return f"was killed by signal {-status}"


def _which(name: str, cwd: Path, env: Mapping[str, str]) -> str | None:
    """The full path of a program, which the launcher does not look up; None where PATH has none of
    this name.
    """
    import shutil

    if "/" in name:
        return str(cwd.absolute() / name)
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    return path and str(Path(path).absolute())


def _problem(program: str, execution: Execution, timeout: float) -> str | None:
    """What was wrong with how a command ended."""
    if execution.status == NO_INTERPRETER and (foreign := line_end(Path(program))):
        return f"{ended(NO_INTERPRETER)}: {foreign}"
    if execution.timed_out:
        return f"was stopped after {timeout:g} s (its time limit)"
    status = execution.status if execution.signal is None else -execution.signal
    return ended(status) if status else None


def _tail(output: IO[bytes]) -> str:
    """The last lines of an output as one line of printable characters."""
    size = os.fstat(output.fileno()).st_size
    output.seek(max(0, size - 4 * TAIL))
    lines = [
        line.strip()
        for line in output.read().decode("utf-8", "replace").splitlines()
        if line.strip()
    ]
    last = lines[-LAST_LINES:]
    if not any(map(says_why, last)):  # such as make, which says only that something failed
        last = [line for line in lines[:-LAST_LINES] if says_why(line)][-1:] + last
    text = _printable(" | ".join(last))
    text = text if len(text) <= TAIL else "..." + text[-TAIL:]
    # cargo says first what it cannot get, and then one cause of the other
    place = lines.index("Caused by:") if "Caused by:" in lines else 0
    what = _printable(lines[place - 1])[:TAIL] if place else ""
    return text if what in text else f"{what} | {text}"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
