"""``perf collect``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo


class _Separated(click.Command):
    """Keeps the words after ``--`` apart: they are a command to measure, not revisions."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split at the first ``--``."""
        place = args.index("--") if "--" in args else len(args)
        ctx.meta["perfvcs.command"] = tuple(args[place + 1 :])
        return super().parse_args(ctx, args[:place])


@click.command(cls=_Separated)
@click.argument("revisions", nargs=-1, metavar="[REVISION|A..B]... [-- COMMAND...]")
@click.option("-j", "--job", "jobs", multiple=True, metavar="NAME", help="Only this job of perf.toml; may be repeated.")
@click.option("-n", "--executions", type=click.IntRange(1), help="Executions of each version, instead of perf.toml's.")
@click.option("--warmup", type=click.IntRange(0), help="Executions before those, which are dropped.")
@click.option("--seed", type=int, help="Fixes the random order of the executions.")
@click.option("--pin", metavar="CPUS", help="Pin to processors: none, auto, or numbers such as 0,2-3.")
@click.option("--aslr/--no-aslr", default=None, help="Address space randomisation of what is measured.")
@click.option("--padding/--no-padding", default=None, help="An environment of random length per execution.")
@click.option("--missing", is_flag=True, help="Skip revisions that have profiles of all jobs.")
@click.option("--committed", is_flag=True, help="Measure HEAD as committed, whatever the working tree holds.")
@click.option("--wait", is_flag=True, help="Wait for another measuring run instead of failing.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
@click.option("--json", "as_json", is_flag=True, help="Print what was stored as JSON.")
def command(revisions: tuple[str, ...], quiet: bool, as_json: bool, **asked: object) -> None:
    """Measure the job matrix on revisions and store the profiles.

    Without a revision it is HEAD: the working tree as it stands. Other revisions are checked out beside it, and several are measured
    interleaved. After -- comes one command to measure instead of the jobs of perf.toml.
    """
    from perfvcs.jobs.config import load, single
    from perfvcs.measure.campaign import Request, collect
    from perfvcs.measure.progress import shown
    from perfvcs.reports.text import stored
    from perfvcs.repository import Repository
    from perfvcs.rules import FILE
    from perfvcs.vcs import Project

    words = click.get_current_context().meta["perfvcs.command"]
    project = Project.find()
    config = single(list(words)) if words else load(project.root / FILE)
    commits = project.expand(revisions or ("HEAD",))  # what is wrong is told before .perf is made
    repository = Repository.find(create=True)
    with shown(quiet=quiet or as_json) as progress:
        outcome = collect(repository, config, commits, Request(**asked), progress)  # type: ignore[arg-type]
    if as_json:
        echo(outcome.json())
    elif not quiet:
        for line in stored(outcome):
            echo(line)
    outcome.raise_failures()
