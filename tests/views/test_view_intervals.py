"""The detailed chart: every version's mean with its interval, and bold lines for changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pictures
import pytest
from bokeh.models import ColumnDataSource, GlyphRenderer
from test_views import columns, figures, words

from perfvcs import plugins
from perfvcs.check.subject import Series, Subject
from perfvcs.errors import UsageError
from perfvcs.reports.page import render
from perfvcs.text.characters import columns as width_of
from perfvcs.views.intervals import Intervals


def series(commits: int = 12, **options: Any) -> Series:
    """Wall time with a degradation in the middle, which has an effect of +12 %, and an improvement
    five before the end.
    """
    one = pictures.history(commits, labels=["sort"], **options).history[0]
    effects = {"degradation": 0.12, "improvement": -0.1}
    points = [
        replace(
            point,
            effect=effects.get(point.verdict, 0.0),
            effect_low=0.1,
            effect_high=0.14,
            medians=[point.centre] * point.executions,
        )
        for point in one.points
    ]
    return replace(one, points=points)


def sources(subject: Subject, column: str, **options: Any) -> list[dict[str, Any]]:
    (plot,) = figures("intervals", subject, **options)
    found = [
        source.data for source in plot.select({"type": ColumnDataSource}) if column in source.data
    ]
    return sorted(found, key=lambda data: float(data["x"][0]))


def test_every_version_has_its_mean_and_interval_and_its_executions() -> None:
    one = series()
    (plot,) = figures("intervals", Subject("x", history=[one]))
    (means,) = [
        source.data for source in plot.select({"type": ColumnDataSource}) if "fill" in source.data
    ]
    assert list(means["y"]) == pytest.approx([1000 * point.centre for point in one.points])
    assert [
        low < y < high for low, y, high in zip(means["low"], means["y"], means["high"], strict=True)
    ] == [point.low is not None for point in one.points]
    assert (
        "executions" in words(plot).splitlines()
        and "mean, 99 % interval" in words(plot)
        and "wall time (ms)" in words(plot)
    )
    assert "the axis does not begin at 0" in words(plot) and "% apart" in words(plot)


def test_executions_are_drawn_where_there_are_few() -> None:
    (plot,) = figures("intervals", Subject("x", history=[series()]), dots=20)
    assert "executions" not in words(plot).splitlines()


def test_one_execution_that_is_far_off_does_not_squeeze_the_others_and_is_reported() -> None:
    one = series()
    far = replace(one.points[0], medians=[10.0])
    (plot,) = figures(
        "intervals", Subject("x", history=[replace(one, points=[far, *one.points[1:]])])
    )
    assert "1 execution beyond the edge" in words(plot)
    assert 13 < plot.y_range.end < 20


def test_a_change_is_a_bold_line_from_the_version_before_with_its_size() -> None:
    one = series()
    (worse, better) = sources(Subject("x", history=[one]), "after")
    assert (worse["size"], better["size"]) == (["+12.0 %"], ["-10.0 %"])
    assert (list(worse["x"]), list(worse["right"])) == ([5], [6])
    assert worse["after"][0] > worse["y"][0]
    (plot,) = figures("intervals", Subject("x", history=[one]))
    bold = [
        renderer
        for renderer in plot.select({"type": GlyphRenderer})
        if getattr(renderer.glyph, "line_width", 0) == 4
    ]
    assert len(bold) == 2
    assert "1 degradation, 1 improvement" in words(plot)


def test_what_was_merged_has_no_line_to_its_neighbour() -> None:
    one = series(14)
    points = [replace(point, aside=point.verdict == "degradation") for point in one.points]
    (better,) = sources(Subject("x", history=[replace(one, points=points)]), "after")
    assert better["size"] == ["-10.0 %"]


def test_a_change_without_a_number_is_drawn_without_one() -> None:
    one = series()
    points = [replace(point, effect=None) for point in one.points]
    assert {
        source["size"][0]
        for source in sources(Subject("x", history=[replace(one, points=points)]), "after")
    } == {""}


def test_an_effect_that_is_not_of_the_two_joins_nothing() -> None:
    one = series()
    levelled = [replace(point, effect=point.effect and 5 * point.effect) for point in one.points]
    assert not sources(Subject("x", history=[replace(one, points=levelled)]), "right")


def test_what_was_nothing_before_is_joined_to_what_it_is_now() -> None:
    one = series()
    points = [
        replace(point, centre=0.0) if turn == 5 else point for turn, point in enumerate(one.points)
    ]
    worse, _ = sources(Subject("x", history=[replace(one, points=points)]), "after")
    assert list(worse["right"]) == [6]


def test_only_the_newest_versions_are_drawn_and_counted() -> None:
    (plot,) = figures("intervals", Subject("x", history=[series(40)]), points=5)
    assert "the newest 5 drawn" in words(plot) and "no change between neighbours" in words(plot)


def test_environments_stand_side_by_side() -> None:
    history = pictures.history(6, labels=["a"], environments=2).history[:2]
    first, second = sources(Subject("x", history=history), "fill")
    assert list(second["x"] - first["x"]) == pytest.approx([0.24] * 6)
    short = replace(history[1], points=history[1].points[:1])
    assert len(sources(Subject("x", history=[history[0], short]), "fill", points=2)) == 1


def test_it_is_drawn_when_asked_for_only() -> None:
    subject = pictures.history(6, labels=["a"])
    assert 'data-view="intervals"' not in render(subject) and 'data-view="intervals"' in render(
        subject, "intervals"
    )


def test_it_says_why_it_does_not_fit() -> None:
    assert pictures.refusal(Intervals(), pictures.one()) == "it draws a series over its versions"
    assert (
        pictures.refusal(Intervals(), Subject("x", history=[replace(series(), points=[])]))
        == "no version of the series was measured"
    )
    with pytest.raises(
        UsageError, match="view `intervals`: points: give a whole number of at least 1"
    ):
        plugins.build("views", "intervals", {"points": 0}, "--set")


def test_a_terminal_has_a_line_per_version_with_its_interval_and_change() -> None:
    lines = pictures.written(Intervals(), Subject("x", history=[series()]), 80).split("\n")
    assert lines[0] == "sort: wall time" and lines[-1].strip() == "wall time (ms)"
    (worse,) = [line for line in lines if " ▲ " in line]
    assert (
        worse.startswith("00000006 ▲")
        and worse.endswith("ms, +12.0 % [+10.0, +14.0]")
        and "●" in worse
    )
    assert "00000000 □" in "\n".join(lines)
    narrow = pictures.written(Intervals(), Subject("x", history=[series()]), 40)
    assert "+12.0 %\n" in narrow and all(width_of(line) <= 40 for line in narrow.split("\n"))


def test_a_terminal_has_the_environments_below_one_another_on_one_scale() -> None:
    text = pictures.written(
        Intervals(points=2),
        Subject("x", history=pictures.history(6, labels=["a"], environments=2).history[:2]),
        60,
    )
    assert "\n9b1c6d0f42a0\n00000004" in text and "\n9b1c6d0f42a1\n00000004" in text
    axes = [line for line in text.split("\n") if "┬" in line]
    assert axes[0] == axes[1]


@pytest.mark.slow
def test_names_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    subject = pictures.hostile_history()
    assert list(columns(figures("intervals", subject)[0], "author"))
    print(pictures.written(Intervals(), subject, 60))
    assert all(width_of(line) <= 60 for line in capsys.readouterr().out.split("\n"))
