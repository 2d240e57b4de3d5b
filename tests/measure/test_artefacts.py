"""Measuring leaves the working tree as it is, and what a build made there, by whomever, is not a
change.
"""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs.repository import Repository
from perfvcs.repository.leftovers import MOST_COMMITS, MOST_PATHS, Artefacts

SLOW = "#!/bin/sh\nfor number in 1 2 3 4 5 6 7 8 9; do /bin/true; done\n"
BUILD = 'build = ["cp sort.sh sort", "mkdir -p out/deep", "touch out/deep/log"]'


@pytest.fixture
def built(project: Project) -> Project:
    """Two commits of a project whose build and whose job leave files that git does not ignore."""
    project.configure("cmd = \"sh -c './sort; echo >> written'\"\nexecutions = 1", top=BUILD)
    project.write("sort.sh", "#!/bin/sh\n", executable=True)
    project.commit("one")
    project.commit("two", **{"sort.sh": SLOW})
    return project


def dirty(perf: Perf) -> dict[str, list[str]]:
    """What `perf status` says of the working tree: its changes, and the artefacts there."""
    found = perf("status", "--json").document
    assert (found["dirty"], found["changed"]) == (bool(found["changes"]), len(found["changes"]))
    return {"changes": found["changes"], "artefacts": found["artefacts"]}


@pytest.mark.needs("cc", "valgrind")
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_build_artefact_does_not_hide_twice_the_work(
    project: Project, perf: Perf, *, by_hand: bool
) -> None:
    project.commit(
        "one",
        **{
            "w.c": "int main(void){volatile int i;for(i=0;i<1000000;i++);return 0;}\n",
            "perf.toml": (
                'build = ["cc -o w w.c"]\n[[job]]\ncmd = "./w"\ncollectors = ["instructions"]\n'
            ),
        },
    )
    perf("init")
    perf("collect", "-q")
    assert project.git("status", "--porcelain") == ""
    project.write("w.c", (project.root / "w.c").read_text().replace("1000000", "2000000"))
    project.git("commit", "--quiet", "--all", "--message", "two")
    if by_hand:
        subprocess.run(["cc", "-o", "w", "w.c"], cwd=project.root, check=True)
    said = perf("check", "--measure", code=3)
    assert re.search(
        r"w became worse: instructions \+9[5-9](\.\d)? %", said.out
    )  # but for its start
    assert project.git("status", "--porcelain") == ("?? w" if by_hand else "")


