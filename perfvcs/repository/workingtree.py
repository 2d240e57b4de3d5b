"""The working tree: what is on disk beside ``HEAD``, as far as profiles depend on it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.git.changes import WorkingChanges
from perfvcs.index.snapshot import FormerNames
from perfvcs.profile.rules import LARGEST_RULES, RULES_FILE
from perfvcs.repository.leftovers import Artefacts
from perfvcs.system.foreign import content

if TYPE_CHECKING:
    from perfvcs.git.project import Project


class WorkingTree:
    """The working tree of a project whose ``.perf`` folder is ``home``; a bare repository has none,
    and nothing in it.
    """

    def __init__(self, project: Project, home: Path) -> None:
        self._project, self._home = project, home

    @cached_property
    def former(self) -> FormerNames:
        """The names of perf.toml's jobs by those that they had before; none where there is no such
        file. Raises BadConfig.
        """
        if self._project.bare or not self._configures(b"formerly"):
            return FormerNames()
        from perfvcs.jobs import former_names
        from perfvcs.jobs.config import load

        return FormerNames(former_names(load(self._project.root / RULES_FILE)))

    @property
    def changes(self) -> WorkingChanges:
        """What differs from HEAD, without artefacts and what [dirty] of perf.toml leaves out as it
        is now.
        """
        if self._project.bare:
            return WorkingChanges(self._project)
        artefacts = Artefacts(self._home).of(self._project.head)
        return WorkingChanges(self._project, self._ignored(), artefacts)

    def hash(self) -> str | None:
        """The hash of the changes; None where there are none."""
        return self.changes.hash()

    def _ignored(self) -> tuple[str, ...]:
        if not self._configures(b"dirty"):
            return ()
        from perfvcs.jobs.config import BadConfig, load

        try:
            return load(self._project.root / RULES_FILE).dirty.ignore
        except BadConfig:  # whoever reads it for its jobs reports it
            return ()

    def _configures(self, word: bytes) -> bool:
        """Whether perf.toml has a word; where it cannot be read, whoever needs it says so."""
        try:
            return word in content(self._project.root / RULES_FILE, LARGEST_RULES)
        except OSError:
            return False
