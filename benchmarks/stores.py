"""Commands by the profiles of a store.

Ten profiles per commit, of 500 series that take turns: 10,000 profiles are 1,000 commits, and 1,000,000
are 100,000. Each command is a whole process; what counts is its CPU time with that of git and of all
others that it started, and the most memory that any of them had. The exponent is the slope on
logarithmic scales between two sizes: 1 where a command grows as the profiles do, 0 where it does not. A
command that took over ``longest`` seconds is not run at the next size. ``folder`` keeps the repositories.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Iterator
from itertools import pairwise
from math import log
from pathlib import Path
from typing import NamedTuple

from perfvcs import launcher
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.repository import Repository

from .figures import ROOT, Row
from .registry import benchmark
from .repositories import ANSWERS, PERF, git, line_of_commits, scratch

PER_COMMIT, SERIES, EXECUTIONS = 10, 500, 5
ENVIRONMENT = Environment({"cpu": "benchmark"}, "0123456789ab")
ADD = """\
import sys
from pathlib import Path
from benchmarks.stores import add
add(Path(sys.argv[1]))
"""
# in this order; ADD stores profiles, ONE is a file with one more
COMMANDS: dict[str, tuple[str, ...]] = {
    "add all": ("ADD",),
    "index": ("log", "-n1"),
    "log": ("log",),
    "status": ("status",),
    "check": ("check",),
    "history": ("history",),
    "history, one series": ("history", "job7"),
    "publish": ("publish", "SITE"),
    "import one": ("import", "ONE"),
    "log after it": ("log",),
    "history after it": ("history",),
    "publish after it": ("publish", "SITE"),
    "push all": ("push",),
    "import another": ("import", "ONE"),
    "push one": ("push",),
    "pull nothing": ("pull",),
    "gc": ("gc",),
    "fsck": ("fsck",),
}


class Used(NamedTuple):
    """What a process and its children used: seconds of CPU time, and MB of the largest."""

    seconds: float
    memory: float


def profiles(commits: list[str], seed: int, first: int = 0) -> Iterator[Profile]:
    """Ten of the series on each commit; every fifth series has a step of 10 % in the middle."""
    chance = random.Random(seed)
    jobs = [
        Job(name=f"job{number}", collector="time", cmd="true", engine="launcher/1")
        for number in range(SERIES)
    ]
    for place, commit in enumerate(commits, first):
        collected = Collected(
            f"20261120T093000-{seed:02x}{place:06x}",
            "2026-11-20T09:30:00.000Z",
            "2026-11-20T09:30:02.000Z",
            "perfvcs",
        )
        for turn in range(PER_COMMIT):
            number = (place * PER_COMMIT + turn) % SERIES
            centre = 0.01 * (number + 1)
            if number % 5 == 0 and place > len(commits) / 2:
                centre *= 1.1
            values = [round(centre * chance.lognormvariate(0, 0.02), 9) for _ in range(EXECUTIONS)]
            rows = Resources(
                names=[jobs[number].name],
                uid=[0] * EXECUTIONS,
                execution=list(range(EXECUTIONS)),
                metrics={"wall": values},
            )
            yield Profile(
                commit=commit,
                job=jobs[number],
                collected=collected,
                environment=ENVIRONMENT,
                design=Design(executions=EXECUTIONS, warmup=1, seed=1),
                metrics={"wall": Metric("s")},
                resources=rows,
            )


def project(folder: Path, count: int) -> None:
    """A project with as many commits as that many profiles have, and a bare repository to push
    to.
    """
    line_of_commits(folder, count // PER_COMMIT)
    origin = folder.with_suffix(".git").absolute()
    git(folder, "init", "--quiet", "--bare", str(origin))
    git(folder, "remote", "add", "origin", str(origin))


def add(folder: Path) -> None:
    """Store everything."""
    commits = git(folder, "rev-list", "--reverse", "main").split()
    Repository.find(folder, create=True).store.add(profiles(commits, 1), "Everything")


def used(folder: Path, command: list[str], **more: str) -> Used:
    """Run one process to its end."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = launcher.launch(command, cwd=folder, env=env | more, timeout=7200)
    if done.status not in ANSWERS:
        raise RuntimeError(f"{command}: exit {done.status}: {done.stderr}")
    return Used(done.cpu, (done.maxrss or 0) / 1e6)


def run(folder: Path, name: str) -> Used:
    """One of the commands."""
    words = list(COMMANDS[name])
    if words == ["ADD"]:
        command = [sys.executable, "-c", ADD, str(folder.absolute())]
        return used(folder, command, PYTHONPATH=str(ROOT))
    site = folder.with_suffix(".site").absolute()
    if name == "publish":
        shutil.rmtree(site, ignore_errors=True)
    if "ONE" in words:
        head = git(folder, "rev-parse", "main")
        one = folder.with_suffix(".json").absolute()
        one.write_bytes(next(profiles([head], random.SystemRandom().randrange(256))).encode())
        words = ["import", str(one)]
    return used(folder, [*PERF, *(str(site) if word == "SITE" else word for word in words)])


@benchmark("budgets", quick={"sizes": (100, 200), "commands": ("add all", "index", "log")})
def stores(
    *,
    sizes: tuple[int, ...] = (10_000, 30_000, 100_000),
    commands: tuple[str, ...] = tuple(COMMANDS),
    longest: float = 300,
    folder: str = "",
) -> Iterator[Row]:
    """How do commands grow with the profiles of a store?"""
    found: dict[str, dict[int, Used]] = {name: {} for name in commands}
    with scratch("stores") as outside:
        top = Path(folder) if folder else outside
        for size in sizes:
            place = top / str(size)
            fresh = not place.exists()
            if fresh:
                project(place, size)
            for name in commands:
                before = list(found[name].values())
                is_slow = bool(before) and before[-1].seconds > longest
                if not is_slow and (fresh or name != "add all"):
                    found[name][size] = run(place, name)
    for name, by_size in found.items():
        row: Row = {"command": name}
        for size in sizes:
            one = by_size.get(size)
            row[f"{size:,}: CPU s"] = one.seconds if one else None
            row[f"{size:,}: MB"] = one.memory if one else None
        slopes = [
            log(by_size[new].seconds / by_size[old].seconds) / log(new / old)
            for old, new in pairwise(by_size)
        ]
        yield row | {"exponents": ", ".join(f"{slope:.2f}" for slope in slopes)}
