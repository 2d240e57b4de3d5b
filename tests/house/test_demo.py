"""The demo's repository and the set-up: built from archives made here, so without a network."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT, script

from perfvcs.collectors.complexity.calls import parse
from perfvcs.jobs import matrix
from perfvcs.jobs.config import load
from perfvcs.statistics.regression.choice import choose
from perfvcs.statistics.regression.fitting import fit
from perfvcs.statistics.regression.models import MODELS

pytestmark = pytest.mark.slow

DEMO = ROOT / "examples" / "demo"
SKIPLIST = ROOT / "examples" / "skiplist"


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module; its releases are two small archives which are already downloaded."""
    module = script(DEMO / "build.py")
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    releases = []
    for version, files in (
        ("0.3.0", {"__init__.py": "old", "gone.py": ""}),
        ("0.3.1", {"__init__.py": "new"}),
    ):
        archive = downloads / f"sqlparse-{version}-py3-none-any.whl"
        with zipfile.ZipFile(archive, "w") as opened:
            for name, text in files.items():
                opened.writestr(f"sqlparse/{name}", text)
            opened.writestr(f"sqlparse-{version}.dist-info/METADATA", "not the package's own")
            opened.writestr("sqlparse/../../outside.py", "hostile")
        releases.append(
            module.Release(version, "2020-02-29", hashlib.sha256(archive.read_bytes()).hexdigest())
        )
    monkeypatch.setattr(module, "RELEASES", tuple(releases))
    return module


