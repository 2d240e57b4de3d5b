"""Executing commands under measurement, through a small compiled launcher where there is a C compiler."""

from __future__ import annotations

import errno
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from perfvcs.interruption import SIGNALS
from perfvcs.launcher import fallback
from perfvcs.launcher.execution import (
    Execution,
    LaunchError,
    NotStarted,
    StreamTail,
    check_start,
    name_command,
    name_signal,
    not_started,
)
from perfvcs.launcher.pace import Pace
from perfvcs.native import native_folder
from perfvcs.native.compiled import NotCompiled, compiled
from perfvcs.process import stop

__all__ = ["LEFTOVER_SECONDS", "Execution", "LaunchError", "NotStarted", "engine", "fallback_reason", "launch"]

VERSION = 1
REPORTED = re.compile(rb"^([a-z_-]+) (-?[0-9]{1,18})$", re.M)
NEEDED = (
    "wall", "cpu", "maxrss", "minflt", "majflt", "nvcsw", "nivcsw", "inblock", "oublock", "timed_out", "leftover",
)  # fmt: skip
LEFTOVER_SECONDS = 0.25  # seconds in which what a command leaves behind may end by itself, as Python's own helper processes do
LAUNCHER_SECONDS = 15.0  # seconds beyond the time-out after which the launcher itself is given up
FOREVER = 1e9  # seconds; longer time-outs, infinity among them, are this


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
        said = subprocess.run([path, "--version"], capture_output=True, env={}, check=False, timeout=10)
    except NotCompiled as error:
        return None, f"{loss}: {error}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"{loss}: {error}: set XDG_CACHE_HOME to a folder from which programs may be started"
    if said.stdout != f"perfvcs-launcher {VERSION}\n".encode():
        return None, f"{loss}: {path} does not work here: remove it"
    return path, None


def launch(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    cpus: Sequence[int] = (),
    aslr: bool = True,
    grace: float = LEFTOVER_SECONDS,
    pace: bool = False,
    output: int | None = None,
    started: Callable[[int], None] | None = None,
) -> Execution:
    """Execute ``argv`` once, without a shell, and return what it took.

    ``argv[0]`` is an absolute path. Standard input is empty, standard output is thrown away, of standard error the end is kept.
    The command leads a session of its own; signals are as by default. After ``timeout`` seconds it is killed with all its
    descendants. What it leaves running is given ``grace`` seconds and then killed, daemons included. ``cpus`` pins it to processors,
    ``aslr=False`` switches address space randomisation off. With ``pace`` the machine's pace is read meanwhile, every 20 ms.
    ``output`` is a descriptor that gets standard output and error instead. ``started`` is told the process at the top of all that runs
    as soon as there is one: the launcher, or under engine ``wait4/1`` the command. When this
    process ends, in whatever way, so do the command and its descendants. Raises NotStarted if the system refuses to start the
    command, LaunchError where the launcher itself was killed; a command that fails is not an error here.
    """
    program = _prepared()[0]
    if program is None:
        return fallback.execute(
            argv, cwd=cwd, env=env, timeout=timeout, grace=grace, cpus=cpus, aslr=aslr, output=output, started=started
        )
    check_start(argv, cwd)
    tail = StreamTail()
    # A file and not a pipe takes the report: its first line comes while the command runs, and must not wake us up.
    report = os.memfd_create("perfvcs-report")
    environment = os.memfd_create("perfvcs-environment")
    readings = os.memfd_create("perfvcs-pace") if pace else -1
    alive, launcher_alive = os.pipe()
    stderr, launcher_stderr = os.pipe()
    descriptors = {report, environment, alive, launcher_alive, stderr, launcher_stderr} | ({readings} if pace else set())
    process: subprocess.Popen[bytes] | None = None
    # Ctrl-C between the start of the launcher and the moment that we know its number would leave it running.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
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
            int(aslr),
        ]
        command = [str(program), *map(str, numbers), ",".join(map(str, cpus)) or "-", *argv]
        try:
            process = subprocess.Popen(
                command, cwd=cwd, env={}, start_new_session=True,
                pass_fds=(report, environment, launcher_alive, *([readings] if pace else [])), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if output is None else output, stderr=launcher_stderr if output is None else output,
            )  # fmt: skip
        except OSError as error:
            raise not_started(argv, error.errno or 0) from None
        except ValueError as error:
            raise NotStarted(f"cannot run {name_command(argv)}: {error} in its arguments: remove it") from None
        for descriptor in (launcher_alive, launcher_stderr):
            descriptors.remove(descriptor)
            os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if started is not None:
            started(process.pid)
        _follow(process, alive, stderr, tail, time.monotonic() + timeout + grace + LAUNCHER_SECONDS)
        code, said = process.wait(), _reported(report)
        if "end" not in said:
            _stop_orphans(said, stderr)
        return _execution(argv, cpus, said, code, tail.rest(stderr), Pace.of(readings) if pace else None)
    finally:
        if process is not None and process.returncode is None:
            _end(process, report, stderr)
        for descriptor in descriptors:
            os.close(descriptor)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _block(argv: Sequence[str], env: Mapping[str, str]) -> bytes:
    """The environment as the launcher reads it."""
    variables = [os.fsencode(f"{name}={value}") for name, value in env.items()]
    if any(b"\0" in variable for variable in variables) or any("=" in name or not name for name in env):
        raise NotStarted(
            f"cannot run {name_command(argv)}: a variable of its environment has an impossible name or a NUL: remove it"
        )
    return b"".join(variable + b"\0" for variable in variables)


