"""Frames of call stacks lead to their lines on the project's forge, whatever files are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from browsing import BROWSER
from conftest import Project
from pictures import sampled
from test_view_flamegraph import Flames

from perfvcs.git.forge import Forge, guessed
from perfvcs.git.project import Project as GitProject
from perfvcs.profile import Profile
from perfvcs.reports.show import subject_of
from perfvcs.reports.sourcelinks import source_links
from perfvcs.repository import Repository

HOSTILE = "src/</script><img src=x onerror=alert(1)>'\" #?{path}.py"
GITHUB = "https://github.com/ada/engine/blob/"


def profile(commit: str, **options: Any) -> Profile:
    """Its stacks are in two files of the project, in one that it has not, and in a library."""
    outer, inner = "main (a.py)", f"sort ({HOSTILE}:12)"
    stacks = {
        (outer, inner): 6,
        (outer, "gone (b.py:3)"): 3,
        (outer, inner, "copy (/usr/lib/libc.so)"): 1,
    }
    return sampled(stacks, commit=commit, **options)


def committed(project: Project) -> str:
    for name in ("a.py", HOSTILE):
        project.write(name, "pass\n")
    project.git("remote", "add", "origin", "git@github.com:ada/engine.git")
    return project.commit()


def test_only_files_of_the_commit_have_an_address(project: Project) -> None:
    commit = committed(project)
    here, forge = GitProject.find(project.root), guessed("git@github.com:ada/engine.git")
    top = f"{GITHUB}{commit}/"
    links = {"a.py": f"{top}a.py#L", HOSTILE: f"{top}{quote(HOSTILE)}#L"}
    assert source_links(here, [profile(commit)], forge) == links
    assert source_links(here, [profile("1" * 40), profile(commit)], forge) == links
    assert not source_links(here, [profile(commit, dirty="2" * 40)], forge)
    assert not source_links(here, [profile(commit)], Forge())


@BROWSER
def test_a_table_and_a_chosen_box_link_to_the_source(
    project: Project, browser: Any, tmp_path: Path
) -> None:
    commit = committed(project)
    repository = Repository.find(project.root, create=True)
    repository.store.add([profile(commit)], "test")
    subject = subject_of(repository, ["HEAD"])
    opened = Flames(browser, tmp_path, subject)
    address = f"{GITHUB}{commit}/{quote(HOSTILE)}#L12"
    found = "[...document.querySelectorAll('a[rel=external]')].map(one => one.getAttribute('href'))"
    assert opened.run(found) == [address, f"{GITHUB}{commit}/a.py#L"]
    opened.choose(opened.column("name").index("sort"))
    assert opened.run("document.querySelector('.search a').getAttribute('href')") == address
    opened.choose(opened.column("name").index("gone"))
    assert opened.run("document.querySelector('.search a')") is None
    assert opened.problems() == []
