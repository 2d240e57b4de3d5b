"""One execution of a command: what it took and how it ended, or why it could not be started."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import iter_unpack
from typing import TYPE_CHECKING

import msgspec

from perfvcs.errors import PerfError
from perfvcs.system.foreign import printable
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


READING = 16  # bytes: time and duration, ns as int64
LARGEST_FILE = 1 << 20  # bytes of readings; a month has .7 MB
SMOOTH = 5  # readings that are averaged: one alone says little about the calls beside it
STREAM_BYTES = 1 << 20  # bytes of a pipe, which Linux gives to everybody
STDERR_TAIL = 8192  # bytes of standard error that are kept
NO_INTERPRETER = 127  # exit status of env, which looks for the interpreter of many scripts
STDERR_SHOWN = 300  # characters of them in a message
COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
# a line that says why, rather than where
SAYS_WHY = (
    r"\b\w{0,60}(?:Error|Exception)\b|\b(?:[Ee]rror|ERROR|[Ff]atal|FATAL)\b|[Nn]o such file"
    r"|not found|undefined reference|[Nn]o module named|[Rr]equires|[Cc]ould not|[Cc]an(?:not|'t)"
    r"|[Ff]ailed to"
)
# what make, pip and cargo add to it, and where Lua was then
ADDED = (
    r"make(?:\[\d+\])?: \*\*\*|note: This|hint: |\[end of output\]|Error \d+$|^\[C\]: in "
    r"|error: (?:bench|test) failed|error: could not compile `"
)
# of a process that a program started, as Python and shells say it; itself it would have failed
MISSED = (
    r"^(?:\S*python[\d.]*: |ModuleNotFoundError: )(No module named .*)"
    r"|^((?:[^:\n]*: (?:line )?\d+|\S*sh): (?:eval: )?[^:\n]+: (?:command )?not found)$"
)
UNNOTICED = "it ended well, but a part of it failed"
TIMED_OUT = "was stopped after its time-out of"


class Pace(msgspec.Struct, frozen=True):
    """Readings of the pace as the launcher wrote them; see native/pace.h for what is timed."""

    readings: bytes = b""

    @classmethod
    def of(cls, descriptor: int) -> Pace:
        """The readings in a file of the launcher."""
        content = os.pread(descriptor, LARGEST_FILE, 0)
        return cls(content[: len(content) // READING * READING])

    @property
    def mean(self) -> float | None:
        """The geometric mean of all readings, in s; None if there is none."""
        from statistics import geometric_mean

        took = [reading for _, reading in iter_unpack("<qq", self.readings) if reading > 0]
        return geometric_mean(took) / 1e9 if took else None

    def at(self, time: ArrayLike) -> Floats:
        """How long the fixed work took at these times (CLOCK_MONOTONIC, ns), in s; NaN if it was
        not read.

        By the means of five neighbouring readings, in logarithms, and straight lines between.
        """
        when = np.asarray(time, dtype=np.float64)
        readings = np.frombuffer(self.readings, dtype=np.int64).reshape(-1, 2).astype(np.float64)
        readings = readings[readings[:, 1] > 0]
        if not len(readings):
            return np.full(len(when), np.nan)
        width = min(SMOOTH, len(readings))
        took = np.log(readings[:, 1] / 1e9)
        padded = np.pad(took, (width // 2, (width - 1) // 2), mode="edge")
        return np.exp(
            np.interp(
                when, readings[:, 0], np.convolve(padded, np.full(width, 1 / width), mode="valid")
            )
        )


class LaunchError(PerfError):
    """A command was not executed to its end through no fault of its own; one line that names the
    cure.

    ``lasting``: the same would happen again.
    """

    exit_code = 5
    lasting = False


class NotStarted(LaunchError):
    """The system refused to start the command: it never ran, unlike one that exits with status
    127.
    """

    lasting = True


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of one execution; times are in seconds, amounts in bytes, None if the system does
    not report it.

    Processes that the command started and waited for are included in all but ``run_delay``, the
    time that the command's first thread was ready and waited for a processor; ``wake_delay`` is the
    same of the launcher, whose wait after the command's end is part of ``wall``. ``maxrss`` is that
    of the largest single process. ``pressure`` and ``steal`` are of the whole machine: the time in
    which some process waited for a processor, and the time that the hypervisor took away. One of
    ``status`` (exit status) and ``signal`` is set. ``stderr`` is the end of standard error.
    ``adopted`` is the CPU time of processes that the command's own did not wait for.
    ``leftover`` is the number of processes that the command left running and that were stopped,
    ``left`` are the names of the first of them.
    ``pace`` is the machine's meanwhile, where that was asked for.
    """

    wall: float
    cpu: float
    run_delay: float | None = None
    wake_delay: float | None = None
    maxrss: int | None = None
    minor_faults: int
    major_faults: int
    voluntary_switches: int
    involuntary_switches: int
    blocks_in: int
    blocks_out: int
    read_chars: int | None = None
    write_chars: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None
    pressure: float | None = None
    steal: float | None = None
    status: int | None = None
    signal: int | None = None
    timed_out: bool = False
    stderr: str = ""
    leftover: int = 0
    adopted: float | None = None
    left: tuple[str, ...] = ()
    pace: Pace | None = None


class StreamTail:
    """The end of a stream that may be endless."""

    def __init__(self) -> None:
        self.kept = b""

    def read(self, descriptor: int) -> bool:
        """Take what is there; False at the end of the stream.

        A descriptor with nothing to read must be non-blocking.
        """
        try:
            chunk = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return False
        self.kept = (self.kept + chunk)[-STDERR_TAIL:]
        return bool(chunk)

    def rest(self, descriptor: int) -> str:
        """Take what is still there, as text; bounded, since a process that nobody could stop may go
        on writing.
        """
        os.set_blocking(descriptor, False)
        for _ in range(64):
            if not self.read(descriptor):
                break
        return self.kept.decode(errors="replace")


