"""Files of a change that would run in the place of the benchmark's: what `perf judge` makes the
base's again, and what it says decides.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Project as Repository

from perfvcs.check.change import Difference
from perfvcs.git.blobs import ChangedFile, Links, changed_files
from perfvcs.git.project import Project
from perfvcs.jobs.benchmark_files import by_kind, decides, of_files
from perfvcs.jobs.commandwords import entered, started
from perfvcs.jobs.npmscripts import direct, is_there
from perfvcs.jobs.shadows import shadows
from perfvcs.judge.candidate import Target, laid_out
from perfvcs.judge.correctness import HiddenFiles
from perfvcs.judge.installed import replaced
from perfvcs.judge.quiet import Trust
from perfvcs.judge.safeguard import Seen, examine
from perfvcs.plugins.collector import CollectError

MAKEFILE = "check: prepared\n\t./work\nprepared:\n\ttouch prepared\n"


def job(command: str) -> dict[str, list[dict[str, str]]]:
    return {"job": [{"name": "x", "cmd": command}]}


def standing(project: Repository, command: str, *paths: str) -> list[str]:
    """Those of some new paths that stand in the place of something."""
    base = project.git("rev-parse", "HEAD").strip()
    commit = project.commit("Change", **dict.fromkeys(paths, "x\n"))
    repository = Project.find(project.root)
    files = changed_files(repository, base, commit)
    return sorted(shadows(repository, base, files, job(command)))


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("make check", ""),
        ("make", ""),
        ("make -C sub check", "sub/"),
        ("cd sub && make check", "sub/"),
        ("sh -c 'make -s check'", ""),
    ],
)
def test_a_new_file_that_is_called_like_a_target_of_make(
    project: Repository, command: str, folder: str
) -> None:
    project.commit("Base", **{f"{folder}Makefile": MAKEFILE, "work.c": "x\n"})
    paths = [f"{folder}check", f"{folder}prepared", "other.c"]
    assert standing(project, command, *paths) == sorted(paths[:2])


def test_a_new_file_that_is_called_like_a_word_of_another_command(project: Repository) -> None:
    project.commit("Base", **{"Makefile": MAKEFILE})
    assert standing(project, "./work check", "check") == []


@pytest.mark.parametrize(
    "command",
    [
        "env PYTHONPATH=lib python run.py",
        'PYTHONPATH="$PWD/lib" python run.py',
        "PYTHONPATH=${PWD}/other:lib python run.py",
        "cd lib && python main.py",
        "env --chdir=lib python main.py",
        "env -C lib python main.py",
    ],
)
def test_a_module_in_a_folder_that_the_command_makes_one_of_pythons(
    project: Repository, command: str
) -> None:
    project.commit("Base", **{"run.py": "", "lib/main.py": "import json\n"})
    assert standing(project, command, "lib/json.py", "aside/json.py") == ["lib/json.py"]


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("sh run.sh", "run.sh"),
        ("cd sub && sh run.sh", "sub/run.sh"),
        ("python other.py", "bench/other.py"),
        ("make -C sub run", "sub/Makefile"),
    ],
)
def test_a_new_file_of_which_the_bases_benchmark_speaks(
    project: Repository, command: str, script: str
) -> None:
    """What a benchmark does without, it may do otherwise with."""
    text = "-include local.mk\n[ -f ./run.rc ] && . './run.rc'; load(\"data/cases.txt\", rc)\n"
    project.commit("Base", **{script: text, "work.py": "open('index.bin')\n"})
    spoken = ["run.rc", "sub/local.mk", "sub/data/cases.txt"]
    paths = [*spoken, "index.bin", "rc", "other/cases.txt"]
    assert standing(project, command, *paths) == sorted(spoken)


def test_a_variable_with_folders_below_the_one_that_a_command_runs_in(project: Repository) -> None:
    base = project.commit("Base", **{"run.py": ""})
    commit = project.commit("Change", **{"lib/json.py": ""})
    repository = Project.find(project.root)
    files = changed_files(repository, base, commit)
    settings = {"job": [{"cmd": "python run.py", "env": {"PYTHONPATH": "$PWD/lib"}}]}
    assert shadows(repository, base, files, settings) == ["lib/json.py"]


def test_what_python_compiled_is_never_the_candidates(project: Repository) -> None:
    project.commit("Base", **{"test_x.py": "", "lib/work.py": ""})
    compiled = ["__pycache__/test_x.cpython-311.pyc", "lib/__pycache__/work.cpython-311.pyc"]
    assert standing(project, "python -m unittest test_x", *compiled) == compiled


def test_benchmarks_are_the_bases_however_many_files_change(
    project: Repository, tmp_path: Path
) -> None:
    paths = [f"bench/{number:04}.py" for number in range(1002)]
    base = project.commit("Base", **dict.fromkeys(paths, "1\n"), **{"work.py": "1\n"})
    commit = project.commit("Change", **dict.fromkeys(paths, "2\n"), **{"work.py": "2\n"})
    target = Target(commit, "change")
    with laid_out(
        Project.find(project.root), base, target, job("python bench/0000.py"), tmp_path / "place"
    ) as candidate:
        assert sorted(candidate.restored) == paths
        assert (candidate.folder / paths[-1]).read_text() == "1\n"
        assert (candidate.folder / "work.py").read_text() == "2\n"


def test_a_hidden_file_is_not_written_where_a_link_leads(tmp_path: Path) -> None:
    hidden, outside, folder = tmp_path / "input.txt", tmp_path / "outside", tmp_path / "copy"
    hidden.write_text("hidden\n")
    outside.mkdir()
    (outside / "input.txt").write_text("mine\n")
    folder.mkdir()
    (folder / "input.txt").symlink_to(outside / "input.txt")
    HiddenFiles(tmp_path / "project", [hidden]).lay(folder)
    assert (folder / "input.txt").read_text() == "hidden\n"
    (folder / "data").symlink_to(outside)
    for name in ("input.txt", "deeper/input.txt"):
        inside = tmp_path / "project/data" / name
        inside.parent.mkdir(parents=True, exist_ok=True)
        inside.write_text("hidden\n")
        with pytest.raises(CollectError, match="leads out of the checkout"):
            HiddenFiles(tmp_path / "project", [inside]).lay(folder)
    assert [path.name for path in outside.iterdir()] == ["input.txt"]
    assert (outside / "input.txt").read_text() == "mine\n"


def test_a_file_that_measures_and_is_changed_with_its_size_and_time_kept(tmp_path: Path) -> None:
    laid, base, copy = (tmp_path / name for name in ("laid", "base", "copy"))
    for folder in (laid, base, copy):
        folder.mkdir()
        (folder / "bench.py").write_text("size = 9\n")
    candidate: Any = SimpleNamespace(folder=laid, measuring=["bench.py"], changed=[], restored=[])
    assert replaced(candidate, base, copy) == []
    before = (copy / "bench.py").stat()
    (copy / "bench.py").write_text("size = 1\n")
    os.utime(copy / "bench.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert replaced(candidate, base, copy) == ["bench.py"]


def test_a_difference_names_a_thousand_files_and_counts_the_others() -> None:
    files = [ChangedFile(f"bench/{number:04}.py", "M", "") for number in range(1002)]
    assert len(by_kind({}, {}, files, Links())["benchmark"]) == len(files)
    (difference,) = of_files({}, {}, files)
    assert isinstance(difference, Difference)
    assert (len(difference.files), difference.more) == (1000, 2)


@pytest.mark.parametrize(
    ("command", "path", "expected"),
    [
        ("python run.py --go", "go.mod", False),
        ("./target/release/go-tool run", "go.mod", False),
        ("./bench --task sort", "Taskfile.yml", False),
        ("./bench task", "Taskfile.yml", False),
        ("python make.py", "Makefile", False),
        ("./make-index data", "Makefile", False),
        ("node bench.js", "package.json", False),
        ("node --run bench", "package.json", True),
        ("node .", "package.json", True),
        ("npm run bench", "package.json", True),
        ("go run .", "go.mod", True),
        ("sh -c 'cd x && make bench'", "Makefile", True),
        ("env A=a/b nice -n 5 /usr/bin/make bench", "Makefile", True),
        ("env -C a/b make bench", "Makefile", True),
        ("./prepare; make bench", "Makefile", True),
        ("./prepare\nmake bench", "Makefile", True),
        ("./gradlew test", "sub/build.gradle", True),
        ("python -m pytest", "setup.cfg", True),
    ],
)
def test_a_tool_decides_where_the_command_starts_it(
    command: str, path: str, expected: bool
) -> None:
    assert decides(job(command), path) is expected


def test_commands_in_words_that_no_shell_would_split() -> None:
    assert [each.program for each in started("make 'bench")] == ["make", "'bench"]
    assert [*started("")] == [] == [*entered("cd")]


class TestScriptsOfNode:
    def test_a_name_that_no_file_can_have(self, tmp_path: Path) -> None:
        assert not is_there(tmp_path, "node 'a\0b.js'")
        assert direct({"bench": "node a\0b.js"}, "bench", ()) == ""
        assert not is_there(tmp_path, f"node {'a' * 300}.js")

    def test_one_outside_of_the_project(self, tmp_path: Path) -> None:
        (tmp_path / "b.js").touch()
        project = tmp_path / "project"
        project.mkdir()
        assert not is_there(project, "node ../b.js")
        assert not is_there(project, f"node {tmp_path / 'b.js'}")

    def test_a_folder_with_a_package_in_it(self, tmp_path: Path) -> None:
        for name in (".", "lib"):
            folder = tmp_path / name
            folder.mkdir(exist_ok=True)
            assert not is_there(tmp_path, f"node {name}")
            (folder / "package.json").touch()
            assert is_there(tmp_path, f"node {name}")


@pytest.mark.parametrize(
    ("links", "said"),
    [(["a"], "a leads out of the project"), (["a", "b"], "a, b lead out of the project")],
)
def test_links_that_lead_out_are_counted(links: list[str], said: str) -> None:
    candidate: Any = SimpleNamespace(restored=[], absent=[], kept=[], deciding=[], leaving=links)
    check = examine(Seen(candidate, [], [], Trust()))["links"]
    assert (check.word, check.said) == ("rejected", said)
