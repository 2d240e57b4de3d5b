"""Where a sentence is broken."""

from __future__ import annotations

from cases import each
from hypothesis import given
from hypothesis import strategies as st

from perfvcs.text.wrapping import wrap


@each(
    ("text", "kept"),
    [
        ("it grew by +27.2 % in all", "+27.2 %"),
        ("it has 8.024 kB more of these", "8.024 kB"),
        ("it takes 12 ms (and waits)", "12 ms"),
        ("see google-benchmark for more", "google-benchmark"),
    ],
)
def test_neither_an_amount_nor_a_name_is_parted(text: str, kept: str) -> None:
    for width in range(len(kept), len(text) + 1):
        assert any(kept in line for line in wrap(text, width)), width


@given(st.text("ab-1 %ms\n", max_size=80), st.integers(1, 30))
def test_nothing_is_lost_and_nothing_is_too_wide(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(len(line) <= width for line in lines)
