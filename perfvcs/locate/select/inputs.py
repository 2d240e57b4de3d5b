"""The files that perf.toml and the build name: files that are data, whatever they are called, and
programs that make code.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import translate
from functools import cached_property
from itertools import accumulate
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from perfvcs.jobs.benchmark_files import TESTING
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import Config
from perfvcs.locate.select.reached import Reach
from perfvcs.locate.select.static import COMPILED, entries, reach
from perfvcs.locate.sources import is_compiled, is_within, language
from perfvcs.locate.sources.imports import is_about, is_build, is_document
from perfvcs.locate.sources.uses import Sources
from perfvcs.profile.rules import RULES_FILE

MOST_TEXTS = 500  # files that a build is written in
# what installs packages of Python, and what it may run where there is something to compile
_INSTALLING = re.compile(r"\b(?:pip|uv|poetry|hatch|flit|pdm)\b|\bsetup\.py\b|-m build\b")
_BY_INSTALLING = re.compile(
    r"(?:.*/)?(?:setup\.py|meson\.build|meson_options\.txt|CMakeLists\.txt|[^/]*\.cmake)"
)
# settings of builds, and of tools that no build calls
_SETTINGS = re.compile(r"(?:.*/)?(?:setup\.cfg|pyproject\.toml|tox\.ini|pytest\.ini|noxfile\.py)")
_MAKING = re.compile(r"\bg?make\b|\bninja\b|\bcmake\b|\bmeson\b|\bscons\b|\b(?:npm|yarn|pnpm)\b")
_VARIABLE = re.compile(r"\$[({]\w+[)}]|\$\w|\{\w+\}|%")  # and the stem of a pattern of make
_ASSIGNED = re.compile(r"^[^\S\n]*(?:export\s+)?[\w.]+\s*[:?+]?=", re.MULTILINE)
_WORD = re.compile(r"[^\s\"'`;|&<>()=,:@]+")
_NAME = re.compile(r"[\w.+-]+")
# commands of CMake that read none of the files in their brackets which are not compiled
_LISTED = re.compile(
    r"\b(?:(?:add_library|add_executable|target_sources|install|source_group)\s*\(|set\s*\(\s*CPACK_)"
    r"[^()]*\)",
    re.IGNORECASE,
)
# a line with one of these runs a script, whose data may be what else the line names
_SCRIPT = re.compile(
    r"(?:python|pypy)|\b(?:perl|ruby|lua|tclsh|g?awk|sed|m4|xxd|node|gperf|bison|yacc|flex|swig|cython)\b|\.(?:py|pl|rb|sh|awk)\b",
    re.IGNORECASE,
)
_PYTHON = re.compile(r"python|pypy|\.py\b|\bimport\b", re.IGNORECASE)
_FOR_PEOPLE = re.compile(
    r"\b(?:pytest|py\.test|unittest|tox|nox|coverage|flake8|pylint|ruff|black|isort|mypy|twine|sphinx[\w-]*)\b"
)
_BY_RULE = re.compile(r"\$[<^+?]|\$\(word")  # what a recipe takes from the line of its rule
# which benchmarks are to run: the `.` of `-test.bench .` is no folder
_CHOOSING = re.compile(r"(?<!\S)--?(?:test\.)?(?:bench|run|skip|\w*filter)[= ]\S+")


class Words(NamedTuple):
    """What a text may name: ``names`` of files, ``paths``, and a ``pattern`` of these."""

    text: str
    names: frozenset[str]
    paths: frozenset[str]
    pattern: re.Pattern[str] | None

    @classmethod
    def of(cls, text: str) -> Words:
        """Read a text; what a variable stands for may be anything."""
        plain = _VARIABLE.sub("*", _ASSIGNED.sub("", text))
        words = {os.path.normpath(word) for word in _WORD.findall(plain)}
        patterns = sorted(
            word for word in words if re.search(r"[*?\[]", word) and re.search(r"\w", word)
        )
        pattern = (
            re.compile(f"(?:.*/)?(?:{'|'.join(map(translate, patterns))})", re.DOTALL)
            if patterns
            else None
        )
        names = set(_NAME.findall(plain))
        ended = (name.rstrip(".") for name in names)
        return cls(text, frozenset(names.union(ended)), frozenset(words), pattern)

    def has_file(self, path: str) -> bool:
        """Whether a file may be meant by its name, wherever it is, or by a pattern."""
        name = path.rpartition("/")[2]
        if name in self.names or (not _NAME.fullmatch(name) and name in self.text):
            return True
        return self.pattern is not None and self.pattern.match(path) is not None

    def has_folder(self, path: str) -> bool:
        """Whether a folder around a file is named."""
        return not self.paths.isdisjoint(accumulate(path.split("/")[:-1], "{}/{}".format))

    def has_module(self, path: str) -> bool:
        """Whether a Python file may be meant by its name, or by that of its module."""
        name = PurePosixPath(path)
        return (
            self.has_file(path)
            or name.stem in self.names
            or ".".join(name.with_suffix("").parts) in self.names
        )


class Inputs:
    """What a configuration, and the build of one state of the project, name."""

    def __init__(self, config: Config, sources: Sources) -> None:
        self.config, self.sources = config, sources

    def reason(self, path: str) -> str:
        """Why any benchmark may notice a change of a file, whatever it changes; empty where the
        analysis decides.
        """
        if is_within(path, self.config.overlay):
            return "it belongs to the benchmarks themselves, so that new series begin"
        kind = language(path)
        if kind and not is_document(path):
            scripts = self._given_to_scripts if kind in COMPILED else {}
            return next(
                (
                    f"{where} gives it to a script"
                    for where, words in scripts.items()
                    if words.has_file(path)
                ),
                "",
            )
        builds = bool(self.config.build or self.config.python)
        if builds and is_compiled(path) and not is_document(path):
            return "the build may compile it"
        for where, words in (self._reading if is_document(path) else self._texts).items():
            describes = where.endswith("setup.py") and is_about(path)
            inside = not is_build(where) and words.has_folder(path)
            if not describes and where != path and (inside or words.has_file(path)):
                return f"{where} names it"
        return ""

    def given(self, cell: Cell, paths: Iterable[str]) -> str:
        """The first of some files that a job's command is given as data, also by a folder around
        it; empty without any.
        """
        command = " ".join(filter(None, (cell.cmd, cell.args)))
        return self._given(command, cell.workload.name if cell.workload else "", paths)

    def names(self, path: str) -> bool:
        """Whether anything names a file as data."""
        return bool(self.reason(path)) or any(
            self._given(*words, [path]) for words in self._commands
        )

    @cached_property
    def makers(self) -> Mapping[str, Reach]:
        """What the project's own programs can run that the build runs, by their paths."""
        every = [path for path in self.sources.blobs if language(path) == "python"]
        reaches = {}
        for path in self._python_makers:
            reached = reach(self.sources, "", f"python {shlex.quote(path)}")
            # of others, whose names are not followed
            if not isinstance(reached, str) and reached.processes:
                functions = frozenset(
                    f"{source}:{name}" for source in every for name in self._functions(source)
                )
                reached = replace(reached, functions=reached.functions | functions, processes=False)
            reaches[path] = reached
        reaches |= {
            path: reach(self.sources, "", f"./{PurePosixPath(path).stem}")
            for path in self._compiled_makers
        }
        return {path: reached for path, reached in reaches.items() if not isinstance(reached, str)}

    def _functions(self, path: str) -> Iterable[str]:
        parts = self.sources.parts(path)
        return parts.functions if parts else ()

    @cached_property
    def _commands(self) -> list[tuple[str, str]]:
        """The commands of the jobs, each with the texts of its workloads."""
        pairs = []
        for job in self.config.job:
            commands = [job.cmd] if isinstance(job.cmd, str) else job.cmd
            workloads = "\n".join(_strings(job.workloads))
            pairs += [(f"{command} {args}", workloads) for command in commands for args in job.args]
        return pairs

    def _given(self, command: str, more: str, paths: Iterable[str]) -> str:
        words = Words.of(f"{_CHOOSING.sub('', command)}\n{more}")
        tests = re.search(TESTING, command) is not None
        for path in paths:
            is_program = path in self._programs(command) or (tests and language(path) == "python")
            inside = words.has_folder(path) or ("." in words.paths and not tests)
            if not is_program and (inside or words.has_file(path)):
                return path
        return ""

    def _programs(self, command: str) -> list[str]:
        """The Python files that a command runs."""
        try:
            words = shlex.split(command)
        except ValueError:  # of a shell
            return []
        return entries(self.sources, words) if words else []

    # -- how the project is built ------------------------------------------------------------------

    @cached_property
    def _own(self) -> Words:
        """What perf.toml says of builds, interpreters and variables."""
        config = self.config
        python = (config.python.install, config.python.requires) if config.python else ()
        return Words.of(
            "\n".join(_strings((config.build, config.env, python, [job.env for job in config.job])))
        )

    @cached_property
    def _texts(self) -> dict[str, Words]:
        """What a build or a command is written in, by file: perf.toml, and all that is named from
        there on.
        """
        commands = Words.of("\n".join(f"{command}\n{more}" for command, more in self._commands))
        makefiles = self._tools(anyway=True) if _MAKING.search(commands.text) else ()
        return self._named([*self._scripts(commands), *makefiles], python=False) | self._build

    @cached_property
    def _reading(self) -> dict[str, Words]:
        """The same without what lists, packs or installs files: that makes nothing of documents."""
        return {
            where: Words.of(_LISTED.sub("", words.text)) for where, words in self._texts.items()
        }

    @cached_property
    def _build(self) -> dict[str, Words]:
        """What the build is written in: perf.toml, what its tools read, and all that these name or
        run.
        """
        first = [*self._tools(), *self._scripts(self._own), *self._run(self._own)]
        return {RULES_FILE: self._own} | self._named(first, python=True)

    def _named(self, paths: Iterable[str], *, python: bool) -> dict[str, Words]:
        """Some files and those that they name; those of Python only that a build runs."""
        named: dict[str, Words] = {}
        waiting = list(paths)
        while waiting and len(named) < MOST_TEXTS:
            read = self.sources.texts(path for path in dict.fromkeys(waiting) if path not in named)
            new = {path: Words.of(text) for path, text in read.items()}
            named |= new
            waiting = [path for words in new.values() for path in self._scripts(words)]
            waiting += [
                path
                for where, words in new.items()
                if python and where not in self._python
                for path in self._run(words)
            ]
        return named

    @cached_property
    def _python(self) -> dict[str, None]:
        """The Python files but for setup.py and the like."""
        return {
            path: None
            for path in self.sources.blobs
            if language(path) == "python" and not is_build(path)
        }

    def _tools(self, *, anyway: bool = False) -> Iterator[str]:
        """The files that the tools read which the build calls; ``anyway``: also where the build
        calls none that makes the project.
        """
        build = self.config.build
        making = anyway or any(not _INSTALLING.search(line) for line in build)
        compiles = any(language(path) in COMPILED for path in self.sources.blobs)
        installing = compiles and bool(build or self.config.python)
        for path in self.sources.files:
            if is_document(path) or _SETTINGS.fullmatch(path):
                continue
            is_made = making and (is_build(path) or path.rpartition("/")[2] == "package.json")
            if is_made or (installing and _BY_INSTALLING.fullmatch(path)):
                yield path

    def _scripts(self, words: Words) -> Iterator[str]:
        """The files that a text names and that may name others."""
        for path in self.sources.files:
            if (
                not language(path)
                and not is_document(path)
                and not _SETTINGS.fullmatch(path)
                and words.has_file(path)
            ):
                yield path

    def _run(self, words: Words) -> list[str]:
        """The Python files that a text of a build may run."""
        lines = _lines(words.text, _PYTHON)
        return [path for path in self._python if lines.has_module(path)]

    @cached_property
    def _python_makers(self) -> list[str]:
        """The Python files that the build runs; a job's own program is none, unless perf.toml has
        it built with.
        """
        programs = {
            path for command, _ in self._commands for path in self._programs(command)
        }.difference(self._run(self._own))
        return [path for path in self._python if path in self._build and path not in programs]

    @cached_property
    def _compiled_makers(self) -> list[str]:
        """The sources of programs that the build compiles and runs."""
        if not self.config.build:
            return []
        run = {
            name
            for words in self._build.values()
            for name in re.findall(r"(?:\./|COMMAND\s+)([\w.-]+)", words.text)
        }
        named = [
            path
            for path in self.sources.blobs
            if language(path) in COMPILED and PurePosixPath(path).stem in run
        ]
        jobs = {
            PurePosixPath(command.split()[0]).name
            for command, _ in self._commands
            if command.split()
        }
        candidates = self.sources.all_parts(
            path for path in named if PurePosixPath(path).stem not in jobs
        )
        return [path for path, parts in candidates.items() if parts and "main" in parts.functions]

    @cached_property
    def _given_to_scripts(self) -> dict[str, Words]:
        """Of each text the lines that run scripts."""
        return {where: _lines(words.text, _SCRIPT) for where, words in self._texts.items()}


def _lines(text: str, wanted: re.Pattern[str]) -> Words:
    """The lines of a text in which something stands and that are no tests; of a makefile with what
    their rules name.
    """
    lines = []
    rule = ""
    for line in text.replace("\\\n", " ").split("\n"):
        is_recipe = line.startswith("\t")
        rule = rule if is_recipe else line
        if wanted.search(line) and not _FOR_PEOPLE.search(line):
            lines.append(f"{rule}\n{line}" if is_recipe and _BY_RULE.search(line) else line)
    return Words.of("\n".join(lines))


def _strings(value: object) -> Iterator[str]:
    """All texts in a value of perf.toml, but for the names of keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, msgspec.Struct):
        yield from _strings(msgspec.structs.asdict(value))
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, Iterable):
        for inner in value:
            yield from _strings(inner)
