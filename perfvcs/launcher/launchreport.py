"""What a launcher leaves: the report that it writes of one command, and the processes of a killed
one.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from perfvcs.launcher.execution import (
    Execution,
    LaunchError,
    NotStarted,
    Pace,
    name_command,
    name_signal,
    not_started,
)
from perfvcs.system.children import processors

VERSION = 1  # of the launcher, and of its report
REPORTED = rb"(?m)^([a-z_-]+) (-?[0-9]{1,18})$"
LEFT = rb"(?m)^left ([\x21-\x7e]{1,100}) ?([\x21-\x7e]{0,100})$"
INTERPRETER = r"(python|pypy|node|ruby|perl|java|bash|dash|sh)[\d.]*t?"
LARGEST = 1 << 16  # bytes of a report
FOREIGN = "foreign"  # a number that no launcher writes: something else wrote into its report
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


def read_report(report: int) -> dict[str, int]:
    """The numbers that the launcher wrote; lines that make no sense are left out, since a killed
    one may have written half a line.

    A command may find the file below /proc: what it writes there is taken for none of them.
    """
    pairs = re.findall(REPORTED, os.pread(report, LARGEST, 0))
    numbers = {name.decode(): int(value) for name, value in pairs}
    # the launcher and we have one position in the file, which only its own lines move
    is_ours = os.fstat(report).st_size == os.lseek(report, 0, os.SEEK_CUR) < LARGEST
    return numbers if is_ours and len(pairs) == len(numbers) else numbers | {FOREIGN: 1}


def left_running(report: int) -> tuple[str, ...]:
    """The names of the processes that had to be ended, the first ones."""
    names: list[str] = []
    for program, word in re.findall(LEFT, os.pread(report, LARGEST, 0)):
        name, script = (Path(part.decode()).name for part in (program, word))
        is_script = re.fullmatch(INTERPRETER, name) and not word.startswith(b"-")
        names.append(f"{name} {script}".strip() if is_script else name)
    return tuple(names)


def executed(
    argv: Sequence[str],
    cpus: Sequence[int],
    numbers: Mapping[str, int],
    code: int,
    stderr: str,
    pace: Pace | None = None,
    left: tuple[str, ...] = (),
) -> Execution:
    """What a command took, by the numbers of the launcher, which ended with ``code``; ``left`` as
    an Execution has it.

    Raises NotStarted where the system refused to start the command on the processors ``cpus``, and
    LaunchError where the report is not whole.
    """
    _require_own(argv, numbers)
    _require_started(argv, cpus, numbers)
    _require_ended(argv, numbers, code)
    seconds = {
        name: numbers[name] / 1e9 if name in numbers else None
        for name in ("run_delay", "wake_delay", "pressure", "steal", "adopted")
    }
    return Execution(
        wall=numbers["wall"] / 1e9,
        cpu=numbers["cpu"] / 1e9,
        maxrss=numbers.get("maxrss"),
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
        status=numbers.get("status"),
        signal=numbers.get("signal"),
        timed_out=bool(numbers["timed_out"]),
        leftover=numbers["leftover"],
        left=left,
        stderr=stderr,
        pace=pace,
        **seconds,
    )


def _require_own(argv: Sequence[str], numbers: Mapping[str, int]) -> None:
    """Raise LaunchError where something else wrote into the report."""
    if FOREIGN in numbers:
        raise LaunchError(
            f"{name_command(argv)}: something else wrote into the launcher's report: does it write"
            " to the files of other processes?"
        )


def _require_started(argv: Sequence[str], cpus: Sequence[int], numbers: Mapping[str, int]) -> None:
    """Raise NotStarted where the system refused what the command was to have."""
    if "exec" in numbers:
        raise not_started(argv, numbers["exec"])
    if "pin" in numbers:
        if sys.platform != "linux":
            raise NotStarted('processes cannot be pinned here: set pin = "none"')
        allowed = ",".join(map(str, processors()))
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


def _require_ended(argv: Sequence[str], numbers: Mapping[str, int], code: int) -> None:
    """Raise LaunchError where the launcher was killed, or its report is not whole."""
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
