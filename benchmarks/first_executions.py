"""How much slower the first execution in a new checkout is than the following ones.

    python benchmarks/first_executions.py CLONES [--only NAME ...] [--commits 8]

The newest commits of the projects of culprits/projects.py, each checked out and built, its
benchmark executed six times. A line per project: CPU time of the first execution by the median of
the others (the median over the commits, and the most), and the instructions of the first one by
those of the second, in a checkout of their own. CLONES as for bisecting_planted.py. Files are in
the system's memory, since they were just written: from a disk the first execution would be slower
still.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from culprits.planting import clone_of, first_parents
from culprits.projects import PROJECTS, Planted
from culprits.quiet import cpu, instructions, placed

OTHERS = 5  # executions


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clones", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--commits", type=int, default=8)
    asked = parser.parse_args()
    for project in PROJECTS:
        if asked.only and project.name not in asked.only:
            continue
        clone = clone_of(asked.clones.resolve(), project.name)
        commits = first_parents(clone, asked.commits)
        with tempfile.TemporaryDirectory(prefix="first-") as scratch:
            times = [
                ratio(project, place, cpu, OTHERS)
                for place in places(project, clone, Path(scratch), commits)
            ]
        with tempfile.TemporaryDirectory(prefix="first-") as scratch:
            counts = [
                ratio(project, place, instructions, 1)
                for place in places(project, clone, Path(scratch), commits[:1])
            ]
        print(
            f"{project.name:14} {len(times)} commits, CPU time of the first:"
            f" {median(times) - 1:+.1%}, most {max(times) - 1:+.1%}; instructions:"
            f" {', '.join(f'{count - 1:+.1%}' for count in counts)}",
            flush=True,
        )


def places(project: Planted, clone: Path, scratch: Path, commits: list[str]) -> list[Path]:
    """Checkouts of the commits on which the benchmark can be built."""
    found = []
    for number, commit in enumerate(commits):
        try:
            found += placed(project, clone, scratch / str(number), [(commit, 0)])
        except subprocess.CalledProcessError:
            continue
    return found


def ratio(
    project: Planted, place: Path, measure: Callable[[Planted, Path], float], others: int
) -> float:
    """The first value by the median of the following ones."""
    first, *rest = (measure(project, place) for _ in range(1 + others))
    return first / median(rest)


if __name__ == "__main__":
    main()
