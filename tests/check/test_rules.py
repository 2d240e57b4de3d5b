"""The ``[[check]]`` tables of perf.toml, through ``perf check``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from comparisons import profile
from conftest import Perf, Project
from samples import interleaved, noisy
from test_methods import counters, sized, tight

from perfvcs.check import Report, compare
from perfvcs.check.markdown import decode, encode
from perfvcs.check.stopping import interim
from perfvcs.check.text import text
from perfvcs.profile import Job, Metric, Resources
from perfvcs.profile.rules import Rule, Rules
from perfvcs.repository import Repository

JOB = '[[job]]\ncmd = "./sort"\n'


@pytest.fixture
def measured(project: Project) -> Project:
    """Two commits, of which the second is slower; ``sort`` by ``time`` and ``search --deep`` by
    ``perf``, both with wall and CPU time.
    """
    project.begin("two jobs", lambda: _measured(project))
    return project


def _measured(project: Project) -> None:
    commits = [project.commit("one"), project.commit("two")]
    jobs = (
        Job(name="sort", collector="time", cmd="./sort"),
        Job(name="search", collector="perf", cmd="./search", args="--deep"),
    )
    profiles = []
    for place, job in enumerate(jobs):
        walls = [noisy(0.01, seed=2 * place), noisy(0.011, seed=2 * place + 1)]
        profiles += interleaved(commits, walls, session=f"20261120T093000-4f2a9{place}", job=job)
    Repository.find(create=True).store.add(profiles, "test")


def judged(perf: Perf, *arguments: str, code: int | None = 3) -> dict[tuple[str, str], list[str]]:
    """The methods that judged, by job and metric."""
    said = perf("check", "--json", *arguments, code=code)
    report = decode(said.out)
    assert decode(encode(report)) == report
    found: dict[tuple[str, str], list[str]] = {}
    for change in report.changes:
        found.setdefault((change.job, change.metric), []).append(change.method)
    return {key: sorted(methods) for key, methods in found.items()}


@pytest.mark.parametrize(
    ("pattern", "wall", "cpu", "other"),
    [
        ("", "t-test", "t-test", "t-test"),
        ('job = "sort"', "t-test", "t-test", "log-median"),
        ('job = "s*t"', "t-test", "t-test", "log-median"),
        ('job = "search*"', "log-median", "log-median", "t-test"),
        ('job = "search --deep"', "log-median", "log-median", "t-test"),
        ('job = "search"', "log-median", "log-median", "t-test"),
        ('collector = "time"', "t-test", "t-test", "log-median"),
        ('metric = "c[p]u"', "log-median", "t-test", "log-median"),
        ('unit = "sor?"', "t-test", "t-test", "t-test"),
        ('unit = "main"', "log-median", "log-median", "log-median"),
        ('job = "sort"\nmetric = "wall"\ncollector = "t*"', "t-test", "log-median", "log-median"),
        ('job = "Sort"', "log-median", "log-median", "log-median"),
    ],
)
def test_a_rule_is_for_what_all_its_patterns_match(
    measured: Project, perf: Perf, pattern: str, wall: str, cpu: str, other: str
) -> None:
    measured.write("perf.toml", f'{JOB}[[check]]\nmethod = "t-test"\n{pattern}\n')
    found = judged(perf)
    assert (found["sort", "wall"], found["sort", "cpu"], found["search --deep", "wall"]) == (
        [wall],
        [cpu],
        [other],
    )


TWO = (
    '[[check]]\njob = "sort"\nmetric = "wall"\nmethod = "ks"\n[[check]]\njob = "sort"\nmethod ='
    ' "t-test"\n'
)


def test_the_first_rule_that_fits_judges(measured: Project, perf: Perf) -> None:
    measured.write("perf.toml", JOB + TWO)
    assert judged(perf) == {
        ("sort", "wall"): ["ks"],
        ("sort", "cpu"): ["t-test"],
        ("search --deep", "wall"): ["log-median"],
        ("search --deep", "cpu"): ["log-median"],
    }


def test_all_rules_that_fit_judge_where_that_is_asked_for(measured: Project, perf: Perf) -> None:
    measured.write("perf.toml", f'check_rules = "all"\n{JOB}{TWO}')
    found = judged(perf)
    assert found["sort", "wall"] == ["ks", "t-test"]
    assert found["sort", "cpu"] == ["t-test"]
    assert found["search --deep", "wall"] == ["log-median"]


def test_a_report_of_several_methods_says_which_row_is_whose(measured: Project, perf: Perf) -> None:
    measured.write("perf.toml", f'check_rules = "all"\n{JOB}{TWO}')
    lines = perf("check", "-v", code=3).out.splitlines()
    start = lines.index("sort")
    rows = lines[start : lines.index("", start)]
    assert all(len(line) <= 80 for line in lines)
    assert sorted(line.strip() for line in rows if line.strip().startswith("by ")) == [
        "by ks",
        "by t-test",
    ]
    assert sum("wall time" in line for line in rows if "degradation" in line) == 2
    said = perf("check", "--markdown", "-v", code=3).out
    assert "| by ks" in said
    assert "| by t-test" in said
    # the first in each table: the CPU time has one judge, who need not be named
    assert (said.count("by ks"), said.count("by t-test")) == (2, 1)


def test_one_method_a_row_is_not_named(measured: Project, perf: Perf) -> None:
    measured.write("perf.toml", JOB + TWO)
    assert "by ks" not in perf("check", code=3).out


def faults() -> Resources:
    return Resources(
        names=["sort"], uid=[0] * 5, execution=list(range(5)), metrics={"faults": [7.0] * 5}
    )


def test_rows_without_news_name_their_methods_too() -> None:
    rules = Rules((Rule(method="ks"), Rule(method="t-test")), take="all")
    rows = {
        side: profile([7.0] * 5, side, metrics={"faults": Metric("")}, resources=faults())
        for side in (0, 1)
    }
    shown = text(compare([rows[0]], [rows[1]], rules=rules)).splitlines()
    assert [line.strip() for line in shown if "by " in line] == ["by ks", "by t-test"]


def test_the_method_on_the_command_line_wins(measured: Project, perf: Perf) -> None:
    measured.write("perf.toml", JOB + TWO)
    assert {
        method
        for methods in judged(perf, "--method", "mann-whitney").values()
        for method in methods
    } == {"mann-whitney"}


def test_a_rule_has_a_delta_of_its_own_and_the_command_line_overrides_it(
    measured: Project, perf: Perf
) -> None:
    measured.write("perf.toml", f'{JOB}[[check]]\njob = "sort"\ndelta = "30 %"\n')
    report = decode(perf("check", "--json", code=3).out)
    assert {(change.job, change.delta, change.word) for change in report.changes} == {
        ("sort", 0.3, "same"),
        ("search --deep", 0.01, "degradation"),
    }
    report = decode(perf("check", "--json", "--delta", "50", code=0).out)
    assert {(change.job, change.delta) for change in report.changes} == {
        ("sort", 0.5),
        ("search --deep", 0.5),
    }


def test_a_rule_says_within_what_an_open_comparison_is_settled_and_the_command_line_overrides_it(
    project: Project, perf: Perf
) -> None:
    commits = [project.commit("one"), project.commit("two")]
    for name in ("sort", "search"):
        walls = [noisy(0.0131, seed=seed, spread=0.015) for seed in (3, 4)]
        session = interleaved(
            commits,
            walls,
            session=f"20261120T093000-{name}",
            job=Job(name=name, collector="time", cmd=f"./{name}"),
        )
        Repository.find(create=True).store.add(session, "test")
    project.write("perf.toml", f'{JOB}[[check]]\njob = "sort"\nwithin = "10 %"\n')

    def found(*arguments: str) -> set[tuple[str, str, float | None]]:
        report = decode(perf("check", *commits, "--json", *arguments, code=None).out)
        return {(change.job, change.word, change.within) for change in report.changes}

    assert found() == {("sort", "same", 0.1), ("search", "inconclusive", None)}
    assert found("--within", "0.1") == {
        ("sort", "inconclusive", 0.001),
        ("search", "inconclusive", 0.001),
    }
    assert found("--within", "20") == {("sort", "same", 0.2), ("search", "same", 0.2)}
    assert found() == {("sort", "same", 0.1), ("search", "inconclusive", None)}
    assert found("--method", "log-median") == {
        ("sort", "inconclusive", None),
        ("search", "inconclusive", None),
    }


def test_rules_with_other_bounds_are_one_family() -> None:
    values = tight()
    sides = [
        profile({"a": side.tolist(), "b": (side * 1.5).tolist()}, place)
        for place, side in enumerate(values)
    ]
    rules = Rules(
        (
            Rule(method="log-median", unit="a", within="50 %"),
            Rule(method="log-median", within="0 %"),
        )
    )
    plain = compare([sides[0]], [sides[1]], method="log-median").changes
    found = compare([sides[0]], [sides[1]], rules=rules).changes
    assert [(change.uid, change.q, change.word) for change in found] == [
        (change.uid, change.q, change.word) for change in plain
    ]
    assert {change.uid: change.within for change in found} == {"a": 0.5, "b": 0.0}


def test_measuring_stops_where_a_rule_is_content() -> None:
    rng = np.random.default_rng(1)
    sides = [[profile((0.01 * np.exp(rng.normal(0, 0.02, 10))).tolist(), side)] for side in (0, 1)]
    assert interim(*sides, pairs=10).pairs == 11
    assert interim(*sides, pairs=10, rules=Rules((Rule(method="ks", within="20 %"),))).pairs is None
    assert interim(*sides, pairs=10, rules=Rules((Rule(method="ks", delta="20 %"),))).pairs is None
    assert interim(*sides, pairs=10, rules=Rules((Rule(within="20 %"),)), within=0.001).pairs == 11


def test_a_changed_rule_is_a_new_verdict(measured: Project, perf: Perf) -> None:
    measured.write("perf.toml", JOB)
    assert "4 degradations" in perf("check", code=3).out
    measured.write("perf.toml", JOB + '[[check]]\ndelta = "40%"\n')
    assert "4 same" in perf("check", code=0).out


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            '[[check]]\nmethod = "t-tset"',
            "[[check]] no. 1: there is no method `t-tset`; did you mean `t-test`",
        ),
        ('[[check]]\n[[check]]\nmethod = "os"', "[[check]] no. 2: there is no method `os`"),
        (
            '[[check]]\ndelta = "much"',
            'no. 1: delta = "much" is not a percentage: write it like "2%"',
        ),
        ('[[check]]\ndelta = "-2%"', 'write it like "2%"'),
        ('[[check]]\ndelta = "5000%"', 'write it like "2%"'),
        ('[[check]]\nwithin = "3"', 'no. 1: within = "3" is not a percentage: write it like "2%"'),
        ("[[check]]\ndelta = 2", "[[check]] no. 1, delta: expected a string, got a whole number"),
        ('[[check]]\njobs = "sort"', "[[check]] no. 1: there is no key `jobs`; did you mean `job`"),
        ("[[check]]\nmetric = 3", "[[check]] no. 1, metric: expected a string, got a whole number"),
        ('[check]\nmethod = "t-test"', "check: expected a list"),
    ],
)
def test_a_wrong_rule_names_the_cure(
    measured: Project, perf: Perf, table: str, message: str
) -> None:
    measured.write("perf.toml", f"{JOB}{table}\n")
    said = perf("check", code=2)
    assert message in said.err
    assert said.err.count("\n") == 1


def test_a_wrong_choice_among_rules_names_the_cure(measured: Project, perf: Perf) -> None:
    measured.write("perf.toml", f'check_rules = "some"\n{JOB}')
    assert 'check_rules: \'some\' is neither "first" nor "all"' in perf("check", code=2).err


def test_rules_hold_for_what_is_measured_and_for_ranges(measured: Project, perf: Perf) -> None:
    measured.write("perf.toml", JOB + '[[check]]\nmethod = "ci-overlap"\n')
    found = perf("check", "--json", "HEAD~1..HEAD", code=3).document
    assert {change["method"] for change in found[0]["changes"]} == {"ci-overlap"}


def rows_of(report: Report) -> list[tuple[Any, ...]]:
    return [(change.word, change.size, change.method) for change in report.changes]


def test_a_size_on_one_side_only_is_reported_once() -> None:
    values = tight()
    old, new = sized(values[0], 0, (10.0, 20.0)), sized(values[1], 1, (10.0, 30.0))
    rules = Rules((Rule(method="ks"), Rule(method="t-test")), take="all")
    found = rows_of(compare([old], [new], rules=rules))
    assert [row for row in found if not row[2]] == [("new", 30.0, ""), ("missing", 20.0, "")]
    assert sorted(row[2] for row in found if row[2]) == ["ks", "t-test"]


def test_one_family_however_many_rules_lead_to_it() -> None:
    values = tight()
    sides = [
        profile({"a": side.tolist(), "b": (side * 1.5).tolist()}, place)
        for place, side in enumerate(values)
    ]
    apart = Rules((Rule(method="log-median", unit="a"), Rule(method="log-median")))
    twice = Rules((Rule(method="log-median", unit="a"), Rule(method="log-median")), take="all")
    plain = compare([sides[0]], [sides[1]], method="log-median").changes
    for rules in (apart, twice):
        assert compare([sides[0]], [sides[1]], rules=rules).changes == plain


def test_profiles_of_counters_go_past_the_rules_that_know_nothing_of_them() -> None:
    sides = counters(1), counters(2, 1)
    rules = Rules((Rule(method="t-test"), Rule(method="ks", metric="wall")))
    assert (
        compare([sides[0]], [sides[1]], rules=rules).changes
        == compare([sides[0]], [sides[1]]).changes
    )
