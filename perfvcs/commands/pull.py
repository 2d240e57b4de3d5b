"""``perf pull``."""

from __future__ import annotations

import click

from perfvcs.commands._options import flag
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples


@examples(
    ("perf pull", "from the branch's remote"),
    ("perf pull origin --last 10", "only the newest ten commits"),
)
@click.command()
@click.argument("remote", required=False, metavar="[REMOTE|ADDRESS|BUNDLE]")
@click.option(
    "--last",
    type=click.IntRange(1),
    metavar="N",
    help="Only profiles of the N newest commits of HEAD that have any there.",
)
@click.option(
    "--since", metavar="DATE", help="Only profiles of commits since DATE, such as 2026-11-20."
)
@flag("-n", "--dry-run", "Only show what would be stored and removed.")
@flag("-q", "--quiet", "Print only errors.")
def command(
    remote: str | None, *, last: int | None, since: str | None, dry_run: bool, quiet: bool
) -> None:
    """Fetch the profiles that a remote has, and remove what others removed.

    Everything is checked first. Files that are not valid profiles at their paths are refused and
    listed (exit code 12); the others are stored. Nothing that was measured here is replaced.
    """
    from perfvcs.exchange.sharing import pull_from
    from perfvcs.repository import Repository

    repository = Repository.find(create=True)
    pulled = pull_from(repository, remote, last, since, dry=dry_run)
    if not quiet:
        echo("\n".join(pulled.lines(dry=dry_run)))
    pulled.raise_refused()
