"""How a profile was imported, apart or as a turn of a session: the same files imported in another
way are no more evidence.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from perfvcs.store.removal import path_of
from perfvcs.text.words import counted, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfvcs.index import Index
    from perfvcs.profile import Profile
    from perfvcs.profile.summary import Header


class ImportedTurn(NamedTuple):
    """What an import adds to what a file says: the session of a profile, and its place in it."""

    session: str
    order: Literal["interleaved", "sequential"]
    version: int
    versions: tuple[str, ...]

    @classmethod
    def of(cls, profile: Profile | Header) -> ImportedTurn:
        """That of a profile."""
        session, design = profile.collected.session, profile.design
        return cls(session, design.order, design.version, tuple(design.versions))

    def in_session(self, profile: Profile) -> Profile:
        """A profile as this turn of the session."""
        collected = replace(profile.collected, session=self.session)
        design = replace(
            profile.design, order=self.order, version=self.version, versions=list(self.versions)
        )
        return replace(profile, collected=collected, design=design)

    @property
    def title(self) -> str:
        """How it was imported, in words."""
        if self.order != "interleaved":
            return "as measured apart"
        return f"as measured in turns on {counted(len(self.versions), 'commit')}"


class StoredTurns:
    """Finds the same measurement in the store, however it was imported there.

    ``kept`` counts those that stay as they are and were to become turns of other commits, or none.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._names: dict[str, set[str]] = {}
        self._turns: dict[str, dict[str, set[ImportedTurn]]] = {}
        self.kept: Counter[str] = Counter()

    def had(self, path: str, origin: str = "") -> bool:
        """Whether the store had a profile at a path before, or what postprocessors made of a
        document (SHA-256) of its commit; looked up commit by commit, since a store may have a
        million.
        """
        commit = path.split("/")[1]
        if commit not in self._names:
            origins = self._index.origins(commit)
            self._names[commit] = {*origins, *filter(None, origins.values())}
        return not self._names[commit].isdisjoint((path, origin))

    def as_stored(self, profile: Profile, document: bytes) -> tuple[Profile, bytes]:
        """The profile and its ``document`` as the store has it, or has a version of it; as they are
        where it has none.
        """
        own = ImportedTurn.of(profile)
        if self._has(profile, document):
            return profile, document
        for turn in sorted(self._of(profile) - {own}):
            placed = turn.in_session(profile)
            encoded = placed.encode()
            if self._has(placed, encoded):
                self.kept[turn.title] += {*turn.versions} != {*own.versions}
                return placed, encoded
        return profile, document

    def _has(self, profile: Profile, document: bytes) -> bool:
        """Whether the store had it, or what a postprocessor made of it."""
        return self.had(path_of(profile, document), hashlib.sha256(document).hexdigest())

    def _of(self, profile: Profile) -> set[ImportedTurn]:
        """Those of what is stored of its benchmark on its commit."""
        commit = profile.commit
        if commit not in self._turns:
            by_job: dict[str, set[ImportedTurn]] = defaultdict(set)
            for header in self._index.headers([commit]):
                by_job[header.job.key].add(ImportedTurn.of(header))
            self._turns[commit] = by_job
        return self._turns[commit].get(profile.job.key, set())

    def lines(self) -> Iterator[str]:
        """What stays as it is, for people."""
        for title, count in self.kept.items():
            if count:
                stay = plural(count, "stays", "stay")
                those = f"{counted(count, 'profile')} {stay} {title}"
                yield f"{those}: `perf rm` them to import them anew"
