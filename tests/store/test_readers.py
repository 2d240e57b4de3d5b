"""Commands that read leave the disk as it was; only the index, a cache, may follow."""

import hashlib
from pathlib import Path

import pytest
from conftest import Perf, Project
from samples import interleaved, noisy, sample_profile

from perfvcs.profile import Collected
from perfvcs.repository import Repository

CACHES = ("index.db", "steps.db")
LATER = Collected(
    "20261120T094500-000000", "2026-11-20T09:45:00Z", "2026-11-20T09:46:00Z", "perfvcs 0.1.0"
)


def contents(root: Path) -> dict[str, str]:
    """The digest of every file of a project, those of git and of .perf included, but for the
    caches.
    """
    files = (
        path for path in root.rglob("*") if path.is_file() and not path.name.startswith(CACHES)
    )
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("log",),
        ("history",),
        ("plan",),
        ("fsck",),
        ("show", "--text", "HEAD"),
        ("show", "--text", "HEAD~1", "HEAD"),
        ("export", "HEAD"),
    ],
    ids=" ".join,
)
def test_reading_leaves_the_disk_as_it_was(
    project: Project, perf: Perf, command: tuple[str, ...]
) -> None:
    one, two = project.commit(file="1"), project.commit(file="2")
    project.write("file", "3")
    repository = Repository.find(create=True)
    dirty = sample_profile(
        noisy(0.02), commit=two, dirty=repository.changes.hash(), collected=LATER
    )
    repository.store.add(
        [*interleaved([one, two], [noisy(0.01), noisy(0.02, seed=2)]), dirty], "test"
    )
    project.commit("what was measured before")
    perf("check", "HEAD~2", "HEAD~1", code=3)
    before = contents(project.root)
    perf(*command)
    assert contents(project.root) == before


def test_a_page_of_two_revisions_changes_no_verdict(project: Project, perf: Perf) -> None:
    commits = [project.commit(str(number)) for number in range(3)]
    Repository.find(create=True).store.add(
        interleaved(commits, [noisy(0.01), noisy(0.02, seed=2), noisy(0.02, seed=3)]), "test"
    )
    perf("check", "HEAD~2", "HEAD", code=3)
    said = perf("log").out
    perf("show", "--text", "HEAD~1", "HEAD")
    assert perf("log").out == said


def test_what_was_measured_before_it_was_committed_is_judged_as_its_commit(
    project: Project, perf: Perf
) -> None:
    one = project.commit(file="1")
    project.write("file", "2")
    repository = Repository.find(create=True)
    dirty = sample_profile(
        noisy(0.02), commit=one, dirty=repository.changes.hash(), collected=LATER
    )
    repository.store.add([*interleaved([one], [noisy(0.01)]), dirty], "test")
    two = project.commit("as measured")
    names = f"{one[:10]} -> {two[:10]}"
    for said in (perf("check").out, perf("check", f"{one}..HEAD").out):
        assert names in said
        assert f"{names}+" not in said
    assert "  measured  sort" in perf("status").out
    assert [header.commit for header in Repository.find().index.headers()] == [one, one]


def test_the_next_measurement_files_it_under_its_commit(project: Project, perf: Perf) -> None:
    project.configure('cmd = "true"')
    one = project.commit(file="1")
    project.write("file", "2")
    repository = Repository.find(create=True)
    repository.store.add(
        [sample_profile(noisy(0.02), commit=one, dirty=repository.changes.hash())], "test"
    )
    two = project.commit("as measured")
    perf("collect", "-n1")
    assert {header.commit for header in Repository.find().index.headers()} == {two}


def test_a_parent_with_nothing_but_the_changes_of_its_child_is_not_measured(
    project: Project, perf: Perf
) -> None:
    one = project.commit(file="1")
    project.write("file", "2")
    repository = Repository.find(create=True)
    repository.store.add(
        [sample_profile(noisy(0.02), commit=one, dirty=repository.changes.hash())], "test"
    )
    project.commit("as measured")
    assert "no ancestor of" in perf("check", code=4).err
    assert perf("check", f"{one}..HEAD", code=4).err
