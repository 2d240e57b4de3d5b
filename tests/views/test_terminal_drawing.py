"""Drawing with characters: what the views print on a terminal."""

from __future__ import annotations

import numpy as np
import pictures
import pytest
from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st

from perfvcs.pictures.terminal import Axis, Plot, foot, rail
from perfvcs.text.characters import ascii_only, beside, columns, cut, fitted, padded, wrapped

ANY = st.floats(allow_nan=True, allow_infinity=True)


def drawn(plot: Plot) -> list[str]:
    """The lines between the axes, without the vertical one."""
    return [
        line[line.index("│" if "│" in line else "┤") + 1 :]
        for line in plot.lines()
        if "│" in line or "┤" in line
    ]


def test_a_plot_has_its_labels_its_ticks_and_a_dot_where_a_point_is() -> None:
    plot = Plot(Axis(0, 10, "size"), Axis(0, 100, "time (ms)"), 40, 6)
    plot.points([0, 10], [0, 100])
    lines = plot.lines()
    assert lines[0] == "time (ms)" and lines[-1].strip() == "size"
    assert any(line.startswith("100 ┤") for line in lines) and any("└" in line for line in lines)
    assert drawn(plot)[0].endswith("⠈") and drawn(plot)[-1].startswith("⡀")
    assert all(columns(line) <= 40 for line in lines)


def test_a_line_goes_through_all_columns_between_its_points() -> None:
    plot = Plot(Axis(0, 1), Axis(0, 1), 30, 5)
    plot.line([0, 1], [0, 1])
    used = {place for line in drawn(plot) for place, letter in enumerate(line) if letter != " "}
    assert used == set(range(plot.columns))


def test_levels_whiskers_and_signs_are_drawn_over_one_another() -> None:
    plot = Plot(Axis(0, 9), Axis(0, 4), 20, 5)
    plot.whiskers([9], [0], [4])
    plot.level(0, 4, 2)
    plot.points([4], [2], "▲")
    lines = drawn(plot)
    assert "━━▲" in lines[2] and "━" not in lines[1]
    assert all(line[-1] != " " for line in lines)


def test_what_is_outside_or_not_a_number_is_left_out() -> None:
    plot = Plot(Axis(0, 1), Axis(0, 1), 20, 3)
    plot.points([float("nan"), 0.5, 7, 0.5], [0.5, float("inf"), 0.5, -1])
    plot.line([float("nan")], [1])
    plot.level(0, 1, 9)
    assert "".join(drawn(plot)).strip() == ""


def test_ticks_are_round_numbers_and_the_ends_have_theirs_first() -> None:
    assert [text for _, text in Axis(0, 10).ticks(6)] == ["0", "2", "4", "6", "8", "10"]
    assert [text for _, text in Axis(12.93, 13.21).ticks(4)] == ["13.0", "13.1", "13.2"]
    assert [text for _, text in Axis(1, 1000, log=True).ticks(5)] == ["1", "10", "100", "1,000"]
    assert [text for _, text in Axis(12, 13, log=True).ticks(4)] == ["12.0", "12.5", "13.0"]
    named = Axis(0, 20, names={0.0: "oldest", 1.0: "between", 20.0: "newest"})
    assert foot(named, 24)[1].split() == ["oldest", "newest"]


def test_an_axis_is_as_wide_as_asked_for_so_that_noise_is_no_mountain() -> None:
    narrow = Axis.over([100.0, 100.1], least=0.02)
    assert (narrow.low, narrow.high) == pytest.approx((99.0495, 101.0505))
    assert Axis.over([1.0, 50.0, float("nan")], least=0.02).high == 50.0
    assert Axis.over([5.0, 5.0]).low < 5.0 < Axis.over([5.0, 5.0]).high
    assert (
        Axis.over([0.0]).ticks(3) and Axis.over([]).ticks(3) and Axis.over([-1.0], log=True).low > 0
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(ANY, max_size=5), st.booleans(), st.integers(1, 90), st.integers(1, 9))
def test_any_values_can_be_drawn_at_any_width(
    values: list[float], log: bool, width: int, height: int
) -> None:
    axis = Axis.over(values, "values", log=log)
    plot = Plot(axis, axis, width, height)
    plot.points(values, values)
    plot.line(sorted(values), values)
    plot.whiskers(values, values, values)
    lines = plot.lines()
    assert len({line.count("\n") for line in lines} - {0}) == 0
    # eight columns and the longest number always stand
    assert all(columns(line) <= max(width, 36) for line in lines)
    assert len(rail(axis, width, values[0] if values else None, None, None, "●")) == width


def test_a_row_has_its_interval_its_zero_its_band_and_arrows_at_the_edges() -> None:
    axis = Axis(-10, 10, "change, %")
    assert rail(axis, 21, 5, 2, 8, "●", zero=0) == "          │ ├──●──┤  "
    assert rail(axis, 21, 0, -30, 30, "●", zero=0) == "←─────────●─────────→"
    assert (
        rail(axis, 21, 50, None, None, "●").rstrip()[-1] == "→"
        and rail(axis, 21, -50, None, None, "●")[0] == "←"
    )
    assert rail(axis, 21, None, None, None, "●", zero=0, band=1) == "         ░│░         "
    assert [line.rstrip() for line in foot(axis, 21)] == [
        "┬─────────┬─────────┬",
        "-10       0        10",
    ]


@each("name", [*pictures.ATTACKS, "漢字" * 40, "e\u0301" * 40])
@each("width", [1, 7, 40])
def test_a_name_keeps_to_its_columns(name: str, width: int) -> None:
    assert columns(fitted(name, width)) <= width
    assert columns(padded(name, width)) == width
    assert columns(cut(name, width)) <= width
    assert all(
        columns(line) <= width for line in [*wrapped([name], width), *beside([name, name], width)]
    )


def test_entries_stand_beside_one_another_while_there_is_room() -> None:
    assert beside(["one", "two", "three"], 12) == ["one   two", "three"]


def test_a_terminal_without_these_characters_gets_others() -> None:
    plot = Plot(Axis(0, 9, "×"), Axis(0, 4), 20, 5)
    plot.line([0, 9], [0, 4])
    plot.points([4], [2], "▲")
    text = ascii_only("\n".join(plot.lines()))
    assert text.isascii() and "^" in text and "." in text and "+--" in text and "?" not in text


def test_shares_of_the_largest_numbers_are_no_infinity() -> None:
    assert Axis(-1.7e308, 1.7e308).shares([0.0]).tolist() == [0.5]
    assert np.isnan(Axis(1, 10, log=True).shares([-1.0])).all()
