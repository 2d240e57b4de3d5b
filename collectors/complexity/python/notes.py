"""The notes of the measured interpreters, in files beside the records."""

from __future__ import annotations

import ast
import os
import re
import stat
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from perfvcs.collectors._shared.extension import extension
from perfvcs.collectors.complexity import inside
from perfvcs.collectors.complexity.calls import TracedFunction
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import Run
from perfvcs.system.foreign import printable

SLOW_RECORDING = "calls are recorded in Python, which takes longer"
FUNCTION_NAME = re.compile(r"(?P<module>[\w.]+):(?P<name>[\w.<>]+)(?:@(?P<line>[1-9]\d{0,8}))?")
MAX_BYTES = 1 << 20  # of one file
MAX_FILES = 10_000
LONGEST_FIELD = 4096  # characters of a field
SEPARATOR, END = "\x1f", "\x1e"


def compiled_recorder(run: Run) -> tuple[list[tuple[str, Path]], str | None]:
    """The compiled recorder with the tag of the interpreters that can load it, in a list that is
    empty where there is none; and why.
    """
    modules, reason = extension(run, inside.COMPLEXITY_INSIDE / "tracer.c")
    return modules, f"{SLOW_RECORDING}: {reason}" if reason else None


@dataclass(frozen=True)
class FunctionLocation:
    """A Python function to be recorded; ``line`` is 0 where the name is enough, ``size`` None where
    it is to be guessed.
    """

    module: str
    name: str
    line: int = 0
    size: str | None = None

    @property
    def uid(self) -> str:
        """What it is called in profiles."""
        return f"{self.module}:{self.name}" + (f"@{self.line}" if self.line else "")

    @classmethod
    def of(cls, function: TracedFunction) -> FunctionLocation:
        """The place that an entry names; raises UsageError if it is not a name or not an
        expression.

        >>> FunctionLocation.of(TracedFunction("pkg.mod:List.insert@12", "len(self)"))
        FunctionLocation(module='pkg.mod', name='List.insert', line=12, size='len(self)')
        """
        match = FUNCTION_NAME.fullmatch(function.name)
        if match is None:
            raise UsageError(
                f"complexity: {function.name!r} names no Python function: write module:function,"
                " module:Class.method, or one of these with @line behind it"
            )
        if function.size is not None:
            try:
                ast.parse(function.size.strip(), mode="eval")
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                reason = error.msg if isinstance(error, SyntaxError) else type(error).__name__
                raise UsageError(
                    f"complexity: the size of {function.name}, {function.size!r}, is not an"
                    f" expression: {reason}"
                ) from None
            if "\x1e" in function.size or "\x1f" in function.size:
                raise UsageError(
                    f"complexity: the size of {function.name} has control characters: remove them"
                )
        return cls(match["module"], match["name"], int(match["line"] or 0), function.size)


@dataclass(frozen=True)
class Timed:
    """The result of discovery for one function of one process; ``line`` is that of its first
    decorator.
    """

    path: str
    line: int
    module: str
    calls: int
    nanoseconds: int


@dataclass
class RecorderNotes:
    """``modules``: the files of those that were instrumented.

    ``defined``, ``errors`` and ``guesses`` are by the functions' numbers.

    ``untouched`` has modules that were loaded another way, with that; ``failed`` those that could
    not be instrumented, with the reason. A guess is an expression, and whether there were others as
    good.
    """

    interpreters: list[tuple[str, str]] = field(default_factory=list)
    engines: set[str] = field(default_factory=set)
    modules: dict[str, str] = field(default_factory=dict)
    untouched: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    defined: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    errors: dict[int, str] = field(default_factory=dict)
    guesses: defaultdict[int, dict[str, bool]] = field(default_factory=lambda: defaultdict(dict))
    timed: list[Timed] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)


def read_notes(folder: Path) -> RecorderNotes:
    """The notes of all interpreters of one execution; lines that are not as they should be are left
    out: programs could write some.
    """
    notes = RecorderNotes()
    for path in sorted(folder.glob("notes-*.txt"))[:MAX_FILES]:
        for line in _content(path).decode(errors="replace").split(END)[:-1]:
            kind, *fields = (printable(part, LONGEST_FIELD) for part in line.split(SEPARATOR))
            _take(notes, kind, fields)
    return notes


def _take(notes: RecorderNotes, kind: str, fields: list[str]) -> None:
    match kind, fields:
        case "started", [executable, version]:
            notes.interpreters.append((executable, version))
        case "engine", [name]:
            notes.engines.add(name)
        case "module", [name, path]:
            notes.modules.setdefault(name, path)
        case "untouched", [name, how]:
            notes.untouched.setdefault(name, how)
        case "failed", [name, reason]:
            notes.failed.setdefault(name, reason)
        case "defined", [number, line] if number.isdecimal() and line.isdecimal():
            notes.defined[int(number)].add(int(line))
        case "error", [number, text] if number.isdecimal():
            notes.errors.setdefault(int(number), text)
        case "guess", [number, expression, ambiguous] if number.isdecimal():
            guesses = notes.guesses[int(number)]
            guesses[expression] = guesses.get(expression, False) or ambiguous == "1"
        case "timed", [path, line, module, calls, duration] if (
            line.isdecimal() and calls.isdecimal() and duration.isdecimal()
        ):
            notes.timed.append(Timed(path, int(line), module, int(calls), int(duration)))
        case "slow", [reason]:
            notes.slow.append(reason)


def _content(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with open(descriptor, "rb") as file:
        return file.read(MAX_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
