"""Sessions that were interrupted: which there are, and whether they can be continued as they began."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.descriptors import entries
from perfvcs.errors import UsageError, nearest
from perfvcs.measure.journal import FOLDER, Header, Journal, header_of
from perfvcs.measure.request import digest
from perfvcs.measure.turns import ORDER
from perfvcs.rules import FILE

if TYPE_CHECKING:
    from perfvcs.jobs import Cell
    from perfvcs.jobs.config import Config
    from perfvcs.repository import Repository


def unfinished(home: Path) -> list[Header]:
    """The sessions that are neither finished nor running, the newest first; files of others are left alone."""
    names = [name for name in reversed(entries(home / FOLDER)) if name.endswith(".jsonl")]
    return [header for name in names if (header := header_of(home / FOLDER / name)) is not None]


def choose(home: Path, name: str = "") -> Header:
    """The newest unfinished session, or the one whose name begins so; raises UsageError."""
    found = unfinished(home)
    if not found:
        raise UsageError("no session is unfinished, so there is nothing to continue: measure with `perf collect`")
    wanted = [header for header in found if header.session.startswith(name)]
    if not wanted:
        raise UsageError(f"no session `{name}` is unfinished{nearest(name, [header.session for header in found])}")
    return wanted[0]


def forget(home: Path, name: str) -> bool:
    """Give up the unfinished session of that name; whether there was one."""
    found = [header for header in unfinished(home) if header.session == name]
    for header in found:
        Journal(home, header).forget()
    return bool(found)


def intact(repository: Repository, header: Header, config: Config) -> tuple[list[Cell], Config]:
    """The cells of a session and the configuration with its knobs; raises UsageError where these are not as they were."""
    given_up = f"or give it up with `perf rm {header.session}` (its profiles stay) and measure anew"
    if header.config != digest(config):
        if header.command:
            raise UsageError(f"session {header.session} measured another command: {header.continued_by_name}")
        raise UsageError(f"{FILE} changed since session {header.session} began: put it back as it was, {given_up}")
    if header.order != ORDER:
        raise UsageError(f"session {header.session} was begun by another version of perfvcs: install that one, {given_up}")
    for state in header.versions:
        if (state.dirty or header.here) and repository.current(state.commit) != state:
            raise UsageError(
                f"the working tree is not {state.name} any more, which session {header.session} measured: put it back as it was, {given_up}"
            )
    cells, measured = header.request.apply(config)
    counts = {(job.label, job.collector): job.executions for job in header.jobs}
    return [replace(cell, executions=counts[cell.label, cell.collector_name], auto=None) for cell in cells], measured
