"""``perf collect``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._completion import revisions
from perfvcs.commands._options import against, executing, host_options, job_option
from perfvcs.commands._output import echo

if TYPE_CHECKING:
    from perfvcs.hosts.tls import Tls
    from perfvcs.jobs.config import Config
    from perfvcs.measure.campaign import CampaignOutcome
    from perfvcs.measure.progress import Progress
    from perfvcs.measure.request import Request
    from perfvcs.repository import Repository


class _Separated(click.Command):
    """Keeps the words after ``--`` apart: they are a command to measure, not revisions."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split at the first ``--``."""
        place = args.index("--") if "--" in args else len(args)
        ctx.meta["perfvcs.command"] = tuple(args[place + 1 :])
        return super().parse_args(ctx, args[:place])


def _seconds(ctx: click.Context, parameter: click.Parameter, text: str | None) -> float | None:  # noqa: ARG001
    from perfvcs.jobs.config import seconds

    return None if text is None else seconds(text, "--budget")


@click.command(cls=_Separated)
@click.argument(
    "revisions",
    nargs=-1,
    metavar="[REVISION|A..B|SESSION]... [-- COMMAND...]",
    shell_complete=revisions,
)
@job_option("measured")
@click.option(
    "-n",
    "--executions",
    type=click.IntRange(1),
    help="Executions of each version; overrides perf.toml.",
)
@click.option(
    "--warmup", type=click.IntRange(0), help="Warm-up executions; their results are discarded."
)
@click.option("--seed", type=int, help="Seed of the random order and of the blocks.")
@click.option(
    "--pin", metavar="CPUS", help="Processors to pin to: none, auto, or numbers such as 0,2-3."
)
@click.option(
    "--aslr/--no-aslr", default=None, help="Randomise the addresses of the measured program."
)
@click.option(
    "--padding/--no-padding",
    default=None,
    help="Pad the environment to a random length in each block.",
)
@click.option(
    "--missing", is_flag=True, help="Skip revisions that already have profiles of all jobs."
)
@click.option(
    "--select",
    is_flag=True,
    help="Leave out benchmarks that the change cannot touch (see perf select).",
)
@click.option(
    "--sample",
    metavar="N",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="With --select: measure one in N of those anyway.",
)
@against
@click.option(
    "--committed",
    is_flag=True,
    help="Measure HEAD as committed, without the changes in the working tree.",
)
@click.option(
    "--continue", "goes_on", is_flag=True, help="Finish the newest interrupted session, or SESSION."
)
@click.option(
    "--budget",
    metavar="TIME",
    callback=_seconds,
    help="Measure for at most this long, such as 10min, where it settles most.",
)
@host_options
@click.option(
    "--wait", is_flag=True, help="Wait until another measuring run ends, instead of failing."
)
@click.option(
    "--push",
    "pushes",
    is_flag=True,
    help="Push the profiles to the remote afterwards, as `perf push` does.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
@click.option("--json", "as_json", is_flag=True, help="Print what was stored as JSON.")
@click.option(
    "--announced",
    type=int,
    hidden=True,
    help="The open file in which the hook after a commit has announced this run.",
)
def command(
    revisions: tuple[str, ...],
    *,
    goes_on: bool,
    pushes: bool,
    quiet: bool,
    as_json: bool,
    announced: int | None,
    select: bool,
    sample: int,
    tls: Tls,
    **asked: object,
) -> None:
    """Measure the job matrix on revisions and store the profiles.

    Measures HEAD, including uncommitted changes, unless you name revisions. Each is checked out and
    built in a worktree of its own; several are measured in turns. A command after -- is measured
    instead of the jobs in perf.toml, on HEAD in the working tree as it stands. An interrupted
    session keeps its complete blocks.
    """
    from perfvcs.git.project import Project
    from perfvcs.jobs.config import load, single
    from perfvcs.measure.announcement import choose
    from perfvcs.measure.campaign import collect, resume
    from perfvcs.measure.progress import shown
    from perfvcs.measure.request import Request
    from perfvcs.profile.rules import RULES_FILE
    from perfvcs.reports.text import stored
    from perfvcs.repository import Repository

    words = click.get_current_context().meta["perfvcs.command"]
    project = Project.find()
    config = single(list(words)) if words else load(project.root / RULES_FILE)
    request = Request(**asked)  # type: ignore[arg-type]
    selects = select or (announced is not None and config.hook.select)
    if selects and (words or goes_on):
        raise click.UsageError(
            "--select chooses among the jobs of perf.toml: it goes with neither --continue nor a"
            " command"
        )
    if goes_on:
        session = _session(revisions, request)
        repository = Repository.of(project)
        scheduler = request.scheduler or choose(repository.home, session).request.scheduler
        with (
            shown(quiet=quiet or as_json) as progress,
            executing(scheduler, config, progress, tls, repository) as executor,
        ):
            outcome = resume(
                repository,
                config,
                progress,
                session,
                wait=request.wait,
                command=words,
                executor=executor,
            )
    else:
        # what is wrong is reported before .perf is made
        commits = project.expand(revisions or ("HEAD",))
        if request.against and len(commits) > 1:
            raise click.UsageError(
                "--against measures products in turns with one revision: name only one"
            )
        repository = Repository.of(project, create=True)
        with (
            shown(quiet=quiet or as_json) as progress,
            executing(request.scheduler, config, progress, tls, repository) as executor,
        ):
            if selects:
                request = _selected(repository, config, request, commits, progress, sample)
            outcome = collect(
                repository,
                config,
                commits,
                request,
                progress,
                words,
                announced,
                executor,
                typed=bool(words),
            )
    if as_json:
        echo(outcome.json())
    elif not quiet:
        for line in stored(outcome):
            echo(line)
    if pushes or (announced is not None and config.hook.push):
        _push(repository, outcome, quiet=quiet or as_json)
    outcome.raise_failures()


def _selected(
    repository: Repository,
    config: Config,
    request: Request,
    commits: list[str],
    progress: Progress,
    sample: int,
) -> Request:
    """The request without what the changes between the commits cannot touch."""
    from perfvcs.reports.pair import selected, steps
    from perfvcs.repository.state import State

    states = [
        State(commit) if request.committed else repository.current(commit) for commit in commits
    ]
    return selected(
        repository, config, request, steps(repository, states, progress), progress, sample
    )


def _push(repository: Repository, outcome: CampaignOutcome, *, quiet: bool) -> None:
    """Push; that it fails is the error of the command unless measuring failed, too."""
    from perfvcs.errors import PerfError
    from perfvcs.exchange.sharing import push_to

    try:
        pushed = push_to(repository)
    except PerfError as error:
        if not outcome.failures:
            raise
        echo(f"perf: {error}", err=True)
    else:
        if not quiet:
            echo("\n".join(pushed.lines()))


def _session(names: tuple[str, ...], request: Request) -> str:
    """The session to continue, empty for the newest; its design is the one that it began with."""
    from dataclasses import replace

    from perfvcs.measure.request import Request

    if len(names) > 1:
        raise click.UsageError("--continue takes at most one session")
    if replace(request, wait=False, scheduler="") != Request():
        raise click.UsageError(
            "--continue finishes a session as it began: only --wait, --scheduler, --quiet and"
            " --json go with it"
        )
    return names[0] if names else ""
