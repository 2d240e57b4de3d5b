"""What a budget settles.

Ten jobs on two commits of a project in which nothing changed. Each sleeps for what it costs and reports a
time with normal noise: some are cheap and steady, some are expensive and noisy. Compared are `perf
collect --budget` and the same number of executions for every job that takes as long.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .figures import Row
from .registry import benchmark
from .repositories import commit, perf, repository, scratch

COSTS = (0.02, 0.02, 0.05, 0.05, 0.1, 0.1, 0.2, 0.2, 0.4, 0.4)  # seconds of an execution
# standard deviation of the logarithm
NOISE = (0.001, 0.01, 0.002, 0.02, 0.001, 0.008, 0.002, 0.03, 0.001, 0.02)
MOST = 60  # executions that perf.toml allows
PROGRAM = """\
import json, math, os, random, sys, time
cost, noise = map(float, sys.argv[1:])
time.sleep(cost)
with open(os.environ["PERFVCS_SAMPLES"], "a") as samples:
    print(json.dumps({"uid": "inner", "wall": math.exp(random.gauss(0, noise))}), file=samples)
"""


def prepare(project: Path) -> None:
    """A project of two commits that measure the same."""
    jobs = [
        f"[[job]]\nname = 'job{number}'\ncmd = \"'{sys.executable}' -I -S work.py {cost}"
        f' {noise}"\nexecutions = {MOST}\nwarmup = 0\n'
        for number, (cost, noise) in enumerate(zip(COSTS, NOISE, strict=True))
    ]
    repository(project, {"perf.toml": "\n".join(jobs), "work.py": PROGRAM})
    commit(project, "second")
    perf(project, "init")


def measured(*words: str) -> tuple[Row, list[int]]:
    """The seconds of a collect and the reported times that were settled; the executions of each
    job.
    """
    with scratch("budgeted") as project:
        prepare(project)
        begin = time.monotonic()
        stored = json.loads(perf(project, "collect", "--json", "HEAD~1", "HEAD", *words))["stored"]
        seconds = time.monotonic() - begin
        said = json.loads(perf(project, "check", "--json", "HEAD~1", "HEAD"))
    counts = {row["job"]: row["executions"] for row in stored}
    rows = [row for row in said["changes"] if row["uid"] == "inner"]
    settled = sum(row["word"] in ("same", "degradation", "improvement") for row in rows)
    executions = [counts.get(f"job{number}", 0) for number in range(len(COSTS))]
    return {"s": seconds, "settled": settled, "of": len(COSTS)}, executions


@benchmark("everyday", quick="a budget in which ten jobs can be compared is over 10 s")
def budgeted(*, budget: float = 40, runs: int = 3) -> Iterator[Row]:
    """How many jobs does a budget settle, beside as many executions of each?"""
    for run in range(1, runs + 1):
        row, counts = measured("--budget", f"{budget:g}s")
        executions = " ".join(map(str, counts))
        yield {"run": run, "way": f"budget of {budget:g} s", "executions": executions, **row}
        total = sum(count * cost for count, cost in zip(counts, COSTS, strict=True))
        equal = max(5, round(total / sum(COSTS)))
        row, _ = measured("--executions", str(equal))
        yield {"run": run, "way": "as many of each", "executions": str(equal), **row}
