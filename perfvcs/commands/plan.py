"""``perf plan``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._completion import words
from perfvcs.commands._options import delta_option, flag
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.profile.benchmarkfilter import FilterWords


@examples(
    ("perf plan", "all jobs, from what is stored"),
    ("perf plan -j sort -v", "one job, with its variances"),
)
@click.command(cls=Naming)
@click.argument("names", nargs=-1, metavar="[REVISION] [BENCHMARK]", shell_complete=words)
@benchmark_options()
@delta_option("Smallest change that counts, as for check.")
@flag("-v", "--verbose", "Show all units and metrics, and the variance at each level.")
@flag("--json", "as_json", "Print JSON.")
def command(
    names: tuple[str, ...],
    wanted: FilterWords,
    delta: float | None,
    *,
    verbose: bool,
    as_json: bool,
) -> None:
    """Show the smallest change that your stored measurements can detect, and how many executions
    detect 1, 2, 5 or 10 %.

    Uses the newest sessions of each job on REVISION (HEAD) and its ancestors. With BENCHMARK, shows
    only that.
    """
    from perfvcs.reports.plan import plan
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read

    repository = Repository.find()
    asked = read(lambda: repository, names, wanted)
    detectable = plan(repository, asked.revision, asked.benchmarks, delta)
    echo(detectable.json() if as_json else "\n".join(detectable.lines(verbose=verbose)))
