"""``perf plan``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo


@click.command()
@click.argument("revision", default="HEAD", metavar="[REVISION]")
@click.option("-j", "--job", "jobs", multiple=True, metavar="NAME", help="Only this job; may be repeated.")
@click.option("--delta", metavar="PERCENT", type=click.FloatRange(0, 1000), show_default="by metric, mostly 1",
              help="The smallest change that counts, as for check.")  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="All units and metrics, and what varies at which level.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(revision: str, jobs: tuple[str, ...], delta: float | None, *, verbose: bool, as_json: bool) -> None:
    """Say how small a change the stored design finds, and how many executions would find 1, 2, 5 or 10 %.

    From the newest sessions of each job on REVISION (HEAD) and before.
    """
    from perfvcs.reports.plan import plan
    from perfvcs.repository import Repository

    found = plan(Repository.find(), revision, jobs, None if delta is None else delta / 100)
    echo(found.json() if as_json else "\n".join(found.lines(verbose=verbose)))
