"""``perf rm``."""

from __future__ import annotations

import click

from perfvcs.commands._completion import words
from perfvcs.commands._options import flag
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, behind, job_option
from perfvcs.text.examples import examples


@examples(
    ("perf rm v1.0 --dry-run", "what would be removed"),
    ("perf rm HEAD -j sort", "the profiles of one job"),
)
@click.command(cls=Naming)
@click.argument(
    "names",
    nargs=-1,
    required=True,
    metavar="REVISION|PROFILE|SESSION... [BENCHMARK]",
    shell_complete=words,
)
@job_option("stored", help="Only profiles of this job, by its full name; may be repeated.")
@flag("-n", "--dry-run", "Only show what would be removed.")
def command(names: tuple[str, ...], jobs: tuple[str, ...], *, dry_run: bool) -> None:
    """Remove profiles: all profiles of a revision, or single profiles by path or id.

    Removed profiles stay in the store's own history. Removing an interrupted session, which `perf
    status` names, gives up its remaining blocks and keeps its profiles. BENCHMARK, the full name of
    a job, leaves those of other jobs.
    """
    from perfvcs.measure.announcement import forget, named
    from perfvcs.profile.naming import typed
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read_profiles
    from perfvcs.repository.lookup import paths_of

    repository = Repository.find()
    sessions = {
        name: header for name in names if (header := named(repository.home, name)) is not None
    }
    if sessions and jobs:
        raise click.UsageError("-j goes with revisions: a session is given up as a whole")
    others = [name for name in names if name not in sessions]
    asked = read_profiles(repository, others, behind(jobs=jobs), "whole")
    if asked.benchmarks.units:
        label = asked.benchmarks.labels[0]
        raise click.UsageError(
            f"a profile has all units of a job: `perf rm REVISION -j {typed(label)}` removes those"
            " of the whole job"
        )
    if asked.benchmarks and not asked.revisions:
        raise click.UsageError("name the revisions whose profiles to remove, too")
    revisions = asked.revisions
    paths = list(
        dict.fromkeys(
            path for name in revisions for path in paths_of(repository, name, asked.benchmarks)
        )
    )
    if not dry_run:
        paths = repository.store.remove(paths, f"Remove {', '.join(revisions)}") if paths else []
        repository.index.memory.forget({path.split("/")[1] for path in paths})
    for path in paths:
        echo(f"{'would remove' if dry_run else 'removed'} {path}")
    for header in {header.session: header for header in sessions.values()}.values():
        if not dry_run:
            forget(repository.home, header)
        echo(f"{'would give up' if dry_run else 'gave up'} session {header.session}")
