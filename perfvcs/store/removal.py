"""The record of a profile that was removed from the store, so that it stays out when stores are united."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from perfvcs.foreign import UNDECODABLE
from perfvcs.store.document import PROFILE_PATH

REMOVED_FOLDER = "removed"  # in the store's tree, with the paths of profiles below it
FORMAT = "perfvcs-removal/1"
LARGEST_REMOVAL = 1024  # of a removal's document: `git fetch` brings files of up to this size at once
MOST_TIMES = 1000
NAME_BYTES = 150  # bytes of a name, and of a reason


class Removal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By whom, when (UTC, ISO 8601) and why a profile was removed, or stored again.

    ``times`` counts both: the profile is removed if the number is odd. Of two removals of one profile the one with the
    greater number is the later one, whatever clocks say (a causal-length set: Yu and Rostad 2020, doi 10.1145/3380787.3393678).
    """

    format: str
    profile: str
    times: int
    by: str
    when: str
    why: str

    @property
    def out(self) -> bool:
        """Whether the profile is out of the store."""
        return self.times % 2 == 1

    def encode(self) -> bytes:
        """The document."""
        return msgspec.json.encode(self) + b"\n"


def place_of(path: str) -> str:
    """The path in the store of the removal of the profile at ``path``."""
    return f"{REMOVED_FOLDER}/{path}"


def profile_of(removal_path: str) -> str | None:
    """The path of the profile whose removal is at ``removal_path``; None if that is not the path of a removal."""
    top, _, path = removal_path.partition("/")
    return path if top == REMOVED_FOLDER and PROFILE_PATH.fullmatch(path) else None


def at(removal_path: str, document: bytes) -> Removal | str:
    """The removal in a document at ``removal_path``, or why it is not one."""
    path = profile_of(removal_path)
    return "it is not at the path of a removal" if path is None else decode(document, path)


def following(path: str, last: Removal | None, by: str, when: float, why: str) -> Removal:
    """The removal of a profile that is there, or its end where the profile comes back."""
    times = min(last.times + 1 if last else 1, MOST_TIMES)
    return Removal(FORMAT, path, times, _clipped(by), f"{datetime.fromtimestamp(when, UTC):%Y-%m-%dT%H:%M:%SZ}", _clipped(why))


def decode(document: bytes, path: str) -> Removal | str:
    """The removal of the profile at ``path`` in a document, or why it is none."""
    if len(document) > LARGEST_REMOVAL:
        return f"it has over {LARGEST_REMOVAL:,} bytes"
    try:
        found = msgspec.json.decode(document, type=Removal)
    except UNDECODABLE as error:
        return str(error)
    if found.format != FORMAT:
        return f"its format is {found.format!a:.40}, this version reads {FORMAT}"
    if found.profile != path:
        return "it is about another profile"
    if not 1 <= found.times <= MOST_TIMES:
        return f"`times` is not between 1 and {MOST_TIMES}"
    return found


def of(document: bytes) -> Removal | None:
    """The removal in a document whose place is not known; None if it is none."""
    with suppress(*UNDECODABLE):
        path = msgspec.json.decode(document[:LARGEST_REMOVAL], type=Removal).profile
        found = decode(document, path)
        return found if isinstance(found, Removal) and PROFILE_PATH.fullmatch(path) else None
    return None


def later(one: bytes, other: bytes, path: str) -> bytes:
    """Which of two documents about one profile holds; both sides of an exchange choose the same."""
    found = [(removal.times, document) for document in (one, other) if isinstance(removal := decode(document, path), Removal)]
    return max(found)[1] if found else one


def _clipped(text: str) -> str:
    """The beginning of a text, without what JSON writes with more bytes than one character has."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    return plain.encode("utf-8", "replace")[:NAME_BYTES].decode("utf-8", "ignore")
