"""Which figures a page draws: what has something to say, what changed first, and nothing that its
table contradicts.
"""

from __future__ import annotations

import json
import re

import msgspec
import numpy as np
import pictures
import pytest
from browsing import LIMIT, documents, views
from numpy.typing import NDArray
from samples import sample_profile

from perfvcs.check.subject import Subject
from perfvcs.pictures.patterns import remarks
from perfvcs.pictures.sample import samples
from perfvcs.profile import Job, Metric, Profile, Resources
from perfvcs.reports.page import render
from perfvcs.reports.pieces import choose, pieces


def profile(seconds: NDArray[np.float64], name: str = "sort") -> Profile:
    """Measurements of some executions; shape (executions, measurements)."""
    execution, iteration = (axis.ravel().tolist() for axis in np.indices(seconds.shape))
    rows = Resources(
        [name],
        [0] * seconds.size,
        execution,
        iteration=iteration,
        metrics={"wall": seconds.ravel().tolist()},
    )
    return sample_profile(
        resources=rows, metrics={"wall": Metric("s")}, job=Job(name, "time", f"./{name}")
    )


def noisy(executions: int = 12, measurements: int = 20) -> NDArray[np.float64]:
    random = np.random.default_rng(5)
    return np.asarray(0.01 * np.exp(random.normal(0, 0.005, (executions, measurements))))


def order(seconds: NDArray[np.float64]) -> list[str]:
    (sample,) = samples([profile(seconds)])
    return remarks(sample)


def test_a_slow_first_measurement_is_reported_with_its_size() -> None:
    seconds = noisy()
    seconds[:, 0] *= 1.5
    (said,) = order(seconds)
    assert re.fullmatch(
        r"the first measurement of an execution is (49|50|51)\.\d % above the others", said
    )


def test_values_that_rise_inside_executions_or_over_them_are_reported() -> None:
    inside = order(noisy() * np.linspace(1, 1.1, 20))
    over = order(noisy(30) * np.linspace(1, 1.1, 30)[:, None])
    assert len(inside) == len(over) == 1
    assert re.fullmatch(r"values rise by [67]\.\d % inside an execution", inside[0])
    assert re.fullmatch(r"values rise by [67]\.\d % over the executions", over[0])


def test_order_by_chance_is_reported_in_less_than_one_of_a_hundred_samples() -> None:
    random = np.random.default_rng(11)
    found = sum(bool(order(0.01 * np.exp(random.normal(0, 0.05, (12, 20))))) for _ in range(200))
    assert found <= 2


@pytest.mark.parametrize(
    "seconds", [np.full((3, 4), 0.01), np.zeros((3, 4)), np.array([[0.01]]), -noisy()]
)
def test_samples_without_an_order_say_nothing(seconds: NDArray[np.float64]) -> None:
    assert order(seconds) == []


@pytest.mark.slow
def test_a_page_says_which_cluster_is_the_first_measurement() -> None:
    seconds = noisy(20, 6)
    seconds[:, 0] *= 1.5
    html = render(Subject("x", [profile(seconds)]))
    assert "cluster 2 is the first measurement of each execution" in html
    assert {"executions", "distribution", "runsequence"} <= set(views(html))


def test_a_diagnostic_that_is_asked_for_is_drawn_whatever_it_says() -> None:
    assert views(render(Subject("x", [profile(noisy())]), "runsequence")) == ["runsequence"]


def test_what_changed_comes_before_what_did_not_whatever_its_metric() -> None:
    metrics = ["wall", "throughput"]
    before = [
        pictures.measured(name, metrics=metrics, commit=pictures.BASELINE)
        for name in ("calm", "moved")
    ]
    after = [pictures.measured(name, metrics=metrics, seed=2) for name in ("calm", "moved")]
    slower = after[1].resources.metrics["throughput"]
    slower[:] = [value and value / 2 for value in slower]
    subject = Subject("x", after, before, pictures.report(before, after))
    found = [piece for piece in pieces(subject, curves=False) if piece.section != "All changes"]
    assert (found[0].section, found[0].metric, found[0].changed) == ("moved", "throughput", True)
    assert not any(piece.changed for piece in found[1:])
    assert (
        '<details class="rest">'
        not in render(subject).split("moved</bdi></summary>")[1].split("</details>")[0]
    )


@pytest.mark.slow
def test_collectors_of_one_name_have_rows_and_sections_of_their_own() -> None:
    job = Job("sort", "counters", "./sort", engine="proc/1")

    def measured(commit: str, seed: int) -> list[Profile]:
        mine = pictures.measured(commit=commit, seed=seed)
        return [
            mine,
            msgspec.structs.replace(
                pictures.measured(commit=commit, seed=seed, factor=2.0), job=job
            ),
        ]

    before, after = measured(pictures.BASELINE, 1), measured(pictures.TARGET, 2)
    html = render(Subject("x", after, before, pictures.report(before, after)))
    names = re.findall(r"<summary title=\"([^\"]*)", html)
    assert (
        names[0] == "All changes"
        and {"sort (time)", "sort (counters)"} <= set(names)
        and "sort" not in names
    )
    assert re.findall(r'<th scope="row" title="([^"]*)"', html) == [
        "sort (time)",
        "sort (counters)",
    ]
    assert [
        row[0]
        for row in re.findall(
            r'<th scope="row" title="(sort \(\w+\))"', render(Subject("x", after))
        )
    ] == ["s", "s"]


def test_bars_and_comparisons_have_the_levels_of_the_verdicts() -> None:
    names = ["parse", "render"]
    before = [pictures.measured(uids=names, commit=pictures.BASELINE)]
    after = [pictures.measured(uids=names, seed=2, factor=1.3)]
    report = pictures.report(before, after)
    changes = [
        msgspec.structs.replace(one, baseline=1.5, target=3.0, effect=1.0) for one in report.changes
    ]
    html = render(Subject("x", after, before, msgspec.structs.replace(report, changes=changes)))
    drawn: dict[str, str] = {}
    for view, one in zip(views(html), documents(html), strict=True):
        drawn[view] = drawn.get(view, "") + json.dumps(one, ensure_ascii=False)
    assert "1.5 s → 3 s, +100 %" in drawn["bars"]
    assert "degradation +100 %" in drawn["comparison"] and '"3 s' in drawn["comparison"]


@pytest.mark.slow
def test_a_page_keeps_to_its_size_whatever_there_is_to_draw() -> None:
    before = [
        pictures.measured(f"b{number}", iterations=400, commit=pictures.BASELINE, seed=number)
        for number in range(12)
    ]
    after = [
        pictures.measured(f"b{number}", iterations=400, factor=1.2, seed=number + 50)
        for number in range(12)
    ]
    html = render(Subject("x", after, before, pictures.report(before, after)))
    assert len(html.encode()) <= LIMIT
    assert views(html).count("comparison") > 3


def test_a_figure_that_has_no_room_is_counted_and_smaller_ones_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    subject = pictures.two(3)
    monkeypatch.setattr("perfvcs.reports.page.PAGE_ROOM", 1)
    html = render(subject)
    assert len(views(html)) == 1 and re.search(
        r"\d+ more pairs of benchmark and metric are drawn on demand", html
    )
    assert len(choose(subject)) > 1
