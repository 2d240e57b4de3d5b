"""Releases that are measured after the fact: which tags, in which order, and what stops nothing."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs.git import ancestry
from perfvcs.git import project as git
from perfvcs.git.ancestry import releases
from perfvcs.profile import Profile
from perfvcs.profile.buildidentity import DEPENDENCIES
from perfvcs.repository import Repository

WORK = "print(sum(range({count})))\n"
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


@pytest.mark.parametrize(
    ("tag", "number"),
    [
        ("v1_2_3", "1.2.3"),
        ("REL_1_2_3", "1.2.3"),
        ("my_project-v1_2_3", "1.2.3"),
        ("py3-1.2.3", "1.2.3"),
        ("py3_project-1.2", "1.2"),
        ("V_9_8", "9.8"),
        ("v1.2.3p1", "1.2.3.post1"),
        ("v1.2-post2", "1.2.post2"),
        # which digits are the number is open
        ("REL9_6_1", ""),
        ("v1.2.3-1.0", ""),
    ],
)
def test_the_number_of_a_release_is_the_whole_number_of_its_tag(tag: str, number: str) -> None:
    assert ancestry.version(tag) == number


def test_releases_are_measured_once_and_one_that_fails_is_passed_over(
    released: Project, perf: Perf
) -> None:
    said = perf("collect", "--released", code=5)
    assert "release v1.1.0: " in said.err and said.out.count("wall time") == 3
    assert released.git("rev-list", "-n1", "v1.0")[:10] in said.out
    again = perf("collect", "--released", "-q", code=5)
    assert not again.out and again.err.count("failed: ") == 1
    assert perf("log", "-n", "20").out.count("1 profile") == 3


def test_a_release_at_head_is_measured_without_the_changes_in_the_working_tree(
    project: Project, perf: Perf
) -> None:
    project.write("perf.toml", SETTINGS)
    commit = project.commit("one", **{"work.py": WORK.format(count=1000)})
    project.git("tag", "v1.0")
    project.write("work.py", "raise SystemExit('not of the release')\n")
    assert f"{commit[:10]}  work" in perf("collect", "--released").out
    assert stored("v1.0").dirty is None


def test_a_budget_that_is_spent_says_what_is_left(released: Project, perf: Perf) -> None:
    said = perf("collect", "--released", "--budget", "0.01s", code=None)
    assert "older releases are left" in said.err, said
    assert perf("collect", "--released", "HEAD", code=2).err.count("\n") <= 3
    for tag in TAGS:
        released.git("tag", "--delete", tag)
    released.git("tag", "--delete", "v1.2.1")
    assert "no tag of HEAD's history is a version" in perf("collect", "--released", code=2).err


def wheel(folder: Path, version: str) -> None:
    """The release of a project as a package index has it."""
    info = f"tiny-{version}.dist-info"
    with zipfile.ZipFile(folder / f"tiny-{version}-py3-none-any.whl", "w") as file:
        file.writestr("tiny.py", f"VERSION = '{version}'\n")
        file.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n"
        )
        file.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{info}/RECORD", "")


def test_releases_that_build_no_longer_come_from_the_index(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    index.mkdir()
    project.write(
        "perf.toml",
        '[[job]]\nname = "work"\ncmd = "python -c \'import tiny; print(tiny.VERSION)\'"\n'
        "executions = 2\nwarmup = 0\n"
        f'[python]\ninstall = [".", "--no-index", "--find-links={index}"]\nreleased = "Tiny"\n',
    )
    for number in ("1.0", "1.1.0", "1.2.0"):
        project.commit(number, **{"setup.py": f"raise SystemExit('{number} needs Python 2')\n"})
        project.git("tag", f"v{number}")
        if number != "1.2.0":
            wheel(index, number)
    said = perf("collect", "--released", code=5)
    assert "release v1.2.0: " in said.err and "tiny==1.2.0" in said.err.lower()
    first, second = profiles = [stored(f"v{number}") for number in ("1.0", "1.1.0")]
    assert first.environment.fingerprint == second.environment.fingerprint
    for profile, number in zip(profiles, ("1.0", "1.1.0"), strict=True):
        assert f"tiny=={number}" in profile.environment.notes["installed"].split()
        assert "tiny" not in profile.environment.notes[DEPENDENCIES]
        words = f"Tiny=={number} was installed from the package index"
        assert words in profile.environment.warnings
    assert "Tiny==" not in str(first.environment.fields)
    assert "not comparable" not in perf("check", "v1.0", "v1.1.0", code=None).out


def stored(revision: str) -> Profile:
    repository = Repository.find()
    (profile,) = repository.profiles(
        repository.index.headers([repository.project.resolve(revision)])
    )
    return profile


def test_only_a_name_is_taken_from_the_index(project: Project, perf: Perf) -> None:
    for name in ("--index-url=x", "tiny==1.0", "tiny @ file:///tiny", "../tiny"):
        project.write("perf.toml", f"{SETTINGS}[python]\nreleased = {json.dumps(name)}\n")
        said = perf("collect", code=2)
        assert "[python] released" in said.err and said.err.count("\n") == 1
