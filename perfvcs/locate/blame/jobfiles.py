"""The files of a project that are a job's own: what its command and the build name, and what these
name in turn, whatever the language.

A hint, by which suspects are ordered: a name in a text may mean another file.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from perfvcs.git.project import Project
from perfvcs.jobs.cell import Cell
from perfvcs.locate.sources.grammars import family
from perfvcs.locate.sources.hunks import texts
from perfvcs.locate.sources.imports import is_build, is_document

MOST_READ = 300  # files of a job that are looked into for names
OWN, SAME_LANGUAGE, OTHER = 0, 1, 2  # how near a file is to a job
# the programs of a command, or of a line of the build
PROGRAMS = {
    "javascript": "node npm npx pnpm yarn deno bun",
    "go": "go",
    "rust": "cargo rustc",
    "perl": "perl prove",
    "ruby": "ruby rake bundle",
    "lua": "lua luajit",
    "java": "java javac mvn gradle",
    "c#": "dotnet",
    "shell": "sh bash dash",
    "python": "python",
    "c": "gcc cc clang make cmake",
}
TOOLS = {tool: language for language, tools in PROGRAMS.items() for tool in tools.split()}
READ_BY = {"package.json": "javascript", "Cargo.toml": "rust", "go.mod": "go", "pom.xml": "java"}
_WORD = re.compile(r"[\w+-][\w.+-]*")


class JobFiles:
    """The files of one commit (each with the name of its content) by how near they are to a job."""

    def __init__(
        self, project: Project, files: Mapping[str, str], cell: Cell, build: Iterable[str]
    ) -> None:
        self._project, self._files = project, files
        self._by_name: defaultdict[str, list[str]] = defaultdict(list)
        self._by_stem: defaultdict[str, list[str]] = defaultdict(list)
        for path in files:
            place = PurePosixPath(path)
            self._by_name[place.name].append(path)
            self._by_stem[place.stem].append(path)
            if family(path) == "go":  # whose imports name folders
                self._by_stem[place.parent.name].append(path)
        command = " ".join(filter(None, (cell.cmd, cell.args)))
        lines = [command, *build]
        named = {path for line in lines for path in self._of_command(line)}
        self.languages = {family(path) for path in named} | _by_tools(lines)
        named |= {
            path for path, name in READ_BY.items() if name in self.languages & PROGRAMS.keys()
        }
        self.languages -= {""}
        self.own = self._reached(named & files.keys())

    def distance(self, path: str) -> int:
        """``OWN``, ``SAME_LANGUAGE`` (also what the build reads) or ``OTHER``."""
        if path in self.own:
            return OWN
        is_near = family(path) in self.languages or is_build(path)
        return SAME_LANGUAGE if is_near else OTHER

    def _of_command(self, command: str) -> Iterator[str]:
        """The files that a command names, or that are in a folder that it names."""
        try:
            words = shlex.split(command)
        except ValueError:  # of a shell
            words = command.split()
        parts = (part for word in words for part in re.split(r"[=:,;\s]+", word))
        for part in parts:
            name = os.path.normpath(part) if part else "."
            if name in self._files:
                yield name
            elif name not in (".", "..") and not name.startswith("-"):
                yield from (path for path in self._files if path.startswith(f"{name}/"))

    def _reached(self, named: Iterable[str]) -> frozenset[str]:
        """Some files, and those that they name, however far."""
        reached = set(named)
        waiting = sorted(reached)
        read = 0
        while waiting and read < MOST_READ:
            now, waiting = waiting[: MOST_READ - read], []
            read += len(now)
            contents = texts(self._project, {self._files[path] for path in now})
            for path in now:
                text = contents[self._files[path]] or ""
                new = [other for other in self._named_in(path, text) if other not in reached]
                reached.update(new)
                waiting += dict.fromkeys(new)
        return frozenset(reached)

    def _named_in(self, path: str, text: str) -> Iterator[str]:
        """The files that a text names: any by their whole names, those of its language without the
        suffix.
        """
        if is_document(path):
            return
        kind = family(path) or READ_BY.get(path.rpartition("/")[2], "")
        for word in set(_WORD.findall(text)):
            yield from self._by_name.get(word, ())
            for part in {word, *word.split(".")}:
                stems = self._by_stem.get(part, ())
                yield from (other for other in stems if kind and family(other) == kind)


def _by_tools(lines: Iterable[str]) -> set[str]:
    """The languages of the programs that some commands run."""
    words = (word for line in lines for word in re.findall(r"[\w.+/-]+", line))
    names = (re.sub(r"[\d.]+$", "", PurePosixPath(word).name) for word in words)
    return {TOOLS[name] for name in names if name in TOOLS}
