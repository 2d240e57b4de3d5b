"""Names as people write them: whole, a part, or as they are printed; and names that are told apart
in a narrow column.
"""

from __future__ import annotations

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from perfvcs.check.text import called
from perfvcs.environment.host import names as environment_names
from perfvcs.profile import Environment, Job
from perfvcs.text.characters import shorten
from perfvcs.text.words import Ambiguous, Named, apart, meant, metric

RUN = Job("run", "time", "./run")
KNOWN = [
    called(RUN, "ascii", 10.0),
    called(RUN, "ascii", 100.0),
    called(RUN, "kanji"),
    called(Job("sort", "time", "./sort", args="--fast")),
    called(Job("sort", "memory", "./sort", args="--fast")),
    called(Job("sorted", "time", "./sorted")),
]


@each(
    "name places",
    [
        ("run", [0, 1, 2]),
        ("run: ascii", [0, 1]),
        ("run: ascii [100]", [1]),
        ("ascii", [0, 1]),
        ("asc", [0, 1]),
        ("ASC", [0, 1]),
        ("[100]", [1]),
        ("kan", [2]),
        ("ru", [0, 1, 2]),
        ("sort", [3, 4]),
        ("sort --fast", [3, 4]),
        ("--fast", [3, 4]),
        ("sort --fast (memory)", [4]),
        ("sorte", [5]),
        ("nothing", []),
        ("", []),
        (" ", []),
    ],
)
def test_a_name_means_what_is_called_so_else_the_only_one_of_which_it_is_a_part(
    name: str, places: list[int]
) -> None:
    assert meant(name, KNOWN) == places


def test_an_ambiguous_part_names_the_candidates() -> None:
    with pytest.raises(
        Ambiguous,
        match=r"^`i` matches 2 benchmarks: `run: ascii`, `run: kanji`: write more of the name$",
    ):
        meant("i", KNOWN)
    with pytest.raises(Ambiguous, match="`sort`, `sorted`"):
        meant("sor", KNOWN)
    assert meant("sor", KNOWN, several=True) == [3, 4, 5]


def test_many_candidates_are_counted() -> None:
    with pytest.raises(
        Ambiguous,
        match=r"`test` matches 500 tests: `test_0`, .* and 492 more: write more of the name",
    ) as caught:
        meant("test", [Named([f"test_{number}"]) for number in range(500)], "test")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@each(
    "uid",
    [
        "two words",
        "a:b",
        "a: b [c]",
        "[1]",
        "n" * 10_000,
        "…",
        "line\nbreak",
        "\u202eevil",
        "שלום",
        "a" * 90 + "b",
    ],
)
def test_every_name_is_accepted_whole_and_as_it_is_printed(uid: str) -> None:
    known = [called(RUN, "other"), called(RUN, uid, 5.0), called(RUN, "x" * 10_000)]
    for name in (
        uid,
        f"run: {uid}",
        f"run: {uid} [5]",
        shorten(f"run: {uid}", 400),
        shorten(f"run: {uid} [5]", 38),
    ):
        assert meant(name, known) == [1], name[:100]


def test_a_metric_is_named_as_it_is_stored_or_printed() -> None:
    known = ["wall", "cpu", "maxrss", "site_bytes"]
    assert [
        metric(name, known)
        for name in ("wall", "wall time", "CPU", "peak", "peak memory", "bytes", "no")
    ] == ["wall", "wall", "cpu", "maxrss", "maxrss", "site_bytes", ""]
    with pytest.raises(Ambiguous, match="2 metrics"):
        metric("e", ["peak", "pear"])


def test_what_tells_long_names_apart_is_kept() -> None:
    names = [
        f"tests/test_tokenizer.py::test_a_long_story[{what}-of-the-same-old-encoding-of-latin-letters]"
        for what in ("ascii", "kanji")
    ]
    assert len({shorten(name, 38) for name in names}) == 1, "else the test shows nothing"
    first, second = apart(names, 38)
    assert "ascii" in first
    assert "kanji" in second
    assert apart(["short", *names], 38)[0] == "short"
    assert all(meant(text, [Named([name]) for name in names]) for text in (first, second)), (
        "and is accepted as it is printed"
    )


@given(
    st.lists(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=80), min_size=1, max_size=8
    ),
    st.integers(12, 60),
)
def test_names_keep_to_their_width_and_order(names: list[str], width: int) -> None:
    shown = apart(names, width)
    assert len(shown) == len(names)
    assert all(len(text) <= width + 2 for text in shown), (
        "two isolates may stand around a name that is written from right to left"
    )
    assert all(
        text == shorten(name, width)
        for name, text in zip(names, shown, strict=True)
        if len(name) <= width
    )


@given(st.text("ab", min_size=40, max_size=40), st.integers(0, 39))
def test_two_names_that_differ_in_one_character_look_different(name: str, place: int) -> None:
    other = f"{name[:place]}{'b' if name[place] == 'a' else 'a'}{name[place + 1 :]}"
    assert len(set(apart([name, other], 20))) == 2


def test_environments_are_named_by_what_differs() -> None:
    several = [
        Environment({"cpu": "x", "python": version}, mark)
        for version, mark in (("3.12", "a" * 12), ("3.13", "b" * 12))
    ]
    assert environment_names(several) == {"a" * 12: "3.12", "b" * 12: "3.13"}
    same = [Environment({"cpu": "x"}, "a" * 12), Environment({"cpu": "x"}, "b" * 12)]
    assert len(set(environment_names(same).values())) == 2
