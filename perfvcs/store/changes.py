"""What a commit changes in the store: profiles, and with them what is kept of those that were removed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Set

from perfvcs.git.bare import Bare
from perfvcs.git.stream import Import
from perfvcs.store.removal import LARGEST_REMOVAL, REMOVED_FOLDER, Removal, decode, following, later, place_of


def counted(
    git: Bare, stream: Import, tip: str, wanted: Mapping[str, str | None], gone: Set[str], who: str, why: str
) -> dict[str, str | None]:
    """What of some changes is needed at a commit of the store, by paths: a blob, None for none.

    With it come the removals of the profiles in ``gone``, and the ends of the removals of profiles that come back.
    """
    needed = {path: wanted[path] for path, blob in stream.present(tip, wanted) if blob != wanted[path]}
    known = _known(git, stream, tip, needed)
    for path in list(needed):
        last = decode(known[path], path) if path in known else None
        before = last if isinstance(last, Removal) else None
        if path in gone if needed[path] is None else before is not None and before.out:
            needed[place_of(path)] = stream.blob(following(path, before, who, time.time(), why).encode())
    return needed


def united(
    git: Bare, stream: Import, tip: str, coming: Mapping[str, str], removals: Mapping[str, bytes]
) -> dict[str, str | None]:
    """What changes at a commit of the store when the blobs ``coming`` and ``removals`` by profiles join it, by paths."""
    known = _known(git, stream, tip, {**coming, **removals})
    wanted: dict[str, str | None] = dict(coming)
    for path in {**known, **removals}:
        sides = [side[path] for side in (known, removals) if path in side]
        holds = later(sides[0], sides[-1], path)
        if holds != known.get(path):
            wanted[place_of(path)] = stream.blob(holds)
        found = decode(holds, path)
        if isinstance(found, Removal) and found.out:
            wanted[path] = None
    return {path: wanted[path] for path, blob in stream.present(tip, wanted) if blob != wanted[path]}


def _known(git: Bare, stream: Import, tip: str, paths: Iterable[str]) -> dict[str, bytes]:
    """The removals that a commit of the store has of some profiles."""
    if not stream.has_folder(tip, REMOVED_FOLDER):
        return {}
    places = {place_of(path): path for path in paths}
    blobs = {places[place]: blob for place, blob in stream.present(tip, places) if blob}
    documents = zip(blobs, git.objects(blobs.values(), LARGEST_REMOVAL), strict=True)
    return {path: document for path, document in documents if isinstance(document, bytes)}
