"""Whether a push waits for the measurement that its commit began: ``python benchmarks/hooks.py
[--runs 20]``.

Each run is a project with both hooks whose program reports its own times, a remote that has the
fast version, and ``git commit && git push`` of one that is twice as slow, without a pause. Counted
are the pushes that were stopped. As many runs push a version that is as fast as before: these must
go through. Printed are also the seconds that the commit and the push took.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PERF = Path(sys.executable).with_name("perf")
PROGRAM = """\
import json, os
with open(os.environ["PERFVCS_SAMPLES"], "a") as samples:
    print(json.dumps({"uid": "inner", "wall": SECONDS}), file=samples)
"""
CONFIGURATION = f"""\
[[job]]
name = "work"
cmd = "'{sys.executable}' work.py"
executions = 5
warmup = 0
"""
FAST, SLOW = "1.013", "2.027"


class Pushed(NamedTuple):
    """Whether a push was stopped, and the seconds that the commit and the push took."""

    stopped: bool
    commit: float
    push: float


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A git command in a folder."""
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)


def prepare(scratch: Path) -> Path:
    """A project with both hooks, whose first commit is measured and pushed."""
    project, origin = scratch / "project", scratch / "origin.git"
    git(scratch, "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    git(scratch, "init", "--quiet", "--initial-branch=main", str(project))
    git(project, "config", "user.name", "Ada")
    git(project, "config", "user.email", "ada@example.org")
    git(project, "remote", "add", "origin", str(origin))
    (project / "perf.toml").write_text(CONFIGURATION)
    (project / "work.py").write_text(PROGRAM.replace("SECONDS", FAST))
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "fast")
    git(project, "push", "--quiet", "origin", "main")
    for words in (["init"], ["hook", "install"]):
        subprocess.run([PERF, *words], cwd=project, check=True, capture_output=True)
    return project


def pushed(project: Path, seconds: str) -> Pushed:
    """Commit a version and push it at once."""
    (project / "work.py").write_text(PROGRAM.replace("SECONDS", seconds) + "# changed\n")
    begin = time.monotonic()
    git(project, "commit", "--all", "--quiet", "--message", "change")
    committed = time.monotonic()
    done = git(project, "push", "--quiet", "origin", "main")
    if done.returncode and "became slower" not in done.stderr:
        raise RuntimeError(done.stderr)
    return Pushed(bool(done.returncode), committed - begin, time.monotonic() - committed)


def main() -> None:
    """Print how many pushes were stopped."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    for name, seconds in (("twice as slow", SLOW), ("as fast", FAST)):
        found = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory(prefix="perfvcs-hooks-") as scratch:
                found.append(pushed(prepare(Path(scratch)), seconds))
        commit, push = (
            statistics.median(times)
            for times in zip(*((one.commit, one.push) for one in found), strict=True)
        )
        stopped = sum(one.stopped for one in found)
        print(
            f"{name}: {stopped} of {runs} pushes stopped; commit {commit:.2f} s, push {push:.2f} s"
            " (medians)",
            flush=True,
        )


if __name__ == "__main__":
    main()
