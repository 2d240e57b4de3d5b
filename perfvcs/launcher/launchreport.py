"""The report that the launcher writes of one command."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence

from perfvcs.launcher.execution import (
    Execution,
    LaunchError,
    NotStarted,
    Pace,
    name_command,
    name_signal,
    not_started,
)

VERSION = 1  # of the launcher, and of its report
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


def read_report(report: int) -> dict[str, int]:
    """The numbers that the launcher wrote; lines that make no sense are left out, since a killed
    one may have written half a line.
    """
    pairs = REPORTED.findall(os.pread(report, 1 << 16, 0))
    return {name.decode(): int(value) for name, value in pairs}


def executed(
    argv: Sequence[str],
    cpus: Sequence[int],
    numbers: Mapping[str, int],
    code: int,
    stderr: str,
    pace: Pace | None = None,
) -> Execution:
    """What a command took, by the numbers of the launcher, which ended with ``code``.

    Raises NotStarted where the system refused to start the command on the processors ``cpus``, and
    LaunchError where the report is not whole.
    """
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
