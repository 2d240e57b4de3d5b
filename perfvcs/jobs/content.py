"""The bytes of generated workloads, from SHAKE-256: the same on every machine and with every version of Python."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache

GENERATOR_VERSION = 1  # part of every file's name: raise it when the bytes change
BLOCK_BYTES = 1 << 18

_LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789"
_COMMONEST = 5461  # of 65,536 words; the k-th word is k times rarer


def letters(length: int, seed: int) -> str:
    """``length`` random lower-case letters and digits."""
    table = bytes(_LETTERS[byte % len(_LETTERS)] for byte in range(256))
    return b"".join(_cut((block.translate(table) for block in _random("letters", seed)), length)).decode()


def chunks(content: str, length: int, seed: int) -> Iterator[bytes]:
    """The pieces of ``length`` bytes of a content: ``binary`` (every byte), ``integers`` (one below 2**31 per line), ``words``
    (one per line) or ``text`` (lines of words), the k-th word of a vocabulary of 20,000 being k times rarer than the first.

    Contents other than ``binary`` end with a line end, unless the cut would leave the last line empty.
    """
    blocks = _random(content, seed)
    if content == "binary":
        return _cut(blocks, length)
    made = {"integers": _integers, "words": _words, "text": _text}[content]
    return _closed(_cut(map(made, blocks), length), length, b"7" if content == "integers" else b"a")


def _random(kind: str, seed: int) -> Iterator[bytes]:
    """Endless random blocks of ``BLOCK_BYTES`` bytes."""
    import hashlib

    number = 0
    while True:
        yield hashlib.shake_256(f"{GENERATOR_VERSION} {kind} {seed} {number}".encode()).digest(BLOCK_BYTES)
        number += 1


def _cut(blocks: Iterator[bytes], length: int) -> Iterator[bytes]:
    while length > 0:
        block = next(blocks)[:length]
        yield block
        length -= len(block)


def _closed(pieces: Iterator[bytes], length: int, filler: bytes) -> Iterator[bytes]:
    """The pieces with a line end as the last byte, or with ``filler`` where that line would be empty or end with a space."""
    done, last = 0, b"\n"
    for piece in pieces:
        done += len(piece)
        if done < length:
            yield piece
        else:
            before = (last + piece)[-2:-1]
            yield piece[:-1] + (filler if before in b"\n " else b"\n")
        last = piece[-1:]


def _integers(block: bytes) -> bytes:
    return b"".join([b"%d\n" % (value >> 1) for value in struct.unpack(f">{len(block) // 4}I", block)])


def _words(block: bytes) -> bytes:
    table = _vocabulary()
    return b"\n".join([table[value] for value in struct.unpack(f">{len(block) // 2}H", block)]) + b"\n"


def _text(block: bytes) -> bytes:
    table = _vocabulary()
    words = [table[value] for value in struct.unpack(f">{len(block) // 2}H", block)]
    return b"\n".join([b" ".join(words[start : start + 14]) for start in range(0, len(words), 14)]) + b"\n"


@cache
def _vocabulary() -> list[bytes]:
    """A word for each of the 65,536 values of two bytes: common words take many values, rare ones a single value."""
    table: list[bytes] = []
    rank = 0
    while len(table) < 1 << 16:
        rank += 1
        table += [_word(rank)] * max(1, _COMMONEST // rank)
    return table[: 1 << 16]


def _word(rank: int) -> bytes:
    """A pronounceable word for a number: syllables as its digits."""
    word = b""
    while rank:
        rank, digit = divmod(rank, 75)
        word += b"bdfghklmnprstvz"[digit // 5 :][:1] + b"aeiou"[digit % 5 :][:1]
    return word
