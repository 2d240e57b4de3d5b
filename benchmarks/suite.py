"""The report on a project's own test suite between two releases, beside the instructions that its
tests execute.

    python benchmarks/suite.py FOLDER [--project mistune] [--old 3.0.2] [--new 3.1.0] [--pairs 20]
    [--tests tests]

Both sources are downloaded with pip and become two commits in FOLDER/repo, whose tests are the
newer release's. They are measured in turns with the collector `pytest`. Then valgrind counts the
instructions of each release with every test run once and 31 times in one process; the difference
over 30 is what the tests themselves execute, and the ratio of both releases is the truth. Printed
are the report, its number of lines, the truth, and whether the interval of the overall effect in
CPU time holds it. The project needs pytest only, and its package in `src` or at the top.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

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


def run(*command: str, folder: Path, **environment: str) -> str:
    """The output of a command; tests may fail."""
    found = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout + found.stderr


def sources(project: str, version: str, folder: Path) -> Path:
    """The unpacked source of a release."""
    name = f"{project}-{version}"
    options = (
        "--no-deps",
        "--no-binary",
        ":all:",
        "--no-build-isolation",
        "--quiet",
        "--dest",
        str(folder),
    )
    subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, f"{project}=={version}"], check=True
    )
    subprocess.run(["tar", "-xzf", folder / f"{name}.tar.gz", "-C", folder], check=True)
    return folder / name


def commit(made: Path, source: Path, tests: Path, config: str, version: str) -> None:
    """One release as the repository's next commit, with a tag."""
    for path in made.iterdir():
        if path.name not in (".git", ".perf"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(
        source, made, dirs_exist_ok=True, ignore=shutil.ignore_patterns("tests", "*.egg-info")
    )
    shutil.copytree(tests, made / "tests")
    (made / "perf.toml").write_text(config)
    identity = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost")
    for arguments in (
        ("add", "--all", "--force"),
        ("commit", "--quiet", "--message", version),
        ("tag", version),
    ):
        subprocess.run(["git", *identity, *arguments], cwd=made, check=True)


def instructions(source: Path, tests: str, failed: list[str], plugin: Path, times: int) -> int:
    """What valgrind counts where every test runs so many times."""
    skipped = [option for name in failed for option in ("--deselect", name)]
    said = run(
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
        sys.executable,
        *PYTEST,
        "-p",
        "again",
        *skipped,
        tests,
        folder=source,
        AGAIN=str(times),
        PYTHONHASHSEED="0",
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONPATH=f"src:.:{plugin}",
    )
    found = re.search(r"I\s+refs:\s+([\d,]+)", said)
    assert found, said[-2000:]
    return int(found[1].replace(",", ""))


def main() -> None:
    """Measure, count, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    for name, default in (
        ("project", "mistune"),
        ("old", "3.0.2"),
        ("new", "3.1.0"),
        ("tests", "tests"),
    ):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--pairs", type=int, default=20)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True)
    folder = asked.folder.resolve()
    before, after = (sources(asked.project, version, folder) for version in (asked.old, asked.new))
    repository = folder / "repo"
    repository.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=repository, check=True)
    config = CONFIG % (asked.tests, asked.pairs)
    for source, version in ((before, asked.old), (after, asked.new)):
        commit(repository, source, after / "tests", config, version)
    perf = str(Path(sys.executable).with_name("perf"))
    subprocess.run([perf, "collect", asked.old, asked.new], cwd=repository, check=True)
    report = run(perf, "check", asked.old, asked.new, folder=repository)
    overall = json.loads(run(perf, "check", "--json", asked.old, asked.new, folder=repository))[
        "overall"
    ]
    print(f"{report}\n{len(report.splitlines())} lines")

    plugin = folder / "plugin"
    plugin.mkdir()
    (plugin / "again.py").write_text(PLUGIN)
    shutil.rmtree(before / "tests")
    shutil.copytree(after / "tests", before / "tests")
    said = [
        run(sys.executable, *PYTEST, asked.tests, folder=source, PYTHONPATH="src:.")
        for source in (before, after)
    ]
    failed = sorted(
        {name for text in said for name in re.findall(r"^FAILED (\S+)", text, re.MULTILINE)}
    )
    counts = [
        [instructions(source, asked.tests, failed, plugin, times) for times in (1, AGAIN)]
        for source in (before, after)
    ]
    old, new = ((last - first) / (AGAIN - 1) for first, last in counts)
    truth = new / old - 1
    cpu = next(job for job in overall if job["metric"] == "cpu")
    print(f"instructions of the tests: {old:,.0f} -> {new:,.0f}, {100 * truth:+.2f} %")
    print(
        f"the overall effect in CPU time: {100 * cpu['effect']:+.1f} % [{100 * cpu['low']:+.1f},"
        f" {100 * cpu['high']:+.1f}], which"
        f" {'holds' if cpu['low'] <= truth <= cpu['high'] else 'DOES NOT HOLD'} it"
    )


if __name__ == "__main__":
    main()
