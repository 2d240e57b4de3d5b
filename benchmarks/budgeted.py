"""What a budget settles: ``python benchmarks/budgeted.py [--budget 40] [--runs 3]``.

Ten jobs on two commits of a project in which nothing changed. Each sleeps for what it costs and
reports a time with normal noise: some are cheap and steady, some are expensive and noisy. Compared
are `perf collect --budget` and the same number of executions for every job that takes as long.
Printed are the seconds that collect took, and how many of the reported times `perf check` settles.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PERF = Path(sys.executable).with_name("perf")
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
    (project / "perf.toml").write_text("\n".join(jobs))
    (project / "work.py").write_text(PROGRAM)
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for title in ("first", "second"):
        subprocess.run(
            ["git", *identity, "commit", "--quiet", "--allow-empty", "--message", title],
            cwd=project,
            check=True,
        )
    subprocess.run([PERF, "init"], cwd=project, check=True, capture_output=True)


def measured(words: list[str]) -> tuple[float, int, str]:
    """The seconds of a collect, the reported times that were settled, and the executions of each
    job.
    """
    with tempfile.TemporaryDirectory(prefix="perfvcs-budgeted-") as folder:
        project = Path(folder)
        prepare(project)
        begin = time.monotonic()
        done = subprocess.run(
            [PERF, "collect", "--json", "HEAD~1", "HEAD", *words],
            cwd=project,
            capture_output=True,
            text=True,
            check=True,
        )
        seconds = time.monotonic() - begin
        counts = {row["job"]: row["executions"] for row in json.loads(done.stdout)["stored"]}
        said = subprocess.run(
            [PERF, "check", "--json", "HEAD~1", "HEAD"],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        rows = [row for row in json.loads(said.stdout)["changes"] if row["uid"] == "inner"]
        settled = sum(row["word"] in ("same", "degradation", "improvement") for row in rows)
        return (
            seconds,
            settled,
            " ".join(str(counts.get(f"job{number}", 0)) for number in range(len(COSTS))),
        )


def main() -> None:
    """Print both ways, run by run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=40)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    found: dict[str, list[int]] = {"budget": [], "equal": []}
    for _ in range(asked.runs):
        seconds, settled, counts = measured(["--budget", f"{asked.budget:g}s"])
        found["budget"].append(settled)
        print(
            f"budget of {asked.budget:g} s: {seconds:.1f} s, {settled} of {len(COSTS)} settled,"
            f" executions {counts}",
            flush=True,
        )
        total = sum(int(count) * cost for count, cost in zip(counts.split(), COSTS, strict=True))
        equal = max(5, round(total / sum(COSTS)))
        seconds, settled, counts = measured(["--executions", str(equal)])
        found["equal"].append(settled)
        print(
            f"{equal} of every job: {seconds:.1f} s, {settled} of {len(COSTS)} settled", flush=True
        )
    print(
        ", ".join(
            f"{name}: {statistics.fmean(counts):.1f} of {len(COSTS)} settled"
            for name, counts in found.items()
        )
    )


if __name__ == "__main__":
    main()
