"""Sessions that were interrupted: which there are, and whether they can be continued as they began."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.descriptors import entries
from perfvcs.environment import clean, recorded
from perfvcs.errors import UsageError, nearest
from perfvcs.measure.journal import SESSIONS_FOLDER, Journal, SessionHeader, header_of, running
from perfvcs.measure.product import read_all
from perfvcs.measure.request import digest
from perfvcs.measure.turns import ORDER_NAME
from perfvcs.rules import RULES_FILE

if TYPE_CHECKING:
    from perfvcs.jobs import Cell
    from perfvcs.jobs.config import Config
    from perfvcs.repository import Repository

LIKE = re.compile(r"\d{8}T\d{6}(-[0-9a-f]{0,6})?")  # the name of a session, or a beginning that nothing else has
MOST_SESSIONS = 5  # sessions that a message lists


def unfinished(home: Path) -> list[SessionHeader]:
    """The sessions that are neither finished nor running, the newest first; files of others are left alone."""
    names = [name for name in reversed(entries(home / SESSIONS_FOLDER)) if name.endswith(".jsonl")]
    return [header for name in names if (header := header_of(home / SESSIONS_FOLDER / name)) is not None]


def choose(home: Path, name: str = "") -> SessionHeader:
    """The newest unfinished session, or the one whose name begins so; raises UsageError."""
    found = unfinished(home)
    if not found:
        raise UsageError("no session is unfinished, so there is nothing to continue: measure with `perf collect`")
    wanted = [header for header in found if header.session.startswith(name)]
    if not wanted:
        raise UsageError(f"no session `{name}` is unfinished{nearest(name, [header.session for header in found])}")
    return wanted[0]


def named(home: Path, name: str) -> SessionHeader | None:
    """The unfinished session that a name, or the beginning of one, stands for; None where it stands for none.

    Raises UsageError where it stands for several, or for one that is running.
    """
    if not LIKE.fullmatch(name):
        return None
    found = [header for header in unfinished(home) if header.session.startswith(name)]
    if len(found) > 1:
        raise UsageError(
            f"several sessions begin with `{name}`: name one: {', '.join(header.session for header in found[:MOST_SESSIONS])}"
        )
    if found:
        return found[0]
    for entry in entries(home / SESSIONS_FOLDER):
        if entry.startswith(name) and running(home / SESSIONS_FOLDER / entry):
            raise UsageError(f"session {Path(entry).stem} is running: end it first, Ctrl-C keeps what is complete")
    return None


def forget(home: Path, header: SessionHeader) -> None:
    """Give up an unfinished session."""
    Journal(home, header).forget()


def variables() -> dict[str, str]:
    """The variables of the caller's environment that profiles record."""
    return recorded(clean(os.environ), built=True)


def differing(header: SessionHeader) -> list[str]:
    """The names of the variables that are not as they were when a session began; empty if its header does not have them."""
    before, now = header.variables, variables()
    return [] if before is None else sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def intact(repository: Repository, header: SessionHeader, config: Config, command: tuple[str, ...]) -> tuple[list[Cell], Config]:
    """The cells of a session and the configuration with its knobs; raises UsageError where these are not as they were."""
    given_up = f"or give it up with `perf rm {header.session}` (its profiles stay) and measure anew"
    if header.command != command:
        if header.command:
            raise UsageError(f"session {header.session} measured another command: {header.continued_by_name}")
        raise UsageError(f"session {header.session} measured the jobs of {RULES_FILE}: leave out `-- {shlex.join(command)}`")
    same = header.config == digest(config)
    if not same and not command:
        raise UsageError(f"{RULES_FILE} changed since session {header.session} began: put it back as it was, {given_up}")
    in_place = header.here and not command  # as older versions measured HEAD, too
    if header.order != ORDER_NAME or not same or in_place:
        raise UsageError(f"session {header.session} was begun by another version of perfvcs: install that one, {given_up}")
    now = {one.name: one.digest for one in read_all(header.request.against, repository.project)}
    for state in header.versions:
        if state.product:
            if now.get(state.product) != state.dirty:
                raise UsageError(
                    f"{state.product} is no longer what session {header.session} measured: put it back as it was, {given_up}"
                )
        elif (state.dirty or header.here) and repository.current(state.commit) != state:
            raise UsageError(
                f"the working tree is no longer {state.name}, which session {header.session} measured: put it back as it was, {given_up}"
            )
    cells, measured = header.request.apply(config)
    counts = {(job.label, job.collector): job.executions for job in header.jobs}
    return [replace(cell, executions=counts[cell.label, cell.collector_name], auto=None) for cell in cells], measured
