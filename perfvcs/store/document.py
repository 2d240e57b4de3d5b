"""The path of a profile in the store, and whether a document found there belongs there."""

from __future__ import annotations

import re

from perfvcs.errors import PerfError
from perfvcs.git.bare import Fault
from perfvcs.profile import Profile, decode
from perfvcs.validity import Malformed

PROFILE_PATH = re.compile(r"([0-9a-f]{2})/(\1(?:[0-9a-f]{38}|[0-9a-f]{62}))/([a-z0-9][a-z0-9._-]*-([0-9a-f]{12})\.json)")
MAX_FOLDED = 40


class Damaged(PerfError):
    """Something in the store is not what was put there, or is newer; ``reason`` is the message without its place and cure."""

    exit_code = 12

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


class Newer(Damaged):
    """The store is of a newer version of perfvcs."""


def fold(text: str) -> str:
    """A name that is safe in a file name: lower case, each run of all but ``a-z0-9._`` one ``-``, none at the ends; may be empty."""
    return re.sub(r"[^a-z0-9._]+", "-", text[:1000].lower())[:MAX_FOLDED].strip("-._")


def path_of(profile: Profile, document: bytes) -> str:
    """The path in the store of a profile with this document."""
    import hashlib

    job = profile.job
    names = (fold(job.collector) or "x", fold(job.workload) or fold(job.name) or "x", hashlib.sha256(document).hexdigest()[:12])
    return f"{profile.commit[:2]}/{profile.commit}/{'-'.join(names)}.json"


def whole(path: str, document: bytes | Fault) -> bool:
    """Whether a document is the one that was stored at ``path``, whatever is in it."""
    import hashlib

    match = PROFILE_PATH.fullmatch(path)
    return match is not None and isinstance(document, bytes) and hashlib.sha256(document).hexdigest()[:12] == match[4]


def verified(path: str, document: bytes | Fault) -> Profile:
    """The profile in a document that was read from ``path``; raises Damaged unless it belongs there."""
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
        f"the stored profile {path!a:.250} is damaged: {reason}; `perf fsck` lists all damage, `perf rm` removes a profile",
        reason,
    )
