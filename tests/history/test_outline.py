"""A history is described once: pages, terminals and sites draw the same levels and changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Perf, Project
from histories import grow, measured, store

from perfvcs.check import register
from perfvcs.check.acceptance import Acceptance
from perfvcs.check.subject import Step
from perfvcs.pictures.chart import Chart
from perfvcs.pictures.sketch import LevelLine, Rise, between, drawn
from perfvcs.profile.rules import REGISTER_FILE
from perfvcs.reports.show import subject_of
from perfvcs.repository import Repository


def published(perf: Perf) -> dict[str, Any]:
    """The one line of the figure on the site's page of the series."""
    perf("publish", "site", "--profiles", "0")
    (path,) = Path("site/series").glob("*.json")
    (track,) = json.loads(path.read_text())["page"]["tracks"]
    found: dict[str, Any] = track
    return found


def test_a_page_and_a_site_draw_the_same_steps(project: Project, perf: Perf) -> None:
    commits = grow(project, 150)
    walls = [
        0.010 * (1.3 if number >= 60 else 1) * (0.8 if number >= 120 else 1)
        for number in range(150)
    ]
    store(*measured(commits, walls))
    chart = Chart.of(subject_of(Repository.find(), ["sort"]).history, 3000)
    drawn = chart.outline(chart.group[0])
    track = published(perf)
    assert (
        [rise.look for _, rise in drawn.rises]
        == [mark["look"] for mark in track["steps"]]
        == ["degradation", "improvement"]
    )
    for edge in ("left", "right"):
        assert [getattr(rise, edge) for _, rise in drawn.rises] == [
            mark[edge] for mark in track["steps"]
        ]
        assert [getattr(line, edge) for line in drawn.levels] == [
            line[edge] for line in track["lines"]
        ]
    assert [line["level"] for line in track["lines"]] == pytest.approx(
        [line.level for line in drawn.levels], rel=0.005
    )
    assert [step["left"] for step in track["steps"]] == [59.5, 119.5]
    assert [step["right"] for step in track["steps"]] == [59.5, 119.5]


def test_an_accepted_step_looks_accepted_on_both(project: Project, perf: Perf) -> None:
    commits = grow(project, 40)
    store(*measured(commits, [0.010] * 25 + [0.011] * 15))
    accepted = Acceptance(
        id="1234567",
        benchmark="sort",
        uid="sort",
        metric="wall",
        effect=0.11,
        baseline=commits[24],
        target=commits[25],
        reason="it checks its input",
    )
    register.add(project.root / REGISTER_FILE, [accepted])
    chart = Chart.of(subject_of(Repository.find(), ["sort"]).history, 3000)
    ((_, rise),) = chart.outline(chart.group[0]).rises
    (mark,) = published(perf)["steps"]
    assert rise.look == mark["look"] == "accepted" and rise.left == mark["left"] == 24.5


def rise(commit: int, before: float, after: float) -> Rise:
    step = Step(
        commit="c",
        word="degradation",
        direction="degradation",
        first="b",
        last="c",
        commits=2,
        before=before,
        after=after,
        effect=after / before - 1,
        low=None,
        high=None,
        p=None,
        detectors=(),
    )
    return Rise(**drawn(step, "s", commit))


def test_levels_lie_between_changes() -> None:
    assert between([rise(8, 1.0, 1.2), rise(14, 1.2, 1.1)], 0, 19) == [
        LevelLine(-0.5, 7.5, 1.0),
        LevelLine(7.5, 13.5, 1.2),
        LevelLine(13.5, 19.5, 1.1),
    ]
    assert between([], 0, 19) == []
    assert between([rise(0, 1.0, 1.2)], 0, 0) == [LevelLine(-0.5, 0.5, 1.2)]
