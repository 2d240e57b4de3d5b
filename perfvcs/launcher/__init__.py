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

from perfvcs.launcher.execution import (
    Execution,
    LaunchError,
    NotStarted,
    Pace,
    StreamTail,
    check_start,
    name_command,
    not_started,
)
from perfvcs.launcher.launchreport import VERSION, executed, read_report
from perfvcs.launcher.orphans import stop_orphans
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

PYTHON_LAUNCHER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("fallback.py"))]
# seconds in which what a command leaves behind may end by itself, as Python's own helper processes
# do
LEFTOVER_SECONDS = 0.25
LAUNCHER_SECONDS = 15.0  # seconds beyond the time-out after which the launcher itself is given up
WATCH_SECONDS = 0.05  # seconds between two looks of the caller's at a command
FOREVER = 1e9  # seconds; longer time-outs, infinity among them, are this


class LaunchOptions(NamedTuple):
    """How a command is executed beside its words, folder, environment and time-out.

    ``cpus`` pins it to processors, ``aslr=False`` switches address space randomisation off. With
    ``pace`` the machine's pace is read meanwhile, every 20 ms. Asked to end, the command is given
    ``patience`` seconds; what it leaves running is given ``grace`` seconds and then killed, daemons
    included. ``output`` is a descriptor that gets standard output and, unless ``errors`` does,
    standard error instead; ``pass_fds`` stay open in the command. ``started`` is called with the
    launcher's process id once it is known. ``watch`` is called again and again meanwhile; what it
    raises ends the command.
    """

    cpus: Sequence[int] = ()
    aslr: bool = True
    pace: bool = False
    grace: float = LEFTOVER_SECONDS
    patience: float = 0.0
    output: int | None = None
    errors: int | None = None
    pass_fds: Sequence[int] = ()
    started: Callable[[int], None] | None = None
    watch: Callable[[], None] | None = None


PLAIN = LaunchOptions()


def engine() -> str:
    """``launcher/1``, or ``wait4/1`` where the launcher cannot be compiled or started."""
    return "wait4/1" if _prepared()[0] is None else f"launcher/{VERSION}"


def fallback_reason() -> str | None:
    """Why the engine is ``wait4/1``, with the cure; None when the launcher works."""
    return _prepared()[1]


@cache
def _prepared() -> tuple[Path | None, str | None]:
    """The launcher's executable, or why there is none; found out once per process."""
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

    ``argv[0]`` is an absolute path. Standard input is empty, standard output is thrown away, of
    standard error the end is kept. The command leads a session of its own; signals are as by
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
    report = os.memfd_create("perfvcs-report")
    environment = os.memfd_create("perfvcs-environment")
    readings = os.memfd_create("perfvcs-pace") if options.pace else -1
    alive, launcher_alive = os.pipe()
    stderr, launcher_stderr = os.pipe()
    descriptors = {report, environment, alive, launcher_alive, stderr, launcher_stderr} | (
        {readings} if options.pace else set()
    )
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
        command = [*first, *map(str, numbers), ",".join(map(str, cpus)) or "-", *argv]
        shared = (report, environment, launcher_alive, *options.pass_fds)
        shared += (readings,) if options.pace else ()
        said_to = errors if errors is not None else output
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=variables,
                start_new_session=True,
                pass_fds=shared,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if output is None else output,
                stderr=launcher_stderr if said_to is None else said_to,
            )
        except OSError as error:
            raise not_started(argv, error.errno or 0) from None
        except ValueError as error:
            raise NotStarted(
                f"cannot run {name_command(argv)}: {error} in its arguments: remove it"
            ) from None
        for descriptor in (launcher_alive, launcher_stderr):
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
        )
    finally:
        if process is not None and process.returncode is None:
            _end(process, report, stderr)
        for descriptor in descriptors:
            os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


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
) -> None:
    """Keep standard error flowing until the launcher ends, or until ``until`` (monotonic seconds),
    when it is killed.
    """
    pause = 1.0 if watch is None else WATCH_SECONDS
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    poll.register(stderr, select.POLLIN)
    while time.monotonic() < until:
        # A fork of this process by another thread may hold the pipe too: then the process itself
        # has to be asked.
        events = poll.poll(pause * 1000)
        if watch is not None:
            watch()
        if any(descriptor == alive for descriptor, _ in events) or (
            not events and process.poll() is not None
        ):
            return
        if events and not tail.read(stderr):
            poll.unregister(stderr)
    process.kill()


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
