"""The report on a project's own test suite between two releases, beside the instructions of its tests.

Both sources are downloaded with pip and become two commits, whose tests are the newer release's. They are
measured in turns with the collector `pytest`. Then valgrind counts the instructions of each release with
every test run once and 31 times in one process; the difference over 30 is what the tests themselves
execute, and the ratio of both releases is the truth. The project needs pytest only, and its package in
`src` or at the top.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from .figures import Row
from .programs import run, source_of
from .registry import Wrong, benchmark
from .repositories import commit, git, perf, repository, scratch

AGAIN = 31
PLUGIN = """
import os

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    own = item.obj

    def again(*args, **kwargs):
        for _ in range(int(os.environ["AGAIN"])):
            own(*args, **kwargs)

    item.obj = again
"""
CONFIG = """
overlay = ["tests"]
[[job]]
name = "tests"
cmd = "python -m pytest -q -p no:cacheprovider %s"
collectors = [{ name = "pytest", repeat = 10, budget = 0.003 }]
executions = %d
env = { PYTHONPATH = "src:." }
"""
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")


def release(made: Path, source: Path, tests: Path, config: str, version: str) -> None:
    """One release as the repository's next commit, with a tag."""
    for path in made.iterdir():
        if path.name not in (".git", ".perf"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    ignored = shutil.ignore_patterns("tests", "*.egg-info")
    shutil.copytree(source, made, dirs_exist_ok=True, ignore=ignored)
    shutil.copytree(tests, made / "tests")
    (made / "perf.toml").write_text(config)
    git(made, "add", "--all", "--force")
    commit(made, version)
    git(made, "tag", version)


def instructions(source: Path, tests: str, failed: list[str], plugin: Path, times: int) -> int:
    """What valgrind counts where every test runs so many times."""
    skipped = [option for name in failed for option in ("--deselect", name)]
    tool = ("--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    said = run(
        *("valgrind", "--log-fd=1", *tool, sys.executable, *PYTEST, "-p", "again", *skipped, tests),
        cwd=source,
        AGAIN=str(times),
        PYTHONHASHSEED="0",
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONPATH=f"src:.:{plugin}",
    )
    found = re.search(r"I\s+refs:\s+([\d,]+)", said)
    assert found, said[-2000:]
    return int(found[1].replace(",", ""))


@benchmark("pairs", quick="needs the package index", needs=("network", "pip", "pytest", "valgrind"))
def suite(
    *,
    project: str = "mistune",
    old: str = "3.0.2",
    new: str = "3.1.0",
    tests: str = "tests",
    pairs: int = 20,
) -> Iterator[Row]:
    """Does the overall effect of a test suite hold what its tests execute more?"""
    with scratch("suite") as folder:
        before, after = (source_of(f"{project}=={version}", folder) for version in (old, new))
        place = repository(folder / "repo", {})
        for source, version in ((before, old), (after, new)):
            release(place, source, after / "tests", CONFIG % (tests, pairs), version)
        perf(place, "collect", old, new)
        report = perf(place, "check", old, new)
        overall = json.loads(perf(place, "check", "--json", old, new))["overall"]
        plugin = folder / "plugin"
        plugin.mkdir()
        (plugin / "again.py").write_text(PLUGIN)
        shutil.rmtree(before / "tests")
        shutil.copytree(after / "tests", before / "tests")
        said = [
            run(sys.executable, *PYTEST, tests, cwd=source, fine=(), PYTHONPATH="src:.")
            for source in (before, after)
        ]
        failed = sorted(
            {name for text in said for name in re.findall(r"^FAILED (\S+)", text, re.MULTILINE)}
        )
        counts = []
        for source in (before, after):
            once, again = (instructions(source, tests, failed, plugin, n) for n in (1, AGAIN))
            counts.append((again - once) / (AGAIN - 1))
    truth = counts[1] / counts[0] - 1
    cpu = next(job for job in overall if job["metric"] == "cpu")
    yield {
        "project": f"{project} {old} to {new}",
        "lines of the report": len(report.splitlines()),
        "instructions, % more": 100 * truth,
        "CPU time, % more": 100 * cpu["effect"],
        "low, %": 100 * cpu["low"],
        "high, %": 100 * cpu["high"],
    }
    if not cpu["low"] <= truth <= cpu["high"]:
        raise Wrong("the overall effect does not hold the truth")
