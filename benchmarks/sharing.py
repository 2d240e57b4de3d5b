"""Push and pull under load and kills."""

from __future__ import annotations

import random
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from perfvcs.repository import Repository

from .figures import Row
from .forge import REFERENCE, clone, filled, forge, perf, there
from .registry import Wrong, benchmark
from .repositories import PERF, git, scratch

FSCK = ("git", "fsck", "--full", "--strict")


@benchmark("sharing", quick={"count": 2, "profiles": 2})
def push_at_once(*, count: int = 32, profiles: int = 100) -> Iterator[Row]:
    """What is lost where many clones push to one repository at once, which takes no forced push?"""
    with scratch("sharing") as folder:
        shared = forge(folder)
        clones = [clone(folder, f"clone-{number}") for number in range(count)]
        expected = {
            path
            for number, one in enumerate(clones)
            for path in filled(one, f"job{number}", profiles)
        }
        began = time.monotonic()
        pushing = [_started(one, "push") for one in clones]
        said = [process.communicate()[1] for process in pushing]
        seconds = time.monotonic() - began
        git(shared, "fsck", "--full", "--strict")
        lost = expected - there(shared)
        commits = int(git(shared, "rev-list", "--count", REFERENCE))
        merges = int(git(shared, "rev-list", "--count", "--min-parents=2", REFERENCE))
    retries = [int(found[1]) - 1 for text in said if (found := re.search(r"\((\d+) tries", text))]
    failed = sum(process.returncode != 0 for process in pushing)
    yield {
        "clones": count,
        "profiles": len(expected),
        "lost": len(lost),
        "failed": failed,
        "retries a push": sum(retries) / count,
        "most retries": max(retries, default=0),
        "commits": commits,
        "merges": merges,
        "s": seconds,
    }
    if lost or failed or commits != count:
        raise Wrong(f"{len(lost)} profiles are lost, {failed} pushes failed, {commits} commits")


def _started(repository: Repository, *words: str) -> subprocess.Popen[str]:
    """A command in a clone, whose words on standard error can be read."""
    command = [*PERF, "-C", str(repository.project.root), *words]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdout=quiet, stderr=subprocess.PIPE, text=True)


@benchmark("sharing", quick={"count": 1, "seed": 1})
def push_kills(*, count: int = 200, seed: int = 20) -> Iterator[Row]:
    """What is lost where push and pull are killed at random moments?

    Both sides must be whole then, and the next ones must bring all.
    """
    chance, hit, number = random.Random(seed), 0, 0
    faults: list[str] = []
    with scratch("sharing") as folder:
        shared = forge(folder)
        ada, bob = clone(folder, "ada"), clone(folder, "bob")
        expected, removed = set(filled(ada, "first", 5)), set[str]()
        began = time.monotonic()
        perf(ada.project.root, "push")
        usual = time.monotonic() - began
        while hit < count:
            number += 1
            one, other = (ada, bob) if number % 2 else (bob, ada)
            word = "push" if chance.random() < 0.5 else "pull"
            expected |= set(filled(one, f"round{number}", 3))
            if number % 5 == 0 and (known := sorted(set(one.store.paths()) & expected)):
                gone = chance.choice(known)
                perf(one.project.root, "rm", gone)
                expected.discard(gone)
                removed.add(gone)
            if word == "pull":
                perf(other.project.root, "push")
            hit += _killed(one, word, chance.uniform(0, 1.2 * usual))
            faults += [f"{number} {word}: {fault}" for fault in _not_whole(shared, ada, bob)]
            if number % 10 == 9:
                faults += _not_together(shared, (ada, bob), expected, removed)
        faults += _not_together(shared, (ada, bob), expected, removed)
    counts = {"profiles": len(expected), "removed": len(removed), "faults": len(faults)}
    yield {"push or pull": number, "killed": hit, **counts}
    if faults:
        raise Wrong("\n".join(faults[:5]))


def _killed(repository: Repository, word: str, seconds: float) -> bool:
    """Whether a command was still running after some seconds, and is killed."""
    process = _started(repository, word)
    time.sleep(seconds)
    runs = process.poll() is None
    process.kill()
    process.communicate()
    return runs


def _not_whole(shared: Path, *repositories: Repository) -> Iterator[str]:
    for folder in (shared, *(one.store.path for one in repositories)):
        done = subprocess.run(
            [*FSCK, "--no-dangling"], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            yield f"{folder.parent.parent.name}: {done.stderr}"


def _not_together(
    shared: Path, repositories: tuple[Repository, ...], expected: set[str], removed: set[str]
) -> Iterator[str]:
    """After a push and a pull of everybody all have the same, and nothing else."""
    for word in ("push", "pull", "push", "pull"):
        for one in repositories:
            done = perf(one.project.root, word)
            if done.returncode:
                yield f"{word} after a kill: {done.stderr}"
    held = {one.project.root.name: set(one.store.paths()) for one in repositories}
    for name, found in {"the forge": there(shared), **held}.items():
        if expected - found:
            yield f"{name} lacks {len(expected - found)}"
        if found & removed:
            yield f"{name} has {len(found & removed)} removed ones"
        if found - expected - removed:
            yield f"{name} has {len(found - expected - removed)} unknown ones"
    for one in repositories:
        done = perf(one.project.root, "fsck")
        if done.returncode:
            yield f"fsck: {done.stdout}"
