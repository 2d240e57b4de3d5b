"""What the default method chooses for what was measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from conftest import TESTS
from numpy.typing import NDArray
from test_methods_counters import counters
from test_methods_curves import LOG, SIZES, noisy, profile

from perfvcs.check import Report, compare
from perfvcs.profile import Metric
from perfvcs.profile.summary import Measured

COMB = np.geomspace(10, 10_000, 12).round()


def report(
    old: NDArray[np.float64], new: NDArray[np.float64], sizes: NDArray[np.float64], **options: Any
) -> Report:
    return compare([profile(old, sizes, **options)], [profile(new, sizes, 1, **options)])


def methods(found: Report) -> set[tuple[str, bool]]:
    """The methods that judged, and whether size by size."""
    return {(change.method, change.size is not None) for change in found.changes}


def test_good_models_are_compared_as_curves() -> None:
    assert methods(report(noisy(LOG, 1), noisy(LOG, 2), SIZES)) == {("curves", False)}
    assert methods(report(noisy(1e-6 * COMB, 1), noisy(1e-6 * COMB, 2), COMB)) == {
        ("curves", False)
    }


def test_flat_values_are_compared_size_by_size_or_as_a_whole() -> None:
    flat = np.full(12, 0.01)
    assert methods(report(noisy(flat, 1), noisy(flat, 2), COMB)) == {("log-median", True)}
    flat = np.full(len(SIZES), 0.01)
    assert methods(report(noisy(flat, 1), noisy(flat, 2), SIZES)) == {("log-median", False)}


def test_what_was_flat_may_have_become_a_curve() -> None:
    flat = np.full(12, 0.01)
    found = report(noisy(flat, 1), noisy(flat + 1e-6 * COMB, 2), COMB)
    assert methods(found) == {("curves", False)}
    assert "O(1) -> O(n)" in found.changes[0].finding


def test_values_that_follow_no_model_are_compared_size_by_size() -> None:
    wild = 0.01 * np.exp(np.random.default_rng(1).normal(0, 1, 12))
    assert methods(report(noisy(wild, 1), noisy(wild, 2), COMB)) == {("log-median", True)}


def test_four_sizes_are_no_curve() -> None:
    four = COMB[:4]
    assert methods(report(noisy(1e-6 * four, 1), noisy(1e-6 * four, 2), four)) == {
        ("log-median", True)
    }


def test_sizes_of_deterministic_metrics_are_exact() -> None:
    exact = Metric("1", "lower", "deterministic")
    assert methods(
        report(noisy(COMB, 1, noise=0), noisy(COMB, 2, noise=0), COMB, metric=exact)
    ) == {("deterministic", True)}


def test_sizes_that_do_not_meet_are_new_and_missing() -> None:
    found = compare(
        [profile(noisy(COMB[:6], 1), COMB[:6])], [profile(noisy(COMB[6:], 2), COMB[6:], 1)]
    )
    assert found.counts == {"new": 6, "missing": 6}


def test_a_curve_below_zero_is_a_curve_too() -> None:
    assert methods(report(-noisy(COMB, 1), -noisy(COMB, 2), COMB)) == {("curves", False)}


def test_counters_are_compared_as_counters() -> None:
    assert methods(compare([counters(0, seed=1)], [counters(1, seed=2)])) == {("counters", False)}


def test_only_profiles_that_need_it_are_opened() -> None:
    opened: list[str] = []

    def read(headers: Any) -> list[Any]:
        opened.append(" ".join(header.path for header in headers))
        return [sides[header.path] for header in headers]

    plain = [profile(noisy(np.array([0.01]), number), None, number) for number in (0, 1)]
    curved = [profile(noisy(1e-6 * COMB, number), COMB, number) for number in (0, 1)]
    for pair, wanted in ((plain, []), (curved, ["old new"])):
        sides = {"old": pair[0], "new": pair[1]}
        measured = [
            Measured(
                type(one.header)(
                    name,
                    *(getattr(one.header, field) for field in one.header.__struct_fields__[1:]),
                ),
                one.summaries,
            )
            for name, one in ((name, Measured.of(side)) for name, side in sides.items())
        ]
        found = compare(measured[:1], measured[1:], read=read)
        assert opened == wanted
        assert found.changes[0].method == ("curves" if wanted else "log-median")


@pytest.mark.slow
def test_the_default_check_of_curves_imports_no_scipy() -> None:
    folders = [TESTS / "check", TESTS]
    program = (
        "import sys; from test_auto import *; report(noisy(LOG, 1), noisy(2 * LOG, 2), SIZES);"
        " print([name for name in ('scipy', 'statsmodels', 'bokeh', 'pandas') if name in"
        " sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("method", ["auto", "curves"])
def test_stored_curves_are_judged_by_the_command(project: Any, perf: Any, method: str) -> None:
    project.configure()
    names = [project.commit("old", **{"work.sh": ":"}), project.commit("new", **{"work.sh": ": ;"})]
    perf("init")
    for version, name in enumerate(names):
        curve = LOG + version * 2e-8 * SIZES
        stored = profile(noisy(curve, version), SIZES, version, commit=name)
        path = project.root.parent / f"{version}.perf"
        path.write_bytes(stored.encode())
        (
            perf("import", str(path))
            if "import" in perf("--help").out.split()
            else perf("add", str(path))
        )
    said = perf("check", *names, "--method", method, code=3)
    assert "per element (linear), O(log n) -> O(n)" in said.flat
    assert max(map(len, said.out.splitlines())) <= 80
    shown = perf("check", *names, "--method", method, "--json", code=3).document
    assert "linear" in json.dumps(shown)


@pytest.mark.parametrize("method", ["auto", "log-median", "t-test", "mann-whitney", "signed-rank"])
def test_medians_over_other_sizes_are_not_compared(method: str) -> None:
    """The same program, at 40 sizes that the other side does not have: the medians differ, and say
    nothing.
    """
    before, after = np.arange(100.0, 500, 10), np.arange(600.0, 1000, 10)
    sides = profile(noisy(1e-6 * before, 1), before), profile(noisy(1e-6 * after, 2), after, 1)
    (change,) = compare([sides[0]], [sides[1]], method=method).changes
    assert change.word == "not comparable"
    expected = (
        "sizes 100 to 490 and 600 to 990 do not overlap"
        if method == "auto"
        else "the two sides have different sizes"
    )
    assert expected in change.reason


def test_many_sizes_that_overlap_are_a_curve_whatever_the_model() -> None:
    wild = np.exp(np.random.default_rng(1).normal(0, 1, 60))
    before, after = np.arange(100.0, 500, 10), np.arange(300.0, 700, 10)
    sides = profile(noisy(wild[:40], 1), before), profile(noisy(wild[20:], 2), after, 1)
    assert methods(compare([sides[0]], [sides[1]])) == {("curves", False)}
