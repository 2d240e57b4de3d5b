"""The contract of the formats, which are found by their names in ``perfvcs/formats/``.

A format is a frozen dataclass; its fields are its options. It turns the bytes of a file into a
profile and never opens files itself. One whose files hold profiles of many commits has
``decode_all`` too, one that can be written ``encode``; one that can only be written has no
``decode``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol

from perfvcs.profile import Profile


class Format(Protocol):
    """What every member of the family offers; one that can be written has ``encode`` too."""

    # of files that are read from a folder; what is written gets the first
    suffixes: ClassVar[tuple[str, ...]]

    def recognises(self, name: str, head: bytes) -> bool:
        """Whether a file of this name, beginning with these bytes, is of this format.

        It is asked with an empty name first, for what the bytes alone show; where no format knows
        them, with more of the file, and its end.
        """
        ...

    def decode(self, document: bytes, stem: str = "") -> Profile:
        """The profile in a whole file; raises Malformed with the place.

        ``stem`` is the file's name without its suffix, for what the document leaves unnamed. Where
        the document names no commit, the profile's is ``UNKNOWN``.
        """
        ...


class Several(Format, Protocol):
    """A format whose files hold profiles of many commits."""

    def decode_all(self, document: bytes, stem: str = "") -> Iterator[Profile]:
        """The profiles in a whole file; raises Malformed with the place."""
        ...


class Writable(Protocol):
    """A format that can be written."""

    suffixes: ClassVar[tuple[str, ...]]

    def encode(self, profile: Profile) -> bytes:
        """The document of a profile, which ``decode`` reads again; raises Malformed where the
        format cannot hold it.
        """
        ...


class WritableTogether(Writable, Protocol):
    """A format that can hold several profiles in one file, whose usual name is ``file``."""

    file: ClassVar[str]

    def encode_all(self, profiles: Iterable[Profile]) -> bytes:
        """The document of several profiles; raises Malformed as ``encode`` does."""
        ...


class WritableFolder(Writable, Protocol):
    """A format whose files are a folder."""

    def folder(self, profiles: Iterable[Profile]) -> Iterator[tuple[str, bytes]]:
        """The files of several profiles, of which those of a commit follow each other, by their
        paths; raises Malformed.
        """
        ...
