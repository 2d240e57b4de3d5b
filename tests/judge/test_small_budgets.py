"""What a budget does not hold is said before it is begun."""

from __future__ import annotations

import math
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Perf, Project
from judged import HARMLESS, SETTINGS, WORK

from perfvcs.judge.attempt import Attempt
from perfvcs.judge.candidate import Target
from perfvcs.judge.correctness import Correctness, HiddenFiles
from perfvcs.judge.expectation import Expectation
from perfvcs.judge.judgerequest import JudgeRequest
from perfvcs.judge.plain import BASE, Plain, Side
from perfvcs.judge.trials import Trials, Unaffordable, _Executor
from perfvcs.measure.executor import LocalExecutor


def trials(tmp_path: Path, seconds: float) -> Trials:
    """Those of one candidate, with so many seconds left."""
    hidden = HiddenFiles(tmp_path, ())
    return Trials(seconds, Correctness([], 0.0), [], lambda _: {}, hidden, spent=2.0)


def test_a_side_that_cannot_be_prepared_any_more_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[int] = []
    monkeypatch.setattr(
        LocalExecutor, "_prepare", lambda _self, position, *_: built.append(position)
    )
    executor: Any = object.__new__(_Executor)
    executor.sites = SimpleNamespace(folders=lambda _: [], home=tmp_path)
    executor._by_builds, executor._took = {}, 0.0
    executor.cells, executor.versions = [], [None, None]
    kind = SimpleNamespace(number=0)
    executor._trials = trials(tmp_path, 1.0)
    with pytest.raises(Unaffordable, match=r"^preparing what is compared takes 2.* or more"):
        executor._prepare(BASE, kind, None)  # laying out took 2 s
    executor._trials = trials(tmp_path, 1_000.0)
    executor._prepare(BASE, kind, None)
    executor._took = 1e6  # of which the target may share the most
    executor._trials.end = time.monotonic() + 1
    with pytest.raises(Unaffordable, match=r"^preparing what is compared takes 2"):
        executor._prepare(1, kind, None)
    assert built == [BASE]
    executor._trials.end += 1_000
    executor._prepare(1, kind, None)
    assert built == [BASE, 1]


def test_executions_that_would_show_nothing_are_not_begun(tmp_path: Path) -> None:
    tried = trials(tmp_path, 5.0)
    tried.early = {0: Side(seconds=[1.0, 1.0]), 1: Side(seconds=[90.0])}
    with pytest.raises(Unaffordable, match=r"^executing both sides takes 6.* or more"):
        tried.run(SimpleNamespace(), None, SimpleNamespace(), lambda _: None)
    tried.end = 0.0
    tried.early = {}
    with pytest.raises(Unaffordable, match=r"^nothing is left for executing both sides$"):
        tried.run(SimpleNamespace(), None, SimpleNamespace(), lambda _: None)


def test_a_larger_budget_is_named() -> None:
    asked = JudgeRequest("0" * 40, Target(), Expectation(), {}, budget=3.0)
    said = asked.too_small(Unaffordable("preparing takes 5 s or more", 5.0), time.monotonic() - 2)
    assert said.startswith("a budget of 3 s is too small: preparing takes 5 s or more; give 1")
    assert said.endswith(" s or more")


def test_a_command_that_has_no_time_is_not_run_and_nothing_is_proved(tmp_path: Path) -> None:
    def place(_: int) -> Any:
        raise AssertionError("it was run")

    correct = Correctness(["make test"], time.monotonic() + 0.5)
    correct(SimpleNamespace(place=place, home=tmp_path), 1, None, lambda _: None)
    assert correct.check.word == "doubted"
    assert correct.check.said == "the budget ended before `make test` could be run"


def test_no_plain_execution_begins_after_the_end() -> None:
    attempt: Any = object.__new__(Attempt)
    attempt.plain = Plain("total", 1, drawn=False, apart=False)
    attempt.number, attempt._seed = 0, 1
    attempt._sites = SimpleNamespace(cells=[SimpleNamespace(exact=True)])
    attempt._is_over, attempt._took, attempt.end = False, 2.0, time.monotonic() + 1
    assert not attempt.more()
    attempt.end = 0.0
    attempt.turn(1)
    assert (attempt.plain.base, attempt.plain.target) == (Side(), Side())
    attempt.end = math.inf
    assert attempt.more()
    assert not attempt.plain.target.seconds  # it is over


@pytest.mark.parametrize("options", [(), ("--tournament", "half.patch", "same.patch")])
def test_a_budget_that_holds_nothing_ends_undecided(
    project: Project, perf: Perf, options: tuple[str, ...]
) -> None:
    project.commit(
        "Work", **{"work.py": WORK, "bench_total.py": "import work\n", "perf.toml": SETTINGS}
    )
    for name in ("half.patch", "same.patch"):
        project.write("work.py", HARMLESS + f"# {name}\n")
        (project.root / name).write_text(project.git("diff") + "\n")
    said = perf("judge", *options, "--budget", "0.01s", "--json", code=4)
    document = said.document
    rulings = [place["ruling"] for place in document.get("places", ())] or [document]
    assert len(rulings) == (len(options) - 1 if options else 1)
    for ruling in rulings:
        assert ruling["verdict"] == "not decided"
        assert "is too small: preparing what is compared takes " in ruling["why"]
    assert "preparing" not in said.err
