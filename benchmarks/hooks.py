"""Pushes that wait for the measurement that their commit began.

Each run is a project with both hooks whose program reports its own times, a remote that has the fast
version, and ``git commit && git push`` of one that is twice as slow, without a pause. Counted are the
pushes that were stopped. As many runs push a version that is as fast as before: these must go through.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from .figures import Row
from .registry import Wrong, benchmark
from .repositories import git, perf, repository, scratch

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


def prepare(folder: Path) -> Path:
    """A project with both hooks, whose first commit is measured and pushed."""
    origin = folder / "origin.git"
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    program = PROGRAM.replace("SECONDS", FAST)
    project = repository(folder / "project", {"perf.toml": CONFIGURATION, "work.py": program})
    git(project, "remote", "add", "origin", str(origin))
    git(project, "push", "--quiet", "origin", "main")
    perf(project, "init")
    perf(project, "hook", "install")
    return project


def pushed(project: Path, seconds: str) -> Pushed:
    """Commit a version and push it at once."""
    (project / "work.py").write_text(PROGRAM.replace("SECONDS", seconds) + "# changed\n")
    begin = time.monotonic()
    git(project, "commit", "--all", "--quiet", "--message", "change")
    committed = time.monotonic()
    push = ["git", "push", "--quiet", "origin", "main"]
    done = subprocess.run(push, cwd=project, capture_output=True, text=True, check=False)
    if done.returncode and "became slower" not in done.stderr:
        raise RuntimeError(done.stderr)
    return Pushed(bool(done.returncode), committed - begin, time.monotonic() - committed)


@benchmark("everyday", quick={"runs": 1})
def hooks(*, runs: int = 20) -> Iterator[Row]:
    """Does a push wait for the measurement that its commit began?"""
    wrong = 0
    for name, seconds in (("twice as slow", SLOW), ("as fast", FAST)):
        found = []
        for _ in range(runs):
            with scratch("hooks") as folder:
                found.append(pushed(prepare(folder), seconds))
        stopped = sum(one.stopped for one in found)
        wrong += runs - stopped if seconds == SLOW else stopped
        yield {
            "version": name,
            "pushes": runs,
            "stopped": stopped,
            "commit, s (median)": median(one.commit for one in found),
            "push, s (median)": median(one.push for one in found),
        }
    if wrong:
        raise Wrong(f"{wrong} pushes were wrongly let through or stopped")
