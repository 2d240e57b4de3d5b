"""The profile's document: what goes in comes out, and what is not a profile is named with its
place.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import WALL, sample_profile

from perfvcs.profile import (
    Collected,
    Design,
    Environment,
    Job,
    Metric,
    Processed,
    Profile,
    Resources,
    Stacks,
)
from perfvcs.profile.decoding import decode
from perfvcs.profile.fittedmodels import OpenEntry
from perfvcs.profile.validity import Malformed

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
texts = st.dictionaries(text, text, max_size=3)
number = st.floats(allow_nan=False, allow_infinity=False)
scalar = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | number | text
things = st.recursive(
    scalar,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
hexadecimal = st.text("0123456789abcdef", min_size=40, max_size=40)
metric_name = st.from_regex(r"[A-Za-z][A-Za-z0-9_.:-]{0,15}", fullmatch=True).filter(
    lambda name: name not in ("uid", "size", "execution", "binary", "iteration", "mark", "trace")
)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Any profile that the format allows."""
    rows = draw(st.integers(0, 6))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    def optional(values: st.SearchStrategy[Any], default: int) -> list[Any] | None:
        found = draw(st.none() | st.just(()))
        filled = None if found is None else column(values)
        return filled if filled and set(filled) != {default} else None

    names = draw(st.lists(text, min_size=1, max_size=4, unique=True))
    metrics = draw(
        st.dictionaries(
            metric_name,
            st.builds(Metric, text, st.sampled_from(["lower", "higher", "none"])),
            max_size=3,
        )
    )
    stacks = Stacks(["main (a.c:1)"], [[0]]) if draw(st.booleans()) else None
    resources = Resources(
        names=names,
        uid=column(st.integers(0, len(names) - 1)),
        execution=column(st.integers(0, 2**53)),
        binary=optional(st.integers(0, 3), 0),
        iteration=optional(st.integers(0, 3), 0),
        mark=optional(st.integers(0, 2), 0),
        trace=column(st.integers(-1, 0)) if stacks else None,
        size=column(st.none() | number) if draw(st.booleans()) else None,
        metrics={name: column(st.none() | number) for name in metrics},
    )
    job = st.builds(
        Job,
        text,
        text,
        text,
        text,
        text,
        st.dictionaries(text, scalar, max_size=3),
        st.dictionaries(text, things),
    )
    return Profile(
        commit=draw(hexadecimal),
        dirty=draw(st.none() | st.text("0123456789abcdef", min_size=64, max_size=64)),
        job=draw(job),
        collected=draw(st.builds(Collected, text, text, text, text)),
        environment=draw(st.builds(Environment, texts, text, texts, st.lists(text, max_size=2))),
        design=draw(st.builds(Design, versions=st.lists(hexadecimal, max_size=3))),
        metrics=metrics,
        resources=resources,
        stacks=stacks,
        models=draw(
            st.lists(st.builds(OpenEntry, st.dictionaries(text, things, max_size=3)), max_size=2)
        ),
        postprocessors=draw(
            st.lists(
                st.builds(Processed, text, st.dictionaries(text, things, max_size=2)), max_size=2
            )
        ),
    )


@pytest.mark.slow
@given(profiles())
@settings(max_examples=60, deadline=None)
def test_every_profile_comes_back_as_it_was(profile: Profile) -> None:
    document = profile.encode()
    assert decode(document) == profile
    assert decode(document).encode() == document


@pytest.mark.slow
@given(profiles(), st.data())
@settings(max_examples=100, deadline=None)
def test_a_mutated_document_is_a_profile_or_malformed_and_nothing_else(
    profile: Profile, data: st.DataObject
) -> None:
    document = json.loads(profile.encode())
    _mutate(document, data)
    _decoded_or_malformed(json.dumps(document).encode())


