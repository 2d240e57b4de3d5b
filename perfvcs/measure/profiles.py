"""The profile of a cell on a version, from what its blocks recorded and what its executor says of the series."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from perfvcs import __version__
from perfvcs.measure.journal import Identity, moment
from perfvcs.measure.recording import JobRecording
from perfvcs.measure.tally import About, Tally
from perfvcs.profile import Collected, Design, Profile


class CellPlace(NamedTuple):
    """A cell on a version, by their numbers, on a host (empty: here); ``engine`` is the one used, if that is known only afterwards."""

    number: int
    position: int
    engine: str = ""
    host: str = ""


def profile_of(
    tally: Tally, identity: Identity, place: CellPlace, recording: JobRecording, about: About, ended: datetime
) -> Profile:
    """The profile of what was recorded at a place."""
    cell, version, several = tally.cells[place.number], tally.versions[place.position], len(tally.versions) > 1
    return Profile(
        commit=version.commit, dirty=version.dirty, job=about.job,
        metrics=recording.metrics, resources=recording.resources(), stacks=recording.stacks(),
        reached=recording.reached or about.reached, turns=recording.turns if several else None,
        collected=Collected(identity.session, identity.started, moment(ended), f"perfvcs {__version__}"),
        environment=about.environment,
        design=Design(
            binaries=cell.binaries, executions=recording.executions, warmup=cell.warmup, seed=identity.seed,
            version=place.position, order="interleaved" if several else "sequential",
            versions=[one.product.name if one.product else one.commit for one in tally.versions],
            failed=tally.blocks.failed(place.number, place.position, place.host),
            product=version.product.recorded if version.product else None,
        ),
    )  # fmt: skip
