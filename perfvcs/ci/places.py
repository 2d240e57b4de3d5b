"""The place in the project at which a change is shown: the blamed lines, else the benchmark's own file, else its job."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from perfvcs.ci.verdict import SourcePlace
from perfvcs.rules import RULES_FILE
from perfvcs.text.lines import source_lines

if TYPE_CHECKING:
    from perfvcs.check.change import Change
    from perfvcs.jobs.config import Config
    from perfvcs.repository import Repository
    from perfvcs.state import State

HUNKS = 10  # of a blamed function


class BenchmarkPlaces:
    """The places of one comparison's benchmarks, by its configuration and what is known of the blame."""

    def __init__(self, repository: Repository, config: Config, baseline: State, target: State) -> None:
        from perfvcs.jobs import matrix
        from perfvcs.locate.blames import of_pair

        project = repository.project
        self._commands = {cell.label: f"{cell.cmd} {cell.args}" for cell in matrix(config)}
        self._names = {cell.label: cell.name for cell in matrix(config)}
        self._files = set(project.git("ls-tree", "-r", "-z", "--name-only", target.commit).split("\0"))
        self._blamed: Mapping[str, SourcePlace] = {
            found.job: SourcePlace(hunk.path, max(1, hunk.new[0]), max(1, hunk.new[0] + hunk.new[1] - 1))
            for found in sorted(of_pair(repository, baseline.commit, target.commit), key=lambda one: one.made)
            if found.cause is not None and found.verdict in ("proved", "contributes")
            for hunk in reversed(found.cause.hunks[:HUNKS])
        }
        self._text = source_lines(project.git("show", f"{target.commit}:{RULES_FILE}")) if RULES_FILE in self._files else []

    def of(self, change: Change) -> SourcePlace:
        """The place of one change."""
        if change.job in self._blamed:
            return self._blamed[change.job]
        if (test := change.uid.partition("::")[0]) in self._files:
            return SourcePlace(test)
        for word in _words(self._commands.get(change.job, "")):
            if (path := str(PurePosixPath(word))) in self._files:
                return SourcePlace(path)
        return self._of_job(change.job)

    def _of_job(self, label: str) -> SourcePlace:
        """The line of perf.toml that names a job."""
        name = re.escape(self._names.get(label, label))
        pattern = re.compile(rf"""\s*name\s*=\s*["']{name}["']""")
        line = next((number for number, text in enumerate(self._text, 1) if pattern.match(text)), 1)
        return SourcePlace(RULES_FILE, line, line)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quotation mark alone, in what a shell is given
        return command.split()
