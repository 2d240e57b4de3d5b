import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project as Tree
from conftest import Said

from perfvcs.git.changes import WorkingChanges
from perfvcs.git.project import Project
from perfvcs.git.worktree import CheckoutError, checkout, remove
from perfvcs.repository import Repository


def place(project: Tree) -> Path:
    return project.root / ".perf" / "worktrees" / "one"


def test_a_revision_is_checked_out_and_taken_away(project: Tree) -> None:
    project.write("spaces and ü/file", "old")
    old = project.commit()
    project.write("spaces and ü/file", "new")
    project.commit()
    with checkout(Project.find(), old, place(project)) as folder:
        assert (folder / "spaces and ü" / "file").read_text() == "old"
    assert not place(project).exists()
    assert len(project.git("worktree", "list").splitlines()) == 1


def test_it_is_taken_away_after_an_error_even_with_read_only_folders_in_it(project: Tree) -> None:
    commit = project.commit(file="x")
    with (
        pytest.raises(KeyboardInterrupt),
        checkout(Project.find(), commit, place(project)) as folder,
    ):
        (folder / "built").mkdir()
        (folder / "built" / "file").touch()
        (folder / "built").chmod(0o500)
        raise KeyboardInterrupt
    assert not place(project).exists()


def test_changes_of_the_working_tree_come_on_top(project: Tree) -> None:
    project.write("changed", "1")
    project.write("deleted", "1")
    commit = project.commit()
    project.write("changed", "2")
    project.write("new/er", "3", executable=True)
    (project.root / "deleted").unlink()
    (project.root / "link").symlink_to("changed")
    with checkout(
        Project.find(), commit, place(project), changes=WorkingChanges(Project.find())
    ) as folder:
        assert (folder / "changed").read_text() == "2"
        assert (folder / "new" / "er").stat().st_mode & 0o100
        assert not (folder / "deleted").exists()
        assert (folder / "link").is_symlink()


def test_a_file_may_have_become_a_folder_and_a_folder_a_file(project: Tree) -> None:
    project.write("folder/file", "1")
    commit = project.commit(file="1")
    for gone in ("folder/file", "file"):
        (project.root / gone).unlink()
    (project.root / "folder").rmdir()
    project.write("folder", "2")
    project.write("file/file", "2")
    with checkout(
        Project.find(), commit, place(project), changes=WorkingChanges(Project.find())
    ) as folder:
        assert (folder / "folder").read_text() == (folder / "file" / "file").read_text() == "2"


def test_submodules_come_with_it_from_the_copies_that_are_there(
    project: Tree, tmp_path: Path
) -> None:
    inner, outer = Tree(tmp_path / "inner"), Tree(tmp_path / "outer")
    inner.commit(deep="d")
    for parent, child in ((outer, inner), (project, outer)):
        parent.git(
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            str(child.root),
            "sub module",
        )
        parent.commit()
    project.git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "update",
        "--init",
        "--recursive",
    )
    for gone in (inner, outer):
        gone.root.rename(gone.root.with_name(f"moved {gone.root.name}"))
    with checkout(Project.find(), project.git("rev-parse", "HEAD"), place(project)) as folder:
        assert (folder / "sub module" / "sub module" / "deep").read_text() == "d"
    assert project.git("submodule", "status")[0] != "-", (
        "the project's own submodule is left as it was"
    )


ALLOW = ("-c", "protocol.file.allow=always")


def state_of_git(project: Tree) -> dict[str, bytes]:
    """Everything below .git but the objects and the index, which git touches as it looks."""
    files = [
        path
        for path in (project.root / ".git").rglob("*")
        if path.is_file() and path.name != "index"
    ]
    return {str(path): path.read_bytes() for path in files}


def with_submodules(project: Tree, tmp_path: Path, *paths: str) -> str:
    """A commit with a submodule of its own at each path."""
    for number, path in enumerate(paths):
        other = Tree(tmp_path / f"other {number}")
        other.commit(deep=f"{number}")
        project.git(
            *ALLOW,
            "submodule",
            "--quiet",
            "add",
            "--name",
            f"name=of {number}",
            str(other.root),
            path,
        )
    return project.commit()


def test_measuring_changes_nothing_in_git_s_folder(project: Tree, tmp_path: Path) -> None:
    commit = with_submodules(project, tmp_path, "one", "two [x] *")
    for number in (0, 1):  # as in a fresh clone
        project.git("config", "--remove-section", f"submodule.name=of {number}")
    before = state_of_git(project)
    with checkout(Project.find(), commit, place(project)) as folder:
        assert [(folder / name / "deep").read_text() for name in ("one", "two [x] *")] == ["0", "1"]
    assert state_of_git(project) == before
    assert "submodule" not in (project.root / ".git" / "config").read_text()