@pytest.mark.slow
@given(profiles(), st.data())
@settings(max_examples=100, deadline=None)
def test_flipped_bytes_make_a_profile_or_malformed_and_nothing_else(
    profile: Profile, data: st.DataObject
) -> None:
    document = bytearray(profile.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        document[data.draw(st.integers(0, len(document) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.none() | st.integers(0, len(document)))
    _decoded_or_malformed(bytes(document[:cut]))


def _decoded_or_malformed(document: bytes) -> None:
    try:
        profile = decode(document)
    except Malformed as error:
        assert str(error)
        assert len(str(error).splitlines()) == 1
    else:
        assert decode(profile.encode()) == profile


def _mutate(document: Any, data: st.DataObject) -> None:
    """Somewhere in a document, replace, remove or add a value."""
    places: list[tuple[Any, Any]] = []

    def visit(value: Any) -> None:
        for key in (
            value
            if isinstance(value, dict)
            else range(len(value))
            if isinstance(value, list)
            else ()
        ):
            places.append((value, key))
            visit(value[key])

    visit(document)
    container, key = data.draw(st.sampled_from(places))
    action = data.draw(st.sampled_from(["replace", "remove", "add"]))
    if action == "remove":
        del container[key]
    elif action == "replace":
        container[key] = data.draw(things | st.just(2**70) | st.just(-1) | st.just(float("inf")))
    elif isinstance(container, dict):
        container[data.draw(text)] = data.draw(things)
    else:
        container.append(data.draw(things))


def _changed(*path: str | int, to: object) -> bytes:
    document = json.loads(sample_profile().encode())
    target = document
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = to
    return json.dumps(document).encode()


@each(
    "path value place",
    [
        (("commit",), "HEAD", "$.commit"),
        (("dirty",), "yes", "$.dirty"),
        (("format",), "perfvcs-profile/99", "update perfvcs"),
        (("format",), "something", "$.format"),
        (("colection",), {}, "colection"),
        (("job", "workloads"), "", "$.job"),
        (("job", "cmd"), 5, "$.job.cmd"),
        (("design", "order"), "random", "$.design.order"),
        (("metrics", "wall", "better"), "bigger", "better"),
        (("metrics", "cpu"), {"unit": "s"}, "$.metrics"),
        (("resources", "wall", 1), "fast", "$.resources.wall[1]"),
        (("resources", "wall"), [1.0], "$.resources.wall"),
        (("resources", "execution"), [0, 1, -1], "$.resources.execution"),
        (("resources", "execution"), [0], "$.resources.execution"),
        (("resources", "size"), [0.5], "$.resources.size"),
        (("resources", "trace"), [0, 0, 0], "$.resources.trace"),
        (("resources", "uid", "codes"), [0, 0, 1], "$.resources.uid.codes"),
        (("resources", "uid", "names"), ["sort", "sort"], "$.resources.uid.names"),
        (("resources", "uid", "names"), ["x" * 10_001], "$.resources.uid.names"),
        (("stacks",), {"frames": [], "stacks": [[0]]}, "$.stacks"),
        (("postprocessors",), [{"params": {}}], "$.postprocessors[0]"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    path: tuple[str | int, ...], value: object, place: str
) -> None:
    with pytest.raises(Malformed) as caught:
        decode(_changed(*path, to=value))
    assert place in str(caught.value)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'"' + b"\xff" * 9,
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"format": 1}',
    ],
)
def test_what_is_no_document_is_malformed(document: bytes) -> None:
    _decoded_or_malformed(document)


@pytest.mark.parametrize("depth", [200_000])
@pytest.mark.parametrize("place", ["models", "resources.wall", "job.options"])
def test_depth_is_bounded(place: str, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    document = json.loads(sample_profile().encode())
    target = document
    *path, last = place.split(".")
    for key in path:
        target = target[key]
    target[last] = "@"
    with pytest.raises(Malformed):
        decode(
            json.dumps(document)
            .replace('"@"', nested if last != "options" else f'{{"a": {nested}}}')
            .encode()
        )


def test_a_profile_that_could_not_be_read_is_not_written() -> None:
    unequal = Resources(names=["a"], uid=[0, 0], execution=[0, 1], metrics={"wall": [1.0]})
    with pytest.raises(Malformed, match=r"\$.resources.wall"):
        sample_profile(resources=unequal).encode()
    reserved = Resources(names=["a"], uid=[0], execution=[0], metrics={"9 lives": [1.0]})
    with pytest.raises(Malformed, match="unusable name"):
        sample_profile(resources=reserved, metrics={"9 lives": WALL}).encode()


def test_names_that_are_not_text_are_malformed_when_read() -> None:
    document = sample_profile().encode().replace(b'"names":["sort"]', b'"names":["s\xc2rt"]')
    with pytest.raises(
        Malformed, match=r"codec can't decode byte 0xc2|Invalid UTF-8 encoded string"
    ):
        decode(document)


def test_names_that_are_not_text_are_malformed_when_written() -> None:
    job = Job(name="sort", collector="time", cmd="./so\udcffrt")
    with pytest.raises(Malformed):
        sample_profile(job=job).encode()


def test_the_series_key_ignores_the_order_of_keys_and_nothing_else() -> None:
    first = Job(
        name="sort",
        collector="time",
        cmd="./sort",
        params={"n": 1, "kind": "int"},
        engine="launcher/1",
    )
    second = msgspec.structs.replace(first, params={"kind": "int", "n": 1})
    assert first.key == second.key
    for change in (
        {"name": "x"},
        {"args": "-r"},
        {"engine": "spawn/1"},
        {"params": {"n": 2}},
        {"source": {"a": "0" * 16}},
    ):
        assert msgspec.structs.replace(first, **change).key != first.key


def test_the_label_names_what_distinguishes() -> None:
    job = Job(
        name="sort",
        collector="time",
        cmd="./sort",
        args="-r",
        workload="10",
        params={"n": 10, "python": "3.11"},
    )
    assert job.label == "sort -r 10 python=3.11"


def test_columns_that_are_left_out_have_their_defaults() -> None:
    rows = sample_profile().resources
    assert list(rows.integers("mark")) == [0, 0, 0]
    assert list(rows.integers("trace")) == [-1, -1, -1]
    assert list(rows.integers("execution")) == [0, 1, 2]


def test_a_column_becomes_an_array_with_nan_where_there_is_no_value() -> None:
    profile = sample_profile([0.5, None])  # type: ignore[list-item]
    array = decode(profile.encode()).resources.array("wall")
    assert array.dtype == "float64"
    assert array[0] == 0.5
    assert array[1] != array[1]
    assert sample_profile().resources.array("size").shape == (0,)
