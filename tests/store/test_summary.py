"""What verdicts see of a profile."""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import replace

import pytest
from samples import WALL, sample_profile

from perfvcs.profile import REPEATED, Metric, Resources, Turns
from perfvcs.profile.decoding import decode
from perfvcs.profile.summary import MAX_SIZES, Header, Measured, Summary, summarise
from perfvcs.profile.validity import Malformed


def test_each_execution_becomes_one_median_in_order_of_appearance() -> None:
    rows = Resources(
        names=["a", "b"],
        uid=[0, 0, 0, 1, 0],
        execution=[4, 4, 4, 4, 1],
        metrics={"wall": [3.0, 1.0, 2.0, 9.0, 5.0]},
    )
    assert summarise(sample_profile(resources=rows)) == [
        Summary("a", None, "wall", (4, 1), (2.0, 5.0)),
        Summary("b", None, "wall", (4,), (9.0,)),
    ]


def test_an_even_number_of_measurements_has_the_usual_median() -> None:
    rows = Resources(
        names=["a"], uid=[0] * 4, execution=[0] * 4, metrics={"wall": [4.0, 1.0, 3.0, 2.0]}
    )
    assert summarise(sample_profile(resources=rows))[0].medians == (
        statistics.median([1, 2, 3, 4]),
    )


def test_repeated_executions_and_missing_values_are_left_out() -> None:
    rows = Resources(
        names=["a"],
        uid=[0] * 3,
        execution=[0, 1, 2],
        mark=[0, REPEATED, 1],
        metrics={"wall": [None, 2.0, 3.0]},
    )
    assert summarise(sample_profile(resources=rows)) == [Summary("a", None, "wall", (2,), (3.0,))]


def test_metrics_that_are_not_judged_have_no_summary() -> None:
    rows = Resources(names=["a"], uid=[0], execution=[0], metrics={"faults": [7.0], "wall": [1.0]})
    metrics = {"faults": Metric("", "none"), "wall": WALL}
    assert [one.metric for one in summarise(sample_profile(resources=rows, metrics=metrics))] == [
        "wall"
    ]
    assert (
        summarise(
            sample_profile(
                resources=rows, metrics={"faults": Metric("", "none"), "wall": Metric("s", "none")}
            )
        )
        == []
    )


def test_few_sizes_are_separate_benchmarks_and_many_are_a_curve() -> None:
    few = Resources(
        names=["a"], uid=[0] * 2, execution=[0] * 2, size=[10.0, 20.0], metrics={"wall": [1.0, 2.0]}
    )
    assert [one.size for one in summarise(sample_profile(resources=few))] == [10.0, 20.0]
    count = MAX_SIZES + 1
    sizes: list[float | None] = [float(size) for size in range(count)]
    many = Resources(
        names=["a"], uid=[0] * count, execution=[0] * count, size=sizes, metrics={"wall": sizes}
    )
    (whole,) = summarise(sample_profile(resources=many))
    assert whole == Summary("a", None, "wall", (0,), (MAX_SIZES / 2,), sizes=whole.sizes)
    assert whole.sizes > MAX_SIZES
    assert (
        summarise(sample_profile(resources=replace(many, size=sizes[::-1])))[0].sizes == whole.sizes
    )
    assert (
        summarise(sample_profile(resources=replace(many, size=[None, *sizes[1:]])))[0].sizes
        != whole.sizes
    )


def test_the_place_of_an_execution_in_its_block_is_known_by_build_and_number() -> None:
    rows = Resources(
        names=["a"],
        uid=[0] * 4,
        execution=[0, 0, 1, 3],
        binary=[0, 0, 1, 1],
        metrics={"wall": [1.0] * 4},
    )
    profile = sample_profile(
        resources=rows, turns=Turns(execution=[0, 1, 2], place=[1, 0, 1], seed=[5, 6, 7])
    )
    found = Measured.of(decode(profile.encode()))
    assert (found.turns, found.seeds) == ({(0, 0): 1, (1, 1): 0}, {(0, 0): 5, (1, 1): 6})
    old = sample_profile(resources=rows)
    assert "turns" not in json.loads(old.encode())
    assert Measured.of(old).turns == Measured.of(old).seeds == {}


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        (
            {"execution": [0, 1], "place": [0], "seed": [1, 2]},
            "$.turns.place has 1 rows, execution has 2",
        ),
        (
            {"execution": [0, 0], "place": [0, 1], "seed": [1, 2]},
            "$.turns.execution repeats a number",
        ),
        (
            {"execution": [0], "place": [-1], "seed": [1]},
            "$.turns.place has a value that is not between 0 and",
        ),
        (
            {"execution": [0], "place": [0], "seed": [1 << 63]},
            "$.turns.seed has a value that is not between 0 and",
        ),
        ({"execution": [0], "seat": [0]}, "unknown field `seat`"),
    ],
)
def test_turns_that_make_no_sense_are_refused(turns: dict[str, object], message: str) -> None:
    document = json.loads(sample_profile().encode()) | {"turns": turns}
    with pytest.raises(Malformed, match=re.escape(message)):
        decode(json.dumps(document).encode())


def test_an_empty_profile_has_no_summaries() -> None:
    assert summarise(sample_profile([])) == []


def test_a_header_is_the_profile_without_its_rows() -> None:
    profile = sample_profile()
    header = Header.of(profile, "8c/place")
    assert (header.path, header.commit, header.job) == ("8c/place", profile.commit, profile.job)
    assert Measured.of(profile, "8c/place") == Measured(header, summarise(profile))
