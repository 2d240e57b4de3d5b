"""Real packages' own tests as benchmarks: ``python benchmarks/tests.py [--package NAME]...
[--executions N] [--repeat N]``.

Of each package the source archive is fetched by pip (``--no-binary``) and becomes a project of two
commits: as it is, and with one function made slower by some 0.1 ms per call. The tests are run by
pytest alone, then both commits are measured in turns by ``perf collect``. Told are: how many of the
tests that pass alone are measured; whose outcome differs in the last measured process, by the
reports that pytest itself wrote; the coefficients of variation (CV) of a test's medians between the
processes; and of which tests ``perf check`` says that they became slower, beside those that run the
slower function by the profile's own record. First of all: what a repetition costs.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import mean, median, stdev
from typing import NamedTuple
from xml.etree import ElementTree

from needs import need

from perfvcs.collectors.pytest import Pytest
from perfvcs.plugins.collector import Run
from perfvcs.profile import REPEATED, Profile
from perfvcs.repository import Repository

EMPTY = 50  # tests whose repetition is timed
SOURCES = "src:."  # where packages stand in their archives
LOOP = "for _ in range(5000): pass"  # about 0.1 ms
CONFIG = """
[[job]]
name = "tests"
cmd = "python -m pytest -q --junitxml={report}"
collectors = [{{ name = "pytest", repeat = {repeat} }}]
executions = {executions}
timeout = "30min"
env = {{ PYTHONPATH = "{path}" }}
"""


class Package(NamedTuple):
    """A package of the index, and the function that is made slower."""

    name: str
    file: str
    function: str


PACKAGES = (
    Package("toolz==1.2.0", "toolz/itertoolz.py", "groupby"),
    Package("boltons==26.2.0", "boltons/iterutils.py", "remap"),
    Package("cachetools==8.0.1", "src/cachetools/keys.py", "typedkey"),
)


def command(*words: str | Path, cwd: Path, check: bool = True, **env: str) -> str:
    """What a command prints."""
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def fetch(package: Package, folder: Path) -> Path:
    """The folder with the package's sources, as it was published."""
    command(
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-binary",
        ":all:",
        "--quiet",
        package.name,
        cwd=folder,
    )
    (archive,) = folder.glob("*.tar.gz")
    command("tar", "-xzf", archive.name, cwd=folder)
    return next(path for path in folder.iterdir() if path.is_dir())


