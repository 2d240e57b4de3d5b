"""What a program was built with belongs to what must agree: nothing is compared across it in
silence.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from comparisons import STEADY, profile
from conftest import Project

from perfvcs.check import compare
from perfvcs.measure.interpreter import probe
from perfvcs.profile import Environment, buildidentity
from perfvcs.repository import Repository

SOURCE = """
#include <stdio.h>
int main(void) { volatile unsigned sum = 0; for (unsigned i = 0; i < 300000; i++) sum += i; return 0; }
"""
MAKEFILE = "CFLAGS = -O1\nprog: prog.c\n\tcc $(CFLAGS) -o prog prog.c\n"
OLD_VALUES, NEW_VALUES = STEADY[0].tolist(), (STEADY[1] * 1.1).tolist()


def built(level: str) -> str:
    return f'build = ["cc -O{level} prog.c -o prog"]'


def fields(project: Project) -> list[dict[str, str]]:
    repository = Repository.find(project.root)
    commits = project.git("log", "--format=%H").split()
    return [header.environment.fields for header in repository.index.headers(commits)]


@pytest.mark.needs("cc")
def test_two_builds_are_not_compared_and_the_difference_is_named(project, perf) -> None:
    project.configure('cmd = "./prog"', top=built("0"))
    project.commit(**{"prog.c": SOURCE, ".gitignore": "prog\n"})
    perf("collect")
    project.configure('cmd = "./prog"', top=built("2"))
    project.commit()
    perf("collect")
    said = perf("check", code=4).out
    assert "build differs: -O0 -> -O2" in said and "%" not in said.partition("settled")[0]
    (before, after) = sorted(fields(project), key=lambda one: one["build"])
    assert (before["build"], after["build"]) == ("cc -O0 prog.c -o prog", "cc -O2 prog.c -o prog")


@pytest.mark.needs("cc")
def test_another_build_is_measured_again_by_missing_and_by_a_check(project, perf) -> None:
    project.configure('cmd = "./prog"', top=built("0"))
    first = project.commit(**{"prog.c": SOURCE, ".gitignore": "prog\n"})
    second = project.commit(note="nothing that runs")
    perf("collect", "-n", "5", first, second)
    project.configure('cmd = "./prog"', top=built("2"))
    assert "stored 1 profile" in perf("collect", "--missing", first).out
    assert "nothing to measure" in perf("collect", "--missing", first).out
    project.configure('cmd = "./prog"', top=built("3"))
    perf("check", "--measure", "--within", "1000", first, second, code=None)
    levels = [one["build"].split()[1] for one in fields(project)]
    assert levels.count("-O3") == 2  # though what is stored settled everything


@pytest.mark.needs("cc")
def test_flags_of_the_environment_and_a_compiler_behind_ccache_are_fields(
    project, perf, tmp_path, monkeypatch
) -> None:
    wrapper = tmp_path / "tools" / "ccache"
    wrapper.parent.mkdir()
    wrapper.write_text('#!/bin/sh\nexec "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    project.configure('cmd = "./prog"', top='build = ["make"]\nenv = { CC = "ccache cc" }')
    project.commit(Makefile=MAKEFILE, **{"prog.c": SOURCE, ".gitignore": "prog\n"})
    perf("collect")
    monkeypatch.setenv("CFLAGS", "-O2")  # which this Makefile ignores
    monkeypatch.setenv("RUSTFLAGS", "-C target-cpu=native")
    perf("collect")
    plain, flagged = sorted(fields(project), key=len)
    assert plain["compiler"] == flagged["compiler"] and "CFLAGS" not in plain
    assert (flagged["CFLAGS"], flagged["RUSTFLAGS"]) == ("-O2", "-C target-cpu=native")


def test_what_was_stored_before_stays_comparable_and_what_is_unknown_is_said() -> None:
    known = Environment({"cpu": "A", "compiler": "gcc 12", "build": "make"}, "k")
    older = Environment({"cpu": "A", "compiler": "gcc 12"}, "o")
    other = Environment({"cpu": "A", "compiler": "gcc 12", "build": "make -B"}, "x")

    def report(before: Environment, after: Environment) -> Any:
        return compare(
            [profile(OLD_VALUES, session="a", environment=before)],
            [profile(NEW_VALUES, 1, session="b", environment=after)],
        )

    assert not report(older, older).remarks and not report(known, known).remarks
    mixed = report(older, known)
    assert [change.word for change in mixed.changes] == ["suspected"]
    assert mixed.remarks == [
        "sort: with which commands the baseline was built is not known: measure both again to be"
        " sure"
    ]
    assert "target was built" in report(known, older).remarks[0]
    (change,) = report(known, other).changes
    assert (change.word, change.reason) == ("not comparable", "build differs: without -> -B")


def test_what_is_installed_must_agree_unless_both_sides_took_turns() -> None:
    def installed(version: str) -> Environment:
        return Environment({"cpu": "A"}, "e", {"dependencies": f"numpy=={version} six==1.0"})

    def report(session: str, before: str, after: str) -> Any:
        return compare(
            [profile(OLD_VALUES, session="a", environment=installed(before))],
            [profile(NEW_VALUES, 1, session=session, environment=installed(after))],
        )

    apart = report("b", "1.26", "2.0")
    (change,) = apart.changes
    assert change.word == "not comparable"
    assert change.reason == (
        "installed differs: numpy 1.26 -> 2.0 (measure both in turns: perf check --measure)"
    )
    turns = report("a", "1.26", "2.0")
    assert [change.word for change in turns.changes] == ["degradation"]
    assert turns.remarks == ["sort: installed differs: numpy 1.26 -> 2.0"]
    assert not report("b", "2.0", "2.0").remarks


def test_another_build_of_the_same_python_is_an_environment_of_its_own(tmp_path) -> None:
    real = probe(Path(sys.executable))
    assert real is not None and real.build.startswith(("GCC", "Clang")) and "#" in real.build

    def python(name: str, options: str, flags: str) -> str:
        answer = [str(tmp_path / name), "3.98.1", "CPython", ["GCC 12.2.0", options, flags]]
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
        path.chmod(0o755)
        interpreter = probe(path)
        assert interpreter is not None
        return interpreter.build

    plain = python("a", "'--prefix=/usr' 'CFLAGS=-g'", "-O2 -g -I/build/a")
    moved = python("b", "'--prefix=/opt/x' 'CFLAGS=-g'", "-O2 -g -I/home/b")
    tuned = python("c", "'--enable-optimizations' '--with-lto=thin'", "-O3")
    assert plain == moved and plain.startswith("GCC 12.2.0 -O2 #")
    assert tuned.startswith("GCC 12.2.0 -O3 PGO LTO #")


def test_a_field_is_bounded_and_long_commands_differ_all_the_same() -> None:
    one, two = (buildidentity.stated(["cc " + "x" * 5000 + end], ())["build"] for end in "ab")
    assert len(one) <= 200 and one != two
    assert list(buildidentity.versions(["make -j2 CC=clang", "cargo build", "cc x.c"])) == [
        ("compiler of build", ("clang", "--version")),
        ("rustc", ("rustc", "--version")),
    ]
    assert list(buildidentity.versions(["./gcc x", "sh -c 'go build ./...'"])) == [
        ("go", ("go", "version"))
    ]


def test_a_commit_that_changes_the_benchmark_is_said_to(project) -> None:
    project.configure('cmd = "sh work.sh"')
    first = project.commit(**{"work.sh": "sleep 0.001\n"})
    project.configure('cmd = "sh work.sh"\nargs = ["", "more"]')
    second = project.commit()
    said = Repository.find(project.root, create=True).judge_changes(first, second)
    assert said.startswith("This change also changes how it is judged: perf.toml (job work: args")
    assert Repository.find(project.root).judge_changes(first, first) == ""
