"""The files that valgrind writes in an execution: one of each process, and in a program of which
only a unit counts, one of each run of the unit.

``switch.c`` has callgrind write the latter, and name them: ``run 2 7 5`` ends the second run of the
unit in its process, which the process's files 5 to 7 have; ``part 5`` is one of these; ``inside 2``
is the first file of a process that was made meanwhile, and ``made 123 6 0`` that of a process that
the process 123 forked while its file 6 was due.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfvcs.collectors._shared.testing.oneunit import UnitAmount, UnitRun
from perfvcs.collectors.instructions import callgrind
from perfvcs.collectors.instructions.callgrind import TruncatedCounts
from perfvcs.collectors.instructions.counts import Counts, Resolve, combine
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError
from perfvcs.text.words import counted

MAX_FILES = 10_000
MOST_RUNS = 100  # of a unit in one process, as in switch.c
HEAD_BYTES = 1 << 18  # bytes of a file in which it names its command, and why it was written
_COMMAND = re.compile(rb"^cmd: ?(.*)$", re.MULTILINE)
_NAMED = re.compile(
    rb"^desc: Trigger: Client Request: perfvcs (run|part|inside|made)"
    rb" (\d{1,9}) (\d{1,9}) (\d{1,9})(?: (.{1,1000}))?$",
    re.MULTILINE,
)
_AT = re.compile(rb"^desc: Trigger: --dump-(?:before|after)=(.{1,2000})$", re.MULTILINE)
_TOTAL = re.compile(rb"^totals: (\d{1,18})$", re.MULTILINE)


@dataclass(frozen=True)
class CountFile:
    """A file of the process ``pid``, which runs ``command``.

    Where ``switch.c`` had it written, ``kind`` is ``run``, ``part``, ``inside`` or ``made``,
    ``run`` the number of the unit's run (or of the parent), ``number`` that of the file, ``first``
    that of the run's first file, and ``uid`` the unit's name where each is counted. ``at`` is
    the function before or after which it was written where callgrind was asked for that.
    """

    path: Path
    pid: str
    command: bytes
    kind: str = ""
    run: int = 0
    number: int = 0
    first: int = 0
    uid: str = ""
    at: str = ""

    @classmethod
    def of(cls, path: Path) -> CountFile:
        """What the file's name and its head say."""
        with path.open("rb") as opened:
            head = opened.read(HEAD_BYTES)
        command, named = _COMMAND.search(head), _NAMED.search(head)
        file = cls(path, path.name.split(".")[1], command[1] if command else b"")
        if named is None:
            at = _AT.search(head)
            return replace(file, at=at[1].decode(errors="replace")) if at else file
        run, number, first = map(int, named.group(2, 3, 4))
        uid = (named[5] or b"").decode(errors="backslashreplace")
        return replace(file, kind=named[1].decode(), run=run, number=number, first=first, uid=uid)

    @property
    def part(self) -> int:
        """Which file of its process it is, from 1 on; 0 for the last one."""
        return int(self.path.name.split(".")[2]) if self.path.name.count(".") > 1 else 0

    @property
    def total(self) -> float | None:
        """What was counted in all; None where the file has no end."""
        with self.path.open("rb") as opened:
            opened.seek(max(0, self.path.stat().st_size - 100))
            total = _TOTAL.search(opened.read())
        return None if total is None else float(total[1])


@dataclass(frozen=True)
class CountedProgram:
    """How the command was executed: ``pid`` of its first process (None: not known), what was
    preloaded so that forked ones begin at zero (None: nothing), and how many processes were
    ``left`` running.
    """

    argv: Sequence[str]
    pid: int | None = None
    zero: Path | None = None
    left: int = 0


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
    files, runs = _files(folder, command), 1
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
    if program.left:
        left = counted(program.left, "process", "processes")
        counts.warnings.append(
            f"{command} left {left} running, which perf stopped and did not count: wait for what it"
            " starts"
        )
    if runs == MOST_RUNS:
        counts.warnings.append(
            f"{command} runs the unit more often, and its first {MOST_RUNS} runs are counted"
        )
    return counts.divided(runs)


def read_each(folder: Path, unit: UnitRun) -> list[UnitAmount]:
    """What each run of each unit took, with the processes that it made; raises CollectError."""
    files = _files(folder, name_command(unit.run.argv))
    runs = [file for file in files if file.kind == "run" and file.uid]
    runs.sort(key=lambda file: (file.pid, file.run))
    sizes, processes = unit.sizes(), defaultdict[str, set[str]](set)
    for run in runs:
        processes[run.uid].add(run.pid)
    amounts = []
    for run in runs:
        totals = [file.total or 0.0 for file in _of_runs(files, [run])]
        # the samples of several processes are in no order
        size = next(sizes[run.uid], None) if len(processes[run.uid]) == 1 else None
        amounts.append(UnitAmount(run.uid, size, sum(totals)))
    return amounts


def _files(folder: Path, command: str) -> list[CountFile]:
    """All files that valgrind wrote; raises CollectError where these are too many, or none."""
    paths = sorted(folder.glob("counts.*"))
    if not paths:
        raise CollectError(
            f"{command}: valgrind counted nothing: does the program end without its own exit?"
        )
    if len(paths) > MAX_FILES:
        raise CollectError(f"{command} started over {MAX_FILES:,} processes: give it less to do")
    return [CountFile.of(path) for path in paths]


def _of_unit(files: Sequence[CountFile], unit: UnitRun) -> tuple[list[CountFile], int]:
    """The files of the unit's chosen runs and of the processes that they made, and how many runs
    that are.
    """
    runs = [file for file in files if file.kind == "run"]
    chosen = unit.chosen(file.run for file in runs)
    runs = [file for file in runs if file.run in chosen]
    return [file for file in _of_runs(files, runs) if file.total != 0], len(runs)


def _of_runs(files: Sequence[CountFile], runs: Sequence[CountFile]) -> list[CountFile]:
    """The files of some runs and of the processes that they made."""
    chosen = {run.run for run in runs}
    ends = defaultdict(list)
    for run in runs:
        ends[run.pid].append(run)

    def within(number: int, pid: str) -> bool:
        return any(run.first <= number <= run.number for run in ends[pid])

    made = {file.pid for file in files if file.kind == "inside" and file.run in chosen}
    made |= {
        file.pid for file in files if file.kind == "made" and within(file.number, str(file.run))
    }
    return [
        file
        for file in files
        if (file.kind in ("run", "part") and within(file.number, file.pid))
        or (not file.kind and file.pid in made)
    ]


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
