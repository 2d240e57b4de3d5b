"""Push and pull under load, kills and hostile remotes: ``python benchmarks/sharing.py MODE [--count N] [--profiles N] [--seed N]``.

``pushers``: so many clones push their profiles to one bare repository at once. ``kills``: push and pull are killed at random moments.
``hostile``: remotes that somebody has prepared. ``packing``: git looks at a bare repository while git packs it. Each prints what it did and
ends with 1 where something was lost, forced, or taken that should not have been.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from perfvcs.git.bare import Bare
from perfvcs.git.stream import Import
from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources
from perfvcs.repository import Repository
from perfvcs.store import STORE_FORMAT

REFERENCE = "refs/perf/profiles"
PERF = (sys.executable, "-P", "-m", "perfvcs")
COUNTS = {"pushers": 32, "kills": 200, "hostile": 1, "packing": 50}
PACKS = 60  # more than those at which `git gc --auto` begins, 50
MANY_FILES = 2_000_000  # more than the bound
ONLY = ""  # name of a recipe; empty: all
GIGABYTES = 10  # of a file that is too large
WHO = {f"GIT_{role}_{what}": "ada" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

CUT = f"""\
#!{sys.executable}
import os, subprocess, sys
left = 100_000
with subprocess.Popen(["git-upload-pack", *sys.argv[1:]], stdout=subprocess.PIPE) as process:
    while left > 0 and (part := os.read(process.stdout.fileno(), left)):
        os.write(1, part)
        left -= len(part)
    process.kill()
"""
UPDATE = """\
#!/bin/sh
case $2 in *[!0]*) git merge-base --is-ancestor "$2" "$3" || exit 1 ;; esac
"""


def git(folder: Path, *words: str, data: bytes | None = None) -> str:
    """What git prints in a folder."""
    env = os.environ | WHO
    return (
        subprocess.run(["git", *words], cwd=folder, env=env, input=data, capture_output=True, check=True).stdout.decode().strip()
    )


def perf(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One command in a clone."""
    return subprocess.run([*PERF, "-C", str(folder), *words], capture_output=True, text=True, check=False)


