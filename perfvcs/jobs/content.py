"""The bytes of generated workloads, from SHAKE-256: the same on every machine and with every
version of Python.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache

from perfvcs.environment.variables import SEED_PLACEHOLDER
from perfvcs.errors import UsageError, nearest

MAX_FILE = 10 * 1024**3
MAX_STEPS = 1000
DEFAULT_TIMEOUT = 300.0
SIZE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
GENERATOR_VERSION = 1  # part of every file's name: raise it when the bytes change
BLOCK_BYTES = 1 << 18
_LETTERS = b"abcdefghijklmnopqrstuvwxyz0123456789"
_COMMONEST = 5461  # of 65,536 words; the k-th word is k times rarer


def values(entry: object, key: str, read: Callable[[object, str], int]) -> list[int]:
    """The integers of a list, or of a range ``from``, ``to`` in ``steps`` of equal difference or
    (``scale = "log"``) ratio.
    """
    if isinstance(entry, list):
        if not entry:
            raise UsageError(f"workloads: {key} is an empty list: name at least one size")
        return [read(value, key) for value in entry]
    if not isinstance(entry, Mapping):
        raise UsageError(
            f"workloads: {key} = {entry!r} is neither a list nor a range such as {{ from = 1000, to"
            " = 8000, steps = 4 }"
        )
    only(entry, ("from", "to", "steps", "scale"), f"workloads, {key}")
    if missing := [name for name in ("from", "to") if name not in entry]:
        raise UsageError(f"workloads, {key}: a range needs `{missing[0]}`")
    first, last = read(entry["from"], key), read(entry["to"], key)
    steps = integer(entry.get("steps", 5), "steps")
    scale = entry.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise UsageError(
            f"workloads, {key}: scale = {scale!r} is not"
            f" known{nearest(str(scale), ('linear', 'log'))}"
        )
    if last < first or not 1 <= steps <= MAX_STEPS or (scale == "log" and first < 1):
        rule = (
            "`from` must not be above `to` (nor below 1 with a log scale), and `steps` be 1 to"
            f" {MAX_STEPS}"
        )
        raise UsageError(
            f"workloads, {key}: from {first} to {last} in {steps} steps is not a range: {rule}"
        )
    if steps == 1:
        return [first]
    parts = [step / (steps - 1) for step in range(1, steps - 1)]
    if scale == "log":
        inner = [round(first * (last / first) ** part) for part in parts]
    else:
        inner = [round(first + (last - first) * part) for part in parts]
    return list(dict.fromkeys([first, *inner, last]))


def integer(value: object, key: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return value
    raise UsageError(f"workloads: {key} has {value!r}, which is not an integer")


def length_of(value: object, key: str) -> int:
    """A number of bytes, given as an integer or like ``1kB`` (1000) or ``1KiB`` (1024)."""
    size = None
    if isinstance(value, str):
        size = re.fullmatch(r"(\d{1,12}(?:\.\d{1,9})?)\s*([A-Za-z]+)?", value)
    if size and size[2] and size[2] not in SIZE_UNITS:
        raise UsageError(
            f"workloads: {key} has {value!r}; its unit is one of {', '.join(SIZE_UNITS)} (1 kB ="
            " 1000 B, 1 KiB = 1024 B)"
        )
    if isinstance(value, str) and not size:
        raise UsageError(
            f'workloads: {key} has {value!r}, which is not a size; write it like "10kB", "1MiB" or'
            " 1000"
        )
    length = round(float(size[1]) * SIZE_UNITS[size[2] or "B"]) if size else integer(value, key)
    if not 0 <= length <= MAX_FILE:
        raise UsageError(f"workloads: {key} has {value!r}, but a size is between 0 and 10GiB")
    return length


def seed_of(entry: Mapping[str, object]) -> int | None:
    """The seed of generated content; None if it is drawn by lot for each block."""
    if entry.get("seed") == SEED_PLACEHOLDER:
        return None
    seed = integer(entry.get("seed", 0), "seed")
    if seed < 0:
        raise UsageError(f"workloads: seed = {seed} is negative")
    return seed


def readable(length: int) -> str:
    """A size with the largest unit that divides it, decimal units first."""
    for unit in ("GB", "GiB", "MB", "MiB", "kB", "KiB"):
        if length and length % SIZE_UNITS[unit] == 0:
            return f"{length // SIZE_UNITS[unit]}{unit}"
    return f"{length}B"


def only(entry: Mapping[str, object], keys: Collection[str], path: str) -> None:
    for key in entry:
        if key not in keys:
            raise UsageError(f"{path}: there is no key `{key}`{nearest(key, keys)}")


def letters(length: int, seed: int) -> str:
    """``length`` random lower-case letters and digits."""
    table = bytes(_LETTERS[byte % len(_LETTERS)] for byte in range(256))
    return b"".join(
        _cut((block.translate(table) for block in _random("letters", seed)), length)
    ).decode()


def chunks(content: str, length: int, seed: int) -> Iterator[bytes]:
    """The pieces of ``length`` bytes of a content: ``binary`` (every byte), ``integers`` (one below
    2**31 per line), ``words`` (one per line) or ``text`` (lines of words), the k-th word of a
    vocabulary of 20,000 being k times rarer than the first.

    Contents other than ``binary`` end with a line end, unless the cut would leave the last line
    empty.
    """
    blocks = _random(content, seed)
    if content == "binary":
        return _cut(blocks, length)
    writer = {"integers": _integers, "words": _words, "text": _text}[content]
    return _closed(
        _cut(map(writer, blocks), length), length, b"7" if content == "integers" else b"a"
    )


def _random(kind: str, seed: int) -> Iterator[bytes]:
    """Endless random blocks of ``BLOCK_BYTES`` bytes."""
    import hashlib

    number = 0
    while True:
        yield hashlib.shake_256(f"{GENERATOR_VERSION} {kind} {seed} {number}".encode()).digest(
            BLOCK_BYTES
        )
        number += 1


def _cut(blocks: Iterator[bytes], length: int) -> Iterator[bytes]:
    while length > 0:
        block = next(blocks)[:length]
        yield block
        length -= len(block)


def _closed(pieces: Iterator[bytes], length: int, filler: bytes) -> Iterator[bytes]:
    """The pieces with a line end as the last byte, or with ``filler`` where that line would be
    empty or end with a space.
    """
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
    return b"".join(
        [b"%d\n" % (value >> 1) for value in struct.unpack(f">{len(block) // 4}I", block)]
    )


def _words(block: bytes) -> bytes:
    table = _vocabulary()
    return (
        b"\n".join([table[value] for value in struct.unpack(f">{len(block) // 2}H", block)]) + b"\n"
    )


def _text(block: bytes) -> bytes:
    table = _vocabulary()
    words = [table[value] for value in struct.unpack(f">{len(block) // 2}H", block)]
    return (
        b"\n".join([b" ".join(words[start : start + 14]) for start in range(0, len(words), 14)])
        + b"\n"
    )


@cache
def _vocabulary() -> list[bytes]:
    """A word for each of the 65,536 values of two bytes: common words take many values, rare ones a
    single value.
    """
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
