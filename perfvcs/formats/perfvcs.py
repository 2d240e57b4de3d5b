"""Our own JSON documents, as docs/format.md specifies them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.profile import Profile
from perfvcs.profile.decoding import decode


@dataclass(frozen=True)
class Perfvcs:
    """A profile as it is in the store."""

    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By the format field, wherever it stands near the beginning."""
        return re.search(rb'"format"\s*:\s*"perfvcs-profile/', head) is not None

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - it leaves nothing unnamed
        """The profile; raises Malformed with the place."""
        return decode(document)

    def encode(self, profile: Profile) -> bytes:
        """The document, the same as the store's."""
        return profile.encode()
