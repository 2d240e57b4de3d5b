"""A file of a site: where it stands, what it is made from, and how it is made when that has moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec

VERSION = 1  # of what is made from the same data; raise it whenever pages change
DIGEST = 16  # bytes


@dataclass(frozen=True)
class Leaf:
    """One or several files that are made together; ``key`` is a digest of all that they are made from.

    ``shared``: another process may make them, too, since they need nothing but what is in memory.
    """

    paths: tuple[str, ...]
    key: str
    make: Callable[[], tuple[bytes, ...]]
    shared: bool = False


def digest(*parts: bytes) -> str:
    """A digest of some parts, which cannot run into one another."""
    found = blake2b(digest_size=DIGEST)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()


def packed(*values: Any) -> bytes:
    """Values as bytes for a digest."""
    return msgspec.msgpack.encode(values, order="deterministic")
