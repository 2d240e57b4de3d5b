"""What a bisection works on: a cell on the commits of a span, what is known of them so far, and
their sites, each of which is made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.locate.bisect.span import CURE, UnmeasurableEnd, require_room
from perfvcs.measure.request import Request
from perfvcs.measure.rig import versions as versions_of
from perfvcs.measure.sites import BuildFlags, SiteKind, Sites
from perfvcs.repository.state import State

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.locate.bisect.saved import Begun, SavedBisections
    from perfvcs.locate.bisect.seen import Seen
    from perfvcs.locate.bisect.span import Span
    from perfvcs.measure.rig import Rig
    from perfvcs.measure.session import Session
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


@dataclass(frozen=True)
class Searched:
    """The cell that is measured on the commits of the ``span``; ``begun`` and ``seen`` are kept up
    to date.
    """

    rig: Rig
    cell: Cell
    span: Span
    begun: Begun
    saved: SavedBisections
    seen: Seen
    kept: KeptSites
    seed: int | None

    def sites(self, numbers: Sequence[int], cells: Sequence[Cell]) -> SessionSites:
        """The sites of a session that measures some commits, by their numbers."""
        states = [State(self.span.commits[number]) for number in numbers]
        versions = versions_of(self.rig.repository, states, Request(committed=True))
        return SessionSites(self.rig.sites(cells, versions), self.kept)

    def note_built(self, numbers: Sequence[int]) -> None:
        """Remember that commits were built, each once."""
        commits = [self.span.commits[number] for number in numbers]
        self.begun.built += [commit for commit in commits if commit not in self.begun.built]

    def skip(self, session: Session, numbers: Sequence[int], *, ends: bool) -> None:
        """Takes out the commits that failed; raises UnmeasurableEnd for one of the ``ends``,
        FullDisk.
        """
        collectors = ("", self.cell.collector_name)  # a collector that only guides may fail
        reasons = {
            failure.version: failure.reason
            for failure in session.failures
            if failure.collector in collectors
        }
        require_room(self.rig.repository.home, reasons.values())
        for number, version in zip(numbers, session.versions, strict=True):
            if version.name not in reasons:
                continue
            if 0 < number < self.span.last:
                self.begun.skipped[version.commit] = reasons[version.name]
            elif ends:
                end = "GOOD" if number == 0 else "BAD"
                raise UnmeasurableEnd(
                    f"{end} {version.name} cannot be measured (see above): {CURE}"
                )
        self.saved.write()
