"""`perf bisect` on real projects: 64 real commits of each, into one of which a slowdown was planted.

``clones`` holds a clone of each project of culprits/projects.py: a folder named like it, or bare and
ending in `+NAME/repo`. In ``folder`` a repository is made of 64 commits of each project along the first
parents: the newest ones among which the benchmark's instructions, in a sample of them, differ by less
than half of what is planted (larger real changes would be as right an answer, or make both ends equal
again). From one commit on, chosen by chance, a function that the benchmark calls runs a loop first, which
costs 3 to 20 % of the benchmark's CPU time, calibrated here. Beside it `git bisect run`, which compares
the median of five executions with the middle between the medians of both ends, and with the program
``asv`` `asv find`, of the projects in Python, by the CPU time of what the benchmark does after its
imports. It is right where the planted commit is among those that are named.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .culprits.planting import COMMITS, clone_of, make
from .culprits.projects import PROJECTS, Planted
from .culprits.quiet import Unquiet, calibrated, steady
from .culprits.rivals import asv_find, naive
from .figures import Row
from .registry import benchmark
from .repositories import PERF

NAMES = tuple(project.name for project in PROJECTS)


@benchmark("bisecting", quick="needs clones of fourteen projects", needs=("clones of projects",))
def bisecting_planted(
    *, clones: Path, folder: Path, only: tuple[str, ...] = NAMES, asv: str = "", seed: int = 1
) -> Iterator[Row]:
    """Does `perf bisect` find a slowdown that was planted in a real project?"""
    clones, folder = clones.resolve(), folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for place, project in enumerate(PROJECTS):
        culprit = random.Random(f"{seed} {place}").randrange(2, COMMITS - 1)
        if project.name not in only:
            continue
        row: Row = {"project": project.name, "planted, %": 100 * project.size, "at": culprit}
        try:
            commits = _planted(project, clone_of(clones, project.name), folder, culprit)
        except Unquiet as error:
            yield row | {"not searched": str(error)}
            continue
        row |= _searched(folder / project.name, commits, culprit)
        guess, builds, minutes = naive(project, folder / project.name, commits)
        row |= {"git: named": guess, "git: builds": builds, "git: min": minutes}
        if asv and not project.is_c:
            number, builds, minutes = asv_find(asv, project, folder / project.name, commits)
            row |= {"asv: named": number, "asv: builds": builds, "asv: min": minutes}
        yield row


def _planted(project: Planted, clone: Path, folder: Path, culprit: int) -> list[str]:
    """The repository with the slowdown; its commits."""
    place = folder / project.name
    scratch = folder / f"{project.name}-scratch"
    originals = steady(project, clone, scratch, culprit)
    turns = calibrated(project, clone, scratch, originals[-1])
    return make(project, clone, originals, place, culprit, turns)


def _searched(place: Path, commits: list[str], culprit: int) -> Row:
    """What `perf bisect` finds in a repository."""
    command = [*PERF, "bisect", commits[0], "--metric", "cpu", "--unit", "task", "--json"]
    with place.with_name(f"{place.name}.log").open("w") as log:
        done = subprocess.run(
            command, cwd=place, stdout=subprocess.PIPE, stderr=log, text=True, check=False
        )
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"verdict": f"failed: see {place}.log"}
    named = [commits.index(one["commit"]) for one in found.get("named", [])]
    verdict = "wrong" if named else "not named"
    return {
        "verdict": "right" if culprit in named else verdict,
        "ended": found["ended"],
        "named": " ".join(map(str, named)),
        "builds": found.get("built", 0),
        "executions": found.get("executions", 0),
        "counted": len(found.get("counted", ())),
        "min": found.get("seconds", 0) / 60,
    }
