"""Releases that are measured after the fact: which tags, in which order, and what stops nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import Project, Said

from perfvcs.git import project as git
from perfvcs.git.ancestry import releases

WORK = "print(sum(range({count})))\n"
Perf = Callable[..., Said]
SETTINGS = '[[job]]\nname = "work"\ncmd = "python3 work.py"\nexecutions = 2\nwarmup = 0\n'
TAGS = ("v1.0", "v1.1.0", "project-1.2", "2024.3.post1", "v2.0rc1", "nightly", "v3")


@pytest.fixture
def released(project: Project) -> Project:
    """A commit for each tag, the second of which does not run."""
    project.write("perf.toml", SETTINGS)
    for number, tag in enumerate(TAGS):
        work = "1 / 0\n" if tag == "v1.1.0" else WORK.format(count=1000 * number)
        project.commit(tag, **{"work.py": work})
        project.git("tag", *(["-a", "-m", "as an object"] if number % 2 else []), tag)
    project.git("tag", "v1.2.1", "project-1.2")
    project.git("checkout", "--quiet", "-b", "aside", "v1.0")
    project.commit("aside", **{"work.py": WORK.format(count=7)})
    project.git("tag", "v1.0.1")
    project.git("checkout", "--quiet", "-")
    return project


def test_tags_of_versions_are_releases_the_newest_first(released: Project) -> None:
    found = releases(git.Project.find(released.root))
    assert sorted(found) == sorted(["2024.3.post1", "v1.2.1", "v1.1.0", "v1.0"])
    assert list(found.values()) == [
        commit for commit in released.git("rev-list", "HEAD").split() if commit in found.values()
    ]


@pytest.mark.slow
def test_releases_are_measured_once_and_one_that_fails_is_passed_over(
    released: Project, perf: Perf
) -> None:
    said = perf("collect", "--released", code=5)
    assert "release v1.1.0: " in said.err and said.out.count("wall time") == 3
    assert released.git("rev-list", "-n1", "v1.0")[:10] in said.out
    again = perf("collect", "--released", "-q", code=5)
    assert not again.out and again.err.count("failed: ") == 1
    log = perf("log", "-n", "20").out
    assert log.count("1 profile") == 3


def test_a_budget_that_is_spent_says_what_is_left(released: Project, perf: Perf) -> None:
    said = perf("collect", "--released", "--budget", "0.01s", code=None)
    assert "older releases are left" in said.err, said
    assert perf("collect", "--released", "HEAD", code=2).err.count("\n") <= 3
    for tag in TAGS:
        released.git("tag", "--delete", tag)
    released.git("tag", "--delete", "v1.2.1")
    assert "no tag of HEAD's history is a version" in perf("collect", "--released", code=2).err
