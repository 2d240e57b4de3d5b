"""Frames that two revisions have in common: function and file, without addresses, lines, versions
and places of the measurement; and trees of them, as lists in which parents come first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

from perfvcs.system.foreign import printable

# characters of a function's name; beyond, template arguments are left out from the inside
FRAME_NAME_WIDTH = 160
MOST_CHARACTERS = 2000  # characters that are searched
UNKNOWN_FRAME = "[unknown]"
KERNEL = "[kernel]"
INLINED = " [inlined]"  # behind the name of a function that the compiler put into its caller
LIBRARIES = re.compile(
    r"(?:^|.*/)(?:(?:site|dist)-packages|lib(?:64)?/(?:python|pypy)[\d.]+t?)/(?!(?:site|dist)-packages/)"
)
OBJECT = re.compile(r"(.+?\.so)((?:\.\d+)*)")
SUFFIX = re.compile(
    r"(?:@.*|\.(?:constprop|isra|part|cold|lto_priv|llvm|localalias|clone)\b.*|::h[0-9a-f]{16}"
    r"| \[clone .*)$",
    re.DOTALL,
)
ADDRESS_NAME = re.compile(r"0x[0-9a-f]+")
STRING = re.compile(
    r"std::(?:__cxx11::|__1::)?basic_string<char, std::(?:__1::)?char_traits<char>,"
    r" std::(?:__1::)?allocator<char> ?>"
)
INLINE_NAMESPACE = re.compile(r"\bstd::(?:__cxx11|__1)::")
ARGUMENTS = re.compile(r"<[^<>]*>")


@lru_cache(maxsize=100_000)
def native(symbol: str, image: str, cwd: str) -> str:
    """A frame of compiled code: the function's name as in the source, and the program or library it
    is in.

    >>> native("_int_free.constprop.0", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/home/me")
    '_int_free (libc.so.6)'
    """
    if image.startswith("[kernel") or image.startswith("[guest.kernel"):
        return KERNEL
    name = function(symbol)
    if image == UNKNOWN_FRAME or not image:
        return name
    file = place(image, cwd)
    if match := OBJECT.fullmatch(PurePosixPath(image).name):
        file = match[1] + match[2][: match[2].find(".", 1) if match[2].count(".") > 1 else None]
    return f"{name} ({file})"


@lru_cache(maxsize=100_000)
def python(name: str, file: str, cwd: str) -> str:
    """A frame of Python: the qualified name, and the file below the project or below the libraries.

    >>> python("Heap.push", "/home/me/project/heap.py", "/home/me/project")
    'Heap.push (heap.py)'
    """
    where = file if file.startswith("<") else place(file, cwd)
    return f"{printable(name, MOST_CHARACTERS)} ({where})"


def inlined(frame: str) -> str:
    """The frame of a native function where it is a part of its caller's body.

    >>> inlined("skip (search)")
    'skip [inlined] (search)'
    """
    name, space, image = frame.rpartition(" (")
    return f"{name}{INLINED}{space}{image}" if space else f"{frame}{INLINED}"


def place(path: str, cwd: str) -> str:
    """A path that is the same in every checkout and on every machine: below the project, below the
    libraries, or the name alone.
    """
    path = printable(path, MOST_CHARACTERS)
    inside = _below(path, cwd)
    if match := LIBRARIES.match(path if inside is None else inside):
        return (path if inside is None else inside)[match.end() :]
    return inside or PurePosixPath(path).name or UNKNOWN_FRAME


def inclusive(own: Sequence[float], parents: Sequence[int]) -> list[float]:
    """The cost of each node of a tree with all below it."""
    costs = list(own)
    for node in range(len(costs) - 1, 0, -1):
        costs[parents[node]] += costs[node]
    return costs


def above(names: Sequence[str], parents: Sequence[int], node: int, name: str) -> int | None:
    """The node of that name on the path to ``node``, both included; None where it has none."""
    while node > 0:
        if names[node] == name:
            return node
        node = parents[node]
    return None


def _below(path: str, cwd: str) -> str | None:
    for folder in dict.fromkeys((cwd, str(Path(cwd).resolve()))):
        if path.startswith(f"{folder}/"):
            return path[len(folder) + 1 :]
    return None if path.startswith("/") else path


def function(symbol: str) -> str:
    """A symbol without what compilers and linkers add, its template arguments shortened until it
    can be read.

    What has no name of its own, such as the entry ``@plt`` of a linkage table, is unknown.

    >>> function("@plt"), function("memcpy@plt")
    ('[unknown]', 'memcpy')
    >>> function("std::basic_string<char, std::char_traits<char>, std::allocator<char> >::size")
    'std::string::size'
    """
    name = printable(symbol, MOST_CHARACTERS).strip()
    while (shorter := SUFFIX.sub("", name)) != name:
        name = shorter
    if not name or ADDRESS_NAME.fullmatch(name):
        return UNKNOWN_FRAME
    name = INLINE_NAMESPACE.sub("std::", STRING.sub("std::string", name))
    name = _without_defaults(name).replace(" >", ">")
    while len(name) > FRAME_NAME_WIDTH and (shorter := _inner(name)) != name:
        name = shorter
    return name if len(name) <= FRAME_NAME_WIDTH else f"{name[: FRAME_NAME_WIDTH - 1]}…"


def without_arguments(name: str) -> str:
    """A name without its template arguments.

    >>> without_arguments("Sort<int, std::less<int> >::run")
    'Sort::run'
    """
    outside, depth = [], 0
    body = (
        name.replace("operator<<", "operator\1")
        .replace("operator<", "operator\2")
        .replace("operator->", "operator\3")
    )
    for character in body:
        depth += character == "<"
        if not depth:
            outside.append(character)
        depth -= character == ">" and depth > 0
    return "".join(outside).replace("\1", "<<").replace("\2", "<").replace("\3", "->")


def _without_defaults(name: str) -> str:
    """Without the arguments that a container has anyway: its allocator, its order, its hash."""
    return _drop(
        name, re.compile(r", std::(?:allocator|less|equal_to|hash|char_traits|default_delete)<")
    )


def _drop(name: str, default: re.Pattern[str]) -> str:
    """Without every argument that begins like ``default`` does."""
    at = 0
    while match := default.search(name, at):
        end = _closing(name, match.end())
        if end is None:
            return name
        name, at = name[: match.start()] + name[end:].removeprefix(" "), match.start()
    return name


def _closing(name: str, start: int) -> int | None:
    """The place behind the bracket that closes the one before ``start``."""
    depth = 1
    for place in range(start, len(name)):
        arrow = name[place] == ">" and name[place - 1] == "-"
        depth += (name[place] == "<") - (name[place] == ">" and not arrow)
        if not depth:
            return place + 1
    return None


def _inner(name: str) -> str:
    """The name with its innermost template arguments left out."""
    return name.replace("<…>", "…") if "<…>" in name else ARGUMENTS.sub("<…>", name)
