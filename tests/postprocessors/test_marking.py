"""The postprocessors that say something of each row, and the bootstrap: against closed forms and
scipy, on rows good and bad.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import interleaved, sample_profile
from scipy import stats

from perfvcs import plugins
from perfvcs.check import compare
from perfvcs.errors import UsageError
from perfvcs.pictures.sample import samples
from perfvcs.postprocessors.bootstrap import Bootstrap
from perfvcs.postprocessors.clusterizer import Clusterizer
from perfvcs.postprocessors.normalizer import Normalizer
from perfvcs.postprocessors.outliers import Outliers
from perfvcs.profile import REPEATED, Metric, Profile, Resources
from perfvcs.profile.decoding import decode
from perfvcs.profile.summary import summarise
from perfvcs.statistics.resampling import resample

MARKERS = [
    Normalizer(),
    Normalizer(by="minmax"),
    Normalizer(by="zscore"),
    Clusterizer(strategy="sort-order"),
    Clusterizer(strategy="sliding-window"),
    Clusterizer(strategy="sliding-window", width=3),
    Clusterizer(most=3),
    Outliers(),
    Outliers(around="unit"),
    Outliers(around="size"),
    Outliers(method="iqr", around="model"),
    Outliers(method="studentized"),
]


def timed(
    y: Sequence[Any],
    units: Sequence[int] | None = None,
    size: Sequence[Any] | None = None,
    execution: Sequence[int] | None = None,
    **columns: Any,
) -> Profile:
    """A profile with the durations ``y`` of the units ``f0``, ``f1``, ..."""
    codes = list(units or [0] * len(y))
    resources = Resources(
        names=[f"f{code}" for code in range(max(codes, default=0) + 1)],
        uid=codes,
        execution=list(execution or [0] * len(y)),
        size=None if size is None else list(size),
        metrics={"duration": list(y)},
        **columns,
    )
    return sample_profile(resources=resources, metrics={"duration": Metric("s")})


def column(profile: Profile, word: str, metric: str = "duration") -> list[float | None]:
    return profile.resources.metrics[f"{metric}.{word}"]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("max", [0.5, 1.0, 0.25, 1.0, 1.0]),
        ("minmax", [1 / 3, 1.0, 0.0, 0.0, 0.0]),
        ("zscore", [-0.2672612, 1.3363062, -1.069045, 0, 0]),
    ],
)
def test_units_are_normalized_apart(by: str, expected: list[float]) -> None:
    found = Normalizer(by=by).apply(timed([2.0, 4.0, 1.0, 9.0, 9.0], [0, 0, 0, 1, 1]))
    assert column(found, "normalized") == pytest.approx(expected, abs=1e-6)
    assert found.metrics["duration.normalized"] == Metric("", "none")


def test_z_scores_are_scipys() -> None:
    y = np.random.default_rng(1).normal(5, 2, 50)
    assert column(Normalizer(by="zscore").apply(timed(y.tolist())), "normalized") == pytest.approx(
        stats.zscore(y).tolist()
    )


@each("marker", MARKERS)
def test_the_rows_stay_and_are_not_judged_twice(marker: Any) -> None:
    profile = timed(
        [1.0, None, 2.0, 3.0, 50.0, 4.0, 5.0, 6.0, 7.0, 8.0],
        size=range(1, 11),
        mark=[0, 0, REPEATED] + [0] * 7,
    )
    found = marker.apply(profile)
    assert replace(found.resources, metrics={}) == replace(profile.resources, metrics={})
    assert found.resources.metrics["duration"] == profile.resources.metrics["duration"]
    (added,) = found.metrics.keys() - profile.metrics.keys()
    values = found.resources.metrics[added]
    assert [place for place, value in enumerate(values) if value is None] == [1, 2]
    assert summarise(found) == summarise(profile)
    assert marker.apply(found) == found
    assert decode(found.encode()) == found


@each("marker", MARKERS)
@each(
    "y",
    [
        [3.0],
        [0.1] * 10,
        [0.0] * 10,
        [-2.0, -1.0, 0.0, 1.0, 7.0, 2.0, 3.0, 5.0, 4.0, 6.0],
        [1e308, -1e308, 1e-300, 0.0, 1.7e308],
        [None],
    ],
    ids=["one", "equal", "zeros", "negative", "huge", "none"],
)
def test_rows_of_any_kind_get_finite_marks(marker: Any, y: list[Any]) -> None:
    found = marker.apply(timed(y, size=range(1, len(y) + 1)))
    assert decode(found.encode()).resources == found.resources
    (added,) = found.metrics.keys() - {"duration"}
    assert all(
        mark is None if value is None else np.isfinite(mark)
        for value, mark in zip(y, found.resources.metrics[added], strict=True)
    )


values = st.integers(-50, 50).map(lambda number: number / 4)


@pytest.mark.parametrize("marker", MARKERS, ids=repr)
@settings(max_examples=20, deadline=None)
@given(
    data=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9), values), min_size=1, max_size=30),
    seed=st.randoms(),
)
def test_neither_the_order_of_rows_nor_that_of_units_matters(
    marker: Any, data: list[Any], seed: Any
) -> None:
    def found(rows: list[Any], names: dict[int, int]) -> list[Any]:
        units, size, y = zip(*rows, strict=True)
        made = marker.apply(timed(y, [names[unit] for unit in units], size))
        (added,) = made.metrics.keys() - {"duration"}
        return sorted(
            (*row, round(mark or 0, 6))
            for row, mark in zip(rows, made.resources.metrics[added], strict=True)
        )

    mixed = list(data)
    seed.shuffle(mixed)
    assert found(mixed, {0: 2, 1: 0, 2: 1}) == found(data, {0: 0, 1: 1, 2: 2})


def test_a_modified_z_score_above_its_threshold_is_an_outlier() -> None:
    y = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 24.0]
    score = 0.6745 * (24 - 13.5) / 2  # the median distance is 2
    marks = [
        column(Outliers(threshold=score + shift).apply(timed(y)), "outlier")
        for shift in (-0.01, 0.01)
    ]
    assert marks == [[0, 0, 0, 0, 0, 0, 0, 1], [0] * 8]


def test_beyond_the_fences_of_the_quartiles_is_an_outlier() -> None:
    y = np.append(np.random.default_rng(2).normal(10, 1, 200), [20.0, 1.0])
    low, high = np.quantile(y, [0.25, 0.75])
    expected = (y < low - 1.5 * (high - low)) | (y > high + 1.5 * (high - low))
    assert column(Outliers(method="iqr").apply(timed(y.tolist())), "outlier") == expected.tolist()
    assert expected[-2:].all()


def test_a_value_that_is_usual_at_another_size_is_an_outlier() -> None:
    rng = np.random.default_rng(13)
    size = np.repeat([10.0, 1000.0], 20)
    y = np.where(size == 10, 1.0, 50.0) * np.exp(0.01 * rng.standard_normal(40))
    y[5] = 50.0
    found = timed(y.tolist(), size=size.tolist())
    for around in ("auto", "size"):
        assert np.flatnonzero(column(Outliers(around=around).apply(found), "outlier")).tolist() == [
            5
        ]
    assert column(Outliers(around="unit").apply(found), "outlier")[5] == 0


@pytest.mark.parametrize("method", ["mad", "iqr", "studentized"])
def test_values_far_from_the_curve_are_outliers(method: str) -> None:
    rng = np.random.default_rng(4)
    x = np.arange(1.0, 401)
    y = (5 + 2 * x) * np.exp(0.02 * rng.standard_normal(400))
    far = [20, 200, 390]
    y[far] *= [2.0, 0.5, 1.5]
    marks = np.array(
        column(Outliers(method=method).apply(timed(y.tolist(), size=x.tolist())), "outlier")
    )
    assert marks[far].all()
    assert marks.sum() <= 3 + 400 * 0.01


def test_studentized_residuals_are_those_of_statsmodels() -> None:
    from statsmodels.regression.linear_model import OLS

    from perfvcs.postprocessors._rows import group, rows
    from perfvcs.postprocessors.outliers import _studentized
    from perfvcs.statistics.regression.condensed import level

    x = np.arange(1.0, 61)
    y = (5 + 2 * x) * np.exp(0.02 * np.random.default_rng(5).standard_normal(60))
    groups = group(rows(timed(y.tolist(), size=x.tolist()), "duration"))
    weight = 1 / level(x, y)
    fitted = OLS(weight * y, np.stack([weight, weight * x], axis=1)).fit()
    assert _studentized(groups) == pytest.approx(
        fitted.get_influence().resid_studentized_external, rel=1e-6
    )


@pytest.mark.parametrize("method", ["mad", "iqr", "studentized"])
def test_units_are_judged_alone_however_others_are(method: str) -> None:
    rng = np.random.default_rng(14)
    unit = np.repeat([0, 1, 2], 60)
    size = np.select([unit == 0, unit == 1], [np.arange(180) % 3, np.arange(180)], 7).astype(float)
    y = (5 + size) * np.exp(0.02 * rng.standard_normal(180))
    y[[10, 80, 150]] *= 5
    member = Outliers(method=method)
    together = column(member.apply(timed(y.tolist(), unit.tolist(), size.tolist())), "outlier")
    for number in range(3):
        mine = unit == number
        alone = column(member.apply(timed(y[mine].tolist(), size=size[mine].tolist())), "outlier")
        assert [mark for mark, here in zip(together, mine, strict=True) if here] == alone
    assert together[80] == 1


def test_rows_without_a_size_are_judged_apart() -> None:
    found = Outliers().apply(
        timed([1.0, 1.1, 0.9, 1.0, 9.0, 5.0, 6.0], size=[None] * 5 + [1.0, 2.0])
    )
    assert column(found, "outlier") == [0, 0, 0, 0, 1, 0, 0]


def test_an_exact_curve_has_no_outlier() -> None:
    x = np.arange(1.0, 101)
    for method in ("mad", "iqr", "studentized"):
        assert not any(
            column(
                Outliers(method=method).apply(timed((0.1 + 0.3 * x).tolist(), size=x.tolist())),
                "outlier",
            )
        )


def test_one_tick_among_equal_values_is_an_outlier_only_where_it_is_far() -> None:
    assert column(Outliers().apply(timed([1.0] * 20 + [2.0])), "outlier")[-1] == 1
    assert (
        column(Outliers().apply(timed([1.0] * 20 + [float(np.nextafter(1, 2))])), "outlier")[-1]
        == 0
    )


def test_hits_and_misses_are_numbered_from_the_fastest() -> None:
    rng = np.random.default_rng(6)
    missed = rng.random(3000) < 0.3
    y = np.where(missed, 8.0, 1.0) * np.exp(0.02 * rng.standard_normal(3000))
    assert (
        column(Clusterizer().apply(timed(y.tolist())), "cluster") == missed.astype(float).tolist()
    )


def test_ranks_are_scipys_dense_ranks() -> None:
    y = np.random.default_rng(7).integers(0, 30, 100).astype(float)
    found = Clusterizer(strategy="sort-order").apply(timed(y.tolist()))
    assert column(found, "cluster") == (stats.rankdata(y, "dense") - 1).tolist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"height": 2.0, "height_measure": "absolute"}, [0, 0, 0, 1, 1, 2]),
        ({"height": 0.5}, [0, 0, 0, 0, 0, 1]),
        ({"width": 2}, [0, 0, 1, 1, 2, 2]),
        ({"width": 0.5, "width_measure": "relative"}, [0, 0, 0, 1, 1, 1]),
        ({"width": 2, "height": 1.0, "height_measure": "absolute"}, [0, 0, 1, 2, 2, 3]),
        ({}, [0, 0, 0, 1, 1, 2]),
    ],
)
def test_windows_slide_over_the_values(options: dict[str, Any], expected: list[int]) -> None:
    found = Clusterizer(strategy="sliding-window", **options).apply(
        timed([1.0, 2.0, 3.0, 7.0, 8.0, 21.0])
    )
    assert column(found, "cluster") == expected


def test_equal_values_stay_in_one_window_and_units_apart() -> None:
    found = Clusterizer(strategy="sliding-window", width=2).apply(
        timed([1.0, 5.0, 5.0, 5.0, 6.0, 1.0], [0, 0, 0, 0, 0, 1])
    )
    assert column(found, "cluster") == [0, 0, 0, 0, 1, 0]


def test_sizes_can_be_clustered() -> None:
    found = Clusterizer(strategy="sort-order", by="size").apply(
        timed([1.0] * 4, size=[30, 10, None, 30], mark=[0, 0, 0, REPEATED])
    )
    assert column(found, "cluster", "size") == [1, 0, None, None]
    with pytest.raises(UsageError, match="has no sizes"):
        Clusterizer(by="size").apply(timed([1.0]))


def test_the_bootstrap_is_the_published_one() -> None:
    rng = np.random.default_rng(8)
    runs = [rng.normal(10, 1, 50) for _ in range(4)]
    found = (
        Bootstrap()
        .apply(timed(np.concatenate(runs).tolist(), execution=np.repeat(range(4), 50).tolist()))
        .models[0]
    )
    expected = resample(np.concatenate([np.sort(run) for run in runs]), [50] * 4).components()
    assert found.mean == pytest.approx(expected.mean[0])
    assert found.within == pytest.approx(expected.within[0])
    assert found.between == pytest.approx(expected.executions[0])
    interval = expected.interval(0.99)
    assert found.interval == pytest.approx([interval.low[0], interval.high[0]])
    assert (found.rows, found.executions, found.size) == (200, 4, None)
    assert found.within == pytest.approx(1, rel=0.3)


def test_single_measurements_give_students_interval() -> None:
    y = [1.0, 2.0, 4.0, 5.0]
    found = Bootstrap(confidence=0.95).apply(timed(y, execution=range(4))).models[0]
    low, high = stats.t.interval(0.95, 3, 3.0, stats.sem(y))
    assert found.interval == pytest.approx([low, high])
    assert (found.mean, found.within) == (3.0, None)


def test_the_bootstrap_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(9)
    y, size, execution = (
        rng.random(200),
        rng.integers(1, 3, 200).astype(float),
        rng.integers(0, 3, 200),
    )
    mixed = rng.permutation(200)
    both = [
        Bootstrap()
        .apply(
            timed(y[rows].tolist(), size=size[rows].tolist(), execution=execution[rows].tolist())
        )
        .models
        for rows in (np.arange(200), mixed)
    ]
    assert both[0] == both[1]
    assert [entry.size for entry in both[0]] == [1.0, 2.0]


def test_executions_of_two_builds_are_not_one() -> None:
    found = (
        Bootstrap().apply(timed([1.0, 2.0, 3.0], execution=[0, 0, 0], binary=[0, 1, 1])).models[0]
    )
    assert found.executions == 2


@pytest.mark.parametrize(
    "y",
    [[3.0], [0.0] * 6, [1.7e308, -1.7e308, 1e308], [5e-324, 1e-310]],
    ids=["one", "zeros", "huge", "tiny"],
)
def test_what_resampling_cannot_tell_is_null(y: list[float]) -> None:
    found = Bootstrap().apply(timed(y, execution=[place // 2 for place in range(len(y))]))
    assert decode(found.encode()).models == found.models


def test_a_mean_over_a_curve_is_refused() -> None:
    curve = timed([1.0] * 40, size=range(40))
    with pytest.raises(UsageError, match="at most 32 sizes"):
        Bootstrap().apply(curve)
    mixed = timed([1.0] * 41, [0] * 40 + [1], [*range(40), 5])
    assert [entry.uid for entry in Bootstrap().apply(mixed).models] == ["f1"]


def test_marks_do_not_change_a_verdict() -> None:
    rng = np.random.default_rng(10)
    sides = interleaved(
        ["a" * 40, "b" * 40], (0.01 * np.exp(0.01 * rng.standard_normal((2, 10)))).tolist()
    )
    marked = [
        Outliers().apply(Normalizer().apply(Clusterizer().apply(profile))) for profile in sides
    ]
    plain, after = (compare([old], [new]) for old, new in (sides, marked))
    assert [msgspec.to_builtins(change) for change in after.changes] == [
        msgspec.to_builtins(change) for change in plain.changes
    ]


def test_marks_are_no_counters_and_are_not_drawn() -> None:
    rng = np.random.default_rng(11)
    sides = []
    for commit in ("a" * 40, "b" * 40):
        rows = Resources(
            names=["service"], uid=[0] * 30, execution=[place // 10 for place in range(30)]
        )
        rows.metrics = {name: rng.normal(100, 1, 30).tolist() for name in ("reads", "writes")}
        sides.append(
            sample_profile(
                commit=commit,
                resources=rows,
                metrics={"reads": Metric("", "none"), "writes": Metric("", "none")},
            )
        )
    marker = Outliers(of=("reads", "writes"))
    marked = [sides[0], marker.apply(sides[1])]
    plain, after = (compare([old], [new]) for old, new in (sides, marked))
    assert (
        [change.metric for change in after.changes]
        == [change.metric for change in plain.changes]
        == ["counters"]
    )
    assert [sample.metric for sample in samples(marked[1:])] == ["reads", "writes"]


def test_metrics_are_chosen_by_name() -> None:
    profile = timed([1.0, 2.0])
    resources = replace(profile.resources, metrics={"duration": [1.0, 2.0], "bytes": [3.0, 4.0]})
    profile = msgspec.structs.replace(
        profile,
        resources=resources,
        metrics={"duration": Metric("s"), "bytes": Metric("B", "none")},
    )
    assert list(Normalizer().apply(profile).metrics) == ["duration", "bytes", "duration.normalized"]
    assert list(Normalizer(of=("bytes",)).apply(profile).metrics) == [
        "duration",
        "bytes",
        "bytes.normalized",
    ]
    with pytest.raises(UsageError, match="no metric `byte`; did you mean `bytes`"):
        Normalizer(of=("byte",)).apply(profile)


@each(
    "name options message",
    [
        ("normalizer", {"by": "maximum"}, "by cannot be 'maximum'; did you mean `max`"),
        ("outliers", {"method": "sd"}, "method cannot be 'sd'"),
        ("outliers", {"threshold": 0}, "threshold is 0.0: give a number above 0, at most 1e"),
        ("outliers", {"method": "studentized", "around": "unit"}, 'around = "model"'),
        ("clusterizer", {"strategy": "sorted-order"}, "did you mean `sort-order`"),
        ("clusterizer", {"width": 3}, "belongs to strategy"),
        (
            "clusterizer",
            {"strategy": "sliding-window", "height": 3},
            "height is 3.0: give a number above 0, at most 1, such as 0.1",
        ),
        ("clusterizer", {"by": "size", "of": ["wall"]}, "leave out of"),
        ("clusterizer", {"most": 0}, "most is 0"),
        (
            "bootstrap",
            {"draws": 0},
            "draws is 0: give a whole number from 1 to 100,000, such as 100",
        ),
        ("bootstrap", {"share": 0}, "share is 0.0"),
        ("bootstrap", {"confidence": 1}, "confidence is 1.0"),
    ],
)
def test_an_option_that_cannot_be_is_named_with_its_place(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as found:
        plugins.build("postprocessors", name, options, "job `sort`")
    assert str(found.value).startswith("job `sort`: ")
