"""``perf select``."""

from __future__ import annotations

import click

from perfvcs.commands._completion import benchmarks
from perfvcs.commands._completion import revisions as complete_revisions
from perfvcs.commands._options import flag
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import job_option
from perfvcs.text.examples import examples


@examples(
    ("perf select HEAD~1..HEAD", "what this change can touch"),
    ("perf select --explain sort", "why this one is kept or left out"),
)
@click.command()
@click.argument(
    "revisions", nargs=-1, metavar="[A..B | [BASELINE] TARGET]", shell_complete=complete_revisions
)
@job_option("configured")
@click.option(
    "--explain",
    metavar="BENCHMARK",
    help="Say why this benchmark is kept or left out.",
    shell_complete=benchmarks,
)
@flag("-v", "--verbose", "List all benchmarks, however many have the same reason.")
@flag("--json", "as_json", "Print JSON.")
def command(
    revisions: tuple[str, ...],
    jobs: tuple[str, ...],
    explain: str | None,
    *,
    verbose: bool,
    as_json: bool,
) -> None:
    """List the benchmarks that a change can touch, and say why the others are left out.

    The change is A..B. Without revisions, it is everything since the nearest measured ancestor of
    HEAD, or the changes of the working tree. If the analysis cannot read a changed file, it keeps
    all benchmarks.
    """
    from perfvcs.reports.select import select
    from perfvcs.repository import Repository

    if len(revisions) > 2 or (
        len(revisions) == 2 and any(".." in revision for revision in revisions)
    ):
        raise click.UsageError("at most a baseline and a target can be named, or one range A..B")
    selection = select(Repository.find(create=bool(revisions)), revisions, jobs)
    if as_json:
        echo(selection.json())
        return
    for line in selection.explain(explain) if explain else selection.lines(verbose=verbose):
        echo(line)
