"""How fast one long series is drawn, and how large its page is.

    python benchmarks/series.py [FOLDER]      2,000 commits x 3 environments x 3 metrics; FOLDER
    keeps the repository

Whole processes of `perf show BENCHMARK`, as a page and with characters; the second run of each
finds its steps in the cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from math import exp
from pathlib import Path

import numpy as np
from histories import build_commits, git

from perfvcs.index import Index
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.store import Store

COMMITS, EXECUTIONS = 2000, 10
METRICS = {
    "wall": (Metric("s"), 0.0131),
    "cpu": (Metric("s"), 0.0122),
    "maxrss": (Metric("B"), 20.5e6),
}
KERNELS = ("6.1.0", "6.2.0", "6.3.0")
SECONDS, BYTES = 3.0, 3_000_000


def profiles(commits: list[str]) -> Iterator[Profile]:
    """One profile per commit and environment; three steps and a drift on the way."""
    rng = np.random.default_rng(1)
    count = len(commits)
    levels = 0.01 * rng.standard_normal((count, len(KERNELS), len(METRICS)))
    for share, size in ((0.25, 0.08), (0.5, -0.05), (0.8, 0.12)):
        levels[int(share * count) :] += size
    levels[-100:] += np.linspace(0, 0.1, 100)[:, None, None]
    for place, commit in enumerate(commits):
        for turn, kernel in enumerate(KERNELS):
            scatter = 0.015 * rng.standard_normal((len(METRICS), EXECUTIONS))
            columns: dict[str, list[float | None]] = {
                name: [
                    *(centre * exp(levels[place, turn, number]) * np.exp(scatter[number])).tolist()
                ]
                for number, (name, (_, centre)) in enumerate(METRICS.items())
            }
            when = (
                f"20261120T093000-{place:05x}{turn}",
                "2026-11-20T09:30:00.000Z",
                "2026-11-20T09:30:02.000Z",
                "perfvcs",
            )
            yield Profile(
                commit=commit,
                job=Job(name="sort", collector="time", cmd="./sort", engine="launcher/1"),
                collected=Collected(*when),
                environment=Environment(
                    fields={"cpu": "benchmark", "kernel": kernel}, fingerprint=f"{turn}" * 12
                ),
                design=Design(executions=EXECUTIONS),
                metrics={name: metric for name, (metric, _) in METRICS.items()},
                resources=Resources(
                    names=["sort"],
                    uid=[0] * EXECUTIONS,
                    execution=list(range(EXECUTIONS)),
                    metrics=columns,
                ),
            )


def build(project: Path) -> None:
    """The project, its store and its index."""
    build_commits(project, COMMITS)
    store = Store.create(project / ".perf/store")
    store.add(profiles(git(project, "rev-list", "--reverse", "main").split()), "Everything")
    Index(store, project / ".perf/index.db").refresh()


def run(project: Path, *args: str) -> tuple[float, float, float]:
    """A whole process: seconds, those of computing, and its largest size in MB."""
    perf = Path(sys.executable).with_name("perf")
    start = time.perf_counter()
    with subprocess.Popen(
        [str(perf), "show", "sort", *args], cwd=project, stdout=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="perfvcs-") as scratch:
        project = Path(sys.argv[1] if len(sys.argv) > 1 else scratch) / "series"
        if not project.exists():
            build(project)
        page = project / "page.html"
        for name, args in (
            ("page", ("-o", str(page))),
            ("text", ("--text",)),
            ("intervals", ("--view", "intervals", "-o", str(page))),
        ):
            first, *later = [run(project, *args) for _ in range(4)]
            took, computing, size = sorted(later)[1]
            verdict = "within" if computing <= SECONDS else "OVER"
            print(
                f"{name:10} {took:5.2f} s, computing {computing:5.2f} s (first time"
                f" {first[1]:5.2f}), {size:4.0f} MB  {verdict}"
            )
            if name != "text":
                told = page.stat().st_size
                print(
                    f"{'':10} {told / 1e6:5.2f} MB of page  {'within' if told <= BYTES else 'OVER'}"
                )


if __name__ == "__main__":
    main()
