"""What the bytes of git's index tell of the names in it."""

from __future__ import annotations

import pytest
from conftest import Project

from perfvcs.git import changes


def lacks(project: Project) -> bool:
    return changes.lacks(project.root / ".git", ".perf")


def test_an_index_without_the_name_lacks_it(project: Project) -> None:
    assert lacks(project)  # nothing was added yet, and there is no index
    project.commit(**{"perf.toml": "", "src/work.sh": "", ".perforce": ""})
    assert not lacks(project)  # a longer name: only git can tell
    project.git("rm", "--quiet", ".perforce")
    assert lacks(project)


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("name", [".perf", ".perf/tmp", ".PERF/store/HEAD", ".pErf/a"])
def test_a_name_in_the_index_is_seen_in_every_version_of_it(
    project: Project, version: str, name: str
) -> None:
    project.write(".pera/b", "")
    project.write(name, "")
    project.git("update-index", "--index-version", version)
    project.git("add", "--all", *(["--intent-to-add"] if version == "3" else []))
    assert (project.root / ".git/index").read_bytes()[7] == int(version)
    assert not lacks(project)


def test_a_name_in_a_shared_index_is_seen(project: Project) -> None:
    project.write(".perf/tmp", "")
    project.git("add", "--all")
    project.git("update-index", "--split-index")
    assert b".perf" not in (project.root / ".git/index").read_bytes()
    assert not lacks(project)


def test_a_name_in_a_sparse_index_is_seen(project: Project) -> None:
    project.commit(**{".perf/a/b": "", "kept/c": ""})
    project.git("sparse-checkout", "set", "--cone", "--sparse-index", "kept")
    assert not (project.root / ".perf").exists()
    assert not lacks(project)


def test_only_git_can_tell_where_the_git_folder_is_elsewhere_or_damaged(project: Project) -> None:
    project.commit()
    assert not changes.lacks(project.root, ".perf")
    index = project.root / ".git/index"
    index.write_bytes(b"")
    assert not lacks(project)
    index.unlink()
    index.mkdir()
    assert not lacks(project)
