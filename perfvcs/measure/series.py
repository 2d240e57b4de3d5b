"""Which series the cells of a session belong to, and whether that is what it was before an interruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from perfvcs.errors import UsageError
from perfvcs.measure.sites import Sites
from perfvcs.profile import Job


class Changed(UsageError):
    """An interrupted session would go on to measure something else than it has measured."""


class CellSeries:
    """The series of cells on versions, by their numbers: the key of the job and the fingerprint of the environment.

    ``before`` has those of the blocks from before the session was continued.
    """

    def __init__(self, sites: Sites, names: Sequence[str], session: str) -> None:
        self.sites, self.names, self.session = sites, names, session
        self.before: Mapping[tuple[int, int], tuple[str, str]] = {}
        self._known: dict[tuple[int, int, str], tuple[str, str]] = {}

    def job(self, number: int, position: int, engine: str) -> Job:
        """What identifies the series; ``engine`` is the one that was used, if that is known only afterwards."""
        job = self.sites.job(number, position)
        return structs.replace(job, engine=engine or job.engine)

    def of(self, number: int, position: int, engine: str) -> tuple[str, str]:
        """The series now; raises Changed where it was another one before."""
        place = number, position, engine
        if place not in self._known:
            found = self.job(number, position, engine).key, self.sites.environment(number, position).fingerprint
            before = self.before.get((number, position), found)
            if before != found:
                what = "its files, options or engine" if before[0] != found[0] else "the machine or its software"
                raise Changed(
                    f"{self.names[number]} on {self.sites.versions[position].name}: {what} changed since the session was interrupted: "
                    f"undo that, or give it up with `perf rm {self.session}` (its profiles stay) and measure anew"
                )
            self._known[place] = found
        return self._known[place]
