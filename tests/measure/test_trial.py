"""`perf init` proposes what runs: each proposal is built and run once, until one does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import Project, Said

from perfvcs.jobs import matrix
from perfvcs.jobs.config import load
from perfvcs.jobs.proposals import proposals
from perfvcs.jobs.pythonoffers import PYTEST
from perfvcs.jobs.starter import Proposal
from perfvcs.measure import trial
from perfvcs.plugins.collector import Observations

Perf = Callable[..., Said]
MAKEFILE = "all:\n\t@true\nbench:\n\tfalse\ncheck:\n\t@sleep 0.1\n"


def worktrees(project: Project) -> int:
    return len(project.git("worktree", "list").splitlines())


@pytest.mark.needs("make")
def test_what_does_not_run_is_passed_over_and_what_does_is_collected_without_editing(
    project: Project, perf: Perf
) -> None:
    project.commit(Makefile=MAKEFILE)
    said = perf("init")
    assert "trying `make bench` after make -j2" in said.err
    assert "it does not run: bench on" in said.err
    assert "wrote perf.toml: a project with a Makefile: make check" in said.out
    assert "`make check` runs in " in said.out
    assert "; perf collect will take about " in said.out
    assert "stored 1 profile" in perf("collect").out
    assert worktrees(project) == 1
    assert project.git("status", "--porcelain") == "?? perf.toml"


@pytest.mark.needs("make")
def test_a_build_that_failed_is_not_tried_again(project: Project, perf: Perf) -> None:
    project.commit(**{"configure": "#!/bin/sh\nexit 3\n"})
    said = perf("init")
    assert said.err.count("trying ") == 1
    assert "wrote perf.toml: a project with configure: make bench (it did not run here)" in said.out
    assert "next: look at perf.toml, correct what it runs, commit it" in said.out


@pytest.mark.needs("make")
def test_all_trials_together_have_a_bound(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.commit(Makefile=MAKEFILE)
    monkeypatch.setattr(trial, "ALL_TRIALS_SECONDS", 0.0)
    said = perf("init")
    assert "trying `" not in said.err and "no other command is tried: the trials took" in said.err
    assert (
        "wrote perf.toml: a project with a Makefile: make bench (it did not run here)" in said.out
    )


@pytest.mark.needs("make")
@pytest.mark.parametrize("how", ["--no-try", "no commit", "kept"])
def test_nothing_is_run_unless_it_is_asked_for_and_possible(
    project: Project, perf: Perf, how: str
) -> None:
    project.write("Makefile", "all:\nbench:\n\ttouch ../ran\n")
    if how != "no commit":
        project.commit()
    if how == "kept":
        project.write("perf.toml", "")
    said = perf("init", *(["--no-try"] if how == "--no-try" else []))
    assert "trying" not in said.err
    assert ("(not tried)" in said.out) == (how != "kept")
    assert not list(project.root.parent.rglob("ran"))


@pytest.mark.needs("make")
def test_another_run_is_not_disturbed(project: Project, perf: Perf) -> None:
    from perfvcs.repository import Repository
    from perfvcs.system.lock import hold

    project.commit(Makefile=MAKEFILE)
    repository = Repository.find(project.root, create=True)
    with hold(repository.home / "lock"):
        said = perf("init", code=11)
    assert said.err.count("\n") == 1
    assert not (project.root / "perf.toml").exists()


def test_what_takes_too_long_is_not_proposed(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "LONGEST_EXECUTION", 0.5)
    project.write("bench/run.sh", "sleep 60")
    project.commit()
    said = perf("init")
    assert "(it did not run here)" in said.out
    assert matrix(load(project.root / "perf.toml"))[0].cmd == "sh bench/run.sh"


def bounded(once: float, **spent: float) -> tuple[str, str, float]:
    """Command, reason and seconds of a suite that takes so long when each of these tests runs
    once.
    """
    uids = [name.replace("__", "::") for name in spent]
    seen = Observations(uid=uids, values={"wall": list(spent.values())}, metrics={})
    tests = Proposal("tests", "python -m pytest tests", "tests", python=(".",), collector=PYTEST)
    found, seconds = trial._bounded(tests, seen, once)
    return found.cmd, found.found, seconds


def test_a_short_suite_is_proposed_whole() -> None:
    assert bounded(2.0, a__one=0.01, b__two=1.0) == (
        "python -m pytest tests",
        "tests",
        pytest.approx(2 + 0.05 + 1.1),
    )


def test_of_a_suite_that_takes_long_the_most_expensive_files_are_proposed() -> None:
    """All of it takes 90 s, a file with 9 of 60 s of the tests 13.5 s."""
    spent = {f"f{number}__one": 9.0 for number in range(6)} | {
        "small__one": 3.0,
        "small__two[1]": 2.0,
        "small__two[2]": 1.0,
    }
    cmd, found, seconds = bounded(
        90.0 - sum(min(5 * value, value + 0.1) for value in spent.values()), **spent
    )
    assert cmd == "python -m pytest f0"
    assert found == "tests: those with 15 % of the time of all 8"
    assert seconds == pytest.approx(13.5)


def test_where_each_file_takes_long_tests_are_named() -> None:
    cmd, _, seconds = bounded(
        100.0, a__endless=90.0, **{"a__one[1]": 2.0, "a__one[2]": 2.0, "a__two": 1.0}
    )
    assert cmd == "python -m pytest a::one a::two"
    assert seconds < 20


def test_one_endless_test_is_proposed_as_it_is() -> None:
    assert bounded(100.0, a__endless=90.0)[0] == "python -m pytest tests"


def test_long_executions_are_proposed_less_often_and_get_time() -> None:
    one = Proposal("x", "make bench", "bench")
    assert "executions = 10 " in one.toml(0.1)
    assert 'timeout = "60s"' in one.toml(0.1)
    assert "executions = 5 " in one.toml(30)
    assert 'timeout = "180s"' in one.toml(30)


def test_tests_of_pytest_benchmark_are_proposed_by_their_own_files(project: Project) -> None:
    project.write("pyproject.toml", "[project]\nname = 'demo'\n")
    project.write(
        "tests/test_speed.py",
        "def test_sort(tmp_path, benchmark):\n    benchmark(sorted, [2, 1])\n",
    )
    project.write(
        "tests/test_plain.py", "def test_names():\n    benchmark = 1\n    assert benchmark\n"
    )
    first, second, third = proposals(project.root)[:3]
    assert first.cmd == "python -m pytest --benchmark-disable tests/test_speed.py"
    assert first.collector == PYTEST
    assert first.requires == ("pytest", "pytest-benchmark")
    assert second.cmd == "python -m pytest tests/test_speed.py"  # where the first one does not run
    assert third.cmd == "python -m pytest tests"


def test_options_remain_where_only_the_most_expensive_tests_are_proposed() -> None:
    cmd = "python -m pytest --benchmark-disable tests"
    seen = Observations(uid=["a::one", "b::two"], values={"wall": [90.0, 9.0]}, metrics={})
    tests = Proposal("tests", cmd, "tests", python=(".",), collector=PYTEST)
    assert trial._bounded(tests, seen, 100.0)[0].cmd == "python -m pytest --benchmark-disable b"


@pytest.mark.parametrize(
    ("include", "options"),
    [
        ("#include <benchmark/benchmark.h>", "--benchmark_min_time=1e-9"),
        ("# include <catch2/catch_test_macros.hpp>", "--benchmark-no-analysis"),
        ("// as benchmark/benchmark.h does", ""),
    ],
)
def test_a_program_that_fits_its_work_to_the_clock_is_proposed_with_the_same_work(
    project: Project, include: str, options: str
) -> None:
    project.write("bench/CMakeLists.txt", "add_executable(bench_sort main.cpp\n  sort.cpp)")
    project.write("CMakeLists.txt", "add_subdirectory(bench)")
    project.write("bench/sort.cpp", f"{include}\n")
    cmds = [one.cmd for one in proposals(project.root)]
    plain = "build/bench/bench_sort"
    assert plain in cmds
    assert cmds[0].startswith(f"{plain} {options}" if options else plain)
    assert (cmds[0] != plain) == bool(options)


def test_tests_without_packaging_are_proposed_with_the_python_that_is_there(
    project: Project,
) -> None:
    project.write("tests/test_names.py", "def test_names():\n    assert True\n")
    only = proposals(project.root)
    assert [(one.cmd, one.python, one.collector) for one in only] == [
        ("python -m pytest tests", None, PYTEST)
    ]


def test_a_module_that_benchmarks_share_is_not_taken_for_one(project: Project) -> None:
    project.write("benchmarks/_harness.py", "")
    project.write("benchmarks/bench_parse.py", "")
    assert proposals(project.root)[0].cmd == "python benchmarks/bench_parse.py"
