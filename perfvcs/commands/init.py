"""``perf init``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._options import flag
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples
from perfvcs.text.quantity import duration
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfvcs.git.project import Project
    from perfvcs.jobs.starter import Proposal
    from perfvcs.measure.trial import Trial
    from perfvcs.repository import Repository

MOST_NAMED_ENTRIES = 20  # dropped entries that are named
LONGEST_MESSAGE, LONGEST_COMMAND, LONGEST_COPIED = 300, 60, 10_000
MOST_TRIED = 12  # proposals that are listed, and may be tried
MOST_HAZARDS, LONGEST_HAZARD = 3, 120  # lines of one proposal, and characters of a line


@examples(
    ("perf init", "show what it would try, and ask"), ("perf init --yes", "try it without asking")
)
@click.command()
@flag("--adopt", "Check and use a .perf folder from elsewhere or from an older version.")
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
@flag(
    "--yes", "Try the listed commands without asking, but none that removes, downloads or installs."
)
@click.option(
    "--try/--no-try",
    "attempt",
    default=True,
    help="Try proposed commands once (default); --no-try asks and runs nothing.",
)
@click.option(
    "--agent/--no-agent",
    "advice",
    default=None,
    help="Write rules for coding agents into AGENTS.md, or remove them; nothing else is done.",
)
def command(
    *, adopt: bool, store: str | None, pulls: bool, yes: bool, attempt: bool, advice: bool | None
) -> None:
    """Create .perf/ and a commented perf.toml that fits the project.

    Lists the commands that fit the project, and what in them removes, downloads or installs
    something. If you say yes, it builds and runs them in a checkout of HEAD, once each, until one
    works; without a terminal only with --yes.
    A .perf folder from elsewhere is not used until you run --adopt, which keeps the intact profiles
    and drops everything that could lead perfvcs or git elsewhere.
    """
    from pathlib import Path

    from perfvcs import gate
    from perfvcs.git.project import Project
    from perfvcs.repository import Repository

    project = Project.find()
    if advice is not None:
        _advise(project, wanted=advice)
        return
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
    _configure(repository, attempt=attempt, yes=yes)


def _advise(project: Project, *, wanted: bool) -> None:
    """Write the rules for coding agents, or remove them."""
    from perfvcs.agents.advice import FILE, remove, write

    changed = (write if wanted else remove)(project.root)
    did = "wrote the rules of perfvcs into" if wanted else "removed the rules of perfvcs from"
    echo(f"{did} {FILE}" if changed else f"{FILE} stays as it is")


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


def _configure(repository: Repository, *, attempt: bool, yes: bool) -> None:
    """Write perf.toml unless it is there; a link there, even one to nothing, is left alone."""
    from msgspec.structs import replace

    from perfvcs.jobs.hazards import hazards
    from perfvcs.jobs.proposals import placeholder, proposals
    from perfvcs.profile.rules import RULES_FILE
    from perfvcs.system.disk import write
    from perfvcs.text.characters import shorten

    project = repository.project
    path = project.root / RULES_FILE
    if path.exists() or path.is_symlink():
        echo(f"kept {RULES_FILE}")
        return
    candidates = proposals(project.root)[:MOST_TRIED]
    possible = bool(candidates) and project.head is not None and not project.bare
    chosen = _agreed(project, candidates, yes=yes) if attempt and possible else []
    trial = _tried(repository, chosen) if chosen else None
    if trial is not None:
        write(path, trial.proposal.toml(trial.seconds).encode())
        for line in _measures(trial):
            echo(line)
        echo(f"next: look at {RULES_FILE}, commit it, and measure with `perf collect`")
        return
    untried = next((one for one in candidates if one not in chosen), None)
    proposal = untried or (candidates or [placeholder(project.root)])[0]
    dangers = hazards(project.root, proposal) if candidates else []
    careful = f"; careful: {shorten(str(dangers[0]), LONGEST_HAZARD)}" if dangers else ""
    write(path, replace(proposal, found=f"{proposal.found}{careful}").toml().encode())
    state, correction = "", ""
    if proposal in chosen:
        state, correction = " (it did not run here)", ", correct what it runs"
    elif candidates:
        state = " (not tried)"
    echo(f"wrote {RULES_FILE}: {proposal.found}{state}{careful}")
    echo(f"next: look at {RULES_FILE}{correction}, commit it, and measure with `perf collect`")


def _agreed(project: Project, candidates: list[Proposal], *, yes: bool) -> list[Proposal]:
    """What may be tried of the proposals, which are listed with the hazards in their files."""
    from sys import stdin

    from perfvcs.jobs.hazards import harmless, hazards
    from perfvcs.text.characters import shorten

    dangers = [hazards(project.root, proposal) for proposal in candidates]
    echo("to try in a checkout of HEAD, one after the other, until one runs:")
    for number, (proposal, found) in enumerate(zip(candidates, dangers, strict=True), 1):
        after = f"  after {'; '.join(proposal.preparation)}" if proposal.preparation else ""
        copied = {command for _, command in proposal.copied}  # from a file that may say anything
        for place, cmd in enumerate(proposal.commands.values()):
            shown = shorten(cmd, LONGEST_COPIED if cmd in copied else LONGEST_COMMAND)
            echo(f"{'' if place else number:>3}  {shown}{after}")
            after = ""
        for hazard in found[:MOST_HAZARDS]:
            echo(f"     careful: {shorten(str(hazard), LONGEST_HAZARD)}")
        if len(found) > MOST_HAZARDS:
            echo(f"     careful: and {len(found) - MOST_HAZARDS} more such lines")
    if yes:
        if any(dangers):
            echo("--yes leaves out those that say careful: run `perf init` in a terminal for them")
        kept = (
            harmless(project.root, proposal) if found else proposal
            for proposal, found in zip(candidates, dangers, strict=True)
        )
        return [*filter(None, kept)]
    if stdin.isatty():
        return candidates if click.confirm("Try them?", default=False) else []
    echo("nothing was run: `perf init --yes` tries them without asking")
    return []


def _measures(trial: Trial) -> Iterator[str]:
    """What was written, and how long it takes."""
    from perfvcs.profile.rules import RULES_FILE
    from perfvcs.text.characters import shorten

    proposal = trial.proposal
    yield f"wrote {RULES_FILE}: {proposal.found}"
    command = shorten(proposal.cmd, LONGEST_COMMAND)
    others = f" and {counted(len(proposal.beside), 'other')}" if proposal.beside else ""
    verb = "run" if others else "runs"
    yield (
        f"`{command}`{others} {verb} in {duration(trial.seconds)}; perf collect will take"
        f" {trial.collect}, perf check --measure {trial.check}"
    )


def _tried(repository: Repository, proposals: list[Proposal]) -> Trial | None:
    from perfvcs.measure.progress import shown
    from perfvcs.measure.trial import first_that_runs

    with shown(doing="trying what to measure") as progress:
        return first_that_runs(repository, proposals, progress)
