"""``perf log``."""

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


@examples(
    ("perf log -n 5", "five commits with profiles"),
    ("perf log v1.0..HEAD --all", "all commits of a range"),
)
@click.command(cls=Naming)
@click.argument("names", nargs=-1, metavar="[REVISION|A..B] [BENCHMARK]", shell_complete=words)
@benchmark_options()
@click.option(
    "-n",
    "--number",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Number of commits to show.",
)
@flag("-a", "--all", "everything", "Include commits without profiles.")
@flag("--json", "as_json", "Print JSON.")
def command(
    names: tuple[str, ...], wanted: FilterWords, number: int, *, everything: bool, as_json: bool
) -> None:
    """Show commits with their profiles, a sparkline per benchmark, and the last verdicts.

    With BENCHMARK, shows only what is known of that.
    """
    from perfvcs.reports.log import log_of
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read

    repository = Repository.find()
    asked = read(lambda: repository, names, wanted)
    log = log_of(repository, asked.revision, number, asked.benchmarks, everything=everything)
    echo(log.json() if as_json else "\n".join(log.lines()))
