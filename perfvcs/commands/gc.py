"""``perf gc``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo


@click.command()
@click.option("--squash", is_flag=False, flag_value="", metavar="[REMOTE]",
              help="Shorten the history of a remote's profiles to one commit; they all stay.")  # fmt: skip
def command(*, squash: str | None) -> None:
    """Pack the store and remove the leftovers of crashes and failed measurements."""
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
