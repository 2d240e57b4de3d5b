"""New files that Python would import in the place of what a benchmark imports now."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.git.blobs import CommittedFiles
from perfvcs.jobs.benchmark_files import commands, measures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from perfvcs.git.blobs import ChangedFile
    from perfvcs.git.project import Project
    from perfvcs.jobs.configchanges import Table

LARGEST = 1_000_000  # bytes of a benchmark whose imports are looked at
MODULES = (".py", ".pyc", ".so", ".pyd")
IMPORTED = re.compile(
    r"(?:^\ufeff?|;)[ \t]{0,99}(?:import[ \t]+([^\n#;]{1,500})|from[ \t]+(\w+))", re.MULTILINE
)
OUTERMOST = re.compile(r"\A\s{0,99}(\w+)")
RUN = re.compile(r"\s-[A-Za-z]{0,9}m[ \t]{0,99}(\w+)")  # a module that a command runs


class _Place(NamedTuple):
    """Where Python looks for a module: in a folder, by its name."""

    folder: str
    name: str

    @property
    def source(self) -> str:
        """The path of the module's file."""
        return f"{self.folder}{self.name}.py"


def shadows(
    project: Project, base: str, changed: Iterable[ChangedFile], settings: Table
) -> list[str]:
    """The new paths that stand before a module of a benchmark of the commit ``base``, or before one
    that a benchmark imports, or a command of the base's ``settings`` runs, from outside the
    project.

    Raises GitError for a part of a clone that is not here.
    """
    added = [file.path for file in changed if file.added and file.path.endswith(MODULES)]
    if not added:
        return []
    paths = project.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", base).split("\0")
    benchmarks = {path for path in paths if path.endswith(".py") and measures(path)}
    places = {path: [*_places(path)] for path in added if path not in benchmarks}
    before = {
        path for path, around in places.items() if any(at.source in benchmarks for at in around)
    }
    own = {name for path in paths if path.endswith(MODULES) for name in _outermost(path)}
    own -= sys.stdlib_module_names
    others = {path: around[0].name for path, around in places.items() if around[0].name not in own}
    if others:
        imported = _imported(project, base, sorted(benchmarks))
        run = {name for command in commands(settings) for name in RUN.findall(command)}
        before |= {path for path, name in others.items() if name in imported | run}
    return [path for path in added if path in before]


def _imported(project: Project, base: str, benchmarks: Sequence[str]) -> set[str]:
    """The modules that benchmarks import, by their outermost names."""
    files = CommittedFiles(project)
    files.ask([base], *benchmarks)
    there = [files.of(base, path) for path in benchmarks]
    blobs = dict.fromkeys(file.blob for file in there if file.blob and file.size <= LARGEST)
    if not blobs:
        return set()
    # the lines of all of them at once: a process for each takes seconds
    text = project.git("cat-file", "--batch", text="".join(f"{blob}\n" for blob in blobs))
    names: set[str] = set()
    for several, one in IMPORTED.findall(text):
        for module in several.split(","):
            names.update(OUTERMOST.findall(module))
        names.add(one)
    return names


def _outermost(path: str) -> Iterator[str]:
    """The names under which a module is imported, as a whole or as a part, from the top and from
    the folder ``src``.
    """
    for inside in {path, path.removeprefix("src/")}:
        yield next(_places(inside)).name


def _places(path: str) -> Iterator[_Place]:
    """The modules that a file may be, or be a part of; the outermost first."""
    parts = path.split("/")
    for depth, part in enumerate(parts):
        yield _Place("".join(f"{folder}/" for folder in parts[:depth]), part.partition(".")[0])
