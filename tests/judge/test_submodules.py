"""A change that moves a submodule is measured with what it moves to, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Project as Repository

from perfvcs.git.changes import WorkingChanges
from perfvcs.git.project import Project
from perfvcs.git.worktree import CheckoutError, checkout
from perfvcs.judge.candidate import Target, laid_out
from perfvcs.locate.blame.elsewhere import submodules

ALLOW = ("-c", "protocol.file.allow=always")
TABLE: dict[str, Any] = {"job": [{"name": "x", "cmd": "python bench.py"}]}


@pytest.fixture
def library(project: Repository, tmp_path: Path) -> tuple[str, str]:
    """A project with the submodule ``lib``, of which it has the first of two commits."""
    other = Repository(tmp_path / "other")
    first = other.commit("One", work="1")
    second = other.commit("Two", work="2")
    project.git(*ALLOW, "submodule", "--quiet", "add", str(other.root), "lib")
    project.git("-C", "lib", "checkout", "--quiet", first)
    project.commit("Base", **{"bench.py": ""})
    return first, second


def moving(project: Repository, commit: str, **files: str) -> Path:
    """A patch that moves the submodule and changes files; the working tree stays as it is."""
    for name, text in files.items():
        project.write(name, text)
    project.git("update-index", "--add", "--cacheinfo", f"160000,{commit},lib", *files)
    patch = project.root.parent / "change.patch"
    patch.write_text(project.git("diff", "--cached", "--submodule=short", "HEAD") + "\n")
    project.git("reset", "--quiet", "--hard")
    return patch


@pytest.mark.parametrize("files", [{}, {"more.py": "x\n"}])
def test_a_patch_brings_the_commit_that_it_moves_to(
    project: Repository, library: tuple[str, str], files: dict[str, str]
) -> None:
    patch = moving(project, library[1], **files)
    base = project.git("rev-parse", "HEAD").strip()
    place = project.root / ".perf" / "candidate"
    copy = project.root / ".perf" / "copy"
    with laid_out(Project.find(), base, Target(patch=patch), TABLE, place) as candidate:
        assert {*candidate.changed} == {"lib", *files}
        with candidate.product.laid_out(copy) as folder:
            assert (folder / "lib" / "work").read_text() == "2"


@pytest.mark.usefixtures("library")
def test_a_commit_that_is_nowhere_is_one_line_with_the_cure(project: Repository) -> None:
    patch = moving(project, "1" * 40)
    base = project.git("rev-parse", "HEAD").strip()
    said = r"^the change moves the submodule `lib`: .*`git submodule update --init` shows why"
    place = project.root / ".perf" / "candidate"
    with (
        pytest.raises(CheckoutError, match=said),
        laid_out(Project.find(), base, Target(patch=patch), TABLE, place),
    ):
        pass


def test_submodules_that_are_not_wanted_are_left_out_of_a_candidate(
    project: Repository, library: tuple[str, str]
) -> None:
    patch = moving(project, library[1], **{"more.py": "x\n"})
    base = project.git("rev-parse", "HEAD").strip()
    place = project.root / ".perf" / "candidate"
    table = {"submodules": False, **TABLE}
    with laid_out(Project.find(), base, Target(patch=patch), table, place):
        assert not list((place / "lib").iterdir())


@pytest.mark.parametrize("wanted", [False, ["other"], ["lib"]])
def test_one_that_moved_in_the_working_tree_comes_if_it_is_wanted(
    project: Repository, library: tuple[str, str], wanted: bool | list[str]
) -> None:
    project.git("-C", "lib", "checkout", "--quiet", library[1])
    project.write("more.py", "x\n")
    base = project.git("rev-parse", "HEAD").strip()
    target = Target(changes=WorkingChanges(Project.find()))
    place = project.root / ".perf" / "candidate"
    table = {"submodules": wanted, **TABLE}
    with laid_out(Project.find(), base, target, table, place):
        assert (place / "lib" / "work").exists() == (wanted == ["lib"])


def test_what_moved_is_said_by_blame(project: Repository, library: tuple[str, str]) -> None:
    project.git("-C", "lib", "checkout", "--quiet", library[1])
    project.commit("Moved")
    (line,) = submodules(Project.find(), "HEAD~1", "HEAD")
    old, new = (commit[:10] for commit in library)
    assert (
        line == f"submodule lib: {old} -> {new}; to see what changed: git -C lib diff {old} {new}"
    )
    assert submodules(Project.find(), "HEAD", "HEAD") == []


def test_git_writes_the_files_of_a_candidate_as_it_writes_those_of_the_base(
    project: Repository,
) -> None:
    base = project.commit("Base", **{"data": "small\n", "work.py": "", "other": "small\n"})
    project.git("config", "filter.grow.smudge", "sed s/small/large/")
    project.git("config", "filter.grow.clean", "sed s/large/small/")
    info = project.root / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text("data filter=grow\n")
    target = project.commit("Change", **{"work.py": "1\n"})
    place, copy = (project.root / ".perf" / name for name in ("candidate", "copy"))
    with (
        checkout(Project.find(), base, project.root / ".perf" / "worktrees" / "one") as of_base,
        laid_out(Project.find(), base, Target(target), TABLE, place) as candidate,
        candidate.product.laid_out(copy) as of_target,
    ):
        for folder in (of_base, of_target):
            assert (folder / "data").read_text() == "large\n"
            assert (folder / "other").read_text() == "small\n"
