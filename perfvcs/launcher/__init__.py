"""Executing commands under measurement, through a small compiled launcher where there is a C
compiler.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from perfvcs.launcher.descriptors import NONE, LaunchDescriptors
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
    program = _prepared()[0]
    check_start(argv, cwd)
    tail = StreamTail()
    between = LaunchDescriptors(with_output=options.take is not None, with_pace=options.pace)
    process: subprocess.Popen[bytes] | None = None
    # Ctrl-C between the start of the launcher and the moment that we know its number would leave it
    # running. What we ignore (nohup) is not blocked: the launcher, in our group until it has its
    # own session, would keep it and take it for a wish to end.
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    try:
        with open(between.environment, "wb", closefd=False) as file:
            file.write(_block(argv, env))
        process = _start(argv, cwd, program, between, timeout, options)
        between.give_away()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if options.started is not None:
            options.started(process.pid)
        until = time.monotonic() + timeout + options.grace + options.patience + LAUNCHER_SECONDS
        _follow(process, between, tail, until, options)
        code, reported = process.wait(), read_report(between.report)
        if "end" not in reported:
            stop_orphans(reported.get("pid", 0), between.stderr)
        return executed(
            argv,
            options.cpus,
            reported,
            code,
            stderr=tail.rest(between.stderr),
            pace=Pace.of(between.readings) if options.pace and program else None,
            left=left_running(between.report),
        )
    finally:
        if process is not None and process.returncode is None:
            _end(process, between.report, between.stderr)
        between.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _numbers(between: LaunchDescriptors, timeout: float, options: LaunchOptions) -> list[int]:
    """The first words of the launcher, in its order; all times are milliseconds."""
    return [
        between.report,
        between.environment,
        between.launcher_alive,
        between.readings,
        os.getpid(),
        round(min(timeout, FOREVER) * 1000),
        round(options.grace * 1000),
        round(options.patience * 1000),
        int(options.aslr),
    ]


def _start(
    argv: Sequence[str],
    cwd: Path,
    program: Path | None,
    between: LaunchDescriptors,
    timeout: float,
    options: LaunchOptions,
) -> subprocess.Popen[bytes]:
    """Start the launcher, which starts the command."""
    first, variables = [str(program)], {}
    if program is None:  # Python needs the variables that found its own libraries
        first, variables = PYTHON_LAUNCHER, children.released(os.environ)
    numbers = map(str, _numbers(between, timeout, options))
    cpus = ",".join(map(str, options.cpus)) or "-"
    output = between.launcher_stdout if options.output is None else options.output
    errors = options.output if options.errors is None else options.errors
    try:
        return subprocess.Popen(
            [*options.within, *first, *numbers, cpus, *argv],
            cwd=cwd,
            env=variables,
            start_new_session=True,
            pass_fds=(*between.shared(), *options.pass_fds),
            stdin=subprocess.DEVNULL if options.stdin is None else options.stdin,
            stdout=subprocess.DEVNULL if output == NONE else output,
            stderr=between.launcher_stderr if errors is None else errors,
        )
    except OSError as error:
        raise not_started(argv, error.errno or 0) from None
    except ValueError as error:
        raise NotStarted(
            f"cannot run {name_command(argv)}: {error} in its arguments: remove it"
        ) from None


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
    between: LaunchDescriptors,
    tail: StreamTail,
    until: float,
    options: LaunchOptions,
) -> None:
    """Keep standard error, and the output, flowing until the launcher ends, or until ``until``
    (monotonic seconds), when it is killed.
    """
    alive, stderr = between.alive, between.stderr
    output = _Output(between.stdout, options.take) if options.take else None
    pause = 1.0 if options.watch is None else WATCH_SECONDS
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    poll.register(stderr, select.POLLIN)
    if output is not None:
        poll.register(output.descriptor, select.POLLIN)
    while time.monotonic() < until:
        # A fork of this process by another thread may hold the pipe too: then the process itself
        # has to be asked.
        events = poll.poll(pause * 1000)
        if options.watch is not None:
            options.watch()
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
