"""What the working tree changes against HEAD, its hash, and what becomes of profiles when it is
committed.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from conftest import Perf
from conftest import Project as Tree
from histories import stored

from perfvcs.git import changes
from perfvcs.git.changes import LARGE_FILE, MOST_CHANGED_BYTES, WorkingChanges, difference
from perfvcs.git.project import Project
from perfvcs.git.worktree import CheckoutError, checkout
from perfvcs.repository import Repository

HUGE = 1 << 36  # bytes: nobody can read that many in the time of a test


def hashed() -> str | None:
    return WorkingChanges(Project.find()).hash()


def listed() -> list[str]:
    return WorkingChanges(Project.find()).files()


def sized(path: Path, size: int) -> Path:
    """A file without data."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.truncate(path, size)
    return path


def test_a_clean_tree_is_not_dirty_and_ignored_files_do_not_count(project: Tree) -> None:
    project.write(".gitignore", "ignored\n")
    project.commit()
    project.write("ignored", "x")
    assert hashed() is None


def test_the_hash_of_changes_is_that_of_the_commit_which_makes_them(project: Tree) -> None:
    project.write("kept", "1")
    project.write("gone", "1")
    project.commit("base")
    project.write("kept", "2")
    project.write("new file – ü", "3")
    (project.root / "gone").unlink()
    found = Project.find()
    before = WorkingChanges(found).hash()
    assert before is not None
    assert project.git("diff", "--cached", "--name-only") == "", "the index is left as it was"
    project.commit("the same changes")
    assert difference(found, "HEAD~1", "HEAD") == before
    assert difference(found, "HEAD", "HEAD") is None


def test_two_different_changes_have_different_hashes(project: Tree) -> None:
    project.commit(file="1")
    project.write("file", "2")
    first = hashed()
    project.write("file", "3")
    assert first != hashed()


def test_a_repository_that_lies_in_the_tree_is_not_one_of_its_changes(project: Tree) -> None:
    project.commit(file="x")
    Tree(project.root / "without commits").write("file", "x")
    Tree(project.root / "with one").commit(file="x")
    assert hashed() is None


def test_names_of_files_may_hold_line_ends(project: Tree) -> None:
    project.commit(file="x")
    for name in ("a\nb", "a\rb", "a\r\nb"):
        project.write(name, "y")
    changes = hashed()
    assert sorted(listed()) == ["a\nb", "a\r\nb", "a\rb"]
    assert changes == difference(Project.find(), "HEAD^", project.commit())


def test_a_sparse_checkout_has_the_changes_of_what_it_holds_and_of_what_it_does_not(
    project: Tree,
) -> None:
    project.write("in/file", "x")
    project.write("out/file", "x")
    project.commit()
    project.git("sparse-checkout", "set", "in")
    assert hashed() is None
    project.write("out/new", "y")
    assert listed() == ["out/new"]
    assert hashed()


def test_what_was_staged_and_taken_back_is_no_change(project: Tree) -> None:
    project.commit(file="x")
    project.write("new", "y")
    project.git("add", "new")
    (project.root / "new").unlink()
    assert hashed() is None


def test_staged_and_taken_back_is_no_change_but_staged_and_changed_again_is(
    project: Tree, perf: Perf
) -> None:
    project.commit(file="x")
    perf("init")
    project.git("add", "--all")
    project.commit("perf.toml")
    project.write("file", "y")
    project.git("add", "file")
    project.write("file", "x")
    assert "uncommitted" not in perf("status").out
    project.write("file", "z")
    assert "uncommitted" in perf("status").out


def test_a_submodule_is_its_commit(project: Tree, tmp_path: Path) -> None:
    other = Tree(tmp_path / "other")
    other.commit(file="x")
    project.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.root), "sub"
    )
    project.commit()
    project.write("sub/file", "y")
    assert hashed() is None
    project.git("-C", "sub", "commit", "--quiet", "--all", "--message", "y")
    before = hashed()
    assert before == difference(Project.find(), "HEAD^", project.commit())


def test_a_small_file_counts_by_its_content(project: Tree) -> None:
    project.commit()
    path = project.write("data", "x" * LARGE_FILE)
    before = hashed()
    os.utime(path, ns=(0, 0))
    assert hashed() == before


