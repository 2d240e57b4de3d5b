"""The tree of counters: its branches, its cut, its clusters, and what it says when there is little
to draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pytest
from bokeh.models import ColumnDataSource, GlyphRenderer, Legend, MultiLine, Scatter
from bokeh.plotting import figure
from browsing import BROWSER, Opened
from samples import sample_profile

from perfvcs.check import Change, CounterCluster, Report
from perfvcs.check.subject import Subject
from perfvcs.plugins.view import Unfit
from perfvcs.profile import REPEATED, Job, Metric, Profile, Resources
from perfvcs.reports import page
from perfvcs.views.dendrogram import Dendrogram

NAMES = ("web.cpu", "requests", "latency", "db.read", "db.write", "rss")


def counted(
    *,
    runs: int = 3,
    times: int = 40,
    factor: float = 1.0,
    seed: int = 1,
    commit: str = pictures.TARGET,
    names: Sequence[str] = NAMES,
    constant: bool = True,
    **overrides: Any,
) -> Profile:
    """A profile of a shop's counters over time: three follow the load, two the database, memory is
    alone, threads are constant.
    """
    random = np.random.default_rng(seed)
    count = runs * times
    wave, other = 10 + random.normal(0, 1, count), 5 + random.normal(0, 1, count)
    columns = [2 * wave, 3 * wave, 30 - wave, other, 2 * other, np.full(count, 50 * factor)]
    values = [column + random.normal(0, 0.8, count) for column in columns][: len(names)]
    metrics = dict(zip(names, values, strict=True)) | (
        {"threads": np.full(count, 4.0)} if constant else {}
    )
    rows = Resources(
        ["shop"],
        [0] * count,
        np.repeat(np.arange(runs), times).tolist(),
        iteration=np.tile(np.arange(times), runs).tolist(),
        metrics={name: column.tolist() for name, column in metrics.items()},
    )
    fields: dict[str, Any] = {
        "commit": commit,
        "metrics": {name: Metric("") for name in metrics},
        "resources": rows,
    }
    return sample_profile(**(fields | {"job": Job("shop", "counters", "./shop")} | overrides))


def drawn(subject: Subject, **options: Any) -> figure:
    """The only figure of the subject, after bokeh has accepted it."""
    (plot,) = pictures.figures(Dendrogram(**options), subject)
    return plot


def entries(plot: figure) -> list[str]:
    return [item.label.value for legend in plot.select({"type": Legend}) for item in legend.items]


def cut(plot: figure) -> float:
    """Where the dashed line stands."""
    (line,) = plot.select({"name": "cut"})
    left, right = line.data_source.data["x"]
    assert left == right and line.glyph.line_dash != []
    return float(left)


def glyphs(plot: figure, kind: type) -> list[GlyphRenderer[Any]]:
    return [renderer for renderer in plot.renderers if isinstance(renderer.glyph, kind)]


def test_one_revision_has_its_clusters_and_its_cut() -> None:
    plot = drawn(Subject("x", [counted()]))
    assert (
        pictures.said(plot)
        == "shop 6 of 7 counters in 3 clusters 120 observations · left out: 1 constant"
    )
    # from the top
    assert [text[:10] for text in entries(plot)[:3]] == ["cluster 1:", "cluster 2:", "cluster 3:"]
    assert sorted(text[11:] for text in entries(plot)[:3]) == [
        "1 counter",
        "2 counters",
        "3 counters",
    ]
    assert 0.2 < cut(plot) < 0.9 and entries(plot)[3] == f"cut at {cut(plot):.2f}"
    assert sorted(plot.yaxis[0].major_label_overrides.values()) == sorted(NAMES)


def test_clusters_differ_by_colour_and_by_marker() -> None:
    marks = glyphs(drawn(Subject("x", [counted()])), Scatter)
    assert (
        len({mark.glyph.marker for mark in marks}) == 3
        and len({mark.glyph.line_color for mark in marks}) == 3
    )


def test_every_merge_is_a_bracket_and_no_branch_crosses() -> None:
    plot = drawn(Subject("x", [counted()]))
    lines = glyphs(plot, MultiLine)
    brackets = [
        bracket
        for line in lines
        for bracket in zip(line.data_source.data["x"], line.data_source.data["y"], strict=True)
    ]
    assert len(brackets) == 5
    muted = [line for line in lines if line.glyph.line_color == "#5b6470"]
    assert len(muted) == 1 and all(xs[1] > cut(plot) for xs in muted[0].data_source.data["x"])
    assert all(xs[1] >= max(xs[0], xs[3]) for xs, _ in brackets)


def test_two_revisions_show_which_cluster_regressed_and_its_target() -> None:
    plot = drawn(
        Subject("x", [counted(runs=1, factor=1.5, seed=2)], [counted(commit=pictures.BASELINE)])
    )
    assert "160 observations" in pictures.said(plot)
    regressed = [text for text in entries(plot) if "regressed" in text]
    assert [text[11:] for text in regressed] == ["regressed, off by 33 %"] and sum(
        "as before" in text for text in entries(plot)
    ) == 2
    roles = [
        role
        for source in plot.select({"type": ColumnDataSource})
        for role in source.data.get("role", [])
    ]
    assert sum(role == "; represents the cluster" for role in roles) == 3 and len(roles) == 6


def test_one_counter_that_changes_is_a_leaf_alone() -> None:
    plot = drawn(Subject("x", [counted(names=NAMES[:1])]))
    assert "1 of 2 counters in 1 cluster" in pictures.said(plot) and not glyphs(plot, MultiLine)
    assert entries(plot) == ["cluster 1: 1 counter", "cut at 0.50"]


def test_no_counter_that_changes_is_said() -> None:
    rows = Resources(
        ["a"], [0, 0], [0, 0], iteration=[0, 1], metrics={"one": [1.0, 1.0], "two": [None, None]}
    )
    profile = sample_profile(resources=rows, metrics={"one": Metric(""), "two": Metric("")})
    for subject in (Subject("x", [profile]), Subject("x", [profile], [profile])):
        with pytest.raises(Unfit, match="there is no counter to draw: 1 constant, 1 unknown"):
            drawn(subject)


def test_a_side_without_observations_leaves_the_other() -> None:
    full = counted()
    empty = counted()
    empty.resources.mark = [REPEATED] * len(empty.resources)
    plot = drawn(Subject("x", [full], [empty]))
    assert "120 observations" in pictures.said(plot) and any(
        "3 counters" in text for text in entries(plot)
    )
    with pytest.raises(Unfit, match="no counter to draw"):
        drawn(Subject("x", [empty]))


def test_a_counter_that_only_one_side_has_is_left_out() -> None:
    plot = drawn(Subject("x", [counted(runs=1)], [counted(names=NAMES[:5])]))
    assert "rss" not in plot.yaxis[0].major_label_overrides.values()


def test_repeated_executions_are_left_out() -> None:
    profile = counted()
    profile.resources.mark = [REPEATED] * 40 + [0] * 80
    assert "80 observations" in pictures.said(drawn(Subject("x", [profile])))


def test_many_counters_share_branches() -> None:
    random = np.random.default_rng(3)
    names = [f"counter{number}" for number in range(150)]
    rows = Resources(
        ["a"],
        [0] * 400,
        [0] * 400,
        iteration=list(range(400)),
        metrics={name: random.normal(size=400).tolist() for name in names},
    )
    profile = sample_profile(resources=rows, metrics={name: Metric("") for name in names})
    plot = drawn(Subject("x", [profile]), rows=20)
    labels = list(plot.yaxis[0].major_label_overrides.values())
    shown = [
        len(text.split(", "))
        for source in plot.select({"type": ColumnDataSource})
        for text in source.data.get("names", [])
    ]
    assert 20 <= len(labels) <= 75 and any("+" in label for label in labels)
    assert len(shown) == len(labels)


@pytest.mark.parametrize(
    "subject",
    [
        Subject("nothing"),
        Subject("one metric", [counted(names=NAMES[:1], constant=False)]),
        Subject("not over time", [counted(times=1)]),
    ],
)
def test_what_is_no_set_of_counters_over_time_is_refused(subject: Subject) -> None:
    assert (
        pictures.refusal(Dendrogram(), subject)
        == "it draws several counters that were recorded over time"
    )


def test_a_profile_without_rows_beside_counters_is_no_obstacle() -> None:
    empty = sample_profile(wall=(), job=Job("shop", "counters", "./shop"))
    assert "6 of 7" in pictures.said(drawn(Subject("x", [counted(), empty])))


def test_names_are_never_taken_for_markup_or_formulas() -> None:
    layout = pictures.rendered(Dendrogram(), pictures.hostile())
    titles = [plot.title.text for plot in layout.select({"type": figure})]
    assert len(titles) == len(pictures.ATTACKS) and not any(
        "$$" in title or "\x00" in title for title in titles
    )


def test_a_page_of_the_view_draws_all_counters_together() -> None:
    assert page.render(Subject("x", [counted()]), "dendrogram").count('data-view="dendrogram"') == 1


@BROWSER
@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize(
    "subject",
    [Subject("x", [counted(runs=1, factor=1.5)], [counted()]), pictures.hostile()],
    ids=["two", "hostile"],
)
def test_the_view_is_drawn_quietly_and_fits_the_window(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subject: Subject, width: int
) -> None:
    render = page.render
    monkeypatch.setattr("test_pages.page.render", lambda subject: render(subject, "dendrogram"))
    opened = Opened(browser, tmp_path, subject, width)
    assert opened.run("document.documentElement.dataset.failed") is None
    assert opened.problems() == []
    assert opened.run("document.documentElement.scrollWidth") <= width
    assert opened.run("document.querySelectorAll('img, iframe, object').length") == 0


def test_beside_counters_what_is_judged_by_itself_is_not_drawn() -> None:
    metrics = {name: Metric("", better="none") for name in (*NAMES, "threads")}
    judged = counted(seed=2, job=Job("other", "time", "./other"))
    assert drawn(Subject("x", [counted(metrics=metrics), judged])).title.text.startswith("shop")


def test_a_table_says_what_counters_do_otherwise() -> None:
    finding = "1 of 2 clusters of counters behaves differently: io"
    clusters = [
        CounterCluster(
            counters=["io", "net"], target="io", error=0.6, threshold=0.1, regressed=True
        )
    ]
    about: dict[str, Any] = {"series": "", "better": "none", "unit": ""}
    changes = [
        Change(
            word="degradation",
            job="shop",
            uid="shop",
            metric="counters",
            finding=finding,
            clusters=clusters,
            **about,
        ),
        *(
            Change(word="same", job="sort", uid="sort", metric=name, effect=0.0, **about)
            for name in ("wall", "cpu", "maxrss")
        ),
        Change(word="same", job="calm", uid="calm", metric="counters", **about),
    ]
    html = page.render(
        Subject("x", report=Report(baseline="a", target="b", method="auto", changes=changes))
    )
    assert "▲ counters: degradation" in html and "● counters: same" in html
    assert (
        f"{finding}; 2 counters (io, net): io predicted with an error of 60 %, at most 10 %" in html
    )
