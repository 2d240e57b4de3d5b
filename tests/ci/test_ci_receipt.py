"""The error receipt: what it promises holds, and what audits say decides whether a gate is
trusted.
"""

from __future__ import annotations

from math import log, log1p

import msgspec
import numpy as np
import pytest
from comparisons import NEW, OLD, STEADY, profile
from conftest import Project
from scipy.stats import t
from test_ci_reports import report

from perfvcs.check import compare
from perfvcs.ci.civerdict import Alarms, Receipt, receipt, word_of
from perfvcs.repository import Repository


@pytest.fixture
def repository(project: Project) -> Repository:
    project.commit("one")
    return Repository.find(project.root, create=True)


def test_the_smallest_change_is_found_four_times_of_five(repository: Repository) -> None:
    found = receipt(repository, compare([profile(STEADY[0])], [profile(STEADY[1], 1)]), [10])
    assert found.detectable is not None and found.pairs == [10, 10]
    smallest, deviation = found.detectable.middle, np.log(STEADY[1] / STEADY[0]).std(ddof=1)
    draws = np.random.default_rng(5).normal(log1p(smallest), deviation, (20_000, 10))
    means, errors = draws.mean(axis=1), draws.std(axis=1, ddof=1) / np.sqrt(10)
    called = (np.abs(means / errors) > t.ppf(0.995, 9)) & (means >= log(1.01))
    assert called.mean() == pytest.approx(0.8, abs=0.01)


def test_many_comparisons_are_the_best_the_middle_and_the_worst(repository: Repository) -> None:
    noise = np.log(STEADY / STEADY.mean())
    units = {f"test{number}": 0.01 * np.exp(noise * number / 100) for number in range(1, 201)}
    sides = [
        profile({name: list(both[side]) for name, both in units.items()}, side) for side in (0, 1)
    ]
    found = receipt(repository, compare([sides[0]], [sides[1]]), [])
    assert found.comparisons == 200 and found.detectable is not None
    least, middle, most = msgspec.structs.astuple(found.detectable)
    assert 0.01 <= least < 0.0105 < middle < most < 0.03


def test_what_has_no_interval_says_so(repository: Repository) -> None:
    found = receipt(repository, compare([profile([0.01])], [profile([0.02], 1)]), [1])
    assert "not known, too few executions have an interval" in " ".join(found.lines())


def test_a_set_up_that_raises_too_many_false_alarms_makes_no_job_red() -> None:
    worse = report(1.5)
    trusted = Receipt(comparisons=1, settled=1, alarms=Alarms(300, 2, 0.004, 0.01))
    refused = msgspec.structs.replace(trusted, alarms=Alarms(300, 60, 0.2, 0.3, refused=True))
    assert word_of(worse, trusted, failures=False) == "degraded"
    assert word_of(worse, refused, failures=False) == "unsettled"


def test_a_degradation_comes_before_a_failure_and_that_before_all_else() -> None:
    errors = Receipt(comparisons=1, settled=0)
    assert word_of(report(1.5), errors, failures=True) == "degraded"
    assert word_of(report(1.0), errors, failures=True) == "failed"
    assert word_of(report(1.0), errors, failures=False) == "unsettled"
    settled = compare([profile(STEADY[0])], [profile(STEADY[1], 1)], within=0.1)
    assert word_of(settled, errors, failures=False) == "fine"
    nothing = msgspec.structs.replace(report(1.0), changes=[], baseline=OLD, target=NEW)
    assert word_of(nothing, errors, failures=False) == "unsettled"
    assert (
        word_of(msgspec.structs.replace(nothing, untouched=["sort"]), errors, failures=False)
        == "untouched"
    )
