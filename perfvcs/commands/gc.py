"""``perf gc``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._output import echo
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.repository import Repository


@examples(
    ("perf gc", "the store here"), ("perf gc --squash origin", "the profiles' history at a remote")
)
@click.command()
@click.option(
    "--squash",
    is_flag=False,
    flag_value="",
    metavar="[REMOTE]",
    help="Shorten the history of a remote's profiles to one commit; all profiles stay.",
)
def command(*, squash: str | None) -> None:
    """Pack the store; remove surplus virtual environments and the leftovers of crashes and failed
    measurements.
    """
    from perfvcs.exchange import sharing
    from perfvcs.repository import Repository

    repository = Repository.find()
    if squash is not None:
        echo(sharing.squash(repository, squash or None))
        return
    before = repository.size()
    repository.gc()
    sharing.pack(repository)
    echo(f"the store takes {repository.size():,} bytes now, {before:,} before")
    _prune(repository)


def _prune(repository: Repository) -> None:
    """Remove the virtual environments beyond ``[python] keep``."""
    from perfvcs.jobs.config import kept
    from perfvcs.measure.pythons import PYTHONS_FOLDER, prune, taken
    from perfvcs.system.lock import Locked

    before = taken(repository.home)
    if not before.size:
        return
    try:
        with repository.measuring():
            prune(repository.home / PYTHONS_FOLDER, kept(repository.project.root))
    except Locked:
        echo("virtual environments are kept, since a measurement is running here")
        return
    echo(
        f"virtual environments take {taken(repository.home).size:,} bytes now, {before.size:,}"
        " before"
    )
