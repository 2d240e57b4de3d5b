"""Methods on curves, through ``compare`` and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cases import each
from numpy.typing import NDArray
from samples import WALL, sample_profile

from perfvcs.check import Change, Curve, EarlierSessions, Report, Unit, compare
from perfvcs.check.bounds import within
from perfvcs.check.case import Case
from perfvcs.check.curves.replication import lines
from perfvcs.check.curves.sides import Sides, condense, share
from perfvcs.check.curves.thresholds import orders, sentence
from perfvcs.check.matching import match
from perfvcs.check.method import load
from perfvcs.check.methods.curves import Curves
from perfvcs.check.rows import ProfileRows, points
from perfvcs.check.samples.scale import ALL_EQUAL
from perfvcs.check.text import text
from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources
from perfvcs.profile.rules import Rule, Rules
from perfvcs.profile.summary import Measured
from perfvcs.statistics.permutation import sign_flips, two_sample

SIZES = np.arange(10, 5010, 10.0)
FEW = np.array([10.0, 20, 40, 80, 160, 320])
GEOMETRIC = np.geomspace(10, 10_000, 24).round()
PUBLISHED = (
    "absolute-error",
    "relative-error",
    "studentized",
    "best-model-order",
    "average-amount",
    "integral",
    "linear-difference",
    "polynomial-difference",
    "local-statistics",
)


def profile(
    values: Any,
    sizes: Any,
    version: int = 0,
    *,
    paired: bool = True,
    names: Sequence[str] = ("search",),
    metric: Metric = WALL,
    binary: list[int] | None = None,
    **overrides: Any,
) -> Profile:
    """Values of the shape (executions, sizes), or (units, executions, sizes) for several ``names``;
    ``sizes`` as many, or one row.
    """
    cube = np.asarray(values, dtype=float)
    cube = cube.reshape((len(names), *cube.shape[-2:]))
    units, executions, count = cube.shape
    every = (
        np.broadcast_to(np.asarray(sizes, dtype=float), cube.shape).ravel()
        if sizes is not None
        else None
    )
    rows = Resources(
        names=list(names),
        uid=np.repeat(np.arange(units), executions * count).tolist(),
        execution=np.tile(np.repeat(np.arange(executions), count), units).tolist(),
        binary=None if binary is None else np.tile(np.repeat(binary, count), units).tolist(),
        size=(None if every is None else [None if size != size else float(size) for size in every]),  # noqa: PLR0124
        metrics={"wall": [None if value != value else float(value) for value in cube.ravel()]},  # noqa: PLR0124
    )
    session = "s" if paired else f"s{version}"
    fields: dict[str, Any] = {
        "commit": str(version + 1) * 40,
        "collected": Collected(
            session,
            f"2026-11-2{version}T09:30:00Z",
            f"2026-11-2{version}T09:40:00Z",
            "perfvcs 0.1.0",
        ),
        "design": Design(
            executions=executions,
            order="interleaved" if paired else "sequential",
            version=version,
            versions=["1" * 40, "2" * 40],
        ),
        "metrics": {"wall": metric},
        "resources": rows,
    }
    return sample_profile([1.0], **(fields | overrides))


def noisy(
    curve: NDArray[np.float64],
    seed: int,
    executions: int = 10,
    noise: float = 0.01,
    start: float = 0.0,
) -> NDArray[np.float64]:
    """Executions of a curve with multiplicative noise in each value, and one factor for all values
    of an execution.
    """
    random = np.random.default_rng(seed)
    shape = (executions, len(curve))
    return curve * np.exp(random.normal(0, noise, shape) + random.normal(0, start, (executions, 1)))


def report(
    old: Any,
    new: Any,
    sizes: Any = SIZES,
    method: str = "curves",
    history: Any = None,
    **options: Any,
) -> Report:
    return compare(
        [profile(old, sizes, **options)],
        [profile(new, sizes, 1, **options)],
        method=method,
        history=history,
    )


def verdict(*args: Any, **options: Any) -> Change:
    changes = report(*args, **options).changes
    assert len(changes) == 1
    return changes[0]


def cases(old: Profile, new: Profile) -> list[Case]:
    sides = Measured.of(old), Measured.of(new)
    return match([sides[0]], [sides[1]], {}, ProfileRows({id(sides[0]): old, id(sides[1]): new}))[0]


LOG = 1e-4 * np.log(SIZES)


# The experiment of Stupinsky 2018, chapter 6


def test_an_injected_linear_error_is_found_named_and_measured() -> None:
    change = verdict(noisy(LOG, 1), noisy(LOG + 2e-8 * SIZES, 2))
    assert (change.word, change.method, change.size) == ("degradation", "curves", None)
    assert change.curve is not None
    assert change.curve.kind == "linear"
    assert change.curve.low is not None
    assert change.curve.high is not None
    assert change.curve.low < 2e-8 < change.curve.high
    assert change.curve.coefficient == pytest.approx(2e-8, rel=0.05)
    assert change.curve.models[0] == "logarithmic"
    assert "O(log n) -> O(n)" in change.finding
    assert change.effect == pytest.approx(np.mean(2e-8 * SIZES[-50:] / LOG[-50:]), rel=0.02)
    assert change.gate


@pytest.mark.parametrize(
    ("error", "kind", "per"),
    [
        (3e-5 + 0 * SIZES, "constant", "whatever the size (constant)"),
        (2e-8 * SIZES, "linear", "ns per element (linear)"),
        (4e-12 * SIZES**2, "quadratic", "ps per element squared (quadratic)"),
    ],
)
def test_the_kind_of_error_is_said_with_its_size(
    error: NDArray[np.float64], kind: str, per: str
) -> None:
    for sign in (1, -1):
        old, new = noisy(LOG, 3), noisy(LOG + error, 4)
        change = verdict(*((old, new) if sign > 0 else (new, old)))
        assert change.curve is not None
        assert (change.word, change.curve.kind) == (
            "degradation" if sign > 0 else "improvement",
            kind,
        )
        assert change.finding.startswith("+" if sign > 0 else "-")
        assert per in change.finding


@pytest.mark.simulation
def test_the_starts_of_executions_do_not_change_an_order() -> None:
    names = [f"unit {number}" for number in range(30)]
    sides = [
        np.stack([noisy(LOG + error, seed, start=0.01) for seed in range(first, first + 30)])
        for error, first in ((0, 0), (8e-5, 99))
    ]
    changes = report(*sides, names=names).changes
    assert {change.word for change in changes} == {"degradation"}
    assert sum("(constant)" in change.finding for change in changes) >= 28
    assert sum("->" in change.finding for change in changes) <= 1


def test_the_same_curve_is_the_same() -> None:
    change = verdict(noisy(LOG, 5), noisy(LOG, 6))
    assert (change.word, change.finding) == ("same", "")
    assert change.curve is not None
    assert (change.curve.kind, change.curve.coefficient) == ("none", None)
    assert change.curve.orders == ("O(log n)", "O(log n)")


def test_a_report_of_curves_reads_well_in_80_columns() -> None:
    shown = text(report(noisy(LOG, 1), noisy(LOG + 2e-8 * SIZES, 2)))
    assert max(map(len, shown.splitlines())) <= 80
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[1].startswith("degradation    wall time       +11.")
    assert lines[2].endswith("per element (linear), O(log n) -> O(n); effect at")
    assert lines[3] == "sizes 4,510 to 5,000"


def test_an_execution_that_started_slow_does_not_make_a_change() -> None:
    old, new = noisy(LOG, 7), noisy(LOG, 8)
    new[3:6] *= 1.1
    assert verdict(old, new).word == "inconclusive"


def test_an_execution_far_from_the_others_hides_no_change() -> None:
    before, after = noisy(LOG, 1, start=0.005), noisy(LOG * 1.04, 2, start=0.005)
    before[3] *= 1.6
    change = verdict(before, after)
    assert change.word == "degradation"
    assert change.low is not None
    assert change.low < 0.04 < (change.high or 0)


def test_what_is_far_from_the_others_may_be_a_part_of_a_change() -> None:
    before, after = noisy(LOG, 1, executions=20), noisy(LOG, 2, executions=20)
    after[3] *= 1.6
    change = verdict(before, after, method="curves")
    assert change.word == "inconclusive"
    assert change.reason.startswith(
        "some executions are far from the others: they may be part of a change; within ±"
    )
    assert change.high is not None
    assert change.high < 0.01


@pytest.mark.simulation
def test_false_alarms_under_execution_effects_stay_at_the_level() -> None:
    random = np.random.default_rng(11)
    away = np.log(GEOMETRIC) - np.log(GEOMETRIC).mean()

    def side() -> NDArray[np.float64]:
        shape = (1000, 10, 1)
        lines = random.normal(0, 0.03, shape) + random.normal(0, 0.005, shape) * away
        found: NDArray[np.float64] = (
            1e-6 * GEOMETRIC * np.exp(lines + random.normal(0, 0.05, (1000, 10, len(GEOMETRIC))))
        )
        return found

    names = [f"unit {number}" for number in range(1000)]
    changes = report(side(), side(), GEOMETRIC, names=names).changes
    chances = np.array([change.p for change in changes])
    alarms = [
        change.p <= 0.01 and (change.permutation_p or 1) <= 0.01
        for change in changes
        if change.p is not None
    ]
    assert np.mean(alarms) <= 0.015
    assert np.mean(chances <= 0.05) == pytest.approx(0.05, abs=0.02)
    assert not any(change.word in ("degradation", "improvement") for change in changes)


# Few executions, apart, histories, builds


def test_one_execution_a_side_is_suspected_and_says_of_what_kind() -> None:
    change = verdict(noisy(LOG, 1, 1), noisy(LOG + 4e-8 * SIZES, 2, 1))
    assert (change.word, change.low, change.p) == ("suspected", None, None)
    assert "(linear)" in change.finding
    assert "start of a single execution" in change.reason
    assert verdict(noisy(LOG, 1, 1), noisy(LOG, 2, 1)).word == "inconclusive"


def test_fewer_than_five_executions_raise_no_more_than_suspicion() -> None:
    change = verdict(noisy(LOG, 1, 4), noisy(2 * LOG, 2, 4))
    assert (change.word, change.reason) == (
        "suspected",
        "only 4 executions a side: at least 5, better 10",
    )
    assert verdict(noisy(LOG, 1, 4), noisy(LOG, 2, 4)).word == "inconclusive"


def test_curves_measured_apart_need_a_history() -> None:
    old, new = noisy(LOG, 1), noisy(1.2 * LOG, 2)
    change = verdict(old, new, paired=False)
    reason = (
        "the two sides come from different sessions, and how much sessions differ is not known yet"
    )
    assert (change.word, change.reason) == ("suspected", reason)
    assert verdict(old, noisy(LOG, 2), paired=False).word == "inconclusive"
    known = profile(old, SIZES)
    unit = Unit(known.job.key, known.environment.fingerprint, "search", None, "wall")
    steady = EarlierSessions(means=(-7.0, -7.004, -6.996, -7.001, -6.999, -7.003, -6.998))
    assert verdict(old, new, paired=False, history={unit: steady}).word == "degradation"
    wild = EarlierSessions(means=(-7.0, -7.4, -6.6, -7.1, -6.9, -7.3, -6.8))
    assert verdict(old, new, paired=False, history={unit: wild}).word == "inconclusive"


def test_a_large_change_is_suspected_where_few_sessions_are_known() -> None:
    old = noisy(LOG, 1)
    known = profile(old, SIZES)
    unit = Unit(known.job.key, known.environment.fingerprint, "search", None, "wall")
    # the last of them is the target itself
    few = {unit: EarlierSessions(means=(-7.0, -7.05, -6.97, -7.02, -6.2))}
    change = verdict(old, noisy(LOG + 1.2e-7 * SIZES, 2), paired=False, history=few)
    assert (change.word, change.reason) == (
        "suspected",
        "measured apart, and not enough is known of how much sessions differ",
    )
    assert (
        change.curve is not None
        and change.curve.kind == "linear"
        and "O(log n) -> O(n)" in change.finding
    )
    assert verdict(old, noisy(1.1 * LOG, 2), paired=False, history=few).word == "inconclusive"


def test_an_audit_raises_what_counts() -> None:
    known = profile(noisy(LOG, 1), SIZES)
    unit = Unit(known.job.key, known.environment.fingerprint, "search", None, "wall")
    change = verdict(
        noisy(LOG, 1),
        noisy(1.03 * LOG, 2),
        history={unit: EarlierSessions(audits=(0.06, -0.06, 0.06, -0.06))},
    )
    assert change.word == "same"
    assert change.delta is not None
    assert change.delta > 0.1


def test_repeated_builds_take_the_place_of_executions() -> None:
    builds = [build for build in range(5) for _ in range(2)]
    random = np.random.default_rng(4)
    luck = [np.repeat(np.exp(random.normal(0, 0.02, 5)), 2)[:, None] for _ in range(2)]
    change = verdict(noisy(LOG, 1) * luck[0], noisy(1.5 * LOG, 2) * luck[1], binary=builds)
    assert (change.word, change.builds, change.executions) == ("degradation", (5, 5), (10, 10))
    assert (
        verdict(noisy(LOG, 1) * luck[0], noisy(LOG, 2) * luck[1], binary=builds).word
        == "inconclusive"
    )


def test_higher_may_be_better() -> None:
    change = verdict(noisy(LOG, 1), noisy(1.2 * LOG, 2), metric=Metric("op/s", "higher"))
    assert change.word == "improvement"


def test_a_curve_that_changed_only_at_small_sizes_shows_them() -> None:
    old, new = 1e-6 * GEOMETRIC, 1e-6 * GEOMETRIC + 2e-6
    change = verdict(noisy(old, 1, noise=0.002), noisy(new, 2, noise=0.002), GEOMETRIC)
    assert change.word == "degradation"
    assert "whatever the size (constant); effect at sizes 10 to" in change.finding
    assert change.effect is not None
    assert change.effect > 0.1


def test_curves_that_cross_say_so() -> None:
    old = 1e-6 * GEOMETRIC
    change = verdict(noisy(old, 1), noisy(old * (GEOMETRIC / 300) ** 0.05, 2), GEOMETRIC)
    assert change.word == "degradation"
    assert ", at sizes 10 to 14 -1" in change.finding


# Sizes that differ, zeros, and what is no curve


def test_executions_may_have_sizes_of_their_own() -> None:
    random = np.random.default_rng(5)
    sizes = random.uniform(10, 5000, (2, 10, 300))
    curves = [1e-6 * size * np.exp(random.normal(0, 0.03, size.shape)) for size in sizes]
    same = compare(
        [profile(curves[0], sizes[0])], [profile(curves[1], sizes[1], 1)], method="curves"
    ).changes[0]
    slow = compare(
        [profile(curves[0], sizes[0])], [profile(1.1 * curves[1], sizes[1], 1)], method="curves"
    ).changes[0]
    assert same.word in ("same", "inconclusive")
    assert slow.word == "degradation"
    assert slow.effect == pytest.approx(0.1, abs=0.02)


def test_only_the_common_sizes_are_compared() -> None:
    half = SIZES[200:]
    change = compare(
        [profile(noisy(LOG, 1), SIZES)],
        [profile(noisy(1.1 * LOG[200:], 2), half, 1)],
        method="curves",
    ).changes[0]
    assert change.word == "degradation"
    assert change.curve is not None
    assert change.curve.sizes == (2010, 5000)


@each("method", [*PUBLISHED, "curves", "exclusive-time-outliers"])
def test_ranges_that_do_not_meet_are_not_comparable(method: str) -> None:
    old, new = (
        profile(noisy(LOG[:100], 1), SIZES[:100]),
        profile(noisy(LOG[200:], 2), SIZES[200:], 1),
    )
    (change,) = compare([old], [new], method=method).changes
    assert (change.word, change.reason) == (
        "not comparable",
        "sizes 10 to 1,000 and 2,010 to 5,000 do not overlap",
    )
    (change,) = compare(
        [profile(noisy(LOG, 1), None)], [profile(noisy(LOG, 1), SIZES, 1)], method=method
    ).changes
    assert (change.word, change.reason) == ("not comparable", "one side has no sizes")


def test_a_few_zeros_do_not_keep_a_curve_from_being_one() -> None:
    old, new = noisy(LOG, 1), noisy(1.2 * LOG, 2)
    old[:, 0] = 0
    old[::2, 0] = 2e-3
    change = verdict(old, new)
    assert (change.word, change.method) == ("degradation", "curves")
    assert change.effect == pytest.approx(0.2, abs=0.02)


def test_what_is_no_curve_is_judged_by_log_medians() -> None:
    assert verdict(noisy(LOG[:1], 1), noisy(LOG[:1], 2), SIZES[:1]).method == "log-median"
    assert {
        change.method for change in report(noisy(LOG[:2], 1), noisy(LOG[:2], 2), SIZES[:2]).changes
    } == {"log-median"}
    assert verdict(noisy(LOG, 1), noisy(LOG, 2), None).method == "log-median"


# Values of 0 and below


def test_a_curve_below_zero_is_a_curve() -> None:
    for sign in (1, -1):
        old, new = noisy(-LOG, 1, start=0.001), noisy(-(1 + 0.1 * sign) * LOG, 2, start=0.001)
        change = verdict(old, new)
        assert (change.word, change.method, change.size) == (
            "improvement" if sign > 0 else "degradation",
            "curves",
            None,
        )
        assert change.effect is None  # a share of what is below 0 means nothing
        assert change.shift == pytest.approx(-0.1 * sign * LOG[-50:].mean(), rel=0.05)
        assert change.shift_low is not None
        assert change.shift_high is not None
        assert change.shift_low < change.shift < change.shift_high
        assert change.baseline is not None
        assert change.target == pytest.approx(change.baseline + change.shift)
    assert verdict(noisy(-LOG, 1), noisy(-LOG, 2)).word == "same"


def test_a_curve_that_crosses_zero_is_a_curve() -> None:
    curve = 1e-6 * (SIZES - 1000)
    random = np.random.default_rng(3)
    old, new = (
        one + random.normal(0, 2e-5, (10, len(SIZES))) for one in (curve, curve + 2e-7 * SIZES)
    )
    change = verdict(old, new)
    assert (change.word, change.method) == ("degradation", "curves")
    assert change.curve is not None
    assert (change.curve.kind, change.curve.coefficient) == (
        "linear",
        pytest.approx(2e-7, rel=0.01),
    )
    assert change.effect == pytest.approx(np.mean(2e-7 * SIZES[-50:] / curve[-50:]), rel=0.02)
    # the default asks for a model first
    (change,) = compare([profile(old, SIZES)], [profile(new, SIZES, 1)]).changes
    assert (change.word, change.method) == ("degradation", "curves")


@pytest.mark.parametrize("side", [0, 1])
def test_a_curve_of_which_one_side_is_partly_below_zero(side: int) -> None:
    sides = [noisy(1e-6 * GEOMETRIC, 1), noisy(1e-6 * GEOMETRIC, 2)]
    sides[side][:, :6] -= 5e-5
    change = verdict(*sides, GEOMETRIC)
    assert (change.word, change.method) == ("improvement" if side else "degradation", "curves")
    assert change.finding.endswith("at sizes 10 to 14")


# What no start of an execution explains


@pytest.mark.parametrize("executions", [1, 2, 3, 10])
@pytest.mark.parametrize("paired", [True, False])
def test_many_times_as_much_is_a_change_however_few_executions(
    executions: int, paired: bool
) -> None:
    sizes = np.arange(10.0, 70, 10)
    square, power = 1e-6 * sizes**2, 1e-6 * 2.0**sizes
    change = verdict(
        noisy(square, 1, executions), noisy(power, 2, executions), sizes, paired=paired
    )
    assert (change.word, change.method, change.gate) == ("degradation", "curves", True)
    assert change.effect is not None
    assert change.effect > 1e14
    back = verdict(noisy(power, 1, executions), noisy(square, 2, executions), sizes, paired=paired)
    assert (back.word, back.gate) == ("improvement", False)
    assert (
        verdict(noisy(LOG, 1, executions), noisy(1e15 * LOG, 2, executions), paired=paired).word
        == "degradation"
    )


def test_a_pause_at_one_size_is_not_many_times_as_much() -> None:
    new = noisy(LOG[:8], 2, 1)
    new[:, 7] *= 1e6
    assert verdict(noisy(LOG[:8], 1, 1), new, SIZES[:8]).word in ("inconclusive", "suspected")
    few = verdict(noisy(LOG, 1, 1), noisy(8 * LOG, 2, 1))
    assert (few.word, few.reason.startswith("the start of a single execution")) == (
        "suspected",
        True,
    )


def test_a_clock_that_begins_to_tick_is_not_many_times_as_much() -> None:
    assert verdict(np.zeros((1, 9)), np.full((1, 9), 1e-3), SIZES[:9]).word in (
        "inconclusive",
        "suspected",
    )


# Odd input


ODD = {
    "NaN": (SIZES[:12], np.where(np.arange(12) % 3, LOG[:12], np.nan)),
    "sizes of 0 and below": (np.arange(-4.0, 8), 1e-3 + 1e-5 * np.arange(12)),
    "one size": (np.full(12, 7.0), LOG[:12]),
    "zeros": (SIZES[:12], np.where(np.arange(12) < 6, 0.0, LOG[:12])),
    "all zero": (SIZES[:12], np.zeros(12)),
    "tiny and huge": (SIZES[:12], 10.0 ** np.linspace(-300, 300, 12)),
}


@pytest.mark.slow
@pytest.mark.parametrize("method", [*PUBLISHED, "curves", "auto"])
@each("odd", ODD)
@each("executions", [1, 6])
def test_equal_curves_of_odd_values_are_judged_and_not_changed_by_methods_that_allow_for_noise(
    method: str, odd: str, executions: int
) -> None:
    sizes, curve = ODD[odd]
    for seed in range(3):
        changes = report(
            noisy(curve, seed, executions), noisy(curve, seed + 9, executions), sizes, method
        ).changes
        assert changes
        if method in ("absolute-error", "studentized", "curves", "auto"):
            assert {change.word for change in changes} <= {"same", "inconclusive"}


def test_equal_curves_are_the_same_and_no_values_are_inconclusive() -> None:
    equal = np.tile(LOG, (6, 1))
    assert verdict(np.ones((6, 9)), np.ones((6, 9)), SIZES[:9], metric=Metric("B")).word == "same"
    # which no clock reads, if it is fine enough
    times = verdict(np.ones((6, 9)), np.ones((6, 9)), SIZES[:9])
    assert (times.word, times.reason) == ("inconclusive", ALL_EQUAL)
    assert verdict(equal, equal).word == "same"
    # six pairs, in an order that is not known
    assert verdict(equal, 1.1 * equal).word == "suspected"
    assert verdict(equal, 1.3 * equal).word == "degradation"
    nothing = equal.copy()
    nothing[:3] = np.nan
    assert verdict(nothing, equal).executions == (3, 3)


def test_the_bound_of_an_open_curve_settles_it() -> None:
    sides = noisy(LOG, 1, start=0.02), noisy(LOG, 2, start=0.02)
    change = verdict(*sides)
    assert change.word == "inconclusive"
    assert change.bound is not None
    assert change.reason == f"the interval reaches beyond ±1 %; {within(change.bound)}"
    made = profile(sides[0], SIZES), profile(sides[1], SIZES, 1)
    for factor, word in ((1.0001, "same"), (0.999, "inconclusive")):
        (again,) = compare(
            [made[0]], [made[1]], method="curves", within=change.bound * factor
        ).changes
        assert (again.word, again.within) == (word, change.bound * factor)
    assert verdict(*sides, paired=False).bound is None  # the intervals are too narrow


def test_a_curve_that_a_coarse_clock_read_is_not_the_same() -> None:
    curve = 1e-3 * FEW / FEW.max() + 2e-3
    sides = [noisy(curve, seed, noise=1e-3) for seed in (1, 2)]
    assert verdict(*sides, FEW).word == "same"
    change = verdict(*(np.round(side / 1e-4) * 1e-4 for side in sides), FEW)
    assert (change.word, change.reason) == (
        "inconclusive",
        f"a clock of 100 us cannot show 1 %; {within(change.bound or 0)}",
    )
    assert (change.bound or 0) > 0.1
    counted = verdict(*(np.round(side / 1e-4) for side in sides), FEW, metric=Metric("B"))
    assert counted.word == "same"


def test_a_clock_too_coarse_for_the_smallest_sizes_alone_is_too_coarse() -> None:
    curve = 1e-5 * FEW
    sides = [noisy(curve, seed, noise=1e-4, start=1e-4) for seed in (1, 2)]
    assert verdict(*sides, FEW).word == "same"
    tick = curve[0] / 100  # 1 % of the smallest value, .1 % of the mean
    change = verdict(*(np.round(side / tick) * tick for side in sides), FEW)
    assert (change.word, change.reason) == (
        "inconclusive",
        "a clock of 1 us cannot show 1 %; within ±4 %",
    )
    fine = curve[0] / 1000
    assert verdict(*(np.round(side / fine) * fine for side in sides), FEW).word == "same"


def test_a_curve_of_memory_has_the_delta_of_memory() -> None:
    old, new = (
        profile(noisy(1e12 * LOG, seed), SIZES, seed - 1, metric=Metric("B")) for seed in (1, 2)
    )
    for side in (old, new):
        side.resources.metrics["maxrss"] = side.resources.metrics.pop("wall")
        side.metrics["maxrss"] = side.metrics.pop("wall")
    assert compare([old], [new], method="curves").changes[0].delta == 0.02
    assert compare([old], [new]).changes[0].delta == 0.02
    assert compare([old], [new], delta=0.01).changes[0].delta == 0.01


def test_sizes_of_zero_are_compared_as_they_are() -> None:
    sizes = np.arange(0, 20.0)
    curve = 1e-3 + 1e-4 * sizes
    change = verdict(noisy(curve, 1), noisy(1.3 * curve, 2), sizes)
    assert (change.word, change.method) == ("degradation", "curves")
    assert change.effect == pytest.approx(0.3, abs=0.03)


# The published rules


# the order stays
@each("method", [method for method in PUBLISHED if method != "best-model-order"])
@each("better", ["lower", "higher"])
def test_every_published_rule_finds_a_curve_that_tripled(method: str, better: Any) -> None:
    change = verdict(noisy(LOG, 1), noisy(3 * LOG, 2), method=method, metric=Metric("s", better))
    assert change.word == ("degradation" if better == "lower" else "improvement")
    assert change.method == method
    assert change.effect == pytest.approx(2, abs=0.05)
    assert change.gate == (better == "lower")


@pytest.mark.parametrize("method", PUBLISHED)
def test_every_published_rule_calls_equal_curves_the_same(method: str) -> None:
    assert verdict(noisy(LOG, 1), noisy(LOG, 1), method=method).word == "same"
    assert verdict(np.zeros((5, 4)), np.zeros((5, 4)), SIZES[:4], method=method).word == "same"
    alone = verdict(noisy(LOG[:1], 1), noisy(LOG[:1], 1), None, method=method)
    assert alone.word == ("inconclusive" if method in ("absolute-error", "studentized") else "same")


@pytest.mark.parametrize("method", PUBLISHED)
def test_a_rule_in_shares_has_no_answer_below_zero(method: str) -> None:
    change = verdict(-noisy(LOG, 1), -3 * noisy(LOG, 2), method=method)
    assert change.effect is None
    if method in (
        "relative-error",
        "average-amount",
        "integral",
        "linear-difference",
        "polynomial-difference",
    ):
        assert change.word == "inconclusive"


@each(
    "method factor word",
    [
        ("relative-error", 1.04, "same"),
        ("relative-error", 1.2, "suspected"),
        ("relative-error", 1.3, "degradation"),
        ("integral", 1.08, "same"),
        ("integral", 1.2, "suspected"),
        ("integral", 0.7, "improvement"),
        ("average-amount", 1.9, "same"),
        ("average-amount", 2.1, "degradation"),
        ("average-amount", 0.45, "improvement"),
        ("linear-difference", 1.03, "same"),
        ("linear-difference", 1.2, "suspected"),
        ("linear-difference", 1.4, "degradation"),
        ("polynomial-difference", 1.03, "same"),
        ("polynomial-difference", 0.6, "improvement"),
        ("local-statistics", 1.05, "same"),
        ("local-statistics", 1.2, "degradation"),
        ("local-statistics", 1.4, "degradation"),
    ],
)
def test_thresholds_are_those_of_the_source(method: str, factor: float, word: str) -> None:
    line = 1e-6 * SIZES
    assert verdict(noisy(line, 1), noisy(factor * line, 2), method=method).word in (
        {word} | ({"suspected"} if factor == 1.2 else set())
    )


@pytest.mark.simulation
@pytest.mark.parametrize("method", ["absolute-error", "studentized"])
@pytest.mark.parametrize("executions", [2, 3, 5, 10])
@pytest.mark.parametrize("paired", [True, False])
def test_the_starts_of_executions_are_no_error(method: str, executions: int, paired: bool) -> None:
    names, sizes = [f"unit {number}" for number in range(80)], np.arange(10.0, 310, 20)
    random = np.random.default_rng(100 + executions)
    sides = [
        1e-6
        * sizes
        * np.exp(
            random.normal(0, 0.01, (80, executions, 15))
            + random.normal(0, 0.03, (80, executions, 1))
        )
        for _ in (0, 1)
    ]
    words = [
        change.word for change in report(*sides, sizes, method, names=names, paired=paired).changes
    ]
    # at 1 %, 5 of 80 are one in 600
    assert 80 - words.count("same") - words.count("inconclusive") <= 4
    doubled = report(sides[0], 2 * sides[1], sizes, method, names=names, paired=paired).changes
    assert sum(change.word == "degradation" for change in doubled) >= (
        30 if executions == 2 else 79
    )


@pytest.mark.parametrize("sizes", [FEW, GEOMETRIC, SIZES, 2.0 ** np.arange(16)])
def test_studentized_residuals_and_their_kind_never_disagree(sizes: NDArray[np.float64]) -> None:
    for executions in (1, 5):
        for curve in (1e-6 * sizes, 1e-6 * sizes**2, LOG[-1] + 0 * sizes):
            error = 0.1 * curve[-1] * sizes / sizes[-1]
            change = verdict(
                noisy(curve, 1, executions),
                noisy(curve + error, 2, executions),
                sizes,
                method="studentized",
            )
            assert change.curve is not None
            assert change.word in {"degradation", "inconclusive"} or change.curve.kind == "none"
    crossed = noisy(1e-3 + 1e-4 * (FEW - 150) / FEW[-1], 2, 1, noise=0.001)
    change = verdict(noisy(1e-3 + 0 * FEW, 1, 1, noise=0.001), crossed, FEW, method="studentized")
    assert (change.word, change.reason) == (
        "inconclusive",
        (
            "the residuals have no direction for sure, but the errors look linear; no bound, since"
            " this rule has no interval"
        ),
    )


def test_the_order_of_the_best_model_decides_where_the_models_fit() -> None:
    line = 1e-6 * SIZES
    change = verdict(noisy(line, 1), noisy(1e-9 * SIZES**2, 2), method="best-model-order")
    assert change.word == "degradation"
    assert change.finding.startswith(("linear -> ", "power -> "))
    assert (
        verdict(noisy(1e-9 * SIZES**2, 1), noisy(line, 2), method="best-model-order").word
        == "improvement"
    )
    assert verdict(noisy(line, 1), noisy(2 * line, 2), method="best-model-order").word == "same"
    change = verdict(
        noisy(line, 1, noise=1.0), noisy(1e-9 * SIZES**2, 2, noise=1.0), method="best-model-order"
    )
    assert (change.word, "below .9" in change.reason) == ("suspected", True)


def test_a_single_size_has_no_kind_of_error() -> None:
    for method in ("absolute-error", "studentized"):
        change = verdict(noisy(LOG[:1], 1), noisy(2 * LOG[:1], 2), SIZES[:1], method=method)
        assert change.word == "inconclusive"
        assert "fewer than 3 sizes" in change.reason


def test_studentized_residuals_name_the_sizes_that_stand_out() -> None:
    new = noisy(LOG, 2)
    new[:, 123] *= 2
    change = verdict(noisy(LOG, 1), new, method="studentized")
    assert "outstanding at size 1,240" in change.finding
    new[:, 200:210] *= 2
    assert "and 6 more" in verdict(noisy(LOG, 1), new, method="studentized").finding
    assert (
        "(linear)"
        in verdict(noisy(LOG, 1), noisy(LOG + 4e-8 * SIZES, 2), method="studentized").finding
    )


@pytest.mark.parametrize(
    ("error", "linear", "polynomial"),
    [
        (2e-4 + 0 * SIZES, "constant", "constant"),
        (2e-7 * SIZES, "linear", "linear"),
        (1e-10 * SIZES**2, "linear", "quadratic"),
        (3e-14 * SIZES**3, "cubic", "cubic"),
    ],
)
def test_the_difference_of_two_models_is_named(
    error: NDArray[np.float64], linear: str, polynomial: str
) -> None:
    base = {
        "constant": 1e-6 * SIZES,
        "linear": 1e-6 * SIZES,
        "quadratic": 1e-10 * SIZES**2,
        "cubic": 1e-14 * SIZES**3,
    }[polynomial]
    old, new = np.tile(base + 1e-5, (3, 1)), np.tile(base + 1e-5 + error, (3, 1))
    assert f"({linear})" in verdict(old, new, method="linear-difference").finding
    assert f"({polynomial})" in verdict(old, new, method="polynomial-difference").finding


def test_a_difference_at_one_size_is_a_constant() -> None:
    old, new = np.full((3, 1), 1.0), np.full((3, 1), 2.0)
    assert (
        verdict(old, new, [7.0], method="linear-difference").finding
        == "+1 s whatever the size (constant)"
    )
    assert (
        verdict(old, new, [7.0], method="polynomial-difference").finding
        == "+1 s on average (constant)"
    )


def test_local_statistics_name_the_windows_that_moved() -> None:
    new = noisy(1e-6 * SIZES, 2)
    new[:, :150] *= 1.5
    change = verdict(noisy(1e-6 * SIZES, 1), new, method="local-statistics")
    assert change.word == "suspected"
    assert change.finding == "6 of 20 windows, sizes 10 to 1,510"
    new[:, 350:] *= 0.6
    change = verdict(noisy(1e-6 * SIZES, 1), new, method="local-statistics")
    assert (change.word, change.reason) == (
        "suspected",
        "some windows changed, and not all in one direction",
    )


def totals(factors: Sequence[float], paired: bool = True) -> list[Change]:
    names = [f"f{number}" for number in range(len(factors))]
    random = np.random.default_rng(9)
    old = np.array([noisy(np.full(3, 0.01), number) for number in range(len(factors))])
    new = old * np.array(factors)[:, None, None] * np.exp(random.normal(0, 0.001, old.shape))
    return report(old, new, None, "exclusive-time-outliers", names=names, paired=paired).changes


def test_the_function_that_changed_among_many_is_found() -> None:
    words = {change.uid: change for change in totals([1.0] * 11 + [1.5])}
    assert words["f11"].word == "degradation"
    assert "modified z-score" in words["f11"].reason
    assert words["f11"].effect == pytest.approx(0.5, abs=0.01)
    assert words["f11"].baseline == pytest.approx(0.03, rel=0.02)
    assert sum(change.word == "same" for change in words.values()) >= 9


def test_outliers_need_others_to_be_outside_of() -> None:
    assert {change.word for change in totals([1.0, 2.0, 1.0])} == {"inconclusive"}
    assert "too few units (3)" in totals([1.0, 2.0, 1.0])[0].reason
    # what stayed while all others moved did not change
    assert {change.uid: change.word for change in totals([1.2] * 11 + [1.0])}[
        "f11"
    ] != "improvement"


def test_each_rule_for_outliers_has_its_word() -> None:
    from perfvcs.check.methods.exclusive_time_outliers import _words

    assert [found for found, _ in _words(np.zeros(6))] == ["not"] * 6
    assert [found for found, _ in _words(np.array([0, 0, 0, 0, 0, 9.0]))][-1] == "surely"
    deltas = np.array([-2.0, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 4.4])
    assert _words(deltas)[-1][0] == "perhaps"
    deltas = np.array([-1.0, -0.9, -0.5, -0.45, 0, 0.45, 0.5, 0.9, 1, 2.9])
    assert _words(deltas)[-1][1].startswith("outside")


# Parts


def test_kinds_of_error_are_said_in_the_metrics_unit() -> None:
    assert sentence("linear", 1e-8, "s") == "+10 ns per element (linear)"
    assert sentence("quadratic", -2.0, "B") == "-2 B per element squared (quadratic)"
    assert sentence("logarithmic", 1.2e-3, "s") == "+1.2 ms per ln of the size (logarithmic)"
    assert sentence("power", 1e-3, "s", 1.5) == "+1 ms times size^1.5 (power)"
    assert sentence("exponential", 1e-3, "s", 1.01) == "+1 ms times 1.01^size (exponential)"
    assert sentence("none", 1.0, "s") == sentence("linear", float("nan"), "s") == ""


@pytest.mark.parametrize(
    ("before", "after", "kind", "sign", "said"),
    [
        ("O(log n)", "O(n)", "linear", 1, "O(log n) -> O(n)"),
        ("O(n)", "O(log n)", "linear", -1, "O(n) -> O(log n)"),
        ("O(n)", "O(n)", "linear", 1, ""),
        ("O(n^0.98)", "O(n)", "linear", 1, ""),
        ("O(n^0.5)", "O(n)", "linear", 1, "O(n^0.5) -> O(n)"),
        ("O(1.01^n)", "O(1.01^n)", "quadratic", 1, ""),
        ("O(n)", "O(n log n)", "linearithmic", 1, "O(n) -> O(n log n)"),
        ("O(n)", "O(n^2)", "power", 1, ""),
        ("O(1)", "O(1)", "none", 1, ""),
    ],
)
def test_an_order_changes_where_the_error_grows_faster_than_the_curve(
    before: str, after: str, kind: str, sign: int, said: str
) -> None:
    names = {
        "O(1)": "constant",
        "O(log n)": "logarithmic",
        "O(n)": "linear",
        "O(n log n)": "linearithmic",
        "O(n^2)": "quadratic",
    }
    models = [
        names.get(order, "exponential" if order.endswith("^n)") else "power")
        for order in (before, after)
    ]
    curve = Curve(
        models=(models[0], models[1]),
        orders=(before, after),
        r2=(1, 1),
        sizes=(1, 9),
        kind=kind,
        coefficient=None if kind == "none" else float(sign),
    )
    assert orders(curve) == said


def test_points_of_pairs_are_those_that_both_sides_have() -> None:
    old, new = noisy(LOG[:4], 1, 3), noisy(LOG[:4], 2, 3)
    new[1] = np.nan
    (case,) = cases(profile(old, SIZES[:4]), profile(new, SIZES[:4], 1))
    before, after = points(case)
    assert (before.executions, after.executions, len(before.value)) == (2, 2, 8)
    assert before.execution.tolist() == [0] * 4 + [1] * 4
    (case,) = cases(profile(old, SIZES[:4], paired=False), profile(new, SIZES[:4], 1, paired=False))
    assert [side.executions for side in points(case)] == [3, 2]


def test_executions_with_huge_numbers_are_distinguished() -> None:
    old, new = profile(noisy(LOG[:4], 1, 3), SIZES[:4]), profile(noisy(LOG[:4], 2, 3), SIZES[:4], 1)
    for one in (old, new):
        one.resources.execution = [2**62 * (number // 4 % 2) + number // 4 for number in range(12)]
    (case,) = cases(old, new)
    assert [side.executions for side in points(case)] == [3, 3]


def test_a_permutation_of_vectors_is_that_of_hotellings_statistic() -> None:
    random = np.random.default_rng(2)
    gaps = random.normal(0.3, 1, (1, 7, 2))

    def square(values: NDArray[np.float64]) -> float:
        mean = values.mean(axis=0)
        return float(mean @ np.linalg.solve(np.cov(values.T), mean))

    signs = 1 - 2 * (np.arange(128)[:, None] >> np.arange(7) & 1)
    reached = [square(gaps[0] * sign[:, None]) >= square(gaps[0]) * (1 - 1e-9) for sign in signs]
    assert sign_flips(gaps)[0] == pytest.approx(np.mean(reached))
    line = np.stack([gaps[..., 0], 0 * gaps[..., 0]], axis=-1)
    assert sign_flips(line)[0] == pytest.approx(sign_flips(gaps[..., 0])[0])
    assert two_sample(line[:, :3], line[:, 3:])[0] == pytest.approx(
        two_sample(gaps[:, :3, 0], gaps[:, 3:, 0])[0]
    )
    assert sign_flips(np.zeros((1, 12, 2)))[0] == 1


def test_the_methods_of_curves_open_profiles_in_one_go() -> None:
    profiles = [profile(noisy(LOG[:9], 1), SIZES[:9]), profile(noisy(LOG[:9], 2), SIZES[:9], 1)]
    measured = [Measured.of(one) for one in profiles]
    (case,) = cases(*profiles)
    assert isinstance(share([case])[0][0], Sides)
    assert load("curves") is Curves
    assert compare(measured[:1], measured[1:], method="curves").changes[0].method == "curves"


# Realistic complexities: sizes over three decades, ten executions whose starts differ


THREE = np.unique(np.geomspace(10, 10_000, 30).round())


@each("noise", [0.03, 0.1])
@pytest.mark.parametrize(
    ("before", "after", "kind", "order"),
    [
        (1e-7 * THREE, 3.2e-8 * THREE * np.log(THREE), "linearithmic", "O(n) -> O(n log n)"),
        (1e-7 * THREE, 1e-7 * THREE + 1e-10 * THREE**2, "quadratic", "O(n) -> O(n^2)"),
        (0 * THREE, 1e-6 * np.log(THREE), "logarithmic", "O(1) -> O(log n)"),
        (0 * THREE, 1e-9 * THREE, "linear", "O(1) -> O(n)"),
        (1e-6 * np.log(THREE), 1e-6 * np.log(THREE) + 2e-9 * THREE, "linear", "O(log n) -> O(n)"),
        (1e-10 * THREE**2, 1e-7 * THREE, "quadratic", "O(n^2) -> O(n)"),
    ],
)
def test_orders_of_growth_are_named_as_they_are(
    noise: float, before: Any, after: Any, kind: str, order: str
) -> None:
    overhead = 2e-6
    sides = (
        noisy(overhead + before, 1, noise=noise, start=noise / 3),
        noisy(overhead + after, 2, noise=noise, start=noise / 3),
    )
    change = verdict(*sides, THREE, method="auto")
    assert (change.method, change.word) == (
        "curves",
        "degradation" if "n^2) ->" not in order else "improvement",
    )
    assert change.curve is not None
    assert change.curve.kind == kind
    assert order in change.finding


@each("seed", range(1, 5))
@each("noise", [0.005, 0.02])
@pytest.mark.parametrize(
    ("before", "after", "said", "kind"),
    [
        (lambda n: 4e-8 * np.log(n), lambda n: 1e-9 * n, "O(log n) -> O(n)", ""),
        (lambda n: 1e-9 * n, lambda n: 4e-8 * np.log(n), "O(n) -> O(log n)", ""),
        (lambda n: 4e-8 * np.log(n), lambda n: 4e-7 + 1e-9 * n, "O(log n) -> O(n)", ""),
        (lambda n: 0 * n, lambda n: 1e-13 * n**3, "O(1) -> O(n^3)", ""),
        (lambda n: 2e-11 * n**2, lambda n: 1e-13 * n**3, "O(n^2) -> O(n^3)", ""),
        (lambda n: 0 * n, lambda n: 1e-7 * (1.01**n - 1), "O(1) -> O(1.01^n)", ""),
        (
            lambda n: 1e-9 * n,
            lambda n: 3e-10 * n * np.log(n),
            "O(n) -> O(n log n)",
            "(linearithmic)",
        ),
        (lambda n: 1e-9 * n, lambda n: 1e-9 * n + 2e-13 * n**2, "O(n) -> O(n^2)", "(quadratic)"),
        (
            lambda n: 4e-8 * np.log(n),
            lambda n: 4e-8 * np.log(n) + 1e-10 * n,
            "O(log n) -> O(n)",
            "(linear)",
        ),
        (lambda n: 1e-12 * n**2, lambda n: 1e-12 * n**2 + 2e-10 * n, "", "(linear)"),
    ],
)
def test_a_function_that_was_replaced_has_the_orders_of_its_models(
    before: Any, after: Any, said: str, kind: str, noise: float, seed: int
) -> None:
    n = np.linspace(10, 1000, 80).round()
    sides = [
        noisy(1e-7 + curve(n), seed + 10 * place, 12, noise=noise, start=0.01)
        for place, curve in enumerate((before, after))
    ]
    change = verdict(*sides, n)
    assert change.curve is not None
    assert (" -> " in change.finding, said in change.finding) == (bool(said), True)
    if kind:
        assert kind in change.finding
    else:  # what lies between two orders is of no kind
        assert change.finding.startswith(said + ";") and " -> ".join(change.curve.orders) == said


def test_a_way_back_at_the_other_end_is_reported_only_if_it_is_sure() -> None:
    flat = 1e-6 + 0 * THREE
    for seed in range(10, 20):
        change = verdict(
            noisy(flat, seed, noise=0.1),
            noisy(flat + 1e-9 * THREE, seed + 30, noise=0.1),
            THREE,
            method="curves",
        )
        assert "10 to 16" not in change.finding, change.finding


def test_a_time_that_was_0_has_no_relative_effect() -> None:
    curve = 1e-6 * GEOMETRIC
    sides = noisy(curve, 1), noisy(curve, 2)
    sides[0][:, :2] = 0  # a tenth of the sizes
    change = verdict(*sides, GEOMETRIC, method="curves")
    assert (change.word, change.effect) == ("degradation", None)
    assert "e+" not in text(report(*sides, GEOMETRIC))
    change = verdict(noisy(curve, 1), 0 * sides[1], GEOMETRIC, method="curves")
    assert (change.word, change.effect) == ("improvement", pytest.approx(-1))


# Sizes and values that do not fit


def test_many_sizes_against_few_are_a_curve_or_not_comparable() -> None:
    many, few = np.geomspace(10, 10_000, 40).round(), np.geomspace(10, 10_000, 10).round()
    ragged = np.where(np.arange(40) % 2, 5.0, 1.0), np.where(np.arange(10) % 2, 5.0, 1.0)
    old, new = profile(noisy(ragged[0], 1), many), profile(noisy(ragged[1], 2), few, 1)
    for sides in ([old], [new]), ([new], [old]):
        (change,) = compare(*sides).changes
        assert (change.method, change.size) == ("curves", None)
        (change,) = compare(*sides, method="log-median").changes
        assert (change.word, change.reason) == (
            "not comparable",
            "only one side has many sizes, which only curves can compare",
        )


def test_many_sizes_against_none_are_not_comparable() -> None:
    old, new = (
        profile(noisy(np.ones(40), 1), np.full(40, np.nan)),
        profile(noisy(np.ones(40), 2), np.arange(1, 41.0), 1),
    )
    for method in ("auto", "log-median", "curves", "ks", "integral"):
        (change,) = compare([old], [new], method=method).changes
        assert (change.word, change.reason) == ("not comparable", "one side has no sizes"), method


def test_a_direction_that_is_gone_is_not_comparable() -> None:
    values = noisy(np.ones(6), 1)
    old, new = profile(values, FEW), profile(values, FEW, 1, metric=Metric("s", "none"))
    for sides, reason in (
        (([old], [new]), "better lower -> none"),
        (([new], [old]), "better none -> lower"),
    ):
        assert {(change.word, change.reason) for change in compare(*sides).changes} == {
            ("not comparable", reason)
        }


def test_metrics_without_a_value_on_either_side_are_inconclusive() -> None:
    nothing = np.full((10, 6), np.nan)
    for method in ("auto", "curves", "ks"):
        change = verdict(nothing, nothing, FEW, method=method)
        assert (change.word, change.reason) == (
            "inconclusive",
            "no execution has a usable value on both sides",
        )


def test_published_rules_do_not_call_curves_the_same_that_differ_without_a_kind() -> None:
    curve = 1 / GEOMETRIC
    for method in ("absolute-error", "studentized"):
        change = verdict(noisy(curve, 1), noisy(0.5 * curve, 2), GEOMETRIC, method=method)
        assert change.word != "same", method
        assert verdict(noisy(curve, 1), noisy(curve, 2), GEOMETRIC, method=method).word == "same"


# Recorded calls of functions


def called(
    curve: Any,
    sizes: Any,
    version: int = 0,
    *,
    calls: int = 400,
    seed: int = 1,
    executions: int = 10,
    shift: float = 0.02,
) -> Profile:
    """Calls of a function ``f`` as the complexity collector records them: skewed, some interrupted,
    cold at first, timed in ticks.
    """
    random = np.random.default_rng([seed, version])
    size = np.stack([sizes(random, calls) for _ in range(executions)]).astype(float)
    blocks = np.exp(shift * np.random.default_rng(seed).standard_normal((executions, 1)))
    value = (
        curve(size)
        * blocks
        * np.exp(
            0.1 * np.abs(random.standard_normal(size.shape))
            + 0.01 * random.standard_normal((executions, 1))
        )
    )
    value += 1e-6 * np.exp(-np.arange(calls) / 3) + (
        random.random(size.shape) < 1 / 300
    ) * random.uniform(2e-6, 1e-4, size.shape)
    value = 2e-8 * np.floor(value / 2e-8 + random.random(size.shape))
    found = profile(
        value, None, version, names=("f",), job=Job("list", "complexity", "./list", engine="fentry")
    )
    rows = found.resources
    rows.size, rows.iteration = (
        [*map(float, size.ravel())],
        np.tile(np.arange(calls), executions).tolist(),
    )
    return found


def anywhere(random: Any, calls: int) -> Any:
    return random.integers(1, 10_001, calls)


def growing(_: Any, calls: int) -> Any:
    return np.arange(1, calls + 1) * (10_000 // calls)


def logarithmic(n: Any) -> Any:
    return 6e-8 + 2.5e-8 * np.log(np.maximum(n, 1))


def on_a_shared_core(found: Profile, seed: int, *, told: bool = True) -> Profile:
    """The calls as they take 1.5 times as long in half of the executions, while a neighbour keeps
    the core busy; ``told`` by their pace.
    """
    random = np.random.default_rng(seed)
    rows = found.resources
    slow = np.where(random.permutation(10) < 5, 1.0, 1.6)[np.array(rows.execution)]
    rows.metrics["wall"] = (rows.array("wall") * slow**0.85).tolist()
    if told:
        rows.metrics["pace"] = (1.7e-6 * slow * np.exp(random.normal(0, 0.01, len(rows)))).tolist()
        found.metrics["pace"] = Metric("s", "none")
    return found


@pytest.mark.simulation
def test_the_pace_of_the_machine_is_no_change_of_the_program() -> None:
    words: dict[bool, list[str]] = {True: [], False: []}
    widths: dict[bool, list[float]] = {True: [], False: []}
    for told, found in words.items():
        for seed in range(6):
            old, new = (
                on_a_shared_core(
                    called(logarithmic, anywhere, version, seed=seed),
                    10 * seed + version,
                    told=told,
                )
                for version in (0, 1)
            )
            (change,) = compare([old], [new], delta=0.05).changes
            assert change.low is not None and change.high is not None
            found.append(change.word)
            widths[told].append(change.high - change.low)
    assert words[True].count("same") >= 5
    assert set(words[False]) == {"inconclusive"}
    assert np.median(widths[False]) > 8 * np.median(widths[True])


def test_a_change_is_found_whatever_the_pace_of_the_machine() -> None:
    old = on_a_shared_core(called(logarithmic, anywhere), 0)
    new = on_a_shared_core(called(lambda n: 1.1 * logarithmic(n), anywhere, 1), 1)
    (change,) = compare([old], [new]).changes
    assert change.word == "degradation"
    assert change.effect == pytest.approx(0.1, abs=0.02)
    new.resources.metrics.pop("pace")
    new.metrics.pop("pace")
    (change,) = compare([old], [new]).changes  # told on one side only
    assert change.word == "inconclusive"


def test_what_a_program_itself_does_to_the_pace_is_not_taken_out() -> None:
    old, new = (called(logarithmic, anywhere, version) for version in (0, 1))
    # such as a second thread on the same core, for which the first one pays
    for one, slower in ((old, 1.0), (new, 1.5)):
        starts = np.exp(0.05 * np.random.default_rng(len(one.commit)).standard_normal(10))[
            np.array(one.resources.execution)
        ]
        one.resources.metrics["wall"] = (one.resources.array("wall") * slower * starts).tolist()
        one.resources.metrics["pace"] = (1.7e-6 * slower * starts).tolist()
        one.metrics["pace"] = Metric("s", "none")
    (change,) = compare([old], [new]).changes
    assert change.word == "degradation"
    assert change.effect == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("sizes", [anywhere, growing])
@pytest.mark.parametrize(
    ("error", "kind", "order"),
    [
        (lambda n: 1e-7 + 0 * n, "constant", ""),
        (lambda n: 2e-11 * n, "linear", "O(log n) -> O(n)"),
        (lambda n: 3e-15 * n * n, "quadratic", "O(log n) -> O(n^2)"),
    ],
)
def test_an_error_in_recorded_calls_is_found_and_named_despite_interruptions(
    sizes: Any, error: Any, kind: str, order: str
) -> None:
    sides = (
        called(logarithmic, sizes, calls=1000),
        called(lambda n: logarithmic(n) + error(n), sizes, 1, calls=1000),
    )
    (change,) = compare([sides[0]], [sides[1]]).changes
    assert change.curve is not None
    assert (change.word, change.method, change.curve.kind) == ("degradation", "curves", kind)
    assert order in change.finding and bool(order) == ("->" in change.finding)


@pytest.mark.simulation
@pytest.mark.parametrize(
    "sizes", [anywhere, growing, lambda random, calls: random.integers(0, 8, calls)]
)
@pytest.mark.parametrize("curve", [logarithmic, lambda n: 8e-8 + 0 * n, lambda n: 1e-7 + 9e-9 * n])
def test_sound_functions_are_the_same(sizes: Any, curve: Any) -> None:
    for seed in range(6):
        sides = [called(curve, sizes, version, seed=seed, calls=1000) for version in (0, 1)]
        (change,) = compare(sides[:1], sides[1:]).changes
        assert (change.method, change.delta) == ("curves", 0.05)
        assert change.word == "same" or (change.word == "inconclusive" and seed), change


def test_an_effect_on_recorded_calls_counts_from_five_percent_unless_a_delta_is_asked_for() -> None:
    sides = (
        called(logarithmic, anywhere, calls=4000, shift=0.0),
        called(lambda n: 1.03 * logarithmic(n), anywhere, 1, calls=4000, shift=0.0),
    )
    assert compare([sides[0]], [sides[1]]).changes[0].word in ("same", "inconclusive")
    askings: list[dict[str, Any]] = [
        {"delta": 0.01},
        {"delta": 0.009},
        {"rules": Rules((Rule(delta="1%"),))},
    ]
    for asked in askings:
        (change,) = compare([sides[0]], [sides[1]], **asked).changes
        assert (change.word, change.method, change.delta) == (
            "degradation",
            "curves",
            asked.get("delta", 0.01),
        )
    (change,) = compare(
        [sides[0]], [sides[1]], rules=Rules((Rule(unit="other", delta="1%"),))
    ).changes
    assert change.delta == 0.05
    assert compare([sides[0]], [sides[1]], method="curves").changes[0].delta == 0.05


def test_calls_at_one_size_are_compared_by_their_medians() -> None:
    sides = [
        called(
            lambda n, v=version: (1 + 0.3 * v) * 1e-6 + 0 * n,
            lambda _, calls: np.full(calls, 50),
            version,
        )
        for version in (0, 1)
    ]
    (change,) = compare(sides[:1], sides[1:]).changes
    assert (change.word, change.method, change.size, change.delta) == (
        "degradation",
        "log-median",
        50,
        0.05,
    )


def test_one_call_in_each_execution_is_compared_in_pairs() -> None:
    sides = [
        called(
            lambda n, v=version: (1 + 0.5 * v) * 1e-6 * n,
            lambda random, calls: random.integers(1, 99, calls),
            version,
            calls=1,
        )
        for version in (0, 1)
    ]
    sides[1].resources.size = sides[0].resources.size
    (change,) = compare(sides[:1], sides[1:]).changes
    assert (change.size, change.method) == (None, "log-median")
    sides[1].resources.size = [1e6 + (size or 0) for size in sides[0].resources.size or ()]
    (change,) = compare(sides[:1], sides[1:]).changes
    assert change.word == "not comparable" and "do not overlap" in change.reason


def test_calls_on_an_empty_structure_do_not_hide_a_logarithm() -> None:
    def often_empty(random: Any, calls: int) -> Any:
        return np.where(random.random(calls) < 0.2, 0, random.integers(1, 301, calls))

    def jump(n: Any) -> Any:
        return np.where(n == 0, 5e-9, logarithmic(n))

    sides = called(jump, often_empty), called(lambda n: jump(n) + 2e-10 * n, often_empty, 1)
    (change,) = compare([sides[0]], [sides[1]]).changes
    assert (
        change.curve is not None
        and change.curve.models[0] == "logarithmic"
        and change.curve.sizes[0] == 1
    )
    assert "O(log n) -> O(n)" in change.finding


def test_both_sides_may_have_sizes_of_their_own() -> None:
    odd, even = (
        lambda random, calls, o=offset: 2 * random.integers(0, 5000, calls) + 1 + o
        for offset in (0, 1)
    )
    (change,) = compare(
        [called(logarithmic, odd)], [called(lambda n: logarithmic(n) + 4e-11 * n, even, 1)]
    ).changes
    assert change.curve is not None and (change.word, change.curve.kind) == (
        "degradation",
        "linear",
    )


def test_published_methods_take_recorded_calls_as_they_are() -> None:
    sides = called(logarithmic, anywhere), called(logarithmic, anywhere, 1)
    (change,) = compare([sides[0]], [sides[1]], method="best-model-order").changes
    assert change.method == "best-model-order" and change.curve is not None
    assert max(change.curve.r2) < 0.5  # of single calls, the interrupted ones among them


def test_a_nearly_level_error_is_a_constant_and_none_goes_against_its_effect() -> None:
    linear = 1e-7 + 9e-9 * SIZES
    for error in (2e-6 + 1e-10 * SIZES, 2e-6 - 1e-10 * SIZES):
        change = verdict(noisy(linear, 1, noise=0.002), noisy(linear + error, 2, noise=0.002))
        assert change.curve is not None and change.curve.kind == "constant"
        assert change.curve.coefficient == pytest.approx(np.mean(error), rel=0.2)
    falling = verdict(
        noisy(linear, 1, noise=0.002), noisy(linear + 6e-6 - 1e-9 * SIZES, 2, noise=0.002)
    )
    assert falling.curve is not None and (falling.word, falling.curve.kind) == (
        "degradation",
        "constant",
    )
    assert "->" not in falling.finding


def test_nothing_takes_less_than_no_time() -> None:
    random = np.random.default_rng(7)
    old, new = (
        np.maximum(0.0, level + 1e-8 * random.standard_normal((10, len(SIZES))))
        for level in (4e-7, 2e-8)
    )
    new[:, ::7] = 0.0
    old *= np.exp(random.normal(0, 0.4, (10, 1)))
    change = verdict(old, new)
    assert change.low is not None and change.effect is not None
    assert -1 <= change.low < change.effect < -0.5


def test_the_smallest_sizes_hold_a_tenth_of_the_calls_however_rare_these_are() -> None:
    (sides,), _ = share(
        cases(
            called(logarithmic, anywhere, calls=1000), called(logarithmic, anywhere, 1, calls=1000)
        )
    )
    condensed = condense(sides)
    known = lines(condensed)
    assert known is not None and condensed.baseline.weight is not None
    for tail in (
        condensed.baseline.size <= known.ends[0],
        condensed.baseline.size >= known.ends[1],
    ):
        assert condensed.baseline.weight[tail].sum() > 0.09 * condensed.baseline.weight.sum()
    assert verdict(noisy(LOG, 1, 6), noisy(2 * LOG, 2, 6)).finding.endswith(
        "effect at sizes 4,510 to 5,000"
    )


def test_a_curve_that_falls_a_little_has_no_order_of_growth() -> None:
    falling = 1e-6 - 5e-8 * np.log(SIZES)
    change = verdict(noisy(falling, 1), noisy(falling + 1e-10 * SIZES, 2))
    assert change.curve is not None and change.curve.models[0] == "logarithmic"
    assert change.curve.orders[0] == "O(1)" and "O(1) -> O(n)" in change.finding


def test_a_change_and_its_interval_never_disagree() -> None:
    tilted = LOG * (SIZES / np.exp(np.log(SIZES).mean())) ** 0.04
    # the starts of the executions differ too much for either end; their slopes do not
    change = verdict(
        noisy(LOG, 1, noise=0.002, start=0.15), noisy(tilted, 2, noise=0.002, start=0.15)
    )
    assert (change.word, change.reason) == (
        "suspected",
        "the curve moved, but neither its ends nor its middle for sure",
    )
    assert change.p is not None and change.p < 1e-6
    assert change.low is not None and change.high is not None and change.low < 0 < change.high


def test_small_coefficients_are_reported_by_the_thousand() -> None:
    assert sentence("linear", 2.5e-13, "s") == "+0.25 ns per 1,000 elements (linear)"
    assert sentence("quadratic", -2.5e-16, "s") == "-0.25 ns per 1,000 x 1,000 elements (quadratic)"
    assert sentence("linear", 2.5e-12, "s") == "+2.5 ps per element (linear)"


def test_recorded_calls_read_well_in_80_columns() -> None:
    sides = called(logarithmic, anywhere), called(lambda n: logarithmic(n) + 2e-11 * n, anywhere, 1)
    shown = text(compare([sides[0]], [sides[1]])).splitlines()
    assert max(map(len, shown)) <= 80
    assert shown[0] == "list: f"
    assert "ps per element (linear), O(log n) -> O(n); effect at sizes 8," in " ".join(
        " ".join(shown).split()
    )
