"""What all readers of bytes that others wrote have in common: what decoding may raise, and how much
is ever read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from perfvcs.errors import PerfError

# What msgspec makes of a document that is not as it should be; its nesting alone may be what is
# wrong.
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
# of what is open; whether more can be read depends on who asks, Python counts its calls too
MAX_DEPTH = 64
LARGEST_INTEGER = 1 << 63  # of TOML; Python refuses to write a longer one of hexadecimal digits
MAX_DOTS = 500  # of a line of TOML: the parser takes a time quadratic in the parts of a key


def content(path: Path | str, most: int) -> bytes:
    """The first bytes of a regular file, no more than so many; raises OSError, also for what is not
    a file, and waits for nothing.
    """
    # O_NONBLOCK: a named pipe must not keep us waiting before we can see that it is one
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        return at_most(file, most)


def beginning(path: Path, most: int) -> str:
    """The first bytes of a file as text; empty if it cannot be read."""
    try:
        return content(path, most).decode("utf-8", "replace")
    except (OSError, ValueError):  # the name has a NUL
        return ""


def at_most(file: BinaryIO, most: int) -> bytes:
    """The next bytes of a regular file, no more than so many; memory is taken for what is there
    only.
    """
    return file.read(min(most, os.fstat(file.fileno()).st_size + 1))


def printable(text: str, most: int | None = 1000) -> str:
    """A foreign text, or its beginning, as one line: what cannot be printed is ``?``."""
    return "".join(character if character.isprintable() else "?" for character in text[:most])


def toml(text: str, refuse: Callable[[str], PerfError]) -> dict[str, Any]:
    """The tables in a TOML document; raises what ``refuse`` makes of the reason why it cannot be
    read.
    """
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS:
            raise refuse(f"line {number} has over {MAX_DOTS} dots")
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise refuse("it is nested too deeply") from None
    except ValueError as error:  # also a number of thousands of digits
        raise refuse(str(error)) from None
    if not is_flat(tables):
        raise refuse(f"it is nested deeper than {MAX_DEPTH} levels")
    if not all(abs(number) < LARGEST_INTEGER for number in _integers(tables)):
        raise refuse("an integer has more than 64 bits")
    return tables


def _integers(tables: dict[str, Any]) -> Iterator[int]:
    values: list[object] = [tables]
    while values:
        value = values.pop()
        if isinstance(value, int):
            yield value
        values += _parts(value)


def is_flat(value: object) -> bool:
    """Whether dictionaries and lists are nested at most ``MAX_DEPTH`` levels deep; asks that
    without recursion.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner for outer in level for inner in _parts(outer) if isinstance(inner, (dict, list))
        ]
        if not level:
            return True
    return False


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
