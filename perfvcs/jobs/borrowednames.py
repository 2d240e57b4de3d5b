"""What benchmarks borrow from a program by its name: macros by which they are compiled, functions
that they call, constants that say how much they do. A change of these changes what a benchmark
does, whose own text stays the same.
"""

from __future__ import annotations

import ast
import ctypes
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import PurePosixPath
from typing import NamedTuple

from perfvcs.git.project import Project
from perfvcs.jobs.benchmark_files import is_benchmark
from perfvcs.jobs.configchanges import Table
from perfvcs.jobs.ownfiles import MAKEFILE, OF_SUFFIX, QUOTED, without_comments
from perfvcs.jobs.spoken import is_data, speaking, texts

NAME = re.compile(r"[A-Za-z_]\w{0,200}")
ASKED = re.compile(r"^[ \t]*#[ \t]*(?:el)?if(?:n?def)?\b([^\n]{1,1000})", re.MULTILINE)
IN_QUOTES = re.compile(QUOTED)
# what an option of a compiler or C defines, and among what CMake does
OPTION = re.compile(r"(?<![\w-])-D[ \t]?(\w{1,200})(?:=([^\s'\"]{0,200}))?")
MACRO = re.compile(r"#[ \t]*(?:define|undef)[ \t]+(\w{1,200})([^\n]{0,1000})")
DEFINITIONS = re.compile(r"efinitions?\b([^)]{1,2000})")
# of a file, not of a function
CONSTANT = re.compile(
    r"^(?=\S)[^;=(){}\n]{0,100}?\bconst(?:expr)?\b[^;=(){}\n]{1,200}?\b(\w{1,200})[ \t]*=[ \t]*"
    r"([^;\n]{1,200});",
    re.MULTILINE,
)
ENUMERATION = re.compile(r"\benum\b[^{};()]{0,200}\{([^{}]{1,5000})\}")
ENUMERATOR = re.compile(r"\b(\w{1,200})\s{0,99}=\s{0,99}([^,]{1,200})")
IS_NUMBER = re.compile(r"[ \t]+[-+(]*\d")
CALL = re.compile(r"\b([A-Za-z_]\w{0,200})[ \t]*\(")
# the definition of a function with which others are linked: its name, behind its type
FUNCTION = re.compile(
    r"^(?!static\b)(?:[A-Za-z_]\w{0,200}[ \t\n*]{1,99}){1,8}?([A-Za-z_]\w{0,200})[ \t]*"
    r"\([^;{}]{0,500}\)[\s\w]{0,99}\{",
    re.MULTILINE,
)
STATEMENT = re.compile(r"[;{}]")
# by which a compiler may leave out a call that it has seen before
REPEATABLE = re.compile(
    r"(?:__attribute(?:__)?\s{0,9}\(\(|\[\[)(?:[^()\[\];{}]|\([^()]{0,200}\)){0,200}?"
    r"\b_{0,2}(?:const|pure|unsequenced|reproducible)_{0,2}\b"
)
# what runs before a program of C does: it is given the words of the command, and may change them
BEGINNING = re.compile(
    r"(?:__attribute(?:__)?\s{0,9}\(\(|\[\[)[^\[\];{}]{0,200}?\b_{0,2}constructor_{0,2}\b"
    r"|\"\.(?:pre)?init(?:_array)?\b"
    r"|-(?:Wl,[^\s]{0,200}?|Xlinker[ \t]{1,9})-(?:init|-?entry|e)[=, ]|-nostartfiles\b"
)
# what a linker puts in the place of a name
LINKED = re.compile(
    r"(?:--wrap[=, ]{1,3}|--defsym[=, ]{1,3}|\b(?:alias|asm|__asm__)\s{0,9}\(\s{0,9}\")(\w{1,200})"
)
KEYWORDS = frozenset(
    NAME.findall(
        "auto break case char const continue default do double else enum extern float for goto if"
        " inline int long register return short signed sizeof static struct switch typedef union"
        " unsigned void volatile while"
    )
)
HEADERS = (".h", ".hh", ".hpp", ".hxx")
ASSIGNED = re.compile(r"^(\w{1,200})[ \t]*(?::[^=\n]{1,200})?=", re.MULTILINE)
PLAIN = frozenset({"range", "list", "tuple", "dict", "set", "frozenset", "bytes", "str", "int"})


