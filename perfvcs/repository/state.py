"""State: a commit, a commit with the uncommitted changes of the working tree, or a product that was
measured instead of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from perfvcs.git.changes import WorkingChanges, committed
from perfvcs.git.project import Project, UnknownRevision
from perfvcs.index import Index
from perfvcs.index.snapshot import FormerNames
from perfvcs.profile.rules import LARGEST_RULES, RULES_FILE
from perfvcs.profile.summary import Measured
from perfvcs.repository.leftovers import Artefacts
from perfvcs.system.foreign import content


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


class State(Struct, frozen=True, eq=False):
    """What a verdict is about: a commit, or a commit with uncommitted changes (their hash) on top.

    ``below`` is the parent of a commit whose changes were measured before they were committed: its
    profiles are filed there. ``product`` is the name of what was measured instead of the commit;
    ``dirty`` is its hash then.
    """

    commit: str
    dirty: str | None = None
    below: str | None = None
    product: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self._key == other._key

    def __ne__(self, other: object) -> bool:  # a struct has one of its own
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, str | None, str | None]:
        return self.commit, self.dirty, self.below

    @property
    def name(self) -> str:
        """For people: the product, or the short commit id, with a + for changes on top."""
        return self.product or self.commit[:10] + ("+" if self.dirty and not self.below else "")

    @property
    def collecting(self) -> str:
        """The command that measures it."""
        if self.product:
            return f"perf collect --against {self.product}=..."
        return "perf collect" if self.name.endswith("+") else f"perf collect {self.name}"

    @property
    def key(self) -> str:
        """What names it and nothing else: the commit, and the hash of the changes on top."""
        return self.commit + (f"+{self.dirty}" if self.dirty else "")

    @property
    def verdict_key(self) -> str:
        """What a verdict on it is remembered under: the commit, or its key where no commit holds
        the changes.
        """
        return self.commit if self.below else self.key

    @property
    def filed(self) -> str:
        """The commit under which its profiles are stored."""
        return self.below or self.commit

    def has(self, measured: Measured) -> bool:
        """Whether a profile is one of its own."""
        return measured.header.commit == self.filed and measured.header.dirty == self.dirty


class States:
    """Which state a revision means, by what is measured; ``changes`` gives the hash of the
    uncommitted changes (None: there are none).
    """

    def __init__(self, project: Project, index: Index, changes: Callable[[], str | None]) -> None:
        self._project, self._index, self._changes = project, index, changes

    def of(self, revision: str) -> State:
        """What a revision stands for in a verdict.

        HEAD with changes on top stands for both when exactly these changes were measured; any
        commit that was measured only with changes on top stands for the newest of those; one that
        was measured only before it was committed, for what was measured then. The name of a product
        stands for the newest one of that name.
        """
        try:
            commit = self._project.resolve(revision)
        except UnknownRevision:
            if product := self.product(revision):
                return product
            raise
        if commit not in self._index.changed():
            before = None if self._index.counts([commit]) else self.before_committed(commit)
            return before or State(commit)
        headers = [
            header for header in self._index.headers([commit]) if header.design.product is None
        ]
        dirty = {header.dirty: header.collected.started for header in headers if header.dirty}
        if commit == self._project.head and (now := self._changes()) in dirty:
            return State(commit, now)
        if dirty and all(header.dirty for header in headers):
            return State(commit, max(dirty, key=lambda changes: dirty[changes]))
        return State(commit)

    def of_commits(self, commits: Iterable[str]) -> dict[str, State]:
        """What each of some commits stands for, by their full ids."""
        changed, head = self._index.changed(), self._project.head
        return {
            commit: self.of(commit) if commit in changed or commit == head else State(commit)
            for commit in commits
        }

    def product(self, name: str) -> State | None:
        """The product of this name that was measured last; None where none was."""
        products = [
            header for header in self._index.headers(self._index.changed()) if header.design.product
        ]
        named = [
            header
            for header in products
            if header.design.product and header.design.product.name == name
        ]
        newest = max(named, key=lambda header: header.collected.started, default=None)
        return State(newest.commit, newest.dirty, product=name) if newest else None

    def before_committed(self, commit: str) -> State | None:
        """The state whose profiles were taken of uncommitted changes on a parent, exactly those
        that this commit made.
        """
        changed = self._index.changed()
        details = self._project.describe([commit]).get(commit) if changed else None
        for parent in changed.intersection(details.parents) if details else ():
            hashes = {header.dirty for header in self._index.headers([parent]) if header.dirty}
            if (made := committed(self._project, parent, commit, hashes)) in hashes:
                return State(commit, made, parent)
        return None
