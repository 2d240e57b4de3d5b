"""Documents made worse: bytes, parts, tokens, and values where a document has a structure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

LONGEST = 1 << 18  # bytes of a mutant
DEEP = (70, 500, 1100, 3000, 100_000)  # levels, around what Python and the formats bear
NUMBERS = (
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e309",
    "1e-320",
    "NaN",
    "Infinity",
    "-Infinity",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "-9223372036854775809",
    "1e400",
    "1" + "0" * 30,
    "1" + "0" * 400,
    "7" * 5000,
    "--3",
    "+",
    "-",
    "1_0",
    "0x10",
    "0x" + "f" * 6000,
    "0b1",
    "inf",
    "nan",
    "²",
    "٣",
    "1,5",
    "007",
    ".5",
    "5.",
    "1e",
    "2147483648",
    "4294967296",
    "1000000000000",
)
TEXTS = (
    "",
    "\\ud800",
    "\\ud800\\udc00",
    "\\udfff",
    "\\u0000",
    "\0",
    "\x1b[31m",
    "\u202e",
    "\ufeff",
    "\U000e0041",
    "../../etc/passwd",
    "/",
    "%n",
    "a" * 10_001,
    " " * 50_000,
    "(" * 5000,
    "[" * 5000,
    "<" * 5000,
    "))))",
    "x ()" * 2000,
    "=1+1",
    "'",
    '"',
    "\\",
    "\n",
    "\r",
    "\t",
    ";",
    ",",
    "é",
    "\xff",
    "0001-01-01",
    "9999-12-31T23:59:59+23:59",
    "2026-02-30",
    "10000-01-01T00:00:00Z",
    "25:61:61",
    "-0",
    "true",
    "null",
    "{}",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [None],
    {"": None},
    "",
    0,
    -1,
    1.5,
    [1, "a", None],
    {"a": {"b": [1]}},
)
WORDS = (
    0,
    1,
    2,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
)
SHAPED = re.compile(r'"@(\d+)@"')


def mutated(seeds: Sequence[bytes], random: Random) -> bytes:
    """A seed after one to six changes; the same generator gives the same document."""
    document = random.choice(seeds)
    if document[:1] in b"{[" and random.random() < 0.6:
        document = _reshaped(document, random) or document
        if random.random() < 0.7:
            return document[:LONGEST]
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        document = random.choice(CHANGES)(document, random, seeds)[:LONGEST]
    return document


def _flipped(document: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    found = bytearray(document)
    for _time in range(random.choice((1, 1, 2, 8))):
        if found:
            found[random.randrange(len(found))] ^= random.choice(
                (1, 0x80, 0xFF, random.randrange(1, 256))
            )
    return bytes(found)


def _cut(document: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    return document[: random.randrange(len(document) + 1)]


def _removed(document: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    start, end = sorted(random.randrange(len(document) + 1) for _ in range(2))
    return document[:start] + document[min(end, start + random.choice((1, 8, 100, 10_000))) :]


def _repeated(document: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    start, end = sorted(random.randrange(len(document) + 1) for _ in range(2))
    many = min(random.choice((1, 2, 20, 2000)), LONGEST // max(1, end - start))
    return document[:end] + document[start:end] * many + document[end:]


def _spliced(document: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    other = random.choice(seeds)
    return (
        document[: random.randrange(len(document) + 1)] + other[random.randrange(len(other) + 1) :]
    )


def _inserted(document: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    at = random.randrange(len(document) + 1)
    return document[:at] + _token(random) + document[at:]


def _replaced(document: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    """A number or a word gives way to a token."""
    places = [
        match.span() for match in re.finditer(rb"-?\d[\d.eE+]*|[A-Za-z_]{2,}", document[:20_000])
    ]
    if not places:
        return _inserted(document, random, ())
    start, end = random.choice(places)
    return document[:start] + _token(random) + document[end:]


def _rewritten(document: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    """A word of 4 or 8 bytes gives way to a limit, as counts and lengths in binary files are."""
    size = random.choice((4, 8))
    if len(document) < size:
        return document
    at = random.randrange(0, min(len(document), 8192) - size + 1) // 4 * 4
    return (
        document[:at]
        + (random.choice(WORDS) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        + document[at + size :]
    )


def _shuffled(document: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    lines = document.split(b"\n")
    start = random.randrange(len(lines))
    part = lines[start : start + 5]
    random.shuffle(part)
    lines[start : start + 5] = part
    return b"\n".join(lines)


def _nested(document: bytes, random: Random, _: Sequence[bytes]) -> bytes:
    opened = random.choice((b"[", b'{"a":', b"{a=", b"[[", b"(", b"<", b"a."))
    at = random.choice(
        [match.end() for match in re.finditer(rb"[=:,\[]", document[:20_000])] or [0]
    )
    return document[:at] + opened * random.choice(DEEP) + document[at:]


CHANGES: tuple[Callable[[bytes, Random, Sequence[bytes]], bytes], ...] = (
    _flipped,
    _flipped,
    _cut,
    _removed,
    _repeated,
    _spliced,
    _inserted,
    _replaced,
    _replaced,
    _rewritten,
    _rewritten,
    _shuffled,
    _nested,
)


def _token(random: Random) -> bytes:
    token = random.choice(random.choice((NUMBERS, TEXTS)))
    return token.encode("latin-1" if random.random() < 0.05 and token.isascii() else "utf-8")


def _reshaped(document: bytes, random: Random) -> bytes | None:
    """A JSON document, or one line of it, with some of its values of another kind; None where it is
    not JSON.
    """
    lines = document.split(b"\n")
    whole = random.random() < 0.5 or len(lines) == 1
    number = 0 if whole else random.randrange(len(lines))
    try:
        found = json.loads(document if whole else lines[number])
    except (ValueError, RecursionError):
        return None
    raw: list[str] = []
    for _ in range(random.choice((1, 1, 2, 4))):
        found = _changed(found, random, raw)
    text = SHAPED.sub(lambda match: raw[int(match[1])], json.dumps(found))
    made = text.encode("utf-8", "surrogatepass")
    if whole:
        return made
    lines[number] = made
    return b"\n".join(lines)


def _changed(value: Any, random: Random, raw: list[str]) -> Any:
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(list(value))
        if (chance := random.random()) < 0.05:
            return {name: inner for name, inner in value.items() if name != key}
        if chance < 0.1:
            return value | {_name(random): value[key]}
        return value | {key: _changed(value[key], random, raw)}
    if isinstance(value, list) and value and random.random() < 0.9:
        at = random.randrange(len(value))
        if (chance := random.random()) < 0.05:
            return value[:at] + value[at + 1 :]
        if chance < 0.1:
            return value * random.choice((2, 50))
        return [*value[:at], _changed(value[at], random, raw), *value[at + 1 :]]
    return _hostile(random, raw)


def _name(random: Random) -> str:
    return random.choice(
        ("", "a" * 10_001, "\ud800", "\0", "__class__", "uid", "size", "execution", "x")
    )


def _hostile(random: Random, raw: list[str]) -> Any:
    """A value; what json cannot write stands in ``raw`` and is put in by its number."""
    if (chance := random.random()) < 0.3:
        return random.choice(VALUES)
    if chance < 0.4:
        depth = random.choice(DEEP)
        opened, closed = random.choice((("[", "]"), ('{"a":', "}")))
        raw.append(opened * depth + "1" + closed * depth)
    elif chance < 0.7:
        raw.append(random.choice(NUMBERS))
    else:
        raw.append(f'"{random.choice(TEXTS)}"')
    return f"@{len(raw) - 1}@"
