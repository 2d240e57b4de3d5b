"""Numbers and names as people read them."""

from __future__ import annotations

import doctest
import math
import re
import unicodedata

import msgspec
import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from perfvcs.text import characters, words
from perfvcs.text import quantity as quantities
from perfvcs.text.characters import escaped, printable, shorten, visible
from perfvcs.text.quantity import change, number, numbers, percent, quantity, scale


def test_the_examples_hold() -> None:
    assert all(doctest.testmod(module).failed == 0 for module in (quantities, characters, words))


@pytest.mark.parametrize("value", [9.996e-10, -1.5e-20, 1e-300, 2e-7])
def test_a_tiny_number_keeps_its_power_of_ten(value: float) -> None:
    assert float(number(value)) == value


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5))
def test_numbers_that_stand_together_say_what_each_says_alone(values: list[float]) -> None:
    alone = [number(value) for value in values]
    together = numbers(values)
    assert [float(text.replace(",", "")) for text in together] == [
        float(text.replace(",", "")) for text in alone
    ]
    digits = {len(text.strip("-").replace(".", "").lstrip("0")) for text in together if "." in text}
    assert len(digits) <= 1 or any("e" in text for text in together)


@each(
    "value unit text",
    [
        (1e-5, "s", "10 us"),
        (0.9996, "s", "999.6 ms"),
        (90.0, "s", "90 s"),
        (4500.0, "s", "4,500 s"),
        (3e-10, "s", "0.3 ns"),
        (1e-14, "s", "0.01 ps"),
        (999.0, "B", "999 B"),
        (20_480.0, "B", "20.48 kB"),
        (0.5, "B", "0.5 B"),
        (5e-8, "B", "50 ×10⁻⁹ B"),
        (3e9, "", "3 G"),
        (0.0, "s", "0 s"),
        (12.0, "ms", "12 ms"),
        (1e-7, "ms", "0.1 ns"),
        (6e-4, "us", "0.6 ns"),
        (7.6e4, "op/s", "76 kop/s"),
        (-0.02, "s", "-20 ms"),
        (math.inf, "s", "inf s"),
        (0.25, "", "0.25"),
        (1e-5, "", "10 ×10⁻⁶"),
        (2.5e-8, "s/op", "25 ns/op"),
        (1e20, "s", "1.000e+20 s"),
    ],
)
def test_a_value_has_a_prefix_that_suits_it(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@given(
    st.floats(min_value=1e-12, max_value=1e12), st.sampled_from(["s", "B", "", "op/s", "ms", "J"])
)
def test_no_ordinary_value_has_an_exponent(value: float, unit: str) -> None:
    assert "e" not in quantity(value, unit).replace(unit, "")
    assert "e" not in number(value * scale(value, unit).factor)


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (0.05, "+5.0 %"),
        (-0.2, "-20.0 %"),
        (0.0051, "+0.51 %"),
        (1e-9, "0 %"),
        (99.0, "+9,900 %"),
        (math.nan, "nan %"),
    ],
)
def test_a_change_has_a_sign(effect: float, text: str) -> None:
    assert percent(effect) == text


def test_a_change_without_interval_has_no_brackets() -> None:
    assert change(0.05, None, 0.1) == "+5.0 %"


def test_an_interval_that_bounds_nothing_says_so() -> None:
    assert change(1.3, -1 + 1e-9, 2e14) == "+130 % (no bound)"
    assert quantities.interval(-0.999, 0.9995) == "[-99.9 %, +100.0 %]"
    assert quantities.interval(-0.999, 1.0005) == "(no bound)"
    assert quantities.interval(0.0, 1e4) == "[0 %, +1,000,000 %]"


def test_small_and_large_numbers_stay_readable() -> None:
    assert [number(value) for value in (1e-9, 0.001234, 123456.0, math.nan)] == [
        "1e-09",
        "0.001234",
        "123,456",
        "nan",
    ]


@given(st.text(), st.integers(4, 60))
def test_a_shortened_name_is_one_bounded_line(name: str, width: int) -> None:
    short = shorten(name, width)
    assert len(short) <= width + 2  # two marks around what is written from right to left
    assert "\n" not in short and "\x00" not in short and "\u202e" not in short
    short.encode()


def unseen(text: str) -> list[str]:
    """The characters of a text that a terminal obeys or does not draw, save line ends and what
    isolates names from right to left.
    """
    categories = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
    marks = {
        *map(chr, range(0xFE00, 0xFE10)),
        *map(chr, range(0xE0100, 0xE01F0)),
        *"\u034f\u115f\u1160\u3164\uffa0",
    }
    return [
        one
        for one in text
        if one not in "\n\u2068\u2069" and (unicodedata.category(one) in categories or one in marks)
    ]


@given(
    st.text(st.characters(categories=None))
    | st.text("a\n\u05d0\u2068\u2069\u202e\u200d\ufe0f\U0001f469\U000e0041\ud800")
)
def test_what_is_printed_has_nothing_that_nobody_sees(text: str) -> None:
    assert unseen(printable(text)) == unseen(visible(text)) == unseen(shorten(text)) == []
    assert visible(text) == visible(visible(text))
    for line in printable(text).split("\n"):  # what isolates is closed where it began
        assert re.sub("\u2068[^\u2068\u2069]*\u2069", "", line).count("\u2068") == 0
    printable(text).encode()


@given(st.text())
def test_json_is_escaped_and_means_the_same(text: str) -> None:
    document = escaped(msgspec.json.encode([text]).decode())
    assert msgspec.json.decode(document.encode()) == [text]
    assert unseen(document) == []


def test_legible_text_stays_legible() -> None:
    same = "naïve façade žluťoučký Ελλάδα 標準\u3000時間 한국어 हिन्दी ✓ 🏁 👍🏽 e\u0301"
    assert visible(same) == printable(same) == same
    assert visible("👩\u200d💻 ❤\ufe0f می\u200cخواهم") == "👩💻 ❤ میخواهم"


def test_joiners_elsewhere_and_hidden_messages_are_shown() -> None:
    assert visible("a\u200db \u200d\u200d") == "a\ufffdb \ufffd\ufffd"
    assert (
        visible("tag" + "".join(chr(0xE0000 + ord(one)) for one in "evil")) == "tag" + 4 * "\ufffd"
    )
    assert visible("😀" + "\U000e0141\U000e0142") == "😀\ufffd\ufffd"


def test_pages_have_the_micro_sign() -> None:
    with quantities.micro_sign():
        assert quantity(1.31e-5, "s") == "13.1 µs"
        assert quantity(5.0, "us") == "5 µs"
        assert quantity(2e-6, "J") == "2 µJ"
        assert quantities.step(1.31e-5, 2e-5, "s") == "13.10 -> 20.00 µs"
    assert quantity(1.31e-5, "s") == "13.1 us"


@given(st.floats(min_value=1e-9, max_value=1e8), st.floats(min_value=0.5, max_value=2.0))
def test_both_levels_have_as_many_decimals(value: float, ratio: float) -> None:
    before, after = quantities.step(value, value * ratio, "s").rpartition(" ")[0].split(" -> ")
    assert len(before.partition(".")[2]) == len(after.partition(".")[2])
