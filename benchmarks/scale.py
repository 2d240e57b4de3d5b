"""How the commands grow with the commits: ``python benchmarks/scale.py FOLDER``.

Histories of 1,000, 10,000 and 100,000 commits: with profiles of the first and the newest commit
only (straight, or with branches that were merged), and with a profile of every commit. FOLDER keeps
them; the largest takes about two minutes to build. Each command is a whole process, and its CPU
time counts, with that of git and of all others that it started: the least of several, since others
only add to it. The exponent between two sizes is 1 where the time grows as the commits do, 2 where
it grows with their square. Caches of the index are warm; verdicts and steps are not remembered,
except in the line `check, known`.

    python benchmarks/scale.py FOLDER --sizes 1000 10000 50001 --shapes two     some of them
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import log
from pathlib import Path

from budgets import METRICS, git, profiles

from perfvcs.repository import Repository

SIZES = (1000, 10_000, 100_000)
EXECUTIONS = 10
EVERY, SIDE = 10, 3  # of ten commits three are on a branch that is merged by the tenth
PERF = Path(sys.executable).with_name("perf")


@dataclass(frozen=True)
class Shape:
    """What a history looks like: whether every commit has a profile or only its ends, and whether
    branches were merged.
    """

    every: bool
    merges: bool


SHAPES = {
    "two": Shape(every=False, merges=False),
    "merges": Shape(every=False, merges=True),
    "every": Shape(every=True, merges=False),
}
COMMANDS: dict[str, tuple[str, ...]] = {
    "log": ("log",),
    "status": ("status",),
    "check": ("check",),
    "check, known": ("check",),
    "history": ("history",),
    "publish": ("publish", "SITE"),
    "publish, again": ("publish", "SITE"),
}
FORGOTTEN = {"check": "verdicts.db", "history": "steps.db", "publish": "steps.db"}


def stream(count: int, *, merges: bool) -> Iterator[bytes]:
    """The input of ``git fast-import`` for so many commits, the branch's name and parents by
    mark.
    """
    main = side = 0
    for number in range(1, count + 1):
        turn = number % EVERY
        aside = merges and main and 0 < turn <= SIDE and number + EVERY < count
        parents = [(side or main) if aside else main, *([side] if side and not turn else [])]
        message, text = b"Change number %d" % number, b"%d\n" % number
        yield b"commit refs/heads/%s\nmark :%d\n" % (b"side" if aside else b"main", number)
        yield b"committer Ada <ada@example.org> %d +0000\n" % (1_500_000_000 + 600 * number)
        yield b"data %d\n%s\n" % (len(message), message)
        for word, parent in zip((b"from", b"merge"), parents, strict=False):
            if parent:
                yield b"%s :%d\n" % (word, parent)
        yield b"M 100644 inline src/file%d.c\ndata %d\n%s\n" % (number % 90, len(text), text)
        if aside:
            side = number
        else:
            main, side = number, side if turn else 0


def build(folder: Path, count: int, shape: Shape) -> None:
    """A project of so many commits with its profiles, and the index."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "fast-import", "--quiet", data=b"".join(stream(count, merges=shape.merges)))
    git(folder, "reset", "--quiet", "--hard", "main")
    commits = git(folder, "rev-list", "--reverse", "main").split()
    measured = commits if shape.every else [commits[0], commits[-1]]
    repository = Repository.find(folder, create=True)
    wall = {"wall": METRICS["wall"]}
    repository.store.add(profiles(measured, 1, EXECUTIONS, wall, together=False), "Everything")
    repository.index.close()


def run(folder: Path, *args: str) -> float:
    """The CPU seconds of a whole process and of all that it started."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(folder.parent.absolute() / "bytecode")
    with subprocess.Popen(
        [str(PERF), *args],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 3, 4), said
    return usage.ru_utime + usage.ru_stime


def seconds(folder: Path, name: str, runs: int, longest: float) -> float:
    """The least CPU time of a command; one run where that takes long."""
    site = folder.parent / f"{folder.name}-site"
    args = [str(site.absolute()) if arg == "SITE" else arg for arg in COMMANDS[name]]
    found: list[float] = []
    while len(found) < runs and sum(found) < longest:
        if name in FORGOTTEN:
            for path in (folder / ".perf").glob(f"{FORGOTTEN[name]}*"):
                path.unlink()
        if name == "publish":
            shutil.rmtree(site, ignore_errors=True)
        found.append(run(folder, *args))
    return min(found)


def exponents(times: dict[int, float]) -> str:
    """How the time grows from each size to the next."""
    return ", ".join(
        f"{log(times[new] / times[old]) / log(new / old):.2f}" for old, new in pairwise(times)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="keeps the repositories")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="COMMITS")
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--commands", nargs="+", default=list(COMMANDS), choices=COMMANDS)
    parser.add_argument("--runs", type=int, default=5, help="of each command; the least counts")
    parser.add_argument(
        "--longest", type=float, default=20, help="CPU seconds after which no further run begins"
    )
    options = parser.parse_args()
    for name in options.shapes:
        for size in options.sizes:
            folder = options.folder / f"{name}-{size}"
            if not folder.exists():
                start = time.perf_counter()
                build(folder, size, SHAPES[name])
                print(f"{folder.name} was built in {time.perf_counter() - start:.0f} s", flush=True)
    print(
        f"{'CPU seconds':24}" + "".join(f"{size:>10,}" for size in options.sizes) + "  exponents",
        flush=True,
    )
    for name in options.shapes:
        times: dict[str, dict[int, float]] = {command: {} for command in options.commands}
        for size in options.sizes:  # `again` comes after what it repeats
            for command in options.commands:
                times[command][size] = seconds(
                    options.folder / f"{name}-{size}", command, options.runs, options.longest
                )
        for command, found in times.items():
            print(
                f"{f'{name}: {command}':24}"
                + "".join(f"{took:10.2f}" for took in found.values())
                + f"  {exponents(found)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
