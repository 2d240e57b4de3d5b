"""``perf pull``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo


@click.command()
@click.argument("remote", required=False, metavar="[REMOTE|ADDRESS|BUNDLE]")
@click.option(
    "--last", type=click.IntRange(1), metavar="N", help="Only of the N newest commits of HEAD that have profiles there."
)
@click.option("--since", metavar="DATE", help="Only of commits since a day, such as 2026-11-20.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would come.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
def command(remote: str | None, *, last: int | None, since: str | None, dry_run: bool, quiet: bool) -> None:
    """Take over the profiles that a remote has, and remove what others removed.

    Whatever comes is checked first. What is not a profile at its place is refused and named (exit code 12), the rest is taken. Nothing that
    was measured here is replaced.
    """
    from perfvcs.exchange.sharing import pull_from
    from perfvcs.repository import Repository

    repository = Repository.find(create=True)
    pulled = pull_from(repository, remote, last, since, dry=dry_run)
    if not quiet:
        echo("\n".join(pulled.lines(dry=dry_run)))
    pulled.raise_refused()
