"""``perf status``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Show what is measured at HEAD, what is missing, and the last verdict."""
    from perfvcs.reports.standing import standing
    from perfvcs.repository import Repository

    found = standing(Repository.find())
    echo(found.json() if as_json else "\n".join(found.lines()))
