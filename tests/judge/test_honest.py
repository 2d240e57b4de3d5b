"""Honest changes that look like tricks: what they touch beside the program hinders no proof."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Project as Repository

from perfvcs.git.project import Project
from perfvcs.judge.candidate import Target, laid_out
from perfvcs.judge.safeguard import examine_files

CARGO = (
    '[package]\nname = "work"\nversion = "1.0.0"\n\n[dependencies]\nfnv = "1"\ncriterion = "0.4"\n'
)
BENCHED = '\n[dev-dependencies]\nproptest = "1"\n\n[[bench]]\nname = "work"\n'
PACKAGE = '{"scripts": {"bench": "node bench.js"}, "dependencies": {"fast": "1", "tinybench": "2"}}'
GO = "module example.org/work\n\ngo 1.21\n\nrequire example.org/a v1.0.0\n"
SOME = "def work(text):\n    return text\n"


def word(
    project: Repository, command: str, before: dict[str, str], after: dict[str, str | None]
) -> str:
    """What the guard says of the files of a change, before anything is built."""
    base = project.commit("Base", **before)
    for name, text in after.items():
        if text is None:
            (project.root / name).unlink()
    target = project.commit("Change", **{name: text for name, text in after.items() if text})
    table: dict[str, Any] = {"job": [{"name": "x", "cmd": command}]}
    place = project.root / ".perf" / "candidate"
    with laid_out(Project.find(project.root), base, Target(target), table, place) as candidate:
        return examine_files(candidate)["benchmark_files"].word


@pytest.mark.parametrize(
    ("command", "path", "before", "after"),
    [
        ("npm run bench", "package.json", PACKAGE, PACKAGE.replace('"1"', '"3", "other": "1"')),
        ("cargo bench", "Cargo.toml", CARGO, CARGO.replace('fnv = "1"', 'ahash = "0.8"')),
        ("cargo bench", "Cargo.toml", CARGO, CARGO + "[profile.release]\nlto = true\n"),
        ("cargo bench", "Cargo.toml", CARGO + BENCHED, CARGO.replace("1.0", "2.0") + BENCHED),
        ("go test -bench .", "go.mod", GO, GO + "require (\n\texample.org/b v2.0.0\n)\n"),
        ("go test -bench .", "go.mod", GO, GO.replace("v1.0.0", "v1.1.0 // indirect")),
        ("pytest bench.py", "pyproject.toml", "", '[project]\ndependencies = ["fast"]\n'),
    ],
)
def test_a_dependency_of_the_program_decides_nothing(
    project: Repository, command: str, path: str, before: str, after: str
) -> None:
    files = {
        path: before,
        "bench.js": "const { Bench } = require('tinybench')\n",
        "benches/work.rs": "use criterion::*;\n",
        "work_test.go": 'import "testing"\n',
    }
    assert word(project, command, files, {path: after, "work.py": SOME}) in ("passed", "warning")


@pytest.mark.parametrize(
    ("command", "path", "before", "after"),
    [
        ("npm run bench", "package.json", PACKAGE, PACKAGE.replace("bench.js", "other.js")),
        ("npm run bench", "package.json", PACKAGE, PACKAGE.replace('"2"', '"npm:other@1"')),
        ("npm run bench", "package.json", PACKAGE, "[" * 10_000),
        ("npm run bench", "package.json", PACKAGE, "[]"),
        ("cargo bench", "Cargo.toml", CARGO, CARGO.replace("0.4", "0.5")),
        ("cargo bench", "Cargo.toml", CARGO, CARGO + '[features]\ndefault = ["few"]\n'),
        ("cargo bench", "Cargo.toml", CARGO + BENCHED, CARGO + BENCHED.replace("name", "path")),
        ("go test -bench .", "go.mod", GO, GO + "replace example.org/a => ./b\n"),
        ("go test -bench .", "go.mod", GO, GO.replace("1.21", "1.22")),
    ],
)
def test_what_else_a_manifest_says_decides(
    project: Repository, command: str, path: str, before: str, after: str
) -> None:
    files = {
        path: before,
        "bench.js": "const { Bench } = require('tinybench')\n",
        "benches/work.rs": "use criterion::*;\n",
    }
    assert word(project, command, files, {path: after}) == "doubted"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # a regenerated lock file
        ({"uv.lock": "version = 1\n"}, {"uv.lock": "version = 2\n"}),
        ({"package-lock.json": "{}"}, {"package-lock.json": '{"lockfileVersion": 3}'}),
        # a module that became a package, or went into another folder
        ({"work.py": SOME}, {"work.py": None, "work/__init__.py": SOME}),
        ({"work.py": SOME}, {"work.py": None, "src/work.py": SOME}),
        ({"work.c": "int work;\n"}, {"work.c": None, "lib/work.c": "int work;\n"}),
        # a helper of the benchmark that has another name, and the benchmark in another format
        (
            {"benchmarks/data.py": "X = 1\n", "benchmarks/bench_work.py": "import data\n"},
            {
                "benchmarks/data.py": None,
                "benchmarks/texts.py": "X = 1\n",
                "benchmarks/bench_work.py": "import texts\n",
            },
        ),
        (
            {"bench.py": "import work;work.work('')\n"},
            {"bench.py": "import work\n\nwork.work('')\n"},
        ),
        # a test that the benchmark does not run
        ({"tests/test_other.py": "x = 1\n"}, {"tests/test_other.py": "x = 2\n"}),
        ({"tests/conftest.py": "x = 1\n"}, {"tests/conftest.py": "x = 2\n"}),
    ],
)
def test_what_goes_with_an_honest_change_decides_nothing(
    project: Repository, before: dict[str, str], after: dict[str, str | None]
) -> None:
    files = {"bench.py": "import work\n\nwork.work('x')\n", "perf.toml": "", **before}
    changed = {"other.py": SOME, **after}
    assert word(project, "python bench.py", files, changed) in ("passed", "warning")