def hand_on(descriptor: int, take: Callable[[bytes], None]) -> bool:
    """Hand on what is there of a stream that does not block; False where nothing is."""
    try:
        chunk = os.read(descriptor, STREAM_BYTES)
    except BlockingIOError:
        return False
    if chunk:
        take(chunk)
    return bool(chunk)


def name_command(argv: Sequence[str], limit: int = 200) -> str:
    """The command as one would type it, in one line of at most ``limit`` characters."""
    typed = " ".join(shlex.join(argv).split())
    return typed if len(typed) <= limit else typed[: limit - 3] + "..."


def name_signal(number: int) -> str:
    """``SIGSEGV`` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def says_why(line: str) -> bool:
    """Whether a line of what a command printed says why it failed, rather than where."""
    return re.search(SAYS_WHY, line) is not None and re.search(ADDED, line) is None


def failure(argv: Sequence[str], execution: Execution, timeout: float) -> str | None:
    """Why an execution failed, in one line with the end of its standard error; None if it
    succeeded.
    """
    if execution.timed_out:
        how = f"{TIMED_OUT} {timeout:g} s: raise timeout or give it less to do"
    elif execution.signal is not None:
        how = f"was killed by {name_signal(execution.signal)}" + (
            " (out of memory?)" if execution.signal == 9 else ""
        )
    elif execution.status:
        how = f"exited with status {execution.status}"
        if execution.status == NO_INTERPRETER and (foreign := line_end(Path(argv[0]))):
            return f"{name_command(argv)} {how}: {foreign}"
    else:
        return None
    text = COLOUR.sub("", execution.stderr).expandtabs(1)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    stderr = printable(" | ".join(lines), None)
    if len(stderr) > STDERR_SHOWN:
        why = printable(next((line for line in reversed(lines) if says_why(line)), ""), None)
        stderr = "..." + stderr[-STDERR_SHOWN:]
        if why not in stderr:
            stderr = f"{why[:STDERR_SHOWN]} | {stderr}"
    return f"{name_command(argv)} {how}: {stderr or 'it wrote nothing to standard error'}"


def unnoticed(execution: Execution) -> str | None:
    """What a process lacked that a successful program had started, in one line; None where nothing
    was missing.
    """
    lacking = re.search(MISSED, execution.stderr, re.MULTILINE)
    if lacking is None:
        return None
    return f"{UNNOTICED}: {printable(lacking[1] or lacking[2], STDERR_SHOWN)}"


def check_start(argv: Sequence[str], cwd: Path) -> None:
    """Raises NotStarted for what is known before starting, and the system would report less
    clearly.
    """
    if not argv or not Path(argv[0]).is_absolute():
        raise NotStarted(
            f"the command {name_command(argv)!r} does not begin with an absolute path: give the"
            " program's full path"
        )
    if not cwd.is_dir():
        raise NotStarted(
            f"cannot run {name_command(argv)}: there is no folder {cwd}: create it or correct the"
            " path"
        )


def not_started(argv: Sequence[str], number: int) -> NotStarted:
    """The reason and the cure for the error number that starting the command gave."""
    return NotStarted(f"cannot run {name_command(argv)}: {_reason(Path(argv[0]), number)}")


def _reason(program: Path, number: int) -> str:
    if number in (errno.ENOENT, errno.ENOTDIR):
        if foreign := line_end(program):
            return foreign
        interpreter = _interpreter(program)
        if interpreter:
            return (
                f"its first line asks for {interpreter}, which is not there: install it or correct"
                " the line"
            )
        if os.path.lexists(program):
            return (
                "what it needs to start (link target or loader) is not there: build it for this"
                " machine"
            )
        return f"there is no file {program}: build it first or correct cmd"
    if number == errno.EACCES:
        if program.is_dir():
            return f"{program} is a folder: name a program in it"
        return (
            f"{program} may not be executed: chmod +x it (and its interpreter), on a file system"
            " without noexec"
        )
    if number == errno.ENOEXEC:
        return (
            "it is neither a program of this machine nor a script with an interpreter in its first"
            " line: add one such as #!/bin/sh"
        )
    if number == errno.E2BIG:
        return "its arguments and environment are longer than the system takes: pass them in a file"
    if number == errno.ETXTBSY:
        return "the program is open for writing: wait until its build has ended"
    return f"{os.strerror(number)}: start it by hand to see why"


def line_end(program: Path) -> str:
    """What is wrong with a script whose ``#!`` line ends as on Windows, and the cure; empty where
    nothing is.
    """
    if not _first_line(program).endswith(b"\r\n"):
        return ""
    return (
        "its first line ends in a carriage return, which Linux takes for a part of the"
        f" interpreter's name: convert the line ends (sed -i 's/\\r$//' {program.name}), and keep"
        f" them so: `{program.name} text eol=lf` in .gitattributes"
    )


def _first_line(program: Path) -> bytes:
    """The ``#!`` line of a script; empty for anything else."""
    try:
        with program.open("rb") as file:
            first = file.readline(512)
    except OSError:
        return b""
    return first if first.startswith(b"#!") else b""


def _interpreter(program: Path) -> str:
    """The interpreter of a script's ``#!`` line, if that file does not exist."""
    first = _first_line(program)
    if not first[2:].split():
        return ""
    named = first[2:].split()[0].decode(errors="replace")
    return "" if Path(named).exists() else named
