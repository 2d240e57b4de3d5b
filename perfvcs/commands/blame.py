"""``perf blame``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from perfvcs.commands._completion import words
from perfvcs.commands._options import FilePath, Percent, measuring, options_as
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.locate.blame.blames import BlameWords
    from perfvcs.locate.blame.cause import Blame
    from perfvcs.locate.blame.comparison import BlameMetric
    from perfvcs.profile.benchmarkfilter import FilterWords
    from perfvcs.repository import Repository


class BlameOptions(NamedTuple):
    """What `perf blame` was asked for."""

    names: tuple[str, ...]
    wanted: FilterWords
    metric: BlameMetric
    delta: float
    budget: str
    no_proof: bool
    stored: bool
    wait: bool
    verbose: bool
    quiet: bool
    output: str | None
    as_json: bool
    as_sarif: bool


@examples(
    ("perf blame HEAD~1 HEAD", "count, suspect and prove"),
    ("perf blame HEAD~1 HEAD --no-proof", "only count and suspect"),
)
@click.command(cls=Naming)
@click.argument("names", nargs=-1, metavar="[A] [B] [BENCHMARK]", shell_complete=words)
@benchmark_options("configured", metric=False)
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
    type=Percent(),
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
@options_as(BlameOptions)
def command(options: BlameOptions) -> None:
    """Name the function and the hunk that made a benchmark slower or faster from A to B, and prove
    it.

    By default, B is HEAD, A is its parent, and BENCHMARK is the job that changed most. Counts both
    versions function by function, reverts the change of the most suspect function, and measures
    that version too.
    """
    from perfvcs.locate.blame.blames import asked, load, store
    from perfvcs.reports.blame import json, lines, sarif
    from perfvcs.repository import Repository

    if options.as_json and options.as_sarif:
        raise click.UsageError("--json and --sarif exclude each other")
    repository = Repository.find(create=not options.stored)
    named = asked(repository, options.names, options.wanted, runs=not options.stored)
    if options.stored:
        blame = load(repository, *named)
    else:
        blame = _measured(repository, named, options)
        store(repository, blame)
    if options.output:
        _write(blame, options.output)
    if options.as_json:
        echo(json(blame))
    elif options.as_sarif:
        echo(sarif(blame))
    else:
        echo("\n".join(lines(blame, verbose=options.verbose)))


def _measured(repository: Repository, named: BlameWords, options: BlameOptions) -> Blame:
    """The result of measuring."""
    from perfvcs.jobs.config import seconds
    from perfvcs.locate.blame.search import BlameRequest, blame

    request = BlameRequest(
        *named,
        options.metric,
        options.delta / 100,
        seconds(options.budget, "--budget"),
        prove=not options.no_proof,
        wait=options.wait,
    )
    quiet = options.quiet or options.as_json or options.as_sarif
    with measuring(repository, quiet=quiet) as rig:
        return blame(rig, request)


def _write(blame: Blame, output: str) -> None:
    """Write the page."""
    from pathlib import Path

    from perfvcs.exchange.delivery import into_file
    from perfvcs.reports.blamepage import page

    into_file(Path(output), page(blame).encode("utf-8", "replace"), force=True)
