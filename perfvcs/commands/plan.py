"""``perf plan``."""

from __future__ import annotations

import click

from perfvcs.commands._completion import revisions
from perfvcs.commands._options import Percent, job_option
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples


@examples(
    ("perf plan", "all jobs, from what is stored"),
    ("perf plan -j sort -v", "one job, with its variances"),
)
@click.command()
@click.argument("revision", default="HEAD", metavar="[REVISION]", shell_complete=revisions)
@job_option("stored")
@click.option(
    "--delta",
    metavar="PERCENT",
    type=Percent(),
    show_default="by metric, mostly 1",
    help="Smallest change that counts, as for check.",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Show all units and metrics, and the variance at each level.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    revision: str, jobs: tuple[str, ...], delta: float | None, *, verbose: bool, as_json: bool
) -> None:
    """Show the smallest change that your stored measurements can detect, and how many executions
    detect 1, 2, 5 or 10 %.

    Uses the newest sessions of each job on REVISION (HEAD) and its ancestors.
    """
    from perfvcs.reports.plan import plan
    from perfvcs.repository import Repository

    detectable = plan(Repository.find(), revision, jobs, None if delta is None else delta / 100)
    echo(detectable.json() if as_json else "\n".join(detectable.lines(verbose=verbose)))
