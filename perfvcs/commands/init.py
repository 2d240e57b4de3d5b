"""``perf init``."""

from __future__ import annotations

import click


@click.command()
def command() -> None:
    """Make .perf/ and a commented perf.toml that fits the project."""
    from perfvcs.jobs.starter import detect
    from perfvcs.repository import Repository
    from perfvcs.rules import FILE
    from perfvcs.vcs import Project

    repository = Repository(Project.find())
    made = repository.create()
    click.echo(f"{'made' if made else 'found'} {repository.home} (git ignores it through .git/info/exclude)")
    path = repository.project.root / FILE
    if path.exists():
        click.echo(f"kept {FILE}")
        return
    kind = detect(repository.project.root)
    path.write_text(kind.toml(), "utf-8")
    click.echo(f"wrote {FILE}: {kind.found}")
    click.echo(f"next: look at {FILE}, commit it, and measure with `perf collect`")
