"""``perf gc``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo


@click.command()
def command() -> None:
    """Pack the store and remove the leftovers of crashes and failed measurements."""
    from perfvcs.repository import Repository

    repository = Repository.find()
    before = repository.size()
    repository.gc()
    echo(f"the store takes {repository.size():,} bytes now, {before:,} before")
