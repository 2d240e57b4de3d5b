"""The one gate before ``.perf``: a folder that came with a clone is refused. docs/security.md is
the page for users.
"""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from perfvcs.errors import NO_SPACE, UsageError
from perfvcs.gate.inspection import (
    BEGUN,
    PERF_FOLDER,
    TOKEN_FILE,
    GateRecord,
    Untrusted,
    beside,
    beside_git,
    empty,
    inspect,
    is_elsewhere,
    place,
    read,
    token_in,
    untracked,
    write,
)
from perfvcs.git.project import NoRepository, Project
from perfvcs.system.disk import plain, remove
from perfvcs.system.lock import alone_in

__all__ = [
    "PERF_FOLDER",
    "Untrusted",
    "enter",
    "made",
    "make",
    "nothing",
    "place",
    "settle",
    "stamp",
]


def enter(project: Project) -> Path:
    """The folder that holds a project's profiles, after every check; raises NoRepository where
    nothing was measured yet, Untrusted.
    """
    record = read(project)
    home = place(project, record)
    if not is_elsewhere(record) and empty(home):
        untracked(project, home)
        raise nothing(project)
    inspect(project, record, home)
    return home


def make(project: Project) -> Path:
    """The same folder, made with a new token where there is none; raises Untrusted, and UsageError
    where it cannot be made.
    """
    record = read(project)
    home = place(project, record)
    if not is_elsewhere(record) and empty(home):
        with alone_in(project.common_dir):
            _begin(project, home)
        record = read(project)
    inspect(project, record, home)
    return home


def nothing(project: Project) -> NoRepository:
    """The error about a repository in which nothing was measured yet."""
    return NoRepository(
        f"nothing was measured in {project.home} yet: run `perf init`, then `perf collect`"
    )


def _begin(project: Project, home: Path) -> None:
    untracked(project, home)
    record = read(project)
    if place(project, record) != home or not empty(home):  # another process was faster
        return
    if record is None:
        record = GateRecord.new(beside_git(project, home))
        write(project, record)
    stamp(home, record)


def stamp(home: Path, record: GateRecord) -> None:
    """Write the token into ``.perf``, made where it is not: from now on it is this repository's
    own. Raises UsageError, OSError.
    """
    if token_in(home) == record.token:
        return
    part = home / BEGUN
    try:
        home.mkdir(parents=True, exist_ok=True)
        remove(part)
        with open(
            plain(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
        ) as file:
            file.write(f"{record.token}\n")
        part.replace(home / TOKEN_FILE)
    except OSError as error:
        if error.errno in NO_SPACE:
            raise
        raise UsageError(
            f"cannot make {home} ({error.strerror}): see who may write to {home.parent}"
        ) from None


def made(project: Project) -> bool:
    """Whether `perf init`, or the first measurement, has made a ``.perf`` here; nothing in it is
    opened. Raises UnreadableRecord.
    """
    record = read(project)
    return record is not None and not empty(place(project, record))


def settle(project: Project, folder: Path, *, adopt: bool = False) -> None:
    """Keep the profiles in ``folder`` from now on, and link ``.perf`` to it; raises UsageError,
    Untrusted.

    The folder must be new, empty, or what was ``.perf`` of this repository; any other needs
    ``adopt``, and adoption after it.
    """
    link = beside(project)
    untracked(project, link)
    wanted = _wanted(project, folder, link)
    with alone_in(project.common_dir):
        record = read(project) or GateRecord.new(beside_git(project, link))
        current = place(project, record)
        if (
            current != wanted
            and current.is_dir()
            and not current.is_symlink()
            and not empty(current)
        ):
            move = f"mv {shlex.quote(str(current))} {shlex.quote(str(wanted))}"
            raise UsageError(
                f"the profiles are in {current}: move them first (`{move}`), then run this again"
            )
        if not empty(wanted):
            if not adopt and token_in(wanted) != record.token:
                cure = "name an empty folder, or add --adopt if the profiles in it are yours"
                raise Untrusted(
                    f"{wanted} is not empty, and was not made for this repository: {cure}"
                )
        elif wanted != link:
            stamp(wanted, record)  # a folder that cannot be made is not remembered
        write(
            project,
            GateRecord(record.token, beside_git(project, link) if wanted == link else str(wanted)),
        )
        with suppress(OSError):  # the link is for people, and some file systems have none
            if link.is_symlink():
                link.unlink()
            elif wanted != link and link.is_dir() and empty(link):
                remove(link)
            if wanted != link:
                link.symlink_to(wanted)


def _wanted(project: Project, folder: Path, link: Path) -> Path:
    """The folder that `perf init --store` names, without links on the way; raises UsageError where
    it cannot be one.
    """
    try:
        str(folder).encode()
        wanted = link if folder.absolute() == link else folder.resolve()
        is_file = wanted != link and not stat.S_ISDIR(wanted.stat().st_mode)
    except FileNotFoundError:
        is_file = False
    except UnicodeEncodeError:
        raise UsageError(
            "the path of the folder has bytes that are not UTF-8: name another one"
        ) from None
    except OSError as error:
        raise UsageError(
            f"that cannot be the path of a folder ({error.strerror}): name another one"
        ) from None
    if is_file:
        raise UsageError(f"{wanted} is not a folder: name one, or a path where none is yet")
    for inside in (project.root, project.home, project.common_dir):
        if wanted != link and wanted.is_relative_to(inside.resolve()):
            raise UsageError(
                f"{wanted} is in {inside}, which git works on: name a folder outside, or {link} for"
                " the usual place"
            )
    return wanted
