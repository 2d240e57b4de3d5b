"""Readers beside writers.

A project of 60 commits whose benchmarks change all the time: each writer stores profiles of a benchmark
that nobody has measured yet, follows the store, and now and then removes one again. Beside them run
publish, history, log, status, check and show, each so many times in turn. Counted are the runs that
ended otherwise than with 0, 3 or 4.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from perfvcs.profile import Collected, Environment, Job, Metric, Profile, Resources
from perfvcs.repository import Repository

from .figures import ROOT, Row
from .registry import Wrong, benchmark
from .repositories import ANSWERS, PERF, git, line_of_commits, scratch

COMMITS, EXECUTIONS, KEPT = 60, 5, 8
READERS = (
    ("publish", "SITE", "--profiles", "4"),
    ("history",),
    ("log",),
    ("status",),
    ("check",),
    ("show", "--no-open", "-o", "PAGE"),
)
WRITER = """\
import sys
from pathlib import Path
from benchmarks.races import write
write(Path(sys.argv[1]), int(sys.argv[2]))
"""


def profiles(commits: Sequence[str], name: str) -> Iterator[Profile]:
    """The profiles of one benchmark on these commits."""
    chance = random.Random(name)
    where = Environment({"cpu": "benchmark"}, "0123456789ab")
    for place, commit in enumerate(commits):
        values = [chance.lognormvariate(-4, 0.01) for _ in range(EXECUTIONS)]
        metrics = {"wall": values}
        yield Profile(
            commit=commit,
            job=Job(name, "time", "true"),
            collected=Collected(
                f"s{name}{place}", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs"
            ),
            environment=where,
            metrics={"wall": Metric("s")},
            resources=Resources([name], [0] * EXECUTIONS, list(range(EXECUTIONS)), metrics=metrics),
        )


def write(folder: Path, number: int) -> None:
    """Store new benchmarks until somebody ends this process."""
    commits = git(folder, "rev-list", "--reverse", "main").split()
    repository, chance, turn = Repository.find(folder), random.Random(number), 0
    stored: list[list[str]] = []
    while True:
        name = f"writer{number}-{turn}"
        stored.append(repository.store.add(profiles(chance.sample(commits, 12), name), name))
        repository.refresh()
        if len(stored) > KEPT:
            repository.store.remove(stored.pop(chance.randrange(KEPT)), "Old")
        turn += 1


@benchmark("budgets", quick={"runs": 1, "writers": 1})
def races(*, runs: int = 40, writers: int = 3) -> Iterator[Row]:
    """Do readers stay whole while others write?"""
    failed: Counter[str] = Counter()
    with scratch("races") as outside:
        folder = outside / "project"
        commits = line_of_commits(folder, COMMITS)
        repository = Repository.find(folder, create=True)
        repository.store.add(profiles(commits, "steady"), "Everything")
        repository.index.close()
        command = [sys.executable, "-c", WRITER, str(folder)]
        writing = [
            subprocess.Popen([*command, str(number)], cwd=ROOT, start_new_session=True)
            for number in range(writers)
        ]
        places = {"SITE": str(outside / "site"), "PAGE": str(outside / "page.html")}
        try:
            for _ in range(runs):
                for reader in READERS:
                    words = [places.get(word, word) for word in reader]
                    done = subprocess.run(
                        [*PERF, *words], cwd=folder, capture_output=True, text=True, check=False
                    )
                    if done.returncode not in ANSWERS:
                        failed[reader[0]] += 1
                        print(f"{reader[0]}: {done.stderr[-200:]}", file=sys.stderr, flush=True)
            ended = [one.returncode for one in writing if one.poll() is not None]
        finally:
            for writer in writing:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(writer.pid, signal.SIGKILL)  # git, too
                writer.wait()
    for reader in READERS:
        yield {"command": reader[0], "runs": runs, "failed": failed[reader[0]]}
    if failed or ended:
        raise Wrong(f"{failed.total()} readers and {len(ended)} writers failed")
