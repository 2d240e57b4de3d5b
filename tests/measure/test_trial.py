"""`perf init` proposes what runs: each proposal is built and run once, until one does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import Project, Said

from perfvcs.collector import Observations
from perfvcs.jobs import matrix
from perfvcs.jobs.config import load
from perfvcs.jobs.proposals import PYTEST
from perfvcs.jobs.starter import Proposal
from perfvcs.measure import trial

Perf = Callable[..., Said]
MAKEFILE = "all:\n\t@true\nbench:\n\tfalse\ncheck:\n\t@sleep 0.1\n"


def worktrees(project: Project) -> int:
    return len(project.git("worktree", "list").splitlines())


@pytest.mark.needs("make")
def test_what_does_not_run_is_passed_over_and_what_does_is_collected_without_editing(project: Project, perf: Perf) -> None:
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
@pytest.mark.parametrize("how", ["--no-try", "no commit", "kept"])
def test_nothing_is_run_unless_it_is_asked_for_and_possible(project: Project, perf: Perf, how: str) -> None:
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
    from perfvcs.lock import hold
    from perfvcs.repository import Repository

    project.commit(Makefile=MAKEFILE)
    repository = Repository.find(project.root, create=True)
    with hold(repository.home / "lock"):
        said = perf("init", code=11)
    assert said.err.count("\n") == 1
    assert not (project.root / "perf.toml").exists()


def test_what_takes_too_long_is_not_proposed(project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "LONGEST", 0.5)
    project.write("bench/run.sh", "sleep 60")
    project.commit()
    said = perf("init")
    assert "(it did not run here)" in said.out
    assert matrix(load(project.root / "perf.toml"))[0].cmd == "sh bench/run.sh"


def test_of_a_suite_that_takes_long_the_most_expensive_tests_are_proposed() -> None:
    seen = Observations(
        uid=["tests/a.py::one[1]", "tests/a.py::one[2]", "tests/a.py::slow", "tests/b.py::quick (once)", "tests/b.py::endless"],
        values={"wall": [4.0, 4.0, 9.0, 0.5, 90.0]}, metrics={},
    )  # fmt: skip
    tests = Proposal("a Python project with tests", "python -m pytest tests", "tests", python=(".",), collector=PYTEST)
    assert trial._bounded(tests, seen, 20.0) == (tests, 20.0)
    bounded, seconds = trial._bounded(tests, seen, 120.0)
    assert bounded.cmd == "python -m pytest tests/a.py::slow tests/a.py::one tests/b.py::quick"
    assert bounded.found.endswith("the 3 most expensive of 4, 16 % of their time")
    assert seconds == pytest.approx(120 * 17.5 / 107.5)


def test_long_executions_are_proposed_less_often_and_get_time() -> None:
    one = Proposal("x", "make bench", "bench")
    assert "executions = 10 " in one.toml(0.1)
    assert 'timeout = "60s"' in one.toml(0.1)
    assert "executions = 5 " in one.toml(30)
    assert 'timeout = "180s"' in one.toml(30)