def git(folder: Path, *args: str) -> str:
    return subprocess.run(
        ["git", *args], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_each_release_is_a_commit_with_a_tag_and_the_benchmark_comes_on_top(
    demo: ModuleType, tmp_path: Path
) -> None:
    head = demo.build(tmp_path / "re po", tmp_path / "downloads")
    made = tmp_path / "re po"
    assert git(made, "rev-parse", "HEAD") == head
    assert git(made, "log", "--format=%s").splitlines() == [
        "Measure it: a benchmark and perf.toml",
        "sqlparse 0.3.1",
        "sqlparse 0.3.0",
    ]
    assert git(made, "ls-tree", "-r", "--name-only", "0.3.1") == "sqlparse/__init__.py"
    assert git(made, "show", "0.3.0:sqlparse/__init__.py") == "old"
    assert git(made, "log", "-1", "--format=%aI", "0.3.1") == "2020-02-29T12:00:00+00:00"
    assert git(made, "status", "--short") == ""
    assert (made / "bench" / "sql.py").read_bytes() == (DEMO / "bench" / "sql.py").read_bytes()


def test_commit_ids_are_the_same_on_every_machine(
    demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = demo.build(tmp_path / "a", tmp_path / "downloads")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert demo.build(tmp_path / "b", tmp_path / "downloads") == first


def test_an_interrupted_build_does_not_stand_in_the_way(demo: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "repo.part").mkdir()
    (tmp_path / "repo.part" / "half").touch()
    demo.build(tmp_path / "repo", tmp_path / "downloads")
    assert not (tmp_path / "repo.part").exists()


def test_a_folder_in_use_is_left_alone(demo: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "mine").write_text("kept")
    with pytest.raises(demo.BuildError, match="not empty: delete it"):
        demo.build(tmp_path / "repo", tmp_path / "downloads")
    assert (tmp_path / "repo" / "mine").read_text() == "kept"


def test_an_archive_that_is_not_the_release_is_refused(demo: ModuleType, tmp_path: Path) -> None:
    next((tmp_path / "downloads").glob("*0.3.1*")).write_bytes(b"something else")
    with pytest.raises(demo.BuildError, match=r"is not the release that was expected: delete it"):
        demo.build(tmp_path / "repo", tmp_path / "downloads")
    assert not (tmp_path / "repo").exists()


def test_a_failed_download_is_one_line_with_the_cure(
    demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(
        sys, "argv", ["build.py", str(tmp_path / "repo"), "--downloads", str(tmp_path / "empty")]
    )
    with pytest.raises(
        demo.BuildError,
        match=r"pip could not download sqlparse 0\.3\.0 \(ERROR: .*\): check the network",
    ) as caught:
        demo.build(tmp_path / "repo", tmp_path / "empty")
    assert "\n" not in str(caught.value)
    assert demo.main() == 1


def test_the_benchmark_reports_each_of_its_jobs(tmp_path: Path) -> None:
    (tmp_path / "sqlparse").mkdir()
    (tmp_path / "sqlparse" / "__init__.py").write_text(
        "__version__ = '9'\n\n\ndef split(text):\n    return text.split(';')\n\n\n"
        "parse = split\n\n\ndef format(text, **options):\n    return text\n"
    )
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "sql.py").write_bytes((DEMO / "bench" / "sql.py").read_bytes())
    (tmp_path / "perfvcs_bench.py").write_text(
        "def repeat(uid, function, *, iterations):\n    function()\n    print(uid, iterations)\n"
    )
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "bench/sql.py"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    *rounds, last = done.stdout.splitlines()
    assert rounds == ["split 1", "parse 1", "format 1"] * (len(rounds) // 3)
    assert len(rounds) >= 15
    assert last.startswith("sqlparse 9: ")


def test_the_demo_measures_every_revision_with_the_same_benchmark() -> None:
    config = tomllib.loads((DEMO / "perf.toml").read_text())
    assert config["overlay"] == ["bench/"]
    assert [job["cmd"] for job in config["job"]] == ["python bench/sql.py"]


# the skip list

STEPS = """\
import sys
from skiplist import SkipList

steps = 0

class Key(int):
    def __eq__(self, other):
        return int(self) == int(other)

def count(frame, event, arg):
    global steps
    steps += event == "line"
    return count

for size in (40, 80, 160):
    skiplist = SkipList()
    for key in range(size - 1):
        skiplist.insert(Key(key))
    steps = 0
    sys.settrace(count)
    skiplist.insert(Key(size))
    sys.settrace(None)
    print(steps)
"""


@pytest.fixture
def skiplist() -> ModuleType:
    return script(SKIPLIST / "build.py")


@pytest.mark.parametrize("language", ["cpp", "python"])
def test_the_skip_list_is_sound_again_after_each_slip(
    skiplist: ModuleType, tmp_path: Path, language: str
) -> None:
    made = tmp_path / "re po"
    assert skiplist.build(language, made) == git(made, "rev-parse", "v7")
    assert git(made, "tag").split() == [f"v{number}" for number in range(1, 8)]
    assert git(made, "status", "--short") == ""
    trees = {tag: git(made, "rev-parse", f"{tag}^{{tree}}") for tag in skiplist.MESSAGES}
    sound = {trees[tag] for tag in trees if tag not in skiplist.SLIPS}
    assert len(sound) == 1
    assert len(set(trees.values())) == 4
    for name in skiplist.SOURCES[language]:
        assert (made / name).read_bytes() == (SKIPLIST / language / name).read_bytes()


@pytest.mark.parametrize(("slip", "growth"), [("v2", 0), ("v4", 1), ("v6", 2)])
def test_a_slip_adds_steps_of_its_kind_to_insert(
    skiplist: ModuleType, tmp_path: Path, slip: str, growth: int
) -> None:
    made = tmp_path / "repo"
    skiplist.build("python", made)

    def steps(version: str) -> list[int]:
        git(made, "checkout", "--quiet", version)
        done = subprocess.run(
            [sys.executable, "-B", "-c", STEPS],
            cwd=made,
            capture_output=True,
            text=True,
            check=True,
        )
        return [int(line) for line in done.stdout.split()]

    small, middle, large = (
        one - other for one, other in zip(steps(slip), steps("v1"), strict=True)
    )
    assert small > 0
    assert middle / small == pytest.approx(2**growth, rel=0.1)
    assert large / middle == pytest.approx(2**growth, rel=0.1)


WALK = """\
import sys
from collections import defaultdict
import skiplist, work

looked, seen = 0, defaultdict(list)
less = work.Version.__lt__

def count(one, other):
    global looked
    looked += 1
    return less(one, other)

def counted(function):
    def call(self, key):
        global looked
        length, looked = len(self), 0
        found = function(self, key)
        seen[length].append(looked)
        return found
    return call

work.Version.__lt__ = count
insert = skiplist.SkipList.insert
skiplist.SkipList.insert = counted(insert)
work.ROUNDS = 0  # looking up is not counted
work.work(100, 20_000)
for length, counts in seen.items():
    if length >= work.FEWEST:
        print(length, sum(counts) / len(counts), len(counts))
"""


def test_the_sound_insert_compares_a_logarithmic_number_of_keys(
    skiplist: ModuleType, tmp_path: Path
) -> None:
    made = tmp_path / "repo"
    skiplist.build("python", made)
    done = subprocess.run(
        [sys.executable, "-B", "-c", WALK], cwd=made, capture_output=True, text=True, check=True
    )
    size, value, weight = zip(
        *((float(word) for word in line.split()) for line in done.stdout.splitlines()), strict=True
    )
    chosen = choose(fit(size, value, weights=weight, models=MODELS))
    assert chosen.model() == "logarithmic"
    assert chosen.r2[0] > 0.9


@pytest.mark.needs("g++")
@pytest.mark.needs("make")
def test_every_version_of_both_skip_lists_does_the_same_work(
    skiplist: ModuleType, tmp_path: Path
) -> None:
    for language, command in (
        ("cpp", ["./work", "50", "500", "1"]),
        ("python", [sys.executable, "-B", "work.py", "50", "500"]),
    ):
        made, said = tmp_path / language, set()
        skiplist.build(language, made)
        for tag in skiplist.MESSAGES:
            git(made, "checkout", "--quiet", tag)
            if language == "cpp":
                subprocess.run(
                    ["make", "--always-make", "--silent", "CXXFLAGS=-O0"],
                    cwd=made,
                    env=outside_make(),
                    check=True,
                )
            said.add(
                subprocess.run(command, cwd=made, capture_output=True, text=True, check=True).stdout
            )
        assert git(made, "status", "--short") == ""
        assert len(said) == 1
        assert int(said.pop()) > 100  # so many were found or removed


@pytest.mark.parametrize("language", ["cpp", "python"])
def test_the_skip_lists_configuration_asks_for_the_three_functions(language: str) -> None:
    (cell,) = matrix(load(SKIPLIST / language / "perf.toml"))
    names, sizes = zip(
        *((one.name, one.size) for one in map(parse, cell.options["functions"])), strict=True
    )
    assert cell.collector_name == "complexity"
    assert [name.replace("::", ".").rpartition(".")[2] for name in names] == [
        "insert",
        "search",
        "remove",
    ]
    assert set(sizes) == {{"cpp": "this->count", "python": "len(self)"}[language]}


# what runs them


@pytest.mark.parametrize(("verdict", "status"), [(0, 0), (3, 0), (4, 0), (5, 5)])
def test_an_example_goes_on_after_a_verdict_and_ends_where_a_command_fails(
    skiplist: ModuleType, tmp_path: Path, verdict: int, status: int
) -> None:
    skiplist.build("python", tmp_path / "de mo" / "skiplist" / "python")
    skiplist.build("cpp", tmp_path / "de mo" / "skiplist" / "cpp")
    stand_in = tmp_path / "bin" / "perf"
    stand_in.parent.mkdir()
    stand_in.write_text(
        f'#!/bin/sh\n[ "$1" != check ] || exit {verdict}\n[ "$1" != show ] || touch "$6"\n'
    )
    stand_in.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", str(SKIPLIST / "run.sh"), "de mo"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{stand_in.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, "")
    assert "$ perf collect v1 v2 v3 v4 v5 v6 v7\n" in done.stdout
    pages = sorted(path.name for path in (tmp_path / "de mo" / "pages").iterdir())
    assert pages[-3:] == (
        [f"skiplist-python-{slip}.html" for slip in ("constant", "linear", "quadratic")]
        if not status
        else []
    )
    assert (f"The pages are in {tmp_path / 'de mo' / 'pages'}:" in done.stdout) is not bool(status)


# the set-up


def outside_make() -> dict[str, str]:
    """The environment without what `make test` adds to it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}


@pytest.mark.needs("make")
def test_make_alone_lists_what_the_readme_names() -> None:
    done = subprocess.run(
        ["make"], cwd=ROOT, env=outside_make(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == [
        "demo",
        "demo-curves",
        "test",
        "quick",
        "explore",
        "coverage",
        "bench",
        "bench-history",
        "site",
        "docs",
        "lint",
        "fresh",
        "arm64",
        "clean",
    ]


def test_set_up_without_a_fitting_python_names_the_cure(tmp_path: Path) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    venv = [str(ROOT / ".ci" / "venv"), str(tmp_path / "made"), "."]
    for extra, cure in (
        ([], "no Python >= 3.11 on PATH: install one"),
        (["python3"], "name one with PYTHON=..."),
    ):
        done = subprocess.run(
            ["/bin/sh", *venv, *extra],
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert cure in done.stderr
        assert done.stderr.count("\n") == 1


def test_set_up_without_the_venv_module_names_the_cure(tmp_path: Path) -> None:
    (tmp_path / "python3").write_text('#!/bin/sh\n[ "$1" = -c ]\n')
    (tmp_path / "python3").chmod(0o755)
    (tmp_path / "rm").symlink_to("/bin/rm")
    venv = ["/bin/sh", str(ROOT / ".ci" / "venv"), str(tmp_path / "made"), "."]
    done = subprocess.run(
        venv, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "apt-get install python3-venv" in done.stderr
