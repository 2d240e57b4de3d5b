"""``perf show``."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("names", nargs=-1, metavar="[REVISION [REVISION] | BENCHMARK]")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Where to write the page.")
@click.option("--view", metavar="NAME", help="Draw only this view.")
@click.option("--delta", metavar="PERCENT", type=click.FloatRange(0, 1000), show_default="1, recorded calls 5",
              help="The smallest change that counts.")  # fmt: skip
@click.option("--no-open", is_flag=True, help="Do not open the page in a browser.")
def command(names: tuple[str, ...], output: Path | None, view: str | None, delta: float | None, no_open: bool) -> None:
    """Draw a revision (HEAD), two revisions side by side, or the history of a benchmark.

    The page is one HTML file that needs no network. Without -o it is written to .perf/pages.
    """
    from perfvcs.page import render
    from perfvcs.reports.exhibit import exhibit
    from perfvcs.repository import Repository

    repository = Repository.find()
    page = render(exhibit(repository, names, delta=None if delta is None else delta / 100), view)
    path = repository.publish(page, names, output)
    click.echo(f"wrote {path}")
    if not no_open and sys.stdout.isatty():
        click.launch(str(path))
