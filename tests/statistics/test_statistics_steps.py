"""Steps in a series: the detectors against brute force, published formulas and simulated series."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statsmodels.tsa.stattools import acf

from perfvcs.statistics.changepoints.horvath import horvath, ratio
from perfvcs.statistics.changepoints.horvath import judge as by_horvath
from perfvcs.statistics.changepoints.judgement import judge_all, steps
from perfvcs.statistics.changepoints.path import running_median
from perfvcs.statistics.changepoints.prominence import Prominence, prominent
from perfvcs.statistics.changepoints.stepfilter import Segments
from perfvcs.statistics.changepoints.steps import VERSION, intervals
from perfvcs.statistics.runs import autocorrelation

RESULTS: list[list[tuple[int, int, int]]] = [
    [(67, 66, 68), (104, 104, 104), (126, 126, 126), (202, 202, 202)],
    [(34, 34, 34), (164, 164, 164), (178, 178, 178)],
    [(38, 38, 38), (131, 131, 131), (188, 188, 189), (225, 225, 225)],
    [(170, 169, 170), (219, 218, 219)],
    [(86, 85, 86), (161, 161, 161)],
    [(44, 44, 44), (127, 127, 127), (147, 147, 147), (195, 195, 195)],
    [(51, 51, 51), (83, 83, 83), (89, 89, 89), (162, 162, 162)],
    [(96, 96, 96), (102, 102, 103), (206, 206, 206)],
    [(25, 25, 25), (120, 120, 120), (180, 180, 180)],
    [(59, 59, 59), (156, 156, 156), (204, 204, 205)],
    [(45, 45, 45), (82, 77, 82), (118, 118, 118), (226, 226, 226)],
    [(40, 40, 40), (57, 56, 58), (171, 171, 172), (200, 200, 200)],
]


def noisy(seed: int, *levels: tuple[int, float], spread: float = 0.01) -> NDArray[np.float64]:
    """Values about levels, each (how many, level)."""
    plain = np.concatenate([np.full(count, level) for count, level in levels])
    return plain + spread * np.random.default_rng(seed).standard_normal(len(plain))


def test_autocorrelations_are_statsmodels() -> None:
    values = np.cumsum(np.random.default_rng(1).standard_normal((3, 80)), axis=1)
    found = autocorrelation(values, 8)
    for row in range(3):
        assert found.coefficients[row] == pytest.approx(acf(values[row], nlags=8))
    assert found.bound == pytest.approx(1.96 / np.sqrt(80), rel=1e-4)


def test_constant_missing_and_single_values_have_no_autocorrelation() -> None:
    found = autocorrelation([[0.1] * 5, [1.0, np.nan, 2.0, 3.0, 4.0]], 2)
    assert np.isnan(found.coefficients).all()
    assert np.isnan(autocorrelation([[1.0]]).coefficients).tolist() == [[True]]


def test_the_running_median_uses_what_exists_at_the_ends() -> None:
    assert running_median([5.0, 1.0, 2.0, 9.0, 3.0]).tolist() == [2.0, 3.5, 3.0, 2.5, 3.0]
    assert running_median([5.0]).tolist() == [5.0]


def test_horvaths_statistic_is_the_papers() -> None:
    values = noisy(19, (20, 0.0), (12, 0.03))
    n = len(values)
    every = {
        k: n * log(values.var()) - k * log(values[:k].var()) - (n - k) * log(values[k:].var())
        for k in range(2, n - 1)
    }
    place = max(every, key=lambda k: every[k])
    found = ratio(values)
    assert (found.place, found.statistic) == (place, pytest.approx(np.sqrt(every[place])))
    a, b = np.sqrt(2 * log(log(n))), 2 * log(log(n)) + log(log(log(n)))
    # Rejected at the level p exactly where a Z - b reaches ln(-2 / ln(1 - p)).
    assert a * found.statistic - b == pytest.approx(log(-2 / log(1 - found.p)))


def test_horvaths_test_keeps_its_level_and_sees_changes_of_mean_or_variance() -> None:
    rng = np.random.default_rng(20)
    assert np.mean([ratio(rng.standard_normal(200)).p < 0.05 for _ in range(400)]) < 0.07
    assert horvath(noisy(21, (100, 0.0), (60, 0.05), (90, 0.0))) == pytest.approx([100, 160], abs=2)
    louder = np.concatenate([rng.normal(0, 1, 100), rng.normal(0, 5, 100)])
    assert horvath(louder) == pytest.approx([100], abs=5)


def test_horvath_on_short_constant_and_noiseless_series() -> None:
    assert ratio([1.0] * 15).p == ratio([0.1] * 50).p == 1
    assert horvath([0.1] * 50) == horvath([1.0, 2.0]) == []
    assert horvath([1.0] * 30 + [2.0] * 30) == [30]


def test_horvaths_steps_have_the_effect_error_and_freedom_of_welchs_test() -> None:
    values = noisy(21, (100, 0.0), (60, 0.05), (90, 0.0))
    first, second = by_horvath(values).steps
    welch = stats.ttest_ind(
        values[first.place : second.place], values[: first.place], equal_var=False
    )
    assert (first.effect / first.error, first.df) == pytest.approx((welch.statistic, welch.df))
    assert intervals([first])[0] == pytest.approx(welch.confidence_interval(0.99))
    assert first.p == ratio(values[: second.place]).p < 1e-10
    assert {first.detectors, second.detectors} == {("horvath",)}


def test_what_was_measured_in_turns_is_a_step_beside_horvaths() -> None:
    values = [0.0] * 30 + [1.0] * 30
    found = by_horvath(values, evidence=[1, 30]).steps
    assert [(step.place, step.detectors) for step in found] == [
        (1, ("turns",)),
        (30, ("horvath", "turns")),
    ]
    assert all(step.df == 0 and np.isnan(step.error) for step in found)


def test_where_only_the_spread_changed_horvaths_test_reports_no_step() -> None:
    values = np.concatenate(
        [noisy(24, (100, 0.0), spread=0.005), noisy(25, (100, 0.0), spread=0.03)]
    )
    judged = by_horvath(values)
    assert not judged.steps
    assert ratio(values).p < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("slow", [0.9, 0.97, 0.99])
def test_no_step_is_reported_whose_own_interval_holds_no_change(slow: float) -> None:
    """Series that wander slowly look stepped to their neighbours, but not to their intervals."""
    rng = np.random.default_rng(39)
    reported = 0
    for _ in range(60):
        wandering = np.zeros(400)
        for turn, push in enumerate(0.004 * rng.standard_normal(399), 1):
            wandering[turn] = slow * wandering[turn - 1] + push
        wandering += 0.004 * rng.standard_normal(400)
        wandering[rng.integers(50, 350) :] += 0.1
        found = steps(wandering)
        reported += len(found)
        assert not any(step.holds_no_change() for step in found)
    assert reported >= 30  # the step of 10 % is seen where the series does not hide it


def test_a_step_is_reported_with_its_size_interval_and_range() -> None:
    values = noisy(22, (60, 0.0), (60, 0.05))
    (found,) = steps(values)
    assert (found.place, found.detectors) == (60, ("series",))
    assert found.first <= 60 <= found.last
    low, high = found.interval()
    assert low < 0.05 < high < 0.06
    assert found.effect == pytest.approx(found.after - found.before)
    assert found.p < 1e-20


def test_the_range_of_commits_is_wider_where_the_step_is_less_clear() -> None:
    clear, vague = (
        steps(noisy(23, (60, 0.0), (60, 0.05), spread=spread))[0] for spread in (0.003, 0.02)
    )
    assert (clear.first, clear.last) == (60, 60)
    assert vague.last > vague.first


def of(values: NDArray[np.float64], *places: int) -> list[float]:
    """The prominence of steps at some places, for a spread of one percent."""
    bounds = np.array([0, *places, len(values)])
    columns = values, np.full(len(values), 0.01), running_median(values)
    # beside another series: they are judged together
    found = Prominence([Segments(*(part[:20] for part in columns)), Segments(*columns)])
    which = np.ones(len(places), dtype=np.intp)
    return found.of(which, bounds[:-2], bounds[1:-1], bounds[2:]).tolist()


def test_the_prominence_is_that_of_least_squares() -> None:
    values = np.random.default_rng(44).uniform(-0.01, 0.01, 300) + 0.03 * (np.arange(300) >= 140)
    floor = 2 * 0.003**2
    sides = values[80:140], values[140:200]
    squares = sum(len(side) * side.var() for side in sides) + floor
    size = sides[1].mean() - sides[0].mean()
    t = size / np.sqrt(squares / 120 * (2 / 60))
    squares, ends, errors = floor, [], 0.0
    for side, time in (
        (values[115:140], np.arange(-24.5, 0)),
        (values[140:165], np.arange(25) + 0.5),
    ):
        design = np.column_stack([np.ones(25), time])
        fit, rest, *_ = np.linalg.lstsq(design, side, rcond=None)
        squares += rest[0]
        ends.append(fit[0])
        errors += np.linalg.inv(design.T @ design)[0, 0]
    jump = (ends[1] - ends[0]) / np.sqrt(squares / 46 * errors)
    seen = size / values.std()
    assert of(values, 140) == pytest.approx(
        [np.log(t) + 1.5 * np.log(jump) + np.log(seen)], rel=1e-9
    )


def test_a_drift_does_not_stand_out() -> None:
    slow = noisy(45, (300, 0.0)) + np.linspace(0, 0.3, 300)
    columns = slow, np.full(300, 0.01), running_median(slow)
    series = [Segments(*columns), Segments(*columns, settled={150})]
    assert prominent(series, [[100, 150, 200]] * 2) == [[], [150]]
    assert steps(slow) == []


def test_a_burst_of_nine_values_is_no_level_and_one_of_ten_is() -> None:
    for length, places in ((7, []), (9, []), (10, [100, 110])):
        values = noisy(46, (100, 0.0), (length, 0.2), (100, 0.0))
        assert [step.place for step in steps(values)] == places


def test_a_lasting_step_beside_a_short_level_is_found() -> None:
    """Bytes: 100 in six commits, 3 in five, 6 in seventeen, 3 in seventy-five."""
    values = np.log(np.repeat([100.0, 3.0, 6.0, 3.0], [6, 5, 17, 75]))
    first, second = steps(values)
    assert (first.place, second.place) == (6, 28)
    assert first.effect < log(0.1)
    assert second.effect == pytest.approx(log(0.5), abs=0.1)


def test_a_staircase_is_no_ramp() -> None:
    found = steps(noisy(26, (50, 0.0), (40, 0.05), (40, 0.1), (50, 0.15)))
    assert [step.place for step in found] == [50, 90, 130]


@pytest.mark.parametrize("before", [60, 400])
def test_a_step_ten_commits_before_the_end_is_found(before: int) -> None:
    series = [noisy(seed, (before, 0.0), (10, 0.05), spread=0.02) for seed in range(60)]
    found = [any(abs(step.place - before) <= 2 for step in one.steps) for one in judge_all(series)]
    assert np.mean(found) >= 0.85


def test_a_step_of_two_standard_deviations_is_found_between_long_levels() -> None:
    """Of one, which no annotator sees, most are not."""
    found = judge_all([noisy(seed, (200, 0.0), (200, 0.04), spread=0.02) for seed in range(30)])
    hits = [any(step.first <= 200 <= step.last for step in one.steps) for one in found]
    assert np.mean(hits) >= 0.85


def test_a_steady_wander_is_no_staircase() -> None:
    rng = np.random.default_rng(43)
    found = judge_all(
        [
            0.02 * (rng.standard_normal(200) + np.cumsum(0.05 * rng.standard_normal(200)))
            for _ in range(40)
        ]
    )
    assert np.mean([bool(one.steps) for one in found]) <= 0.4


def test_intervals_of_many_steps_are_those_of_each() -> None:
    found = steps(noisy(26, (50, 0.0), (40, 0.05), (40, 0.1), (50, 0.15)))
    assert len(found) == 3
    for step, (low, high) in zip(found, intervals(found, 0.95), strict=True):
        half = stats.t.ppf(0.975, step.df) * step.error
        assert (low, high) == (pytest.approx(step.effect - half), pytest.approx(step.effect + half))
    assert intervals([]) == []


def test_other_results_need_another_version() -> None:
    """Steps that were kept are used as long as the version stays: raise ``steps.VERSION`` whenever
    this fails.
    """
    rng = np.random.default_rng(31)
    found = []
    for _ in range(12):
        values = 0.02 * rng.standard_normal(240)
        for place in rng.integers(12, 228, 4).tolist():
            values[place:] += rng.uniform(0.02, 0.15)
        found.append([(step.place, step.first, step.last) for step in steps(values)])
    assert (VERSION, found) == (15, RESULTS)


@pytest.mark.simulation
@pytest.mark.parametrize("kind", ["normal", "t3", "dependent", "bursts"])
def test_flat_series_hardly_ever_have_steps(kind: str) -> None:
    rng = np.random.default_rng(25)
    series = []
    for _ in range(200):
        values = 0.02 * (rng.standard_t(3, 500) if kind == "t3" else rng.standard_normal(500))
        if kind == "dependent":
            for place in range(1, 500):
                values[place] += 0.4 * values[place - 1]
        if kind == "bursts":
            for place in rng.choice(np.arange(0, 500, 10), 8, replace=False):
                values[place : place + 2] += 0.3
        series.append(values)
    assert sum(bool(found.steps) for found in judge_all(series)) <= 5, "one of forty"


def test_missing_commits_are_skipped_and_places_stay_theirs() -> None:
    values = noisy(22, (60, 0.0), (60, 0.05))
    holes = np.insert(values, [0, 30, 100], np.nan)
    (found,) = steps(holes)
    assert found.place == 62


def test_short_constant_and_noiseless_series() -> None:
    assert steps([]) == steps([1.0, 2.0, np.nan]) == steps([0.1] * 100) == []
    (found,) = steps([1.0] * 30 + [1.1] * 30)
    assert (found.place, found.p, found.interval()) == (30, 0.0, pytest.approx((0.1, 0.1)))


def test_odd_series_give_sound_steps() -> None:
    rng = np.random.default_rng(28)
    count = 0
    for turn in range(60):
        n = int(rng.integers(1, 150))
        values = (
            np.cumsum(rng.standard_normal(n)),
            np.repeat(rng.standard_normal(n // 5 + 1), 5)[:n],
            rng.integers(0, 3, n).astype(np.float64),
            np.where(
                rng.random(n) < 0.3,
                np.nan,
                np.cumsum((rng.random(n) < 0.05) * rng.standard_normal(n)),
            ),
            np.tile([1.0, 2.0, 1.0, 5.0], n)[:n] + np.linspace(0, turn / 10, n),
        )[turn % 5]
        for step in steps(values):
            count += 1
            assert 0 <= step.first <= step.last < n
            assert step.first <= step.place <= step.last
            assert 0 <= step.p <= 0.01
            assert step.interval()[0] <= step.effect <= step.interval()[1]
    assert count > 20
