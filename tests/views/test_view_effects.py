"""The forest plot of a check on a terminal; what the figure says is in test_views."""

from __future__ import annotations

import math

import msgspec
import pictures
import pytest
from cases import each
from test_views import figures, words

from perfvcs import plugins
from perfvcs.check import Change, Report
from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.text.characters import columns
from perfvcs.views.effects import Effects


def change(
    effect: float | None, name: str = "sort", *, reach: float | None = 0.02, **more: object
) -> Change:
    ends = (None, None) if reach is None or effect is None else (effect - reach, effect + reach)
    fields = {
        "word": "degradation",
        "uid": name,
        "metric": "wall",
        "unit": "s",
        "better": "lower",
        "series": "k",
    } | more
    return Change(job=name, effect=effect, low=ends[0], high=ends[1], **fields)  # type: ignore[arg-type]


def subject(*changes: Change) -> Subject:
    return Subject(
        "x", report=Report(baseline="a", target="b", method="auto", changes=list(changes))
    )


def test_every_change_has_a_row_with_its_sign_interval_and_number() -> None:
    lines = pictures.written(
        Effects(), subject(change(0.1), change(-0.2, "parse", word="improvement")), 80
    ).split("\n")
    assert lines[0] == "wall time: both comparisons"
    worse, better = lines[1:3]
    assert (
        worse.startswith("▲ sort ")
        and worse.endswith("  +10.0 % [+8.0, +12.0]")
        and "├" in worse
        and "┤" in worse
    )
    assert better.startswith("▼ parse") and better.index("▼", 1) < better.index("│") == worse.index(
        "│"
    ) < worse.index("▲", 1)
    assert lines[3].strip("─┬ ") == "" and lines[4].split() == ["-20", "0", "+20"]
    assert (
        "better ←  change, %  → worse" in lines[5] and "▲ degradation   ▼ improvement" in lines[5]
    )
    assert "within ±1.0 %" in "\n".join(lines[5:])


def test_a_narrow_terminal_has_two_lines_per_change() -> None:
    lines = pictures.written(Effects(), subject(change(0.1), change(-0.2, "parse")), 40).split("\n")
    assert lines[1].startswith("▲ sort") and lines[1].endswith("+10.0 % [+8.0, +12.0]")
    assert lines[2].startswith("  ") and "▲" in lines[2] and "%" not in lines[2]
    assert all(columns(line) <= 40 for line in lines)


def test_the_part_that_does_not_matter_is_shaded() -> None:
    text = pictures.written(Effects(), subject(change(0.1, delta=0.05)), 100)
    assert "░░" in text.split("\n")[1] and "░ within ±5.0 %" in text
    mixed = subject(change(0.1, delta=0.05), change(0.1, "parse", delta=0.01))
    assert "░ too small to matter" in pictures.written(Effects(), mixed, 100)


def test_metrics_stand_below_one_another_and_say_which_way_is_better() -> None:
    parts = pictures.written(
        Effects(), subject(change(0.1, metric="rate", better="higher"), change(0.1)), 80
    ).split("\n\n")
    assert [part.split(":")[0] for part in parts] == ["wall time", "rate"]
    assert "worse ←  change, %  → better" in parts[1]


def test_what_is_not_drawn_is_counted() -> None:
    lines = pictures.written(
        Effects(rows=2), subject(*[change(0.1, f"b{number}") for number in range(3)]), 80
    ).split("\n")
    assert lines[0] == "wall time: 2 of 3 comparisons" and "b2" not in "\n".join(lines)
    lines = pictures.written(
        Effects(), subject(change(0.1), change(None, "new", word="new")), 80
    ).split("\n")
    assert (
        lines[0] == "wall time: 1 comparison"
        and lines[1] == "1 more without an effect: see the table"
    )


def test_a_change_beyond_the_edge_is_an_arrow_and_its_number_is_true() -> None:
    changes = [change(0.02 * number, f"b{number}") for number in range(1, 8)]
    lines = pictures.written(Effects(), subject(change(9.0, "far"), *changes), 80).split("\n")
    assert lines[1] == "1 beyond the edge: see the numbers"
    assert lines[2].startswith("▲ far") and lines[2].endswith("→  +900 % [+898, +902]")
    (plot,) = figures("effects", subject(change(9.0, "far"), *changes))
    assert "1 beyond the edge" in words(plot)


def test_an_accepted_change_and_one_without_an_interval_have_a_row() -> None:
    lines = pictures.written(
        Effects(),
        subject(change(0.1, accepted="a known cost"), change(0.2, "parse", reach=None)),
        80,
    ).split("\n")
    assert lines[1].startswith("✓ sort") and "✓ accepted" in "\n".join(lines[4:])
    assert lines[2].endswith("+20.0 %") and "├" not in lines[2]


def test_hostile_names_keep_to_the_width() -> None:
    for width in (20, 40, 80):
        for line in pictures.written(Effects(), pictures.hostile(), width).split("\n"):
            assert (columns(line) <= width and line.isprintable()) or "\u2068" in line


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="view `effects`: rows: give a whole number of at least 1"):
        plugins.build("views", "effects", {"rows": 0}, "--set")


def test_nothing_with_an_effect_is_no_figure_and_says_so() -> None:
    assert pictures.refusal(Effects(), Subject("x")) == "it draws the comparison of two revisions"
    assert pictures.refusal(Effects(), subject()) == "nothing was compared"
    assert (
        pictures.refusal(Effects(), subject(change(None))) == "no comparison has an effect to draw"
    )
    assert msgspec.structs.asdict(change(None))["low"] is None


def test_half_and_double_are_equally_far_from_nothing_and_no_axis_goes_below_minus_a_hundred_percent() -> (
    None
):
    both = subject(change(1.0, reach=None), change(-0.5, "parse", reach=None, word="improvement"))
    plot, *_ = figures("effects", both)
    drawn = [
        one.data_source.data["at"][0]
        for one in plot.renderers
        if one.glyph.__class__.__name__ == "Scatter"
    ]
    assert sorted(drawn) == pytest.approx([-math.log(2), math.log(2)])
    assert plot.x_range.start == -plot.x_range.end
    assert list(plot.xaxis[0].major_label_overrides.values()) == ["-50", "0", "+100"]
    lines = pictures.written(
        Effects(), subject(change(7.0), change(-0.5, "parse", word="improvement")), 80
    )
    assert "-75" in lines and "+300" in lines and "-100" not in lines


@each("effect", [1e-4, 0.02, 0.2, 0.5, 3.0, 40.0, 5e3, -0.3, -0.999, -2.0])
def test_an_axis_has_at_least_two_ticks_beside_nothing(effect: float) -> None:
    (plot,) = figures("effects", subject(change(effect, reach=None)))
    ticks, labels = plot.xaxis[0].ticker.ticks, plot.xaxis[0].major_label_overrides
    assert 3 <= len(ticks) <= 7 and max(ticks) <= plot.x_range.end
    assert labels[0.0] == "0" and len(set(labels.values())) == len(ticks)
