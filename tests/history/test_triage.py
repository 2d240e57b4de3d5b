"""`perf history`: what became slower and still is, what is certain of it, and what is to be checked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from conftest import Project
from histories import OTHER, PARSE, SORT, Perf, grow, measured, printed, stepped, store
from samples import sample_profile

from perfvcs.profile import Resources


def jobs(count: int) -> list[Any]:
    return [msgspec.structs.replace(SORT, name=f"sort {number}") for number in range(count)]


def first_screen(perf: Perf) -> str:
    return perf("history").flat


def test_a_step_that_holds_is_certain(commits: list[str], perf: Perf) -> None:
    store(*measured(commits, stepped(40, 25)))
    (step,) = printed(perf)["findings"]
    assert (step["state"], step["certain"], step["doubts"]) == ("open", True, [])
    assert (step["holds"], step["newest"], step["switches"]) == (5, 5, False)
    assert "to check" not in perf("history").out


def test_a_step_whose_newest_values_are_back_is_to_be_checked(
    commits: list[str], perf: Perf
) -> None:
    levels = stepped(40, 20, 0.010, 0.012)
    levels[-5::2] = [0.0101, 0.0100, 0.0102]
    store(*measured(commits, levels))
    (step,) = printed(perf)["findings"]
    assert (step["state"], step["holds"], step["newest"]) == ("open", 2, 5)
    assert not step["certain"]
    assert "to check: less than half of the newest values hold it (2 of 5)" in first_screen(perf)
    assert "1 degradation; still slower: 1 to check at 1 commit" in first_screen(perf)


def test_a_series_that_goes_to_and_fro_is_to_be_checked(project: Project, perf: Perf) -> None:
    commits = grow(project, 80)
    levels = [0.010 if number // 20 % 2 == 0 else 0.012 for number in range(80)]
    store(*measured(commits, levels))
    newest, *others = (step for step in printed(perf)["findings"] if step["effect"] > 0)
    assert newest["switches"]
    assert newest["doubts"] == ["its series goes to and fro across it"]
    assert [step["reason"][:10] for step in others] == ["undone by "]
    assert "undone by" not in perf("history").out
    assert "over: undone by" in perf("history", "--all").out


def test_a_change_that_another_series_of_the_benchmark_lays_to_one_commit_is_listed_there(
    commits: list[str], perf: Perf
) -> None:
    levels = stepped(40, 25)
    seldom = slice(0, 20), slice(30, 40)
    store(
        *measured(commits, levels),
        *measured(
            [commit for part in seldom for commit in commits[part]],
            [level for part in seldom for level in levels[part]],
            seed=2,
            environment=OTHER,
        ),
    )
    steps = {step["commits"]: step for step in printed(perf)["findings"]}
    close, wide = steps[1], steps[11]
    assert close["commit"] == commits[25] and close["certain"]
    assert wide["state"] == "over"
    assert wide["reason"] == f"it was {commits[25][:10]}, as its wall time shows"
    assert "still slower: 1 certain at 1 commit" in first_screen(perf)
    assert wide["commit"][:10] not in first_screen(perf)
    assert sum("lasting" in line for line in perf("log", "-n", "40").out.splitlines()) == 1


def test_what_many_benchmarks_do_at_once_is_first_asked_of_the_machine(
    commits: list[str], perf: Perf
) -> None:
    store(
        *(
            profile
            for number, job in enumerate(jobs(9))
            for profile in measured(
                commits, stepped(40, 25) if number < 7 else [0.010] * 40, seed=number, job=job
            )
        ),
        *measured(commits, [0.010] * 40, seed=20, job=PARSE, environment=OTHER),
    )
    assert not any(step["certain"] for step in printed(perf)["findings"])
    said = first_screen(perf)
    assert (
        "to check 7 of 7: 7 of 9 benchmarks moved at once, in other environments 0 of 1: first ask"
        " whether the machine or the benchmarks changed" in said
    )
    (alone,) = printed(perf, "sort 1")["findings"]
    assert (
        alone["doubts"]
        and f"to check: {alone['doubts'][0]}" in perf("show", "sort 1", "--text").flat
    )


def test_what_may_be_where_many_benchmarks_step_is_asked_of_the_machine_too(
    commits: list[str], perf: Perf
) -> None:
    on_the_way = stepped(40, 25)
    on_the_way[24] = 0.01055
    store(
        *(
            profile
            for number, job in enumerate(jobs(9))
            for profile in measured(
                commits, stepped(40, 25) if number else on_the_way, seed=number, job=job
            )
        )
    )
    steps = {step["job"]: step for step in printed(perf)["findings"]}
    assert (steps["sort 0"]["commit"], steps["sort 0"]["last"]) == (commits[24], commits[25])
    assert steps["sort 0"]["doubts"] == steps["sort 1"]["doubts"]


def test_a_reason_that_differs_by_its_numbers_is_said_once(commits: list[str], perf: Perf) -> None:
    store(
        *(
            profile
            for number, job in enumerate(jobs(9))
            for environment in ({}, {"environment": OTHER})
            for profile in measured(
                commits,
                stepped(40, 25) if number < 7 - len(environment) else [0.010] * 40,
                seed=number,
                job=job,
                **environment,
            )
        )
    )
    assert first_screen(perf).count("benchmarks moved at once") == 1


def test_a_few_benchmarks_that_share_a_function_are_no_machine(
    commits: list[str], perf: Perf
) -> None:
    store(
        *(
            profile
            for number, job in enumerate(jobs(5))
            for profile in measured(commits, stepped(40, 25), seed=number, job=job)
        )
    )
    assert all(step["certain"] for step in printed(perf)["findings"])


def test_what_is_measured_no_longer_is_left_out_with_its_number(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 80, days=1)
    store(
        *measured(commits[:40], stepped(40, 25)),
        *measured(commits, [0.010] * 80, job=PARSE),
        *measured(commits, stepped(80, 60), job=jobs(1)[0], seed=3),
    )
    by_job = {step["job"]: step for step in printed(perf)["findings"]}
    assert by_job["sort 0"]["certain"]
    assert by_job["sort"]["state"] == "over"
    assert by_job["sort"]["reason"] == "not measured since 2023-12-23"
    assert "2 degradations; still slower: 1 certain at 1 commit" in first_screen(perf)
    assert "not shown: 1 step" in first_screen(perf)


def test_what_costs_most_comes_first_and_certain_before_doubted(
    commits: list[str], perf: Perf
) -> None:
    small, large, doubted = jobs(3)
    levels = stepped(40, 20, 1.0, 1.5)
    levels[-5::2] = [1.0, 1.0, 1.0]
    store(
        *measured(commits, stepped(40, 30, 0.001, 0.002), job=small),
        *measured(commits, stepped(40, 15, 0.100, 0.110), job=large, seed=2),
        *measured(commits, levels, job=doubted, seed=3),
    )
    out = perf("history", "-n", "5").out
    places = [out.index(commits[turn][:10] + "  ") for turn in (15, 30, 20)]
    assert places == sorted(places)
    assert places[1] < out.index("to check:") < places[2]


def test_no_more_than_ten_commits_are_listed(project: Project, perf: Perf) -> None:
    commits = grow(project, 60)
    store(
        *(
            profile
            for number, job in enumerate(jobs(12))
            for profile in measured(
                commits, stepped(60, 8 + 4 * number, 0.010, 0.013), seed=number, job=job
            )
        )
    )
    out = perf("history").out
    assert 3 <= len({commit for commit in commits if f"\n{commit[:10]}  " in out}) <= 10
    assert len(out.splitlines()) <= 24
    assert "not shown: " in out
    assert len(printed(perf)["findings"]) >= 12


def test_log_and_show_say_of_a_step_what_the_history_says(project: Project, perf: Perf) -> None:
    commits = grow(project, 80)
    store(*measured(commits, [0.010 if turn // 20 % 2 == 0 else 0.012 for turn in range(80)]))
    rows = [line for line in perf("log", "-n", "80").out.splitlines() if "lasting degr" in line]
    became = [re.search(r"[%\]], (.+?)  sort, wall time$", line) for line in rows]
    assert [match and match[1] for match in became] == ["to check", "undone later"]
    document = perf("log", "-n", "80", "--json").document
    steps = [step for row in document["commits"] for step in row["steps"]]
    assert {(step["state"], step["certain"]) for step in steps} == {
        ("open", False),
        ("improvement", False),
        ("over", False),
    }
    shown = perf("show", "sort", "--text").flat
    assert "to check: its series goes to and fro across it" in shown
    assert "over: undone by" in shown
    perf("publish", "site", "--profiles", "0")
    (page,) = Path("site/commits").glob(f"{commits[60][:8]}*.json")
    (step,) = json.loads(page.read_text())["page"]["steps"]
    assert step["reason"] == "to check: its series goes to and fro across it"


def test_odd_series_are_judged_without_a_word_too_much(project: Project, perf: Perf) -> None:
    commits = grow(project, 60, days=1)
    noise = Random(2)
    odd: dict[str, list[float]] = {
        "one": [1.0],
        "two": [1.0, 9.0],
        "three": [1.0, 9.0, 9.0],
        "equal": [5.0] * 60,
        "zeros": [0.0] * 60,
        "negative": [-1.0 - number % 3 for number in range(60)],
        "alternate": [1.0 + 0.2 * (number % 2) for number in range(60)],
        "unknown": [
            float("nan") if number % 5 == 0 else noise.lognormvariate(0, 0.01)
            for number in range(60)
        ],
        "beyond": [1e-300] * 40 + [1e300] * 20,
        "counts": [7.0] * 40 + [8.0] * 20,
    }
    for name, levels in odd.items():
        job = msgspec.structs.replace(SORT, name=name)
        store(*measured(commits[-len(levels) :], levels, spread=0.0, job=job))
    found = {step["job"]: step for step in printed(perf)["findings"]}
    assert {name: step["word"] for name, step in found.items()} == {
        "beyond": "degradation",
        "counts": "degradation",
    }
    assert found["beyond"]["effect"] > 1e100
    assert {"inf", "+inf", "nan"}.isdisjoint(perf("history", "--all").out.split())


def test_two_thousand_series_of_one_commit_and_a_series_that_begins_anew(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 60, days=20)
    rows = Resources(
        names=[f"unit {number}" for number in range(2000)],
        uid=list(range(2000)),
        execution=[0] * 2000,
        metrics={"wall": [1.0 + number for number in range(2000)]},
    )
    store(
        sample_profile((), commit=commits[-1], job=PARSE, resources=rows),
        *measured([*commits[:20], *commits[40:]], [0.010] * 20 + [0.013] * 20),
    )
    (step,) = printed(perf)["findings"]
    # of the 21 commits that it may be, one was measured
    assert (step["state"], step["certain"], step["first"]) == ("open", True, commits[20])
    assert step["commits"] == 21
    assert "not settled in turns: 2,000 series" in first_screen(perf)