def profile(commit: str, name: str, number: int) -> Profile:
    """Ten executions that no other profile has."""
    noise = random.Random(f"{name} {number}")
    rows = Resources(
        names=[name], uid=[0] * 10, execution=list(range(10)), metrics={"wall": [noise.gauss(1, 0.01) for _ in range(10)]}
    )
    when = Collected(f"session-{name}-{number}", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs")
    return Profile(
        commit=commit, job=Job(name=name, collector="time", cmd="./x"), collected=when, design=Design(executions=10),
        metrics={"wall": Metric("s")}, resources=rows,
    )  # fmt: skip


def forge(folder: Path) -> Path:
    """A bare repository with a project of three commits, which refuses whatever is forced."""
    first = folder / "first"
    first.mkdir()
    git(first, "init", "--quiet", "--initial-branch=main")
    for number in range(3):
        (first / "work").write_text(f"{number}\n")
        git(first, "add", "work")
        git(first, "commit", "--quiet", "--message", f"commit {number}")
    git(first, "clone", "--quiet", "--bare", ".", str(folder / "forge"))
    git(folder / "forge", "config", "gc.autoDetach", "false")  # what the server packs meanwhile has ended with the push
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
    return repository.store.add((profile(commits[number % 3], name, number) for number in range(count)), "Measure")


def there(forge: Path) -> set[str]:
    """The profiles at the reference."""
    return {path for path in git(forge, "ls-tree", "-r", "--name-only", REFERENCE).split("\n") if re.match(r"[0-9a-f]{2}/", path)}


def pushers(folder: Path, count: int, profiles: int, _: random.Random) -> int:
    """All at once, each in a process of its own."""
    shared = forge(folder)
    repositories = [clone(folder, f"clone-{number}") for number in range(count)]
    expected = {path for number, one in enumerate(repositories) for path in filled(one, f"job{number}", profiles)}
    began = time.monotonic()
    running = [
        subprocess.Popen(
            [*PERF, "-C", str(one.project.root), "push"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for one in repositories
    ]
    said = [process.communicate()[0] for process in running]
    seconds = time.monotonic() - began
    retries = [int(found[1]) - 1 if (found := re.search(r"\((\d+) tries", text)) else 0 for text in said]
    failed = [text for process, text in zip(running, said, strict=True) if process.returncode]
    lost = expected - there(shared)
    commits = int(git(shared, "rev-list", "--count", REFERENCE))
    merges = int(git(shared, "rev-list", "--count", "--min-parents=2", REFERENCE))
    git(shared, "fsck", "--full", "--strict")
    print(
        f"{count} pushers of {profiles} profiles each, {seconds:.0f} s: {len(expected) - len(lost)} of {len(expected)} profiles are there"
    )
    print(f"retries per push: {sum(retries) / count:.2f} on average, {max(retries)} at most; {len(failed)} failed")
    print(f"{commits} commits on {REFERENCE}, {merges} merges, none forced (a hook refuses that)")
    print(*failed[:3], sep="\n")
    return int(bool(lost or failed or commits != count))


def kills(folder: Path, count: int, _: int, chance: random.Random) -> int:
    """Push and pull in turns, each killed at a random moment; then both sides must be whole, and the next ones must bring all."""
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
            faults += [f"{number}: {fault}" for fault in _not_together(shared, (ada, bob), expected, removed)]
    faults += [f"the end: {fault}" for fault in _not_together(shared, (ada, bob), expected, removed)]
    print(f"{number} times push or pull, {hit} killed: {len(expected)} profiles, {len(removed)} removed, {len(faults)} faults")
    print(*faults[:5], sep="\n")
    return int(bool(faults))


def _not_whole(shared: Path, *repositories: Repository) -> Iterator[str]:
    for folder in (shared, *(one.store.path for one in repositories)):
        done = subprocess.run(
            ["git", "fsck", "--full", "--strict", "--no-dangling"], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            yield f"{folder.parent.parent.name}: {done.stderr}"


def _not_together(shared: Path, repositories: tuple[Repository, ...], expected: set[str], removed: set[str]) -> Iterator[str]:
    """After a push and a pull of everybody all have the same, and nothing else."""
    for word in ("push", "pull", "push", "pull"):
        for one in repositories:
            done = perf(one.project.root, word)
            if done.returncode:
                yield f"{word} after a kill: {done.stderr}"
    for name, found in (("the forge", there(shared)), *((one.project.root.name, set(one.store.paths())) for one in repositories)):
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
    """`git fsck` begins at a random moment of `git gc --auto`, on a repository that a server has after as many pushes as packs."""
    template = forge(folder)
    git(template, "config", "fastimport.unpackLimit", "1")
    tip = None
    for number in range(PACKS):
        with importing(template, tip) as stream:
            for turn in range(profiles):
                content = chance.randbytes(2000)
                stream.write(b"M 100644 inline %s\ndata %d\n%s\n" % (f"8c/{number}-{turn}.json".encode(), len(content), content))
        tip = git(template, "rev-parse", REFERENCE)
    expected, beside, after = there(template), [], 0
    began = time.monotonic()
    shutil.copytree(template, folder / "timed")
    git(folder / "timed", "gc", "--auto", "--quiet")
    usual = time.monotonic() - began
    packs = [len(list((place / "objects/pack").glob("*.pack"))) for place in (template, folder / "timed")]
    for number in range(count):
        place = folder / f"copy{number}"
        shutil.copytree(template, place)
        process = subprocess.Popen(["git", "gc", "--auto", "--quiet"], cwd=place, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, usual))
        look = ["git", "fsck", "--full", "--strict"]
        done = subprocess.run(look, cwd=place, capture_output=True, text=True, check=False)
        beside.append((done.returncode, done.stderr.strip().partition("\n")[0].replace(str(place), "")[:120]))
        process.wait()
        after += subprocess.run(look, cwd=place, capture_output=True, check=False).returncode != 0 or there(place) != expected
        shutil.rmtree(place)
    statuses = {code: sum(one == code for one, _ in beside) for code, _ in sorted(beside)}
    print(
        f"{packs[0]} packs, {packs[1]} after `git gc --auto` ({usual:.1f} s); {count} times fsck beside it, by exit status: {statuses}"
    )
    print(*sorted({said for code, said in beside if code})[:3], sep="\n")
    print(f"afterwards broken, or without a profile: {after} of {count}")
    return int(bool(after))


@contextmanager
def importing(shared: Path, tip: str | None = None) -> Iterator[Import]:
    """A stream of a commit at the reference."""
    with closing(Import(Bare(shared), REFERENCE)) as stream:
        stream.commit(tip, "Eve <eve@example.org>", 1_790_000_000, "mine", {} if tip else {"format": stream.blob(STORE_FORMAT)})
        yield stream
        stream.finish()


def tree(shared: Path, *entries: tuple[str, str, str]) -> str:
    """A tree that git itself might not make."""
    content = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(found) for mode, name, found in entries)
    return git(shared, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", data=content)


def pointed(shared: Path, top: str) -> None:
    """Let the reference have a tree with a store's mark."""
    mark = git(shared, "hash-object", "-w", "--stdin", data=STORE_FORMAT)
    entries = sorted([("40000", "8c", top), ("100644", "format", mark)], key=lambda entry: entry[1])
    git(shared, "update-ref", REFERENCE, git(shared, "commit-tree", tree(shared, *entries), "-m", "mine"))


def blob(shared: Path, content: bytes = b"x") -> str:
    return git(shared, "hash-object", "-w", "--stdin", data=content)


def dotted(shared: Path) -> None:
    """A path with two dots."""
    pointed(shared, tree(shared, ("40000", "..", tree(shared, ("100644", "evil", blob(shared))))))


def wrong(shared: Path) -> None:
    """A hundred documents that hash to other names."""
    commit = "8c" + "0" * 38
    with importing(shared) as stream:
        for number in range(100):
            content = b"{}" * (number + 1)
            stream.write(b"M 100644 inline %s\n" % f"8c/{commit}/time-x-{number:012x}.json".encode())
            stream.write(b"data %d\n%s\n" % (len(content), content))


def crowded(shared: Path) -> None:
    """As many files (`--files`), none of which is a profile."""
    found, folders = blob(shared), []
    for folder in range(256):
        names = (f"time-x-{number:012x}.json" for number in range(folder * MANY_FILES // 256, (folder + 1) * MANY_FILES // 256))
        folders.append(("40000", f"8c{folder:038x}", tree(shared, *(("100644", name, found) for name in names))))
    pointed(shared, tree(shared, *folders))


def bomb(shared: Path) -> None:
    """Ten levels of ten equal folders."""
    inner = tree(shared, *(("100644", f"f{number}", blob(shared)) for number in range(10)))
    for _ in range(10):
        inner = tree(shared, *(("40000", f"d{number}", inner) for number in range(10)))
    pointed(shared, inner)


def huge(shared: Path) -> None:
    """A file of 10 GB (`--gigabytes`), at a profile's place."""
    path = shared.parent / "huge"
    path.touch()
    os.truncate(path, GIGABYTES << 30)
    found = git(
        shared, "-c", "core.bigFileThreshold=1m", "-c", "core.compression=1", "hash-object", "-w", "--no-filters", str(path)
    )
    path.unlink()
    pointed(shared, tree(shared, ("40000", "8c" + "0" * 38, tree(shared, ("100644", "time-x-000000000000.json", found)))))


def special(mode: str) -> Callable[[Path], None]:
    def make(shared: Path) -> None:
        found = git(shared, "rev-parse", "main") if mode == "160000" else blob(shared, b"/etc/passwd")
        pointed(shared, tree(shared, ("40000", "8c" + "0" * 38, tree(shared, (mode, "time-x-000000000000.json", found)))))

    make.__doc__ = {"120000": "A symbolic link", "160000": "A submodule"}[mode] + " at a profile's place."
    return make


def configured(shared: Path) -> None:
    """A configuration with programs, hooks, and a store's mark."""
    for key in ("core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.gitProxy", "core.pager"):
        git(shared, "config", key, f"touch {shared.parent}/sprung")
    with importing(shared):
        pass


def odd(shared: Path) -> None:
    """The reference is a file, not a commit."""
    git(shared, "update-ref", REFERENCE, blob(shared))


def cut(shared: Path) -> None:
    """A connection that ends half-way."""
    with importing(shared) as stream:
        for number in range(200):
            content = os.urandom(5000)
            stream.write(b"M 100644 inline %s\ndata %d\n%s\n" % (f"8c/{number}".encode(), len(content), content))
    script = shared.parent / "cut"
    script.write_text(CUT)
    script.chmod(0o755)


def hostile(folder: Path, _: int, __: int, ___: random.Random) -> int:
    """A fresh clone with two profiles meets each recipe; nothing but the message may come of it."""
    bad = 0
    print("| remote | pull | seconds | MB of memory | MB on disk |\n|---|---|---|---|---|")
    every = (dotted, wrong, special("120000"), special("160000"), configured, odd, cut, bomb, crowded, huge)
    recipes = [recipe for recipe in every if ONLY in recipe.__name__]
    for recipe in recipes:
        place = folder / "recipe"
        place.mkdir()
        shared = forge(place)
        recipe(shared)
        repository = clone(place, "ada")
        if recipe is cut:
            git(repository.project.root, "config", "remote.origin.uploadpack", str(place / "cut"))
        before = set(filled(repository, "mine", 2))
        began = time.monotonic()
        process = subprocess.Popen(
            [*PERF, "-C", str(repository.project.root), "pull"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        memory, (_out, err) = _watched(process)
        seconds = time.monotonic() - began
        size = sum(path.stat().st_size for path in (repository.home / "remotes").rglob("*") if path.is_file()) / 1e6
        whole = perf(repository.project.root, "fsck").returncode == 0 and set(repository.store.paths()) == before
        quiet = err.count("\n") <= 1 and "Traceback" not in err and not (place / "sprung").exists()
        bad += not (whole and quiet)
        about = (recipe.__doc__ or "").rstrip(".")
        print(
            f"| {about} | {process.returncode}: {err.strip()[:200]} | {seconds:.1f} | {memory / 1e6:.0f} | {size:.1f} |",
            flush=True,
        )
        shutil.rmtree(place)
    print(f"{len(recipes)} remotes, {bad} did harm")
    return int(bool(bad))


def _watched(process: subprocess.Popen[str]) -> tuple[float, tuple[str, str]]:
    """The most memory that a process and what it started had at once, and what it said."""
    import psutil

    most = 0.0
    while process.poll() is None:
        try:
            family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
            most = max(most, sum(one.memory_full_info().uss for one in family))
        except psutil.Error:
            pass
        time.sleep(0.05)
    return most, process.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=COUNTS)
    parser.add_argument("--count", type=int)
    parser.add_argument("--profiles", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--only", default="", help="hostile: the recipe of this name.")
    parser.add_argument("--gigabytes", type=int, default=GIGABYTES)
    parser.add_argument("--files", type=int, default=MANY_FILES)
    options = parser.parse_args()
    globals().update(GIGABYTES=options.gigabytes, MANY_FILES=options.files, ONLY=options.only)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="sharing-") as name:
        mode = {"pushers": pushers, "kills": kills, "hostile": hostile, "packing": packing}[options.mode]
        return mode(Path(name), options.count or COUNTS[options.mode], options.profiles, random.Random(options.seed))


if __name__ == "__main__":
    raise SystemExit(main())
