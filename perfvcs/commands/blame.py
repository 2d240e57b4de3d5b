"""``perf blame``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._completion import blamable
from perfvcs.commands._options import FilePath
from perfvcs.commands._output import echo

if TYPE_CHECKING:
    from perfvcs.locate.blame.cause import Blame
    from perfvcs.locate.blame.comparison import BlameMetric


@click.command()
@click.argument("names", nargs=-1, metavar="[A] [B] [BENCHMARK]", shell_complete=blamable)
@click.option(
    "-m",
    "--metric",
    type=click.Choice(["auto", "instructions", "bytecodes", "allocated", "cpu"]),
    default="auto",
    show_default=True,
    help="Metric that shows and proves the difference.",
)
@click.option(
    "--delta",
    metavar="PERCENT",
    type=click.FloatRange(0, 1000),
    default=1.0,
    show_default=True,
    help="Smallest difference that counts; a proof must come this close.",
)
@click.option(
    "--budget",
    metavar="TIME",
    default="30min",
    show_default=True,
    help="Try no further suspects after this time.",
)
@click.option("--no-proof", is_flag=True, help="Only rank the suspects.")
@click.option(
    "--stored", is_flag=True, help="Show the newest result for this pair, without measuring."
)
@click.option("--wait", is_flag=True, help="Wait for another measuring run instead of failing.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Show the hunks, the other suspects and all trials."
)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=FilePath(),
    help="Also write a page with the diff and both flame graphs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print it as SARIF.")
def command(
    names: tuple[str, ...],
    metric: BlameMetric,
    delta: float,
    budget: str,
    *,
    no_proof: bool,
    stored: bool,
    wait: bool,
    verbose: bool,
    quiet: bool,
    output: str | None,
    as_json: bool,
    as_sarif: bool,
) -> None:
    """Name the function and the hunk that made a benchmark slower or faster from A to B, and prove
    it.

    By default, B is HEAD, A is its parent, and BENCHMARK is the job that changed most. Counts both
    versions function by function, reverts the change of the most suspect function, and measures
    that version too.
    """
    from perfvcs.locate.blame.blames import asked, load, store
    from perfvcs.locate.blame.search import BlameRequest, blame
    from perfvcs.measure.progress import shown
    from perfvcs.reports.blame import json, lines, sarif
    from perfvcs.repository import Repository

    if as_json and as_sarif:
        raise click.UsageError("--json and --sarif exclude each other")
    repository = Repository.find(create=not stored)
    a, b, benchmark = asked(repository, names)
    if stored:
        found = load(repository, a, b, benchmark)
    else:
        from perfvcs.jobs.config import load as configuration
        from perfvcs.jobs.config import seconds
        from perfvcs.profile.rules import RULES_FILE

        request = BlameRequest(
            a,
            b,
            benchmark,
            metric,
            delta / 100,
            seconds(budget, "--budget"),
            prove=not no_proof,
            wait=wait,
        )
        with shown(quiet=quiet or as_json or as_sarif) as progress:
            found = blame(
                repository, configuration(repository.project.root / RULES_FILE), request, progress
            )
        store(repository, found)
    if output:
        _write(found, output)
    echo(
        json(found)
        if as_json
        else sarif(found)
        if as_sarif
        else "\n".join(lines(found, verbose=verbose))
    )


def _write(blame: Blame, output: str) -> None:
    """Write the page."""
    from pathlib import Path

    from perfvcs.exchange.delivery import into_file
    from perfvcs.reports.blame import page

    into_file(Path(output), page(blame).encode("utf-8", "replace"), force=True)
