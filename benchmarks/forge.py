"""A bare repository, clones of it with stores, and what both hold."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources
from perfvcs.repository import Repository

from .repositories import PERF, commit, git, repository

REFERENCE = "refs/perf/profiles"
UPDATE = """\
#!/bin/sh
case $2 in *[!0]*) git merge-base --is-ancestor "$2" "$3" || exit 1 ;; esac
"""


def perf(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One command in a clone."""
    return subprocess.run(
        [*PERF, "-C", str(folder), *words], capture_output=True, text=True, check=False
    )


def profile(commit: str, name: str, number: int) -> Profile:
    """Ten executions that no other profile has."""
    noise = random.Random(f"{name} {number}")
    rows = Resources(
        names=[name],
        uid=[0] * 10,
        execution=list(range(10)),
        metrics={"wall": [noise.gauss(1, 0.01) for _ in range(10)]},
    )
    when = Collected(
        f"session-{name}-{number}", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs"
    )
    return Profile(
        commit=commit,
        job=Job(name=name, collector="time", cmd="./x"),
        collected=when,
        design=Design(executions=10),
        metrics={"wall": Metric("s")},
        resources=rows,
    )


def forge(folder: Path) -> Path:
    """A bare repository with a project of three commits, which refuses whatever is forced."""
    first = repository(folder / "first", {"work": "0\n"})
    for number in (1, 2):
        commit(first, f"commit {number}", {"work": f"{number}\n"})
    git(first, "clone", "--quiet", "--bare", ".", str(folder / "forge"))
    # what the server packs meanwhile has ended with the push
    git(folder / "forge", "config", "gc.autoDetach", "false")
    hook = folder / "forge/hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(UPDATE)
    hook.chmod(0o755)
    return folder / "forge"


def clone(folder: Path, name: str) -> Repository:
    """A clone with a store."""
    git(folder, "clone", "--quiet", "forge", name)
    return Repository.find(folder / name, create=True)


def filled(repository: Repository, name: str, count: int) -> list[str]:
    """Store so many profiles."""
    commits = git(repository.project.root, "rev-list", "HEAD").split()
    return repository.store.add(
        (profile(commits[number % 3], name, number) for number in range(count)), "Measure"
    )


def there(forge: Path) -> set[str]:
    """The profiles at the reference."""
    return {
        path
        for path in git(forge, "ls-tree", "-r", "--name-only", REFERENCE).split("\n")
        if re.match(r"[0-9a-f]{2}/", path)
    }
