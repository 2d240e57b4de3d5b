"""Stacks of Python functions, by py-spy: it reads the interpreter's memory from outside, so the
program runs unmodified.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import msgspec

from perfvcs.collectors._shared.commandrun import read_at_most
from perfvcs.collectors._shared.frames import python
from perfvcs.collectors.samples.sampler import LARGEST_REPORT, Folded, last
from perfvcs.launcher.execution import name_command
from perfvcs.native import start_folder
from perfvcs.plugins import Natural
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.foreign import UNDECODABLE

REPORT = "py-spy.json"
PYSPY_CURE = "pip install 'py-spy>=0.4'"
# and its command line, as a frame without a file
PROCESS = re.compile(r'process \d+:".*"', re.DOTALL)
SAID = re.compile(r"Samples: ([0-9]{1,15}) Errors: ([0-9]{1,15})")
IMPORT_FRAME = "[import]"
OURS = "[perfvcs]"  # what shuffles the heap when the interpreter starts
REFUSED = re.compile(r"permission denied|operation not permitted|EPERM|ptrace", re.IGNORECASE)
TOO_SHORT = re.compile(
    r"no python processes found|no such process|failed to open process|process.{0,200}exited|ESRCH",
    re.IGNORECASE,
)
MANY_ERRORS = 0.05  # of the samples


class Frame(msgspec.Struct):
    """A function and its file; processes appear as frames, too."""

    name: str
    file: str | None = None


class Shared(msgspec.Struct):
    """The frames that samples count by their numbers."""

    frames: list[Frame]


class SampledThread(msgspec.Struct):
    """One thread's samples, each a list of numbers of frames, root first; unread, since most are
    the same.
    """

    samples: list[msgspec.Raw]


class SpeedscopeFile(msgspec.Struct):
    """The part of speedscope's format that is read; its weights are the same for all samples."""

    shared: Shared
    profiles: list[SampledThread]


@dataclass(frozen=True)
class PySpy:
    """``per_second`` samples; None: 100, which costs some percent."""

    engine: ClassVar[str] = "py-spy/1"

    per_second: int | None = None

    @property
    def rate(self) -> int:
        """Samples per second of one running thread."""
        return self.per_second or 100

    def missing(self) -> str | None:
        """Why it cannot run, with the cure."""
        return None if _tool() else f"samples needs py-spy for Python programs: {PYSPY_CURE}"

    def command(self, scratch: Path) -> Sequence[str]:
        """The program and what it starts, running threads only."""
        output = str(scratch / REPORT)
        return [
            _tool() or "py-spy",
            "record",
            "--pid",
            "{pid}",
            "--subprocesses",
            "--rate",
            str(self.rate),
            "--format",
            "speedscope",
            "--nolineno",
            "--full-filenames",
            "--output",
            output,
        ]

    def read(self, run: Run, scratch: Path, messages: str) -> Folded:
        """Its file in speedscope's format, whose names are strings: command lines may have any
        characters.
        """
        path, folded = scratch / REPORT, Folded()
        if not path.exists():
            return _nothing(run, messages)
        content = read_at_most(path, LARGEST_REPORT)
        if len(content) > LARGEST_REPORT:
            raise CollectError(
                f"samples: py-spy wrote over {LARGEST_REPORT >> 30} GiB: lower rate, or give the"
                " program less to do"
            )
        try:
            report = msgspec.json.decode(content, type=SpeedscopeFile)
            frames = [_frame(frame, str(run.cwd)) for frame in report.shared.frames]
            seen = Counter(bytes(sample) for thread in report.profiles for sample in thread.samples)
            for sample, count in seen.items():
                stack = [
                    frames[number] for number in msgspec.json.decode(sample, type=list[Natural])
                ]
                if not _is_ours(stack):
                    folded.add(_stack(stack), count)
        except (*UNDECODABLE, IndexError):
            raise CollectError(
                f"samples: what py-spy wrote cannot be read: update it: {PYSPY_CURE}"
            ) from None
        if match := SAID.search(messages):
            taken, errors = int(match[1]), int(match[2])
            folded.lost = errors
            if errors > MANY_ERRORS * max(1, taken):
                folded.warnings.append(
                    f"samples: py-spy could not read {errors:,} of {taken + errors:,} samples"
                )
        return folded


def _tool() -> str | None:
    """py-spy beside this interpreter, else on PATH."""
    folders = os.pathsep.join(
        (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    )
    return shutil.which("py-spy", path=folders)


def _stack(frames: Iterable[str]) -> tuple[str, ...]:
    """A sample's stack; the machinery of imports is one frame, and processes are not
    distinguished.
    """
    stack: list[str] = []
    for frame, group in groupby(frame for frame in frames if frame not in ("", OURS)):
        stack += (frame,) if frame == IMPORT_FRAME else group
    return tuple(stack) or ("[interpreter]",)


def _is_ours(stack: Sequence[str]) -> bool:
    """Whether a sample was taken in what is ours, or in what that imports."""
    own = [frame for frame in stack if frame != IMPORT_FRAME]
    return own[-1:] == [OURS]


def _frame(frame: Frame, cwd: str) -> str:
    """A frame as profiles have it; empty for a process."""
    if frame.file and Path(frame.file).parent == start_folder():
        return OURS
    if not frame.file and PROCESS.fullmatch(frame.name):
        return ""
    return (
        IMPORT_FRAME
        if frame.file and "<frozen importlib." in frame.file
        else python(frame.name, frame.file or "<unknown>", cwd)
    )


def _nothing(run: Run, messages: str) -> Folded:
    """No report: the program was too short, which is not a failure, or py-spy was not let in, which
    is one.
    """
    reason = next((line for line in messages.splitlines() if line.startswith("Error:")), messages)
    if REFUSED.search(messages):
        raise CollectError(
            f"{name_command(run.argv)}: py-spy is not allowed to read it: sysctl"
            " kernel.yama.ptrace_scope=0, or add the capability SYS_PTRACE to the container"
        )
    if TOO_SHORT.search(messages) or not messages.strip():
        return Folded()
    raise CollectError(
        f"{name_command(run.argv)}: py-spy failed: {last(reason)}: is it a Python program?"
    )
