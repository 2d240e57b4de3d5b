"""Executing commands under measurement, through a small compiled launcher where there is a C
compiler.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from perfvcs.launcher.execution import (
    STREAM_BYTES,
    Execution,
    LaunchError,
    NotStarted,
    Pace,
    StreamTail,
    check_start,
    hand_on,
    name_command,
    not_started,
)
from perfvcs.launcher.launchreport import VERSION, executed, left_running, read_report, stop_orphans
from perfvcs.native import native_folder
from perfvcs.native.compiled import NotCompiled, compiled
from perfvcs.system import children
from perfvcs.system.interruption import SIGNALS

__all__ = [
    "LEFTOVER_SECONDS",
    "Execution",
    "LaunchError",
    "LaunchOptions",
    "NotStarted",
    "engine",
    "fallback_reason",
    "launch",
]

LINUX = sys.platform == "linux"
PYTHON_SCRIPT = "fallback.py" if LINUX else "portable.py"
PYTHON_LAUNCHER = [sys.executable, "-I", "-S", str(Path(__file__).with_name(PYTHON_SCRIPT))]
# seconds in which what a command leaves behind may end by itself, as Python's own helper processes
# do
LEFTOVER_SECONDS = 0.25
LAUNCHER_SECONDS = 15.0  # seconds beyond the time-out after which the launcher itself is given up
WATCH_SECONDS = 0.05  # seconds between two looks of the caller's at a command
PIPE_BYTES = 1 << 16  # bytes that are written to a pipe at once, as a rule
FOREVER = 1e9  # seconds; longer time-outs, infinity among them, are this


class LaunchOptions(NamedTuple):
    """How a command is executed beside its words, folder, environment and time-out.

    ``cpus`` pins it to processors, ``aslr=False`` switches address space randomisation off. With
    ``pace`` the machine's pace is read meanwhile, every 20 ms. Asked to end, the command is given
    ``patience`` seconds; what it leaves running is given ``grace`` seconds and then killed, daemons
    included. ``stdin`` is a descriptor that the command reads; without one its standard input is
    empty. ``output`` is a descriptor that gets standard output and, unless ``errors`` does,
    standard error instead; ``take`` is called with the parts of standard output where no descriptor
    gets it. ``pass_fds`` stay open in the command. ``started`` is called with the
    launcher's process id once it is known. ``watch`` is called again and again meanwhile; what it
    raises ends the command. ``within`` are the words of a command that starts the launcher, see
    ``launcher.namespaces``.
    """

    cpus: Sequence[int] = ()
    aslr: bool = True
    pace: bool = False
    grace: float = LEFTOVER_SECONDS
    patience: float = 0.0
    stdin: int | None = None
    output: int | None = None
    errors: int | None = None
    pass_fds: Sequence[int] = ()
    started: Callable[[int], None] | None = None
    watch: Callable[[], None] | None = None
    take: Callable[[bytes], None] | None = None
    within: Sequence[str] = ()


PLAIN = LaunchOptions()


def engine() -> str:
    """``launcher/1``, or ``wait4/1`` where the launcher cannot be compiled or started, or the
    system is not Linux.
    """
    return "wait4/1" if _prepared()[0] is None else f"launcher/{VERSION}"


def fallback_reason() -> str | None:
    """Why the engine is ``wait4/1``, with the cure; None when the launcher works."""
    return _prepared()[1]


@cache
def _prepared() -> tuple[Path | None, str | None]:
    """The launcher's executable, or why there is none; found out once per process."""
    if not LINUX:
        return None, None  # nothing is lost that this system has
    loss = "times are taken from Python and memory is not measured"
    try:
        path = compiled(native_folder() / "launcher.c")
        answer = subprocess.run(
            [path, "--version"], capture_output=True, env={}, check=False, timeout=10
        )
    except NotCompiled as error:
        return None, f"{loss}: {error}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return (
            None,
            f"{loss}: {error}: set XDG_CACHE_HOME to a folder from which programs may be started",
        )
    if answer.stdout != f"perfvcs-launcher {VERSION}\n".encode():
        return None, f"{loss}: {path} does not work here: remove it"
    return path, None


