"""The functions of Rust and Go by their heads and braces, which need no grammar: samplers name them
without their files.

Every pattern that may run on has an end or a bound: files are other people's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from perfvcs.locate.sources import suffix
from perfvcs.locate.sources.parts import Outline, digest, located

LONGEST_HEAD, DEEPEST_HEAD = 2_000, 20  # characters from a head to its body, and its brackets
COMMENT_OF_C = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
TEXT = r'"(?:\\.|[^"\\])*(?:"|\Z)'


@dataclass(frozen=True)
class Dialect:
    """How a language writes comments and texts (``parts``, in groups of these names), the heads of
    functions, and what contains these.

    ``heads`` have a group ``name``, and may have ``owner``, what the function belongs to.
    """

    parts: re.Pattern[str]
    heads: re.Pattern[str]
    containers: re.Pattern[str] = re.compile(r"(?!)(?P<name>)")


RUST_PARTS = re.compile(
    rf"""(?ms)(?P<comment>{COMMENT_OF_C})|(?P<text>"""
    rf"""\bb?r(?P<hashes>\#*)".*?(?:"(?P=hashes)|\Z)|{TEXT}"""
    r"""|'(?:\\.[^'\n]{,20}|[^\\'\n])')"""
)
GO_PARTS = re.compile(
    rf"""(?ms)(?P<comment>{COMMENT_OF_C})|(?P<text>"""
    r"""`[^`]*(?:`|\Z)|"(?:\\.|[^"\\\n])*(?:"|$)|'(?:\\.[^'\n]{,20}|[^\\'\n])')"""
)
RUST = Dialect(
    RUST_PARTS,
    re.compile(r"\bfn\s+(?P<name>\w+)"),
    re.compile(
        r"\bimpl\b(?:\s{,20}<[^{}]{,200}?>(?=\s))?\s{1,20}(?:[^{};]{1,200}?\sfor\s{1,20})?&?"
        r"(?P<name>\w{1,200})"
        r"|\btrait\s+(?P<name2>\w+)"
    ),
)
GO = Dialect(
    GO_PARTS,
    re.compile(
        r"(?m)^func\s{1,20}(?:\(\s{,20}(?:\w{1,200}\s{1,20})?\*?\s{,20}(?P<owner>\w{1,200})[^)]{,500}\)\s{,20})?(?P<name>\w{1,200})"
    ),
)
# what ends the way from a head to its body; an empty type of Go is none
_MARKS = re.compile(r"\b(?:interface|struct)\s*\{\s*\}|[][(){};]")
DIALECTS = {"rs": RUST, "go": GO}


def is_braced(path: str) -> bool:
    """Whether a file is in Rust or Go, by its suffix."""
    return suffix(path) in DIALECTS


def outlined(path: str, source: str) -> Outline:
    """The functions of a file; those inside a function are part of it."""
    dialect = DIALECTS[suffix(path)]
    kept, code = _blanked(source, dialect)
    found = list(_functions(code, dialect))
    definitions = located(
        source,
        [
            (name, start, end, digest([" ".join(kept[start:end].split())]))
            for name, start, end in found
        ],
    )
    edges = [0, *(edge for _, start, end in found for edge in (start, end)), len(source)]
    outside = " ".join(kept[a:b] for a, b in list(pairwise(edges))[::2])
    return Outline(suffix(path), definitions, digest([" ".join(outside.split())]))


def _blanked(source: str, dialect: Dialect) -> tuple[str, str]:
    """A source without comments, and without what stands in texts too; both as long as it is."""
    kept, code, last = [], [], 0
    for match in dialect.parts.finditer(source):
        blank = re.sub(r"[^\n]", " ", match[0])
        between = source[last : match.start()]
        kept += [between, blank if match["comment"] is not None else match[0]]
        code += [between, blank]
        last = match.end()
    return "".join([*kept, source[last:]]), "".join([*code, source[last:]])


def _functions(code: str, dialect: Dialect) -> Iterator[tuple[str, int, int]]:
    """The outermost functions: name, start and end of each."""
    closing = _closing(code)
    containers = [
        (match.start(), _end(code, match.end(), closing), _name(match))
        for match in dialect.containers.finditer(code)
    ]
    containers.reverse()
    around: list[tuple[int, int, str]] = []  # the containers that are open, the outermost first
    last = 0
    for match in dialect.heads.finditer(code):
        while containers and containers[-1][0] < match.start():
            around.append(containers.pop())
        while around and around[-1][1] < match.start():
            around.pop()
        end = _end(code, match.end(), closing)
        if match.start() < last or not end:
            continue
        owner = match.groupdict().get("owner") or (around[-1][2] if around else "")
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        yield ".".join(filter(None, (owner, _name(match)))), start, end
        last = end


def _name(match: re.Match[str]) -> str:
    """The name in a head, whichever form it has."""
    return next(text for key, text in match.groupdict().items() if text and key != "owner")


def _end(code: str, start: int, closing: Mapping[int, int]) -> int:
    """The place behind the braces of the body that follows a head; 0 of a declaration without
    one.
    """
    depth = 0
    for match in _MARKS.finditer(code, start, start + LONGEST_HEAD):
        mark = match[0]
        depth += (mark in "([") - (mark in ")]")
        if depth > DEEPEST_HEAD:
            return 0
        if depth > 0:
            continue
        if mark == "{":
            return closing.get(match.start(), 0)
        if mark == ";":
            return 0
    return 0


def _closing(code: str) -> dict[int, int]:
    """By the place of each opening brace: the place behind the one that closes it."""
    opened: list[int] = []
    closed = {}
    for match in re.finditer("[{}]", code):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            closed[opened.pop()] = match.end()
    return closed
