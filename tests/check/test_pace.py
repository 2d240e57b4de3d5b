"""Verdicts on times where the machine's pace was read beside them: what the machine did is not told
of the program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from samples import interleaved, sample_profile

from perfvcs.check import Change, compare
from perfvcs.profile import REPEATED, Metric, Profile
from perfvcs.profile.summary import Measured

COMMITS = ("1" * 40, "2" * 40)


def shared(
    count: int = 15,
    change: float = 1.0,
    *,
    seed: int = 1,
    told: bool = True,
    slope: float = 0.85,
    unit: str = "s",
    own: Sequence[float] = (1.0, 1.0),
) -> tuple[Profile, Profile]:
    """A program of 100 ms before and after a change, on a core whose neighbour slows half of the
    executions by half.

    ``own``: by what either side slows the machine itself.
    """
    random = np.random.default_rng(seed)
    slow = [
        np.exp(np.log(1.6) * (random.permutation(count) % 2) + 0.01 * random.standard_normal(count))
        * own[side]
        for side in (0, 1)
    ]
    walls = [
        factor * 0.1 * slow[side] ** slope * np.exp(0.01 * random.standard_normal(count))
        for side, factor in ((0, 1), (1, change))
    ]
    pair = interleaved(
        COMMITS,
        [wall.tolist() for wall in walls],
        metrics={"wall": Metric(unit), "cpu": Metric(unit)},
    )
    if told:
        for profile, pace in zip(pair, slow, strict=True):
            add_pace(profile, 1.7e-6 * pace)
    return pair[0], pair[1]


def add_pace(profile: Profile, pace: NDArray[np.float64]) -> None:
    profile.resources.metrics["pace"] = pace.tolist()
    profile.metrics["pace"] = Metric("s", "none")


def verdict(sides: tuple[Profile, Profile], method: str = "auto", metric: str = "wall") -> Change:
    changes = compare([sides[0]], [sides[1]], method=method, delta=0.02).changes
    (found,) = (change for change in changes if change.metric == metric)
    return found


def width(change: Change) -> float:
    assert change.low is not None and change.high is not None
    return change.high - change.low


def test_a_slow_neighbour_is_not_blamed_on_the_program() -> None:
    words = [verdict(shared(seed=seed)).word for seed in range(20)]
    assert words.count("same") >= 15
    assert set(words) <= {"same", "inconclusive"}
    assert {verdict(shared(seed=seed, told=False)).word for seed in range(20)} == {"inconclusive"}


def test_a_change_is_found_that_hid_behind_the_neighbour() -> None:
    found = [verdict(shared(change=1.05, seed=seed)) for seed in range(20)]
    assert [change.word for change in found].count("degradation") >= 18
    assert np.mean(
        [change.effect for change in found if change.effect is not None]
    ) == pytest.approx(0.05, abs=0.005)
    assert [verdict(shared(change=1.05, seed=seed, told=False)).word for seed in range(20)].count(
        "degradation"
    ) <= 3


def test_every_rule_on_log_medians_has_it_and_published_ones_do_not() -> None:
    sides, plain = shared(), shared(told=False)
    for method in ("log-median", "student", "signed-rank"):
        assert width(verdict(sides, method)) < 0.2 * width(verdict(plain, method))
    assert width(verdict(sides, "t-test")) == pytest.approx(width(verdict(plain, "t-test")))


@pytest.mark.slow
def test_the_interval_is_that_of_an_analysis_of_covariance() -> None:
    import statsmodels.api as sm

    sides = shared(count=12, seed=3)
    old, new = (np.log(side.resources.array("wall")) for side in sides)
    paces = [np.log(side.resources.array("pace")) for side in sides]
    design = sm.add_constant(np.column_stack([np.repeat([0.0, 1.0], 12), np.concatenate(paces)]))
    fitted = sm.OLS(np.concatenate([old, new]), design).fit()
    found = verdict((sides[0], sides[1]), "student")
    assert found.effect is not None and found.low is not None
    assert np.log1p(found.effect) == pytest.approx(fitted.params[1], abs=1e-9)
    # pairs have fewer degrees of freedom than two samples, and here nothing in common
    assert np.log1p(found.effect) - np.log1p(found.low) == pytest.approx(
        fitted.bse[1] * 3.1, rel=0.25
    )


@pytest.mark.parametrize(
    "sides",
    [shared(count=7), shared(unit="B"), shared(slope=-0.5), shared(own=(1.0, 2.5))],
    ids=["few executions", "no time", "against the pace", "the program's own doing"],
)
def test_else_the_values_stay_as_they_were_measured(sides: tuple[Profile, Profile]) -> None:
    found = verdict(sides)
    for side in sides:
        side.resources.metrics.pop("pace")
        side.metrics.pop("pace", None)  # the sides share them
    plain = verdict(sides)
    assert found.word == plain.word and found.effect == pytest.approx(plain.effect)
    assert found.baseline == pytest.approx(plain.baseline)


def test_a_pace_that_one_execution_lacks_is_not_used() -> None:
    sides = shared()
    sides[1].resources.metrics["pace"][3] = None
    assert width(verdict(sides)) == pytest.approx(width(verdict(shared(told=False))))


def test_a_pace_that_never_moves_changes_nothing() -> None:
    sides = shared(told=False)
    for side in sides:
        add_pace(side, np.full(15, 1.7e-6))
    assert verdict(sides) == verdict(shared(told=False))


def test_the_pace_of_an_execution_is_that_of_its_rows() -> None:
    profile = sample_profile([0.1, 0.2, 0.3])
    add_pace(profile, np.array([1e-6, 4e-6, 2e-6]))
    profile.resources.execution[:] = [0, 0, 1]
    assert Measured.of(profile).paces == pytest.approx({(0, 0): 2e-6, (0, 1): 2e-6})
    profile.resources.mark = [REPEATED, 0, 0]
    assert Measured.of(profile).paces == pytest.approx({(0, 0): 4e-6, (0, 1): 2e-6})


def test_a_metric_of_a_projects_own_that_has_this_name_is_no_pace() -> None:
    profile = sample_profile([0.1, 0.2])
    add_pace(profile, np.array([1e-6, 4e-6]))
    profile.metrics["pace"] = Metric("steps/min", "higher")
    assert Measured.of(profile).paces == {}
