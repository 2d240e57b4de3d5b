"""What projects in Perl, Lua, Ruby and shell offer to `perf init` beside scripts that are
benchmarks: their tests.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from perfvcs.jobs.benchscripts import shell_of
from perfvcs.jobs.ownfiles import language_of, own_files
from perfvcs.jobs.starter import Proposal

MOST_TESTS = 5  # test scripts that are proposed
MOST_TOGETHER = 8  # test scripts beside each other that are proposed together
# shell scripts that run all tests, and those that are one
RUNS_TESTS = re.compile(
    r"(?:(?:run|all)[-_]?)?tests?(?:[-_]?(?:all|runner|suite))?|tests?/(?:run|all|main)(?:[-_]?tests?)?"
)
OF_MINITEST = re.compile(r"test_(?!helper\.rb).*\.rb|.*_test\.rb")
IS_TEST = re.compile(r".*[-_]tests?|tests?[-_].*")


def perl(root: Path) -> Iterator[Proposal]:
    """Its tests by prove, with what its Makefile.PL builds where it has sources of C."""
    files = own_files(root)
    if not any(name.startswith("t/") and name.endswith(".t") for name in files):
        return
    built = ("perl Makefile.PL", "make") if (root / "Makefile.PL").is_file() else ()
    compiled = any(name.endswith((".xs", ".c")) for name in files if name.count("/") < 2)
    if built and compiled:
        yield Proposal("a Perl project with tests", "prove --blib t", "tests", built)
        return
    yield Proposal("a Perl project with tests", "prove --lib t", "tests")
    if built:
        yield Proposal("a Perl project with tests", "prove --blib t", "tests", built)


def lua(root: Path) -> Iterator[Proposal]:
    """Its tests by busted, or scripts that are tests."""
    files = own_files(root)
    if any(name.endswith("_spec.lua") for name in files):
        yield Proposal("a Lua project with tests", "busted", "tests")
    tests = [
        name
        for name in files
        if name.endswith(".lua") and "test" in PurePosixPath(name).stem and name.count("/") < 2
    ]
    for name in tests[:MOST_TESTS]:
        folder, _, script = name.rpartition("/")
        found = f"a Lua project with the test {name}"
        if folder:
            inside = f"env -C {shlex.quote(folder)} lua {shlex.quote(script)}"
            yield Proposal(found, inside, "tests")
        yield Proposal(found, f"lua {shlex.quote(name)}", "tests")


def ruby(root: Path) -> Iterator[Proposal]:
    """Its tests by rspec or by rake."""
    files = own_files(root)
    if any(name.startswith("spec/") and name.endswith("_spec.rb") for name in files):
        yield Proposal("a Ruby project with tests", "rspec", "tests")
    if (root / "Rakefile").is_file():
        yield Proposal("a Ruby project with tests", "rake test", "tests")
    named = [
        name
        for name in files
        if name.startswith("test/") and OF_MINITEST.fullmatch(name.rpartition("/")[2])
    ]
    lib = " -Ilib" if (root / "lib").is_dir() else ""
    commands = {
        PurePosixPath(name).stem: f"ruby{lib} -Itest {shlex.quote(name)}"
        for name in named[:MOST_TOGETHER]
    }
    yield from _beside("a Ruby project with tests", commands)


def shell(root: Path) -> Iterator[Proposal]:
    """Its tests by bats, by the script that runs all of them, or one by one."""
    files = own_files(root)
    folders = {name.rpartition("/")[0] for name in files if name.endswith(".bats")}
    for folder in sorted(folders)[:1]:
        yield Proposal("a shell project with tests", f"bats {shlex.quote(folder or '.')}", "tests")
    scripts = [
        name
        for name in files
        if name.count("/") < 2 and name.isprintable() and language_of(root, name) == "shell"
    ]
    runners = [name for name in scripts if RUNS_TESTS.fullmatch(name.rpartition(".")[0] or name)]
    for name in runners[:MOST_TESTS]:
        cmd = f"{shell_of(root, name)} {shlex.quote(name)}"
        yield Proposal(f"a shell project with the tests {name}", cmd, "tests")
    tests = [
        name
        for name in scripts
        if name not in runners and IS_TEST.fullmatch(PurePosixPath(name).stem)
    ]
    beside = [name for name in tests if name.rpartition("/")[0] == tests[0].rpartition("/")[0]]
    commands = {
        PurePosixPath(name).stem: f"{shell_of(root, name)} {shlex.quote(name)}"
        for name in beside[:MOST_TOGETHER]
    }
    yield from _beside("a shell project with tests", commands)


def _beside(found: str, commands: dict[str, str]) -> Iterator[Proposal]:
    """Commands by the names of their jobs, all at once: those that do not run are left out."""
    if commands:
        (name, cmd), *others = commands.items()
        yield Proposal(found, cmd, name, beside=tuple(others))
