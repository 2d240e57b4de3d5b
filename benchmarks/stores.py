"""How commands grow with the profiles of a store: ``python benchmarks/stores.py FOLDER [--sizes
N...] [--commands NAME...]``.

Ten profiles per commit, of 500 series that take turns: 10,000 profiles are 1,000 commits, and
1,000,000 are 100,000. FOLDER keeps the repositories. Each command is a whole process; what counts
is its CPU time with that of git and of all others that it started, and the most memory that any of
them had. The exponent is the slope on logarithmic scales between two sizes: 1 where a command grows
as the profiles do, 0 where it does not. A command that took over ``--longest`` seconds is not run
at the next size.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from budgets import ENVIRONMENT, METRICS, git
from scale import exponents, stream

from perfvcs.profile import Collected, Design, Job, Profile, Resources
from perfvcs.repository import Repository

SIZES = (10_000, 30_000, 100_000)
PER_COMMIT, SERIES, EXECUTIONS = 10, 500, 5
PERF = Path(sys.executable).with_name("perf")
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
            centre = (
                0.01 * (number + 1) * (1.1 if number % 5 == 0 and place > len(commits) / 2 else 1.0)
            )
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
                metrics={"wall": METRICS["wall"]},
                resources=rows,
            )


def project(folder: Path, count: int) -> None:
    """A project with as many commits as that many profiles have, and a bare repository to push
    to.
    """
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "fast-import", "--quiet", data=b"".join(stream(count // PER_COMMIT, merges=False)))
    git(folder, "reset", "--quiet", "--hard", "main")
    git(folder, "init", "--quiet", "--bare", str(folder.with_suffix(".git")))
    git(folder, "remote", "add", "origin", str(folder.with_suffix(".git").absolute()))


def add(folder: Path) -> None:
    """Store everything."""
    commits = git(folder, "rev-list", "--reverse", "main").split()
    Repository.find(folder, create=True).store.add(profiles(commits, 1), "Everything")


def used(folder: Path, command: list[str]) -> Used:
    """Run one process to its end."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 3, 4), said
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run(folder: Path, name: str) -> Used:
    """One of the commands."""
    words = list(COMMANDS[name])
    if words == ["ADD"]:
        # in another process: what one starts counts at least the memory that its parent once had
        subprocess.run([sys.executable, __file__, "--project", str(folder.absolute())], check=True)
        return used(folder, [sys.executable, __file__, "--add", str(folder.absolute())])
    site = folder.with_suffix(".site").absolute()
    if name == "publish":
        shutil.rmtree(site, ignore_errors=True)
    if "ONE" in words:
        head = git(folder, "rev-parse", "main").strip()
        one = folder.with_suffix(".json").absolute()
        one.write_bytes(next(profiles([head], random.SystemRandom().randrange(256))).encode())
        words = ["import", str(one)]
    return used(folder, [str(PERF), *(str(site) if word == "SITE" else word for word in words)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="keeps the repositories")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="PROFILES")
    parser.add_argument("--commands", nargs="+", default=list(COMMANDS), choices=COMMANDS)
    parser.add_argument("--longest", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--project", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--add", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.project:
        project(options.folder, int(options.folder.name))
        return
    if options.add:
        add(options.folder)
        return
    table: dict[str, dict[int, Used]] = {name: {} for name in options.commands}
    for size in options.sizes:
        folder = options.folder / str(size)
        for name in options.commands:
            before = list(table[name].values())
            if (name == "add all" and folder.exists()) or (
                before and before[-1].seconds > options.longest
            ):
                continue
            table[name][size] = run(folder, name)
            print(
                f"{size:>9,} {name:20} {table[name][size].seconds:8.2f} s"
                f" {table[name][size].memory:7.0f} MB",
                flush=True,
            )
    for title, digits, place in (("CPU seconds", 2, 0), ("MB of memory", 0, 1)):
        print(f"\n{title:20}" + "".join(f"{size:>10,}" for size in options.sizes) + "  exponents")
        for name, by_size in table.items():
            found = {size: one[place] for size, one in by_size.items()}
            print(
                f"{name:20}"
                + "".join(f"{value:10.{digits}f}" for value in found.values())
                + f"  {exponents(found)}"
            )


if __name__ == "__main__":
    main()
