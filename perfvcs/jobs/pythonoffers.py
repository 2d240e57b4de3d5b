"""What a project in Python offers to `perf init`: benchmarks for pytest, tests, its import."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from perfvcs.jobs.benchscripts import BENCHMARK_FOLDERS
from perfvcs.jobs.hazards import LONGEST_LINE, PATTERNS
from perfvcs.jobs.ownfiles import file_text, module_names, own_files, project_files
from perfvcs.jobs.pythonneeds import interpreters, needed_by_tests, normalized, once_each
from perfvcs.jobs.starter import Proposal

PROPOSED_REPEATS = 5
PYTEST = f'{{ name = "pytest", repeat = {PROPOSED_REPEATS} }}'
# pytest-benchmark fits the number of calls to the clock, so that slower code takes no longer; the
# collector repeats tests itself
ONCE = " --benchmark-disable"
# folders of files that tests read: they are no tests of the project
SAMPLES = frozenset({"fixtures", "samples", "swamp", "testdata", "data", "examples", "example"})
NO_TESTS = SAMPLES.union(BENCHMARK_FOLDERS)
MOST_ARGUMENTS = 20  # files in one command
DISTRIBUTION = re.compile(
    r"^[ \t]{0,99}name[ \t]{0,99}=[ \t]{0,99}['\"]?([\w.-]{1,200})", re.MULTILINE
)
IS_TEST = re.compile(r"^[ \t]{0,99}(?:async )?def test", re.MULTILINE)
USES_BENCHMARK = re.compile(
    r"^[ \t]*(?:async )?def test\w*\([^()]*\bbenchmark\b", re.MULTILINE
)  # the fixture of pytest-benchmark


def offers(root: Path) -> Iterator[Proposal]:
    """Its benchmarks for pytest, its tests, and its import; without packaging only its tests. Files
    of tests that download something are left out.
    """
    fetching = [*_downloading(root)]
    for offer in _offers(root):
        words = shlex.split(offer.cmd)
        inside = [
            name
            for name in fetching
            if any(name.startswith(f"{word}/") for word in words) and offer.collector == PYTEST
        ]
        named = ", ".join(inside)
        yield (
            offer
            if not inside
            else replace(
                offer,
                found=f"{offer.found} without {named}, which downloads",
                cmd=shlex.join([*words, *(f"--ignore={name}" for name in inside)]),
            )
        )


def _downloading(root: Path) -> Iterator[str]:
    """The files of tests with a line that downloads something."""
    for path in project_files(root, "**/*test*.py"):
        lines = (line for line in file_text(path).split("\n") if not line.lstrip().startswith("#"))
        if any(PATTERNS["downloads"].search(line[:LONGEST_LINE]) for line in lines):
            yield path.relative_to(root).as_posix()


def _offers(root: Path) -> Iterator[Proposal]:
    """All that it offers."""
    if not any((root / name).exists() for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        if tests := _tests(root):
            yield Proposal(
                "Python tests", f"python -m pytest {shlex.quote(tests)}", "tests", collector=PYTEST
            )
        return
    extra, needed = needed_by_tests(root)
    versions = interpreters(root)
    plain = Proposal(
        "", "", "", python=(".",), requires=("pytest",), versions=versions, collector=PYTEST
    )
    full = replace(
        plain, python=(f".[{extra}]" if extra else ".",), requires=once_each(("pytest", *needed))
    )
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
    yield replace(_import_of(root), versions=versions)


def _pytest_benchmarks(root: Path, variants: Iterable[Proposal]) -> Iterator[Proposal]:
    """Folders of benchmarks for pytest, then files with tests of pytest-benchmark."""
    measuring = [
        replace(
            variant,
            requires=once_each((*variant.requires, "pytest-benchmark")),
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
    """The import of the project's package or module: the one that is called as the project, if
    there is one; without any, an empty program.
    """
    sources = [name for name in own_files(root) if name.endswith((".py", ".pyx"))]
    names = [name for name in module_names(sources) if name.isidentifier()]
    called = normalized(_name(root)).replace("-", "_")
    names.sort(key=lambda name: name.lower() != called)
    words = f"import {names[0]}" if names else "pass"
    return Proposal(
        "a Python project: measure something better than its import",
        f'python -c "{words}"',
        words,
        python=(".",),
    )


def _name(root: Path) -> str:
    """What the project calls itself where it is packaged; empty where it does not say so."""
    texts = (file_text(root / name) for name in ("pyproject.toml", "setup.cfg", "setup.py"))
    found = (match[1] for text in texts if (match := DISTRIBUTION.search(text)))
    return next(found, "")


def _tests(root: Path) -> str:
    """The folder with a project's tests, or the only file with any; empty without one."""
    for name in ("tests", "test"):
        folder = root / name
        if any(folder.rglob("test*.py")) or any(folder.rglob("*_test.py")):
            return name
    # what pytest looks for, where it is not what other programs are tried on
    files = [
        path.relative_to(root)
        for pattern in ("**/test_*.py", "**/*_test.py")
        for path in project_files(root, pattern)
    ]
    own = [path for path in files if not NO_TESTS.intersection(path.parts[:-1])]
    if own:
        return str(own[0].parent)
    alone = (name for name in ("test.py", "tests.py") if IS_TEST.search(file_text(root / name)))
    return next(alone, "")
