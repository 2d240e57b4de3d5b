"""Real packages' own tests as benchmarks.

Of each package the source archive becomes a project of two commits: as it is, and with one function made
slower by some .1 ms per call. The tests are run by pytest alone, then both commits are measured in turns
by `perf collect`. Counted are the tests that pass alone and are measured; those whose outcome differs in
the last measured process, by the reports that pytest itself wrote; the coefficients of variation (CV) of a
test's medians between the processes; and of which tests `perf check` says that they became slower, beside
those that run the slower function by the profile's own record.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median, stdev
from typing import NamedTuple
from xml.etree import ElementTree

from perfvcs.profile import REPEATED, Profile
from perfvcs.repository import Repository
from perfvcs.repository.lookup import paths_of

from .figures import Row, percent
from .programs import run, source_of
from .registry import benchmark
from .repositories import commit, git, perf, repository, scratch

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


def spread(values: dict[str, list[float]]) -> tuple[float, float]:
    """The median and the 90th percentile of the tests' coefficients of variation, in percent."""
    found = sorted(
        100 * stdev(some) / mean(some) for some in values.values() if len(some) > 1 and mean(some)
    )
    return median(found), found[int(0.9 * len(found))]


@benchmark("collectors", quick="needs the package index", needs=("network", "pip", "pytest"))
def suites(
    *,
    packages: tuple[str, ...] = tuple(package.name for package in PACKAGES),
    executions: int = 8,
    repeat: int = 10,
) -> Iterator[Row]:
    """What is measured of real packages' own tests, and is a slower function found by them?"""
    for package in PACKAGES:
        if package.name in packages:
            with scratch("suites") as folder:
                yield {"package": package.name, **_study(package, folder, executions, repeat)}


def _study(package: Package, folder: Path, executions: int, repeat: int) -> Row:
    """The figures of one package."""
    root, report, alone = (
        source_of(package.name, folder),
        folder / "measured.xml",
        folder / "alone.xml",
    )
    config = CONFIG.format(report=report, path=SOURCES, repeat=repeat, executions=executions)
    repository(root, {"perf.toml": config}, "as published")
    git(root, "add", "--all", "--force")
    commit(root, "what it ignores")
    pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    environ = {"PYTHONPATH": SOURCES, "PYTHONDONTWRITEBYTECODE": "1"}
    run(*pytest, f"--junitxml={alone}", cwd=root, fine=(), **environ)
    slower(root / package.file, package.function)
    commit(root, "slower")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    perf(root, "collect", "--quiet", "HEAD~1", "HEAD", env=os.environ | {"PATH": path})
    found = Repository.find(root)
    before, after = (
        next(found.store.read_many(paths_of(found, name)))[1] for name in ("HEAD~1", "HEAD")
    )
    plain, measured = outcomes(alone), outcomes(report)
    passed = sum(outcome == "passed" for outcome in plain.values())
    row: Row = {
        "tests": len(plain),
        "pass": passed,
        "measured, %": percent(len(set(before.resources.names)), passed),
        "once": sum(name.endswith(" (once)") for name in set(before.resources.names)),
        "outcomes differ": sum(
            plain.get(name) != measured.get(name) for name in plain.keys() | measured.keys()
        ),
    }
    for metric in ("wall", "cpu"):
        middle, most = spread(medians(before, metric))
        row |= {f"CV, {metric}, %": middle, f"90 % below, {metric}, %": most}
    return row | _found(package, root, after)


def _found(package: Package, root: Path, after: Profile) -> Row:
    """How many tests run the slower function, and which became slower."""
    changes = json.loads(perf(root, "check", "HEAD~1", "HEAD", "--json"))["changes"]
    verdicts = defaultdict[str, set[str]](set)
    for change in changes:
        if change["metric"] in ("wall", "cpu"):
            verdicts[change["uid"].removesuffix(" (once)")].add(change["word"])
    assert after.reached is not None
    number = after.reached.functions.index(f"{package.file}:{package.function}")
    run_it = {name for name, functions in after.reached.units.items() if number in functions}
    run_it &= verdicts.keys()
    slowed = {name for name, words in verdicts.items() if "degradation" in words}
    return {
        "run the slower function": len(run_it),
        "found slower": len(slowed & run_it),
        "others": len(verdicts) - len(run_it),
        "of these found slower": len(slowed - run_it),
    }
