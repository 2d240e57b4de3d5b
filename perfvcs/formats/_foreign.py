"""What every foreign document becomes in the same way: who measured it is unknown, and its session
is its content.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.parsers import expat

from perfvcs.profile import Collected
from perfvcs.profile.validity import MAX_INTEGER, Malformed
from perfvcs.system.foreign import MAX_DEPTH
from perfvcs.system.numeric import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


GZIP = b"\x1f\x8b"  # RFC 1952
RATIO = 200  # of what is packed by its size; that of measurements is below 50
HARMLESS_BYTES = 1 << 24  # bytes inside that are fine whatever the ratio
CHUNK_BYTES = 1 << 20  # bytes at a time
EITHER = 32 + zlib.MAX_WBITS  # zlib finds out which of its two containers it is
MAX_FOREIGN = 1 << 28  # bytes of a document that becomes far more bytes of Python objects
SMALL = 1 << 31
# A text, which goes on to the end where it is not closed, or what Python's own writer puts where
# there is no number.
NOT_JSON = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)|-?(?:NaN|Infinity)', re.DOTALL)
UNKNOWN = "0" * 40  # the commit of a profile whose document names none


def expanded(document: bytes, most: int) -> bytes:
    """The content of a document that is compressed by gzip or zlib; any other document as it is.

    Of more than ``most`` bytes no more are made: it is refused. So is one that is over ``RATIO``
    times as large inside, unless it is small. Raises Malformed.
    """
    if not _is_compressed(document):
        return document
    bound = min(most, max(HARMLESS_BYTES, RATIO * len(document)))
    content = BytesIO()  # gives what it holds without another copy
    rest = document
    try:
        while rest:  # a gzip file may have several members
            engine = zlib.decompressobj(EITHER)
            while not engine.eof and content.tell() <= bound:
                piece = engine.decompress(rest, CHUNK_BYTES)
                rest = engine.unconsumed_tail
                if not piece and not engine.eof:
                    raise Malformed("the compressed document ends too early: copy it again")
                content.write(piece)
            if content.tell() > most:
                raise Malformed(f"the compressed document has over {most:,} bytes inside: split it")
            if content.tell() > bound:
                raise Malformed(
                    f"the compressed document is over {RATIO} times as large inside: unpack it"
                    " first"
                )
            rest = engine.unused_data
    except zlib.error as error:
        raise Malformed(f"the compressed document is damaged ({error}): copy it again") from None
    return content.getvalue()


def _is_compressed(document: bytes) -> bool:
    """By gzip's mark, or by the two bytes of zlib, which no JSON and no text table begins with."""
    if document.startswith(GZIP):
        return True
    return len(document) > 2 and document[0] == 0x78 and document[1] in (0x01, 0x5E, 0x9C, 0xDA)


class NoStacks(Malformed):
    """A profile has no call stacks, which the format is about."""


class NoResults(Malformed):
    """A document is as it should be, and nothing was measured."""


def bounded(document: bytes) -> bytes:
    """The document; raises Malformed where it is too large to be taken apart in memory."""
    if len(document) > MAX_FOREIGN:
        raise Malformed(
            f"a document of {len(document):,} bytes is over the limit of {MAX_FOREIGN:,}: split it"
        )
    return document


def collected(document: bytes, tool: str, started: str = "", ended: str = "") -> Collected:
    """A session of its own for every content, so that the same file imported again is the same
    profile.
    """
    session = f"{tool}-{hashlib.sha256(document).hexdigest()[:12]}"
    return Collected(session, started, ended or started, tool)


def numbers_only(document: bytes) -> bytes:
    """A JSON document with null where Python's own writer puts NaN and infinities."""
    if b"NaN" not in document and b"Infinity" not in document:
        return document
    content, end = BytesIO(), 0  # `sub` would keep every text of the document as a piece
    for match in NOT_JSON.finditer(document):
        if not match[0].startswith(b'"'):
            content.write(document[end : match.start()] + b"null")
            end = match.end()
    content.write(document[end:])
    return content.getvalue()


