"""``perf rm``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="REVISION|PROFILE|SESSION...")
@click.option("-j", "--job", "jobs", multiple=True, metavar="NAME", help="Only profiles of this job; may be repeated.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be removed.")
def command(names: tuple[str, ...], jobs: tuple[str, ...], dry_run: bool) -> None:
    """Remove profiles: all of a revision, or single ones by their path or id.

    They stay in the store's own history. Of an interrupted session, which `perf status` names, the rest is given up, and its profiles stay.
    """
    from perfvcs.measure.unfinished import forget, unfinished
    from perfvcs.repository import Repository

    repository = Repository.find()
    sessions = [header.session for header in unfinished(repository.home) if header.session in names]
    for name in sessions:
        if not dry_run:
            forget(repository.home, name)
        echo(f"{'would give up' if dry_run else 'gave up'} session {name}")
    paths = [path for name in names if name not in sessions for path in repository.select(name, jobs)]
    paths = list(dict.fromkeys(paths))
    if not dry_run:
        paths = repository.store.remove(paths, f"Remove {', '.join(names)}")
    for path in paths:
        echo(f"{'would remove' if dry_run else 'removed'} {path}")
