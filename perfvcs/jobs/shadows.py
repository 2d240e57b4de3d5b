"""Files that would run in the place of what a benchmark runs now: new modules that Python would
import instead, what it compiled, new files that make would take for what it has made, and those
that a benchmark reads where there are such.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from perfvcs.git.blobs import ChangedFile
from perfvcs.git.project import Project
from perfvcs.jobs.benchmark_files import commands, is_benchmark, measures
from perfvcs.jobs.commandwords import entered
from perfvcs.jobs.configchanges import Table, tables
from perfvcs.jobs.ownfiles import MAKEFILE
from perfvcs.jobs.spoken import committed, inputs, is_data, making, named, texts
from perfvcs.profile.rules import REGISTER_FILE, RULES_FILE

MODULES = (".py", ".pyc", ".so", ".pyd")
IMPORTED = r"(?m)(?:^\ufeff?|;)[ \t]{0,99}(?:import[ \t]+([^\n#;]{1,500})|from[ \t]+(\w+))"
OUTERMOST = r"\A\s{0,99}(\w+)"
COMPILED = "__pycache__"
RULE = r"(?m)^([^\s:#=][^:#=\n]{0,9999}):(?![:=])([^=#\n]{0,9999})$"
PATHS = "PYTHONPATH"  # the variable with folders in which Python looks for modules
ASSIGNED = rf"\b{PATHS}=[\"']?([^\s\"';&|]{{1,4096}})"
HERE = r"\A\$(?:PWD\b|\{PWD\})/?"
# what Python imports by itself, wherever it lies
BY_ITSELF = frozenset({"sitecustomize", "usercustomize"})
OUTSIDE = (sys.stdlib_module_names - {*sys.builtin_module_names}) | BY_ITSELF
NOT_A_FILE = ("120000", "160000")  # the modes of links and submodules, which may be packages
SCRIPT = r"[^\s'\"]{1,500}\.py\b"
RUN = r"\s-[A-Za-z]{0,9}m[ \t]{0,99}(\w+)"  # a module that a command runs


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
    """The paths that would run in the place of something: compiled modules, files that the make of
    a job would find made, modules before those of benchmarks, and what these take as input.

    Raises GitError for a part of a clone that is not here.
    """
    files = [file for file in changed if file.path not in (RULES_FILE, REGISTER_FILE)]
    before = {
        file.path
        for file in files
        if COMPILED in file.path.split("/") and not is_benchmark(file.path)
    }
    added = [file for file in files if file.added]
    if added or any(is_data(file.path) for file in files):
        paths = committed(project, base)
        new = [file.path for file in added]
        modules = [
            file.path for file in added if file.path.endswith(MODULES) or file.mode in NOT_A_FILE
        ]
        before.update(
            _made(project, base, new, paths, settings),
            inputs(project, base, files, paths, settings),
            _modules(project, base, modules, paths, settings),
        )
    return [file.path for file in files if file.path in before]


def _made(
    project: Project, base: str, added: Sequence[str], paths: Sequence[str], settings: Table
) -> list[str]:
    """The new paths that are targets of the make of a job, which has nothing to do for what is
    there: those that its command names, and those of the base's makefiles.
    """
    asked = making(settings)
    if not asked:
        return []
    targets = named(asked)
    folders: dict[str, list[str]] = {}
    for path in filter(re.compile(MAKEFILE).fullmatch, paths):
        folders.setdefault(posixpath.dirname(path), []).append(path)
    for folder, makefiles in folders.items():
        for line in re.findall(RULE, "\n".join(texts(project, base, makefiles).values())):
            names = (name for part in line for name in part.split())
            targets |= {posixpath.normpath(posixpath.join(folder, name)) for name in names}
    return [path for path in added if path in targets]


def _modules(
    project: Project, base: str, added: Sequence[str], paths: Sequence[str], settings: Table
) -> list[str]:
    """The new paths that stand before a module of a benchmark of the commit ``base``, before one of
    the standard library, or before one from outside the project that a benchmark imports, or a
    command of the base's ``settings`` runs.

    What the program imports from elsewhere it may also bring along.
    """
    benchmarks = {path for path in paths if path.endswith(".py") and measures(path)}
    new = [path for path in added if path not in benchmarks]
    before = {path for path in new if any(at.source in benchmarks for at in _places(path))}
    roots = _roots(settings)
    before |= _before_library(new, roots)
    outermost = {path: {*_outermost(path, roots)} for path in new}
    own = {name for path in paths if path.endswith(MODULES) for name in _outermost(path, roots)}
    others = {path: names - own for path, names in outermost.items() if names - own}
    if others:
        imported = _imported(project, base, sorted(benchmarks))
        run = {name for command in commands(settings) for name in re.findall(RUN, command)}
        before |= {path for path, names in others.items() if names & (imported | run)}
    return [path for path in added if path in before]


def _before_library(paths: Sequence[str], roots: Collection[str]) -> set[str]:
    """The paths that are modules, or parts of packages, which Python imports instead of those of
    its own; a folder without ``__init__`` is none of these.
    """
    packages: set[str] = set()
    modules: set[str] = set()
    for path in paths:
        for root in roots:
            name, _, rest = path.removeprefix(root).partition("/")
            if not path.startswith(root) or name.partition(".")[0] not in OUTSIDE:
                continue
            if not rest:
                modules.add(path)
            elif rest.partition(".")[0] == "__init__":
                packages.add(f"{root}{name}/")
    return modules | {path for path in paths if any(map(path.startswith, packages))}


def _roots(settings: Table) -> set[str]:
    """The folders in which Python looks for modules: the top, ``src``, those of scripts that
    commands name or that they enter, and those of PYTHONPATH.
    """
    folders = {"", "src"}
    for command in commands(settings):
        folders |= {posixpath.dirname(script) for script in re.findall(SCRIPT, command)}
        folders |= {*entered(command)}
        for value in re.findall(ASSIGNED, command):
            folders |= {*value.split(":")}
    for table in (settings, *tables(settings, "job")):
        env = table.get("env")
        paths = env.get(PATHS) if isinstance(env, Mapping) else None
        folders |= {*paths.split(":")} if isinstance(paths, str) else set()
    clean = {posixpath.normpath(re.sub(HERE, "", folder) or ".") for folder in folders}
    return {"" if folder == "." else f"{folder}/" for folder in clean}


def _imported(project: Project, base: str, benchmarks: Sequence[str]) -> set[str]:
    """The modules that benchmarks import, by their outermost names."""
    text = "\n".join(texts(project, base, benchmarks).values())
    names: set[str] = set()
    for several, one in re.findall(IMPORTED, text):
        for module in several.split(","):
            names.update(re.findall(OUTERMOST, module))
        names.add(one)
    return names


def _outermost(path: str, roots: Iterable[str]) -> Iterator[str]:
    """The names under which a module is imported, as a whole or as a part, from some folders."""
    for root in roots:
        if path.startswith(root):
            yield next(_places(path.removeprefix(root))).name


def _places(path: str) -> Iterator[_Place]:
    """The modules that a file may be, or be a part of; the outermost first."""
    parts = path.split("/")
    for depth, part in enumerate(parts):
        yield _Place("".join(f"{folder}/" for folder in parts[:depth]), part.partition(".")[0])
