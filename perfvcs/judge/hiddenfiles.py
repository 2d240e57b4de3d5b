"""The hidden files of a judgement: laid over what was built, and which executions read them."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from perfvcs.errors import system_reason
from perfvcs.jobs.benchmark_files import of_jobs
from perfvcs.jobs.configchanges import tables
from perfvcs.jobs.configchanges import texts as listed_texts
from perfvcs.jobs.spoken import Spoken, committed
from perfvcs.jobs.spoken import named as named_by
from perfvcs.judge.guardcheck import PASSED, GuardCheck
from perfvcs.judge.plain import BASE
from perfvcs.plugins.collector import CollectError
from perfvcs.text.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from perfvcs.git.project import Project
    from perfvcs.judge.candidate import Candidate


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
