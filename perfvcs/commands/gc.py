"""``perf gc``."""

from __future__ import annotations

import click


@click.command()
def command() -> None:
    """Pack the store and drop what crashes left."""
    from perfvcs.repository import Repository

    repository = Repository.find()
    before = repository.size()
    repository.store.gc()
    click.echo(f"the store takes {repository.size():,} bytes now, {before:,} before")
