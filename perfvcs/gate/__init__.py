"""The one gate before ``.perf``: a folder that came with a clone is refused. docs/security.md is the page for users."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from perfvcs.descriptors import plain, remove
from perfvcs.errors import UsageError
from perfvcs.gate.inspection import FOLDER, Untrusted, beside, empty, inspect, token_in, untracked
from perfvcs.gate.record import BEGUN, TOKEN, Record, read, write
from perfvcs.lock import alone_in
from perfvcs.vcs import NoRepository, Project

__all__ = ["FOLDER", "Untrusted", "enter", "made", "make", "nothing", "place", "settle", "stamp"]


def enter(project: Project) -> Path:
    """The folder that holds a project's profiles, after every check; raises NoRepository where nothing was measured yet, Untrusted."""
    record = read(project)
    home = place(project, record)
    if home == beside(project) and empty(home):
        untracked(project)
        raise nothing(project)
    inspect(project, record, home)
    return home


def make(project: Project) -> Path:
    """The same folder, made with a new token where there is none; raises Untrusted, and UsageError where it cannot be made."""
    home = place(project, read(project))
    if home == beside(project) and empty(home):
        with alone_in(project.common_dir):
            _begin(project, home)
    inspect(project, read(project), home)
    return home


def nothing(project: Project) -> NoRepository:
    """The error about a repository in which nothing was measured yet."""
    return NoRepository(f"nothing was measured in {project.home} yet: run `perf init`, then `perf collect`")


def _begin(project: Project, home: Path) -> None:
    untracked(project)
    record = read(project)
    if place(project, record) != home or not empty(home):  # another process was faster
        return
    if record is None:
        record = Record.new()
        write(project, record)
    stamp(home, record)


def stamp(home: Path, record: Record) -> None:
    """Write the token into ``.perf``, made where it is not: from now on it is this repository's own. Raises UsageError."""
    if token_in(home) == record.token:
        return
    part = home / BEGUN
    try:
        home.mkdir(parents=True, exist_ok=True)
        remove(part)
        with open(plain(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(f"{record.token}\n")
        part.replace(home / TOKEN)
    except OSError as error:
        raise UsageError(f"cannot make {home} ({error.strerror}): make {home.parent} writable for you") from None


def made(project: Project) -> bool:
    """Whether `perf init`, or the first measurement, has made a ``.perf`` here; nothing in it is opened. Raises Unreadable."""
    record = read(project)
    return record is not None and not empty(place(project, record))


def place(project: Project, record: Record | None) -> Path:
    """Where ``.perf`` is: beside ``.git``, or where `perf init --store` has put it."""
    return Path(record.store) if record is not None and record.store is not None else beside(project)


def settle(project: Project, folder: Path, *, adopt: bool = False) -> None:
    """Keep the profiles in ``folder`` from now on, and link ``.perf`` to it; raises UsageError, Untrusted.

    The folder must be new, empty, or what was ``.perf`` of this repository; any other needs ``adopt``, and adoption after it.
    """
    untracked(project)
    link = beside(project)
    wanted = link if folder.absolute() == link else folder.resolve()
    if wanted != link and wanted.exists() and not wanted.is_dir():
        raise UsageError(f"{wanted} is not a folder: name one, or a path where none is yet")
    if wanted != link and wanted.is_relative_to(project.root.resolve()):
        raise UsageError(f"{wanted} is in the working tree, where git could track it: name a folder outside {project.root}")
    with alone_in(project.common_dir):
        record = read(project) or Record.new()
        current = place(project, record)
        if current != wanted and current.is_dir() and not current.is_symlink() and not empty(current):
            move = f"mv {shlex.quote(str(current))} {shlex.quote(str(wanted))}"
            raise UsageError(f"the profiles are in {current}: move them first (`{move}`), then run this again")
        if not adopt and not empty(wanted) and token_in(wanted) != record.token:
            cure = "name an empty folder, or add --adopt if the profiles in it are yours"
            raise Untrusted(f"{wanted} is not empty, and was not made for this repository: {cure}")
        record = Record(record.token, None if wanted == link else str(wanted))
        write(project, record)
        if empty(wanted):
            stamp(wanted, record)
        with suppress(OSError):  # the link is for people, and some file systems have none
            if link.is_symlink():
                link.unlink()
            elif wanted != link and link.is_dir() and empty(link):
                remove(link)
            if wanted != link:
                link.symlink_to(wanted)
