"""``perf history``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._completion import words
from perfvcs.commands._options import flag
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.profile.benchmarkfilter import FilterWords
    from perfvcs.statistics.changepoints.steps import Detector


@examples(
    ("perf history", "all benchmarks up to HEAD"),
    ("perf history sort v1.0..HEAD", "one benchmark, a range"),
)
@click.command(cls=Naming)
@click.argument("names", nargs=-1, metavar="[BENCHMARK] [REVISION|A..B]", shell_complete=words)
@benchmark_options()
@click.option(
    "-n",
    "--number",
    type=click.IntRange(1),
    help="Number of commits to list; the default is what fits a screen.",
)
@flag("-a", "--all", "everything", "List all changes, with all that is known of each.")
@click.option(
    "--detector",
    type=click.Choice(["series", "horvath"]),
    default="series",
    show_default=True,
    help="What looks for steps: all that a series shows, or Horvath's likelihood-ratio test.",
)
@flag("--json", "as_json", "Print JSON.")
def command(
    names: tuple[str, ...],
    wanted: FilterWords,
    number: int | None,
    detector: Detector,
    *,
    everything: bool,
    as_json: bool,
) -> None:
    """List lasting changes: the commits at which benchmarks became slower or faster.

    Covers all benchmarks, or those whose names begin with BENCHMARK, up to a revision (HEAD) or
    within a range.
    """
    from perfvcs.history.judging import meanwhile
    from perfvcs.history.overview import overview_of
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read
    from perfvcs.repository.lookup import elsewhere

    repository = Repository.find()
    asked = read(lambda: repository, names, wanted, way="several")
    overview = overview_of(repository, asked.revision, asked.benchmarks, detector=detector)
    if as_json:
        from perfvcs.reports.historydocument import json

        listed = overview.of_newest(None if everything else number)
        echo(json(overview, listed, meanwhile(repository, listed)))
    else:
        from perfvcs.reports.history import lines

        hosts = meanwhile(repository, overview.findings)
        other = "" if overview.lines else elsewhere(repository)
        listing = lines(overview, number, everything=everything, hosts=hosts, elsewhere=other)
        echo("\n".join(listing))
