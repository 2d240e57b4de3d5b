"""Names as people write them: whole, a part, or as they are printed; and names that are told apart
in a narrow column.
"""

from __future__ import annotations

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st

from perfvcs.environment.host import names as environment_names
from perfvcs.profile import Environment
from perfvcs.profile.benchmarkfilter import FilterWords, catalogue, chosen
from perfvcs.profile.naming import Benchmark, drawn
from perfvcs.profile.resolver import Ambiguous, meant, resolved
from perfvcs.text.characters import shorten
from perfvcs.text.words import apart

KNOWN = [
    Benchmark("run", "run", "time", "ascii", 10.0, "wall"),
    Benchmark("run", "run", "time", "ascii", 100.0, "cpu"),
    Benchmark("run", "run", "time", "kanji", None, "wall", "3.12"),
    Benchmark("sort", "sort --fast", "time"),
    Benchmark("sort", "sort --fast", "memory"),
    Benchmark("sorted", "sorted", "time"),
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
        ("(memory)", [4]),
        ("run: ascii:wall", [0]),
        ("run: ascii, wall time", [0]),
        ("ascii [100] CPU time", [1]),
        ("ascii: cpu", [1]),
        ("run: kanji  (time)   wall time", [2]),
        ("kanji (3.12)", [2]),
        ("kanji (in 3.12)", [2]),
        ("run: kanji (time) (3.12)", [2]),
        ("kanji, CPU time", []),
        ("run · ascii · size 100", [1]),
        ("run: as\n    cii [10]", [0]),
        ("sorte", [5]),
        ("nothing", []),
        ("", []),
        (" ", []),
    ],
)
def test_a_name_means_what_is_called_so_else_the_only_one_of_which_it_is_a_part(
    name: str, places: list[int]
) -> None:
    assert list(meant(name, KNOWN).places) == places


def test_an_ambiguous_part_names_the_candidates() -> None:
    with pytest.raises(
        Ambiguous,
        match=r"^`i` matches 2 benchmarks: 'run: ascii', 'run: kanji': write more of the name$",
    ):
        meant("i", KNOWN)
    with pytest.raises(Ambiguous, match="sort, sorted"):
        meant("sor", KNOWN)
    assert meant("sor", KNOWN, several=True).places == [3, 4, 5]


def test_many_candidates_are_counted() -> None:
    with pytest.raises(
        Ambiguous,
        match=r"`test` matches 500 units: test_0, .* and 492 more: write more of the name",
    ) as caught:
        tests = [Benchmark("tests", "tests", uid=f"test_{number}") for number in range(500)]
        meant("test", tests, "unit")
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
    known = [
        Benchmark("run", "run", "time", "other"),
        Benchmark("run", "run", "time", uid, 5.0),
        Benchmark("run", "run", "time", "x" * 10_000),
    ]
    for name in (
        drawn("run", uid, 5.0),
        uid,
        f"run: {uid}",
        f"run: {uid} [5]",
        shorten(f"run: {uid}", 400),
        shorten(f"run: {uid} [5]", 38),
    ):
        assert meant(name, known).places == [1], name[:100]


def test_a_metric_is_named_as_it_is_stored_or_printed() -> None:
    metrics = ("wall", "cpu", "maxrss", "site_bytes")
    known = [Benchmark("run", "run", metric=name) for name in metrics]
    named = {
        name: metrics[resolved(name, known, "metric").places[0]]
        for name in ("wall", "wall time", "CPU", "peak", "peak memory", "bytes")
    }
    assert list(named.values()) == ["wall", "wall", "cpu", "maxrss", "maxrss", "site_bytes"]
    assert not meant("no", known, "metric").places
    with pytest.raises(Ambiguous, match="2 metrics"):
        meant("e", [Benchmark("a", "a", metric=name) for name in ("peak", "pear")], "metric")


def test_a_filter_leaves_what_is_named_and_everything_new_of_a_whole_job() -> None:
    known = catalogue(KNOWN)
    whole = chosen(known, FilterWords("run"))
    assert whole.has("run", "a unit that came later", metric="wall")
    assert not whole.has("sorted", "sorted")
    unit = chosen(known, FilterWords("run: ascii"))
    assert unit.has("run", "ascii", 1000.0), "at a size that came later, too"
    assert not unit.has("run", "kanji")
    at_size = chosen(known, FilterWords("ascii [100], CPU time"))
    assert at_size.has("run", "ascii", 100.0, "cpu")
    assert not at_size.has("run", "ascii", 10.0, "cpu")
    assert not at_size.has("run", "ascii", 100.0, "wall")
    assert chosen(known, FilterWords(metric="CPU")).has("any job", "any unit", metric="cpu")
    assert chosen(known, FilterWords(jobs=("sort --fast", "sorted"))).labels == (
        "sort --fast",
        "sorted",
    )


def test_a_unit_of_two_jobs_is_refused_where_one_is_followed() -> None:
    known = catalogue(
        [Benchmark(job, job, "pytest", "test_a", None, "wall") for job in ("old", "new")]
    )
    assert chosen(known, FilterWords("test_a")).labels == ("new", "old")
    with pytest.raises(Ambiguous, match="2 benchmarks: 'old: test_a', 'new: test_a': name one of"):
        chosen(known, FilterWords("test_a"), way="one")
    assert chosen(known, FilterWords("new: test_a"), way="one").labels == ("new",)


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
    known = [Benchmark("tests", "tests", uid=name) for name in names]
    assert [meant(text, known, "unit").places for text in (first, second)] == [[0], [1]], (
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
