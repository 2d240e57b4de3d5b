"""The report that the launcher writes of one command."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Mapping, Sequence
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
    if FOREIGN in numbers:
        raise LaunchError(
            f"{name_command(argv)}: something else wrote into the launcher's report: does it write"
            " to the files of other processes?"
        )
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
