"""Profiles whose rows comparisons need, opened one after another, and no more than so many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perfvcs.profile import Profile
from perfvcs.profile.summary import Header
from perfvcs.repository import Repository

OPENED = 200  # profiles whose rows are read if a verdict needs them
Read = Callable[["Sequence[Header]"], "Sequence[Profile]"]


class NotOpened(Exception):
    """A comparison needs the rows of profiles that are not opened here."""


def unopened(_: Sequence[Header]) -> Sequence[Profile]:
    """Replaces a reader in a fork, which must not use the store or the index."""
    raise NotOpened


class ProfileReader:
    """Opens profiles, and keeps the last ones: the next of two neighbours needs one again."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._kept: dict[str, Profile] = {}
        self.left = OPENED

    def read(self, headers: Sequence[Header]) -> Sequence[Profile]:
        """The profiles of headers."""
        new = [header for header in headers if header.path not in self._kept]
        self.left -= len(new)
        if self.left < 0:
            raise NotOpened
        opened = dict(
            zip((header.path for header in new), self._repository.profiles(new), strict=True)
        )
        self._kept = {
            header.path: self._kept.get(header.path) or opened[header.path] for header in headers
        }
        return [self._kept[header.path] for header in headers]
