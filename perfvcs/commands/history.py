"""``perf history``."""

from __future__ import annotations

import click

from perfvcs.commands._completion import benchmarks, metrics
from perfvcs.commands._output import echo


@click.command()
@click.argument("names", nargs=-1, metavar="[BENCHMARK] [REVISION|A..B]", shell_complete=benchmarks)
@click.option("-m", "--metric", default="", metavar="NAME", help="Only this metric.", shell_complete=metrics)
@click.option("-n", "--number", type=click.IntRange(1), default=20, show_default=True, help="Number of steps to list.")
@click.option("-a", "--all", "everything", is_flag=True, help="List all steps.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(names: tuple[str, ...], metric: str, number: int, *, everything: bool, as_json: bool) -> None:
    """List lasting changes: the commits at which benchmarks became slower or faster, and drifts.

    Covers all benchmarks, or those whose names begin with BENCHMARK, up to a revision (HEAD) or within a range.
    """
    from perfvcs.history.meanwhile import meanwhile
    from perfvcs.history.overview import overview_of
    from perfvcs.reports.history import json, lines
    from perfvcs.repository import Repository

    if len(names) > 2:
        raise click.UsageError("at most a benchmark and a revision or range can be named")
    repository = Repository.find()
    found = overview_of(repository, names, metric=metric)
    most = None if everything else number
    hosts = meanwhile(repository, found.findings[:most])
    echo(json(found, most, hosts=hosts) if as_json else "\n".join(lines(found, most, hosts=hosts)))
