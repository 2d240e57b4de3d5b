"""Call stacks of running programs, taken at a fixed rate: one engine per tool, and stacks that two
revisions have in common.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from perfvcs.collectors._shared.commandrun import launched, read_at_most
from perfvcs.collectors.samples import attach
from perfvcs.launcher import LaunchOptions
from perfvcs.launcher.execution import (
    Execution,
    LaunchError,
    check_start,
    failure,
    name_command,
    not_started,
)
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.foreign import printable

# distinct stacks of one execution; of more, those seen once or twice say nothing
MOST_STACKS = 200_000
TRUNCATED = "[truncated]"  # the root of stacks whose callers are not known
MOST_FRAMES = 400  # frames that are kept of a stack: as many from the root as from the leaf,
LEFT_OUT_FRAMES = "[left out]"  # and this between them
LARGEST_REPORT = 1 << 30  # bytes of a tool's text
# seconds in which the sampler finishes
END_SECONDS = (attach.LINGER + attach.REPORT_PATIENCE) / 1000 + 1.5
LOG = 1 << 16  # bytes of its messages
SAFE_NUMBER = re.compile(r"[0-9]{1,6}")


@dataclass
class Folded:
    """How often each stack was seen: tuples of frames, root first, each ``function (file)``;
    ``lost`` samples were not written down, and ``maps`` are files in which runtimes name functions.
    """

    stacks: dict[tuple[str, ...], int] = field(default_factory=dict)
    lost: int = 0
    warnings: list[str] = field(default_factory=list)
    maps: set[str] = field(default_factory=set)

    def add(self, stack: tuple[str, ...], count: int) -> None:
        """Count a stack, the middle of a very deep one left out; raises CollectError where there
        are too many different ones.
        """
        if len(stack) > MOST_FRAMES:
            stack = (*stack[: MOST_FRAMES // 2], LEFT_OUT_FRAMES, *stack[-MOST_FRAMES // 2 :])
        if stack not in self.stacks and len(self.stacks) >= MOST_STACKS:
            raise CollectError(
                f"samples: over {MOST_STACKS:,} different stacks: lower rate, or give the program"
                " less to do"
            )
        self.stacks[stack] = self.stacks.get(stack, 0) + count

    @property
    def total(self) -> int:
        """All samples that were written down."""
        return sum(self.stacks.values())


class Sampler(Protocol):
    """What every engine offers."""

    @property
    def engine(self) -> str:
        """The tool and the way it unwinds, such as ``perf-dwarf/1``."""
        ...

    @property
    def rate(self) -> int:
        """Samples per second of one running thread."""
        ...

    def missing(self) -> str | None:
        """Why it cannot run here, with the cure; None when it can."""
        ...

    def command(self, scratch: Path) -> Sequence[str]:
        """The tool's command; ``{pid}``, ``{control}`` and ``{ack}`` stand for what ``attach``
        knows.
        """
        ...

    def read(self, run: Run, scratch: Path, messages: str) -> Folded:
        """The samples in ``scratch``; ``messages`` are the tool's messages.

        No samples if the program was too short; raises CollectError.
        """
        ...


def last(messages: str) -> str:
    """The end of a tool's messages, on one line."""
    return printable(" ".join(messages.split())[-200:]) or "it said nothing"


def record(run: Run, sampler: Sampler) -> tuple[Execution, Folded]:
    """Execute once; raises CollectError where the program fails, or the sampler does."""
    if reason := sampler.missing() or _setuid(run):
        raise CollectError(reason, lasting=True)
    report, log = run.scratch / "attach.txt", run.scratch / "sampler.log"
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    command = list(sampler.command(run.scratch))
    argv = [
        sys.executable,
        "-I",
        "-S",
        attach.__file__,
        str(report),
        str(log),
        cpus,
        str(len(command)),
        *command,
        *run.argv,
    ]
    try:
        check_start(run.argv, run.cwd)
        options = LaunchOptions(cpus=run.cpus, aslr=run.aslr, grace=END_SECONDS)
        execution = launched(run, argv, options=options)
        word = _refused(report)
        if SAFE_NUMBER.fullmatch(word):
            raise not_started(run.argv, int(word))
    except LaunchError as error:
        raise CollectError(str(error), lasting=error.lasting) from None
    messages = _said(log)
    if word:
        raise CollectError(
            f"{name_command(run.argv)}: {' '.join(command[:2])} did not start: {last(messages)}"
        )
    if reason := failure(run.argv, execution, run.timeout):
        raise CollectError(reason, lasting=execution.timed_out)
    return execution, sampler.read(run, run.scratch, messages)


def _setuid(run: Run) -> str | None:
    """The kernel lets nobody look into a program that runs with another's rights."""
    try:
        status = Path(run.argv[0]).stat()
    except OSError:
        return None  # said when it is started
    if not status.st_mode & 0o4000 or os.geteuid() in (0, status.st_uid):
        return None
    return (
        f"{name_command(run.argv)} is setuid, so that only root may sample it: run perf as root, or"
        " take a copy"
    )


def _refused(report: Path) -> str:
    """Why nothing was started: the system's error number, or words; empty where it was.

    The program may have written there, too.
    """
    return read_at_most(report, LOG).decode(errors="replace") if report.exists() else ""


def _said(log: Path) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG))
        return file.read().decode(errors="replace")
