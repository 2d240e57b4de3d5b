"""The first execution in a new checkout beside the following ones.

The newest commits of the projects of culprits/projects.py, each checked out and built, its benchmark
executed six times: CPU time of the first execution by the median of the others (the median over the
commits, and the most), and the instructions of the first one by those of the second, in a checkout of its
own. Files are in the system's memory, since they were just written: from a disk the first execution would
be slower still.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from .culprits.planting import clone_of, first_parents
from .culprits.projects import PROJECTS, Planted
from .culprits.quiet import cpu, instructions, placed
from .figures import Row
from .registry import benchmark
from .repositories import scratch

OTHERS = 5  # executions
NAMES = tuple(project.name for project in PROJECTS)


@benchmark("bisecting", quick="needs clones of fourteen projects", needs=("clones of projects",))
def first_executions(
    *, clones: Path, only: tuple[str, ...] = NAMES, commits: int = 8
) -> Iterator[Row]:
    """How much slower is the first execution in a new checkout than the following ones?"""
    for project in [project for project in PROJECTS if project.name in only]:
        clone = clone_of(clones.resolve(), project.name)
        chosen = first_parents(clone, commits)
        with scratch("first") as folder:
            places = list(built(project, clone, folder, chosen))
            times = [ratio(project, place, cpu, OTHERS) for place in places]
        with scratch("first") as folder:
            places = list(built(project, clone, folder, chosen[:1]))
            counts = [ratio(project, place, instructions, 1) for place in places]
        yield {
            "project": project.name,
            "commits": len(times),
            "CPU time, % more": 100 * (median(times) - 1),
            "at most, %": 100 * (max(times) - 1),
            "instructions, % more": 100 * (counts[0] - 1) if counts else None,
        }


def built(project: Planted, clone: Path, folder: Path, commits: list[str]) -> Iterator[Path]:
    """Checkouts of the commits on which the benchmark can be built."""
    for number, commit in enumerate(commits):
        try:
            yield from placed(project, clone, folder / str(number), [(commit, 0)])
        except subprocess.CalledProcessError:
            continue


def ratio(
    project: Planted, place: Path, measure: Callable[[Planted, Path], float], others: int
) -> float:
    """The first value by the median of the following ones."""
    first, *rest = (measure(project, place) for _ in range(1 + others))
    return first / median(rest)
