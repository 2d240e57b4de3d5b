"""``perf rm``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="REVISION|PROFILE...")
@click.option("-j", "--job", "jobs", multiple=True, metavar="NAME", help="Only profiles of this job; may be repeated.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be removed.")
def command(names: tuple[str, ...], jobs: tuple[str, ...], dry_run: bool) -> None:
    """Remove profiles: all of a revision, or single ones by their path or id.

    They stay in the store's own history.
    """
    from perfvcs.repository import Repository

    repository = Repository.find()
    paths = [path for name in names for path in repository.select(name, jobs)]
    paths = list(dict.fromkeys(paths))
    if not dry_run:
        paths = repository.store.remove(paths, f"Remove {', '.join(names)}")
    for path in paths:
        echo(f"{'would remove' if dry_run else 'removed'} {path}")