def launch(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    options: LaunchOptions = PLAIN,
) -> Execution:
    """Execute ``argv`` once, without a shell, and return what it took.

    ``argv[0]`` is an absolute path. Standard output is thrown away, of standard error the end is
    kept. The command leads a session of its own; signals are as by
    default. After ``timeout`` seconds it is asked to end, and killed with all its descendants. When
    this process ends, in whatever way, so do the command and its descendants. Raises NotStarted if
    the system refuses to start the command, LaunchError where the launcher itself was killed; a
    command that fails is not an error here.
    """
    cpus, grace, patience = options.cpus, options.grace, options.patience
    output, errors = options.output, options.errors
    program = _prepared()[0]
    check_start(argv, cwd)
    tail = StreamTail()
    # A file and not a pipe takes the report: its first line comes while the command runs, and must
    # not wake us up.
    report = _unnamed("perfvcs-report")
    environment = _unnamed("perfvcs-environment")
    readings = _unnamed("perfvcs-pace") if options.pace else -1
    alive, launcher_alive = os.pipe()
    stderr, launcher_stderr = os.pipe()
    stdout, launcher_stdout = _wide_pipe() if options.take else (-1, -1)
    descriptors = {report, environment, alive, launcher_alive, stderr, launcher_stderr}
    descriptors |= {readings} if options.pace else set()
    descriptors |= {stdout, launcher_stdout} if options.take else set()
    process: subprocess.Popen[bytes] | None = None
    # Ctrl-C between the start of the launcher and the moment that we know its number would leave it
    # running. What we ignore (nohup) is not blocked: the launcher, in our group until it has its
    # own session, would keep it and take it for a wish to end.
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    try:
        with open(environment, "wb", closefd=False) as file:
            file.write(_block(argv, env))
        numbers = [
            report,
            environment,
            launcher_alive,
            readings,
            os.getpid(),
            round(min(timeout, FOREVER) * 1000),
            round(grace * 1000),
            round(patience * 1000),
            int(options.aslr),
        ]
        # Python needs the variables that found its own libraries
        first, variables = (
            ([str(program)], {}) if program else (PYTHON_LAUNCHER, children.released(os.environ))
        )
        command = [
            *options.within,
            *first,
            *map(str, numbers),
            ",".join(map(str, cpus)) or "-",
            *argv,
        ]
        shared = (report, environment, launcher_alive, *options.pass_fds)
        shared += (readings,) if options.pace else ()
        said_to = errors if errors is not None else output
        written_to = output if output is not None else launcher_stdout
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=variables,
                start_new_session=True,
                pass_fds=shared,
                stdin=subprocess.DEVNULL if options.stdin is None else options.stdin,
                stdout=subprocess.DEVNULL if written_to < 0 else written_to,
                stderr=launcher_stderr if said_to is None else said_to,
            )
        except OSError as error:
            raise not_started(argv, error.errno or 0) from None
        except ValueError as error:
            raise NotStarted(
                f"cannot run {name_command(argv)}: {error} in its arguments: remove it"
            ) from None
        for descriptor in {launcher_alive, launcher_stderr, launcher_stdout} & descriptors:
            descriptors.remove(descriptor)
            os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if options.started is not None:
            options.started(process.pid)
        _follow(
            process,
            alive,
            stderr,
            tail,
            time.monotonic() + timeout + grace + patience + LAUNCHER_SECONDS,
            options.watch,
            _Output(stdout, options.take) if options.take else None,
        )
        code, reported = process.wait(), read_report(report)
        if "end" not in reported:
            stop_orphans(reported.get("pid", 0), stderr)
        return executed(
            argv,
            cpus,
            reported,
            code,
            tail.rest(stderr),
            Pace.of(readings) if options.pace and program else None,
            left_running(report),
        )
    finally:
        if process is not None and process.returncode is None:
            _end(process, report, stderr)
        for descriptor in descriptors:
            os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _unnamed(name: str) -> int:
    """A file without a path, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _block(argv: Sequence[str], env: Mapping[str, str]) -> bytes:
    """The environment as the launcher reads it."""
    variables = [os.fsencode(f"{name}={value}") for name, value in env.items()]
    if any(b"\0" in variable for variable in variables) or any(
        "=" in name or not name for name in env
    ):
        raise NotStarted(
            f"cannot run {name_command(argv)}: a variable of its environment has an impossible name"
            " or a NUL: remove it"
        )
    return b"".join(variable + b"\0" for variable in variables)


def _follow(
    process: subprocess.Popen[bytes],
    alive: int,
    stderr: int,
    tail: StreamTail,
    until: float,
    watch: Callable[[], None] | None,
    output: _Output | None,
) -> None:
    """Keep standard error, and the output, flowing until the launcher ends, or until ``until``
    (monotonic seconds), when it is killed.
    """
    pause = 1.0 if watch is None else WATCH_SECONDS
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    poll.register(stderr, select.POLLIN)
    if output is not None:
        poll.register(output.descriptor, select.POLLIN)
    while time.monotonic() < until:
        # A fork of this process by another thread may hold the pipe too: then the process itself
        # has to be asked.
        events = poll.poll(pause * 1000)
        if watch is not None:
            watch()
        ready = {descriptor for descriptor, _ in events}
        if alive in ready or (not events and process.poll() is not None):
            if output is not None:
                output.drain()
            return
        if output is not None and output.descriptor in ready and not output.read():
            poll.unregister(output.descriptor)
        if stderr in ready and not tail.read(stderr):
            poll.unregister(stderr)
    process.kill()


class _Output(NamedTuple):
    """Standard output of a command, and what takes it."""

    descriptor: int
    take: Callable[[bytes], None]

    def read(self) -> bool:
        """Hand on what is there; False at its end."""
        return hand_on(self.descriptor, self.take)

    def drain(self) -> None:
        """Hand on what the command wrote last; no more than a pipe holds, since a process that
        nobody could stop may go on writing.
        """
        for _ in range(STREAM_BYTES // PIPE_BYTES):
            if not self.read():
                break


def _wide_pipe() -> tuple[int, int]:
    """A pipe whose reading end does not block, as wide as everybody may have it, so that a program
    that writes much waits little.
    """
    ends = os.pipe()
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # pipes of this user have all the memory that they may
            fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, STREAM_BYTES)
    os.set_blocking(ends[0], False)
    return ends


def _end(process: subprocess.Popen[bytes], report: int, stderr: int) -> None:
    """Have the launcher stop everything; it is killed, and its command's session too, when it does
    not answer.
    """
    process.terminate()
    try:
        process.wait(LAUNCHER_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        stop_orphans(read_report(report).get("pid", 0), stderr)
