"""How long `perf publish` takes: ``python benchmarks/publish.py FOLDER``.

1,662 commits, 66 benchmarks and 6 environments, each of which measured every third or fourth
commit: 455 values per series, 180,180 in all. FOLDER keeps the repository, which takes some minutes
to build. Whole processes are timed: into an empty folder, again with nothing new, and after one
more commit that was measured in one environment, several times over. The figures are for a warm
cache of the index, and for a disk that has written what came before; what following the store costs
is part of the last one.

    python benchmarks/publish.py FOLDER --commits 300 --benchmarks 12 --environments 3      a
    smaller one
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

import numpy as np
from histories import git
from numpy.typing import NDArray

from perfvcs.index import Index
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.store import Store

EXECUTIONS = 10
SHARE = 455 / 1662  # of the commits, that one environment measured
STEPPING = 0.3  # of the series, that step one to four times
NOISE = 0.01
LIMITS = {"everything": 6.0, "one commit more": 1.0}  # seconds
LARGEST_PAGE, LARGEST_PROCESS = 3_000_000, 300  # bytes, MB


@dataclass(frozen=True)
class Plan:
    """The size of the data set."""

    commits: int
    benchmarks: int
    environments: int

    def measured(self, environment: int) -> list[int]:
        """The commits that an environment measured: evenly spread, and not those of the others."""
        count = max(1, round(self.commits * SHARE))
        places = (
            np.linspace(0, self.commits - 1, count)
            + environment * self.commits / count / self.environments
        )
        return sorted({min(self.commits - 1, int(place)) for place in places})


def levels(plan: Plan, noise: float = NOISE) -> NDArray[np.float64]:
    """Log levels (environments, benchmarks, commits): noise, and steps of some series."""
    rng = np.random.default_rng(7)
    found = noise * rng.standard_normal((plan.environments, plan.benchmarks, plan.commits))
    found += (
        log(0.01)
        + rng.uniform(-2, 2, (1, plan.benchmarks, 1))
        + rng.normal(0, 0.2, (plan.environments, 1, 1))
    )
    for benchmark in np.flatnonzero(rng.random(plan.benchmarks) < STEPPING).tolist():
        for place in rng.integers(20, max(21, plan.commits - 20), int(rng.integers(1, 5))).tolist():
            found[:, benchmark, place:] += float(rng.uniform(0.03, 0.25) * rng.choice([-1, 1]))
    return found


def profiles(
    commits: list[str], places: list[int], environment: int, levels: NDArray[np.float64]
) -> Iterator[Profile]:
    """One profile per measured commit and benchmark of an environment."""
    chance = random.Random(environment)
    fields = {
        "cpu": f"Processor {environment + 1}",
        "machine": "x86_64",
        "kernel": "6.1.0",
        "python": "3.11.9",
    }
    where = Environment(fields, f"{environment:012x}")
    jobs = [
        Job(f"benchmark_{number:02}", "time", "./run", f"--case {number}", engine="launcher/1")
        for number in range(len(levels))
    ]
    for place in places:
        session = Collected(
            f"20261120T093000-{place:06x}",
            "2026-11-20T09:30:00.000Z",
            "2026-11-20T09:30:02.000Z",
            "perfvcs 0.1.0",
        )
        for number, job in enumerate(jobs):
            centre = exp(float(levels[number, place]))
            wall: list[float | None] = [
                round(centre * chance.lognormvariate(0, 0.01), 9) for _ in range(EXECUTIONS)
            ]
            rows = Resources(
                [job.name], [0] * EXECUTIONS, list(range(EXECUTIONS)), metrics={"wall": wall}
            )
            yield Profile(
                commit=commits[place],
                job=job,
                collected=session,
                environment=where,
                design=Design(EXECUTIONS, warmup=1),
                metrics={"wall": Metric("s")},
                resources=rows,
            )


def build(folder: Path, plan: Plan) -> None:
    """The project, its history measured, and the index."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    stream = []
    for number in range(plan.commits):
        message, text = b"Change number %d: what it is about" % number, b"%d\n" % number
        author = b"Author %d <author@example.org>" % (number % 23)
        stream.append(
            b"commit refs/heads/main\ncommitter %s %d +0000\n"
            % (author, 1_600_000_000 + 43_200 * number)
        )
        stream.append(
            b"data %d\n%s\nM 100644 inline src/file%d.c\ndata %d\n%s\n"
            % (len(message), message, number % 90, len(text), text)
        )
    git(folder, "fast-import", "--quiet", data=b"".join(stream))
    git(folder, "reset", "--quiet", "--hard", "main")
    with (folder / ".git/info/exclude").open("a") as exclude:
        exclude.write(".perf/\n")
    commits = git(folder, "rev-list", "--reverse", "main").split()
    subprocess.run(
        [str(Path(sys.executable).with_name("perf")), "init"],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    store, values = Store(folder / ".perf/store"), levels(plan)
    start, count = time.perf_counter(), 0
    for environment in range(plan.environments):
        places = plan.measured(environment)
        count += len(places) * plan.benchmarks
        store.add(
            profiles(commits, places, environment, values[environment]),
            f"Environment {environment + 1}",
        )
    Index(store, folder / ".perf/index.db").refresh()
    print(
        f"{count:,} values in {plan.benchmarks * plan.environments:,} series, built in"
        f" {time.perf_counter() - start:.0f} s"
    )


@dataclass(frozen=True)
class Run:
    """One process: seconds by the clock, seconds of computing, its largest size in MB, and what it
    said.
    """

    took: float
    computing: float
    size: float
    said: str


def publish(project: Path, site: Path) -> Run:
    """A whole process of `perf publish`."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(project.parent.absolute() / "bytecode")
    command = [str(Path(sys.executable).with_name("perf")), "publish", str(site)]
    os.sync()  # a publication before has left 100 MB to write
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=project, env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        said = process.stdout.read().strip()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    took = time.perf_counter() - start
    assert process.returncode == 0, said
    return Run(took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, said)


def print_row(name: str, run: Run) -> None:
    limit = LIMITS.get(name)
    verdict = (
        "" if limit is None else f"  limit {limit:g} s  {'within' if run.took <= limit else 'OVER'}"
    )
    print(
        f"{name:20} {run.took:6.2f} s, computing {run.computing:5.2f} s, {run.size:4.0f}"
        f" MB{verdict}  ({run.said.splitlines()[0]})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="keeps the repository")
    parser.add_argument("--commits", type=int, default=1662)
    parser.add_argument("--benchmarks", type=int, default=66)
    parser.add_argument("--environments", type=int, default=6)
    parser.add_argument("--runs", type=int, default=5, help="of one commit more; the median counts")
    options = parser.parse_args()
    plan = Plan(options.commits, options.benchmarks, options.environments)
    project, site = (
        options.folder / f"{plan.commits}-{plan.benchmarks}-{plan.environments}",
        options.folder / "site",
    )
    if not project.exists():
        build(project, plan)
    shutil.rmtree(site, ignore_errors=True)
    for path in (project / ".perf").glob("steps.db*"):
        path.unlink()
    first = publish(project, site)
    print_row("steps not known yet", first)
    shutil.rmtree(site)
    print_row("everything", publish(project, site))
    print_row("nothing new", publish(project, site))
    more, noise = [], np.random.default_rng(1)
    newest = levels(plan, 0.0)[:, :, -1:]
    for turn in range(options.runs):
        git(project, "commit", "--quiet", "--allow-empty", "--message", "One more")
        commits = git(project, "rev-list", "--reverse", "main").split()
        environment = turn % plan.environments
        values = newest[environment] + noise.normal(0, NOISE, (plan.benchmarks, 1))
        Store(project / ".perf/store").add(
            profiles(commits[-1:], [0], environment, values), "One more"
        )
        more.append(publish(project, site))
    more.sort(key=lambda run: run.took)
    print_row("one commit more", more[len(more) // 2])
    pages = sorted((path.stat().st_size, path.relative_to(site)) for path in site.rglob("*.html"))
    total = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    kinds = statistics.median(size for size, _ in pages)
    print(
        f"{len(pages):,} pages of {kinds / 1000:.0f} kB (median), {total / 1e6:.0f} MB in all with"
        " their JSON"
    )
    size, name = pages[-1]
    print(
        f"largest page {size / 1e6:.2f} MB ({name}), limit 3 MB "
        f" {'within' if size <= LARGEST_PAGE else 'OVER'}"
    )
    largest = max(first.size, *(run.size for run in more))
    print(
        f"largest process {largest:.0f} MB, limit {LARGEST_PROCESS} MB "
        f" {'within' if largest <= LARGEST_PROCESS else 'OVER'}"
    )


if __name__ == "__main__":
    main()
