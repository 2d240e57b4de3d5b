"""Whether a ``.perf`` is this repository's own, and holds nothing that leads elsewhere."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from perfvcs.errors import NO_SPACE, PerfError, UsageError
from perfvcs.git import changes
from perfvcs.git.command import GitError, git
from perfvcs.git.project import NoRepository, Project
from perfvcs.store import layout
from perfvcs.system import disk
from perfvcs.system.disk import NotPlain, plain
from perfvcs.system.foreign import UNDECODABLE

RECORD_FOLDER = "perfvcs"  # in the git folder that all worktrees share
TOKEN_FILE, BEGUN = "token", "token.new"  # in .perf; BEGUN is renamed when it is whole
HEX = re.compile(r"[0-9a-f]{64}")
LARGEST_RECORD = 1 << 16  # bytes
PERF_FOLDER = ".perf"


class UnreadableRecord(NoRepository):
    """The record in the git folder cannot be read, so that no ``.perf`` can be trusted."""


class GateRecord(msgspec.Struct, frozen=True):
    """The token that ``.perf`` must have too, and its place.

    ``store`` is a path relative to the git folder, so that a repository can be moved as a whole;
    `perf init --store` makes it absolute.
    """

    token: str
    store: str

    @property
    def elsewhere(self) -> bool:
        """Whether somebody chose the place."""
        return self.store.startswith("/")

    @classmethod
    def new(cls, store: str) -> GateRecord:
        """A record with a token that nobody can guess."""
        import secrets  # takes 3 ms, and most commands only read

        return cls(secrets.token_hex(32), store)


def read(project: Project) -> GateRecord | None:
    """The record of a repository; None where there is none. Raises UnreadableRecord."""
    path = project.common_dir / RECORD_FOLDER
    try:
        with open(plain(path, os.O_RDONLY), "rb") as file:
            record = msgspec.json.decode(file.read(LARGEST_RECORD), type=GateRecord)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableRecord(
            f"cannot read {path} ({error.strerror}), which says who owns .perf: make it readable"
            " for you"
        ) from None
    except (NotPlain, *UNDECODABLE):
        record = None
    if (
        record is None
        or not HEX.fullmatch(record.token)
        or not record.store
        or "\0" in record.store
    ):
        raise UnreadableRecord(
            f"{path} is damaged: delete it, and run `perf init --adopt` if the profiles in .perf"
            " are yours"
        )
    return record


def write(project: Project, record: GateRecord) -> None:
    """Keep a record, whole or not at all; raises UsageError where the git folder cannot be written,
    OSError where there is no space.
    """
    path = project.common_dir / RECORD_FOLDER
    try:
        disk.write(path, msgspec.json.encode(record) + b"\n", 0o600)
    except OSError as error:
        if error.errno in NO_SPACE:
            raise
        why = "perfvcs keeps a token there that no clone can bring"
        raise UsageError(
            f"cannot write {path} ({error.strerror}), and {why}: make the git folder writable"
            " for you"
        ) from None


class Untrusted(NoRepository):
    """``.perf`` is not one that this repository made on this machine."""


def beside(project: Project) -> Path:
    """The usual place of ``.perf``: beside ``.git``, inside a bare repository."""
    return project.home / PERF_FOLDER


def beside_git(project: Project, home: Path) -> str:
    """A place as the record has it: every working tree of a repository finds it there, also where
    git's layout does not show it.
    """
    return os.path.relpath(home, project.common_dir)


def is_elsewhere(record: GateRecord | None) -> bool:
    """Whether `perf init --store` has put the profiles somewhere."""
    return record is not None and record.elsewhere


def place(project: Project, record: GateRecord | None) -> Path:
    """Where ``.perf`` is: where it was made, or beside ``.git`` if it was moved there with its
    working tree.
    """
    usual = beside(project)
    if record is None:
        return usual
    recorded = Path(os.path.normpath(project.common_dir / record.store))
    if (
        not record.elsewhere
        and recorded != usual
        and empty(recorded)
        and token_in(usual) == record.token
    ):
        return usual
    return recorded


def inspect(project: Project, record: GateRecord | None, home: Path) -> None:
    """Check everything that a command could open or follow; raises Untrusted with the cure."""
    untracked(project, beside(project) if is_elsewhere(record) else home)
    check_place(project, record, home)
    if record is None or token_in(home) != record.token:
        raise Untrusted(
            f"{home} was not made by this repository on this machine (a copy, a clone, or an older"
            " perfvcs): if its profiles are yours, run `perf init --adopt`; otherwise delete it"
        )
    for folder in (home, home / "store"):
        _check_entries(folder)
    if (problem := layout.problem(home / "store")) is not None:
        raise Untrusted(
            f"{problem}: run `perf init --adopt`, which checks it and removes what does not belong"
            " there"
        )


def untracked(project: Project, home: Path) -> None:
    """Raises Untrusted where git tracks ``.perf`` or anything below it: such files came with a
    commit.

    From then on the folder has to be adopted, even after git has let go of it: who knows what else
    came.
    """
    if home.parent == project.common_dir:  # nothing is checked out around it
        return
    if changes.lacks(home.parent / ".git", PERF_FOLDER):  # as a rule
        return
    try:
        tracked = git(home.parent, "ls-files", "-z", "--", f":(icase){PERF_FOLDER}")
    except GitError as error:
        raise Untrusted(f"cannot see whether git tracks {home}: {error}") from None
    if tracked:
        with suppress(PerfError):
            if (record := read(project)) is not None:
                write(project, GateRecord.new(record.store))
        first = tracked.partition("\0")[0]
        cure = (
            f"run `git rm -r --cached {PERF_FOLDER}`, then `perf init --adopt`, or delete"
            f" {PERF_FOLDER}"
        )
        raise Untrusted(
            f"git tracks `{first}`, and what comes with a commit is not trusted: {cure}"
        )


def empty(home: Path) -> bool:
    """Whether there is no ``.perf`` yet, or one that was only begun."""
    try:
        if stat.S_ISLNK(os.lstat(home).st_mode):
            return False
        return {entry.name for entry in home.iterdir()} <= {TOKEN_FILE, BEGUN}
    except FileNotFoundError:
        return True
    except OSError:
        return False


def token_in(home: Path) -> str | None:
    """The token in a ``.perf``; None where there is none.

    Raises Untrusted where it cannot be read.
    """
    try:
        with open(
            plain(home / TOKEN_FILE, os.O_RDONLY), encoding="ascii", errors="replace"
        ) as file:
            return file.read(100).strip()
    except (NotPlain, FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Untrusted(
            f"cannot read {home / TOKEN_FILE} ({error.strerror}): make it readable for you"
        ) from None


def check_place(project: Project, record: GateRecord | None, home: Path) -> None:
    """Raises Untrusted unless the folder itself is one, is yours, and is where the record says."""
    if is_elsewhere(record):
        link = beside(project)
        if not home.is_dir() or not any(home.iterdir()):
            raise Untrusted(
                f"{home}, where `perf init --store` has put the profiles, is not there or empty:"
                " mount it, or run it again"
            )
        if link.exists() and link.resolve() != home.resolve():
            cure = f"delete it, or move it away and run `perf init --store {link}`"
            raise Untrusted(f"{link} is not used, since the profiles are in {home}: {cure}")
    if home.is_symlink():
        raise Untrusted(
            f"{home} is a symbolic link, which is not followed: delete it, or run `perf init"
            " --store FOLDER`"
        )
    status = os.lstat(home)
    if not stat.S_ISDIR(status.st_mode):
        raise Untrusted(
            f"{home} is not a folder, and perfvcs keeps its profiles there: move it away"
        )
    check_owner(home, status)
    if record is not None and not os.access(home, os.R_OK | os.X_OK):
        raise Untrusted(f"cannot read {home}: make it readable for you")


def _check_entries(folder: Path) -> None:
    try:
        directory = os.scandir(folder)
    except FileNotFoundError:  # no store yet
        return
    except OSError as error:
        raise Untrusted(
            f"cannot read {folder} ({error.strerror}): make it readable for you"
        ) from None
    with directory:
        for entry in directory:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # it went meanwhile
                continue
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                kind = (
                    "a symbolic link"
                    if stat.S_ISLNK(status.st_mode)
                    else "neither a plain file nor a folder"
                )
                raise Untrusted(
                    f"{entry.path} is {kind}: delete it, or run `perf init --adopt`, which"
                    " removes it"
                )
            check_owner(Path(entry.path), status)


def check_owner(path: Path, status: os.stat_result) -> None:
    """Raises Untrusted unless a file is the user's own or root's; for root under sudo, also its
    caller's, as git does it.
    """
    trusted = {os.geteuid(), 0}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        trusted.add(int(os.environ["SUDO_UID"]))
    if status.st_uid not in trusted:
        cure = "make it yours (chown), or work in a clone of your own"
        raise Untrusted(f"{path} belongs to another user (number {status.st_uid}): {cure}")
