"""Push and pull under load, kills and hostile remotes: ``python benchmarks/sharing.py MODE [--count
N] [--profiles N] [--seed N]``.

``pushers``: so many clones push their profiles to one bare repository at once. ``kills``: push and
pull are killed at random moments. ``hostile``: remotes that somebody has prepared. ``packing``: git
looks at a bare repository while git packs it. Each prints what it did and ends with 1 where
something was lost, forced, or taken that should not have been.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from remotes import recipes
from remotes.forge import PERF, REFERENCE, clone, filled, forge, git, importing, perf, there

from perfvcs.repository import Repository

COUNTS = {"pushers": 32, "kills": 200, "hostile": 1, "packing": 50}
PACKS = 60  # more than those at which `git gc --auto` begins, 50
ONLY = ""  # name of a recipe; empty: all


def pushers(folder: Path, count: int, profiles: int, _: random.Random) -> int:
    """All at once, each in a process of its own."""
    shared = forge(folder)
    repositories = [clone(folder, f"clone-{number}") for number in range(count)]
    expected = {
        path
        for number, one in enumerate(repositories)
        for path in filled(one, f"job{number}", profiles)
    }
    began = time.monotonic()
    running = [
        subprocess.Popen(
            [*PERF, "-C", str(one.project.root), "push"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for one in repositories
    ]
    said = [process.communicate()[0] for process in running]
    seconds = time.monotonic() - began
    retries = [
        int(found[1]) - 1 if (found := re.search(r"\((\d+) tries", text)) else 0 for text in said
    ]
    failed = [text for process, text in zip(running, said, strict=True) if process.returncode]
    lost = expected - there(shared)
    commits = int(git(shared, "rev-list", "--count", REFERENCE))
    merges = int(git(shared, "rev-list", "--count", "--min-parents=2", REFERENCE))
    git(shared, "fsck", "--full", "--strict")
    print(
        f"{count} pushers of {profiles} profiles each, {seconds:.0f} s: {len(expected) - len(lost)}"
        f" of {len(expected)} profiles are there"
    )
    print(
        f"retries per push: {sum(retries) / count:.2f} on average, {max(retries)} at most;"
        f" {len(failed)} failed"
    )
    print(f"{commits} commits on {REFERENCE}, {merges} merges, none forced (a hook refuses that)")
    print(*failed[:3], sep="\n")
    return int(bool(lost or failed or commits != count))


def kills(folder: Path, count: int, _: int, chance: random.Random) -> int:
    """Push and pull in turns, each killed at a random moment; then both sides must be whole, and
    the next ones must bring all.
    """
    shared, faults, hit, number = forge(folder), [], 0, 0
    ada, bob = clone(folder, "ada"), clone(folder, "bob")
    expected, removed = set(filled(ada, "first", 5)), set()
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
        began = time.monotonic()
        process = subprocess.Popen(
            [*PERF, "-C", str(one.project.root), word],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(chance.uniform(0, 1.2 * usual))
        if process.poll() is None:
            hit += 1
            process.kill()
        process.wait()
        faults += [f"{number} {word}: {fault}" for fault in _not_whole(shared, ada, bob)]
        if number % 10 == 9:
            faults += [
                f"{number}: {fault}"
                for fault in _not_together(shared, (ada, bob), expected, removed)
            ]
    faults += [
        f"the end: {fault}" for fault in _not_together(shared, (ada, bob), expected, removed)
    ]
    print(
        f"{number} times push or pull, {hit} killed: {len(expected)} profiles, {len(removed)}"
        f" removed, {len(faults)} faults"
    )
    print(*faults[:5], sep="\n")
    return int(bool(faults))


def _not_whole(shared: Path, *repositories: Repository) -> Iterator[str]:
    for folder in (shared, *(one.store.path for one in repositories)):
        done = subprocess.run(
            ["git", "fsck", "--full", "--strict", "--no-dangling"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
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
    for name, found in (
        ("the forge", there(shared)),
        *((one.project.root.name, set(one.store.paths())) for one in repositories),
    ):
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


def packing(folder: Path, count: int, profiles: int, chance: random.Random) -> int:
    """`git fsck` begins at a random moment of `git gc --auto`, on a repository that a server has
    after as many pushes as packs.
    """
    template = forge(folder)
    git(template, "config", "fastimport.unpackLimit", "1")
    tip = None
    for number in range(PACKS):
        with importing(template, tip) as stream:
            for turn in range(profiles):
                content = chance.randbytes(2000)
                stream.write(
                    b"M 100644 inline %s\ndata %d\n%s\n"
                    % (f"8c/{number}-{turn}.json".encode(), len(content), content)
                )
        tip = git(template, "rev-parse", REFERENCE)
    expected, beside, after = there(template), [], 0
    began = time.monotonic()
    shutil.copytree(template, folder / "timed")
    git(folder / "timed", "gc", "--auto", "--quiet")
    usual = time.monotonic() - began
    packs = [
        len(list((place / "objects/pack").glob("*.pack"))) for place in (template, folder / "timed")
    ]
    for number in range(count):
        place = folder / f"copy{number}"
        shutil.copytree(template, place)
        process = subprocess.Popen(
            ["git", "gc", "--auto", "--quiet"], cwd=place, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0, usual))
        look = ["git", "fsck", "--full", "--strict"]
        done = subprocess.run(look, cwd=place, capture_output=True, text=True, check=False)
        beside.append(
            (done.returncode, done.stderr.strip().partition("\n")[0].replace(str(place), "")[:120])
        )
        process.wait()
        after += (
            subprocess.run(look, cwd=place, capture_output=True, check=False).returncode != 0
            or there(place) != expected
        )
        shutil.rmtree(place)
    statuses = {code: sum(one == code for one, _ in beside) for code, _ in sorted(beside)}
    print(
        f"{packs[0]} packs, {packs[1]} after `git gc --auto` ({usual:.1f} s); {count} times fsck"
        f" beside it, by exit status: {statuses}"
    )
    print(*sorted({said for code, said in beside if code})[:3], sep="\n")
    print(f"afterwards broken, or without a profile: {after} of {count}")
    return int(bool(after))


def hostile(folder: Path, _: int, __: int, ___: random.Random) -> int:
    """A fresh clone with two profiles meets each recipe; nothing but the message may come of it."""
    bad = 0
    print("| remote | pull | seconds | MB of memory | MB on disk |\n|---|---|---|---|---|")
    chosen = [recipe for recipe in recipes.ALL if ONLY in recipe.__name__]
    for recipe in chosen:
        place = folder / "recipe"
        place.mkdir()
        shared = forge(place)
        recipe(shared)
        repository = clone(place, "ada")
        if recipe is recipes.cut:
            git(repository.project.root, "config", "remote.origin.uploadpack", str(place / "cut"))
        before = set(filled(repository, "mine", 2))
        began = time.monotonic()
        process = subprocess.Popen(
            [*PERF, "-C", str(repository.project.root), "pull"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        memory, (_out, err) = _watched(process)
        seconds = time.monotonic() - began
        size = (
            sum(
                path.stat().st_size
                for path in (repository.home / "remotes").rglob("*")
                if path.is_file()
            )
            / 1e6
        )
        whole = (
            perf(repository.project.root, "fsck").returncode == 0
            and set(repository.store.paths()) == before
        )
        quiet = err.count("\n") <= 1 and "Traceback" not in err and not (place / "sprung").exists()
        bad += not (whole and quiet)
        about = (recipe.__doc__ or "").rstrip(".")
        print(
            f"| {about} | {process.returncode}: {err.strip()[:200]} | {seconds:.1f} |"
            f" {memory / 1e6:.0f} | {size:.1f} |",
            flush=True,
        )
        shutil.rmtree(place)
    print(f"{len(chosen)} remotes, {bad} did harm")
    return int(bool(bad))


def _watched(process: subprocess.Popen[str]) -> tuple[float, tuple[str, str]]:
    """The most memory that a process and what it started had at once, and what it said."""
    import psutil

    most = 0.0
    while process.poll() is None:
        try:
            family = [
                psutil.Process(process.pid),
                *psutil.Process(process.pid).children(recursive=True),
            ]
            most = max(most, sum(one.memory_full_info().uss for one in family))
        except psutil.Error:
            pass
        time.sleep(0.05)
    return most, process.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=COUNTS)
    parser.add_argument("--count", type=int)
    parser.add_argument("--profiles", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--only", default="", help="hostile: the recipe of this name.")
    parser.add_argument("--gigabytes", type=int, default=recipes.GIGABYTES)
    parser.add_argument("--files", type=int, default=recipes.MANY_FILES)
    options = parser.parse_args()
    globals().update(ONLY=options.only)
    recipes.GIGABYTES, recipes.MANY_FILES = options.gigabytes, options.files
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="sharing-") as name:
        mode = {"pushers": pushers, "kills": kills, "hostile": hostile, "packing": packing}[
            options.mode
        ]
        return mode(
            Path(name),
            options.count or COUNTS[options.mode],
            options.profiles,
            random.Random(options.seed),
        )


if __name__ == "__main__":
    raise SystemExit(main())
