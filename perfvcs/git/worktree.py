"""Checked-out revisions: temporary git worktrees below ``.perf/worktrees``."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from perfvcs.errors import CURES, PerfError, disk_is_full
from perfvcs.git.changes import LARGE_FILE, WorkingChanges
from perfvcs.git.command import GitError, git
from perfvcs.git.project import Project
from perfvcs.git.submodules import HOOKS, Wanted, fill, take_settings
from perfvcs.system import disk
from perfvcs.text.words import counted

# seconds after which a record that does not say where its worktree is has nobody who will write it
UNFINISHED = 60.0
# what measure/sites.py calls the checkouts of a session
OWN_NAME = r"[0-9a-f]{12}(-\d+){2,3}"
# a worktree must not run the project's hooks
QUIET_CHECKOUT = ("-c", f"{HOOKS}=/dev/null", "-c", "advice.detachedHead=false")
TEXT_BYTES = 8000  # of a file's beginning; git takes a file for binary where there is a NUL in them
TICK = 0.02  # seconds, two ticks of the clock for stamps
MICROSECOND = 1000  # ns
LFS_POINTER = b"version https://git-lfs.github.com/spec/"  # specification of Git LFS


class CheckoutError(PerfError):
    """A revision could not be checked out."""

    exit_code = 5


@contextmanager
def checkout(
    project: Project,
    commit: str,
    folder: Path,
    *,
    changes: WorkingChanges | None = None,
    wanted: Wanted = True,
    notes: list[str] | None = None,
) -> Iterator[Path]:
    """A worktree of ``commit`` in ``folder``, with the ``wanted`` submodules; ``changes`` of the
    working tree come on top.

    It is removed on the way out, whatever happened. What it lacks is added to ``notes``, in
    sentences that do not name the commit.
    """
    try:
        try:
            lacks = _add(project, commit, folder, wanted=wanted)
            if notes is not None:
                notes += lacks
            if changes is not None:
                _copy(changes, folder, wanted)
        except GitError as error:
            raise _not_made(commit, folder, error) from None
        yield folder
    finally:
        remove(project, folder)


def clone(
    project: Project,
    commit: str | None,
    folder: Path,
    *,
    changes: WorkingChanges | None = None,
    wanted: Wanted = True,
) -> list[str]:
    """A repository of its own in ``folder``, at ``commit`` or HEAD, that reads the objects of
    another; nothing is written there.

    It has the ``wanted`` submodules; returns what it lacks, as ``checkout`` notes it. Raises
    CheckoutError.
    """
    commit = commit or "HEAD"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        git(
            folder.parent,
            *QUIET_CHECKOUT,
            "clone",
            "--quiet",
            "--shared",
            "--template=",
            "--no-checkout",
            str(project.root),
            str(folder),
        )
        take_settings(project, folder)
        git(folder, *QUIET_CHECKOUT, "checkout", "--quiet", "--detach", project.resolve(commit))
        lacks = _filled(project, folder, wanted)
    except GitError as error:
        raise _not_made(commit, folder, error) from None
    if changes is not None:
        _copy(changes, folder, wanted)
    return lacks


def refill(project: Project, folder: Path, *, wanted: Wanted = True) -> list[str]:
    """Bring the submodules of a clone to what its HEAD has now; returns what it lacks."""
    try:
        return _filled(project, folder, wanted)
    except GitError as error:
        raise _not_made("a patch", folder, error) from None


def _add(project: Project, commit: str, folder: Path, *, wanted: Wanted = True) -> list[str]:
    """Make a worktree; what it lacks."""
    with contextlib.suppress(FileExistsError):
        folder.parent.mkdir(parents=True)
    project.git(
        *QUIET_CHECKOUT, "worktree", "add", "--quiet", "--detach", "--force", str(folder), commit
    )
    return _filled(project, folder, wanted)


def _filled(project: Project, folder: Path, wanted: Wanted) -> list[str]:
    """Check out the submodules of a checkout; what it lacks."""
    empty = fill(project.common_dir, project.home, folder, wanted=wanted)
    return [
        *(
            f"submodule `{path}` is left empty ({reason}): `git submodule update --init` shows why,"
            " and `submodules` in perf.toml says which are wanted"
            for path, reason in empty.items()
        ),
        *_pointers(folder),
    ]


def _pointers(folder: Path) -> list[str]:
    """The note about files whose content git-lfs has, if that is not set up here."""
    attributes = folder / ".gitattributes"
    if not attributes.is_file() or b"filter=lfs" not in attributes.read_bytes():
        return []
    listed = git(folder, "ls-files", "-z", "--", ":(attr:filter=lfs)").split("\0")
    pointers = [name for name in filter(None, listed) if _starts(folder / name, LFS_POINTER)]
    if not pointers:
        return []
    return [
        f"of {counted(len(pointers), 'file')} such as {pointers[0]!a:.100} there is only what"
        " git-lfs puts in the place of the content: install it, then `git lfs install` and `git"
        " lfs pull`"
    ]


def _starts(path: Path, beginning: bytes) -> bool:
    return _beginning(path, len(beginning)) == beginning


def is_binary(path: Path) -> bool:
    """Whether git takes a file for binary, by its beginning."""
    return b"\0" in _beginning(path, TEXT_BYTES)


def _beginning(path: Path, count: int) -> bytes:
    """The first bytes of a file; none of what cannot be read."""
    try:
        with open(path, "rb", opener=disk.plain) as file:
            return file.read(count)
    except (OSError, PerfError):
        return b""


def _not_made(commit: str, folder: Path, error: GitError) -> CheckoutError:
    why = f" ({CURES[errno.ENOSPC]})" if disk_is_full(folder.parent) else ""
    return CheckoutError(f"{commit[:10]} cannot be checked out: {error}{why}")


def lasting(project: Project, commit: str, folder: Path) -> Project:
    """A worktree of ``commit`` that stays: the one in ``folder``, or anew; or CheckoutError."""
    with contextlib.suppress(PerfError, OSError):
        worktree = Project.find(folder)
        if (
            worktree.root == folder.resolve()
            and worktree.head == commit
            and not worktree.git("status", "--porcelain")
        ):
            return worktree
    remove(project, folder)
    try:
        _add(project, commit, folder)
    except GitError as error:
        raise _not_made(commit, folder, error) from None
    return Project.find(folder)


def remove(project: Project, folder: Path) -> None:
    """Take a worktree away, half-made ones too; git's records of other worktrees stay."""
    try:
        with contextlib.suppress(GitError):
            project.git("worktree", "remove", "--force", "--force", str(folder))
    finally:
        disk.remove(folder)
        forget(project, folder)


