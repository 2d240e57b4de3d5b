"""Projects of many commits with profiles, and what `perf history` finds in them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from random import Random
from typing import Any

from conftest import Perf, Project
from samples import interleaved, noisy, sample_profile

from perfvcs.profile import Collected, Environment, Job, Profile
from perfvcs.repository import Repository

SORT = Job(name="sort", collector="time", cmd="./sort", engine="launcher/1")
PARSE = Job(name="parse", collector="time", cmd="./parse", args="--fast", engine="launcher/1")
OTHER = Environment(fields={"cpu": "another"}, fingerprint="ba9876543210")


def grow(project: Project, count: int, title: str = "Change", days: int = 0) -> list[str]:
    """So many commits more, oldest first; they are so many days apart, or all of the same second,
    so that only ancestry orders them.
    """
    old = project.git("rev-parse", "--verify", "--quiet", "HEAD", check=False)
    branch = project.git("branch", "--show-current")
    stream = []
    for number in range(count):
        message = f"{title} {number}"
        stream += [
            f"commit refs/heads/{branch}",
            f"committer Ada <ada@example.org> {1_700_000_000 + 86_400 * days * number} +0000",
        ]
        stream += [
            f"data {len(message)}",
            message,
            *([f"from {old}"] if old and not number else []),
            "",
        ]
    project.write("../stream", "\n".join(stream))
    with (project.root / "../stream").open() as text:
        subprocess.run(["git", "fast-import", "--quiet"], cwd=project.root, stdin=text, check=True)
    project.git("reset", "--quiet", "--hard")
    return project.git(
        "rev-list", "--reverse", f"--max-count={count}", "--first-parent", "HEAD"
    ).split()


def slowed(project: Project) -> list[str]:
    """Two commits with profiles of one session, the second a fifth slower."""
    commits = [project.commit(f"version {number}") for number in range(2)]
    store(*interleaved(commits, [noisy(0.01), noisy(0.012, seed=2)]))
    return commits


def begun(project: Project, count: int) -> list[str]:
    """The same of an empty project that has a store, too, which is empty."""

    def make() -> list[str]:
        found = grow(project, count)
        Repository.find(create=True)
        return found

    return project.begin(f"history of {count}", make)


def measured(
    commits: Sequence[str],
    levels: Sequence[float],
    seed: int = 1,
    spread: float = 0.01,
    **overrides: Any,
) -> list[Profile]:
    """A profile per commit, three executions about its level; its commits are noisy, too."""
    random = Random(seed)
    found = []
    for number, (commit, centre) in enumerate(zip(commits, levels, strict=True)):
        here = centre * random.lognormvariate(0, spread)
        wall = [here * random.lognormvariate(0, 0.001) for _ in range(3)]
        collected = Collected(
            f"20261120T093000-{seed:03}{number:03}",
            "2026-11-20T09:30:00Z",
            "2026-11-20T09:30:02Z",
            "perfvcs 0.1.0",
        )
        found.append(sample_profile(wall, commit=commit, **({"collected": collected} | overrides)))
    return found


def store(*profiles: Profile) -> Repository:
    repository = Repository.find(create=True)
    repository.store.add(profiles, "test")
    return repository


def stored(revision: str = "HEAD") -> list[Profile]:
    """The profiles of a commit."""
    repository = Repository.find()
    return repository.profiles(repository.index.headers([repository.project.resolve(revision)]))


def stepped(count: int, place: int, low: float = 0.010, high: float = 0.011) -> list[float]:
    return [low] * place + [high] * (count - place)


def printed(perf: Perf, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = perf("history", "--json", *args).document
    return found
