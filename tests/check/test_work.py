"""Time and work side by side: what counts settle, and what they take back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from samples import interleaved, noisy, sample_profile

from perfvcs.check import compare
from perfvcs.check.answer import headline
from perfvcs.check.change import Change, Report
from perfvcs.check.executedwork import beside
from perfvcs.check.text import text
from perfvcs.check.vocabulary import direction
from perfvcs.locate.bisect.span import TargetFilter
from perfvcs.profile import Design, Environment, Job, Metric, Profile, Resources

COMMITS = ("a" * 40, "b" * 40)


def counted(values: tuple[float, float], metric: str, commit: str) -> Profile:
    """Two counted executions of a job."""
    rows = Resources(names=["sort"], uid=[0, 0], execution=[0, 1], metrics={metric: [*values]})
    return sample_profile(
        commit=commit,
        job=Job(name="sort", collector=metric, cmd="./sort", engine="counts/1"),
        design=Design(executions=2),
        metrics={metric: Metric("", "lower", "deterministic")},
        resources=rows,
    )


def report(
    times: float,
    work: float,
    *,
    spread: float = 0.002,
    metric: str = "instructions",
    varies: float = 0.0,
    **fields: Any,
) -> Report:
    """Both sides in turns, the second with these factors of time and work."""
    walls = [noisy(0.01, spread=spread), noisy(0.01 * times, seed=2, spread=spread)]
    sides = interleaved(COMMITS, walls, **fields)
    amounts = [(1e6 * factor, 1e6 * factor * (1 + varies)) for factor in (1, work)]
    return compare(
        [sides[0], counted(amounts[0], metric, COMMITS[0])],
        [sides[1], counted(amounts[1], metric, COMMITS[1])],
    )


def wall(found: Report) -> Change:
    (change,) = [change for change in found.changes if change.metric == "wall"]
    return change


def test_work_settles_what_time_leaves_open() -> None:
    assert not wall(report(1.01, 1.0, spread=0.03)).settled
    change = wall(report(1.01, 1.032, spread=0.03))
    assert (change.word, change.gate) == ("degradation", False)
    assert change.reason == "the work differs: it executes 3.2 % more instructions"
    assert wall(report(0.98, 0.968, spread=0.03)).word == "improvement"


def test_both_stand_in_one_line() -> None:
    found = report(1.05, 1.032)
    assert "; executes 3.2 % more instructions" in headline(found)
    assert "executes 3.2 % more instructions" in text(found)
    assert "executes as many instructions" in headline(report(1.05, 1.0))


def test_a_search_for_the_commit_follows_the_count_where_time_leaves_it_open() -> None:
    wanted = TargetFilter()
    by_work = wanted.target(report(1.01, 1.032, spread=0.03))
    assert by_work is not None and by_work.change.metric == "instructions"
    assert by_work.choice == "follows sort, instructions, since its wall time alone leaves it open"
    by_time = wanted.target(report(1.05, 1.032))
    assert by_time is not None and (by_time.change.metric, by_time.choice) == ("cpu", "")


@pytest.mark.parametrize(
    ("work", "metric", "followed"),
    [
        (1.06, "instructions", "instructions"),
        (1.025, "instructions", "instructions"),
        (1.01, "instructions", "cpu"),
        (1.06, "bytecodes", "bytecodes"),
        (1.3, "bytecodes", "bytecodes"),
        (1.025, "bytecodes", "cpu"),
    ],
)
def test_a_search_follows_the_count_of_a_unit_that_explains_its_time(
    work: float, metric: str, followed: str
) -> None:
    """Instructions are all that it executes, bytecodes leave out the functions of C."""
    whole = report(1.05, work, spread=0.04, metric=metric)
    assert 0.01 < wall(whole).low < 0.025
    of_job = TargetFilter().target(whole)
    assert of_job is not None and of_job.change.metric == "cpu"
    unit = structs.replace(
        whole, changes=[structs.replace(change, uid="up") for change in whole.changes]
    )
    found = TargetFilter().target(unit)
    assert found is not None and found.change.metric == followed
    why = ", since they explain its CPU time and vary less"
    assert found.choice == (f"follows sort: up, {followed}{why}" if followed == metric else "")


@pytest.mark.parametrize(
    ("times", "work"),
    [(1.0, 1.005), (0.9, 1.03), (0.995, 1.03)],
    ids=["less than delta", "time says the opposite", "time moved the other way"],
)
def test_work_settles_nothing_else(times: float, work: float) -> None:
    assert wall(report(times, work, spread=0.03)).word != "degradation"


@pytest.mark.parametrize("times", [1.05, 0.95])
def test_time_that_moves_without_instructions_is_suspected(times: float) -> None:
    change = wall(report(times, 1.0))
    assert (change.word, change.gate, change.layout) == ("suspected", False, True)
    assert change.reason == "same instructions: layout, caches or memory"


@pytest.mark.parametrize("times", [1.6, 0.6])
def test_no_layout_moves_time_so_far(times: float) -> None:
    """As a sleep does, or a walk through memory in another order."""
    change = wall(report(times, 1.0))
    assert (change.word, change.gate) == (direction(change, times - 1), times > 1)
    assert change.work == "executes as many instructions"


@pytest.mark.parametrize(("low", "word"), [(-0.01, "degradation"), (0.045, "suspected")])
def test_a_wall_time_that_cpu_time_does_not_follow_is_waiting(low: float, word: str) -> None:
    """No count says anything of that."""
    walls = [noisy(0.01, spread=0.002), noisy(0.0105, seed=2, spread=0.002)]
    moved = wall(compare(*([side] for side in interleaved(COMMITS, walls))))
    amounts = [[counted((1e6, 1e6), "instructions", commit)] for commit in COMMITS]
    (count,) = compare(*amounts).changes
    cpu = structs.replace(moved, metric="cpu", effect=low, low=low, high=low + 0.02)
    assert beside([moved, cpu, count], [], [])[0].word == word


def test_time_that_falls_while_more_is_executed_is_suspected() -> None:
    change = wall(report(0.95, 1.02))
    assert (change.word, change.layout) == ("suspected", True)
    assert change.reason == "it executes 2.0 % more instructions: layout, caches or memory"
    # no layout moves time so far, and nothing takes a slowdown back
    assert wall(report(0.6, 1.02)).word == "improvement"
    assert wall(report(1.05, 0.98)).word == "degradation"


def test_over_layouts_that_were_drawn_it_is_what_it_is() -> None:
    fields = {"cpu": "test", "layouts": "drawn"}
    change = wall(report(1.05, 1.0, environment=Environment(fields, "0123456789ab")))
    assert (change.word, change.gate) == ("degradation", True)
    assert change.reason == "same instructions: layout, caches or memory"


def test_equal_bytecodes_take_nothing_back() -> None:
    change = wall(report(1.05, 1.0, metric="bytecodes"))
    assert (change.word, change.work) == ("degradation", "executes as many bytecodes")


def test_counts_that_vary_by_themselves_confirm_no_more_than_they_show() -> None:
    assert not wall(report(1.03, 1.02, spread=0.03, varies=0.02)).settled


@pytest.mark.parametrize(("varies", "word"), [(0.05, "suspected"), (0.1, "degradation")])
def test_counts_that_vary_say_so_and_much_of_it_takes_nothing_back(
    varies: float, word: str
) -> None:
    """As those of threads that wait for each other, and of time-outs."""
    change = wall(report(1.05, 1.01, varies=varies))
    assert (change.word, change.gate) == (word, word == "degradation")
    assert change.work == "its instructions vary from execution to execution"


def test_the_instructions_of_python_settle_nothing_where_they_differ() -> None:
    fields = {"cpu": "test", "python": "CPython 3.11.7", "heap": "shuffled"}
    environment = Environment(fields, "0123456789ab")
    change = wall(report(1.01, 1.032, spread=0.03, environment=environment))
    assert not change.settled and not change.work
    assert wall(report(1.05, 1.0, environment=environment)).word == "degradation"


def of_test(
    times: float,
    work: float,
    *,
    spread: float = 0.002,
    divided: bool = True,
    counted_sides: int = 2,
    amount: float = 1e6,
) -> Report:
    """A test of a suite in turns, and its count, the second with these factors; one version cannot
    repeat it.
    """
    walls = [noisy(0.01, spread=spread), noisy(0.01 * times, seed=2, spread=spread)]
    timed = [
        structs.replace(side, resources=replace(side.resources, names=["a.py::test (once)"]))
        for side in interleaved(
            COMMITS, walls, job=Job(name="tests", collector="pytest", cmd="pytest")
        )
    ]
    engine = "instructions/1:unit" if divided else "instructions/1"
    counts = [
        structs.replace(
            counted((amount * factor, amount * factor), "bytecodes", commit),
            job=Job(name="tests", collector="bytecode", cmd="pytest", engine=engine),
        )
        for commit, factor in zip(COMMITS, (1, work), strict=True)
    ]
    counts = [
        structs.replace(side, resources=replace(side.resources, names=["a.py::test"]))
        for side in counts
    ]
    return compare([timed[0], counts[0]], [timed[1], *counts[1:counted_sides]])


def count(found: Report) -> Change:
    (change,) = [change for change in found.changes if change.metric == "bytecodes"]
    return change


def test_the_work_of_a_unit_stands_beside_its_time() -> None:
    assert not wall(of_test(1.01, 1.0, spread=0.03)).settled
    found = of_test(1.01, 1.032, spread=0.03)
    assert (wall(found).word, wall(found).work) == ("degradation", "executes 3.2 % more bytecodes")
    assert (count(found).word, count(found).gate) == ("degradation", True)


def test_a_count_that_time_does_not_follow_fails_nothing() -> None:
    found = of_test(1.0, 1.05)
    assert wall(found).word == "same" and "executes 5.0 % more bytecodes" in wall(found).work
    assert (count(found).word, count(found).gate) == ("suspected", False)
    assert count(found).reason == "time does not follow"
    assert count(of_test(1.0, 1.05, divided=False)).word == "degradation", "a job's own metric"


def test_counts_beside_time_of_one_side_only_are_no_news() -> None:
    found = of_test(1.0, 1.0, counted_sides=1)
    assert "bytecodes" not in [change.metric for change in found.changes]
    assert "missing" not in text(found) and "vanished" not in text(found)
    own = of_test(1.0, 1.0, counted_sides=1, divided=False)
    assert count(own).word == "missing" and "1 missing" in text(own)
    assert "vanished" not in text(own), "it was not counted there"


def test_a_unit_that_executes_less_than_delta_more_is_the_same() -> None:
    assert count(of_test(1.0, 1.005)).word == "same"
    assert count(of_test(1.05, 1.005)).word == "same"
    assert wall(of_test(1.05, 1.005)).word == "degradation"


@pytest.mark.parametrize(("amount", "word"), [(3000.0, "inconclusive"), (1e5, "degradation")])
def test_bytecodes_settle_no_time_that_they_cannot_take(amount: float, word: str) -> None:
    """A tenth of 3,000 takes 15 us at most, and a hundredth of the time is 100 us."""
    found = of_test(1.02, 1.1, spread=0.03, amount=amount)
    assert (wall(found).word, count(found).word) == (
        word,
        "suspected" if word == "inconclusive" else word,
    )


def test_time_leads_where_the_count_moved_more() -> None:
    first = headline(of_test(1.2, 1.9))
    assert "wall time +20" in first and "executes 90.0 % more bytecodes" in first
