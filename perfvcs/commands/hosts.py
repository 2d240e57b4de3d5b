"""``perf hosts``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo


@click.command()
@click.argument("host", required=False, default="")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, host: str, as_json: bool) -> None:
    """List the hosts that measured, with their configuration, noise and pace.

    With HOST: every change of its configuration.
    """
    from perfvcs.reports.hosts import hosts_of
    from perfvcs.repository import Repository

    found = hosts_of(Repository.find(), host)
    echo(found.json() if as_json else "\n".join(found.lines()))
