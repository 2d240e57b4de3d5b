"""Whether readers stay whole while others write: ``python benchmarks/races.py [--runs 40]
[--writers 3]``.

A project of 60 commits whose benchmarks change all the time: each writer stores profiles of a
benchmark that nobody has measured yet, follows the store, and now and then removes one again.
Beside them run publish, history, log, status, check and show, each so many times in turn. Counted
are the runs that ended otherwise than with 0, 3 or 4, and the tracebacks among them.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
from budgets import METRICS, build_project, profiles

from perfvcs.profile import Profile
from perfvcs.repository import Repository

COMMITS, EXECUTIONS, KEPT = 60, 5, 8
PERF = Path(sys.executable).with_name("perf")
READERS = (
    ("publish", "SITE", "--profiles", "4"),
    ("history",),
    ("log",),
    ("status",),
    ("check",),
    ("show", "--no-open", "-o", "PAGE"),
)


def added(commits: list[str], name: str) -> list[Profile]:
    """The profiles of one new benchmark on all commits."""
    wall = {"wall": METRICS["wall"]}
    return [
        msgspec.structs.replace(
            one,
            job=msgspec.structs.replace(one.job, name=name),
            resources=replace(one.resources, names=[name]),
        )
        for one in profiles(commits, 1, EXECUTIONS, wall, together=False)
    ]


def write(folder: Path, number: int) -> None:
    """Store new benchmarks until somebody ends this process."""
    commits = subprocess.run(
        ["git", "rev-list", "--reverse", "main"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    repository, chance, stored, turn = Repository.find(folder), random.Random(number), [], 0
    while True:
        name = f"writer{number}-{turn}"
        stored.append(repository.store.add(added(chance.sample(commits, 12), name), name))
        repository.refresh()
        if len(stored) > KEPT:
            repository.store.remove(stored.pop(chance.randrange(KEPT)), "Old")
        turn += 1


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=40, help="of each command")
    parser.add_argument("--writers", type=int, default=3)
    parser.add_argument("--write", nargs=2, metavar=("FOLDER", "NUMBER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(Path(options.write[0]), int(options.write[1]))
    with tempfile.TemporaryDirectory(prefix="perfvcs-races-") as scratch:
        folder = Path(scratch) / "project"
        commits = build_project(folder, COMMITS, 1)
        repository = Repository.find(folder, create=True)
        repository.store.add(added(commits, "steady"), "Everything")
        repository.index.close()
        itself = [sys.executable, __file__, "--write", str(folder)]
        writers = [subprocess.Popen([*itself, str(number)]) for number in range(options.writers)]
        failed: Counter[str] = Counter()
        said: Counter[str] = Counter()
        try:
            for _ in range(options.runs):
                for reader in READERS:
                    places = {"SITE": f"{scratch}/site", "PAGE": f"{scratch}/page.html"}
                    command = [str(PERF), *(places.get(word, word) for word in reader)]
                    done = subprocess.run(
                        command, cwd=folder, capture_output=True, text=True, check=False
                    )
                    if done.returncode not in (0, 3, 4):
                        failed[reader[0]] += 1
                        said[
                            f"{reader[0]}:"
                            f" {(done.stderr.strip().splitlines() or ['nothing'])[-1][:200]}"
                        ] += 1
            assert all(writer.poll() is None for writer in writers), "a writer failed"
        finally:
            for writer in writers:
                writer.kill()
                writer.wait()
        for reader in READERS:
            print(f"{reader[0]:10} {failed[reader[0]]:4} of {options.runs} failed")
        for line, count in said.most_common():
            print(f"{count:4} x {line}")


if __name__ == "__main__":
    main()
