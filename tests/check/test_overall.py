"""What a job did as a whole: its units as one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from comparisons import profile
from samples import sample_profile

from perfvcs.check import compare
from perfvcs.check.change import Overall
from perfvcs.profile import Job, Metric, Profile, Resources

RNG = np.random.default_rng(11)
TIMES = np.exp(RNG.normal(-7, 1.5, 60))
TIMES[0] = 0.1  # a third of all


def suite(factor: Any, seed: int, side: int, **overrides: Any) -> Profile:
    """A side of sixty units in ten executions, in which all units of an execution share most of its
    noise.
    """
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 0.02, 10) + rng.normal(0, 0.03, (60, 10))
    values = (TIMES * factor)[:, None] * np.exp(noise)
    return profile(
        {f"test {number}": row.tolist() for number, row in enumerate(values)}, side, **overrides
    )


def overall(old: Profile | list[Profile], new: Profile | list[Profile], **options: Any) -> Overall:
    (found,) = compare(old, new, overall=True, **options).overall
    return found


def test_all_units_of_a_job_are_judged_as_one() -> None:
    found = overall(suite(1, 1, 0), suite(1.2, 2, 1))
    assert (found.job, found.units, found.combined, found.word) == ("sort", 60, 60, "degradation")
    assert found.effect == pytest.approx(0.2, abs=0.05)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.2 < found.high
    assert found.baseline == pytest.approx(TIMES.sum(), rel=0.05)
    assert overall(suite(1, 1, 0), suite(1, 2, 1)).word in ("same", "inconclusive")


def test_the_effect_is_that_of_the_total_and_not_a_mean_of_ratios() -> None:
    factor = np.where(TIMES.max() == TIMES, 1.5, 1.0)
    found = overall(suite(1, 1, 0), suite(factor, 2, 1))
    share = TIMES.max() / TIMES.sum()
    assert found.effect == pytest.approx(0.5 * share, abs=0.04)
    assert 0.5 * share > 0.5 / 60 + 0.05


def test_the_noise_that_units_share_is_not_taken_for_precision() -> None:
    """Sixty units are no more executions than one: their interval is not an eighth as wide."""
    rng = np.random.default_rng(5)
    shared = [np.exp(rng.normal(0, 0.05, 10)) for _ in (0, 1)]
    sides = [
        profile(
            {f"test {number}": (time * noise).tolist() for number, time in enumerate(TIMES)}, side
        )
        for side, noise in enumerate(shared)
    ]
    alone = [profile({"test": noise.tolist()}, side) for side, noise in enumerate(shared)]
    together, one = overall(*sides), overall(*alone)
    assert together.effect == pytest.approx(one.effect, rel=1e-9)
    assert (together.low, together.high) == (
        pytest.approx(one.low, rel=1e-9),
        pytest.approx(one.high, rel=1e-9),
    )


def test_a_job_of_one_unit_did_what_its_unit_did() -> None:
    report = compare(
        profile([1.0, 1.1, 1.0, 1.1, 1.0, 1.1]),
        profile([1.5, 1.6, 1.5, 1.6, 1.5, 1.6], 1),
        overall=True,
    )
    (found,), (change,) = report.overall, report.changes
    assert (found.units, found.word, found.effect, found.low) == (
        1,
        change.word,
        change.effect,
        change.low,
    )


def test_a_job_that_was_measured_as_a_whole_did_what_the_whole_did() -> None:
    old = {"sort": [1.0, 1.1, 1.0, 1.1, 1.0, 1.1], "part": [0.1] * 6}
    new = {"sort": [1.5, 1.6, 1.5, 1.6, 1.5, 1.6], "part": [0.3] * 6}
    report = compare(profile(old), profile(new, 1), overall=True)
    whole = next(change for change in report.changes if change.uid == "sort")
    (found,) = report.overall
    assert (found.units, found.effect, found.baseline) == (2, whole.effect, whole.baseline)


def test_units_that_were_not_measured_in_the_same_executions_are_left_out() -> None:
    def side(number: int, factor: float) -> Profile:
        names = ["a", "b", "c", "d"]
        rows = Resources(
            names=names,
            uid=[place for place in range(3) for _ in range(6)] + [3] * 5,
            execution=[*range(6), *range(6), *range(6), *range(1, 6)],
            metrics={
                "wall": [factor * (1 + 0.01 * (run % 3)) for _ in range(3) for run in range(6)]
                + [5.0] * 5
            },
        )
        return profile([], number, resources=rows)

    found = overall(side(0, 1.0), side(1, 1.2))
    assert (found.units, found.combined) == (4, 3)
    assert found.effect == pytest.approx(0.2)


def test_values_of_zero_have_no_part_in_it() -> None:
    old = {"a": [0.0] * 6, "b": [1.0, 1.01] * 3, "c": [2.0, 2.01] * 3}
    new = {"a": [1.0] * 6, "b": [1.0, 1.01] * 3, "c": [2.0, 2.01] * 3}
    assert overall(profile(old), profile(new, 1)).combined == 2
    nothing = overall(
        profile({"a": [0.0] * 6, "b": [0.0] * 6}), profile({"a": [1.0] * 6, "b": [1.0] * 6}, 1)
    )
    assert (nothing.units, nothing.combined, nothing.effect, nothing.word) == (2, 0, None, None)


def test_amounts_that_repeat_exactly_are_exact_together() -> None:
    exact = Metric("", kind="deterministic")
    found = overall(
        profile({"a": [100.0] * 3, "b": [300.0] * 3}, metric=exact),
        profile({"a": [100.0] * 3, "b": [340.0] * 3}, 1, metric=exact),
    )
    assert (found.word, found.low) == ("degradation", None)
    assert found.effect == pytest.approx(0.1)


def test_arguments_of_one_job_are_its_units() -> None:
    def cell(side: int, args: str, factor: float) -> Profile:
        job = Job(name="sort", collector="time", cmd="./sort", args=args)
        rows = Resources(
            names=["sort"], uid=[0] * 10, execution=list(range(10)), metrics={"wall": []}
        )
        rows.metrics["wall"] = [factor * (1 + 0.001 * (number % 3)) for number in range(10)]
        return profile([], side, job=job, resources=rows)

    found = overall(
        [cell(0, "", 1.0), cell(0, "--reverse", 3.0)], [cell(1, "", 1.0), cell(1, "--reverse", 3.4)]
    )
    assert (found.units, found.combined) == (2, 2)
    assert found.effect == pytest.approx(0.1, abs=1e-3)


def test_sides_that_were_measured_apart_are_suspected_at_most() -> None:
    sides = [
        suite(1, 1, 0, session="a", order="sequential"),
        suite(1.3, 2, 1, session="b", order="sequential"),
    ]
    assert overall(*sides).word == "suspected"


def test_no_overall_effect_is_computed_where_nobody_asks() -> None:
    assert compare(suite(1, 1, 0), suite(1.2, 2, 1)).overall == []
    assert compare(sample_profile(), sample_profile()).overall == []
