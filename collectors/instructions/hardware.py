"""Counting by the processor itself, through Linux perf, if the machine has such counters."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from perfvcs.collectors._shared.commandrun import executed, read_at_most
from perfvcs.collectors.instructions.counts import Context, Counts
from perfvcs.collectors.instructions.valgrind import (
    addresses_can_be_fixed,
    check_program,
    environment,
)
from perfvcs.launcher import LaunchOptions
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system import linuxperf
from perfvcs.system.numeric import np

EVENT = "instructions:u"
LARGEST_ANSWER = 1 << 16  # bytes of perf's answer
# perf stat hides the signal that ended its command; a shell reports it as a status
WRAPPED = ("/bin/sh", "-c", '"$@"; exit $?', "sh")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


@cache
def unavailable() -> str | None:
    """Why the processor's counters cannot be used here, with the cure; None when they can."""
    program = linuxperf.find()
    if program is None:
        return "there is no Linux perf: apt install linux-perf (Ubuntu: linux-tools-generic)"
    with tempfile.TemporaryDirectory(prefix="perfvcs-") as name:
        answer = Path(name, "answer")
        try:
            done = subprocess.run(
                [program, *_options(answer), "true"],
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=30,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return f"{program} does not start: install Linux perf for this kernel"
        if done.returncode or not answer.exists():
            return (
                f"Linux perf may not count events ({_paranoid()}): sysctl"
                " kernel.perf_event_paranoid=2"
            )
        if _count(answer) is None:
            return (
                "this machine does not count instructions (many virtual machines do not): use"
                " valgrind, or real hardware"
            )
    return None


def record(run: Run, folder: Path) -> Counts:
    """Execute once, counted by the processor; one context has it all. Raises CollectError."""
    program = linuxperf.find()
    if program is None:
        raise CollectError(
            unavailable() or "there is no Linux perf: apt install linux-perf", lasting=True
        )
    check_program(run.argv)
    answer = folder / "answer"
    aslr = run.aslr and not addresses_can_be_fixed()
    executed(
        run,
        [program, *_options(answer), *WRAPPED, *run.argv],
        env=environment(run.env),
        options=LaunchOptions(run.cpus, aslr),
    )
    count = _count(answer)
    if count is None:
        raise CollectError(
            f"{name_command(run.argv)}: Linux perf counted no instructions: give this job the tool"
            " callgrind"
        )
    none = np.empty(0, np.int64)
    return Counts([Context("", "")], np.array([count]), none, none, np.empty(0), np.empty(0))


def _options(answer: Path) -> list[str]:
    return ["stat", "-x", ",", "-e", EVENT, "-o", str(answer), "--"]


def _count(answer: Path) -> float | None:
    """The number in an answer such as ``1234,,instructions:u,...``; None where it has none."""
    for line in read_at_most(answer, LARGEST_ANSWER).decode(errors="replace").splitlines():
        fields = line.split(",")
        if (
            len(fields) > 2
            and fields[2] == EVENT
            and fields[0].isdecimal()
            and len(fields[0]) <= 18
        ):
            return float(fields[0])
    return None


def _paranoid() -> str:
    try:
        return f"kernel.perf_event_paranoid is {PARANOID.read_text().strip()}"
    except OSError:
        return "this kernel has no perf events"
