"""``perf publish``."""

from __future__ import annotations

from pathlib import Path

import click

from perfvcs.commands._completion import revisions
from perfvcs.commands._options import commit_url
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples


@examples(
    ("perf publish site", "up to HEAD"),
    ("perf publish site v1.0 --title Sorting", "up to v1.0, with a title"),
)
@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.argument("revision", default="HEAD", metavar="[REVISION]", shell_complete=revisions)
@click.option(
    "--title",
    default="",
    metavar="TEXT",
    help="Title of the site; the project's folder by default.",
)
@click.option(
    "--base-url", default="", metavar="URL", help="Address of the site, for the links in its feed."
)
@click.option(
    "--profiles",
    type=click.IntRange(0, 1000),
    default=24,
    show_default=True,
    help="Number of jobs that get a page for their newest profile.",
)
@commit_url
def command(
    folder: Path, revision: str, title: str, base_url: str, profiles: int, commit_url: str | None
) -> None:
    """Write a static site of the whole history into DIR: every series, every change, every commit.

    Rewrites only pages whose data changed. The site needs neither a server nor a network: open its
    index.html.
    """
    from perfvcs.git.forge import given
    from perfvcs.repository import Repository
    from perfvcs.site.feed import verified
    from perfvcs.site.publication import SiteOptions, publish

    forge = None if commit_url is None else given(commit_url)
    choice = SiteOptions(verified(base_url) if base_url else "", profiles, forge)
    publication = publish(Repository.find(), folder, revision=revision, title=title, choice=choice)
    echo("\n".join(publication.lines()))
