"""Which files perf.toml and the files of the build name: what is named there is read, whatever it looks like."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from perfvcs.git.bare import Bare
from perfvcs.git.project import Project
from perfvcs.jobs.config import Config
from perfvcs.locate.sources import language
from perfvcs.locate.sources.differences import Changes, FileChange
from perfvcs.locate.sources.imports import is_build
from perfvcs.profile.rules import RULES_FILE

LARGEST = 1 << 20  # bytes of a file of the build that is read
SCRIPTS = (".sh", ".bash", "package.json", "Justfile", "justfile", "Rakefile")
# files that describe a package: what they name goes into it, or onto its page
DESCRIBING = ("setup.py", "setup.cfg", "pyproject.toml", "tox.ini", "noxfile.py", "Cargo.toml")
# a word in a file of the build: a path, without what stands before and behind it
NAME = r"(?<![\w.-]){}(?![\w-])"


class NamedFiles:
    """The files that perf.toml of the working tree, or a file of the build at one of some commits (full ids), names."""

    def __init__(self, project: Project, commits: Sequence[str], config: Config | None) -> None:
        self._project, self._commits, self._config = project, commits, config

    def noted(self, changes: Changes) -> Changes:
        """The changes, in which a file that is named may be noticed by any benchmark."""
        return Changes(tuple(self._noted(file) for file in changes.files))

    def by(self, path: str) -> str:
        """The file that names another one, by its path or its last part; empty where none does."""
        found = re.compile("|".join(NAME.format(re.escape(name)) for name in (path, path.rpartition("/")[2])))
        names = (name for name, text in self._texts.items() if found.search(text) and name != path)
        return next(names, "")

    def _noted(self, file: FileChange) -> FileChange:
        is_read = file.document or not file.matters
        is_run = language(file.path) == "python" and bool(self._config and self._config.build)
        if file.why or not (is_read or is_run) or not (by := self.by(file.path)):
            return file
        if by == RULES_FILE and not is_read:  # a program that it starts is followed as any other source
            return file
        return replace(file, why=f"{by} names it")

    @cached_property
    def _texts(self) -> dict[str, str]:
        rules = self._project.root / RULES_FILE
        found = {RULES_FILE: rules.read_text(errors="replace")} if rules.is_file() else {}
        wanted: dict[str, list[str]] = defaultdict(list)  # names by blob
        for commit in dict.fromkeys(self._commits):
            for line in self._project.git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0"):
                about, _, path = line.partition("\t")
                if about.startswith("100") and _is_of_build(path):
                    wanted[about.rpartition(" ")[2]].append(path)
        contents = Bare(self._project.common_dir).objects(wanted, LARGEST)
        for names, content in zip(wanted.values(), contents, strict=True):
            if isinstance(content, bytes):
                for name in dict.fromkeys(names):
                    found[name] = found.get(name, "") + content.decode(errors="replace")
        return found


def _is_of_build(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name not in DESCRIBING and (is_build(path) or name.endswith(SCRIPTS))
