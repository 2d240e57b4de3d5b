"""Stacks of compiled code, by Linux perf: the kernel interrupts the program by a clock of its
processor time (``cpu-clock``).

Its callers come from the unwinding tables (``dwarf``), which every program has and which cost a
copy of the stack's end, or from frame pointers (``fp``), which are cheaper and which programs have
when they were compiled with ``-fno-omit-frame-pointer``; but compilers leave them out of innermost
functions anyway, whose callers are then missing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile
from pathlib import Path
from typing import Literal

from perfvcs.collectors._shared.frames import KERNEL, UNKNOWN_FRAME, native
from perfvcs.collectors.samples import perfmaps
from perfvcs.collectors.samples.sampler import LARGEST_REPORT, TRUNCATED, Folded, last
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system import linuxperf

# a prime, so that it does not fall in step with what the program does every millisecond
LINUX_RATE = 997
DATA = "perf.data"
READING_TIMEOUT = 600.0  # seconds for reading
EVENT_OPEN = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
FRAME_POINTERS = ("-fno-omit-frame-pointer",)
ADDRESS = re.compile(r"[0-9a-f]+")
LOST = re.compile(r"\blost (?:samples )?([0-9]{1,15})\b")
STARTS = re.compile(
    r"_start|_dl_start\w*|__libc_start_\w+|clone3?|__clone3?|start_thread|ret_from_fork\w*|_dl_\w+|__restore_rt"
)
MAIN_FUNCTION = re.compile(r"main \(.*\)")


class _Attributes(ctypes.Structure):
    """The beginning of the kernel's ``perf_event_attr``, as of its first version."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 2),
    )


@dataclass(frozen=True)
class LinuxPerf:
    """``per_second`` samples; None: 997.

    ``unwind``: how callers are found; ``auto`` is ``dwarf`` where the tool was built with it, and
    ``fp`` under a ``runtime`` that compiles while the program runs.
    """

    per_second: int | None = None
    unwind: Literal["auto", "dwarf", "fp"] = "auto"
    runtime: str = ""

    @property
    def engine(self) -> str:
        """``perf-dwarf/1`` or ``perf-fp/1``; with ``-user`` where the time in the kernel may not be
        seen.
        """
        return f"perf-{self._unwinder}{'' if _kernel_too() else '-user'}/1"

    @property
    def rate(self) -> int:
        """Samples per second of one running thread."""
        return self.per_second or LINUX_RATE

    @property
    def _unwinder(self) -> str:
        if self.unwind != "auto":
            return self.unwind
        return "dwarf" if _unwinds() and not self.runtime else "fp"

    def missing(self) -> str | None:
        """Why it cannot run, with the cure."""
        if linuxperf.find() is None:
            return (
                "samples needs Linux perf for compiled programs: apt install linux-perf (Ubuntu:"
                " linux-tools-generic)"
            )
        return _refused()

    def command(self, scratch: Path) -> Sequence[str]:
        """The program and what it starts, from the moment it is started."""
        event = f"cpu-clock{'' if _kernel_too() else ':u'}"
        return [
            linuxperf.find() or "perf",
            "record",
            "--quiet",
            "--pid",
            "{pid}",
            "--delay=-1",
            "--control=fd:{control},{ack}",
            "--event",
            event,
            "--freq",
            str(self.rate),
            "--call-graph",
            self._unwinder,
            "--no-buildid",
            "--no-buildid-cache",
            # what is mapped before the program starts confuses the unwinder
            "--synth=no",
            "--output",
            str(scratch / DATA),
        ]

    def read(self, run: Run, scratch: Path, messages: str) -> Folded:
        """What ``perf script`` makes of its file."""
        if not (scratch / DATA).exists():
            raise CollectError(f"{name_command(run.argv)}: perf recorded nothing: {last(messages)}")
        command = [
            linuxperf.find() or "perf",
            "script",
            "--input",
            str(scratch / DATA),
            "--no-inline",
            "--fields",
            "ip,sym,dso",
        ]
        errors = scratch / "script.log"
        with (
            errors.open("wb") as log,
            subprocess.Popen(
                [*command, "--show-lost-events"],
                stdout=subprocess.PIPE,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=scratch,
                env={
                    "PATH": os.environ.get("PATH", os.defpath),
                    "LC_ALL": "C",
                    "PERF_CONFIG": os.devnull,
                },
                text=True,
                errors="replace",
            ) as process,
        ):
            try:
                folded = fold(_bounded(process.stdout or ()), str(run.cwd))
            except BaseException:
                process.kill()
                raise
            status = process.wait(READING_TIMEOUT)
        if status:
            messages = last(errors.read_text(errors="replace"))
            raise CollectError(
                f"{name_command(run.argv)}: perf script failed with status {status}: {messages}"
            )
        perfmaps.remove(folded.maps)
        if folded.lost:
            folded.warnings.append(f"samples: perf lost {folded.lost:,} samples: lower rate")
        if _alone(folded) > folded.total / 2:
            folded.warnings.append(
                f"samples: most stacks of {name_command(run.argv)} are only their innermost"
                f' function: compile it with {FRAME_POINTERS[0]} and set unwind = "fp", which'
                " static programs need"
            )
        return folded


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    """The lines, until there are too many of them."""
    size = 0
    for line in lines:
        size += len(line)
        if size > LARGEST_REPORT:
            raise CollectError(
                f"samples: perf wrote over {LARGEST_REPORT >> 30} GiB: lower rate, or give the"
                " program less to do"
            )
        yield line