def grouped(columns: Iterable[Sequence[Any] | NDArray[np.int64]]) -> NDArray[np.int64]:
    """A number per row that is the same where all columns are; numbered through by first
    appearance. Shape (rows,).

    A column holds texts, integers, or numbers and None.

    >>> grouped([["a", "b", "a"], [1, 1, 2]]).tolist()
    [0, 1, 2]
    """
    groups: NDArray[np.int64] | int = 0
    span = 1  # below which the numbers are
    for column in columns:
        codes = _coded(column)
        count = int(codes.max(initial=0)) + 1
        if span * count > MAX_INTEGER:
            groups = np.unique(groups, return_inverse=True)[1]
            span = len(codes)
        groups = groups * count + codes
        span *= count
    _, firsts, numbers = np.unique(groups, return_index=True, return_inverse=True)
    order = np.empty_like(firsts)
    order[np.argsort(firsts)] = np.arange(len(firsts))
    return order[numbers]


def _coded(column: Sequence[Any] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers from 0 on, the largest below 2^31, that are the same where the values are."""
    if not isinstance(column, np.ndarray):
        if isinstance(next(iter(column), ""), str):
            return np.array(numbered(column)[1], dtype=np.int64)
        # None is NaN, and all NaN are one
        column = np.array(column, dtype=np.int64 if set(map(type, column)) == {int} else np.float64)
    if column.dtype == np.int64 and len(column) and column.min() >= 0 and column.max() < SMALL:
        return column
    return np.unique(column, return_inverse=True)[1]


def numbered(column: Sequence[str]) -> tuple[list[str], list[int]]:
    """The different texts of a column, and which of them each is.

    >>> numbered(["b", "a", "b"])
    (['b', 'a'], [0, 1, 0])
    """
    numbers = {text: number for number, text in enumerate(dict.fromkeys(column))}
    return list(numbers), [*map(numbers.__getitem__, column)]


def counted(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each key was there before, per key; both of shape (rows,).

    >>> import numpy as np
    >>> counted(np.array([5, 7, 5])).tolist()
    [0, 0, 1]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    counts = np.empty_like(order)
    counts[order] = np.arange(len(keys)) - np.repeat(starts, np.diff(starts, append=len(keys)))
    return counts


class Element(NamedTuple):
    """The name and the attributes of an element, and the elements around it, the outermost
    first.
    """

    name: str
    attributes: dict[str, str]
    around: tuple[Element, ...]


def elements(document: bytes, wanted: Container[str]) -> Iterator[Element]:
    """The elements of some names, in their order; texts are left out, and memory holds those of one
    piece of the document.

    A document type, which is where entities are declared, is refused. Raises Malformed with line
    and column.
    """
    chosen: list[Element] = []
    stack: list[Element] = []
    parser = expat.ParserCreate("utf-8")  # whatever encoding it names, which may be any word

    def refuse(*_: object) -> None:
        raise Malformed(
            f"line {parser.CurrentLineNumber}: it has a document type, whose entities are not read:"
            " take it out"
        )

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(stack) >= MAX_DEPTH:
            raise Malformed(
                f"line {parser.CurrentLineNumber}: it is nested deeper than {MAX_DEPTH} levels"
            )
        stack.append(Element(name, attributes, tuple(stack)))
        if name in wanted:
            chosen.append(stack[-1])

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    whole = bounded(document)
    for place in range(0, len(whole) + 1, CHUNK_BYTES):
        try:
            parser.Parse(whole[place : place + CHUNK_BYTES], place + CHUNK_BYTES > len(whole))
        except expat.ExpatError as error:
            raise Malformed(
                f"line {error.lineno}, column {error.offset}: {expat.ErrorString(error.code)}"
            ) from None
        yield from chosen
        chosen.clear()
