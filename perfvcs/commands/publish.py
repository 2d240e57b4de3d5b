"""``perf publish``."""

from __future__ import annotations

from pathlib import Path

import click

from perfvcs.commands._output import echo


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.argument("revision", default="HEAD", metavar="[REVISION]")
@click.option("--title", default="", metavar="TEXT", help="What the site is called; else the project's folder.")
@click.option("--base-url", default="", metavar="URL", help="Where it will be found, for the links of the feed.")
@click.option(
    "--newest", type=click.IntRange(1, 100), default=12, show_default=True, help="How many versions the front page compares."
)
@click.option(
    "--profiles",
    type=click.IntRange(0, 1000),
    default=24,
    show_default=True,
    help="Of how many jobs the newest profile is drawn.",
)
def command(folder: Path, revision: str, title: str, base_url: str, newest: int, profiles: int) -> None:
    """Write a static site of the whole history into DIR: every series, every change, every commit.

    Only pages whose data moved are written. The site needs no server and no network: open its index.html.
    """
    from perfvcs.repository import Repository
    from perfvcs.site.feed import verified
    from perfvcs.site.publication import SiteOptions, publish

    choice = SiteOptions(verified(base_url) if base_url else "", newest, profiles)
    found = publish(Repository.find(), folder, revision=revision, title=title, choice=choice)
    echo("\n".join(found.lines()))
