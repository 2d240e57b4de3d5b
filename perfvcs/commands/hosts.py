"""``perf hosts``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._options import flag, host_options, present
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.hosts.tls import Scheduler


@examples(("perf hosts", "one host a line"), ("perf hosts --json", "the same for programs"))
@click.command()
@click.argument("host", required=False, default="")
@host_options
@flag("--json", "as_json", "Print JSON.")
def command(*, host: str, scheduler: Scheduler, as_json: bool) -> None:
    """List the hosts that measured, with their configuration, noise and pace.

    With HOST: every change of its configuration. With --scheduler: also the hosts that are
    connected to it, as they are now.
    """
    from perfvcs.reports.hosts import hosts_of
    from perfvcs.repository import Repository

    repository = Repository.find()
    connected = present(scheduler, repository.project.root)
    hosts = hosts_of(repository, host, connected)
    echo(hosts.json() if as_json else "\n".join(hosts.lines()))