def fold(lines: Iterable[str], cwd: str) -> Folded:
    """Fold the text of ``perf script``: one frame per line, leaf first, and an empty line behind
    each sample.
    """
    folded, frames = Folded(), list[str]()
    for line in lines:
        if frame := _frame(line.strip()):
            frames.append(perfmaps.compiled(*frame, cwd) or native(*frame, cwd))
            folded.maps.update([frame[1]] if perfmaps.MAP.fullmatch(frame[1]) else ())
        elif match := LOST.search(line.partition("PERF_RECORD_LOST")[2]):
            folded.lost += int(match[1])
        elif not line.strip() and frames:
            folded.add(normal(frames), 1)
            frames = []
    if frames:
        folded.add(normal(frames), 1)
    return folded


def _frame(line: str) -> tuple[str, str] | None:
    """Symbol and image of ``7f12 main (/home/me/x)``; None for another line.

    No pattern, which would try every bracket as the last.
    """
    place, _, image = line.rpartition(" (")
    address, space, symbol = place.partition(" ")
    return (
        (symbol, image[:-1])
        if space and image.endswith(")") and ADDRESS.fullmatch(address)
        else None
    )


def _alone(folded: Folded) -> int:
    """Samples without a known caller."""
    return sum(
        count
        for stack, count in folded.stacks.items()
        if stack[0] == TRUNCATED and len(stack) - (stack[-1] == KERNEL) == 2
    )


def normal(frames: Sequence[str]) -> tuple[str, ...]:
    """Frames, leaf first, as a stack: what runs before ``main`` is left out, the kernel is one
    frame, an unknown beginning is marked.
    """
    user = [frame for frame in frames if frame != KERNEL]
    leaf = (KERNEL,) if len(user) < len(frames) else ()
    stack = list(dropwhile(UNKNOWN_FRAME.__eq__, reversed(user)))
    if not stack:
        return leaf or (UNKNOWN_FRAME,)
    complete = STARTS.fullmatch(stack[0].partition(" (")[0]) is not None
    main = next(
        (place for place, frame in enumerate(stack) if MAIN_FUNCTION.fullmatch(frame)), None
    )
    # anything may come before that
    if main is not None and (not main or STARTS.fullmatch(stack[main - 1].partition(" (")[0])):
        return (*stack[main:], *leaf)
    return (*(() if complete else (TRUNCATED,)), *stack, *leaf)


@cache
def _unwinds() -> bool:
    """Whether this perf can unwind by tables."""
    done = subprocess.run(
        [linuxperf.find() or "perf", "version", "--build-options"],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=30,
    )
    return re.search(r"(?:libunwind|dwarf-unwind).*\[ on", done.stdout) is not None


@cache
def _kernel_too() -> bool:
    """Whether the time that the program spends in the kernel may be sampled."""
    return _open(kernel=True) == 0


@cache
def _refused() -> str | None:
    """Why the kernel refuses to sample at all, with the cure."""
    number = _open(kernel=False)
    if not number:
        return None
    cure = "sysctl kernel.perf_event_paranoid=2, or add the capability PERFMON to the container"
    if number in (errno.EACCES, errno.EPERM):
        return f"samples may not use perf events here: {cure}"
    return f"samples: the system has no perf events ({errno.errorcode.get(number, number)}): {cure}"


def _open(*, kernel: bool) -> int:
    """Try to open the event for this process; the system's error number, 0 when it works."""
    number = EVENT_OPEN.get(platform.machine())
    if number is None:
        return 0 if not kernel or os.geteuid() == 0 else errno.EACCES
    # a software event (1), its clock (0), disabled (1), and 1 << 5 leaves the kernel out, 1 << 6
    # the hypervisor
    attributes = _Attributes(
        type=1, size=64, period=1_000_000, flags=1 | (0 if kernel else 1 << 5 | 1 << 6)
    )
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, ctypes.byref(attributes), 0, -1, -1, 0)
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return 0
