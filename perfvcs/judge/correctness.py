"""The commands that a change has to pass before it is worth measuring, and the hidden files that
they read.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.errors import system_reason
from perfvcs.jobs.benchmark_files import of_jobs
from perfvcs.jobs.configchanges import tables
from perfvcs.jobs.configchanges import texts as listed_texts
from perfvcs.jobs.spoken import Spoken, committed
from perfvcs.jobs.spoken import named as named_by
from perfvcs.judge.attempt import SHORTEST, Sandbox, without_own
from perfvcs.judge.guardcheck import PASSED, GuardCheck, Rejected
from perfvcs.judge.plain import BASE
from perfvcs.launcher import LaunchOptions, launch
from perfvcs.launcher.execution import Execution, LaunchError
from perfvcs.measure.executor import SHORTEST_TIMEOUT
from perfvcs.plugins.collector import CollectError
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from perfvcs.git.project import Project
    from perfvcs.judge.candidate import Candidate
    from perfvcs.measure.sites import Sites


class HiddenFiles:
    """Files that are laid over both sides, each at its place in the project, whose top is ``root``,
    or at the top by its name.

    That a file is read is seen by the time of its last access, which file systems note unless they
    are mounted otherwise: it is set back before an execution, and looked at afterwards.
    """

    def __init__(self, root: Path, files: Sequence[Path]) -> None:
        self._sources = {
            str(file.relative_to(root)) if file.is_relative_to(root) else file.name: file
            for file in files
        }
        self._is_noted = True  # by the file systems of all copies
        self._read: defaultdict[int, set[str]] = defaultdict(set)  # by version
        self._seen: set[int] = set()  # the versions of which an execution was watched

    def lay(self, folder: Path) -> None:
        """Lay the files over what was built, which has not seen them; never where a link leads.
        Raises CollectError.
        """
        for place, file in self._sources.items():
            target = folder / place
            if not target.parent.resolve().is_relative_to(folder.resolve()):
                raise CollectError(f"--hidden {file}: {target.parent} leads out of the checkout")
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                shutil.copy2(file, target)
                _set_back(target)
                target.read_bytes()
                self._is_noted = self._is_noted and not _is_set_back(target)
            except OSError as error:
                raise CollectError(f"--hidden {file}: {system_reason(error)}") from None

    def begin(self, position: int, folder: Path) -> None:
        """An execution of a version begins in its copy."""
        for place in self._unread(position):
            for file in _standing_for(folder / place):
                with suppress(OSError):  # it is gone, which `end` sees
                    _set_back(file)

    def end(self, position: int, folder: Path) -> None:
        """It ended. A file that is gone then was noticed, too."""
        self._seen.add(position)
        for place in self._unread(position):
            target = folder / place
            if not target.exists() or not all(map(_is_set_back, _standing_for(target))):
                self._read[position].add(place)

    def _unread(self, position: int) -> list[str]:
        return [place for place in self._sources if place not in self._read[position]]

    def check(self, project: Project, candidate: Candidate, position: int) -> GuardCheck:
        """Whether the executions of a candidate, the version at a position, read the files. Where
        that is not seen, it says most whether a job names them.
        """
        if not self._is_noted or not {BASE, position} <= self._seen:
            return _unseen(_unnamed(project, candidate, [*self._sources]))
        unread = self._unread(position)
        by_base = [place for place in unread if place in self._read[BASE]]
        if by_base:
            return GuardCheck(
                "doubted",
                f"no execution of the target reads {_laid(by_base)}, and those of the base do",
            )
        if unread:
            said = f"no execution reads {_laid(unread)}: a job has to read it there"
            return GuardCheck("warning", said)
        return PASSED

    def __bool__(self) -> bool:
        return bool(self._sources)


def _unnamed(project: Project, candidate: Candidate, places: Sequence[str]) -> list[str]:
    """Those of some paths that no job names, by its command or by what that runs."""
    table = candidate.table
    known = committed(project, candidate.base)
    spoken = Spoken.of(project, candidate.base, known, table)
    named = named_by(of_jobs(table))
    for job in tables(table, "job"):
        named |= {*listed_texts(job.get("workloads"))}
    return [place for place in places if place not in named and not spoken.names(place)]


def _unseen(unnamed: Sequence[str]) -> GuardCheck:
    """The check where nobody saw what is read."""
    unknown = "whether an execution reads what --hidden laid over both sides was not seen"
    if unnamed:
        return GuardCheck("warning", f"{unknown}, and no job names {listed(list(unnamed))}")
    return GuardCheck("not tried", f"{unknown}, but a job names it")


def _laid(places: Sequence[str]) -> str:
    return f"{listed(list(places))}, which --hidden laid over both sides"


def _standing_for(file: Path) -> Iterator[Path]:
    """A file, and what Python has compiled of it, which it reads instead."""
    yield file
    if file.suffix == ".py":
        yield from file.parent.glob(f"__pycache__/{file.stem}.*.pyc")


def _set_back(file: Path) -> None:
    """Let the next access to a file be seen: most file systems note one after a change alone."""
    os.utime(file, ns=(0, file.stat().st_mtime_ns))


def _is_set_back(file: Path) -> bool:
    return file.stat().st_atime_ns == 0


SHELL = "/bin/sh"
TAIL = 4096  # characters of a command's output in which its reason is looked for
# bytes of it in which the tests that passed are counted: cargo says them for each crate
COUNTED = 4_000_000
SHORT = 0.1  # of what is left of the budget: a command that takes less is run on the base, too
# of it, and at most SHORTEST, is kept for the base, so that a base that fails at once is seen
KEPT = 0.4
# by pytest, cargo, jest and mocha; unittest; prove; ctest; GoogleTest; node
PASSED_TESTS = re.compile(
    r"\b(\d{1,9}) pass(?:ed|ing)\b|\bRan (\d{1,9}) tests?\b|\bTests=(\d{1,9})\b"
    r"|failed out of (\d{1,9})\b|PASSED\s{1,9}\] (\d{1,9}) tests?\b|^# pass (\d{1,9})$",
    re.MULTILINE,
)
SKIPPED = re.compile(r"\bskipped=(\d{1,9})\b")
SHOWN = 160  # characters of it


class _Outcome(NamedTuple):
    """What became of a command that had so many ``seconds``: the ``reason`` for which it failed,
    empty where it passed, and how many ``tests`` it says to have passed.
    """

    reason: str
    seconds: float
    timed_out: bool = False
    tests: int = 0

    def ended_early(self, other: _Outcome) -> bool:
        """Whether it ran out of time, and had less of it than the other one."""
        return self.timed_out and self.seconds < other.seconds


class Correctness:
    """Commands that a target has to pass until ``end`` (of the monotonic clock); of several
    ``targets``, each has its part of what is left.
    """

    def __init__(self, commands: Sequence[str], end: float, targets: int = 1) -> None:
        self.commands, self._end, self._targets = commands, end, targets
        self.check = GuardCheck("not tried", "no --correct was given, and perf.toml has no [judge]")

    def __call__(
        self, sites: Sites, position: int, sandbox: Sandbox | None, look: Callable[[int], None]
    ) -> None:
        """Run the commands on the sites of a version, and ``look`` after what ran of one; raises
        Rejected.
        """
        now = time.monotonic()
        end = now + (self._end - now) / max(1, self._targets)
        self._targets -= 1
        for command in self.commands:
            began = time.monotonic()
            if end - began < SHORTEST:
                said = f"the budget ended before `{shorten(command, 80)}` could be run"
                self.check = GuardCheck("doubted", said)
                return
            kept = min(SHORTEST, KEPT * (end - began))
            outcome = self._run(sites, position, command, sandbox, end - kept)
            look(position)
            is_short = time.monotonic() - began < SHORT * (end - began)
            if not outcome.reason and not is_short:
                continue
            before = self._run(sites, BASE, command, sandbox, end)
            look(BASE)
            if outcome.reason:
                too = "; the base fails it, too: mend the command first"
                if not before.reason or before.ended_early(outcome):
                    too = ""
                said = f"it fails `{shorten(command, 80)}`: {outcome.reason}{too}"
                raise Rejected({"correct": GuardCheck("rejected", said)})
            if not before.reason and before.tests > outcome.tests:
                tests = counted(before.tests, "test")
                said = f"`{shorten(command, 80)}` passes {outcome.tests} of the base's {tests}"
                raise Rejected({"correct": GuardCheck("rejected", said)})
        if self.commands:
            self.check = PASSED

    def _run(
        self, sites: Sites, position: int, command: str, sandbox: Sandbox | None, end: float
    ) -> _Outcome:
        """What becomes of a command on a version."""
        folder, env = sites.place(position)
        left = max(SHORTEST_TIMEOUT, end - time.monotonic())
        with tempfile.TemporaryFile() as output, _scratch(sites) as scratch:
            try:
                execution = launch(
                    [SHELL, "-c", command],
                    cwd=folder,
                    env=without_own(env) | {"TMPDIR": str(scratch)},
                    timeout=left,
                    options=LaunchOptions(
                        output=output.fileno(),
                        within=sandbox.around(scratch, scratch, folder) if sandbox else (),
                    ),
                )
            except LaunchError as error:
                return _Outcome(str(error), left)
            size = output.seek(0, os.SEEK_END)
            output.seek(max(0, size - COUNTED))
            said = output.read().decode("utf-8", "replace")
        reason = _reason(execution, said[-TAIL:], left)
        return _Outcome(reason, left, timed_out=execution.timed_out, tests=_tests(said))


@contextmanager
def _scratch(sites: Sites) -> Iterator[Path]:
    """A folder for temporary files."""
    place = sites.home / "tmp"
    with tempfile.TemporaryDirectory(prefix="correct-", dir=place) as folder:
        yield Path(folder)


def _tests(said: str) -> int:
    """How many tests a runner says to have passed at its end; 0 where it does not count them.

    >>> _tests("Ran 7 tests in 0.1s\\n\\nOK (skipped=2)"), _tests("== 3 passed, 1 skipped ==")
    (5, 3)
    """
    numbers = [int("".join(groups)) for groups in PASSED_TESTS.findall(said)]
    return sum(numbers) - sum(map(int, SKIPPED.findall(said)))


def _reason(execution: Execution, said: str, seconds: float) -> str:
    """Why an execution failed, with the last line that it printed; empty where it did not."""
    if execution.timed_out:
        return f"it did not end within the {seconds:.0f} s that were left of the budget"
    if not execution.status and execution.signal is None:
        return ""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = shorten(lines[-1], SHOWN) if lines else "it printed nothing"
    how = f"signal {execution.signal}" if execution.signal else f"status {execution.status}"
    return f"{how}: {last}"
