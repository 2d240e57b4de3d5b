"""What `perf blame` asks by a verdict, and how it reads the values of a unit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from cases import each
from msgspec.structs import replace
from samples import WALL, sample_profile

from perfvcs.check.answer import sentence
from perfvcs.check.change import Change, Report
from perfvcs.check.movement import Followed, followed
from perfvcs.jobs.cell import Cell
from perfvcs.locate.bisect.span import TargetFilter
from perfvcs.locate.blame.blames import BlameWords
from perfvcs.locate.blame.calltree import CallTree
from perfvcs.locate.blame.experiments import Experiments
from perfvcs.locate.blame.gauge import Gauge, moved, question
from perfvcs.locate.blame.laboratory import UnmeasurableVersion
from perfvcs.locate.blame.pairing import differing, match
from perfvcs.locate.blame.proof import VersionValues
from perfvcs.plugins import build
from perfvcs.profile import Resources
from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter, UnitAtSize

CELL = Cell(
    name="tests",
    cmd="pytest",
    args="",
    workload=None,
    collector_name="pytest",
    collector=build("collectors", "pytest", {}, "here"),
    options={},
    postprocessors=(),
    executions=10,
    warmup=0,
    binaries=1,
    retries=1,
    timeout=60.0,
    shell=False,
    env={},
    python=None,
)


def change(uid, effect, baseline, metric="wall", **more):
    fields: dict[str, Any] = {
        "word": "degradation" if effect > 0 else "improvement",
        "job": "tests",
        "uid": uid,
        "metric": metric,
        "unit": "s",
        "better": "lower",
        "series": "s",
        "effect": effect,
        "low": effect - 0.01,
        "high": effect + 0.01,
        "baseline": baseline,
        "target": baseline * (1 + effect),
        "paired": True,
    }
    return Change(**(fields | more))


def chosen(*changes, wanted=EVERYTHING, cells=(CELL,)):
    report = Report(baseline="a", target="b", method="auto", changes=list(changes))
    found = moved(report, wanted, cells)
    return (found.change.uid, found.change.metric) if found else None


SMALL, LARGE = change("small", 5.0, 1e-6), change("large", 0.1, 1.0)
FASTER = change("faster", -0.5, 1.0)


@each(
    ("changes", "expected"),
    [
        ([SMALL, LARGE], ("large", "wall")),
        ([FASTER, SMALL], ("small", "wall")),
        ([FASTER], ("faster", "wall")),
        ([LARGE, change("large", 0.09, 0.9, "cpu")], ("large", "cpu")),
        ([LARGE, change("large", -0.09, 0.9, "cpu")], ("large", "wall")),
        ([SMALL, change("large", 0.1, 1.0, accepted="known")], ("small", "wall")),
        ([change("large", 0.1, 1.0, accepted="known")], ("large", "wall")),
        ([change("large", 0.1, 1.0, job="gone"), SMALL], ("small", "wall")),
        ([change("large", 0.1, 1.0, low=0.0), SMALL], ("small", "wall")),
        ([change("large", 0.1, 1.0, word="suspected"), FASTER], ("faster", "wall")),
        ([change("large", 0.1, 1.0, word="suspected")], None),
        ([change("large", 0.001, 1.0, word="same")], None),
    ],
)
def test_what_matters_most_of_all_that_changed_is_blamed(changes, expected):
    assert chosen(*changes) == expected


def test_only_what_is_wanted_is_blamed():
    small = BenchmarkFilter(
        frozenset({("tests", "pytest")}), frozenset({UnitAtSize("tests", "small", None)})
    )
    assert chosen(SMALL, LARGE, wanted=small) == ("small", "wall")
    assert chosen(LARGE, wanted=small) is None


def test_a_question_has_the_cell_that_measures_the_metric_and_what_the_verdict_says():
    memory = replace(CELL, collector_name="memory", collector=build("collectors", "memory", {}, ""))
    words = BlameWords("a" * 40, "HEAD")
    asked = question(Followed(LARGE, 2), [memory, CELL], words)
    assert (asked.cell, asked.unit, asked.metric, asked.scale) == (CELL, "large", "wall", "s")
    assert asked.checked is not None and asked.checked.in_turns
    assert asked.benchmark == "tests: large"
    assert asked.choice == (
        "follows tests: large, wall time, the most important of 2 benchmarks that changed; name"
        " another to follow it: perf blame aaaaaaaaaa HEAD NAME"
    )
    alone = question(Followed(change("tests", 0.1, 1.0), 1), [CELL], words)
    assert (alone.unit, alone.choice) == ("", "")


def test_the_change_that_leads_a_report_is_followed_by_all_commands():
    changes = [SMALL, LARGE, FASTER, change("other", 0.3, 2.0, low=0.0)]
    report = Report(baseline="a", target="b", method="auto", changes=changes)
    chosen = [
        followed(report, lambda _: True),
        moved(report, EVERYTHING, [CELL]),
        TargetFilter().target(report),
    ]
    assert [one and one.change for one in chosen] == [LARGE, LARGE, LARGE]
    assert sentence(report).startswith("tests: large became slower: wall time +10.0 %")
    faster = TargetFilter(improvement=True).target(report)
    assert faster == Followed(FASTER, 1)


@each(
    ("rest", "word", "share", "reason"),
    [(0.02, "contributes", 0.8, ""), (0.09, "not proved", 0.1, "too noisy to tell")],
)
def test_times_that_leave_open_how_much_is_gone_show_what_they_do_not_leave_out(
    rest, word, share, reason
):
    a = [0.48 + 0.01 * (number % 3) for number in range(24)]  # at another pace than before
    b = [1.1 * value for value in a]
    auxiliary = [(1 + rest + 0.05 * (-1) ** number) * value for number, value in enumerate(a)]
    comparison = SimpleNamespace(
        laboratory=SimpleNamespace(rig=SimpleNamespace(progress=SimpleNamespace(say=print))),
        trial=lambda *_: VersionValues(b, a, auxiliary),
        a="a" * 40,
        delta=0.01,
        notes=[],
    )
    before = SimpleNamespace(levels=VersionValues([0.4], [0.44]))
    trial = Experiments(comparison, before, 0.0).dependencies(["library 2"])
    assert (trial.word, trial.reason) == (word, reason)
    assert trial.share == pytest.approx(share, abs=0.01)
    assert trial.low < trial.share - 0.15 and trial.high > trial.share + 0.15
    assert trial.level == pytest.approx(0.4 * (1 + rest) / 1.1, rel=0.01)


def measured(names):
    rows = Resources(
        names=names,
        uid=[place for place in range(len(names)) for _ in range(4)],
        execution=[0, 0, 1, 1] * len(names),
        metrics={"wall": [float(number) for number in range(4 * len(names))]},
    )
    return sample_profile(metrics={"wall": WALL}, resources=rows)


def test_a_level_of_a_unit_is_the_median_of_each_execution():
    gauge = Gauge("wall", CELL, "s", unit="b")
    assert gauge.levels(measured(["a", "b"])) == [4.5, 6.5]
    assert gauge.levels(measured(["a", "b (once)"])) == [4.5, 6.5]
    with pytest.raises(UnmeasurableVersion, match="b was not measured on 8c7f6a1d0e"):
        gauge.levels(measured(["a"]))


def test_functions_whose_exact_costs_differ_are_counted():
    a = CallTree.of_paths([(["main"], 10.0, 1), (["main", "f"], 90.0, 1)])
    b = CallTree.of_paths([(["main"], 10.0, 1), (["main", "f"], 80.0, 1), (["main", "g"], 10.0, 1)])
    assert differing(a, a) == (2, 0)
    assert differing(a, b) == (3, 2)
    assert differing(CallTree.of_paths([]), CallTree.of_paths([])) == (0, 0)


def test_one_side_of_matched_trees_is_the_tree_that_it_came_from():
    a = CallTree.of_paths([(["main", "f"], 90.0, 2), (["main", "h"], 1.0, 1)])
    b = CallTree.of_paths([(["main", "f"], 80.0, 2), (["main", "g"], 10.0, 1)])
    tree = match(a, b)
    for side, original in enumerate((a, b)):
        again = tree.side(side)
        assert sorted(zip(again.names, again.own, again.calls, strict=True)) == sorted(
            zip(original.names, original.own, original.calls, strict=True)
        )
