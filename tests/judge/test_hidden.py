"""A hidden file that no execution reads shows nothing, and the answer says so."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Perf
from conftest import Project as Repository
from judged import HARMLESS, SETTINGS, WORK

from perfvcs.git.project import Project
from perfvcs.judge.correctness import HiddenFiles
from perfvcs.judge.guardcheck import GuardCheck
from perfvcs.judge.plain import BASE
from perfvcs.launcher.namespaces import lacking

TARGET = 1
READS = (
    "import pathlib\nimport work\n\nprint(work.total(int(pathlib.Path('size.txt').read_text())))\n"
)
LAID = "size.txt, which --hidden laid over both sides"


class Copies:
    """Hidden files in the copies of both sides, as executions find them."""

    def __init__(self, project: Repository, *names: str) -> None:
        self.project, self.folders = project, [project.root / "base", project.root / "target"]
        outside = project.root.parent / "hidden"
        outside.mkdir()
        for name in names:
            (outside / name).write_text("9\n")
        self.hidden = HiddenFiles(project.root, [outside / name for name in names])
        for folder in self.folders:
            folder.mkdir()
            self.hidden.lay(folder)

    def execute(self, position: int, *names: str) -> None:
        folder = self.folders[position]
        self.hidden.begin(position, folder)
        for name in names:
            (folder / name).read_bytes()
        self.hidden.end(position, folder)

    def check(self, command: str = "./bench") -> GuardCheck:
        base = self.project.git("rev-parse", "HEAD")
        table = {"job": [{"name": "x", "cmd": command}]}
        candidate: Any = SimpleNamespace(base=base, table=table)
        return self.hidden.check(Project.find(self.project.root), candidate, TARGET)


@pytest.fixture
def based(project: Repository) -> Repository:
    project.commit("Base", **{"bench.py": "read('input.txt')\n"})
    return project


def test_what_both_sides_read_is_nothing_to_say(based: Repository) -> None:
    copies = Copies(based, "size.txt", "data.bin")
    copies.execute(BASE, "size.txt")
    copies.execute(TARGET, "size.txt", "data.bin")
    copies.execute(BASE)
    copies.execute(BASE, "data.bin")
    assert copies.check() == GuardCheck()


def test_what_nobody_reads_is_named(based: Repository) -> None:
    copies = Copies(based, "size.txt", "data.bin")
    for position in (BASE, TARGET):
        copies.execute(position, "data.bin")
    said = f"no execution reads {LAID}: a job has to read it there"
    assert copies.check() == GuardCheck("warning", said)


def test_what_only_the_base_reads_proves_nothing(based: Repository) -> None:
    copies = Copies(based, "size.txt")
    copies.execute(BASE, "size.txt")
    copies.execute(TARGET)
    said = f"no execution of the target reads {LAID}, and those of the base do"
    assert copies.check() == GuardCheck("doubted", said)


def test_what_reads_it_between_executions_is_no_execution(based: Repository) -> None:
    copies = Copies(based, "size.txt")
    for position in (BASE, TARGET):
        (copies.folders[position] / "size.txt").read_bytes()
        copies.execute(position)
    assert copies.check().word == "warning"


def test_a_module_is_read_where_python_reads_what_it_compiled(based: Repository) -> None:
    copies = Copies(based, "cases.py")
    compiled = Path("__pycache__") / "cases.cpython-311.pyc"
    for position, folder in enumerate(copies.folders):
        (folder / "__pycache__").mkdir()
        (folder / compiled).write_text("")
        copies.execute(position, str(compiled))
    assert copies.check() == GuardCheck()


def test_a_file_that_an_execution_removes_was_noticed(based: Repository) -> None:
    copies = Copies(based, "size.txt")
    for position, folder in enumerate(copies.folders):
        copies.hidden.begin(position, folder)
        (folder / "size.txt").unlink()
        copies.hidden.end(position, folder)
    assert copies.check() == GuardCheck()


@pytest.mark.parametrize(
    ("name", "command", "word"),
    [
        ("input.txt", "python bench.py", "not tried"),
        ("size.txt", "./work size.txt", "not tried"),
        ("size.txt", "python bench.py", "warning"),
    ],
)
def test_where_reading_is_not_seen_what_jobs_name_is_said(
    based: Repository, monkeypatch: pytest.MonkeyPatch, name: str, command: str, word: str
) -> None:
    """On a file system that notes no access, as some are mounted."""
    status = Path.stat

    def unnoted(path: Path, **words: bool) -> Any:
        known = status(path, **words)
        return SimpleNamespace(st_atime_ns=0, st_mtime_ns=known.st_mtime_ns, st_mode=known.st_mode)

    monkeypatch.setattr(Path, "stat", unnoted)
    copies = Copies(based, name)
    for position in (BASE, TARGET):
        copies.execute(position, name)
    check = copies.check(command)
    assert check.word == word
    assert check.said.startswith("whether an execution reads what --hidden laid over both sides")
    assert (name in check.said) == (word == "warning")


@pytest.mark.parametrize(
    "options",
    [(), pytest.param(("--sandbox",), marks=pytest.mark.skipif(bool(lacking()), reason=lacking()))],
)
@pytest.mark.parametrize(
    ("bench", "word"),
    [(READS, "passed"), ("import work\n\nprint(work.total(300_000))\n", "warning")],
)
def test_what_a_judgement_says_of_a_hidden_file(
    project: Repository, perf: Perf, bench: str, word: str, options: tuple[str, ...]
) -> None:
    files = {"work.py": WORK, "bench_total.py": bench, "size.txt": "200000\n"}
    project.commit("Work", **files, **{"perf.toml": SETTINGS})
    project.write("work.py", HARMLESS)
    hidden = project.root.parent / "size.txt"
    hidden.write_text("300000\n")
    words = ("--hidden", str(hidden), "--budget", "15s", *options)
    document = perf("judge", *words, "--json", code=None).document
    assert document["guard"]["hidden"]["word"] == word
    assert document["cost"]["pairs"] > 0
    said = perf("judge", *words, code=None).out
    assert (f"no execution reads {LAID}" in said) == (word == "warning")
