"""What a project in Python offers to `perf init`: benchmarks for pytest, tests, its import."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfvcs.jobs.starter import BENCHMARK_FOLDERS, Proposal, file_text, project_files

PROPOSED_REPEATS = 5
PYTEST = f'{{ name = "pytest", repeat = {PROPOSED_REPEATS} }}'
EXTRAS = ("test", "tests", "testing", "dev")  # what projects call what their tests need
# pytest-benchmark fits the number of calls to the clock, so that slower code takes no longer; the
# collector repeats tests itself
ONCE = " --benchmark-disable"
MOST_ARGUMENTS = 20  # files in one command
USES_BENCHMARK = re.compile(
    r"^[ \t]*(?:async )?def test\w*\([^()]*\bbenchmark\b", re.MULTILINE
)  # the fixture of pytest-benchmark


def offers(root: Path) -> Iterator[Proposal]:
    """Its benchmarks for pytest, its tests, and its import; without packaging only its tests."""
    if not any((root / name).exists() for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        if tests := _tests(root):
            yield Proposal(
                "Python tests", f"python -m pytest {shlex.quote(tests)}", "tests", collector=PYTEST
            )
        return
    extra, needed = _needed_by_tests(root)
    plain = Proposal("", "", "", python=(".",), requires=("pytest",), collector=PYTEST)
    full = replace(plain, python=(f".[{extra}]" if extra else ".",), requires=("pytest", *needed))
    variants = [full] if full == plain else [full, plain]
    yield from _pytest_benchmarks(root, variants)
    if tests := _tests(root):
        for variant in variants:
            yield replace(
                variant,
                found="a Python project with tests",
                cmd=f"python -m pytest {shlex.quote(tests)}",
                name="tests",
            )
    yield _import_of(root)


def _pytest_benchmarks(root: Path, variants: Iterable[Proposal]) -> Iterator[Proposal]:
    """Folders of benchmarks for pytest, then files with tests of pytest-benchmark."""
    measuring = [
        replace(
            variant,
            requires=tuple(dict.fromkeys((*variant.requires, "pytest-benchmark"))),
            cmd=f"python -m pytest{option}",
        )
        for option in (ONCE, "")
        for variant in variants
    ]
    for path in (root / folder for folder in BENCHMARK_FOLDERS):
        tests = [*path.glob("test_*.py"), *path.glob("*benchmark*_test.py")]
        for variant in measuring if tests else ():
            yield replace(
                variant,
                found="a Python project with benchmarks for pytest",
                cmd=f"{variant.cmd} {path.name}",
                name=path.name,
            )
    files = [
        path.relative_to(root).as_posix()
        for path in project_files(root, "**/*test*.py")
        if USES_BENCHMARK.search(file_text(path))
    ]
    files = [name for name in files if name.partition("/")[0] not in BENCHMARK_FOLDERS]
    for variant in measuring if files else ():
        yield replace(
            variant,
            found="a Python project with tests of pytest-benchmark",
            cmd=f"{variant.cmd} {shlex.join(files[:MOST_ARGUMENTS])}",
            name="benchmarks",
        )


def _import_of(root: Path) -> Proposal:
    """The import of a project's first package or module; without any, an empty program."""
    packages = [
        path.parent.name
        for path in sorted([*root.glob("*/__init__.py"), *root.glob("src/*/__init__.py")])
    ]
    names = [
        name
        for name in packages
        if name.isidentifier() and not re.match(r"(tests?|docs?|examples?)$", name)
    ]
    names += [
        path.stem
        for path in sorted([*root.glob("src/*.py"), *root.glob("*.py")])
        if path.stem not in ("setup", "conftest")
    ]
    words = f"import {names[0]}" if names else "pass"
    return Proposal(
        "a Python project: measure something better than its import",
        f'python -c "{words}"',
        words,
        python=(".",),
    )


def _tests(root: Path) -> str:
    """The folder with a project's tests; empty without one."""
    for name in ("tests", "test"):
        folder = root / name
        if any(folder.rglob("test*.py")) or any(folder.rglob("*_test.py")):
            return name
    # what pytest looks for
    files = (
        path
        for pattern in ("**/test_*.py", "**/*_test.py")
        for path in project_files(root, pattern)
    )
    return next((str(path.parent.relative_to(root)) for path in files), "")


def _needed_by_tests(root: Path) -> tuple[str, tuple[str, ...]]:
    """The extra that tests need, and requirements that are not in one."""
    table: dict[str, Any] = {}
    with suppress(ValueError, RecursionError):
        table = tomllib.loads(file_text(root / "pyproject.toml"))
    project, groups = table.get("project", {}), table.get("dependency-groups", {})
    extras = project.get("optional-dependencies", {}) if isinstance(project, dict) else {}
    extra = next((name for name in EXTRAS if isinstance(extras, dict) and name in extras), "")
    group: list[object] = next(
        (
            groups[name]
            for name in EXTRAS
            if isinstance(groups, dict) and isinstance(groups.get(name), list)
        ),
        [],
    )
    needed = [word for word in group if isinstance(word, str)]
    for name in (
        "requirements-test.txt",
        "requirements-tests.txt",
        "test-requirements.txt",
        "tests/requirements.txt",
        "requirements/test.txt",
    ):
        if (root / name).is_file():
            needed.append(f"-r{name}")
            break
    return extra, tuple(needed)