def slower(path: Path, name: str) -> None:
    """Put the loop at the beginning of a function's body."""
    lines = path.read_text().splitlines(keepends=True)
    function = next(
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    first = function.body[1] if isinstance(function.body[0], ast.Expr) else function.body[0]
    lines.insert(first.lineno - 1, f"{' ' * first.col_offset}{LOOP}\n")
    path.write_text("".join(lines))


def outcomes(report: Path) -> dict[str, str]:
    """How each test ended, by pytest's report."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[f"{case.get('classname')}::{case.get('name')}"] = kinds[0] if kinds else "passed"
    return found


def medians(profile: Profile, metric: str) -> dict[str, list[float]]:
    """The medians of the processes, by test; first runs are left out."""
    rows, groups = profile.resources, defaultdict[tuple[str, int], list[float]](list)
    columns = zip(
        rows.uid, rows.execution, rows.integers("mark"), rows.metrics[metric], strict=True
    )
    for uid, execution, mark, value in columns:
        if mark != REPEATED and value is not None:
            groups[rows.names[uid], execution].append(value)
    found = defaultdict[str, list[float]](list)
    for (name, _), values in groups.items():
        found[name].append(median(values))
    return found


def spread(values: dict[str, list[float]]) -> str:
    """The median and the 90th percentile of the tests' coefficients of variation."""
    found = sorted(
        stdev(some) / mean(some) for some in values.values() if len(some) > 1 and mean(some)
    )
    return f"{median(found):.1%} (90 % of the tests below {found[int(0.9 * len(found))]:.1%})"


def study(package: Package, folder: Path, executions: int, repeat: int) -> None:
    """Measure one package and print what came out."""
    root = fetch(package, folder)
    report = folder / "measured.xml"
    git = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    (root / "perf.toml").write_text(
        CONFIG.format(report=report, path=SOURCES, repeat=repeat, executions=executions)
    )
    command(*git, "init", "--quiet", cwd=root)
    command(*git, "add", "--all", "--force", cwd=root)
    command(*git, "commit", "--quiet", "--message", "as published", cwd=root)
    alone = folder / "alone.xml"
    options = ("-q", "-p", "no:cacheprovider", f"--junitxml={alone}")
    command(
        sys.executable,
        "-m",
        "pytest",
        *options,
        cwd=root,
        check=False,
        PYTHONPATH=SOURCES,
        PYTHONDONTWRITEBYTECODE="1",
    )
    slower(root / package.file, package.function)
    command(*git, "commit", "--quiet", "--all", "--message", "slower", cwd=root)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    perf = (sys.executable, "-m", "perfvcs")
    command(*perf, "collect", "--quiet", "HEAD~1", "HEAD", cwd=root, PATH=path)
    repository = Repository.find(root)
    profiles = [
        next(repository.store.read_many(repository.select(name)))[1] for name in ("HEAD~1", "HEAD")
    ]
    plain, measured = outcomes(alone), outcomes(report)
    passed = sum(outcome == "passed" for outcome in plain.values())
    differ = [
        name for name in plain.keys() | measured.keys() if plain.get(name) != measured.get(name)
    ]
    names = set(profiles[0].resources.names)
    once = sum(name.endswith(" (once)") for name in names)
    print(
        f"{package.name}: {len(plain)} tests, {passed} pass; measured {len(names)}"
        f" ({len(names) / passed:.1%}), once {once}"
    )
    print(f"  outcomes that differ: {len(differ)} {differ[:5]}")
    for metric in ("wall", "cpu"):
        print(
            f"  CV between {executions} processes, {metric}: {spread(medians(profiles[0], metric))}"
        )
    changes = json.loads(
        command(*perf, "check", "HEAD~1", "HEAD", "--json", cwd=root, check=False, PATH=path)
    )["changes"]
    words = {
        (change["uid"].removesuffix(" (once)"), change["metric"]): change["word"]
        for change in changes
    }
    verdicts = {uid: {words.get((uid, metric)) for metric in ("wall", "cpu")} for uid, _ in words}
    reached = profiles[1].reached
    assert reached is not None
    number = reached.functions.index(f"{package.file}:{package.function}")
    run_it = {
        name for name, functions in reached.units.items() if number in functions
    } & verdicts.keys()
    slowed = {name for name, both in verdicts.items() if "degradation" in both}
    print(
        f"  {package.function} made slower: {len(run_it)} tests run it, {len(slowed & run_it)} of"
        " them are found slower;"
    )
    print(
        f"    of the {len(verdicts) - len(run_it)} others {len(slowed - run_it)}"
        f" {sorted(slowed - run_it)[:5]}"
    )
    for name in sorted(run_it - slowed):
        print(f"    not found: {name}: {sorted(map(str, verdicts[name]))}")


def cost() -> float:
    """CPU seconds that one repetition of an empty test takes, by the difference of 41 and 1 of
    them.
    """
    least = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        root.mkdir()
        (root / "test_empty.py").write_text(
            "".join(f"def test_{number}(): pass\n" for number in range(EMPTY))
        )
        for repeat in (1, 41):
            collector, taken = Pytest(repeat=repeat, budget=100.0), []
            for number in range(4):
                scratch = Path(folder, str(repeat), str(number))
                scratch.mkdir(parents=True)
                before = getrusage(RUSAGE_CHILDREN)
                collector.collect(
                    Run(
                        (sys.executable, "-m", "pytest", "-q"),
                        root,
                        dict(os.environ),
                        scratch,
                        "tests",
                    )
                )
                after = getrusage(RUSAGE_CHILDREN)
                taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            least[repeat] = min(taken[1:])  # the first has a plain execution before it
    return (least[41] - least[1]) / (40 * EMPTY)


def main() -> None:
    """Print the cost, and a few lines for each package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--package",
        action="append",
        choices=[package.name.partition("=")[0] for package in PACKAGES],
    )
    parser.add_argument("--executions", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=10)
    options = parser.parse_args()
    need("pip", "pytest")
    print(f"a repetition of an empty test: {1e3 * cost():.2f} ms of CPU time")
    for package in PACKAGES:
        if not options.package or package.name.partition("=")[0] in options.package:
            with tempfile.TemporaryDirectory() as folder:
                study(package, Path(folder), options.executions, options.repeat)


if __name__ == "__main__":
    main()
