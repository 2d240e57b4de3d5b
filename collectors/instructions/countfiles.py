"""The files that valgrind writes in an execution: one of each process, and in a program of which
only a unit counts, one of each run of the unit.

``switch.c`` has callgrind write the latter, and name them: ``run N`` is what the run of that number
took in its process, ``inside N`` the first file of a process that was made meanwhile.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfvcs.collectors._shared.oneunit import UnitRun
from perfvcs.collectors.instructions import callgrind
from perfvcs.collectors.instructions.callgrind import TruncatedCounts
from perfvcs.collectors.instructions.counts import Counts, combine
from perfvcs.collectors.instructions.functions import Resolve
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError

MAX_FILES = 10_000
HEAD_BYTES = 1 << 18  # bytes of a file in which it names its command, and why it was written
_COMMAND = re.compile(rb"^cmd: ?(.*)$", re.MULTILINE)
_NAMED = re.compile(
    rb"^desc: Trigger: Client Request: perfvcs (run|inside) ([0-9]{1,9})$", re.MULTILINE
)
_NOTHING = re.compile(rb"^totals: 0$", re.MULTILINE)


@dataclass(frozen=True)
class CountFile:
    """A file of the process ``pid``, which runs ``command``; ``run`` is the number of the unit's
    run where ``switch.c`` had it written, as ``kind`` says: ``run`` or ``inside``.
    """

    path: Path
    pid: str
    command: bytes
    kind: str = ""
    run: int = 0

    @classmethod
    def of(cls, path: Path) -> CountFile:
        """What the file's name and its head say."""
        with path.open("rb") as opened:
            head = opened.read(HEAD_BYTES)
        command, named = _COMMAND.search(head), _NAMED.search(head)
        about = (named[1].decode(), int(named[2])) if named else ("", 0)
        return cls(path, path.name.split(".")[1], command[1] if command else b"", *about)

    @property
    def empty(self) -> bool:
        """Whether nothing was counted."""
        with self.path.open("rb") as opened:
            opened.seek(max(0, self.path.stat().st_size - 100))
            return _NOTHING.search(opened.read()) is not None


@dataclass(frozen=True)
class CountedProgram:
    """How the command was executed: ``pid`` of its first process (None: not known), and what was
    preloaded so that forked ones begin at zero (None: nothing).
    """

    argv: Sequence[str]
    pid: int | None = None
    zero: Path | None = None


def read(
    folder: Path,
    program: CountedProgram,
    resolve: Resolve | None = None,
    unit: UnitRun | None = None,
) -> Counts:
    """The counts of all processes in ``folder``, or those of one run of the unit.

    Raises CollectError, and Undivided where nothing was counted of the unit.
    """
    command = name_command(program.argv)
    paths = sorted(folder.glob("counts.*"))
    if not paths:
        raise CollectError(
            f"{command}: valgrind counted nothing: does the program end without its own exit?"
        )
    if len(paths) > MAX_FILES:
        raise CollectError(f"{command} started over {MAX_FILES:,} processes: give it less to do")
    files, runs = [CountFile.of(path) for path in paths], 1
    if unit is not None:
        files, runs = _of_unit(files, unit)
    parts, killed = _complete(files, program, resolve)
    counts = combine(parts)
    if killed:
        counts.warnings.append(
            f"{killed} of the processes of {command} {'was' if killed == 1 else 'were'} killed, and"
            " counted nothing: let them end by themselves"
        )
    if unit is None and _forked(files, parts, program.zero):
        counts.warnings.append(
            f"{command} forks: what a process executed before a fork may be counted in both"
            " processes"
        )
    return counts.divided(runs)


def _of_unit(files: Iterable[CountFile], unit: UnitRun) -> tuple[list[CountFile], int]:
    """The files of the unit's chosen runs and of the processes that they made, and how many runs
    that are.
    """
    files = list(files)
    chosen = unit.chosen(file.run for file in files if file.kind == "run")
    made = {file.pid for file in files if file.kind == "inside" and file.run in chosen}
    runs = [file for file in files if file.kind == "run" and file.run in chosen]
    others = [file for file in files if not file.kind and file.pid in made and not file.empty]
    return runs + others, len(runs)


def _complete(
    files: Sequence[CountFile], program: CountedProgram, resolve: Resolve | None
) -> tuple[list[Counts], int]:
    """The counts of each file, and how many processes left none since they were killed."""
    parts, killed = [], 0
    for file in files:
        try:
            parts.append(callgrind.read(file.path, resolve))
        except TruncatedCounts:
            if len(files) == 1 or file.pid == str(program.pid):
                raise
            killed += 1
    return parts, killed


def _forked(files: Sequence[CountFile], parts: Sequence[Counts], zero: Path | None) -> bool:
    """Whether processes were forked, and not all of them began at zero."""
    commands = Counter(file.command for file in files)
    return max(commands.values()) > 1 and not all(
        zero is not None and _has(part, zero) for part in parts
    )


def _has(part: Counts, zero: Path) -> bool:
    return any(context.image == str(zero.resolve()) for context in part.contexts)