class BorrowedNames(NamedTuple):
    """The names in a project's benchmarks: those that sources of C ask the preprocessor for
    (``asked``), all that they have (``native``), those that neither they nor the project's headers
    define (``foreign``), and those that they call and do not define (``called``); those in
    benchmarks of Python (``python``).
    """

    asked: frozenset[str]
    foreign: frozenset[str]
    native: frozenset[str]
    called: frozenset[str]
    python: frozenset[str]

    @classmethod
    def of(
        cls, project: Project, base: str, known: Sequence[str], settings: Table
    ) -> BorrowedNames:
        """Those of the benchmarks of a commit with the paths ``known``. Raises GitError."""
        sources = [path for path in speaking(known, settings) if _language(path) == "native"]
        code = _code(project, base, sources)
        benchmarks = [text for path, text in code.items() if is_benchmark(path)]
        python = [path for path in known if _language(path) == "python" and is_benchmark(path)]
        headers = [path for path in known if path.endswith(HEADERS) and path not in code]
        # what the project offers it may offer in another way
        offered = _names(NAME, _code(project, base, headers if benchmarks else []).values())
        own = {name for text in benchmarks for name, _ in MACRO.findall(text)}
        used = _names(NAME, benchmarks)
        called = _names(CALL, benchmarks) - _names(FUNCTION, benchmarks) - KEYWORDS
        return cls(
            frozenset(
                name
                for text in code.values()
                for line in ASKED.findall(text)
                for name in NAME.findall(line)
            ),
            used - (offered - KEYWORDS) - own,
            used,
            called,
            _names(NAME, _code(project, base, python).values()),
        )

    def __bool__(self) -> bool:
        return bool(self.asked or self.native or self.python)

    def meant(self, path: str, text: str) -> Counter[str]:
        """What a file of the program makes of the names."""
        language = _language(path)
        if language == "python":
            return Counter(self._constants(text))
        if language == "native":
            quoted = without_comments(path, text)
            code = IN_QUOTES.sub('""', quoted)
            of_sources = chain(self._of_sources(code), self._begun(quoted))
            return Counter(chain(self._defined(code), self._linked(text), of_sources))
        is_build = re.fullmatch(MAKEFILE, path) or not is_data(path)
        by_build = [self._defined(text), self._linked(text), self._begun(text)] if is_build else ()
        return Counter(chain(self._asked_for(text), *by_build))

    def _begun(self, text: str) -> Iterator[str]:
        yield from ("before main" for _ in BEGINNING.findall(text) if self.native)

    def _asked_for(self, text: str) -> Iterator[str]:
        """The definitions of what is asked for, also those of CMake."""
        of_cmake = chain.from_iterable(map(NAME.findall, DEFINITIONS.findall(text)))
        names = chain(of_cmake, (name for name, _ in _macros(text)))
        yield from (f"asked {name}" for name in names if name in self.asked)

    def _defined(self, text: str) -> Iterator[str]:
        for name, value in _macros(text):
            if name in self.foreign | self.asked:
                yield f"macro {name}"
            if name in self.native and IS_NUMBER.match(value):
                yield f"macro {name} {value.strip()}"

    def _linked(self, text: str) -> Iterator[str]:
        yield from (f"linked {name}" for name in LINKED.findall(text) if name in self.called)

    def _of_sources(self, code: str) -> Iterator[str]:
        listed = chain.from_iterable(map(ENUMERATOR.findall, ENUMERATION.findall(code)))
        for name, value in chain(CONSTANT.findall(code), listed):
            if name in self.native:
                yield f"constant {name} {value.strip()}"
        if self.native:
            defined = FUNCTION.findall(code)
            yield from (f"function {name}" for name in defined if self._is_replaced(name))
        hints = {name for name, value in _macros(code) if REPEATABLE.search(value)}
        for statement in STATEMENT.split(code):
            names = {*NAME.findall(statement)} if REPEATABLE.search(statement) or hints else set()
            if not hints.isdisjoint(names) or REPEATABLE.search(statement):
                yield from (f"repeatable {name}" for name in self.called & names)

    def _is_replaced(self, name: str) -> bool:
        """Whether a function that the program defines is another one for a benchmark: one that this
        calls and the project does not offer, or one of libc's, which call each other, too.
        """
        return name in self.called & self.foreign or any(hasattr(lib, name) for lib in _libc())

    def _constants(self, text: str) -> Iterator[str]:
        """The values at the top of a module that are no code."""
        if self.python.isdisjoint(ASSIGNED.findall(text)):
            return
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for node in body:
            for name, value in _values(node):
                if name in self.python and _is_plain(value):
                    yield f"{name} {ast.dump(value)}"


@cache
def _libc() -> list[ctypes.CDLL]:
    """The libraries that every program in C is linked with, as far as they are here."""
    libraries = []
    for name in ("libc.so.6", "libm.so.6"):
        with suppress(OSError):
            libraries.append(ctypes.CDLL(name))
    return libraries


def _names(pattern: re.Pattern[str], code: Iterable[str]) -> frozenset[str]:
    return frozenset(name for text in code for name in pattern.findall(text))


def _code(project: Project, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """The sources of a commit without comments and what stands in quotes."""
    read = texts(project, commit, paths)
    return {path: IN_QUOTES.sub('""', without_comments(path, text)) for path, text in read.items()}


def _language(path: str) -> str:
    return OF_SUFFIX.get(PurePosixPath(path).suffix.lower(), "")


def _macros(text: str) -> Iterator[tuple[str, str]]:
    """The macros that a text defines, or no longer does, with what they stand for."""
    yield from MACRO.findall(text)
    yield from ((name, f" {value}") for name, value in OPTION.findall(text))


def _values(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The names to which a statement gives values."""
    if isinstance(node, ast.Assign):
        yield from ((name.id, node.value) for name in node.targets if isinstance(name, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        yield node.target.id, node.value


def _is_plain(value: ast.expr) -> bool:
    """Whether an expression is a value by itself, whatever else a module has."""
    return all(
        node.id in PLAIN if isinstance(node, ast.Name) else not isinstance(node, ast.Lambda)
        for node in ast.walk(value)
    )
