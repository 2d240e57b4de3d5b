"""Compressed documents, opened within bounds."""

from __future__ import annotations

import zlib

from perfvcs.profile import Malformed

GZIP = b"\x1f\x8b"
EITHER = 32 + zlib.MAX_WBITS  # zlib finds out which of its two containers it is


def expanded(document: bytes, most: int, *, partly: bool = False) -> bytes:
    """The content of a document that is compressed by gzip or zlib; any other document as it is.

    Of more than ``most`` bytes no more are made: it is refused, or, where ``partly`` holds, cut off, as the document itself may be.
    Raises Malformed.
    """
    if not _is_compressed(document):
        return document
    content = bytearray()
    rest = document
    try:
        while rest:  # a gzip file may have several members
            engine = zlib.decompressobj(EITHER)
            content += engine.decompress(rest, most + 1 - len(content))
            if partly:
                return bytes(content[:most])
            if len(content) > most:
                raise Malformed(f"the compressed document has over {most:,} bytes inside: split it")
            if not engine.eof:
                raise Malformed("the compressed document ends too early: copy it again")
            rest = engine.unused_data
    except zlib.error as error:
        raise Malformed(f"the compressed document is damaged ({error}): copy it again") from None
    return bytes(content)


def _is_compressed(document: bytes) -> bool:
    """By gzip's mark, or by the two bytes of zlib, which no JSON and no text table begins with."""
    if document.startswith(GZIP):
        return True
    return len(document) > 2 and document[0] == 0x78 and document[1] in (0x01, 0x5E, 0x9C, 0xDA)