def test_a_large_file_is_not_read_and_counts_by_its_times(project: Tree) -> None:
    project.commit()
    path = sized(project.root / "data", HUGE)
    before = hashed()
    assert before == hashed()
    state = path.stat()
    with path.open("r+b") as file:
        file.write(b"x")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (state.st_size, state.st_mtime_ns)
    assert hashed() != before, "the time of the last change cannot be put back"


def test_a_tracked_file_that_grew_large_is_not_read_either(project: Tree) -> None:
    project.commit(data="x")
    sized(project.root / "data", HUGE)
    assert hashed() == hashed() is not None


def test_many_files_that_are_large_together_are_not_read(project: Tree) -> None:
    project.commit()
    paths = [
        sized(project.root / "data" / str(number), LARGE_FILE)
        for number in range(MOST_CHANGED_BYTES // LARGE_FILE + 1)
    ]
    before = hashed()
    os.utime(paths[0], ns=(0, 0))
    assert hashed() != before
    paths[0].unlink()
    before = hashed()
    os.utime(paths[1], ns=(0, 0))
    assert hashed() == before, "there is one fewer, and all are read"


def test_a_large_file_that_is_just_being_changed_equals_nothing(
    project: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.commit()
    now = sized(project.root / "data", 2 * LARGE_FILE).stat().st_ctime_ns
    ticks = iter(range(now, now + 1000))
    monkeypatch.setattr(changes.time, "time_ns", lambda: next(ticks))
    assert hashed() != hashed()


def test_what_is_no_file_is_not_opened(project: Tree) -> None:
    project.commit(file="x")
    os.mkfifo(project.root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert hashed() is None
    (project.root / "file").unlink()
    os.mkfifo(project.root / "file")
    assert hashed() == hashed() is not None


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_a_change_and_a_checkout_needs_it_ignored(
    project: Tree,
) -> None:
    commit = project.commit()
    project.write("secret", "x").chmod(0)
    assert hashed() == hashed() is not None
    with (
        pytest.raises(CheckoutError, match=r"secret cannot be copied: Permission denied.*ignore"),
        checkout(
            Project.find(),
            commit,
            project.root / ".perf" / "worktrees" / "one",
            changes=WorkingChanges(Project.find()),
        ),
    ):
        pass


def test_large_changes_measured_before_the_commit_belong_to_it_afterwards(
    project: Tree, perf: Perf
) -> None:
    project.configure('cmd = "test -s data"')
    base = project.commit("base", script="1")
    project.write("script", "2")
    project.write("data", "y" * 2 * LARGE_FILE)
    perf("collect")
    head = project.commit("the change")
    assert "measured  work" in perf("status").out
    perf("collect", "--missing")
    assert stored(base) == []
    assert [(one.commit, one.dirty) for one in stored(head)] == [(head, None)]


def test_many_changes_measured_before_the_commit_belong_to_it_afterwards(
    project: Tree, perf: Perf
) -> None:
    project.configure('cmd = "true"')
    base = project.commit("base")
    for number in range(20):
        sized(project.root / "data" / str(number), LARGE_FILE)
    perf("collect")
    project.commit("the data")
    assert "measured  work" in perf("status").out
    perf("collect", "--missing")
    assert stored(base) == []


def test_a_large_file_that_was_written_again_before_the_commit_is_not_what_was_measured(
    project: Tree, perf: Perf
) -> None:
    project.configure('cmd = "true"')
    base = project.commit("base")
    path = project.write("data", "y" * 2 * LARGE_FILE)
    state = path.stat()
    perf("collect")
    path.write_text("z" * 2 * LARGE_FILE)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    project.commit("other data")
    assert "missing   work" in perf("status").out
    assert stored(base)[0].dirty


def test_a_commit_of_what_was_staged_before_is_not_what_was_measured(
    project: Tree, perf: Perf
) -> None:
    project.configure('cmd = "true"')
    base = project.commit("base")
    project.write("data", "y" * 2 * LARGE_FILE)
    project.git("add", "data")
    project.write("data", "z" * 2 * LARGE_FILE)
    perf("collect")
    project.git("commit", "--quiet", "--message", "the staged data")
    assert "missing   work" in perf("status").out
    assert stored(base)[0].dirty


def test_files_that_no_job_sees_are_not_changes(project: Tree, perf: Perf) -> None:
    project.configure('cmd = "true"', top='dirty = { ignore = ["scratch/", "*.log", "!kept.log"] }')
    head = project.commit(file="x")
    perf("init")
    project.write("scratch/notes", "x")
    project.write("deep/er/run.log", "x")
    assert "uncommitted" not in perf("status").out
    perf("collect")
    assert stored(head)[0].dirty is None
    project.write("deep/kept.log", "x")
    assert Repository.find().changes.files() == ["deep/kept.log"]
    assert "uncommitted" in perf("status").out


def test_a_tracked_file_counts_even_if_its_pattern_is_ignored(project: Tree, perf: Perf) -> None:
    project.configure('cmd = "true"', top='dirty = { ignore = ["*"] }')
    project.commit(file="x")
    perf("init")
    project.write("file", "y")
    project.write("other", "y")
    assert Repository.find().changes.files() == ["file"]


def test_ignored_files_are_not_copied_for_several_revisions(project: Tree, perf: Perf) -> None:
    project.configure('cmd = "sh work.sh"', top='dirty = { ignore = ["scratch/"] }')
    project.commit("one", **{"work.sh": "true"})
    project.commit("two", **{"work.sh": "true; true"})
    project.write("work.sh", "test -e data && test ! -e scratch")
    project.write("data", "x")
    sized(project.root / "scratch" / "image", HUGE)
    perf("collect", "HEAD~1", "HEAD", code=0)
    assert stored()[0].dirty


def test_one_command_without_jobs_ignores_the_same_files(project: Tree, perf: Perf) -> None:
    project.configure('cmd = "true"', top='dirty = { ignore = ["scratch"] }')
    project.commit("one")
    project.commit("two", file="x")
    project.write("scratch", "x")
    project.write("data", "x")
    perf("collect", "HEAD~1", "HEAD", "--", "sh", "-c", "test ! -e scratch")
    assert [one.dirty is None for one in (*stored("HEAD~1"), *stored())] == [True, False]


def test_status_with_a_broken_perf_toml_says_what_is_wrong_with_it(
    project: Tree, perf: Perf
) -> None:
    project.configure('cmd = "true"')
    project.commit()
    perf("init")
    project.configure('cmd = "true"', top="dirty = { ignores = [] }")
    assert "there is no key `ignores`; did you mean `ignore`?" in perf("status").out
    project.configure('cmd = "true"', top=f'dirty = {{ ignore = ["{"x" * 40_000}"] }}')
    assert "write patterns such as" in perf("status").out


def test_holes_of_a_large_file_are_not_filled_when_it_is_copied(project: Tree) -> None:
    commit = project.commit()
    path = sized(project.root / "image", 1 << 30)
    with path.open("r+b") as file:
        file.write(b"begin")
    place = project.root / ".perf" / "worktrees" / "one"
    with checkout(Project.find(), commit, place, changes=WorkingChanges(Project.find())) as folder:
        copy = folder / "image"
        assert copy.stat().st_size == 1 << 30
        assert copy.stat().st_blocks * 512 < 10 * LARGE_FILE
        with copy.open("rb") as file:
            assert file.read(6) == b"begin\0"
        copy.write_bytes(b"changed by a build")
    assert path.stat().st_size == 1 << 30, "the copy is not the file itself"


def test_what_changes_while_it_is_copied_is_not_stored_as_what_was_there_before(
    project: Tree, perf: Perf
) -> None:
    project.configure('cmd = "true"')
    project.write(".gitattributes", "slow filter=slow")
    project.commit("one", slow="x", file="x")
    project.commit("two", other="x")
    project.write("file", "y")
    project.git("config", "filter.slow.smudge", f"echo more >> '{project.root}/file'; cat")
    said = perf("collect", "HEAD~1", "HEAD", code=5)
    assert "the working tree changed while it was copied" in said.err + said.out
    assert stored() == []
    assert stored("HEAD~1") != []


@pytest.mark.parametrize("folder", [".cache/clangd/index", ".ccls-cache", ".metals"])
def test_what_a_language_server_keeps_in_the_tree_is_no_change(project: Tree, folder: str) -> None:
    """It changes while somebody reads the code, so that no profile would ever fit."""
    project.commit(kept="1")
    project.write(f"{folder}/a.idx", "1")
    assert hashed() is None and listed() == []
    project.write(f"src/{folder}/a.idx", "1")
    project.git("add", f"{folder}/a.idx")
    assert sorted(listed()) == sorted([f"{folder}/a.idx", f"src/{folder}/a.idx"])
