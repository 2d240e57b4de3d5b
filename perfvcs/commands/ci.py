"""``perf ci``."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from perfvcs.commands._completion import revisions
from perfvcs.commands._options import (
    FilePath,
    budget_option,
    delta_option,
    flag,
    measuring,
    options_as,
    sample_option,
    within,
)
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import job_option
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfvcs.ci.civerdict import CiVerdict
    from perfvcs.ci.surroundings import Platform, Surroundings
    from perfvcs.reports.check import Check


def _name(ctx: click.Context, parameter: click.Parameter, text: str) -> str:  # noqa: ARG001
    from perfvcs.ci.artifacts import SAFE_NAME

    if not SAFE_NAME.fullmatch(text):
        raise click.UsageError(
            f"--name {text!a:.40} is not a name: take up to 60 letters, digits and . _ -"
        )
    return text


class CiOptions(NamedTuple):
    """What `perf ci` was asked for."""

    platform: Platform | None
    base: str
    budget: float
    chosen: tuple[str, ...]
    delta: float | None
    within: float | None
    everything: bool
    sample: int
    last: int
    seed: int | None
    folder: Path
    bundle: Path | None
    post: Path | None
    always: bool
    check_run: bool
    name: str
    issues: bool
    webhook: str
    quiet: bool


@examples(
    ("perf ci", "in a job of GitHub or GitLab"),
    ("perf ci --platform plain --base main", "anywhere else"),
)
@click.command()
@click.option(
    "--platform",
    type=click.Choice(["github", "gitlab", "plain"]),
    show_default="the service that runs here",
    help="CI service whose variables to read and whose reports to write.",
)
@click.option(
    "--base",
    metavar="REVISION",
    default="",
    show_default="what the service says",
    help="Compare with the merge base of HEAD and REVISION.",
    shell_complete=revisions,
)
@budget_option("Measure for at most this long.", "10min")
@job_option("configured", "chosen")
@delta_option("Smallest change that counts; exact metrics have none.")
@within
@flag("--all", "everything", "Also measure what the change cannot touch.")
@sample_option("Measure one in N of what the change cannot touch (0: none).", 0)
@click.option(
    "--last",
    metavar="N",
    type=click.IntRange(0),
    default=30,
    show_default=True,
    help="Pull the profiles of the N newest commits that have any (0: none).",
)
@click.option("--seed", type=int, help="Seed of the random order and of the blocks.")
@click.option(
    "--out",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    default="perf-ci",
    show_default=True,
    help="Folder for the reports.",
)
@click.option(
    "--bundle",
    metavar="FILE",
    type=FilePath(path_type=Path),
    help="Write the profiles to FILE for another job that may push; `perf import` reads it.",
)
@click.option(
    "--post",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help=(
        "Measure nothing, and comment on the pull request with the report that another job wrote to"
        " DIR."
    ),
)
@flag("--always", "With --post: comment even if nothing changed.")
@flag(
    "--check-run",
    "With --post: set the check `perf/NAME` of the commit, which a project can require.",
)
@click.option(
    "--name",
    metavar="NAME",
    default="main",
    show_default=True,
    callback=_name,
    help="With --post: name of the comment and check, if a pull request has several.",
)
@flag(
    "--issues",
    "Measure nothing, and open, update or close an issue for each commit since which something"
    " is slower.",
)
@click.option(
    "--webhook",
    metavar="URL",
    default="",
    envvar="PERFVCS_WEBHOOK",
    help="With --issues: tell a chat (Slack, Mattermost, Teams) what was opened and closed.",
)
@flag("-q", "--quiet", "Show no progress.")
@options_as(CiOptions)
def command(options: CiOptions) -> None:
    """Measure and judge a pull request, and write the reports that the CI service shows.

    Compares HEAD with the commit where the change began. Measures both in turns, but only
    benchmarks that the change can touch, until they are settled or the budget is spent.

    With --post, comments on the pull request if something changed; with --issues, keeps issues of
    the main branch. Run these in a job of their own: what is measured can read a token that the job
    has which measures.

    Exits with 3 if something certainly became worse, with 4 if nothing could be settled, and with 5
    if measuring failed.
    """
    from perfvcs.ci.artifacts import begin, lines, read, write
    from perfvcs.ci.findings import obeying_nothing, workflow_commands
    from perfvcs.ci.surroundings import Surroundings

    if options.post is None and not options.issues:
        begin(options.folder)
    job = Surroundings.of(os.environ, options.platform)
    if options.issues:
        for line in _settle_issues(job, options):
            echo(line)
        return
    if options.post is not None:
        for line in _posted(job, read(options.post), options):
            echo(line)
        return
    source = click.get_current_context().get_parameter_source("name")
    told = click.get_current_context().get_parameter_source("webhook")
    if told is ParameterSource.COMMANDLINE:
        raise click.UsageError("--webhook tells what --issues did: combine them")
    if options.always or options.check_run or source is not ParameterSource.DEFAULT:
        raise click.UsageError(
            "--always, --check-run and --name are about what is posted: combine them with --post"
            " DIR"
        )
    with obeying_nothing(echo) if job.platform == "github" else nullcontext():
        verdict, check = _judged(job, options)
        write(options.folder, verdict, check)
        for line in lines(verdict):
            echo(line)
        for note in _notes(job, options, verdict, check):
            echo(note)
        echo(f"reports: {options.folder}")
    if job.platform == "github":
        for line in workflow_commands(verdict):
            echo(line)
    click.get_current_context().exit(verdict.status)


def _judged(job: Surroundings, options: CiOptions) -> tuple[CiVerdict, Check]:
    """Measure both ends of the change, and judge it."""
    from perfvcs.check.method import CheckRequest
    from perfvcs.ci.loop import LoopRequest, judge
    from perfvcs.ci.surroundings import ends
    from perfvcs.measure.request import Request
    from perfvcs.repository import Repository

    baseline, target = ends(job, options.base)
    repository = Repository.find(create=True)
    request = Request(
        jobs=options.chosen,
        seed=options.seed,
        wait=True,
        committed=True,
        budget=options.budget,
        exact=True,
    )
    wanted = LoopRequest(
        baseline,
        target,
        request,
        None if options.everything else options.sample,
        options.last,
        CheckRequest(delta=options.delta, within=options.within),
        remote=job.platform != "plain",
    )
    with measuring(repository, quiet=options.quiet) as rig:
        return judge(rig, wanted)


def _notes(
    job: Surroundings, options: CiOptions, verdict: CiVerdict, check: Check
) -> Iterator[str]:
    """Write the summary of the job and the bundle where these are wanted; what there is to say of
    that.
    """
    from perfvcs.ci.artifacts import append, bundle
    from perfvcs.ci.forgeservice import TOKENS
    from perfvcs.ci.posting import READABLE

    notes = [append(job.summary, verdict)] if job.summary else []
    notes += [bundle(options.bundle, check)] if options.bundle else []
    notes += [READABLE.format(TOKENS[job.platform])] if job.token else []
    yield from filter(None, notes)


def _settle_issues(job: Surroundings, options: CiOptions) -> Iterator[str]:
    """Open, update and close issues by the history of HEAD; what came of it, line by line."""
    from perfvcs.ci.issues import degradations, settle, tell_chat
    from perfvcs.ci.loop import pull
    from perfvcs.environment.variables import hidden
    from perfvcs.history.overview import overview_of
    from perfvcs.repository import Repository
    from perfvcs.watch.notice import Webhook

    if options.webhook:
        Webhook.of(options.webhook, "")  # a wrong address is said before an issue is touched
    if options.check_run:
        raise click.UsageError("--check-run is of what was measured: combine it with --post DIR")
    if options.post is not None:
        raise click.UsageError("--issues is of the main branch and --post of a pull request")
    repository = Repository.find(create=True)
    if options.last and (note := pull(repository, options.last)):
        yield note
    found = degradations(overview_of(repository), repository.project)
    done = [hidden(line, os.environ) for line in settle(job, found)]
    yield from done
    if options.webhook and (told := tell_chat(options.webhook, found, done)):
        yield hidden(told, os.environ)


def _posted(job: Surroundings, verdict: CiVerdict, options: CiOptions) -> Iterator[str]:
    """Write or update the comment on the pull request, and set the check; what came of it."""
    from perfvcs.ci.artifacts import comment, marker
    from perfvcs.ci.posting import publish, set_check
    from perfvcs.environment.variables import hidden

    name, new = options.name, options.always or verdict.speaks
    text = hidden(comment(verdict, name), os.environ)
    yield hidden(publish(job, marker(name), text, new=new), os.environ)
    if options.check_run:
        yield hidden(set_check(job, verdict, f"perf/{name}", dict(os.environ)), os.environ)
