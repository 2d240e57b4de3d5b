"""``perf mutate``."""

from __future__ import annotations

import click

from perfvcs.commands._completion import revisions
from perfvcs.commands._options import job_option, measuring
from perfvcs.commands._output import echo


@click.command()
@click.argument("revision", default="HEAD", shell_complete=revisions)
@job_option("configured")
@click.option(
    "-n",
    "--number",
    "count",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Number of slowdowns to plant.",
)
@click.option(
    "-m",
    "--metric",
    type=click.Choice(["bytecodes", "instructions"]),
    default="bytecodes",
    show_default=True,
    help="What detects them; only instructions see C functions.",
)
@click.option(
    "--delta",
    metavar="PERCENT",
    type=click.FloatRange(0, 1000),
    default=1.0,
    show_default=True,
    help="Smallest slowdown that counts as detected.",
)
@click.option(
    "--budget",
    metavar="TIME",
    default="30min",
    show_default=True,
    help="Plant nothing more after this time.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the choice of slowdowns."
)
@click.option("--wait", is_flag=True, help="Wait for another measuring run instead of failing.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    revision: str,
    jobs: tuple[str, ...],
    count: int,
    metric: str,
    delta: float,
    budget: str,
    seed: int,
    *,
    wait: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Plant known slowdowns in Python functions and list those that the benchmarks miss.

    Plants one slowdown at a time, in a checkout beside the working tree, in functions that a
    benchmark runs, costly functions first.
    """
    from perfvcs.jobs.config import seconds
    from perfvcs.locate.blame.guard import GuardRequest, guard
    from perfvcs.reports.select import json, lines
    from perfvcs.repository import Repository

    repository = Repository.find(create=True)
    request = GuardRequest(
        revision, count, delta / 100, seconds(budget, "--budget"), seed, jobs, metric, wait=wait
    )
    with measuring(repository, quiet=quiet or as_json) as rig:
        found = guard(rig, request)
    echo(json(found) if as_json else "\n".join(lines(found)))
