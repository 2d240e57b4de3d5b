"""What a bisection works on: a cell on the commits of a span, and what is known of them so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.locate.bisect.kept import KeptSites, SessionSites
from perfvcs.locate.bisect.span import CURE, UnmeasurableEnd, require_room
from perfvcs.measure.request import Request
from perfvcs.measure.rig import versions as versions_of
from perfvcs.repository.state import State

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.locate.bisect.saved import Begun, SavedBisections
    from perfvcs.locate.bisect.seen import Seen
    from perfvcs.locate.bisect.span import Span
    from perfvcs.measure.rig import Rig
    from perfvcs.measure.session import Session


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
