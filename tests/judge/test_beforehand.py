"""What `perf judge` says and decides before anything is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Perf, Project
from judged import HALF, HARMLESS, WORK

BENCH = "import work\n\nprint(work.total(300_000))\n"
BUILT = """build = ["sh build.sh"]

[[job]]
name = "total"
cmd = "make --silent bench"
"""
MAKEFILE = "bench:\n\t@python3 -S bench_total.py\n"
CHANGED = "the change touches what measures or judges it (bench_total.py)"


@pytest.fixture
def worked(project: Project, tmp_path: Path) -> Project:
    files = {"work.py": WORK, "bench_total.py": BENCH, "Makefile": MAKEFILE, "perf.toml": BUILT}
    project.commit("Work", **files, **{"build.sh": f"echo >>{tmp_path}/built\n"})
    return project


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """What is there once a side was built."""
    return tmp_path / "built"


def judged(perf: Perf, *words: str, code: int | None) -> dict[str, Any]:
    said = perf("judge", "--budget", "30s", *words, "--json", code=code)
    document: dict[str, Any] = said.document
    return document


def link(worked: Project) -> None:
    (worked.root / "work.py").unlink()
    (worked.root / "work.py").symlink_to("/etc/hostname")


def test_a_link_that_leads_out_is_rejected_before_a_build(
    worked: Project, perf: Perf, built: Path
) -> None:
    link(worked)
    document = judged(perf, code=6)
    assert document["why"] == "work.py leads out of the project"
    assert document["guard"]["links"]["word"] == "rejected"
    assert not built.exists()


def test_a_file_that_decides_is_no_proof_before_a_build(
    worked: Project, perf: Perf, built: Path
) -> None:
    worked.write("Makefile", MAKEFILE + "\n")
    document = judged(perf, code=4)
    said = "by which a benchmark, a test or a command decides what to run: commit that first"
    assert said in document["why"]
    assert not built.exists()


@pytest.mark.parametrize("expected", ["faster", "smaller:maxrss"])
def test_a_change_of_the_benchmark_alone_is_refuted_before_a_build(
    worked: Project, perf: Perf, built: Path, expected: str
) -> None:
    worked.write("bench_total.py", BENCH.replace("300_000", "3"))
    document = judged(perf, "--expect", expected, code=3)
    assert document["why"] == "nothing differs from the base but what measures or judges it"
    assert document["guard"]["benchmark_files"]["said"].startswith(CHANGED)
    assert document["restored"] == ["bench_total.py"]
    assert not built.exists()


def test_what_commands_of_correct_read_is_the_bases(worked: Project, perf: Perf) -> None:
    test = "import work, unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n"
    strict = test + "        self.assertEqual(work.total(9), 24)\n"
    worked.commit("Test", **{"test_work.py": strict})
    worked.write("work.py", HALF)
    worked.write("test_work.py", test + "        pass\n")
    document = judged(perf, "--correct", "python3 -m unittest -q test_work", code=6)
    assert document["restored"] == ["test_work.py"]
    assert document["why"].startswith("it fails `python3 -m unittest -q test_work`")
    assert "(test_work.py): both sides" in document["guard"]["benchmark_files"]["said"]


def test_a_file_by_which_a_command_of_correct_decides(worked: Project, perf: Perf) -> None:
    worked.commit("Check", **{"sub/Makefile": "check:\n\tpython3 test.py\n"})
    worked.write("sub/Makefile", "check:\n\ttrue\n")
    document = judged(perf, "--correct", "make -C sub check", code=4)
    assert "it touches sub/Makefile, by which" in document["why"]


def test_what_is_the_bases_is_said_before_a_build(worked: Project, perf: Perf) -> None:
    worked.write("bench_total.py", BENCH.replace("300_000", "3"))
    worked.write("work.py", HALF)
    said = perf("judge", "--budget", "20s", code=None).err
    assert 0 <= said.index(CHANGED) < said.index("preparing")


def test_what_the_plain_executions_show_for_good_ends_the_judgement(
    worked: Project, perf: Perf
) -> None:
    worked.write("work.py", HALF)
    document = judged(perf, "--same-output", code=6)
    assert document["why"] == "the output of total differs from the base's"
    assert document["cost"]["pairs"] == 0


def test_a_build_that_changes_the_base_ends_the_judgement(worked: Project, perf: Perf) -> None:
    other = "for other in ../*/work.py; do [ $other -ef work.py ] || echo '#' >>$other; done\n"
    worked.write("build.sh", other)
    document = judged(perf, code=6)
    assert document["guard"]["folders"]["word"] == "rejected"
    assert document["cost"]["pairs"] == 0


def patch(worked: Project, name: str) -> str:
    """A file with what differs from HEAD, which is there again afterwards."""
    Path(name).write_text(worked.git("diff", "--binary") + "\n")
    worked.git("checkout", "--quiet", ".")
    return name


def test_only_those_that_files_do_not_decide_compete(worked: Project, perf: Perf) -> None:
    link(worked)
    names = [patch(worked, "link.patch")]
    worked.write("work.py", HALF)
    names.append(patch(worked, "half.patch"))
    worked.write("work.py", HARMLESS)
    names.append(patch(worked, "same.patch"))
    options = ("--tournament", *names, "--same-output", "--budget", "30s", "--json")
    places = perf("judge", *options, code=None).document["places"]
    assert [(place["place"], place["ruling"]["target"]) for place in places] == [
        (1, "same.patch"),
        (None, "link.patch"),
        (None, "half.patch"),
    ]
    assert [place["ruling"]["verdict"] for place in places[1:]] == ["rejected", "rejected"]


@pytest.mark.parametrize("other", [HALF, None])
def test_a_tournament_of_which_none_is_left(worked: Project, perf: Perf, other: str | None) -> None:
    link(worked)
    names = [patch(worked, "link.patch")]
    if other is None:
        link(worked)
    else:
        worked.write("work.py", other)
    names.append(patch(worked, "other.patch"))
    options = ("--tournament", *names, "--same-output", "--budget", "30s", "--json")
    standings = perf("judge", *options, code=6).document
    assert {place["ruling"]["verdict"] for place in standings["places"]} == {"rejected"}
    assert standings["cost"]["pairs"] == 0


def test_one_that_cannot_be_built_beside_one_that_is_wrong(worked: Project, perf: Perf) -> None:
    worked.write("build.sh", "exit 1\n")
    names = [patch(worked, "unbuilt.patch")]
    worked.write("work.py", HALF)
    names.append(patch(worked, "half.patch"))
    options = ("--tournament", *names, "--same-output", "--budget", "30s", "--json")
    places = perf("judge", *options, code=None).document["places"]
    verdicts = {place["ruling"]["target"]: place["ruling"]["verdict"] for place in places}
    assert verdicts == {"unbuilt.patch": "failed", "half.patch": "rejected"}


def test_one_whose_build_leaves_no_room_for_the_hidden_file(worked: Project, perf: Perf) -> None:
    """The others go on."""
    worked.write("build.sh", "mkdir size.txt\n")
    names = [patch(worked, "room.patch")]
    worked.write("work.py", HALF)
    names.append(patch(worked, "half.patch"))
    hidden = worked.root.parent / "size.txt"
    hidden.write_text("9\n")
    options = ("--tournament", *names, "--hidden", str(hidden), "--same-output", "--budget", "30s")
    places = perf("judge", *options, "--json", code=None).document["places"]
    rulings = {place["ruling"]["target"]: place["ruling"] for place in places}
    assert rulings["room.patch"]["verdict"] == "failed"
    assert "size.txt: Is a directory" in rulings["room.patch"]["why"]
    assert rulings["half.patch"]["verdict"] == "rejected"


def test_a_check_says_first_what_the_change_does_to_its_judge(worked: Project, perf: Perf) -> None:
    worked.commit("Less", **{"bench_total.py": BENCH.replace("300_000", "3"), "work.py": HALF})
    said = perf("check", "--measure", "HEAD~1", "HEAD", "-n", "2", code=None).err
    changes = said.index("This change also changes how it is judged: the benchmark bench_total.py")
    assert changes < said.index("preparing")
