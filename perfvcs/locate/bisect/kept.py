"""Sites that stay from one session of a bisection to the next: each commit is checked out and built
once.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from perfvcs.measure.sites import BuildFlags, SiteKind, Sites

if TYPE_CHECKING:
    from perfvcs.measure.site import Site, Version
    from perfvcs.measure.sites import FirstExecution
    from perfvcs.profile import Reached


class KeptSites:
    """The sites that were made so far, by commit, build and flags; they live as long as the
    ``stack``.

    ``warm`` as in ``Sites``: sessions that share them number their cells alike.
    """

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.known: dict[tuple[str, int, BuildFlags], Site] = {}
        self.warm: dict[tuple[int, Version], Reached | None] = {}
        self.first: dict[tuple[int, Version], FirstExecution] = {}


class SessionSites(Sites):
    """The sites of one session; takes from ``kept`` those that are already made."""

    def __init__(self, like: Sites, kept: KeptSites) -> None:
        super().__init__(
            like.project,
            like.home,
            like.config,
            like.cells,
            like.versions,
            like.knobs,
            like.changes,
        )
        self.kept, self.warm, self.first = kept, kept.warm, kept.first

    def prepare(self, position: int, kind: SiteKind, stack: ExitStack) -> None:  # noqa: ARG002
        """Makes a version's sites of one kind unless they exist; they outlive the session and its
        ``stack``.
        """
        commit = self.versions[position].commit
        places = [(commit, binary, kind.flags) for binary in range(kind.binaries)]
        if not all(place in self.kept.known for place in places):
            super().prepare(position, kind, self.kept.stack)
            self.kept.known |= {
                place: self._sites[position, place[1], kind.flags] for place in places
            }
        for place in places:
            self._sites[position, place[1], kind.flags] = self.kept.known[place]
