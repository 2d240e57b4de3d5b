"""Comparisons of what several hosts measured: pairs stay on their host, and hosts that disagree are
a finding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from samples import interleaved

from perfvcs.check import compare, earlier_sessions
from perfvcs.check.change import Change
from perfvcs.profile import Environment, Profile
from perfvcs.profile.summary import Measured
from perfvcs.statistics.difference import paired
from perfvcs.statistics.sessions import over

OLD, NEW = "a" * 40, "b" * 40


def measured(effects: Sequence[float], blocks: int = 6) -> tuple[list[Profile], list[Profile]]:
    """Profiles of hosts of different speeds and processors, on which the second version takes that
    much longer.
    """
    chance = np.random.default_rng(5)
    sides: tuple[list[Profile], list[Profile]] = [], []
    for number, effect in enumerate(effects):
        before = 0.1 * (1 + number) * np.exp(chance.normal(0, 0.003, blocks))
        after = before * (1 + effect) * np.exp(chance.normal(0, 0.003, blocks))
        place = Environment(
            {"cpu": f"model {number}"}, f"{number:012}", {"worker": f"host{number}"}
        )
        for side, one in zip(
            sides,
            interleaved([OLD, NEW], [before.tolist(), after.tolist()], environment=place),
            strict=True,
        ):
            side.append(one)
    return sides


def wall(effects: Sequence[float]) -> Change:
    return next(change for change in compare(*measured(effects)).changes if change.metric == "wall")


def test_hosts_of_all_kinds_count_and_their_speeds_cancel_out() -> None:
    change = wall([0.05, 0.05, 0.05])
    assert change.word == "degradation"
    assert change.executions == (18, 18)
    assert change.effect == pytest.approx(0.05, abs=0.005)
    assert change.finding == ""


def test_hosts_that_disagree_are_named_and_widen_the_interval() -> None:
    change = wall([0.05, 0.0, 0.05, 0.0])
    assert change.word == "inconclusive"
    assert change.finding.startswith("differs by host: ")
    for host, effect in (("host0", "+5."), ("host3", "+0.")):
        assert any(
            part.startswith(effect) or host in part for part in change.finding.split(", ")
        ), change.finding
    assert "on host0" in change.finding
    assert "on host3" in change.finding
    assert change.low is not None
    assert change.high is not None
    assert change.low < 0 < change.high


def test_two_hosts_of_one_kind_are_not_an_audit() -> None:
    sides = measured([0.0, 0.0])
    assert all(
        not found.audits
        for found in earlier_sessions(map(Measured.of, (*sides[0], *sides[1]))).values()
    )


def test_hosts_that_agree_leave_the_difference_as_it_is() -> None:
    gaps = np.array([[0.1, 0.3, 0.1, 0.3]])
    difference = paired(np.zeros((1, 4)), gaps)
    found = over(difference, gaps, [0, 0, 1, 1])
    assert found.difference.low == difference.low
    assert found.effects.tolist() == [[0.2, 0.2]]


def test_hosts_that_evidently_differ_count_by_their_means() -> None:
    from scipy.stats import t

    gaps = np.array([[0.10, 0.11, 0.20, 0.21, 0.30, 0.31]])
    found = over(paired(np.zeros((1, 6)), gaps), gaps, [0, 0, 1, 1, 2, 2])
    means = np.array([0.105, 0.205, 0.305])
    half = t.ppf(0.995, 2) * means.std(ddof=1) / 3**0.5
    assert found.difference.high[0] == pytest.approx(means.mean() + half)
    assert found.p[0] < 0.01
