"""``perf push``."""

from __future__ import annotations

import click

from perfvcs.commands._options import flag
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples


@examples(
    ("perf push", "to the branch's remote"),
    ("perf push origin --dry-run", "only show what would be sent"),
)
@click.command()
@click.argument("remote", required=False, metavar="[REMOTE|ADDRESS]")
@flag("-n", "--dry-run", "Only show what would be sent.")
@flag("-q", "--quiet", "Print only errors.")
def command(remote: str | None, *, dry_run: bool, quiet: bool) -> None:
    """Send profiles to a remote, next to those that others have sent.

    The remote is the one named, or that of the current branch; it keeps the profiles in
    refs/perf/profiles. Nothing there is ever replaced. Removals are sent, too: profiles removed
    with `perf rm` disappear for everybody.
    """
    from perfvcs.exchange.sharing import push_to
    from perfvcs.repository import Repository

    repository = Repository.find()
    pushed = push_to(repository, remote, dry=dry_run)
    if not quiet:
        echo("\n".join(pushed.lines(dry=dry_run)))
