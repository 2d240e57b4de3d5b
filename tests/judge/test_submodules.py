"""A change that moves a submodule is measured with what it moves to, or not at all."""

from __future__ import annotations

import shutil
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


@pytest.fixture
def beside(project: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A project beside a library that is its submodule, of which it has no copy, as in a clone."""
    settings = tmp_path / "gitconfig"
    settings.write_text('[protocol "file"]\n\tallow = always\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    other = Repository(tmp_path / "library")
    other.commit("One", work="1")
    project.git("submodule", "--quiet", "add", "../library", "lib")
    project.commit("Base", **{"bench.py": ""})
    project.git("submodule", "deinit", "--quiet", "--force", "lib")
    shutil.rmtree(project.root / ".git" / "modules")
    return project


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"remote.origin.url": "../origin"},
        {"remote.origin.url": "https://example.invalid/x", "submodule.lib.url": "../library"},
    ],
)
def test_what_a_project_has_by_relative_addresses_both_sides_have(
    beside: Repository, settings: dict[str, str]
) -> None:
    for key, value in settings.items():
        beside.git("config", key, value)
    base = beside.git("rev-parse", "HEAD")
    target = beside.commit("Change", **{"bench.py": "1\n"})
    place, copy = (beside.root / ".perf" / name for name in ("candidate", "copy"))
    with (
        checkout(Project.find(), base, beside.root / ".perf" / "worktrees" / "one") as of_base,
        laid_out(Project.find(), base, Target(target), TABLE, place) as candidate,
        candidate.product.laid_out(copy) as of_target,
    ):
        for folder in (of_base, of_target):
            assert (folder / "lib" / "work").read_text() == "1"


def test_a_submodule_of_a_submodule_is_found_beside_it(beside: Repository, tmp_path: Path) -> None:
    """Its own address is relative to that of the one that it is in, not to the copy of this."""
    Repository(tmp_path / "inner").commit("Inner", deep="2")
    library = Repository(tmp_path / "library")
    library.git("submodule", "--quiet", "add", "../inner", "inner")
    library.commit("With another")
    beside.git("submodule", "--quiet", "update", "--init", "lib")
    beside.git("-C", "lib", "pull", "--quiet", "origin", "main")
    base = beside.commit("Moved")
    with checkout(Project.find(), base, beside.root / ".perf" / "worktrees" / "one") as folder:
        assert (folder / "lib" / "inner" / "deep").read_text() == "2"


def test_a_project_that_is_a_submodule_itself_is_judged(
    beside: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its git folder is elsewhere, and says where its working tree is."""
    beside.git("submodule", "--quiet", "update", "--init", "lib")
    inner = Repository(beside.root / "lib")
    assert inner.git("config", "core.worktree").startswith("../")
    base = inner.commit("Base", **{"work.py": ""})
    target = inner.commit("Change", **{"work.py": "1\n"})
    monkeypatch.chdir(inner.root)
    place, copy = (inner.root / ".perf" / name for name in ("candidate", "copy"))
    with (
        laid_out(Project.find(), base, Target(target), TABLE, place) as candidate,
        candidate.product.laid_out(copy) as folder,
    ):
        assert (folder / "work.py").read_text() == "1\n"
        assert not (inner.root / "work.py").samefile(folder / "work.py")


def test_objects_that_lie_in_another_repository_are_found(
    project: Repository, tmp_path: Path
) -> None:
    """By the relative path that the project has to it."""
    store = Repository(tmp_path / "store")
    base = store.commit("Base", **{"bench.py": "", "work.py": ""})
    target = store.commit("Change", **{"work.py": "1\n"})
    (project.root / ".git" / "objects" / "info").mkdir(exist_ok=True)
    alternates = project.root / ".git" / "objects" / "info" / "alternates"
    alternates.write_text("../../../store/.git/objects\n")
    project.git("update-ref", "HEAD", target)
    project.git("reset", "--quiet", "--hard")
    place, copy = (project.root / ".perf" / name for name in ("candidate", "copy"))
    with (
        laid_out(Project.find(), base, Target(target), TABLE, place) as candidate,
        candidate.product.laid_out(copy) as folder,
    ):
        assert (folder / "work.py").read_text() == "1\n"


def test_no_hook_of_a_candidate_runs(
    project: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user may have git look for hooks in a folder of each project."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[core]\n\thooksPath = hooks\n")
    base = project.commit("Base", **{"bench.py": "", "work.py": ""})
    for name in ("post-index-change", "post-checkout", "pre-commit"):
        ran = project.write(f"hooks/{name}", f"#!/bin/sh\necho >>{tmp_path}/ran\n", executable=True)
        assert ran.exists()
    target = project.commit("Change", **{"work.py": "1\n", "bench.py": "2\n"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    place, copy = (project.root / ".perf" / name for name in ("candidate", "copy"))
    with (
        laid_out(Project.find(), base, Target(target), TABLE, place) as candidate,
        candidate.product.laid_out(copy),
    ):
        assert candidate.restored == ["bench.py"]
    assert not (tmp_path / "ran").exists()
