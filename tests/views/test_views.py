"""What views draw, and what they say about it; that they draw every kind of subject is in
test_view_contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pictures
import pytest
from bokeh.models import ColumnDataSource, GlyphRenderer, Legend
from bokeh.plotting import figure
from samples import sample_profile

from perfvcs import plugins
from perfvcs.check import Change, Report
from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import plain, thin
from perfvcs.pictures.sample import Centre, samples
from perfvcs.plugins.view import View
from perfvcs.profile import REPEATED, Environment, Job, Metric, Resources
from perfvcs.text.characters import fits, sparkline


def built(name: str, **options: Any) -> View[Any]:
    view: View[Any] = plugins.find("views", name)(**options)
    return view


def figures(view: str, subject: Subject, **options: Any) -> list[figure]:
    """The figures that a view draws in the order in which it makes them, after bokeh has accepted
    them as a document.
    """
    return pictures.figures(built(view, **options), subject)


def words(plot: figure) -> str:
    """Title, axis labels and legend of a figure."""
    labels = [item.label.value for legend in plot.select({"type": Legend}) for item in legend.items]
    return "\n".join([pictures.said(plot), *(axis.axis_label or "" for axis in plot.axis), *labels])


def columns(plot: figure, name: str) -> Iterator[list[Any]]:
    for source in plot.select({"type": ColumnDataSource}):
        if name in source.data:
            yield list(source.data[name])


def test_each_execution_has_its_own_strip() -> None:
    (plot,) = figures(
        "executions",
        Subject("x", [pictures.measured(executions=4, iterations=20, metrics=["wall"])]),
    )
    places = np.concatenate([column for column in columns(plot, "x") if len(column)])
    assert len(places) == 80
    assert all((np.abs(places - np.round(places)) < 0.36).tolist())
    assert "4 executions, 80 measurements" in words(plot) and "wall time (ms)" in words(plot)


def test_marked_executions_are_drawn_apart_and_repeated_ones_left_out() -> None:
    rows = Resources(
        ["sort"],
        [0] * 4,
        [0, 1, 2, 3],
        mark=[0, 1, REPEATED, 0],
        metrics={"wall": [0.010, 0.011, 0.5, 0.012]},
    )
    profile = sample_profile(resources=rows)
    (plot,) = figures("executions", Subject("x", [profile]))
    assert "waited for processor" in words(plot) and "repeated, left out" in words(plot)
    assert "3 executions" in words(plot) and "mean 10.97 ms" in words(plot)
    (distribution,) = figures("distribution", Subject("x", [profile]))
    assert "distribution of 3 executions" in words(distribution)


def test_a_profile_of_nothing_but_repeated_executions_says_so() -> None:
    rows = Resources(["sort"], [0, 0], [0, 1], mark=[REPEATED] * 2, metrics={"wall": [0.5, 0.5]})
    subject = Subject("x", [sample_profile(resources=rows)])
    (plot,) = figures("executions", subject)
    assert "left out" in words(plot)
    assert (
        pictures.refusal(plugins.find("views", "distribution")(), subject)
        == "no row has a usable value"
    )


def test_one_execution_has_no_interval_and_says_so() -> None:
    (plot,) = figures("executions", Subject("x", [sample_profile([0.01])]))
    assert "1 execution: 10 ms one execution has no interval" in words(plot)


def test_the_centre_is_the_geometric_mean_with_students_interval() -> None:
    values = [0.010, 0.012, 0.011, 0.013, 0.010]
    (sample,) = samples([sample_profile(values)])
    found = sample.centre
    assert found is not None and found.low is not None and found.high is not None
    assert found.value == pytest.approx(np.exp(np.log(values).mean()))
    # R 4.3: exp(t.test(log(c(.010,.012,.011,.013,.010)), conf.level=.99)$conf.int)
    half = 4.604094871 * np.log(values).std(ddof=1) / np.sqrt(5)
    assert (found.low, found.high) == pytest.approx(
        (found.value * np.exp(-half), found.value * np.exp(half)), rel=1e-8
    )


def test_sessions_of_one_revision_are_joined_in_the_order_they_ran() -> None:
    early, late = pictures.measured(seed=1), pictures.measured(seed=2)
    later = early.collected.__class__(
        "second", "2026-11-21T09:30:00Z", "2026-11-21T09:30:02Z", "perfvcs 0.1.0"
    )
    late = sample_profile(
        **{name: getattr(late, name) for name in late.__struct_fields__ if name != "collected"},
        collected=later,
    )
    wall = samples([late, early])[0]
    sessions = list(dict.fromkeys(session for session, _ in wall.paired))
    assert len(sessions) == 2 and sessions[1] == "second"
    assert len(wall.medians[0]) == 20
    assert wall.values[0] == early.resources.metrics["wall"][0]


def test_few_values_are_steps_and_many_are_bins() -> None:
    few, many = (pictures.measured(executions=count, metrics=["wall"]) for count in (10, 200))
    assert "too few for a histogram" in words(figures("distribution", Subject("x", [few]))[0])
    (plot,) = figures("distribution", Subject("x", [many]))
    assert sum(sum(column) for column in columns(plot, "count")) == 200


def test_the_run_sequence_keeps_the_order_of_measurements() -> None:
    profile = pictures.measured(executions=3, iterations=50, metrics=["wall"])
    (plot,) = figures("runsequence", Subject("x", [profile]))
    (order,) = [
        source for source in plot.select({"type": ColumnDataSource}) if "execution" in source.data
    ]
    values = list(order.data["y"])
    assert values == pytest.approx(
        [1000 * value for value in profile.resources.metrics["wall"] if value is not None]
    )
    assert "running median of 9" in words(plot)


def test_points_are_thinned_with_a_note_and_keep_the_extremes() -> None:
    values = np.random.default_rng(1).normal(size=100_000)
    kept = thin(values, 1000)
    assert 500 <= len(kept) <= 1000
    assert {int(values.argmax()), int(values.argmin())} <= set(kept.tolist())
    subject = Subject(
        "large", [pictures.measured(executions=10, iterations=10_000, metrics=["wall"])]
    )
    (plot,) = figures("executions", subject, points=500)
    assert "of 100,000 rows drawn" in words(plot)


def test_effects_show_all_metrics_with_words_band_and_zero() -> None:
    subject = pictures.two(12)
    wall, cpu, memory = figures("effects", subject)
    assert "wall time" in words(wall) or "beyond" in words(wall)
    assert (
        "degradation" in words(wall)
        and "improvement" in words(wall)
        and "within ±1.0 %" in words(wall)
    )
    # all of them, and once more by their words
    assert len([name for column in columns(wall, "name") for name in column]) == 24
    # nothing shrinks by more than 100 %
    assert cpu.x_range.start == max(-cpu.x_range.end, -104.0) and memory.x_range.end > 0


def test_an_enormous_effect_does_not_hide_the_others() -> None:
    def changed(effect: float) -> Change:
        return Change(
            word="degradation",
            job=f"job {effect}",
            uid="",
            metric="wall",
            unit="s",
            better="lower",
            series="",
            effect=effect,
            low=effect * 0.9,
            high=effect * 1.1,
            baseline=0.01,
            target=0.01 * (1 + effect),
            reason="why not",
        )

    changes = [changed(effect) for effect in (500.0, 0.04, 0.03, 0.02, 0.02)]
    report = Report(baseline="a", target="b", method="auto", changes=changes)
    (plot,) = figures("effects", Subject("x", report=report))
    assert plot.x_range.end < 50
    assert "1 beyond the edge" in words(plot)
    assert "+50,000 % [+45,000, +55,000]" in [
        text for column in columns(plot, "numbers") for text in column
    ]


def test_more_effects_than_rows_are_counted() -> None:
    plot, *_ = figures("effects", pictures.two(6), rows=4)
    assert "4 of 6 comparisons" in words(plot)


def test_a_higher_is_better_metric_turns_the_labels() -> None:
    plot = figures("effects", pictures.two(2, metrics=["throughput"]))[0]
    assert "worse ←" in words(plot)


def test_both_sides_of_a_comparison_stand_on_one_axis_with_their_pairs() -> None:
    subject = pictures.two(1, metrics=["wall"])
    (plot,) = figures("comparison", subject)
    assert "10 and 10 executions" in words(plot) and "same block" in words(plot)
    assert "99 % interval" in words(plot)


def test_a_side_that_was_not_measured_is_named() -> None:
    before, after = sample_profile(commit=pictures.BASELINE), pictures.measured("parse")
    plots = figures("comparison", Subject("x", [after], [before]))
    assert {plot.title.text for plot in plots} == {
        "only the target was measured",
        "only the baseline was measured",
    }


def test_different_environments_are_named_in_a_comparison() -> None:
    before = sample_profile(commit=pictures.BASELINE)
    after = sample_profile(environment=Environment({"cpu": "other"}, "ffff"))
    (plot,) = figures("comparison", Subject("x", [after], [before]))
    assert "measured in different environments" in words(plot)


def test_a_history_marks_its_verdicts_and_has_the_commits_text() -> None:
    plot, *_ = figures("history", pictures.history(60))
    assert (
        "60 commits" in words(plot)
        and "degradation" in words(plot)
        and "improvement" in words(plot)
    )
    markers = {
        r.glyph.marker
        for r in plot.select({"type": GlyphRenderer})
        if type(r.glyph).__name__ == "Scatter"
    }
    assert {"triangle", "inverted_triangle", "circle"} <= {
        getattr(marker, "value", marker) for marker in markers
    }
    assert "Ada Lovelace" in next(columns(plot, "author"))[0]


def test_environments_share_the_commits_in_their_order_of_ancestry() -> None:
    first, second = pictures.history(6, labels=["a"], environments=2).history[:2]
    first, second = (
        replace(first, points=[first.points[at] for at in (0, 2, 5)]),
        replace(second, points=second.points[:5]),
    )
    (plot,) = figures("history", Subject("x", history=[first, second]))
    titles = [name[:8] for name in plot.xaxis[0].major_label_overrides.values()]
    assert titles == [f"commit {number}" for number in range(6)], "a few have room for theirs"
    (long, *_) = figures("history", pictures.history(13, labels=["a"]))
    assert list(long.xaxis[0].major_label_overrides.values()) == [
        f"{number:08x}" for number in range(13)
    ]


def test_a_long_history_draws_the_newest() -> None:
    plot, *_ = figures("history", pictures.history(50, labels=["a"]), points=20)
    assert "the newest 20 drawn" in words(plot)


def test_names_are_never_taken_for_formulas() -> None:
    for formula in ("$$x^2$$", "$$$$$", "\\(x\\)", "\\[x\\]"):
        assert not any(mark in plain(formula) for mark in ("$$", "\\(", "\\)", "\\[", "\\]"))
        assert plain(formula).replace("\u200b", "") == formula


def test_units_have_prefixes() -> None:
    profile = sample_profile(
        [1.1e-5, 1.2e-5], metrics={"wall": Metric("s")}, job=Job("a", "time", "./a")
    )
    (plot,) = figures("executions", Subject("x", [profile]))
    assert "wall time (us)" in words(plot) and "e-" not in words(plot)


def test_a_sparkline_has_one_character_per_value_and_gaps() -> None:
    assert sparkline([1, 2, None, 3, float("nan")]) == "▁▄ █ "
    assert sparkline([1, 2, 3], plain=True).isascii()
    assert sparkline([None, None]) == "  " and sparkline([]) == ""
    assert sparkline(range(100), width=8) == "▁▂▃▄▅▆▇█"


def test_noise_of_a_permille_is_not_a_mountain() -> None:
    assert set(sparkline([1.0, 1.001, 0.999])) <= set("▄▅")
    assert sparkline([0.0, 0.0]) == "▄▄"


def test_one_far_value_does_not_flatten_a_sparkline() -> None:
    assert (
        sparkline([1, 2, 1, 2, 900, 1, 2, 1]) == sparkline([1, 2, 1, 2, 3, 1, 2, 1]) == "▁▄▁▄█▁▄▁"
    )
    assert sparkline([1, 1, 1, 1, 1, 9]) == "▁▁▁▁▁█", "the newest value may be a new level"
    assert sparkline([1, 1, 1, 9, 9, 9]) == "▁▁▁███"


def test_a_sparkline_survives_the_largest_floats() -> None:
    assert sparkline([-1.7e308, 1.7e308]) == "▁█"


def test_a_terminal_that_cannot_show_blocks_is_known() -> None:
    assert fits("utf-8") and not fits("ascii") and not fits(None) and not fits("no such encoding")


def test_the_interval_of_a_negative_centre_goes_from_its_lower_end_to_its_upper_one() -> None:
    assert Centre(-1.0, -1.2, -0.9, 4).text("s") == "-1 s [-20.0 %, +10.0 %]"
    assert Centre(2.0, 1.9, 2.1, 4).text("s") == "2 s [-5.0 %, +5.0 %]"
