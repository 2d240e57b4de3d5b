"""``perf status``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo
from perfvcs.text.examples import examples


@examples(("perf status", "in words"), ("perf status --json", "for programs"))
@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, as_json: bool) -> None:
    """Show what is measured at HEAD, what is missing, and the last verdict."""
    from perfvcs.reports.status import status_of
    from perfvcs.repository import Repository

    state = status_of(Repository.find())
    echo(state.json() if as_json else "\n".join(state.lines()))
