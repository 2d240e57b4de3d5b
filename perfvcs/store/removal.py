"""The record of a profile that was removed from the store: it keeps the profile out when stores are
united.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from perfvcs.errors import PerfError
from perfvcs.git.bare import Bare, Fault
from perfvcs.git.stream import Import
from perfvcs.profile import Profile
from perfvcs.profile.decoding import decode
from perfvcs.profile.validity import Malformed
from perfvcs.system.foreign import UNDECODABLE

PROFILE_PATH = re.compile(
    r"([0-9a-f]{2})/(\1(?:[0-9a-f]{38}|[0-9a-f]{62}))/([a-z0-9][a-z0-9._-]*-([0-9a-f]{12})\.json)"
)
MAX_FOLDED = 40  # characters of a folded name
REMOVED_FOLDER = "removed"  # in the store's tree, with the paths of profiles below it
FORMAT = "perfvcs-removal/1"
# of a removal's document: `git fetch` brings files of up to this size at once
LARGEST_REMOVAL = 1024
MOST_TIMES = 1000
NAME_BYTES = 150  # bytes of a name, and of a reason


class Damaged(PerfError):
    """Something in the store is not what was put there, or is newer; ``reason`` is the message
    without its place and cure.
    """

    exit_code = 12

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


class Newer(Damaged):
    """The store is of a newer version of perfvcs."""


def fold(text: str) -> str:
    """A name that is safe in a file name: lower case, each run of all but ``a-z0-9._`` one ``-``,
    none at the ends; may be empty.
    """
    return re.sub(r"[^a-z0-9._]+", "-", text[:1000].lower())[:MAX_FOLDED].strip("-._")


def path_of(profile: Profile, document: bytes) -> str:
    """The path in the store of a profile with this document."""
    import hashlib

    job = profile.job
    names = (
        fold(job.collector) or "x",
        fold(job.workload) or fold(job.name) or "x",
        hashlib.sha256(document).hexdigest()[:12],
    )
    return f"{profile.commit[:2]}/{profile.commit}/{'-'.join(names)}.json"


def whole(path: str, document: bytes | Fault) -> bool:
    """Whether a document is the one that was stored at ``path``, whatever is in it."""
    import hashlib

    match = PROFILE_PATH.fullmatch(path)
    return (
        match is not None
        and isinstance(document, bytes)
        and hashlib.sha256(document).hexdigest()[:12] == match[4]
    )


def verified(path: str, document: bytes | Fault) -> Profile:
    """The profile in a document from ``path``; raises Damaged unless it belongs there."""
    if PROFILE_PATH.fullmatch(path) is None:
        raise damaged(path, "it is not at the path of a profile")
    if isinstance(document, Fault):
        raise damaged(path, document.reason)
    if not whole(path, document):
        raise damaged(path, "its content does not match its name")
    try:
        profile = decode(document)
    except Malformed as error:
        raise damaged(path, str(error)) from None
    if path_of(profile, document) != path:
        raise damaged(path, f"it belongs at {path_of(profile, document)}")
    return profile


def damaged(path: str, reason: str) -> Damaged:
    """The error about one path, with its cure."""
    return Damaged(
        f"the stored profile {path!a:.250} is damaged: {reason}; `perf fsck` lists all damage,"
        " `perf rm` removes a profile",
        reason,
    )


class Removal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By whom, when (UTC, ISO 8601) and why a profile was removed, or stored again.

    ``times`` counts both: the profile is removed if the number is odd. Of two removals of one
    profile the one with the greater number is the later one, whatever clocks say (a causal-length
    set: Yu and Rostad 2020, doi 10.1145/3380787.3393678).
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
    """The path of the profile whose removal is at ``removal_path``; None if it is no removal."""
    top, _, path = removal_path.partition("/")
    return path if top == REMOVED_FOLDER and PROFILE_PATH.fullmatch(path) else None


def at(removal_path: str, document: bytes) -> Removal | str:
    """The removal in a document at ``removal_path``, or why it is not one."""
    path = profile_of(removal_path)
    return "it is not at the path of a removal" if path is None else decode_removal(document, path)


def following(path: str, last: Removal | None, by: str, when: float, why: str) -> Removal:
    """The removal of a profile that is there, or its end where the profile comes back."""
    times = min(last.times + 1 if last else 1, MOST_TIMES)
    return Removal(
        FORMAT,
        path,
        times,
        _clipped(by),
        f"{datetime.fromtimestamp(when, UTC):%Y-%m-%dT%H:%M:%SZ}",
        _clipped(why),
    )


def decode_removal(document: bytes, path: str) -> Removal | str:
    """The removal of the profile at ``path`` in a document, or why it is none."""
    if len(document) > LARGEST_REMOVAL:
        return f"it has over {LARGEST_REMOVAL:,} bytes"
    try:
        removal = msgspec.json.decode(document, type=Removal)
    except UNDECODABLE as error:
        return str(error)
    if removal.format != FORMAT:
        return f"its format is {removal.format!a:.40}, this version reads {FORMAT}"
    if removal.profile != path:
        return "it is about another profile"
    if not 1 <= removal.times <= MOST_TIMES:
        return f"`times` is not between 1 and {MOST_TIMES}"
    return removal


def of(document: bytes) -> Removal | None:
    """The removal in a document whose place is not known; None if it is none."""
    with suppress(*UNDECODABLE):
        path = msgspec.json.decode(document[:LARGEST_REMOVAL], type=Removal).profile
        removal = decode_removal(document, path)
        return removal if isinstance(removal, Removal) and PROFILE_PATH.fullmatch(path) else None
    return None


def later(first: bytes, second: bytes, path: str) -> bytes:
    """The document that holds, of two about one profile; both sides of an exchange agree on it."""
    readable = [
        (removal.times, document)
        for document in (first, second)
        if isinstance(removal := decode_removal(document, path), Removal)
    ]
    return max(readable)[1] if readable else first


def _clipped(text: str) -> str:
    """The beginning of a text, without what JSON writes with more bytes than one character has."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    return plain.encode("utf-8", "replace")[:NAME_BYTES].decode("utf-8", "ignore")