COMMANDS = {
    "collect": ("collect",),
    "collect of several": ("collect", "HEAD~1", "HEAD"),
    "collect with changes": ("collect",),
    "collect --committed": ("collect", "--committed"),
    "check": ("check", "--measure", "-n", "1"),
    "audit": ("check", "--audit", "-n", "10"),
    "bisect": ("bisect", "HEAD~1", "HEAD", "--budget", "20s"),
    "blame": ("blame", "HEAD~1", "HEAD"),
    "plan": ("plan",),
    "select": ("select",),
    "collect --select": ("collect", "--select"),
    "ci": ("ci", "--baseline", "HEAD~1"),
    "mutate": ("mutate", "--budget", "5s"),
    "hosts": ("check", "--measure", "-n", "1", "--committed", "--scheduler", "local:1"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_measuring_leaves_the_working_tree_as_it_is(built: Project, perf: Perf, name: str) -> None:
    perf("collect", "-q", "--committed")
    if name == "collect with changes":
        built.write("sort.sh", "#!/bin/sh\n/bin/true\n", executable=True)
        built.write("notes.csv", "x")
    before = (
        built.git("status", "--porcelain", "--untracked-files=all"),
        built.git("stash", "list"),
        built.git("show-ref"),
    )
    files = {
        path: path.stat().st_mtime_ns
        for path in built.root.iterdir()
        if path.name not in (".perf", ".git")
    }
    perf(*COMMANDS[name], code=None)
    assert (
        built.git("status", "--porcelain", "--untracked-files=all"),
        built.git("stash", "list"),
        built.git("show-ref"),
    ) == before
    assert {
        path: path.stat().st_mtime_ns
        for path in built.root.iterdir()
        if path.name not in (".perf", ".git")
    } == files


def test_the_trials_of_init_leave_the_working_tree_as_it_is(project: Project, perf: Perf) -> None:
    project.commit(
        **{"Makefile": "all:\n\tcp run.sh sort\nbench: all\n\tsh ./sort\n", "run.sh": "true"}
    )
    perf("init", code=None)
    assert project.git("status", "--porcelain") in ("", "?? perf.toml")


def test_what_a_build_or_a_job_makes_by_hand_is_not_a_change(built: Project, perf: Perf) -> None:
    perf("collect", "-q")
    built.write("sort", "#!/bin/sh\nfalse\n", executable=True)
    built.write("written", "\n")
    built.write("out/deep/other", "")
    assert dirty(perf) == {"changes": [], "artefacts": ["out/", "sort", "written"]}
    assert "not counted, since measuring makes it: out/, sort, written" in perf("status").out
    built.write("more.csv", "")
    assert dirty(perf)["changes"] == ["more.csv"]
    assert "  changed: more.csv\n" in perf("status").out


def test_an_artefact_is_not_laid_over_a_checkout(built: Project, perf: Perf) -> None:
    built.configure(
        "cmd = \"sh -c 'test -f data.csv && test ! -f leftover'\"\nexecutions = 1",
        top='build = ["touch made"]',
    )
    built.commit("three")
    perf("collect", "-q", code=5)
    built.write("made", "by hand")
    built.write("data.csv", "")
    said = perf("collect")
    assert "is HEAD with changes in data.csv" in said.err
    assert "left out of it, since measuring makes it: made" in said.err


def test_what_head_builds_is_seen_before_it_is_decided_what_is_compared(
    built: Project, perf: Perf
) -> None:
    perf("init")
    built.write("sort", "", executable=True)
    built.write("out/log", "")
    said = perf("check", "--measure", "-n", "1", code=None)
    head = built.git("rev-parse", "HEAD")[:10]
    assert said.err.startswith(f"building {head} to see whether that makes out/log, sort\n")
    assert "HEAD and its parent; not counted, since measuring makes it: out/, sort\n" in said.err
    assert said.err.count("building") == 1
    assert "building" not in perf("check", "--measure", "-n", "1", code=None).err


def test_a_build_that_fails_teaches_nothing(project: Project, perf: Perf) -> None:
    project.configure(
        'cmd = "sh sort"\nexecutions = 1', top='build = ["test -f header", "touch sort"]'
    )
    project.commit("without its header")
    project.write("header", "")
    perf("collect")
    assert dirty(perf) == {"changes": ["header"], "artefacts": []}


def test_other_build_commands_make_other_artefacts(built: Project, perf: Perf) -> None:
    perf("collect", "-q")
    built.configure('cmd = "sh sort.sh"\nexecutions = 1', top='build = ["touch made"]')
    built.write("sort", "", executable=True)
    built.write("made", "")
    perf("collect", "-q", "--committed")
    assert dirty(perf) == {"changes": ["perf.toml", "sort"], "artefacts": ["made"]}


def test_a_new_source_at_the_path_of_an_artefact_counts_once_it_is_added(
    built: Project, perf: Perf
) -> None:
    perf("collect", "-q")
    built.write("sort", "a source now")
    built.write("out/main.c", "a source now")
    assert dirty(perf)["changes"] == []
    built.git("add", "--intent-to-add", "sort", "out/main.c")
    built.write("out/deep/log", "")
    assert dirty(perf) == {"changes": ["out/main.c", "sort", "out/deep/log"], "artefacts": []}


def test_a_commit_that_builds_it_no_longer_makes_it_a_source(built: Project, perf: Perf) -> None:
    perf("collect", "-q")
    built.configure('cmd = "sh sort.sh"\nexecutions = 1', top='build = ["true"]')
    built.commit("nothing is built now")
    built.write("sort", "a source now")
    assert dirty(perf) == {"changes": [], "artefacts": ["sort"]}, "as long as nobody has built it"
    assert "HEAD and its changes in sort\n" in perf("check", "--measure", "-n", "1", code=None).err


def test_a_file_that_only_the_working_tree_has_is_named_when_a_job_fails(
    project: Project, perf: Perf
) -> None:
    project.commit(**{".gitignore": "data/\nsort\nlib/\n", "run.sh": "cat data/big\n", "x": ""})
    project.write("data/big", "")
    project.write("sort", "#!/bin/sh\n", executable=True)
    cure = (
        "is in the working tree, but not in a checkout: let `build` make it, name it in `overlay`,"
        " or `git add` it"
    )
    project.configure('cmd = "./sort"')
    assert f"`./sort` {cure}" in perf("collect", code=5).err
    project.configure('cmd = "cat data/big"')
    assert f"(`data/big` {cure})" in perf("collect", code=5).err
    project.configure('cmd = "sh run.sh"')
    assert (
        "(git ignores data/, sort, so that no checkout has that: name in `overlay` what a job"
        " needs)" in perf("collect", code=5).err
    )
    project.configure('cmd = "test -n {workload}"\nworkloads = ["data/big"]')
    assert f"note: work data/big: `data/big` {cure}" in perf("collect").flat
    project.configure('cmd = "sh run.sh"', top='overlay = ["data"]')
    perf("collect")


def test_a_typed_command_runs_in_the_working_tree_as_it_stands(built: Project, perf: Perf) -> None:
    perf("collect", "-q")
    built.write("sort", "#!/bin/sh\necho >> typed\n", executable=True)
    built.write(".git/info/exclude", "/.perf\n/data\n")
    built.write("data", "")
    perf("collect", "-n", "2", "--warmup", "0", "--", "./sort", "data")
    assert (built.root / "typed").read_text() == "\n\n"
    assert [
        header.dirty for header in Repository.find().index.headers([built.git("rev-parse", "HEAD")])
    ] == [None, None]
    built.git("clean", "--quiet", "--force", "typed")
    said = perf("check", "--measure", "-n", "1", code=None)
    assert "HEAD and its parent; not counted, since measuring makes it: sort\n" in said.err


def test_the_record_is_bounded_and_can_be_lost(tmp_path: Path) -> None:
    artefacts = Artefacts(tmp_path)
    for number in range(MOST_COMMITS + 5):
        artefacts.built(f"{number}", ["make"], [f"of {number}"])
    artefacts.left([f"{number}" for number in range(MOST_PATHS + 10)])
    assert (
        artefacts.is_known("34", ["make"])
        and not artefacts.is_known("34", ["ninja"])
        and not artefacts.is_known("4", ["make"])
    )
    assert (
        "of 34" in artefacts.of("34")
        and "of 33" not in artefacts.of("34")
        and {"of 33", "of 34"} <= artefacts.of("unknown")
    )
    assert len(artefacts.of("34")) == 1 + MOST_PATHS
    artefacts.left(["\udcff"])
    artefacts.built("36", ["make"], ["\udcff", "ü"])
    assert "ü" in artefacts.of("36") and "\udcff" not in artefacts.of("36")
    for damaged in (b"", b"[]", b'{"built": {"34": 1}}', b"\xff" * 10, b"[" * 100_000):
        artefacts.path.write_bytes(damaged)
        assert artefacts.of("34") == frozenset()
