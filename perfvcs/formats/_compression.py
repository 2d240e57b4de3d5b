"""Compressed documents, opened within bounds."""

from __future__ import annotations

import zlib
from io import BytesIO

from perfvcs.validity import Malformed

GZIP = b"\x1f\x8b"
RATIO = 200  # of what is packed by its size; that of measurements is below 50
HARMLESS_BYTES = 1 << 24  # bytes inside that are fine whatever the ratio
CHUNK_BYTES = 1 << 20  # bytes at a time
EITHER = 32 + zlib.MAX_WBITS  # zlib finds out which of its two containers it is


def expanded(document: bytes, most: int, *, partly: bool = False) -> bytes:
    """The content of a document that is compressed by gzip or zlib; any other document as it is.

    Of more than ``most`` bytes no more are made: it is refused, or, where ``partly`` holds, cut off, as the document itself may be. So
    is one that is over ``RATIO`` times as large inside, unless it is small. Raises Malformed.
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
                if partly:
                    return piece[:most]
                if not piece and not engine.eof:
                    raise Malformed("the compressed document ends too early: copy it again")
                content.write(piece)
            if content.tell() > most:
                raise Malformed(f"the compressed document has over {most:,} bytes inside: split it")
            if content.tell() > bound:
                raise Malformed(f"the compressed document is over {RATIO} times as large inside: unpack it first")
            rest = engine.unused_data
    except zlib.error as error:
        raise Malformed(f"the compressed document is damaged ({error}): copy it again") from None
    return content.getvalue()


def _is_compressed(document: bytes) -> bool:
    """By gzip's mark, or by the two bytes of zlib, which no JSON and no text table begins with."""
    if document.startswith(GZIP):
        return True
    return len(document) > 2 and document[0] == 0x78 and document[1] in (0x01, 0x5E, 0x9C, 0xDA)