def test_a_submodule_that_cannot_be_had_stays_empty_with_a_note(
    project: Tree, tmp_path: Path
) -> None:
    commit = with_submodules(project, tmp_path, "gone", "there")
    shutil.rmtree(project.root / ".git" / "modules" / "name=of 0")
    (tmp_path / "other 0").rename(tmp_path / "elsewhere")
    before, notes = state_of_git(project), list[str]()
    with checkout(Project.find(), commit, place(project), notes=notes) as folder:
        assert list((folder / "gone").iterdir()) == []
        assert (folder / "there" / "deep").exists()
    assert state_of_git(project) == before
    (note,) = notes
    assert note.startswith("submodule `gone` is left empty (git submodule failed: ")
    assert "`submodules` in perf.toml" in note


def test_only_the_submodules_that_are_wanted_are_fetched(project: Tree, tmp_path: Path) -> None:
    commit = with_submodules(project, tmp_path, "one", "two")
    notes: list[str] = []
    with checkout(
        Project.find(), commit, place(project), wanted=("two", "three"), notes=notes
    ) as folder:
        assert [name for name in ("one", "two") if (folder / name / "deep").exists()] == ["two"]
    assert [note.partition(":")[0] for note in notes] == [
        "submodule `three` is left empty (this revision has no such submodule)"
    ]
    with checkout(Project.find(), commit, place(project), wanted=False, notes=notes) as folder:
        assert not (folder / "two" / "deep").exists()
    assert len(notes) == 1


def test_submodules_that_came_and_went_and_moved_are_those_of_the_revision(
    project: Tree, tmp_path: Path
) -> None:
    first = with_submodules(project, tmp_path, "old place")
    project.git("mv", "old place", "new place")
    moved = project.commit()
    project.git("rm", "--quiet", "new place")
    none = project.commit()
    seen = {}
    for commit in (first, moved, none):
        with checkout(Project.find(), commit, place(project)) as folder:
            seen[commit] = sorted(str(path.relative_to(folder)) for path in folder.glob("*/deep"))
    assert list(seen.values()) == [["old place/deep"], ["new place/deep"], []]


