"""`perf select`: which benchmarks a change can touch, and why the others are left out."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest
from disks import mounted
from samples import sample_profile

from perfvcs.check.change import Change, Report
from perfvcs.check.markdown import decode, encode, markdown
from perfvcs.check.text import text
from perfvcs.check.vocabulary import Word
from perfvcs.locate.select.misses import LeftOutSampler
from perfvcs.locate.select.reached import BenchmarkUnit
from perfvcs.locate.select.selection import LeftOut
from perfvcs.measure.announcement import Announcement
from perfvcs.profile import Job, Reached
from perfvcs.repository import Repository
from perfvcs.repository.lookup import paths_of

LIBRARY = (
    "N = 3\n\ndef work(n):\n    return square(n) + N\n\ndef square(i):\n    return i * i\n\ndef"
    " other():\n    return 1\n"
)
TESTS = "import lib\ndef test_work(): lib.work(3)\ndef test_other(): lib.other()\n"
ONE = "from lib import work\nwork(10)\n"
TWO = "import lib\nprint(lib.other())\n"
MAIN = '#include "s.h"\nint main(void) { return slow(SIZE); }\n'
SOURCE = "int slow(int n) { return n % 7; }\nint unused(void) { return 1; }\n"
CONFIG = """
[[job]]
name = "one"
cmd = "python one.py"
[[job]]
name = "two"
cmd = "python two.py"
[[job]]
name = "native"
cmd = "./main"
[[job]]
name = "shell"
cmd = "sh work.sh"
[[job]]
name = "tests"
cmd = "python -m pytest"
collectors = ["pytest"]
"""
REACHED = Reached(
    [
        "lib.py:<module>",
        "lib.py:other",
        "lib.py:square",
        "lib.py:work",
        "test_lib.py:test_other",
        "test_lib.py:test_work",
    ],
    {"": [0], "test_lib.py::test_work": [2, 3, 5], "test_lib.py::test_other": [1, 4]},
)


def record(project, commit: str, reached: Reached = REACHED) -> None:
    """Store what a measurement of the tests would have recorded on a commit."""
    job = Job(name="tests", collector="pytest", cmd="python -m pytest", engine="protocol/1")
    Repository.find(project.root, create=True).store.add(
        [sample_profile(commit=commit, job=job, reached=reached)], "record"
    )


@pytest.fixture
def measured(project):
    """A project with five benchmarks, whose tests were recorded at its first commit."""
    files = {
        "lib.py": LIBRARY,
        "test_lib.py": TESTS,
        "one.py": ONE,
        "two.py": TWO,
        "main.c": MAIN,
        "s.c": SOURCE,
        "work.sh": "true\n",
    }
    files |= {
        "s.h": "int slow(int n);\n#define SIZE 3\n",
        "perf.toml": CONFIG,
        "README.md": "# It\n",
    }
    record(project, project.commit("first", **files))
    return project


def chosen(perf, *words: str) -> dict[str, str]:
    """The benchmarks that can be touched, with the reasons."""
    found = perf("select", "--json", *words).document
    assert found["run"] + found["left_out"] == len(found["benchmarks"])
    return {row["benchmark"]: row["reason"] for row in found["benchmarks"] if row["run"]}


WORK, OTHER = "test_lib.py::test_work", "test_lib.py::test_other"


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        ({"lib.py": LIBRARY.replace("i * i", "i ** 2")}, {"one", WORK, "shell"}),
        ({"lib.py": LIBRARY.replace("return 1", "return 2")}, {"two", OTHER, "shell"}),
        ({"lib.py": LIBRARY.replace("N = 3", "N = 4")}, {"one", "two", WORK, "shell"}),
        ({"lib.py": LIBRARY + "\ndef new(): pass\n"}, {"one", "two", "shell"}),
        ({"two.py": TWO + "print(2)\n"}, {"two", "shell"}),
        ({"test_lib.py": TESTS.replace("work(3)", "work(4)")}, {WORK, "shell"}),
        ({"s.c": SOURCE.replace("return 1", "return 2")}, {"shell"}),
        ({"s.c": SOURCE.replace("% 7", "% 9")}, {"native", "shell"}),
        ({"s.h": "int slow(int n);\n#define SIZE 4\n"}, {"native", "shell"}),
        ({"README.md": "# That\n"}, set()),
        ({"lib.py": f'"""A library."""\n{LIBRARY}', "s.c": f"/* so */ {SOURCE}"}, set()),
        ({"data.csv": "1\n"}, {"one", "two", "native", "shell", WORK, OTHER}),
        ({"lib.py": "def work(:\n"}, {"one", "two", "native", "shell", WORK, OTHER}),
        ({"conftest.py": "import lib\n"}, {"one", "two", "native", "shell", WORK, OTHER}),
    ],
)
def test_a_change_touches_those_who_run_what_changed(measured, perf, changed, kept):
    measured.commit("change", **changed)
    assert set(chosen(perf)) == kept


def test_reasons_are_reported_for_both(measured, perf):
    measured.commit("square", **{"lib.py": LIBRARY.replace("i * i", "i ** 2")})
    said = perf("select").out
    assert (
        "1 function in 1 file changed\ncan be touched (3)\n" in said
        and "runs lib.py:square: square changed" in said
    )
    assert "what `sh` runs cannot be seen" in said
    assert (
        "left out (3)\n" in said and "does not run the function that the change can touch" in said
    )
    assert all(len(line) <= 80 for line in said.splitlines())


def test_one_benchmark_is_explained(measured, perf):
    measured.commit("square", **{"lib.py": LIBRARY.replace("i * i", "i ** 2")})
    said = perf("select", "--explain", WORK).out.splitlines()
    assert (
        said[0] == f"{WORK}: can be touched" and said[-1] == "  runs lib.py:square, which changed"
    )
    assert "decided by what was recorded on" in said[2]
    assert "decided by its sources" in perf("select", "--explain", "native").out


def test_an_empty_list_is_no_failure(measured, perf):
    measured.commit("document", **{"README.md": "# That\n"})
    assert (
        "nothing changed that a benchmark can notice\nleft out (6)"
        in perf("select", "HEAD~1..HEAD", code=0).out
    )
    assert perf("select", "HEAD..HEAD", "--json", code=0).document["run"] == 0


def test_a_document_that_a_source_reads_is_data(measured, perf):
    measured.commit("reads", **{"lib.py": LIBRARY.replace("return 1", "return open('README.md')")})
    record(measured, measured.git("rev-parse", "HEAD"))
    measured.commit("document", **{"README.md": "# That\n"})
    assert set(chosen(perf)) == {"two", OTHER, "shell"}


def test_uncommitted_changes_are_those_of_the_working_tree(measured, perf):
    measured.write("lib.py", LIBRARY.replace("i * i", "i ** 2"))
    assert set(chosen(perf)) == {"one", WORK, "shell"}
    assert set(chosen(perf, "HEAD", "HEAD")) == set()


def test_a_record_counts_no_more_when_what_it_saw_has_changed(measured, perf):
    measured.commit(
        "work calls another",
        **{"lib.py": LIBRARY.replace("square(n) + N", "square(n) + N + other()")},
    )
    measured.commit(
        "other",
        **{
            "lib.py": (
                LIBRARY.replace("square(n) + N", "square(n) + N + other()").replace(
                    "return 1", "return 2"
                )
            )
        },
    )
    found = chosen(perf, "HEAD~1..HEAD")
    assert (
        "what it runs changed since it was recorded on" in found[WORK]
        and "lib.py:other" in found[OTHER]
    )


def test_what_was_left_out_before_is_known_by_the_older_record(measured, perf):
    measured.commit("other", **{"lib.py": LIBRARY.replace("return 1", "return 2")})
    later = Reached(["(left out)", "lib.py:other"], {WORK: [0], OTHER: [1], "": []})
    record(measured, measured.git("rev-parse", "HEAD"), later)
    measured.commit(
        "square", **{"lib.py": LIBRARY.replace("return 1", "return 2").replace("i * i", "i ** 2")}
    )
    assert set(chosen(perf)) == {"one", WORK, "shell"}


def test_tests_that_start_processes_and_new_commands_always_run(measured, perf):
    record(
        measured,
        measured.commit("second", **{"one.py": f"{ONE}work(2)\n"}),
        Reached(["(processes)"], {WORK: [0]}),
    )
    measured.commit("s", **{"s.c": SOURCE.replace("% 7", "% 9")})
    assert "starts processes" in chosen(perf)[WORK]
    measured.write("perf.toml", CONFIG.replace("python -m pytest", "python -m pytest -x"))
    assert (
        chosen(perf, "HEAD~1..HEAD")["tests"]
        == "its tests were not recorded yet: measure them once"
    )


def test_tests_that_are_gone_are_not_listed(measured, perf):
    measured.commit(
        "fewer", **{"test_lib.py": TESTS.replace("def test_other(): lib.other()\n", "")}
    )
    assert OTHER not in chosen(perf) and OTHER not in perf("select", "-v").out


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("import lib\ndef run(name): return getattr(lib, name)()\nrun('oth' + 'er')\n", True),
        ("import importlib\nimportlib.import_module('l' + 'ib').other()\n", True),
        ("import lib\nlib.work(1)\n", False),
        ("import subprocess, lib\nsubprocess.run(['true'])\n", True),
    ],
)
def test_names_that_stand_nowhere_may_be_any(measured, perf, source, kept):
    measured.commit("first", **{"one.py": source})
    measured.commit("other", **{"lib.py": LIBRARY.replace("return 1", "return 2")})
    assert ("one" in chosen(perf, "HEAD~1..HEAD")) == kept


# bad input


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["HEAD~1...HEAD"], 2, "has three dots: use `A..B`"),
        (["nothing..HEAD"], 2, "`nothing` is not a revision here"),
        (["HEAD", "HEAD", "HEAD"], 2, "at most a baseline and a target"),
        (["--explain", "oen"], 2, "no benchmark is called `oen`; did you mean `one`?"),
        (["-j", "non"], 2, "no job is called `non`"),
    ],
)
def test_what_cannot_be_answered_is_one_line(measured, perf, words, code, message):
    measured.commit("second")
    said = perf("select", *words, code=code)
    assert message in said.err and said.out == ""


def test_without_perf_toml_or_parents_the_cure_is_named(project, perf):
    project.commit("first", **{"a.py": ""})
    Repository.find(project.root, create=True)
    assert (
        "there is no perf.toml: make one with `perf init`"
        in perf("select", "HEAD..HEAD", code=2).err
    )
    assert "has no ancestor to be compared with" in perf("select", code=4).err


def test_a_shallow_clone_says_so(measured, perf, tmp_path, monkeypatch):
    measured.commit("second")
    measured.git(
        "clone", "--quiet", "--depth=1", f"file://{measured.root}", str(tmp_path / "clone")
    )
    monkeypatch.chdir(tmp_path / "clone")
    Repository.find(tmp_path / "clone", create=True)
    assert "git fetch --unshallow" in perf("select", code=4).err


def test_a_doctest_is_its_text(measured, perf):
    document, module = "README.md::README.md", "lib.py::lib.other"
    reached = Reached(
        ["lib.py:other", "test_lib.py:test_work"], {document: [0], module: [0], WORK: [1]}
    )
    record(measured, measured.commit("second", **{"one.py": f"{ONE}work(2)\n"}), reached)
    measured.commit(
        "text",
        **{
            "README.md": "# That\n",
            "lib.py": LIBRARY.replace("return 1", '""">>> 1"""\n    return 1'),
        },
    )
    assert set(chosen(perf)) == {document, module}


def test_strings_that_are_no_text_are_no_names(measured, perf):
    measured.commit("odd", **{"odd.py": "A = '\\ud800'\nB = 'a\\0b'\nC = '\\x1b[31m'\n"})
    measured.commit("constant", **{"lib.py": LIBRARY.replace("N = 3", "N = 4")})
    assert set(chosen(perf, "HEAD~1..HEAD")) >= {"one", WORK}


def test_a_damaged_database_of_sources_is_made_anew(measured, perf):
    measured.commit("square", **{"lib.py": LIBRARY.replace("i * i", "i ** 2")})
    before = chosen(perf)
    (measured.root / ".perf" / "sources.db").write_bytes(b"no database")
    (measured.root / ".perf" / "selected.db").write_bytes(b"no database")
    assert chosen(perf) == before


@pytest.mark.parametrize(
    "damage", ["parts = x'ffff'", "parts = 'text'", "uses = 17", "uses = x'ff00'", "names = 3"]
)
def test_damaged_rows_of_sources_are_made_anew(measured, perf, damage):
    measured.commit("square", **{"lib.py": LIBRARY.replace("i * i", "i ** 2")})
    before = chosen(perf)
    with (
        contextlib.closing(sqlite3.connect(measured.root / ".perf" / "sources.db")) as database,
        database,
    ):
        assert database.execute(f"UPDATE sources SET {damage}").rowcount
    assert chosen(perf) == before


@pytest.mark.needs("mount")
@pytest.mark.parametrize("room", [0, 30_000])
def test_on_a_full_disk_it_answers_all_the_same(measured, perf, room):
    measured.commit("square", **{"lib.py": LIBRARY.replace("i * i", "i ** 2")})
    before, home = chosen(perf), measured.root / ".perf"
    (home / "sources.db").unlink()
    shutil.copytree(home, measured.root / "copy", symlinks=True)
    with mounted(home, "size=4m"):
        shutil.copytree(measured.root / "copy", home, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(measured.root / "copy")
        disk = os.statvfs(home)
        (home / "fill").write_bytes(bytes(disk.f_bavail * disk.f_frsize - room))
        assert chosen(perf) == before
        (home / "fill").unlink()
        assert chosen(perf) == before
        assert (home / "sources.db").stat().st_size


def test_a_fresh_clone_is_answered_by_its_sources(measured, perf, tmp_path, monkeypatch):
    measured.commit("square", **{"lib.py": LIBRARY.replace("i * i", "i ** 2")})
    measured.git("clone", "--quiet", f"file://{measured.root}", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    assert "nothing was measured" in perf("select", code=10).err
    assert "one" in chosen(perf, "HEAD~1..HEAD")


# measuring

SELECTED = """
[[job]]
name = "one"
cmd = "python one.py"
executions = 5
warmup = 0
[[job]]
name = "two"
cmd = "python two.py"
executions = 5
warmup = 0
[[job]]
name = "tests"
cmd = "python -m pytest -q -p no:hypothesispytest"
collectors = [{ name = "pytest", repeat = 1 }]
executions = 1
"""


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """``python`` is the one that has pytest."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("path")
def test_what_is_left_out_is_not_measured_and_inherits(project, perf):
    project.commit(
        "first",
        **{
            "lib.py": LIBRARY,
            "test_lib.py": TESTS,
            "one.py": ONE,
            "two.py": TWO,
            "perf.toml": SELECTED,
        },
    )
    assert "nothing is left out: no commit before" in perf("collect", "--select").err
    project.commit("square", **{"lib.py": LIBRARY.replace("i * i", "i ** 2")})
    said = perf("collect", "--select", "--sample", "0", "--json")
    assert "left out, since the change cannot touch it" not in said.out
    stored = {row["job"] for row in said.document["stored"]}
    assert stored == {"one", "tests"}
    repository = Repository.find(project.root)
    profiles = [profile for _, profile in repository.store.read_many(paths_of(repository, "HEAD"))]
    (tests,) = (profile for profile in profiles if profile.job.collector == "pytest")
    assert tests.resources.names == [WORK], "the other test did not run"
    report = perf("check", "--json", code=None).document
    assert (
        set(report["untouched"]) == {"two", f"tests: {OTHER}"}
        and report["inherits"] == project.git("rev-parse", "HEAD~1")[:10]
    )
    assert "missing" not in report["counts"]
    assert "not touched: inherits" in perf("check", code=None).out
    project.commit("document", **{"README.md": "# It\n"})
    assert "nothing to measure" in perf("collect", "--select", "--sample", "0").out
    assert perf("check", code=0).out.startswith(project.git("rev-parse", "HEAD~1")[:10]), (
        "nothing was touched, and nothing failed"
    )
    project.commit(
        "other", **{"lib.py": LIBRARY.replace("i * i", "i ** 2").replace("return 1", "return 2")}
    )
    assert set(chosen(perf)) == {"two", OTHER}, "the record of what was left out is still known"


