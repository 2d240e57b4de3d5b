"""``perf mutate``."""

from __future__ import annotations

import click

from perfvcs.commands._completion import jobs, revisions
from perfvcs.commands._output import echo


@click.command()
@click.argument("revision", default="HEAD", shell_complete=revisions)
@click.option(
    "-j", "--job", "jobs", multiple=True, metavar="NAME", help="Only this job of perf.toml; may be repeated.", shell_complete=jobs
)
@click.option(
    "-n", "--number", "count", type=click.IntRange(1), default=20, show_default=True, help="How many slowdowns to plant."
)
@click.option("-m", "--metric", type=click.Choice(["bytecodes", "instructions"]), default="bytecodes", show_default=True,
              help="What notices them; instructions know what functions of C do.")  # fmt: skip
@click.option("--delta", metavar="PERCENT", type=click.FloatRange(0, 1000), default=1.0, show_default=True,
              help="The smallest slowdown that counts as noticed.")  # fmt: skip
@click.option(
    "--budget",
    metavar="MINUTES",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="Plant no more after that long.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Fixes which slowdowns are planted.")
@click.option("--wait", is_flag=True, help="Wait for another measuring run instead of failing.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(*, delta: float, budget: float, quiet: bool, as_json: bool, **asked: object) -> None:
    """Plant known slowdowns into Python functions and say which of them the benchmarks notice.

    Each is planted by itself, in a version beside the working tree, into a function that a benchmark runs, costly functions first.
    """
    from perfvcs.jobs.config import load
    from perfvcs.locate.guard import GuardRequest, guard
    from perfvcs.measure.progress import shown
    from perfvcs.reports.mutate import json, lines
    from perfvcs.repository import Repository
    from perfvcs.rules import FILE

    repository = Repository.find(create=True)
    request = GuardRequest(delta=delta / 100, budget=budget * 60, **asked)  # type: ignore[arg-type]
    with shown(quiet=quiet or as_json) as progress:
        found = guard(repository, load(repository.project.root / FILE), request, progress)
    echo(json(found) if as_json else "\n".join(lines(found)))
