"""The impact of a change: changed names are followed from where they are bound to where they are
mentioned.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from perfvcs.locate.select.changereach import ChangeReach, data_readers, lookups, text_readers
from perfvcs.locate.select.reached import outer
from perfvcs.locate.sources import language
from perfvcs.locate.sources.differences import Changes, FileChange
from perfvcs.locate.sources.imports import BY_FILE
from perfvcs.locate.sources.outline import last_name
from perfvcs.locate.sources.parts import (
    COMPUTED,
    GLOBAL,
    KEPT,
    LISTING,
    MACRO,
    OBJECT,
    Parts,
    Statement,
)
from perfvcs.locate.sources.pyparts import CALLED_BY_NAME
from perfvcs.locate.sources.uses import Sources

MOST_NAMES = 3000  # that follow from one change; beyond, all that loads the files counts as changed
# files of tests
TEST = re.compile(r"(?:^|/)(?:unit-?)?tests?/|(?:^|/)test[-_]|[-_](?:unit)?tests?\.", re.IGNORECASE)
CONFIGURES = "conftest.py"  # whose functions pytest calls by their names


class Binding(NamedTuple):
    """A name that may mean something else: of a class or of C (``anywhere``), of a module, or only
    in its own file (``imports``).

    ``running``: what it names is the same, but gave something else when modules were loaded.
    """

    path: str
    name: str
    anywhere: bool = False
    imports: bool = False
    running: bool = False


def impact(
    changes: Changes,
    sources: Sources,
    outside: frozenset[str] = frozenset(),
    noticed: Callable[[str], str] = lambda _: "",
) -> ChangeReach:
    """What a change can reach in the newer state's ``sources``.

    ``outside`` are the functions that ran while modules were loaded; ``noticed`` says why any
    benchmark may notice a file, whatever changed in it, and is empty of others.
    """
    reach = ChangeReach()
    for file in changes.files:
        why = noticed(file.path) or file.why
        if why == BY_FILE:
            reach.unread.append(file.path)
        elif why:
            reach.everything[file.path] = why
    if not reach.everything:
        _Closure(changes, sources, outside, reach).run()
    return reach


class _Closure:
    """Follows changed names from where they are bound to where they are mentioned."""

    def __init__(
        self,
        changes: Changes,
        sources: Sources,
        outside: frozenset[str],
        reach: ChangeReach,
        *,
        owners: bool = False,
    ) -> None:
        self.changes, self.sources, self.found, self.owners = changes, sources, reach, owners
        self.outside: dict[str, set[str]] = defaultdict(set)
        for function in outside:
            path, _, name = function.rpartition(":")
            self.outside[path].add(outer(name))
        self.seen: set[Binding] = set()
        self.waiting: list[tuple[Binding, str]] = []
        self.of_owners: list[tuple[Binding, str]] = []
        self.looked_up = {COMPUTED}

    def run(self) -> None:
        for file in self.changes.files:
            self._begin(file)
        programs = [
            file for file in self.changes.files if language(file.path) or file.why == BY_FILE
        ]
        if any(file.added or file.removed for file in programs):
            for path in self.sources.naming((LISTING,)):
                self._read_by(path, (LISTING,), "files came or went")
        for path, name, reason in data_readers(self.sources, self.changes):
            self._read_by(path, (name,), reason)
        self.found.told = text_readers(self.sources, self.changes)
        self._follow()
        if self.of_owners:
            again = _Closure(Changes(()), self.sources, frozenset(), ChangeReach(), owners=True)
            again.waiting = self.of_owners
            again._follow()
            self.found.computed = again.found
            self.found.computing = frozenset(lookups(self.sources, self.looked_up))

    def _begin(self, file: FileChange) -> None:
        """Begins with what changed itself."""
        path = file.path
        if (file.added or file.removed) and path.rpartition("/")[2] == CONFIGURES:
            self.found.everything[path] = "pytest loads it by itself"
        if (
            (file.added or file.removed)
            and language(path) == "python"
            and self.sources.shadows(path)
        ):
            self.found.everything[path] = "Python's own library has a module of that name"
        for name in file.functions:
            if language(path) == "c" and (macro := self.macros.get(last_name(name))):
                self._loaded_by_all(
                    path, f"{last_name(name)} changed, which is a macro, too, in {macro}"
                )
            self.found.functions[f"{path}:{name}"] = f"{name} changed"
            if name in self.outside.get(path, ()):
                self._ran_while_loading(
                    path, name, f"{name}, which runs while {path} is loaded, changed"
                )
        self._moved(file)
        for statement in file.statements:
            if statement.starts and self._may_start(path, statement):
                self.found.everything[path] = f"what changed there is {statement.starts}"
            if statement.main:
                self.found.programs[path] = f"what {path} does as a program changed"
                continue
            if not (statement.function and language(path) == "c"):  # which runs only by its name
                self.found.loaded[path] = f"{path} changed outside of functions"
            self._changed(path, statement, "")

    def _may_start(self, path: str, statement: Statement) -> bool:
        """Whether a definition may run without being named: objects, what macros define of tests,
        and what is kept for assembly, not everywhere.
        """
        if statement.starts == KEPT:
            return self.sources.has_assembly
        if statement.starts == OBJECT:
            return not path.endswith(".c") and (not path.endswith(".h") or self._is_cpp)
        return not (statement.unclear and TEST.search(path) and statement.starts == MACRO)

    @cached_property
    def _is_cpp(self) -> bool:
        return any(
            language(path) == "c" and not path.endswith((".c", ".h")) for path in self.sources.blobs
        )

    @cached_property
    def macros(self) -> dict[str, str]:
        """The files that define macros of the names of changed functions."""
        names = {
            last_name(name)
            for file in self.changes.files
            if language(file.path) == "c"
            for name in file.functions
        }
        if not names:
            return {}
        parts_by_path = self.sources.all_parts(
            path for path in self.sources.naming(names) if language(path) == "c"
        )
        return {
            name: path
            for path, parts in parts_by_path.items()
            if parts
            for name in names.intersection(parts.provides)
        }

    def _ran_while_loading(self, path: str, name: str, reason: str) -> None:
        """Takes what a function gave while modules were loaded as changed."""
        last = name.rpartition(".")[2]
        if (
            path.rpartition("/")[2] == CONFIGURES
            or last.startswith("pytest_")
            or last in CALLED_BY_NAME
        ):
            self.found.loading.setdefault(path, reason)
        for part in name.split("."):
            self._add(Binding(path, part, anywhere="." in name, running=True), reason)

    def _changed(self, path: str, statement: Statement, because: str) -> None:
        """Takes a statement outside of functions as changed."""
        if statement.main:
            return
        if statement.unclear:
            self._loaded_by_all(
                path,
                f"what {next(iter(statement.binds), 'a head')} defines there is not certain, and it"
                " changed",
            )
        if statement.effect:
            self._loaded_by_all(path, because or f"{path} does something else when it is loaded")
        if statement.function:
            name = statement.function.rpartition(".")[2]
            self.found.functions.setdefault(
                f"{path}:{statement.function}", because or f"the definition of {name} changed"
            )
        holder = statement.scope.rpartition(".")[2]
        if (
            language(path) == "python"
            and not statement.imports
            and holder not in statement.binds[1:]
        ):
            # whoever looks these names up, or calls them, finds them only where there is the class
            # or the module
            owner = holder or _module(path)
            self.of_owners.append(
                (
                    Binding(path, owner),
                    because or f"{next(iter(statement.binds), owner)} of {owner} changed",
                )
            )
            if holder:
                self.looked_up.update(statement.binds)
                return
        # where a class may be another one, whoever has one of its objects names the class
        for name in (holder,) if holder else statement.binds:
            reason = because or f"{name} of {path} changed"
            self._add(Binding(path, name, language(path) != "python", statement.imports), reason)
            if not statement.imports and not statement.function:
                whole = statement.scope or name
                self.found.classes.setdefault(
                    f"{path}:{whole}{'::' if language(path) == 'c' else '.'}", reason
                )

    def _loaded_by_all(self, path: str, reason: str) -> None:
        """Takes what loading a file does as changed for whoever loads it; a new file is known by
        those who load it.
        """
        for place in (path, *self.sources.used_by.get(path, ())):
            self.found.loading.setdefault(place, reason)

    def _add(self, binding: Binding, reason: str) -> None:
        if binding not in self.seen:
            self.seen.add(binding)
            self.waiting.append((binding, reason))

    def _follow(self) -> None:
        while self.waiting:
            if len(self.seen) > MOST_NAMES:
                self.found.everything["the project"] = (
                    f"over {MOST_NAMES:,} names follow from the change"
                )
                return
            binding, reason = self.waiting.pop()
            for path in self._seeing(binding):
                parts = self.sources.parts(path)
                if parts is not None:
                    self._mentions(path, parts, binding, reason)

    def _seeing(self, binding: Binding) -> list[str]:
        """The files in which a name can mean what was bound."""
        names = (binding.name,)
        if binding.anywhere:
            return self.sources.naming(names)
        users = (
            self.sources.used_by.get(binding.path, set()) | {binding.path}
            if binding.imports
            else self.sources.users(binding.path)
        )
        paths = self.sources.naming(names, [path for path in users if path in self.sources.blobs])
        if binding.path in paths or binding.path not in self.sources.blobs:
            return paths
        return [*paths, binding.path]

    def _mentions(self, path: str, parts: Parts, binding: Binding, reason: str) -> None:
        name, here = binding.name, path == binding.path
        if binding.imports and not here:
            # only by `from file import name` it is another file's, too
            for statement in parts.statements:
                if statement.imports and name in statement.mentions:
                    for bound in statement.binds:
                        self._add(Binding(path, bound, imports=True), reason)
            return
        computed = here and not binding.anywhere and not binding.imports and not self.owners
        for function, body in parts.functions.items():
            mentioned = name in body.mentions
            if not mentioned and not (computed and GLOBAL in body.mentions):
                continue
            if binding.running:
                if function in self.outside.get(path, ()):
                    self._ran_while_loading(path, function, reason)
            else:
                use = f"{function} uses {name}" if mentioned else f"{function} looks names up"
                self.found.functions.setdefault(f"{path}:{function}", f"{use}, and {reason}")
        for statement in parts.statements:
            if name in statement.mentions or (computed and GLOBAL in statement.mentions):
                if here and name in statement.binds and statement.imports:
                    continue
                self._changed(path, statement, reason)

    def _moved(self, file: FileChange) -> None:
        """Follows imports that changed their order: modules that do something when they are loaded
        notice it.
        """
        used = (
            path for path in self.sources.uses.get(file.path, ()) if _module(path) in file.moved
        )
        loaded = self.sources.all_parts(self.sources.needs(used)) if file.moved else {}
        for path, parts in loaded.items():
            if parts is None or any(
                statement.effect or GLOBAL in statement.mentions for statement in parts.statements
            ):
                self._loaded_by_all(
                    file.path,
                    f"{file.path} imports in another order, and {path} does something when it is"
                    " loaded",
                )
                return

    def _read_by(self, path: str, names: Iterable[str], reason: str) -> None:
        """Takes as changed what code reads by a name."""
        parts = self.sources.parts(path)
        for name, function in parts.functions.items() if parts else ():
            if not set(names).isdisjoint(function.mentions):
                self.found.functions.setdefault(f"{path}:{name}", f"{name} reads it, and {reason}")
                if name in self.outside.get(path, ()):
                    self._ran_while_loading(path, name, reason)
        for statement in parts.statements if parts else ():
            if not set(names).isdisjoint(statement.mentions):
                self.found.loaded.setdefault(path, reason)
                self._changed(path, statement, reason)


def _module(path: str) -> str:
    """The last part of a module's name."""
    return path.rpartition(".")[0].removesuffix("/__init__").rpartition("/")[2]
