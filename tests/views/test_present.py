"""What a series is like now: its level, its trend over a year, and how far its commits scatter."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from perfvcs.pictures.present import present


def days(count: int, *, apart: int = 10) -> list[str]:
    start = date(2024, 1, 1)
    return [(start + timedelta(days=apart * turn)).isoformat() for turn in range(count)]


def test_a_year_of_drift_is_told_as_it_was_made() -> None:
    """1 % in ten days; the medians of nine commits lie as far apart as the days that they are of."""
    now = present([1.01**turn for turn in range(100)], days(100), "s")
    assert now.span == "in a year" and now.trend == f"+{100 * (1.01**37 - 1):.1f} %"


def test_a_shorter_series_is_compared_with_its_first_values() -> None:
    now = present([1.0] * 9 + [1.5] * 9, days(18), "s")
    assert (now.trend, now.span, now.level) == ("+50.0 %", "since 2024-01-01", "1.5 s")
    assert present([1.0] * 17, days(17), "s").trend == ""


def test_the_scatter_is_the_standard_deviation_whatever_the_drift() -> None:
    noise = np.random.default_rng(7).normal(0, 0.02, 4000)
    drift = np.linspace(0, 0.5, 4000)
    now = present(np.exp(noise + drift).tolist(), days(4000, apart=1), "s", begin=1000)
    assert float(now.scatter.removesuffix(" %")) == pytest.approx(2, rel=0.1)


def test_what_cannot_be_told_is_left_out() -> None:
    assert present([0.0, -1.0, 2.0], days(3), "s").words == "now 0 s"
    assert present([1.0] * 20, [""] * 20, "s").trend == ""
    words = present([1.0] * 5, days(5), "s", begin=3, change="+3.0 %, 2024-02-01").words
    assert words == "now 1 s, last change +3.0 %, 2024-02-01"
