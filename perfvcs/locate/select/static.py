"""What a benchmark can run by its sources alone, where nothing was recorded: names lead from its
program to all that they mean.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from perfvcs.locate.select.reached import MODULE, Reach
from perfvcs.locate.sources import language
from perfvcs.locate.sources.outline import last_name, plain
from perfvcs.locate.sources.parts import COMPUTED, GLOBAL, IMPORTING, Parts, Statement
from perfvcs.locate.sources.uses import Sources
from perfvcs.text.words import wordset

_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[\d.]*t?")
STARTING = wordset(
    "subprocess Popen fork posix_spawn multiprocessing ProcessPoolExecutor check_output"
    " system popen"
)
COMPILED = ("c", "fortran")
STARTUP = re.compile(
    r"\(below main\)|_start|_init|_fini|_dl_relocate_static_pie|frame_dummy"
    r"|(?:de)?register_tm_clones|_GLOBAL__"
    r"|__(?:do_global_|libc_|gmon_|x86\.|tls_|cxx_|cxa_|clang_|static_initialization)"
    r"|__(?:stack_chk_|gthread_|asan_|ubsan_|tsan_)"
    r"|__[a-z]+[hsdtxo][ifc]\d?$"  # of the compiler's own library
)
# as gfortran, ifx and flang write them
_OF_MODULES = re.compile(
    r"__[a-z0-9_]+MOD_([a-z0-9_]+)|(?:(?!_mp_)[a-z0-9_])+_mp_([a-z0-9_]+)_|_Q(?:M[a-z0-9_]+)?P([a-z0-9_]+)"
)


def reach(sources: Sources, commit: str, command: str, *, shell: bool = False) -> Reach | str:
    """What a command can run of the sources on a ``commit``; a reason in a few words where these do
    not tell.
    """
    words = shlex.split(command)
    if shell or not words:
        return f"what `{command[:60]}` runs cannot be seen without running it"
    if _PYTHON.fullmatch(words[0]) or words[0].removeprefix("./") in sources.blobs:
        programs = entries(sources, words)
        if not programs:
            return f"which module `{command[:60]}` runs is not known"
        return _python(sources, commit, programs)
    if "/" in words[0] and any(language(path) in COMPILED for path in sources.blobs):
        return _compiled(sources, commit, PurePosixPath(words[0]).stem)
    return f"what `{words[0][:60]}` runs cannot be seen without running it"


def entries(sources: Sources, words: list[str]) -> list[str]:
    """The Python files that a command names: a script, or the module behind ``-m``."""
    rest = words[1:] if _PYTHON.fullmatch(words[0]) else words
    for place, word in enumerate(rest):
        if word == "-c":
            return []
        if word == "-m" and place + 1 < len(rest):
            base = rest[place + 1].replace(".", "/")
            names = (
                f"{folder}{base}{end}"
                for folder in ("", "src/", "lib/")
                for end in (".py", "/__main__.py")
            )
            return [name for name in names if name in sources.blobs]
        if not word.startswith("-"):
            name = word.removeprefix("./")
            return [name] if language(name) == "python" and name in sources.blobs else []
    return []


def _python(sources: Sources, commit: str, programs: list[str]) -> Reach | str:
    paths = sources.needs(programs)
    while True:
        parts_by_path = _readable(sources, paths)
        if isinstance(parts_by_path, str):
            return parts_by_path
        names = _Names(parts_by_path)
        for path, parts in parts_by_path.items():
            names.load(parts, main=path in programs)
        names.follow()
        every = {path for path in sources.blobs if language(path) == "python"}
        if IMPORTING not in names.names or paths >= every:
            break
        paths = every  # it imports what is named only when it runs
    # names that stand nowhere may be those of any function
    if not names.names.isdisjoint((COMPUTED, GLOBAL)):
        names.take_all()
    return Reach(
        commit,
        frozenset(names.reached | {f"{path}:{MODULE}" for path in paths}),
        frozenset(),
        processes=not STARTING.isdisjoint(names.names),
        recorded=False,
    )


def _compiled(sources: Sources, commit: str, program: str) -> Reach | str:
    parts_by_path = _readable(
        sources, [path for path in sources.blobs if language(path) in COMPILED]
    )
    if isinstance(parts_by_path, str):
        return parts_by_path
    names = _Names(parts_by_path)
    mains = [
        path
        for path, parts in parts_by_path.items()
        if parts.language == "c" and "main" in parts.functions
    ]
    entry_points = [path for path in mains if PurePosixPath(path).stem == program] or mains
    if len(entry_points) == 1:
        names.enter(entry_points[0], "main")
        # which are called without their names
        names.add([name for name in names.by_name if name.startswith(("operator", "~"))])
        names.add_unclear()
        names.follow()
    # names that macros compose may be those of any function
    if len(entry_points) != 1 or COMPUTED in names.names:
        names.take_all()
    files = sources.needs(
        {function.partition(":")[0] for function in names.reached}.union(
            path for path, _ in names.unclear
        )
    )
    return Reach(
        commit, frozenset(names.reached | {f"{path}:{MODULE}" for path in files}), recorded=False
    )


def resolved(sources: Sources, record: Reach) -> Reach | str:
    """A record with the functions of the sources in place of the names in a compiled program; a
    reason where they do not tell.

    A compiler may have put functions inside of others: what a function that ran names in its own
    file or in what that includes counts, too.
    """
    if not record.symbols:
        return record
    readable = _readable(sources, [path for path in sources.blobs if language(path) in COMPILED])
    if isinstance(readable, str):
        return readable
    names = _Names(readable)
    unclear: set[str] = set()  # files where a macro may have made one of the same name
    for symbol in record.symbols:
        name = _name(symbol)
        places = names.by_name.get(name) or names.by_name.get(name.rstrip("_"))
        if (
            not places
            and not STARTUP.match(symbol)
            and "std::" not in symbol
            and "__gnu" not in symbol
        ):
            return f"{symbol} ran, and no source defines it"
        for path, function in places or ():
            names.enter(path, function)
        unclear.update(path for path, statement in names.unclear if name in statement.binds)
    names.follow_inside(sources)
    files = sources.needs({function.partition(":")[0] for function in names.reached} | unclear)
    return replace(
        record, functions=frozenset(names.reached | {f"{path}:{MODULE}" for path in files})
    )


def _name(symbol: str) -> str:
    """The name in the sources of a function that a compiled program calls so."""
    if match := _OF_MODULES.fullmatch(symbol):
        return str(match[match.lastindex or 0]).lower()
    return last_name(plain(symbol))


def _readable(sources: Sources, paths: Iterable[str]) -> dict[str, Parts] | str:
    parts_by_path: dict[str, Parts] = {}
    for path, parts in sources.all_parts(paths).items():
        if parts is None:
            return f"no parser reads {path}"
        parts_by_path[path] = parts
    return parts_by_path


class _Names:
    """Follows names: each leads to all functions and statements that it can mean, and these to the
    names in them.
    """

    def __init__(self, parts_by_path: Mapping[str, Parts]) -> None:
        self.known = parts_by_path
        self.names: set[str] = set()
        self.reached: set[str] = set()
        self._waiting: list[str] = []
        self.by_name: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._special: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._binding: dict[str, list[Statement]] = defaultdict(list)
        self.unclear = [
            (path, bound)
            for path, parts in parts_by_path.items()
            for bound in parts.statements
            if bound.unclear
        ]
        self.macros = {
            name
            for parts in parts_by_path.values()
            if parts.language == "c"
            for name in parts.provides
        }
        for path, parts in parts_by_path.items():
            separator = "::" if parts.language == "c" else "."
            called_by_others: set[str] = set()
            for bound in parts.statements:
                if bound.mentions and not bound.function:
                    called_by_others.update(bound.binds)
            for function in parts.functions:
                holder, _, name = function.rpartition(separator)
                self.by_name[name].append((path, function))
                owner = holder.rpartition(separator)[2]
                if holder and (
                    (name.startswith("__") and name.endswith("__")) or owner in called_by_others
                ):
                    self._special[owner].append((path, function))
            if parts.language != "python":
                for statement in parts.statements:
                    for name in statement.binds:
                        self._binding[name].append(statement)

    def load(self, parts: Parts, *, main: bool) -> None:
        """Run a module's statements: what has decorators or bases is known to these, which may call
        it without its name.
        """
        for statement in parts.statements:
            if main or not statement.main:
                self.add(statement.mentions)
                if statement.function.startswith("__") or (
                    statement.mentions and not statement.imports
                ):
                    self.add(
                        name
                        for name in statement.binds
                        if statement.function or name in self._special
                    )

    def add(self, names: Iterable[str]) -> None:
        new = set(names) - self.names
        self.names |= new
        self._waiting += new

    def add_unclear(self) -> None:
        """Follow what macros may have made: functions whose names are not certain may be called by
        any.
        """
        for _, statement in self.unclear:
            self.add(statement.mentions)
        for name in self.macros & self.by_name.keys():
            for path, function in self.by_name[name]:
                self.enter(path, function)

    def enter(self, path: str, function: str) -> None:
        name = f"{path}:{function}"
        if name not in self.reached:
            self.reached.add(name)
            self.add(self.known[path].functions[function].mentions)

    def follow(self) -> None:
        """Until nothing new is found."""
        while self._waiting:
            name = self._waiting.pop()
            for path, function in (
                *self.by_name.get(name, ()),
                *self._special.get(name, ()),
                *self.by_name.get(name.rstrip("_"), ()),
            ):
                self.enter(path, function)
            for statement in self._binding.get(name, ()):
                self.add(statement.mentions)

    def follow_inside(self, sources: Sources) -> None:
        """Enter what may be inside of the functions that are entered: of their own files and of
        what these include.
        """
        waiting = sorted(self.reached)
        seen = set(waiting)
        near: dict[str, set[str]] = {}
        done: dict[str, set[str]] = {}  # names that were followed from a file
        # called without their names
        implicit = {name for name in self.by_name if name.startswith(("operator", "~"))}
        while waiting:
            path, _, function = waiting.pop().partition(":")
            names = set(self.known[path].functions[function].mentions)
            if path not in near:
                near[path], done[path] = sources.needs([path]), set()
                names |= {
                    name
                    for place, statement in self.unclear
                    if place in near[path]
                    for name in statement.mentions
                }
                if self.known[path].language == "c" and not path.endswith(".c"):
                    names |= implicit
            for name in self._meant(names, done[path]):
                for place, inner in (*self.by_name.get(name, ()), *self._special.get(name, ())):
                    if place in near[path] and f"{place}:{inner}" not in seen:
                        self.enter(place, inner)
                        seen.add(f"{place}:{inner}")
                        waiting.append(f"{place}:{inner}")

    def _meant(self, names: Iterable[str], done: set[str]) -> Iterator[str]:
        """The names, and those behind macros and types of these names, that are not ``done`` yet;
        any that a macro may compose.
        """
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in done:
                done.add(name)
                yield name
                waiting += [
                    mention
                    for statement in self._binding.get(name, ())
                    for mention in statement.mentions
                ]
                waiting += self.by_name if name == COMPUTED else ()

    def take_all(self) -> None:
        for path, parts in self.known.items():
            for function in parts.functions:
                self.enter(path, function)
