"""Checked-out revisions: temporary git worktrees below ``.perf/worktrees``."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfvcs import descriptors
from perfvcs.errors import PerfError
from perfvcs.vcs import GitError, Project, git

# A worktree must not run the project's hooks, and its submodules may come from the copies that the project already has.
QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "-c", "protocol.file.allow=always")


class CheckoutError(PerfError):
    """A revision could not be checked out."""

    exit_code = 5


@contextmanager
def checkout(project: Project, commit: str, folder: Path, *, changes: bool = False) -> Iterator[Path]:
    """A worktree of ``commit`` in ``folder``, with its submodules; ``changes`` adds the working tree's own on top.

    It is removed on the way out, whatever happened.
    """
    try:
        with contextlib.suppress(FileExistsError):
            folder.parent.mkdir(parents=True)
        try:
            project.git(*QUIET, "worktree", "add", "--quiet", "--detach", "--force", str(folder), commit)
            _submodules(project.common_dir, folder)
            if changes:
                _copy_changes(project, folder)
        except GitError as error:
            raise CheckoutError(f"{commit[:10]} cannot be checked out: {error}") from None
        yield folder
    finally:
        remove(project, folder)


def remove(project: Project, folder: Path) -> None:
    """Take a worktree away, the half-made ones of a crash too; git's records of other worktrees stay."""
    with contextlib.suppress(GitError):
        project.git("worktree", "remove", "--force", "--force", str(folder))
    descriptors.remove(folder)
    for record in (project.common_dir / "worktrees").glob("*/gitdir"):
        if Path(os.fsdecode(record.read_bytes()).removesuffix("\n")).parent == folder:  # git writes the bytes of the path
            shutil.rmtree(record.parent, ignore_errors=True)


def _submodules(common_dir: Path, folder: Path) -> None:
    """Check submodules out, from the copies below ``.git/modules`` where they are, else from their own address."""
    if not (folder / ".gitmodules").exists():
        return
    from git import Repo  # its parser knows names, paths and quoting of .gitmodules

    with Repo(folder) as repo:
        found = [(module.name, str(module.path)) for module in repo.submodules]
    for name, path in found:
        copy = common_dir / "modules" / name
        local = ("-c", f"submodule.{name}.url={copy}") if copy.exists() else ()
        try:
            git(folder, *QUIET, *local, "submodule", "update", "--init", "--quiet", "--", path)
        except GitError:
            if not local:
                raise
            git(folder, *QUIET, "submodule", "update", "--init", "--quiet", "--", path)
        _submodules(copy, folder / path)


def _copy_changes(project: Project, folder: Path) -> None:
    names = project.changed_files()
    for name in names:  # all first: a file may have become a folder
        if (folder / name).is_symlink() or (folder / name).is_file():
            (folder / name).unlink()
    for name in names:
        source, target = project.root / name, folder / name
        if source.is_symlink() or source.is_file():
            descriptors.remove(target)  # of a folder that became a file, what is left of it
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