def _follow(process: subprocess.Popen[bytes], alive: int, stderr: int, tail: StreamTail, until: float) -> None:
    """Keep standard error flowing until the launcher ends, or until ``until`` (monotonic seconds), when it is killed."""
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    poll.register(stderr, select.POLLIN)
    while time.monotonic() < until:
        # A fork of this process by another thread may hold the pipe too: then the process itself has to be asked.
        events = poll.poll(1000)
        if any(descriptor == alive for descriptor, _ in events) or (not events and process.poll() is not None):
            return
        if events and not tail.read(stderr):
            poll.unregister(stderr)
    process.kill()


def _end(process: subprocess.Popen[bytes], report: int, stderr: int) -> None:
    """Have the launcher stop everything; it is killed, and its command's session too, when it does not answer."""
    process.terminate()
    try:
        process.wait(LAUNCHER_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        _stop_orphans(_reported(report), stderr)


def _reported(report: int) -> dict[str, int]:
    """The numbers that the launcher wrote; lines that make no sense are left out, since a killed one may have written half a line."""
    found = REPORTED.findall(os.pread(report, 1 << 16, 0))
    return {name.decode(): int(value) for name, value in found}


def _stop_orphans(said: Mapping[str, int], stderr: int) -> None:
    """Stop what a killed launcher left: its command's session, and those of all that still hold the pipe for standard error."""
    sessions = fallback.sessions_holding(str(Path(f"/proc/self/fd/{stderr}").readlink())) | {said.get("pid", 0)}
    for session in sessions - {0, os.getsid(0)}:
        stop(session, "")


def _execution(
    argv: Sequence[str], cpus: Sequence[int], said: Mapping[str, int], code: int, stderr: str, pace: Pace | None = None
) -> Execution:
    if "exec" in said:
        raise not_started(argv, said["exec"])
    if "pin" in said:
        raise fallback.no_such_processors(cpus)
    if "aslr" in said:
        raise fallback.no_personality()
    if "setup" in said:
        raise NotStarted(f"cannot run {name_command(argv)}: {errno.errorcode.get(said['setup'], '?')} while preparing: try again")
    if "stuck" in said:
        raise LaunchError(f"{name_command(argv)} timed out and does not die of SIGKILL: look at process {said['pid']}")
    if "interrupted" in said:
        raise LaunchError(
            f"{name_command(argv)} was stopped: the launcher got {name_signal(said['interrupted'])}: start it again"
        )
    if "end" not in said:
        how = name_signal(-code) if code < 0 else f"exit status {code}"
        raise LaunchError(f"{name_command(argv)}: the launcher ended with {how}: does the command kill its parent? then wrap it")
    if said.get("perfvcs-launcher") != VERSION:
        raise LaunchError(f"the launcher speaks version {said.get('perfvcs-launcher')}: remove it from the cache folder")
    if missing := ", ".join(name for name in NEEDED if name not in said):
        raise LaunchError(f"the launcher's report lacks {missing}: something else wrote into it: start the command again")
    seconds = {name: said[name] / 1e9 if name in said else None for name in ("run_delay", "wake_delay", "pressure", "steal")}
    return Execution(
        wall=said["wall"] / 1e9, cpu=said["cpu"] / 1e9, maxrss=said["maxrss"],
        run_delay=seconds["run_delay"], wake_delay=seconds["wake_delay"],
        minor_faults=said["minflt"], major_faults=said["majflt"],
        voluntary_switches=said["nvcsw"], involuntary_switches=said["nivcsw"],
        blocks_in=said["inblock"], blocks_out=said["oublock"],
        read_chars=said.get("rchar"), write_chars=said.get("wchar"),
        read_bytes=said.get("read_bytes"), write_bytes=said.get("write_bytes"),
        pressure=seconds["pressure"], steal=seconds["steal"],
        status=said.get("status"), signal=said.get("signal"), timed_out=bool(said["timed_out"]),
        leftover=said["leftover"], stderr=stderr, pace=pace,
    )  # fmt: skip
