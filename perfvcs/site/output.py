"""A file of a site: where it stands, what it is made from, and how it is made when that has moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

PAGES_VERSION = 3  # of what is made from the same data; raise it whenever pages change
DIGEST = 32  # characters


@dataclass(frozen=True)
class Output:
    """One or several files that are made together; ``key`` is a digest of all that they are made from.

    ``shared``: another process may make them, too, since they need nothing but what is in memory. ``last``: they are put in place after all
    others, to which they link; so what takes long can be made first.
    """

    paths: tuple[str, ...]
    key: str
    make: Callable[[], tuple[bytes, ...]]
    shared: bool = False
    last: bool = False


def digest(*parts: bytes) -> str:
    """A digest of some parts, which cannot run into one another. SHA-256, which processors have: every byte of a site goes through it."""
    found = sha256(usedforsecurity=False)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()[:DIGEST]


def packed(*values: Any) -> bytes:
    """Values as bytes for a digest."""
    return msgspec.msgpack.encode(values, order="deterministic")
