"""Executing commands under measurement, through a small compiled launcher where there is a C
compiler.
"""

from __future__ import annotations

import errno
import os
import re
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
    Execution,
    LaunchError,
    NotStarted,
    Pace,
    StreamTail,
    check_start,
    name_command,
    name_signal,
    not_started,
)
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

VERSION = 1
PYTHON_LAUNCHER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("fallback.py"))]
REPORTED = re.compile(rb"^([a-z_-]+) (-?[0-9]{1,18})$", re.M)
NEEDED = (
    "wall",
    "cpu",
    "minflt",
    "majflt",
    "nvcsw",
    "nivcsw",
    "inblock",
    "oublock",
    "timed_out",
    "leftover",
)
# seconds in which what a command leaves behind may end by itself, as Python's own helper processes
# do
LEFTOVER_SECONDS = 0.25
LAUNCHER_SECONDS = 15.0  # seconds beyond the time-out after which the launcher itself is given up
WATCH_SECONDS = 0.05  # seconds between two looks of the caller's at a command
DEATH_PATIENCE = 5.0  # seconds that processes get to die after SIGKILL
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
        code, reported = process.wait(), _reported(report)
        if "end" not in reported:
            _stop_orphans(reported, stderr)
        return _execution(
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
        _stop_orphans(_reported(report), stderr)


def _reported(report: int) -> dict[str, int]:
    """The numbers that the launcher wrote; lines that make no sense are left out, since a killed
    one may have written half a line.
    """
    pairs = REPORTED.findall(os.pread(report, 1 << 16, 0))
    return {name.decode(): int(value) for name, value in pairs}


def _stop_orphans(numbers: Mapping[str, int], stderr: int) -> None:
    """Stop what a killed launcher left: its command's session, and those of all that still hold the
    pipe for standard error.
    """
    sessions = _sessions_holding(str(Path(f"/proc/self/fd/{stderr}").readlink())) | {
        numbers.get("pid", 0)
    }
    for session in sessions - {0, os.getsid(0)}:
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
    """Kill what is left of a session."""
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


def _execution(
    argv: Sequence[str],
    cpus: Sequence[int],
    numbers: Mapping[str, int],
    code: int,
    stderr: str,
    pace: Pace | None = None,
) -> Execution:
    if "exec" in numbers:
        raise not_started(argv, numbers["exec"])
    if "pin" in numbers:
        allowed = ",".join(str(number) for number in sorted(os.sched_getaffinity(0)))
        raise NotStarted(
            f"cannot pin to the processors {','.join(map(str, cpus))}: this process may use"
            f" {allowed}: choose among those"
        )
    if "aslr" in numbers:
        raise NotStarted(
            "address space randomisation cannot be switched off here (containers often forbid it):"
            " leave it on"
        )
    if "setup" in numbers:
        raise NotStarted(
            f"cannot run {name_command(argv)}: {errno.errorcode.get(numbers['setup'], '?')} while"
            " preparing: try again"
        )
    if "stuck" in numbers:
        raise LaunchError(
            f"{name_command(argv)} timed out and does not die of SIGKILL: look at process"
            f" {numbers['pid']}"
        )
    if "interrupted" in numbers:
        raise LaunchError(
            f"{name_command(argv)} was stopped: the launcher got"
            f" {name_signal(numbers['interrupted'])}: start it again"
        )
    if "end" not in numbers:
        how = name_signal(-code) if code < 0 else f"exit status {code}"
        raise LaunchError(
            f"{name_command(argv)}: the launcher ended with {how}: does the command kill its"
            " parent? then wrap it"
        )
    if numbers.get("perfvcs-launcher") != VERSION:
        raise LaunchError(
            f"the launcher speaks version {numbers.get('perfvcs-launcher')}: remove it from the"
            " cache folder"
        )
    if missing := ", ".join(name for name in NEEDED if name not in numbers):
        raise LaunchError(
            f"the launcher's report lacks {missing}: something else wrote into it: start the"
            " command again"
        )
    seconds = {
        name: numbers[name] / 1e9 if name in numbers else None
        for name in ("run_delay", "wake_delay", "pressure", "steal")
    }
    return Execution(
        wall=numbers["wall"] / 1e9,
        cpu=numbers["cpu"] / 1e9,
        maxrss=numbers.get("maxrss"),
        run_delay=seconds["run_delay"],
        wake_delay=seconds["wake_delay"],
        minor_faults=numbers["minflt"],
        major_faults=numbers["majflt"],
        voluntary_switches=numbers["nvcsw"],
        involuntary_switches=numbers["nivcsw"],
        blocks_in=numbers["inblock"],
        blocks_out=numbers["oublock"],
        read_chars=numbers.get("rchar"),
        write_chars=numbers.get("wchar"),
        read_bytes=numbers.get("read_bytes"),
        write_bytes=numbers.get("write_bytes"),
        pressure=seconds["pressure"],
        steal=seconds["steal"],
        status=numbers.get("status"),
        signal=numbers.get("signal"),
        timed_out=bool(numbers["timed_out"]),
        leftover=numbers["leftover"],
        stderr=stderr,
        pace=pace,
    )
