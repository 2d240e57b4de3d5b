"""``perf collect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from perfvcs.commands._completion import revisions
from perfvcs.commands._options import (
    against,
    budget_option,
    flag,
    host_options,
    measuring,
    options_as,
    sample_option,
)
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import job_option
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.git.project import Project
    from perfvcs.hosts.tls import Scheduler
    from perfvcs.jobs.config import Config
    from perfvcs.measure.request import Request
    from perfvcs.measure.rig import Rig
    from perfvcs.measure.storedsession import CampaignOutcome
    from perfvcs.repository import Repository


class CollectOptions(NamedTuple):
    """What `perf collect` was asked for."""

    revisions: tuple[str, ...]
    jobs: tuple[str, ...]
    executions: int | None
    warmup: int | None
    seed: int | None
    pin: str | None
    aslr: bool | None
    padding: bool | None
    missing: bool
    released: bool
    select: bool
    sample: int
    against: tuple[str, ...]
    committed: bool
    goes_on: bool
    budget: float | None
    scheduler: Scheduler
    wait: bool
    pushes: bool
    quiet: bool
    as_json: bool
    announced: int | None

    @property
    def silent(self) -> bool:
        """Whether no progress is shown."""
        return self.quiet or self.as_json

    def request(self) -> Request:
        """What is asked of the measurement."""
        from perfvcs.measure.request import Request

        return Request(
            jobs=self.jobs,
            executions=self.executions,
            warmup=self.warmup,
            seed=self.seed,
            pin=self.pin,
            aslr=self.aslr,
            padding=self.padding,
            missing=self.missing,
            wait=self.wait,
            committed=self.committed,
            budget=self.budget,
            against=self.against,
            scheduler=self.scheduler.address,
        )


class _Separated(click.Command):
    """Keeps the words after ``--`` apart: they are a command to measure, not revisions."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split at the first ``--``."""
        place = args.index("--") if "--" in args else len(args)
        ctx.meta["perfvcs.command"] = tuple(args[place + 1 :])
        return super().parse_args(ctx, args[:place])


@examples(
    ("perf collect v1.0 HEAD", "both revisions, in turns"),
    ("perf collect -n 5 -- python3 sort.py", "a command, five times"),
)
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
@flag("--missing", "Skip revisions that already have profiles of all jobs.")
@flag(
    "--released",
    "Measure releases that are not measured yet, the newest first: tags that are versions,"
    " built from source or, with [python] released, from the package index.",
)
@flag("--select", "Leave out benchmarks that the change cannot touch (see perf select).")
@sample_option("With --select: measure one in N of those anyway.", 20)
@against
@flag("--committed", "Measure HEAD as committed, without the changes in the working tree.")
@flag("--continue", "goes_on", "Finish the newest interrupted session, or SESSION.")
@budget_option("Measure for at most this long, such as 10min, where it settles most.")
@host_options
@flag("--wait", "Wait until another measuring run ends, instead of failing.")
@flag("--push", "pushes", "Push the profiles to the remote afterwards, as `perf push` does.")
@flag("-q", "--quiet", "Print only errors.")
@flag("--json", "as_json", "Print what was stored as JSON.")
@click.option(
    "--announced",
    type=int,
    hidden=True,
    help="The open file in which the hook after a commit has announced this run.",
)
@options_as(CollectOptions)
def command(options: CollectOptions) -> None:
    """Measure the job matrix on revisions and store the profiles.

    Measures HEAD, including uncommitted changes, unless you name revisions. Each is checked out and
    built in a worktree of its own; several are measured in turns. A command after -- is measured
    instead of the jobs in perf.toml, on HEAD in the working tree as it stands. An interrupted
    session keeps its complete blocks.
    """
    from perfvcs.git.project import Project
    from perfvcs.jobs.config import load, single
    from perfvcs.profile.rules import RULES_FILE

    words = click.get_current_context().meta["perfvcs.command"]
    project = Project.find()
    config = single(words) if words else load(project.root / RULES_FILE)
    hooked = options.announced is not None
    selects = options.select or (hooked and config.hook.select)
    if selects and (words or options.goes_on):
        raise click.UsageError(
            "--select chooses among the jobs of perf.toml: it goes with neither --continue nor a"
            " command"
        )
    if options.released:
        if options.revisions or words or options.goes_on or options.against:
            raise click.UsageError(
                "--released names the revisions itself: it goes with no revision, no command,"
                " --continue or --against"
            )
        _measure_releases(project, config, options)
        return
    if options.goes_on:
        repository, outcome = _resumed(project, config, options, words)
    else:
        repository, outcome = _collected(project, config, options, words, selects=selects)
    _print(outcome, options)
    if options.pushes or (hooked and config.hook.push):
        _push(repository, outcome, quiet=options.silent)
    outcome.raise_failures()


