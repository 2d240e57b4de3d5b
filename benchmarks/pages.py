"""Time what people wait for when they look: ``python benchmarks/pages.py [FOLDER]`` runs ``perf
show`` on repositories of several sizes.

FOLDER keeps the repositories that are built at first (some seconds) and used again later. Whole
commands are run as processes; the median of their CPU time counts, since a busy machine stretches
the time by the clock. The budgets are 3 s and 3 MB for any page, 1 s for that of one benchmark.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from budgets import ENVIRONMENT, METRICS, build_project, profiles

from perfvcs.index import Index
from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources
from perfvcs.store import Store

MILLION = 1_000_000
COMMITS = 2_000
WHEN = Collected(
    "20261120T093000-000001", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs"
)


class Case(NamedTuple):
    """Commits of a repository, what is stored for them, the arguments of `perf show`, and the
    seconds of CPU time that it may take.
    """

    commits: int
    stored: Callable[[list[str]], Iterator[Profile]]
    arguments: tuple[str, ...]
    budget: float | None


def pair(jobs: int) -> Callable[[list[str]], Iterator[Profile]]:
    """Ten executions of so many benchmarks, all commits in turns."""
    return lambda commits: profiles(commits, jobs, 10, METRICS, together=True)


def rows(commits: list[str]) -> Iterator[Profile]:
    """A hundred executions of ten thousand measurements each."""
    rng = np.random.default_rng(1)
    seconds = 0.01 * np.exp(
        0.02 * rng.standard_normal((100, 1)) + 0.01 * rng.standard_normal((100, MILLION // 100))
    )
    execution, iteration = (axis.ravel().tolist() for axis in np.indices(seconds.shape))
    values: list[float | None] = [*seconds.round(9).ravel().tolist()]
    columns = Resources(
        ["job0"], [0] * MILLION, execution, iteration=iteration, metrics={"wall": values}
    )
    yield Profile(
        commit=commits[-1],
        job=Job("job0", "time", "true", engine="launcher/1"),
        collected=WHEN,
        environment=ENVIRONMENT,
        design=Design(executions=100),
        metrics={"wall": Metric("s")},
        resources=columns,
    )


def series(commits: list[str]) -> Iterator[Profile]:
    """Every commit in a session of its own."""
    return profiles(commits, 1, 10, METRICS, together=False)


CASES = {
    "one benchmark": Case(1, pair(1), (), 1.0),
    "two revisions of one benchmark": Case(2, pair(1), ("HEAD~1", "HEAD"), 1.0),
    "one revision, 100 benchmarks": Case(2, pair(100), (), 3.0),
    "two revisions, 100 benchmarks": Case(2, pair(100), ("HEAD~1", "HEAD"), 3.0),
    "two revisions, 100 benchmarks, --text": Case(2, pair(100), ("HEAD~1", "HEAD", "--text"), None),
    "a million rows": Case(1, rows, (), 3.0),
    f"a history of {COMMITS:,} commits": Case(COMMITS, series, ("job0",), 3.0),
}


def built(folder: Path, case: Case) -> Path:
    """The repository of a case, made where there is none."""
    if not (folder / ".perf/index.db").exists():
        commits = build_project(folder, case.commits, 1)
        store = Store.create(folder / ".perf/store")
        store.add(case.stored(commits), "Measured")
        Index(store, folder / ".perf/index.db").refresh()
        once(folder, ["-m", "perfvcs", "init", "--adopt"])
    return folder


def once(
    folder: Path, command: list[str], checkout: Path | None = None
) -> tuple[float, float, str]:
    """The seconds of CPU time and by the clock of one command, and what it printed; with the
    modules of another checkout.

    NaN where that one does not know the command.
    """
    # As for an installed package: modules are compiled once, in the run that does not count,
    # wherever this one may write them.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env |= {"PYTHONPYCACHEPREFIX": str(folder.parent.absolute() / "bytecode")}
    env |= {"PYTHONPATH": str(checkout.absolute())} if checkout else {}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=checkout is None,
    )
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return cpu if done.returncode == 0 else math.nan, clock, done.stdout


def measured(folder: Path, case: Case, runs: int, other: Path | None) -> Iterator[str]:
    """What a line says: median CPU time and time by the clock, size, and the CPU time of the other
    checkout, run in turns.
    """
    command = ["-m", "perfvcs", "show", "--no-open", *case.arguments]
    sides = [None, *([other] if other else [])]
    rounds = [[once(folder, command, side) for side in sides] for _ in range(runs + 1)][1:]
    cpu, clock = (
        statistics.median(one[0][0] for one in rounds),
        statistics.median(one[0][1] for one in rounds),
    )
    said = rounds[0][0][2]
    path = Path(said.removeprefix("wrote ").strip()) if said.startswith("wrote ") else None
    yield (
        f"{cpu:6.2f} s CPU {clock:6.2f} s"
        f" {(path.stat().st_size if path else len(said.encode())) / 1e6:6.2f} MB"
    )
    if case.budget is not None:
        yield f"budget {case.budget:g} s: {'within' if cpu <= case.budget else 'OVER'}"
    if other:
        yield f"the other {statistics.median(one[1][0] for one in rounds):6.2f} s CPU"


def main() -> None:
    """Print a line per case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", help="where the repositories are, or will be"
    )
    parser.add_argument("--runs", type=int, default=5, help="of each command")
    parser.add_argument(
        "--other", type=Path, help="another checkout, whose command is run in turns with this one"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        reference = [
            once(folder, ["-c", "import bokeh.plotting, bokeh.models"])[0]
            for _ in range(options.runs + 1)
        ][1:]
        print(f"{'importing bokeh alone':40} {statistics.median(reference):6.2f} s CPU", flush=True)
        for number, (name, case) in enumerate(CASES.items()):
            there = built(folder / f"case{number}", case)
            print(
                f"{name:40} {'  '.join(measured(there, case, options.runs, options.other))}",
                flush=True,
            )


if __name__ == "__main__":
    main()
