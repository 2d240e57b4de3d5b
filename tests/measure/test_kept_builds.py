"""Builds are kept by what they are made from: a revision is built once, whatever happens to what is
kept.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import need
from disks import mounted

from perfvcs.git.worktree import CheckoutError
from perfvcs.measure import builds

BUILD = 'build = ["sh build.sh"]\n'
SCRIPT = (
    'echo built >> "$COUNT"\necho "echo $(cat source)" > prog\nchmod +x prog\nln -sf prog link\n'
)


@pytest.fixture
def built(project, tmp_path, monkeypatch):
    """A project of two commits whose builds are counted, in a function."""
    count = tmp_path / "count"
    count.touch()
    monkeypatch.setenv("COUNT", str(count))
    project.configure('cmd = "sh link"', top=BUILD)
    project.commit("one", **{"build.sh": SCRIPT, "source": "1"})
    project.commit("two", source="2")
    return lambda: len(count.read_text().splitlines())


def test_a_revision_is_built_once_however_often_it_is_measured(perf, built):
    perf("collect", "HEAD~1", "-q")
    assert built() == 1
    perf("collect", "HEAD~1", "HEAD", "-q")
    assert built() == 2
    perf("collect", "HEAD", "HEAD~1", "-q", "--committed")
    assert built() == 2


def test_the_same_files_in_another_commit_are_a_build_of_their_own_place(project, perf, built):
    project.commit("nothing changed")
    perf("collect", "HEAD~1", "HEAD", "-q", "--committed")
    assert built() == 2


def test_other_commands_and_other_variables_are_other_builds(project, perf, built):
    perf("collect", "HEAD~1", "-q")
    project.configure('cmd = "sh link"', top=BUILD + 'env = { LEVEL = "2" }\n')
    perf("collect", "HEAD~1", "-q")
    assert built() == 2
    project.configure('cmd = "sh link"', top='build = ["sh build.sh", "true"]\n')
    perf("collect", "HEAD~1", "-q")
    assert built() == 3


def test_repeated_builds_are_made_each_time(project, perf, built):
    project.configure('cmd = "sh link"\nbinaries = 2', top=BUILD)
    perf("collect", "HEAD~1", "-q")
    perf("collect", "HEAD~1", "-q")
    assert built() == 4


@pytest.mark.parametrize("damage", ["prog", "digest", "all"])
def test_a_build_that_was_damaged_is_made_again(project, perf, built, damage):
    perf("collect", "HEAD~1", "-q")
    (kept,) = (project.root / ".perf" / "builds").iterdir()
    if damage == "all":
        shutil.rmtree(kept / "tree")
    else:
        (kept / ("tree/prog" if damage == "prog" else "digest")).write_text("exit 7\n")
    perf("collect", "HEAD~1", "-q")
    assert built() == 2
    perf("collect", "HEAD~1", "-q")
    assert built() == 2


@pytest.mark.usefixtures("built")
def test_a_full_disk_keeps_nothing_and_measures(project, perf, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(builds.shutil, "copytree", full)
    perf("collect", "HEAD~1", "-q")
    assert not list((project.root / ".perf" / "builds").iterdir())
    monkeypatch.undo()


@pytest.mark.needs("mount")
def test_a_checkout_without_room_for_a_kept_build_says_so(tmp_path):
    built, disk = tmp_path / "built", tmp_path / "disk"
    built.mkdir()
    (built / "prog").write_bytes(bytes(400_000))
    kept = builds.Builds(tmp_path)
    kept.keep("key", built)
    reason = r"kept in .* cannot be copied: No space left on device$"
    with mounted(disk, "size=200k"), pytest.raises(CheckoutError, match=reason):
        kept.restore("key", disk)


@pytest.mark.usefixtures("built")
def test_only_so_many_builds_are_kept(project, perf, monkeypatch):
    monkeypatch.setattr(builds, "KEPT_BUILDS", 1)
    perf("collect", "HEAD~1", "-q")
    perf("collect", "HEAD", "-q", "--committed")
    assert len(list((project.root / ".perf" / "builds").iterdir())) == 1


@pytest.mark.usefixtures("built")
def test_what_is_larger_than_the_bound_is_not_kept(project, perf, monkeypatch):
    monkeypatch.setattr(builds, "LARGEST_BUILD", 10)
    perf("collect", "HEAD~1", "-q")
    assert not (project.root / ".perf" / "builds").exists()


MAKES = "prog: table.out\n\tcp table.out prog\ntable.out: table.in\n\tcp table.in table.out\n"


def test_a_build_makes_anew_what_depends_on_a_change_older_than_the_checkout(project, perf):
    need("make")
    project.configure('cmd = "sh prog"', top='build = ["make"]\n')
    project.write(".gitignore", "prog\n")
    # a product of the change's is tracked, too
    project.commit("one", Makefile=MAKES, **{"table.in": "echo one\n", "table.out": "echo one\n"})
    project.write("table.in", "echo two > ../../seen\n")
    os.utime("table.in", (1, 1))
    perf("collect", "-q")
    assert Path(".perf/seen").read_text() == "two\n"


def test_what_was_made_of_a_change_since_stays_newer(project, perf):
    need("make")
    project.configure('cmd = "sh prog"', top='build = ["make"]\n')
    project.write(".gitignore", "prog\n")
    project.commit("one", Makefile=MAKES, **{"table.in": "echo one\n", "table.out": "echo one\n"})
    for seconds, name in enumerate(("table.in", "table.out"), 1):
        project.write(name, f"echo {name} > ../../seen\n")
        os.utime(name, (seconds, seconds))
    perf("collect", "-q")
    assert Path(".perf/seen").read_text() == "table.out\n"


def test_an_object_that_git_does_not_know_is_made_anew(project, perf):
    need("make")
    project.configure('cmd = "sh prog"', top='build = ["make"]\n')
    project.commit(
        "one",
        Makefile=MAKES.replace("\n\tcp", "\n\techo made > ../../seen\n\tcp"),
        **{"table.in": "true\n"},
    )
    project.write("table.out", "true\n\0")
    project.write("other", "changed")
    perf("collect", "-q")
    assert Path(".perf/seen").read_text() == "made\n"


def test_a_tracked_program_that_the_build_leaves_is_named_each_time(project, perf):
    need("cc")
    project.write("prog.c", "int main(void) { return 0; }\n")
    subprocess.run(["cc", "-o", "prog", "prog.c"], check=True)
    project.configure('cmd = "./prog"', top='build = ["touch other"]\n')
    project.commit("one")
    for _ in range(2):
        warned = perf("collect", "HEAD", "--committed").flat
        assert (
            "the build leaves `prog` as it was committed: take it out of git (`git rm --cached"
            " prog`)" in warned
        )