@pytest.mark.usefixtures("path")
def test_a_sample_of_what_is_left_out_is_measured_and_counted(project, perf):
    jobs = SELECTED[: SELECTED.index('[[job]]\nname = "tests"')]
    project.commit("first", **{"lib.py": LIBRARY, "one.py": ONE, "two.py": TWO, "perf.toml": jobs})
    perf("collect")
    project.commit("square", **{"lib.py": LIBRARY.replace("i * i", "i ** 2")})
    said = perf("check", "--measure", "--select", "--sample", "1", "-n", "5", "--json", code=None)
    report = said.document
    assert report["untouched"] == [] and "two" in {change["job"] for change in report["changes"]}
    assert perf("select", "--json").document["sampled"]["measured"] == 1


@pytest.mark.usefixtures("measured")
def test_select_goes_with_measuring_only(perf):
    assert "--select goes with --measure" in perf("check", "--select", code=2).err
    assert (
        "goes with neither --continue nor a command"
        in perf("collect", "--select", "--", "true", code=2).err
    )


def test_a_benchmark_that_changed_although_it_was_left_out_is_a_miss(tmp_path):
    def change(uid: str, word: Word) -> Change:
        return Change(
            word=word, job="tests", uid=uid, metric="wall", unit="s", better="lower", series="0"
        )

    sampler, units = (
        LeftOutSampler(tmp_path),
        [BenchmarkUnit("tests", "pytest", name) for name in ("a", "b", "c")],
    )
    sampler.note("0" * 40, "1" * 40, LeftOut(frozenset(), {}, tuple(units)))
    assert sampler.summary() == "" and sampler.counts()["measured"] == 3
    sampler.judge(
        "0" * 40,
        "1" * 40,
        [change("a", "degradation"), change("b", "same"), change("c", "inconclusive")],
    )
    assert sampler.counts() == {"measured": 3, "settled": 2, "changed": 1}
    assert "of 2 settled 1 changed (50 %" in sampler.summary()


def test_what_inherits_is_reported_in_every_form():
    report = Report(
        baseline="0" * 10,
        target="1" * 10,
        method="auto",
        changes=[],
        untouched=["two", "three"],
        inherits="0" * 10,
    )
    said = "not touched: inherits 0000000000: 2 benchmarks (perf select says why)"
    assert (
        said in text(report)
        and said in markdown(report).replace("`", "")
        and decode(encode(report)).untouched == ["two", "three"]
    )
    assert "not touched" not in text(Report(baseline="0", target="1", method="auto", changes=[]))


def test_the_hook_selects_where_perf_toml_says_so(project, perf):
    config = (
        '[hook]\nselect = true\n[[job]]\nname = "one"\ncmd = "true"\nexecutions = 1\nwarmup = 0\n'
    )
    parent = project.commit("first", **{"perf.toml": config})
    perf("collect")
    commit = project.commit("document", **{"README.md": "# It\n"})
    announcement = Announcement.open(Repository.find(project.root).home, [parent, commit])
    said = perf("collect", "--committed", f"--announced={announcement.descriptor}", parent, commit)
    assert "left out, since the change cannot touch it" in said.err
