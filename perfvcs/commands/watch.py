"""``perf watch``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from perfvcs.commands._options import (
    budget_option,
    commit_url,
    flag,
    host_options,
    options_as,
    require_address,
)
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.hosts.tls import Scheduler
    from perfvcs.watch.cycle import Wishes


class WatchOptions(NamedTuple):
    """What `perf watch` was asked for."""

    remote: str | None
    branch: str | None
    interval: str
    once: bool
    last: int
    budget: float | None
    scheduler: Scheduler
    folder: Path | None
    base_url: str
    commit_url: str | None
    webhook: str | None
    mail: str | None
    quiet: bool


@examples(
    ("perf watch origin main --once", "catch up, then end"),
    ("perf watch origin main --once --publish site", "and publish"),
)
@click.command()
@click.argument("remote", required=False)
@click.argument("branch", required=False)
@click.option(
    "--interval", metavar="TIME", default="10min", show_default=True, help="Time between fetches."
)
@flag("--once", "End when nothing is left to measure, instead of waiting for commits.")
@click.option(
    "--last",
    metavar="N",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Measure only commits among the N newest.",
)
@budget_option("Measure for at most this long in one cycle, such as 30min.")
@host_options
@click.option(
    "--publish",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep a site in DIR.",
)
@click.option(
    "--base-url",
    default="",
    metavar="URL",
    help="Address of the site, for links in notices and in its feed.",
)
@commit_url
@click.option(
    "--webhook",
    metavar="URL",
    envvar="PERFVCS_WEBHOOK",
    help=(
        "Post new changes there as JSON, signed with PERFVCS_WEBHOOK_SECRET; also PERFVCS_WEBHOOK."
    ),
)
@click.option("--mail", metavar="ADDRESS", help="Send new changes there with sendmail.")
@flag("-q", "--quiet", "Print only cycles that did something, and errors.")
@options_as(WatchOptions)
def command(options: WatchOptions) -> None:
    """Measure new commits on BRANCH of REMOTE, push the profiles, and publish.

    Each cycle fetches, measures one commit in turns with its nearest measured neighbours, and
    prints one line. The newest commits come first, then those that best locate a change. An
    interrupted session is finished first.
    """
    import os

    from perfvcs.errors import PerfError
    from perfvcs.jobs.config import seconds
    from perfvcs.measure.progress import shown
    from perfvcs.repository import Repository
    from perfvcs.watch.branch import Branch
    from perfvcs.watch.cycle import watch
    from perfvcs.watch.notice import SECRET

    require_address(options.scheduler)
    os.environ.pop("PERFVCS_WEBHOOK", None)  # what is measured and built need not know them
    wishes = _wishes(options, os.environ.pop(SECRET, ""))
    wait = seconds(options.interval, "--interval")
    repository = Repository.find(create=True)
    watched = Branch.of(repository.project, repository.home, options.remote, options.branch)

    def warn(line: str) -> None:
        echo(f"perf: {line}", err=True)

    with shown(quiet=True) as progress:
        error = watch(
            repository.project.root,
            watched,
            wishes,
            progress,
            echo,
            warn,
            interval=None if options.once else wait,
            quiet=options.quiet,
        )
    if error is not None:
        raise SystemExit(error.exit_code if isinstance(error, PerfError) else 1)


def _wishes(options: WatchOptions, secret: str) -> Wishes:
    """The settings of the watch; raises UsageError."""
    from perfvcs.git.forge import given
    from perfvcs.site.feed import verified
    from perfvcs.watch.cycle import Wishes
    from perfvcs.watch.notice import Mail, Webhook

    folder = options.folder and options.folder.absolute()
    base_url = verified(options.base_url) if options.base_url else ""
    forge = None if options.commit_url is None else given(options.commit_url)
    webhook = Webhook.of(options.webhook, secret) if options.webhook else None
    mail = Mail.to(options.mail) if options.mail else None
    return Wishes(
        last=options.last,
        budget=options.budget,
        folder=folder,
        base_url=base_url,
        forge=forge,
        webhook=webhook,
        mail=mail,
        scheduler=options.scheduler,
    )
