"""`perf init` in published projects, without editing: what it proposes, what it runs, and whether it takes
the minutes that it says.

Each project is a folder with a clone, which is cloned again. `perf init --yes` writes perf.toml; then
`perf collect` measures HEAD, and `perf check --measure` its parent and HEAD, for at most ``limit`` seconds
each; not with ``proposals_only``. A proposal is right where it is what the project itself measures or tests: ``RIGHT`` has a pattern for
the commands of each project that was looked at. All that is said is written to NAME.txt in ``folder``.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

from .figures import Row
from .registry import benchmark
from .repositories import PERF, commit, git

MOST_SHOWN = 60  # characters of the commands in a row
UNITS = {"s": 1, "min": 60, "h": 3600}
DURATION = r"(?:about |under )?((?:\d+ (?:h|min|s) ?)+)"
SAID = re.compile(
    rf"perf collect will take {DURATION}, perf check --measure {DURATION}(?:, at most {DURATION})?"
)
# by the name of a project: what its own documents and its jobs of continuous integration run
RIGHT = {
    "ack3": r"prove ",
    "httprouter": r"-bench",
    "inih": r"meson test -C build$",
    "itoa": r"cargo bench",
    "json.lua": r"bench_(?:de|en)code\.lua|test\.lua",
    "jsonschema": r"pytest .*jsonschema",
    "markupsafe": r"bench\.py",
    "md4c": r"ctest|run-testsuite",
    "mistune": r"benchmark/bench\.py",
    "more-itertools": r"pytest .*tests",
    "node-semver": r"benchmarks/bench-",
    "sds": r"\./sds-test",
    "tablib": r"pytest .*tests",
    "tomli": r"benchmark/run\.py|pytest .*tests",
    "z": r"^$",  # it has neither benchmarks nor tests
}


class Start:
    """A project on its way; all that commands say goes into a file beside it."""

    def __init__(self, source: Path, folder: Path, limit: float) -> None:
        self.source, self.place, self.limit = source, folder / source.name, limit
        git(folder, "clone", "--quiet", str(source), str(self.place))

    def perf(self, *words: str) -> tuple[str, float | None]:
        """What a command prints, and its seconds; None where it failed or was stopped."""
        began = time.monotonic()
        try:
            done = subprocess.run(
                [*PERF, *words],
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=self.limit,
                env={**os.environ, "COLUMNS": "80"},
            )
            said, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            said, status = (error.stdout or b"").decode(errors="replace"), -1
        seconds = time.monotonic() - began
        with self.place.with_suffix(".txt").open("a") as log:
            log.write(f"$ perf {shlex.join(words)}\n{said}[exit {status}, {seconds:.0f} s]\n\n")
        return said, seconds if status in (0, 3) else None

    def row(self, *, proposals_only: bool) -> Row:
        """What is said of the project, and what came of it."""
        head = git(self.place, "rev-parse", "--short", "HEAD")
        said, took = self.perf("init", "--yes")
        written = self.place / "perf.toml"
        jobs = tomllib.loads(written.read_text())["job"] if written.exists() else []
        ran = "perf collect will take" in said
        cmds = " + ".join(job["cmd"] for job in jobs) if ran else ""
        right = RIGHT.get(self.source.name)
        row: Row = {
            "project": self.source.name,
            "commit": head,
            "proposed": cmds[:MOST_SHOWN] or "nothing that runs",
            "right": "?" if right is None else re.search(right, cmds) is not None,
            "tried": len(re.findall(r"^trying ", said, re.MULTILINE)),
            "init_s": took,
        }
        expected = SAID.search(said)
        if not expected:
            return row
        row |= {
            "collect_said_s": said_seconds(expected[1]),
            "check_said_s": said_seconds(expected[2]),
            "check_most_s": said_seconds(expected[3] or expected[2]),
        }
        if proposals_only:
            return row
        commit(self.place, "Measure it")
        _, collect = self.perf("collect")
        _, check = self.perf("check", "--measure", "HEAD~1", "HEAD")
        return row | {"collect_s": collect, "check_s": check}


def said_seconds(text: str) -> int:
    """The seconds of a duration as `perf init` says it."""
    return sum(int(count) * UNITS[unit] for count, unit in re.findall(r"(\d+) (h|min|s)", text))


@benchmark(
    "everyday",
    quick="needs clones of projects, and minutes for each",
    needs=("clones of projects",),
)
def starting(
    *, clones: tuple[str, ...], folder: Path, limit: float = 600.0, proposals_only: bool = False
) -> Iterator[Row]:
    """Does `perf init` propose what a project measures, and take the minutes that it says?"""
    folder.mkdir(parents=True, exist_ok=True)
    for clone in clones:
        start = Start(Path(clone).resolve(), folder.resolve(), limit)
        yield start.row(proposals_only=proposals_only)
