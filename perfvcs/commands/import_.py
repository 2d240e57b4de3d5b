"""``perf import``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from perfvcs.profile import Profile


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "format_name", metavar="NAME", help="The files' format; guessed without it.")
def command(files: tuple[Path, ...], format_name: str | None) -> None:
    """Store profiles from files; a broken file is named and does not stop the others."""
    from perfvcs.errors import PerfError
    from perfvcs.formats import read
    from perfvcs.quantity import shorten
    from perfvcs.repository import Repository

    repository = Repository.find(create=True)
    broken: list[PerfError] = []

    def profiles() -> Iterator[Profile]:
        for file in files:
            try:
                yield read(file, format_name)
            except PerfError as error:
                broken.append(error)
                click.echo(f"perf: {shorten(str(error), 2000)}", err=True)

    stored = repository.store.add(profiles(), f"Import {len(files)} files")
    click.echo(f"stored {len(stored)} profile{'s' * (len(stored) != 1)}")
    if broken:
        click.get_current_context().exit(broken[0].exit_code)
