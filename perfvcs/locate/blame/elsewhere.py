"""What differs between two versions of a benchmark besides the code that it runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from perfvcs.git.command import GitError
from perfvcs.git.project import Project
from perfvcs.git.submodules import LINK as SUBMODULE
from perfvcs.locate.sources.hunks import SourceDifference
from perfvcs.profile import Environment, Profile
from perfvcs.text.words import counted

DECLARED_NAME = re.compile(r"""^[ \t]*name[ \t]*=[ \t]*["']?([\w.-]+)""", re.MULTILINE)
MOST_SHOWN = 5  # names of a kind
NOTES = ("hugepages", "os")  # of the machine, which are not compared and may matter


def surroundings(a: Profile, b: Profile) -> list[str]:
    """The differences that the profiles record besides the source, a line each; empty where there
    are none.
    """
    first, second = (_described(profile.environment) for profile in (a, b))
    differences = [
        f"{name}: {first.get(name) or 'none'} -> {second.get(name) or 'none'}"
        for name in sorted(first.keys() | second.keys())
        if first.get(name, "") != second.get(name, "")
    ]
    before, after = installed(a), installed(b)
    changes = [
        f"{name} {before.get(name, 'not installed')} -> {after.get(name, 'not installed')}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
    if changes:
        differences.append(f"installed: {some(changes)}")
    inputs = [
        name
        for name in sorted(a.job.source.keys() | b.job.source.keys())
        if a.job.source.get(name) != b.job.source.get(name)
    ]
    if inputs:
        differences.append(f"input: {some(inputs)}")
    return differences


def submodules(project: Project, a: str, b: str) -> list[str]:
    """The submodules that two commits have at different commits, a line each, with what shows
    more.
    """
    old, new = (dict(_links(project, commit)) for commit in (a, b))
    return [
        f"submodule {path}: {old[path][:10]} -> {new[path][:10]}; to see what changed: git -C"
        f" {shlex.quote(path)} diff {old[path][:10]} {new[path][:10]}"
        for path in old.keys() & new.keys()
        if old[path] != new[path]
    ]


def _links(project: Project, commit: str) -> Iterator[tuple[str, str]]:
    """The paths of a commit's submodules, and their commits."""
    for entry in project.git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0"):
        about, _, path = entry.partition("\t")
        if about.startswith(SUBMODULE):
            yield path, about.split()[2]


def installed(profile: Profile) -> dict[str, str]:
    """The versions of what is installed in a version's own environment, by name; empty where it has
    none.
    """
    pairs = (
        entry.partition("==") for entry in profile.environment.notes.get("installed", "").split()
    )
    return {name: version for name, _, version in pairs}


def _described(environment: Environment) -> dict[str, str]:
    """The fields of an environment and those notes of it that may matter."""
    return environment.fields | {name: environment.notes.get(name, "") for name in NOTES}


def upgraded(a: Profile, b: Profile, own: str = "") -> list[str]:
    """The packages that have another version in the new environment, with those that came along, as
    requirements; empty where no version changed.

    Leaves out the project itself, whose name is ``own``.
    """
    before, after = installed(a), installed(b)
    changed = [
        name
        for name in sorted(after)
        if before.get(name) != after[name] and _folded(name) != _folded(own)
    ]
    return [f"{name}=={after[name]}" for name in changed] if before.keys() & set(changed) else []


def own_name(project: Project, commit: str) -> str:
    """The name under which the project itself is installed, as far as its files tell; empty where
    they do not.
    """
    for path in ("pyproject.toml", "setup.cfg", "setup.py"):
        try:
            declared = DECLARED_NAME.search(project.git("show", f"{commit}:{path}"))
        except GitError:
            continue
        if declared:
            return declared[1]
    return ""


def _folded(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def others(changed: SourceDifference) -> str:
    """Files that changed and are not source, of which nothing tells who reads them; empty without
    any.
    """
    return (
        f"{counted(len(changed.others), 'other file')} changed: {some(sorted(changed.others))}"
        if changed.others
        else ""
    )


def some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    more = len(names) - MOST_SHOWN
    return ", ".join(names[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
