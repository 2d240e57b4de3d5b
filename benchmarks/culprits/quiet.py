"""What a project's benchmark costs on its commits: a range without larger changes of its own, and
the size of the loop.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from .planting import COMMITS, add_benchmark, first_parents, git, with_loop
from .projects import Planted

EARLIER = 16  # commits: how much farther back the next range is looked for
LOOKS = 12  # ranges
PROBED = 8  # commits: every so many are looked at, the same ones for all ranges
REPEATED = 20  # executions of which the least CPU time counts


class Unquiet(Exception):
    """A project has no range of commits without larger changes of its own."""


def prepare(project: Planted, folder: Path) -> None:
    if project.build:
        subprocess.run(project.build, shell=True, cwd=folder, check=True, stderr=subprocess.DEVNULL)


def command_of(project: Planted) -> list[str]:
    return ["bench/task"] if project.is_c else [sys.executable, "-S", "bench/task.py"]


def cpu(project: Planted, folder: Path) -> float:
    """CPU seconds of one execution."""
    process = subprocess.Popen(
        command_of(project),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": "src:."},
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise RuntimeError(f"{project.name}: the benchmark failed with {status}")
    return usage.ru_utime + usage.ru_stime


def placed(
    project: Planted, clone: Path, scratch: Path, states: list[tuple[str, int]]
) -> list[Path]:
    """Commits with so many turns of the loop, each in a folder of its own, built."""
    places = []
    for number, (commit, turns) in enumerate(states):
        place = scratch / str(number)
        place.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "archive", commit], cwd=clone, capture_output=True, check=True
        ).stdout
        subprocess.run(["tar", "x"], cwd=place, input=archive, check=True)
        add_benchmark(project, place)
        if turns:
            (place / project.file).write_text(
                with_loop((place / project.file).read_text(), project, turns)
            )
        prepare(project, place)
        places.append(place)
    return places


def least(
    project: Planted, clone: Path, scratch: Path, states: list[tuple[str, int]]
) -> list[float]:
    """The least CPU time of commits with so many turns of the loop, measured in turns."""
    places = placed(project, clone, scratch, states)
    rows = [[cpu(project, place) for place in places] for _ in range(REPEATED)]
    subprocess.run(["rm", "-rf", str(scratch)], check=True)
    return [min(column) for column in zip(*rows, strict=True)]


def instructions(project: Planted, place: Path) -> float:
    """The instructions of one execution."""
    counting = [
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
    ]
    done = subprocess.run(
        [*counting, *command_of(project)],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": "src:.", "PYTHONHASHSEED": "0"},
    )
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or not found:
        raise RuntimeError(f"{project.name}: the benchmark failed with {done.returncode}")
    return float(found[1].replace(",", ""))


def steady(project: Planted, clone: Path, scratch: Path, culprit: int) -> list[str]:
    """The newest range, oldest first, in which levels differ by less than half of what is planted;
    raises Unquiet where none does.

    Levels are instructions, which repeat; what the kernel does is not among them, so that CPU times
    may differ by less than all of it.
    """
    every = first_parents(clone, COMMITS + EARLIER * LOOKS)

    @cache
    def level(commit: str) -> float:
        """The instructions on a commit; NaN where it does not run."""
        try:
            (place,) = placed(project, clone, scratch, [(commit, 0)])
            cpu(project, place)  # Python compiles what it imports
            return instructions(project, place)
        except (RuntimeError, subprocess.CalledProcessError):
            return math.nan
        finally:
            subprocess.run(["rm", "-rf", str(scratch)], check=True)

    for begin in range(0, max(1, len(every) - COMMITS + 1), EARLIER):
        newest_first = every[begin : begin + COMMITS]
        probed = [every[place] for place in range(begin, begin + COMMITS, PROBED)] + newest_first[
            -1:
        ]
        if (
            has(clone, newest_first[-1 - culprit], project.file)
            and all(level(one) > 0 for one in probed)
            and spread([level(one) for one in probed]) < project.size / 2
            and spread(least(project, clone, scratch, [(one, 0) for one in probed])) < project.size
        ):
            return newest_first[::-1]
    raise Unquiet(f"no range of {COMMITS} commits is without larger changes")


def spread(levels: list[float]) -> float:
    """The largest difference, as a share of the least."""
    return max(levels) / min(levels) - 1


def has(clone: Path, commit: str, file: str) -> bool:
    return bool(git(clone, "ls-tree", "--name-only", commit, file))


def calibrated(project: Planted, clone: Path, scratch: Path, commit: str) -> int:
    """How many turns of the loop slow the benchmark down as asked for: by the least CPU time with
    and without.

    A loop that takes as long as all the rest is timed, since the noise of a busy machine is as
    large as what is planted.
    """
    trial = 2000 if project.is_c else 1000
    while True:
        without, planted = least(project, clone, scratch, [(commit, 0), (commit, trial)])
        if planted > 2 * without:
            return max(1, round(project.size * without * trial / (planted - without)))
        if trial > 10**7:
            raise Unquiet(f"the benchmark does not run {project.function}")
        trial *= 4