def _print(outcome: CampaignOutcome, options: CollectOptions) -> None:
    """What was stored."""
    from perfvcs.reports.plainlines import stored

    if options.as_json:
        echo(outcome.json())
    elif not options.quiet:
        for line in stored(outcome):
            echo(line)


def _measure_releases(project: Project, config: Config, options: CollectOptions) -> None:
    """Measure one release after the other until the budget is spent; one that fails is passed over,
    and the last failure is raised in the end.
    """
    from time import monotonic

    from perfvcs.errors import PerfError, UsageError
    from perfvcs.git.ancestry import releases

    tags = releases(project)
    if not tags:
        raise UsageError(
            "no tag of HEAD's history is a version such as v1.2: name revisions, or fetch the tags"
            " (git fetch --tags)"
        )
    begin, failure = monotonic(), None
    for number, (tag, commit) in enumerate(tags.items()):
        left = None if options.budget is None else options.budget - (monotonic() - begin)
        if left is not None and left <= 0:
            echo(f"the budget is spent: {len(tags) - number} older releases are left", err=True)
            break
        if not options.silent:
            echo(f"release {tag}, {number + 1} of {len(tags)}", err=True)
        asked = options._replace(revisions=(commit,), missing=True, committed=True, budget=left)
        try:
            released = _of_release(config, tag)
            repository, outcome = _collected(project, released, asked, (), selects=options.select)
            _print(outcome, options)
            if options.pushes:
                _push(repository, outcome, quiet=options.silent)
            outcome.raise_failures()
        except UsageError:
            raise
        except PerfError as error:
            echo(f"perf: release {tag}: {error}", err=True)
            failure = error
    if failure is not None:
        raise failure


def _of_release(config: Config, tag: str) -> Config:
    """The configuration that installs a release from the package index, where perf.toml says the
    project's name there; any other as it is.
    """
    from msgspec.structs import replace

    from perfvcs.git.ancestry import version

    if config.python is None or not config.python.released:
        return config
    pinned = f"{config.python.released}=={version(tag)}"
    return replace(config, python=replace(config.python, released=pinned))


def _resumed(
    project: Project, config: Config, options: CollectOptions, words: tuple[str, ...]
) -> tuple[Repository, CampaignOutcome]:
    """Finish a session that was interrupted, on the hosts that it began on unless others are
    named.
    """
    from msgspec.structs import replace

    from perfvcs.measure.announcement import choose
    from perfvcs.measure.campaign import resume
    from perfvcs.repository import Repository

    session = _session(options.revisions, options.request())
    repository = Repository.of(project)
    scheduler = options.scheduler
    if not scheduler.address:
        address = choose(repository.home, session).request.scheduler
        scheduler = replace(scheduler, address=address)
    with measuring(repository, config, scheduler, quiet=options.silent) as rig:
        return repository, resume(rig, session, wait=options.wait, command=words)


def _collected(
    project: Project,
    config: Config,
    options: CollectOptions,
    words: tuple[str, ...],
    *,
    selects: bool,
) -> tuple[Repository, CampaignOutcome]:
    """Measure revisions; what is wrong is reported before .perf is made."""
    from perfvcs.measure.campaign import collect
    from perfvcs.repository import Repository

    request = options.request()
    commits = project.expand(options.revisions or ("HEAD",))
    if request.against and len(commits) > 1:
        raise click.UsageError(
            "--against measures products in turns with one revision: name only one"
        )
    repository = Repository.of(project, create=True)
    with measuring(repository, config, options.scheduler, quiet=options.silent) as rig:
        if selects:
            request = _selected(rig, request, commits, options.sample)
        return repository, collect(
            rig, commits, request, words, options.announced, typed=bool(words)
        )


def _selected(rig: Rig, request: Request, commits: list[str], sample: int) -> Request:
    """The request without what the changes between the commits cannot touch."""
    from perfvcs.reports.pair import selected, steps
    from perfvcs.repository.state import State

    states = [
        State(commit) if request.committed else rig.repository.current(commit) for commit in commits
    ]
    return selected(rig, request, steps(rig.repository, states, rig.progress), sample)


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
    from msgspec.structs import replace

    from perfvcs.measure.request import Request

    if len(names) > 1:
        raise click.UsageError("--continue takes at most one session")
    if replace(request, wait=False, scheduler="") != Request():
        raise click.UsageError(
            "--continue finishes a session as it began: only --wait, --scheduler, --quiet and"
            " --json go with it"
        )
    return names[0] if names else ""