def test_a_relative_address_is_that_beside_the_remote(
    project: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Tree(tmp_path / "beside")
    other.commit(deep="x")
    project.git("remote", "add", "origin", str(tmp_path / "project.git"))
    project.git(*ALLOW, "submodule", "--quiet", "add", "../beside", "sub")
    commit = project.commit()
    shutil.rmtree(project.root / ".git" / "modules")
    # git itself refuses such addresses unless its user allows them
    settings = tmp_path / "gitconfig"
    settings.write_text('[protocol "file"]\n\tallow = always\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    notes: list[str] = []
    with checkout(Project.find(), commit, place(project), notes=notes) as folder:
        assert (folder / "sub" / "deep").exists(), notes


@pytest.mark.parametrize(
    ("name", "path", "url"),
    [
        ("../../escape", "sub", "{other}"),
        ("sub", "sub", "ext::sh -c 'touch {marker}'"),
        ("sub", "sub", "--upload-pack=touch {marker}"),
        ("sub", "sub", "file://{other}"),
        ("sub", "../outside", "{other}"),
        ("sub", "/etc", "{other}"),
        ("s\nub", "sub", "{other}"),
    ],
)
def test_hostile_submodules_are_left_empty(
    project: Tree, tmp_path: Path, name: str, path: str, url: str
) -> None:
    other, marker = Tree(tmp_path / "other"), tmp_path / "marker"
    head = other.commit(deep="x")
    given = url.format(other=other.root, marker=marker)
    project.write(".gitmodules", f'[submodule "{name}"]\n\tpath = {path}\n\turl = "{given}"\n')
    project.git("update-index", "--add", "--cacheinfo", f"160000,{head},sub")
    commit = project.commit()
    before, outside = state_of_git(project), sorted(tmp_path.iterdir())
    with checkout(Project.find(), commit, place(project)) as folder:
        assert not any((folder / "sub").glob("*"))
    assert state_of_git(project) == before
    assert sorted(tmp_path.iterdir()) == outside


def test_pointers_of_git_lfs_are_noted(project: Tree) -> None:
    project.write(".gitattributes", "*.bin filter=lfs -text\n")
    project.write(
        "large.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    )
    project.write("small.bin", "itself")
    commit, notes = project.commit(), list[str]()
    with checkout(Project.find(), commit, place(project), notes=notes):
        pass
    assert [note.partition(" there ")[0] for note in notes] == ["of 1 file such as 'large.bin'"]


def test_a_filter_whose_program_is_missing_is_named(project: Tree) -> None:
    project.write(".gitattributes", "*.bin filter=lfs -text\n")
    project.write(
        "large.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    )
    commit = project.commit()
    project.git("config", "filter.lfs.required", "true")
    for setting, command in (
        ("smudge", "git-lfs-none smudge"),
        ("process", "git-lfs-none filter-process"),
    ):
        project.git("config", f"filter.lfs.{setting}", command)
        missing = pytest.raises(
            CheckoutError, match="filter files by `git-lfs-none`, which is not there"
        )
        with missing, checkout(Project.find(), commit, place(project)):
            pass


def test_a_hook_of_the_project_is_not_run(project: Tree) -> None:
    commit = project.commit()
    hook = project.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch ran\n", executable=True)
    with checkout(Project.find(), commit, place(project)) as folder:
        assert not (folder / "ran").exists()
    assert hook.exists()


def test_what_a_crash_left_is_removed_and_other_worktrees_stay(
    project: Tree, tmp_path: Path
) -> None:
    project.commit()
    project.git("worktree", "add", "--quiet", str(tmp_path / "theirs"))
    project.git("worktree", "add", "--quiet", "--detach", str(place(project)))
    (place(project) / ".git").unlink()
    (tmp_path / "theirs").rename(tmp_path / "unmounted")
    remove(Project.find(), place(project))
    listed = project.git("worktree", "list")
    assert str(place(project)) not in listed
    assert "theirs" in listed


def test_what_git_left_of_a_worktree_that_is_gone_is_forgotten_by_the_next_command(
    project: Tree, tmp_path: Path, perf: Callable[..., Said]
) -> None:
    project.commit()
    Repository.find(create=True)
    for folder in (place(project), tmp_path / "theirs"):
        project.git("worktree", "add", "--quiet", "--detach", str(folder))
    shutil.rmtree(place(project))  # killed before git had removed its record
    unfinished, young = (
        project.root / ".git" / "worktrees" / name for name in ("unfinished", "young")
    )
    for record in (unfinished, young):
        record.mkdir()
    os.utime(unfinished, (0, 0))
    for number, files in enumerate([(), ("locked",), ("locked", "gitdir")]):
        begun = unfinished.with_name(f"0123456789ab-0-{number}")
        begun.mkdir()
        for name in files:  # in git's order, each before anything was written to it
            (begun / name).touch()
    perf("log")
    assert sorted(record.name for record in unfinished.parent.iterdir()) == ["theirs", "young"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_a_worktree_is_taken_away_leaves_nothing(
    project: Tree, number: signal.Signals
) -> None:
    commit = project.commit()
    script = f"""
import os, shutil
from pathlib import Path
from perfvcs.system import interruption
from perfvcs.git import worktree
from perfvcs.git.project import Project
usual = Project.git
def interrupted(self, *words, **rest):
    if words[:2] == ("worktree", "remove"):
        os.kill(os.getpid(), {int(number)})
    return usual(self, *words, **rest)
Project.git = interrupted
interruption.begin()
interruption.unwind()
try:
    with worktree.checkout(Project.find(), {commit!r}, Path({str(place(project))!r})):
        pass
finally:
    interruption.end()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 128 + number, done.stderr
    assert not place(project).exists()
    assert len(project.git("worktree", "list").splitlines()) == 1


def test_bytes_that_are_not_utf_8_may_stand_in_paths_and_in_files_of_git(
    project: Tree, tmp_path: Path
) -> None:
    project.configure('cmd = "true"')
    project.commit()
    project.commit()
    linked = Path(os.fsdecode(os.fsencode(tmp_path) + b"/linked-\xe9\n"))
    project.git("worktree", "add", "--quiet", "--detach", str(linked))
    excluded = project.root / ".git" / "info" / "exclude"
    excluded.write_bytes(b"caf\xe9\n")
    command = [sys.executable, "-P", "-m", "perfvcs", "collect", "--quiet", "HEAD~1", "HEAD"]
    done = subprocess.run(command, cwd=linked, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert excluded.read_bytes().startswith(b"caf\xe9\n/.perf")
    assert len(list((project.root / ".git" / "worktrees").iterdir())) == 1
    assert list((project.root / ".perf" / "worktrees").glob("*")) == []
