"""What an execution gave beside its numbers: a digest of its output, which is read and kept
nowhere, and the processes that it left running.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

from msgspec import Struct

DIGITS = 16  # of a digest
PIECE = 512  # bytes of a line that a pattern sees at once
CHUNK = 1 << 20  # bytes that are read at once
MOST_WAYS = 4 * PIECE**2  # in which a pattern may match at one place; measured: 5 s for a piece
LONGEST_PATTERN = 1000  # characters
NORMALISING_SECONDS = 10.0  # seconds that a pattern may take of one execution
MOST_FILES = 1000  # that an execution may write as its output
# Times differ from execution to execution (`5 passed in 0.12s`), and dates from session to session.
# They are in the reports of programs, which are short.
TIMES = (
    rb"\d{1,9}\.\d{1,9} ?(?:s|sec|secs|seconds|ms|us|\xc2\xb5s|ns|min)\b"
    rb"|\b\d{4}-\d\d-\d\d\b|\b\d\d:\d\d:\d\d(?:\.\d{1,9})?"
)
TIMES_WITHIN = 1 << 20  # bytes of the output


def verified(pattern: str) -> str:
    """What is wrong with a pattern, with the cure; empty for one whose time is linear in the length
    of the output.
    """
    if len(pattern) > LONGEST_PATTERN:
        return f"it has over {LONGEST_PATTERN:,} characters: shorten it"
    try:
        re.compile(pattern.encode())
        parsed = import_module("re._parser").parse(pattern.encode())
    except (re.error, RecursionError, OverflowError, UnicodeEncodeError) as error:
        return f"it is not a regular expression: {error}: correct it"
    if "GROUPREF" in repr(parsed.data):
        return "it refers back to a group, which can take for ever: write it without"
    ways = list(_ways(parsed, inside=False))
    if 0 in ways:
        return "it has a repeat or | inside a repeat, which can take for ever: write it without"
    if prod(ways) > MOST_WAYS:
        return "it has too many repeats: give bounds as in {1,9}, and at most two such as * and +"
    return ""


def _ways(parsed: Any, *, inside: bool) -> Iterator[int]:
    """In how many ways each repeat and each alternative may match a piece; 0 for one that is inside
    of a repeat.
    """
    for operation, argument in parsed:
        name = str(operation)
        if name.endswith("_REPEAT"):
            low, high, body = argument
            if high != low:
                yield 0 if inside else min(high - low + 1, PIECE)
            yield from _ways(body, inside=inside or high > 1)
        elif name == "BRANCH":
            yield 0 if inside else len(argument[1])
            for branch in argument[1]:
                yield from _ways(branch, inside=inside)
        elif isinstance(argument, tuple):
            for part in argument:
                if hasattr(part, "data"):
                    yield from _ways(part, inside=inside)


class ExecutionResult(Struct):
    """The result of one execution, as it comes.

    ``normalise`` is a pattern whose matches do not count, a line at a time; it is ``verified``. Nor
    do the ``paths`` count, in which revisions and executions differ.
    ``left`` are the names of the processes that had to be ended. ``reads``: whether standard output
    is read. ``size`` is how many bytes it had, ``wall`` how long all of it took, in s, ``problem``
    why there is no digest.
    """

    normalise: str = ""
    reads: bool = True
    paths: tuple[bytes, ...] = ()
    left: tuple[str, ...] = ()
    size: int = 0
    wall: float | None = None
    problem: str = ""
    _digest: Any = None
    _line: bytes = b""
    _spent: float = 0.0
    _pattern: re.Pattern[bytes] | None = None

    def begin(self) -> None:
        """An execution begins."""
        self._digest = hashlib.sha256()
        self.left, self.size, self.problem, self._line, self._spent = (), 0, "", b"", 0.0
        self.wall = None
        self._pattern = re.compile(self.normalise.encode()) if self.normalise else None

    def take(self, chunk: bytes) -> None:
        """Takes a part of standard output."""
        if self._digest is None:
            self.begin()
        self.size += len(chunk)
        if self._pattern is None and self.size > TIMES_WITHIN:
            self._at_once(chunk)
        else:
            self._by_lines(chunk)

    def add_files(self, folder: Path, names: Iterable[str]) -> None:
        """Takes the content of the files that match patterns below a folder, in the order of their
        names.
        """
        self._flush()
        if self._digest is None:
            self._digest = hashlib.sha256()
        files = sorted({path for name in names for path in folder.glob(name)})
        if len(files) > MOST_FILES:
            self.problem = f"`output` means over {MOST_FILES:,} files: name fewer"
            return
        for path in files:
            self._digest.update(os.fsencode(path.relative_to(folder)) + b"\0")
            self._add(path)

    def _add(self, path: Path) -> None:
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path, flags)
        except OSError as error:
            self.problem = f"{path.name} cannot be read as output: {error.strerror}"
            return
        with open(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                while chunk := file.read(CHUNK):
                    self._by_lines(chunk) if self._pattern else self._at_once(chunk)
        self._flush()

    def digest(self) -> str:
        """16 hex digits of all output; empty where there is none that counts."""
        self._flush()
        if self.problem or self._digest is None:
            return ""
        return str(self._digest.hexdigest())[:DIGITS]

    def _at_once(self, chunk: bytes) -> None:
        """Takes a part without looking for times; the end, which may begin a path, waits."""
        text = self._without_paths(self._line + chunk)
        end = max(0, len(text) - max(map(len, self.paths), default=0))
        self._digest.update(text[:end])
        self._line = text[end:]

    def _without_paths(self, text: bytes) -> bytes:
        for path in self.paths:
            text = text.replace(path, b"")
        return text

    def _by_lines(self, chunk: bytes) -> None:
        lines = (self._line + chunk).split(b"\n")
        self._line = lines.pop()
        for line in lines:
            self._update(line + b"\n")
        if len(self._line) >= CHUNK:
            self._flush()

    def _flush(self) -> None:
        if self._line:
            line, self._line = self._line, b""
            self._update(line)

    def _update(self, line: bytes) -> None:
        line = self._without_paths(line)
        if self._pattern is None:
            self._digest.update(re.sub(TIMES, b"", line))
            return
        began = time.monotonic()
        for start in range(0, len(line), PIECE):
            if self._spent > NORMALISING_SECONDS:
                self.problem = (
                    f"`normalise` takes more than {NORMALISING_SECONDS:.0f} s of one output: write"
                    " a simpler pattern"
                )
                return
            self._digest.update(self._pattern.sub(b"", line[start : start + PIECE]))
            self._spent += time.monotonic() - began
            began = time.monotonic()


def named(names: Sequence[str]) -> str:
    """The names of processes, each once, with how many there are of it."""
    counts = {name: list(names).count(name) for name in names}
    return ", ".join(name if count == 1 else f"{name} ({count})" for name, count in counts.items())