def counted(
    git: Bare,
    stream: Import,
    tip: str,
    wanted: Mapping[str, str | None],
    gone: Set[str],
    who: str,
    why: str,
) -> dict[str, str | None]:
    """What of some changes is needed at a commit of the store, by paths: a blob, None for none.

    With it come the removals of the profiles in ``gone``, and the ends of the removals of profiles
    that come back.
    """
    needed = {
        path: wanted[path] for path, blob in stream.present(tip, wanted) if blob != wanted[path]
    }
    removals = _known(git, stream, tip, needed)
    for path in list(needed):
        last = decode_removal(removals[path], path) if path in removals else None
        before = last if isinstance(last, Removal) else None
        goes = needed[path] is None and path in gone
        comes_back = needed[path] is not None and before is not None and before.out
        if goes or comes_back:
            needed[place_of(path)] = stream.blob(
                following(path, before, who, time.time(), why).encode()
            )
    return needed


def united(
    git: Bare, stream: Import, tip: str, coming: Mapping[str, str], removals: Mapping[str, bytes]
) -> dict[str, str | None]:
    """What changes at a commit of the store when the blobs ``coming`` and ``removals`` by profiles
    join it, by paths.
    """
    stored = _known(git, stream, tip, {**coming, **removals})
    wanted: dict[str, str | None] = dict(coming)
    for path in {**stored, **removals}:
        sides = [side[path] for side in (stored, removals) if path in side]
        holds = later(sides[0], sides[-1], path)
        if holds != stored.get(path):
            wanted[place_of(path)] = stream.blob(holds)
        removal = decode_removal(holds, path)
        if isinstance(removal, Removal) and removal.out:
            wanted[path] = None
    return {
        path: wanted[path] for path, blob in stream.present(tip, wanted) if blob != wanted[path]
    }


def _known(git: Bare, stream: Import, tip: str, paths: Iterable[str]) -> dict[str, bytes]:
    """The removals that a commit of the store has of some profiles."""
    if not stream.has_folder(tip, REMOVED_FOLDER):
        return {}
    places = {place_of(path): path for path in paths}
    blobs = {places[place]: blob for place, blob in stream.present(tip, places) if blob}
    documents = zip(blobs, git.objects(blobs.values(), LARGEST_REMOVAL), strict=True)
    return {path: document for path, document in documents if isinstance(document, bytes)}