def forget(project: Project, folder: Path) -> None:
    """Remove git's records of worktrees at or below a folder, and those that a kill left."""
    for record in records(project, folder):
        shutil.rmtree(record, ignore_errors=True)


def records(project: Project, folder: Path) -> list[Path]:
    """Git's records of worktrees at or below a folder, and those that a kill left anywhere."""
    left = []
    for record in (project.common_dir / "worktrees").glob("*"):
        with contextlib.suppress(OSError):
            place = _place(record)
            if place is None:
                # a checkout of perf's is made by whoever holds the lock
                old = time.time() - record.stat().st_mtime > UNFINISHED
                ours = old or re.fullmatch(OWN_NAME, record.name) is not None
            else:
                ours = place.is_relative_to(folder)
            if ours:
                left.append(record)
    return left


def _place(record: Path) -> Path | None:
    """Where the worktree of a record is; None where git was killed before it wrote that."""
    try:
        # git writes the bytes of the path
        written = os.fsdecode((record / "gitdir").read_bytes())
    except FileNotFoundError:
        return None
    return Path(written.removesuffix("\n")).parent if written.endswith("\n") else None


def _copy(changes: WorkingChanges, folder: Path, wanted: Wanted) -> None:
    """Make a checkout of HEAD what the working tree is, of submodules with those ``wanted``."""
    names = changes.files()
    for name in names:  # all first: a file may have become a folder
        if (folder / name).is_symlink() or (folder / name).is_file():
            (folder / name).unlink()
    copied = []
    for name in names:
        source, target = changes.project.root / name, folder / name
        if source.is_symlink() or source.is_file():
            disk.remove(target)  # of a folder that became a file, what is left of it
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy_file(source, target)
            copied.append(name)
        elif (source / ".git").exists() and (wanted is True or name in (wanted or ())):
            _move_submodule(source, target)
    # what a build left untracked is not newer than the sources that git has just written
    objects = (name for name in changes.new() if is_binary(folder / name))
    renew(folder / name for name in set(copied).difference(objects))


def renew(paths: Iterable[Path]) -> None:
    """Make files newer than all that was written before, in the order in which they were changed.

    So a build makes what depends on them, and nothing that was made of them since.
    """
    times: dict[Path, int] = {}
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            times[path] = path.lstat().st_mtime_ns
    if not times:
        return
    time.sleep(TICK)
    now = time.time_ns() - int(TICK / 2 * 1e9)  # what the build writes at once is newer again
    stamps = {old: now + MICROSECOND * rank for rank, old in enumerate(sorted(set(times.values())))}
    for path, old in times.items():
        with contextlib.suppress(FileNotFoundError):
            os.utime(path, ns=(stamps[old], stamps[old]), follow_symlinks=False)


def _move_submodule(source: Path, target: Path) -> None:
    """Bring a submodule of a checkout to the commit that the working tree's own is at; what is
    changed there without one stays there.
    """
    commit = git(source, "rev-parse", "HEAD")
    if not (target / ".git").exists():  # it came with the changes
        target.mkdir(parents=True, exist_ok=True)
        git(target, "init", "--quiet", "--template=")
    git(target, *QUIET_CHECKOUT, "fetch", "--quiet", "--no-tags", str(source), "HEAD")
    git(target, *QUIET_CHECKOUT, "checkout", "--quiet", "--detach", "--force", commit)
    common_dir = Path(git(source, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    fill(common_dir, source, target)


def _copy_file(source: Path, target: Path) -> None:
    """Copy a file or a link, first with its times; cp leaves holes unwritten, and shares the data
    where the file system can.
    """
    try:
        if source.is_symlink() or source.stat().st_size <= LARGE_FILE or not shutil.which("cp"):
            shutil.copy2(source, target, follow_symlinks=False)
            return
        done = subprocess.run(
            ["cp", "-p", "--", source, target],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        problem = done.stderr.strip().rpartition(": ")[2] if done.returncode else ""
    except FileNotFoundError:
        return  # deleted meanwhile; whoever measures it sees that the changes are others
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        raise CheckoutError(
            f"{source} cannot be copied: {problem}; if no job needs it, name it in perf.toml:"
            " [dirty] ignore"
        )
