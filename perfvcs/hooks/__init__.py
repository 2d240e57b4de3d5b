"""Git hooks: installing them beside what is there already, and taking them out again."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perfvcs.errors import PerfError
from perfvcs.gate import made
from perfvcs.git.command import GitError
from perfvcs.git.project import Project
from perfvcs.hooks import script as hookscript
from perfvcs.system import disk

HOOKS = ("post-commit", "pre-push")

HookState = Literal["installed", "outdated", "not installed", "another tool's"]


class HookError(PerfError):
    """A hook cannot be installed or removed without losing somebody's file."""


@dataclass(frozen=True)
class Hook:
    """One hook of the project.

    ``path`` is where git looks for it, ``ours`` our script (elsewhere when a tool has moved it on),
    ``kept`` the one from before.
    """

    name: str
    path: Path
    state: HookState
    ours: Path | None
    kept: Path | None


@dataclass(frozen=True)
class HookRemoval:
    """The result of ``uninstall`` for one hook; ``kept`` is (restored: was) the hook that we had
    kept aside.
    """

    name: str
    done: Literal["removed", "restored", "left alone", "not installed"]
    path: Path
    kept: Path | None


def folder(project: Project) -> Path:
    """The folder in which git looks for hooks: ``core.hooksPath``, or in the git folder that all
    worktrees share.
    """
    return Path(project.git("rev-parse", "--path-format=absolute", "--git-path", "hooks"))


def status(project: Project) -> list[Hook]:
    """The state of each of our hooks."""
    return [_hook(folder(project), name) for name in HOOKS]


def install(project: Project, names: Iterable[str] = HOOKS) -> list[Hook]:
    """Write the hooks, with the present interpreter's path in them; a hook that is there already is
    kept aside and called first.

    Doing it again writes them anew and changes nothing else. Raises HookError.
    """
    place = folder(project)
    if place.exists() and not place.is_dir():  # /dev/null switches hooks off
        raise HookError(
            f"{place} is not a folder, and git looks for hooks there: see `git config --show-origin"
            " core.hooksPath`"
        )
    for name in names:
        hook = _hook(place, name)
        former = _kept(hook.path)
        if hook.ours is None and os.path.lexists(hook.path):
            # the same: an install was killed
            if os.path.lexists(former) and not os.path.samestat(former.lstat(), hook.path.lstat()):
                raise HookError(
                    f"{former} of an earlier install is in the way of keeping {hook.path}: rename"
                    " or delete one of them"
                )
            _keep(hook.path, former)
        _write(hook.ours or hook.path, hookscript.script(name, sys.executable))
    return [_hook(place, name) for name in names]


def uninstall(project: Project, names: Iterable[str] = HOOKS) -> list[HookRemoval]:
    """Take our hooks out and put back what was there before, the same file under its old name.

    A hook that another tool has written since is left alone, and so is the one that we kept.
    """
    place = folder(project)
    return [_remove(_hook(place, name)) for name in names]


def _remove(hook: Hook) -> HookRemoval:
    if hook.ours is None and os.path.lexists(hook.path):
        return HookRemoval(hook.name, "left alone", hook.path, hook.kept)
    target = hook.ours or hook.path
    if hook.kept:
        hook.kept.replace(target)
        return HookRemoval(hook.name, "restored", target, hook.kept)
    if hook.ours:
        target.unlink()
        return HookRemoval(hook.name, "removed", target, None)
    return HookRemoval(hook.name, "not installed", hook.path, None)


def notes(project: Project) -> list[str]:
    """Warnings about the folder of the hooks, in sentences."""
    warnings, place = [], folder(project)
    try:
        scope, _, value = project.git(
            "config", "--show-scope", "--get", "core.hooksPath"
        ).partition("\t")
    except GitError:
        scope, value = "", ""
    if scope in ("global", "system"):
        warnings.append(
            f"core.hooksPath ({value}) is git's {scope} setting, for all repositories: the hooks"
            " act where there is a .perf"
        )
    elif value and place.is_relative_to(project.root) and not _ignored(project, place / HOOKS[0]):
        warnings.append(
            f"core.hooksPath ({value}) is among the project's own files: do not commit the hooks"
            " there, they name this machine's Python; a hook for everybody calls `perf hook run"
            ' pre-push "$@"`'
        )
    if not made(project):
        warnings.append("there is no .perf here yet, so the hooks do nothing: run `perf init`")
    return warnings


def _ignored(project: Project, path: Path) -> bool:
    try:
        project.git("check-ignore", "--quiet", str(path))
    except GitError:
        return False
    return True


def _hook(folder: Path, name: str) -> Hook:
    path = folder / name
    # pre-commit's word
    ours = next(
        (candidate for candidate in (path, folder / f"{name}.legacy") if _is_ours(candidate)), None
    )
    former = _kept(path) if os.path.lexists(_kept(path)) else None
    state: HookState
    if ours is not None:
        state = (
            "installed"
            if ours.read_bytes() == hookscript.script(name, sys.executable)
            else "outdated"
        )
    else:
        state = "another tool's" if os.path.lexists(path) else "not installed"
    return Hook(name, path, state, ours, former)


def _kept(path: Path) -> Path:
    return path.with_name(f"{path.name}.{hookscript.KEPT_HOOK}")


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return hookscript.HOOK_MARK.encode() in file.read(200)
    except OSError:
        return False


def _write(path: Path, text: bytes) -> None:
    """Put an executable file in its place in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    disk.write(path, text, 0o755)


def _keep(path: Path, former: Path) -> None:
    """Give a hook its second name; it has its first one until ours takes that, so that there is a
    hook at every moment.
    """
    try:
        os.link(path, former, follow_symlinks=False)
    except OSError:
        path.rename(former)
