"""``perf log``."""

from __future__ import annotations

import click

from perfvcs.commands._completion import revisions
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples


@examples(
    ("perf log -n 5", "five commits with profiles"),
    ("perf log v1.0..HEAD --all", "all commits of a range"),
)
@click.command()
@click.argument("revision", default="HEAD", metavar="[REVISION|A..B]", shell_complete=revisions)
@click.option(
    "-n",
    "--number",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Number of commits to show.",
)
@click.option("-a", "--all", "everything", is_flag=True, help="Include commits without profiles.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(revision: str, number: int, *, everything: bool, as_json: bool) -> None:
    """Show commits with their profiles, a sparkline per benchmark, and the last verdicts."""
    from perfvcs.reports.log import log_of
    from perfvcs.repository import Repository

    log = log_of(Repository.find(), revision, number, everything=everything)
    echo(log.json() if as_json else "\n".join(log.lines()))
