"""``perf init``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._output import echo
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.git.project import Project
    from perfvcs.repository import Repository

NAMED = 20  # dropped entries that are named
LONGEST_MESSAGE = 300


@click.command()
@click.option("--adopt", is_flag=True, help="Check a .perf that was made elsewhere, or by an older version, and use it.")
@click.option("--store", metavar="DIR", help="Keep the profiles in this folder, on another disk say, and link .perf to it.")
@click.option("--pull/--no-pull", "pulls", default=True, help="Take over profiles that the project's remote has; the default.")
def command(*, adopt: bool, store: str | None, pulls: bool) -> None:
    """Make .perf/ and a commented perf.toml that fits the project.

    A .perf that was not made here is never used unasked: --adopt keeps its whole profiles and drops everything that could lead
    perfvcs or git elsewhere.
    """
    from pathlib import Path

    from perfvcs import gate
    from perfvcs.git.project import Project
    from perfvcs.repository import Repository

    project = Project.find()
    if store is not None:
        gate.settle(project, Path(store), adopt=adopt)
    if adopt:
        _adopt(project)
    new = not gate.made(project)
    repository = Repository.find(create=True)
    echo(f"{'made' if new else 'found'} {repository.home} (git ignores it through .git/info/exclude)")
    if new and pulls:
        _pull(repository)
    _configure(project)


def _pull(repository: Repository) -> None:
    """Take over what the remote has; that it cannot be asked now is not a reason to fail."""
    from perfvcs.errors import PerfError
    from perfvcs.exchange.sharing import pull_if_any

    try:
        if (pulled := pull_if_any(repository)) is not None:
            echo("\n".join(pulled.lines()))
            pulled.raise_refused()
    except PerfError as error:
        echo(f"note: {error}", err=True)


def _adopt(project: Project) -> None:
    from perfvcs.gate.adoption import adopt
    from perfvcs.text.characters import shorten

    adoption = adopt(project)
    for one in adoption.dropped[:NAMED]:
        echo(f"dropped {shorten(one, LONGEST_MESSAGE)}")
    if len(adoption.dropped) > NAMED:
        echo(f"dropped {len(adoption.dropped) - NAMED} more")
    dropped = f"{len(adoption.dropped)} dropped" if adoption.dropped else "nothing dropped"
    echo(f"adopted {adoption.home}: {counted(adoption.profiles, 'profile')}, {dropped}")


def _configure(project: Project) -> None:
    """Write perf.toml unless it is there; a link there, even one to nothing, is left alone."""
    from perfvcs.jobs.starter import detect
    from perfvcs.rules import FILE
    from perfvcs.wholefile import write

    path = project.root / FILE
    if path.exists() or path.is_symlink():
        echo(f"kept {FILE}")
        return
    kind = detect(project.root)
    write(path, kind.toml().encode())
    echo(f"wrote {FILE}: {kind.found}")
    echo(f"next: look at {FILE}, commit it, and measure with `perf collect`")
