"""``perf init``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._output import echo
from perfvcs.text.examples import examples
from perfvcs.text.quantity import duration
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.git.project import Project
    from perfvcs.jobs.starter import Proposal
    from perfvcs.measure.trial import Trial
    from perfvcs.repository import Repository

MOST_NAMED_ENTRIES = 20  # dropped entries that are named
LONGEST_MESSAGE, LONGEST_COMMAND = 300, 60


@examples(("perf init", "build and try what is proposed"), ("perf init --no-try", "run nothing"))
@click.command()
@click.option(
    "--adopt",
    is_flag=True,
    help="Check and use a .perf folder from elsewhere or from an older version.",
)
@click.option(
    "--store",
    metavar="DIR",
    help="Keep the profiles in DIR, such as on another disk, and link .perf to it.",
)
@click.option(
    "--pull/--no-pull",
    "pulls",
    default=True,
    help="Pull the profiles that the project's remote has (default).",
)
@click.option(
    "--try/--no-try",
    "attempt",
    default=True,
    help="Run proposed commands once (default); --no-try runs nothing.",
)
def command(*, adopt: bool, store: str | None, pulls: bool, attempt: bool) -> None:
    """Create .perf/ and a commented perf.toml that fits the project.

    Builds and runs the commands that it proposes in a checkout of HEAD, once each, until one works.
    A .perf folder from elsewhere is not used until you run --adopt, which keeps the intact profiles
    and drops everything that could lead perfvcs or git elsewhere.
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
    repository = Repository.of(project, create=True)
    echo(
        f"{'made' if new else 'found'} {repository.home} (git ignores it through .git/info/exclude)"
    )
    if new and pulls:
        _pull(repository)
    _configure(repository, attempt=attempt)


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
    for entry in adoption.dropped[:MOST_NAMED_ENTRIES]:
        echo(f"dropped {shorten(entry, LONGEST_MESSAGE)}")
    if len(adoption.dropped) > MOST_NAMED_ENTRIES:
        echo(f"dropped {len(adoption.dropped) - MOST_NAMED_ENTRIES} more")
    dropped = f"{len(adoption.dropped)} dropped" if adoption.dropped else "nothing dropped"
    echo(f"adopted {adoption.home}: {counted(adoption.profiles, 'profile')}, {dropped}")


def _configure(repository: Repository, *, attempt: bool) -> None:
    """Write perf.toml unless it is there; a link there, even one to nothing, is left alone."""
    from perfvcs.jobs.proposals import placeholder, proposals
    from perfvcs.profile.rules import RULES_FILE
    from perfvcs.system.disk import write
    from perfvcs.text.characters import shorten

    project = repository.project
    path = project.root / RULES_FILE
    if path.exists() or path.is_symlink():
        echo(f"kept {RULES_FILE}")
        return
    candidates = proposals(project.root)
    attempt = attempt and bool(candidates) and project.head is not None and not project.bare
    trial = _tried(repository, candidates) if attempt else None
    if trial is not None:
        write(path, trial.proposal.toml(trial.seconds).encode())
        echo(f"wrote {RULES_FILE}: {trial.proposal.found}")
        command = shorten(trial.proposal.cmd, LONGEST_COMMAND)
        runs, collect = duration(trial.seconds), duration(trial.collect)
        about = "" if collect.startswith("under") else "about "
        echo(f"`{command}` runs in {runs}; perf collect will take {about}{collect}")
        echo(f"next: look at {RULES_FILE}, commit it, and measure with `perf collect`")
        return
    chosen = candidates[0] if candidates else placeholder(project.root)
    write(path, chosen.toml().encode())
    state, correction = "", ""
    if attempt:
        state, correction = " (it did not run here)", ", correct what it runs"
    elif candidates:
        state = " (not tried)"
    echo(f"wrote {RULES_FILE}: {chosen.found}{state}")
    echo(f"next: look at {RULES_FILE}{correction}, commit it, and measure with `perf collect`")


def _tried(repository: Repository, proposals: list[Proposal]) -> Trial | None:
    from perfvcs.measure.progress import shown
    from perfvcs.measure.trial import first_that_runs

    with shown(doing="trying what to measure") as progress:
        return first_that_runs(repository, proposals, progress)
