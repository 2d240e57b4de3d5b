"""Profiles of Perun in all its layouts."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from samples import format_of, sample_profile

from perfvcs import formats
from perfvcs.formats._table import written
from perfvcs.formats.perun import Perun
from perfvcs.profile import Metric, Processed, Profile, Resources, Stacks
from perfvcs.profile.validity import MAX_INTEGER, Malformed

COMMIT = "74288675e4074f1ad5bbb0d3b3253911ab42267a"
MAIN = {"function": "main", "source": "list.c", "line": 22}
ALLOCATED = [{"function": "malloc", "source": "unreachable", "line": 0}, MAIN]


def document(**parts: Any) -> dict[str, Any]:
    header = {
        "type": "mixed",
        "cmd": "./bin/list",
        "args": "-v",
        "workload": "1k.txt",
        "units": {"mixed(time delta)": "ms"},
    }
    return {
        "origin": COMMIT,
        "header": header,
        "collector_info": {"name": "trace", "params": {"func": ["f"]}},
        **parts,
    }


def call(
    amount: object, size: object = 1, uid: object = "insert(List*)", **more: object
) -> dict[str, Any]:
    return {
        "amount": amount,
        "structure-unit-size": size,
        "uid": uid,
        "type": "mixed",
        "subtype": "time delta",
        **more,
    }


def read(found: object, **options: Any) -> Profile:
    profile = Perun(**options).decode(
        found if isinstance(found, bytes) else json.dumps(found).encode()
    )
    profile.encode()
    return profile


CALLS = [call(6, 0), call(7.5, 1), call(1, None, "init()")]


@pytest.mark.parametrize(
    "layout",
    [
        {"global": {"timestamp": "2.3", "resources": CALLS}},
        {"global": CALLS},
        {"resources": CALLS},
        {"global": {"resources": []}, "resources": CALLS},
        {
            "resources": {
                "insert#0": {"amount": [6, 7.5], "structure-unit-size": [0, 1]},
                "init#0": {"amount": [1]},
            },
            "resource_type_map": {
                "insert#0": {"uid": "insert(List*)", "type": "mixed", "subtype": "time delta"},
                "init#0": {"uid": "init()", "type": "mixed", "subtype": "time delta"},
            },
        },
    ],
)
def test_every_layout_has_the_same_rows(layout):
    profile = read(document(**layout))
    rows = profile.resources
    assert [rows.names[code] for code in rows.uid] == ["insert(List*)", "insert(List*)", "init()"]
    assert rows.size == [0.0, 1.0, None]
    assert rows.metrics == {"duration": [6.0, 7.5, 1.0]}
    assert profile.metrics == {"duration": Metric("ms")}
    assert rows.execution == [0, 0, 0]


def test_the_header_becomes_the_job():
    profile = read(document(resources=CALLS))
    job = profile.job
    assert (job.name, job.collector, job.cmd, job.args, job.workload, job.engine) == (
        "list",
        "trace",
        "./bin/list",
        "-v",
        "1k.txt",
        "perun",
    )
    assert profile.commit == COMMIT
    assert "func" in profile.environment.notes["collector parameters"]
    assert read(document(resources=CALLS), name="other").job.name == "other"
    assert read({"resources": CALLS}).job.name == "unknown"
    assert read({"resources": CALLS}).commit == formats.UNKNOWN
    assert (
        read({"header": {"params": ["a", "b"], "workload": 5}, "resources": CALLS}).job.args
        == "a b"
    )


def test_the_machine_becomes_the_environment():
    profile = read(
        document(resources=CALLS, machine={"architecture": "x86_64", "host": "lab", "memory": {}})
    )
    assert profile.environment.fields == {"machine": "x86_64"}
    assert profile.environment.notes["host"] == "lab"
    assert profile.environment.fingerprint


def test_snapshots_are_iterations_with_their_time():
    profile = read(
        document(
            snapshots=[
                {"time": "0.1", "resources": [call(1)]},
                {"time": "0.25s", "resources": [call(2), call(3)]},
            ]
        )
    )
    assert profile.resources.iteration == [0, 1, 1]
    assert profile.resources.metrics["snapshot"] == [0.1, 0.25, 0.25]
    assert profile.metrics["snapshot"] == Metric("s", "none")
    unreadable = read(document(snapshots=[{"time": "noon", "resources": [call(1)]}]))
    assert set(unreadable.metrics) == {"duration"}
    endless = read(document(snapshots=[{"time": "inf", "resources": [call(1)]}]))
    assert set(endless.metrics) == {"duration"}


def test_repeated_runs_of_a_program_are_executions():
    times = [
        {"amount": 1.0, "uid": "real"},
        {"amount": 0.5, "uid": "user"},
        {"amount": 1.1, "uid": "real"},
    ]
    profile = read(
        {
            "header": {"type": "time", "cmd": "ls", "units": {"time": "s"}},
            "global": {"resources": times},
        }
    )
    assert profile.metrics == {"time": Metric("s")}
    assert profile.resources.execution == [0, 0, 1]
    ordered = [
        {"amount": 1.0, "uid": "real", "order": 4},
        {"amount": 1.1, "uid": "real", "order": 5},
    ]
    assert read({"header": {"type": "time"}, "resources": ordered}).resources.execution == [4, 5]


def test_several_types_become_several_metrics():
    profile = read(
        {
            "header": {"type": "memory", "units": {"memory": "kB"}},
            "resources": [
                {
                    "amount": 4,
                    "uid": MAIN,
                    "type": "memory",
                    "subtype": "malloc",
                    "trace": ALLOCATED,
                    "address": 19284560,
                },
                {"amount": 0, "uid": "main", "type": "memory", "subtype": "free", "trace": []},
                {"amount": 2, "uid": "main", "type": "time", "note": "text"},
                {"amount": 3, "uid": "main", "type": "mixed", "subtype": "malloc", "exclusive": 2},
            ],
        }
    )
    assert profile.resources.names == ["main (list.c:22)", "main"]
    assert profile.metrics == {
        "malloc": Metric("kB"),
        "free": Metric("kB"),
        "time": Metric("s"),
        "malloc_2": Metric("us"),
        "address": Metric("", "none"),
        "exclusive": Metric("kB"),
    }
    assert profile.resources.metrics["malloc"] == [4.0, None, None, None]
    assert profile.stacks == Stacks(["main (list.c:22)", "malloc"], [[0, 1]])
    assert profile.resources.trace == [0, -1, -1, -1]


def test_traces_may_be_texts():
    profile = read(
        {"resources": [call(1, trace=["inner", "outer"]), call(2, trace=["inner", "outer"])]}
    )
    assert profile.stacks == Stacks(["outer", "inner"], [[0, 1]])
    assert profile.resources.trace == [0, 0]


def test_models_and_postprocessors_are_kept_from_wherever_they_are():
    model = {
        "uid": "f",
        "model": "linear",
        "coeffs": [{"name": "b0", "value": 1.5}],
        "r_square": 0.9,
    }
    found = document(
        models=[model | {"x_start": 0}],
        postprocessors=[{"name": "regression_analysis", "params": {"method": "full"}}],
        snapshots=[{"resources": CALLS, "models": [model | {"x_interval_end": 9}]}],
    )
    found["global"] = {"models": [model], "resources": []}
    profile = read(found)
    assert [one.fields for one in profile.models] == [
        model | {"x_start": 0},
        model,
        model | {"x_end": 9},
    ]
    assert profile.postprocessors == [Processed("regression_analysis", {"method": "full"})]


def test_what_only_python_writes_in_json_is_nothing():
    text = json.dumps(
        document(resources=CALLS, models=[{"r_square": float("nan")}, {"r_square": float("inf")}])
    )
    assert [one.fields for one in read(text.encode()).models] == [
        {"r_square": None},
        {"r_square": None},
    ]


@pytest.mark.parametrize("compress", [lambda data: data, zlib.compress, gzip.compress])
def test_plain_compressed_and_stored_objects_are_read(tmp_path: Path, compress):
    text = json.dumps(document(resources=CALLS)).encode()
    plain = formats.decode(text, "a.json")
    for name, content in (
        ("a.json", text),
        ("a.perf", text),
        ("f2b4bfa06f6b", b"profile mixed %d\0%s" % (len(text), text)),
    ):
        path = tmp_path / name
        path.write_bytes(compress(content))
        assert format_of(path) == "perun"
        assert formats.read(path).resources == plain.resources


def row(**parts: object) -> dict[str, Any]:
    return document(resources=[call(1) | parts])


@pytest.mark.parametrize("empty", ["", None, {}, []])
def test_parameters_may_be_empty_in_any_way(empty):
    found = document(
        resources=CALLS,
        postprocessors=[{"name": "normalizer", "params": empty}],
        models="",
        snapshots="",
    )
    found["collector_info"] = {"name": "time", "params": empty}
    found["header"]["params"] = empty
    profile = read(found)
    assert profile.postprocessors == [Processed("normalizer", {})]
    assert profile.environment.notes == {}


def test_parameters_that_are_no_object_are_kept():
    profile = read(document(resources=CALLS, postprocessors=[{"name": "filter", "params": "-d 2"}]))
    assert profile.postprocessors == [Processed("filter", {"params": "-d 2"})]
    assert (
        read(document(resources=CALLS) | {"header": {"args": {"threads": 2}}}).job.args
        == '{"threads":2}'
    )


@pytest.mark.parametrize(
    ("amounts", "units", "unit", "values"),
    [
        (["0.616s", "0.45"], {}, "s", [0.616, 0.45]),
        (["0.45", 0.5, None, ""], {}, "us", [0.45, 0.5, None, None]),
        (["1.5ms", " 2 ms "], {}, "ms", [1.5, 2.0]),
        (["1.5ms", "2s"], {}, "s", [0.0015, 2.0]),
        (["1.5ms", "2s", "7"], {"mixed(time delta)": "us"}, "us", [1500.0, 2e6, 7.0]),
        (["1e3", "-.5", "+2."], {}, "us", [1000.0, -0.5, 2.0]),
        (["3 parsecs"], {}, "parsecs", [3.0]),
    ],
)
def test_amounts_may_be_texts_with_or_without_a_unit(amounts, units, unit, values):
    found = document(resources=[call(amount, 1) for amount in amounts])
    found["header"]["units"] = units
    profile = read(found)
    assert profile.metrics["duration"].unit == unit
    assert profile.resources.metrics["duration"] == pytest.approx(values)


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "s", "ms", "µs", " kB", "%"]),
)
def test_a_number_that_is_written_is_read(value, unit):
    assert written(f"{value!r}{unit}") == (value, unit.strip())


@given(
    st.text() | st.from_regex(r"[-+0-9.eE_ a-z]{0,450}") | st.integers() | st.none() | st.booleans()
)
def test_whatever_is_written_is_a_finite_number_or_none(value):
    found = written(value)
    assert found is None or (abs(found.value) < float("inf") and len(found.unit) <= 32)


def test_other_numbers_may_be_texts_too():
    frame = {"function": "malloc", "source": "list.c", "line": "22"}
    profile = read(
        document(
            resources=[
                call(1, "10", order="1", exclusive="0.5", trace=[frame], iteration=3.0),
                call(2, "", trace=""),
            ]
        )
    )
    rows = profile.resources
    assert (rows.size, rows.execution, rows.iteration) == ([10.0, None], [1, 0], [3, 0])
    assert rows.metrics["exclusive"] == [0.5, None]
    assert profile.stacks == Stacks(["malloc (list.c:22)"], [[0]])


def test_rows_without_a_uid_are_those_of_the_whole_program():
    rows = [
        {"amount": "0.616s", "type": "time"},
        {"amount": "0.45", "type": "time", "uid": None},
        call(1, 1, 7),
    ]
    profile = read(document(resources=rows))
    assert [profile.resources.names[code] for code in profile.resources.uid] == [
        "list",
        "list",
        "7",
    ]
    assert read(document(resources=rows[:1]), name="nightly").resources.names == ["nightly"]


def columns(value: object, about: object = None) -> dict[str, Any]:
    return document(resources={"f#0": value}, resource_type_map={"f#0": about or {"uid": "f"}})


@each(
    "found message",
    [
        ([], "$ is not an object"),
        ({}, "no resources"),
        (document(), "no resources"),
        (document(resources={}), "no resources"),
        (columns({}), "no resources"),
        (document(resources=3), "$.resources is not a list"),
        (document(resources=[3]), "$.resources[0] is not an object"),
        (document(snapshots={"a": 1}), "$.snapshots is not a list"),
        (document(snapshots=[1]), "$.snapshots[0] is not an object"),
        (document(resources=[{"uid": "f"}]), "no amount"),
        (row(amount="fast"), "$.resources[0].amount is not a finite number"),
        (row(amount=True), "$.resources[0].amount is not a finite number"),
        (row(amount=10**400), "$.resources[0].amount is not a finite number"),
        (
            document(resources=[call(1), call(2, "x")]),
            "$.resources[1].structure-unit-size is not a finite number",
        ),
        (
            document(snapshots=[{"resources": [call(1)]}, {"resources": [call([])]}]),
            "$.snapshots[1].resources[0].amount",
        ),
        (row(uid=[1]), "$.resources[0].uid is not a text"),
        (
            row(amount="0.6 parsecs"),
            "$.resources[0].amount is in `parsecs`, and the metric in `ms`",
        ),
        (row(amount="1e999"), "$.resources[0].amount is not a finite number"),
        (row(amount="1_0"), "$.resources[0].amount is not a finite number"),
        (row(amount="9" * 500), "$.resources[0].amount is not a finite number"),
        (
            document(resources=[call(1, "2 kB")]),
            "$.resources[0].structure-unit-size is not a finite number",
        ),
        (row(order="-1"), "$.resources[0].order is not an integer"),
        (row(uid="x" * 10_001), "$.resources[0].uid is not a text"),
        (
            row(uid={"function": "f" * 9_999, "source": "s", "line": 5}),
            "$.resources[0].uid is longer",
        ),
        (row(uid={"function": 3}), "$.resources[0].uid is not a text"),
        (row(type=3), "$.resources[0].type is not a text"),
        (row(trace=3), "$.resources[0].trace is not a list"),
        (row(trace=[3]), "$.resources[0].trace is neither"),
        (row(order=-1), "$.resources[0].order is not an integer"),
        (row(order=MAX_INTEGER + 1), "$.resources[0].order is not an integer"),
        (row(iteration=0.5), "$.resources[0].iteration is not an integer"),
        (
            document(resources=[call(1, row=0), call(2, row=0)]),
            "$.resources[1].row has a second amount",
        ),
        (
            document(resources=[{str(number): 1 for number in range(1001)}]),
            "1,001 different fields",
        ),
        (
            columns({"amount": [1], "address": []}),
            '$.resources["f#0"].address has 0 values, others have 1',
        ),
        (columns({"amount": 3}), '$.resources["f#0"].amount is not a list'),
        (columns([]), '$.resources["f#0"] is not an object'),
        (columns({"amount": [1, "x"]}), '$.resources["f#0"].amount[1] is not a finite number'),
        (columns({"amount": [1]}, 3), '$.resource_type_map["f#0"] is not an object'),
        (
            document(resources={"f#0": {"amount": [1]}}),
            '$.resources["f#0"] is not in $.resource_type_map',
        ),
        (document(resources=CALLS) | {"origin": "HEAD"}, "$.origin is not a full commit id"),
        (document(resources=CALLS) | {"header": 3}, "$.header is not an object"),
        (document(resources=CALLS) | {"header": {"cmd": {"a": 1}}}, "$.header.cmd is not a text"),
        (document(resources=CALLS, models=3), "$.models is not a list"),
        (document(resources=CALLS, models=[3]), "$.models[0] is not an object"),
        (document(resources=CALLS, postprocessors=[3]), "$.postprocessors[0] is not an object"),
        (document(resources=CALLS, collector_info=[]), "$.collector_info is not an object"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"a": NaN, "b": ' + b"9" * 10_000 + b"}", "out of range"),
        (b'{"a": NaN, "b": ', "it was cut off: copy it again"),
        (b'{"a": NaN, "b": ' + b"[" * 100_000, "nested too deep"),
        (b'{"resources": [{"amount": 1e999, "uid": "f"}]}', "out of range"),
        (b"{'a'", "malformed"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(found, message):
    with pytest.raises(Malformed) as caught:
        read(found)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_much_is_refused(monkeypatch):
    monkeypatch.setattr("perfvcs.formats._fields.MAX_ROWS", 2)
    with pytest.raises(Malformed, match="3 resources, over the limit"):
        read(document(resources=CALLS))
    monkeypatch.setattr("perfvcs.formats._amounts.MAX_STACKS", 5)
    with pytest.raises(Malformed, match="traces have over"):
        read(row(trace=["a long name"]))


def test_of_a_field_that_is_there_twice_the_last_counts():
    assert read(b'{"resources": [{"amount": 1, "amount": 2, "uid": "f"}]}').resources.metrics == {
        "mixed": [2.0]
    }


def test_less_is_better_unless_an_option_says_otherwise():
    assert read(document(resources=CALLS), better={"duration": "higher"}).metrics == {
        "duration": Metric("ms", "higher")
    }
    with pytest.raises(Malformed, match="no metric `wall`: there are duration"):
        read(document(resources=CALLS), better={"wall": "higher"})


# writing


def rows(profile: Profile) -> list[tuple[Any, ...]]:
    found = profile.resources
    size = found.size or [None] * len(found)
    numbers = [found.integers(name) for name in ("execution", "iteration", "binary", "mark")]
    names = [found.names[code] for code in found.uid]
    stacks = profile.stacks or Stacks([], [])
    traces = [
        [stacks.frames[frame] for frame in stacks.stacks[code]] if code >= 0 else []
        for code in found.integers("trace")
    ]
    return list(
        zip(
            names,
            size,
            *numbers,
            traces,
            *(found.metrics[name] for name in profile.metrics),
            strict=True,
        )
    )


def test_the_rows_are_those_of_the_classic_form():
    written = json.loads(Perun().encode(sample_profile()))
    assert written["origin"] == sample_profile().commit
    assert written["header"]["units"] == {"time(wall)": "s"}
    assert written["header"]["type"] == "time"
    assert written["global"]["resources"][1] == {
        "amount": 0.011,
        "type": "time",
        "subtype": "wall",
        "uid": "sort",
        "order": 1,
    }


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    count = draw(st.integers(1, 6))
    text = st.text(st.characters(codec="utf-8"), max_size=10) | st.sampled_from(
        ["f (a.c:1)", "f (a.c:01)", "f (unreachable:0)", "f (:0)"]
    )
    uids = draw(st.lists(text, min_size=count, max_size=count))
    names = list(dict.fromkeys(uids))
    frames = draw(st.lists(text, min_size=1, max_size=3, unique=True))
    stack = st.lists(st.integers(0, len(frames) - 1), min_size=1, max_size=4)
    integers = st.lists(st.integers(0, MAX_INTEGER), min_size=count, max_size=count)
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    values = st.lists(numbers | st.none(), min_size=count, max_size=count)
    units = st.sampled_from(["s", "ms", "B", "MiB", "1/s", ""])
    about = st.builds(
        Metric,
        units,
        st.sampled_from(["lower", "higher", "none"]),
        st.sampled_from(["sampled", "deterministic"]),
    )
    metrics = draw(
        st.dictionaries(
            st.sampled_from(["wall", "cpu", "snapshot", "time", "row"]), about, min_size=1
        )
    )
    resources = Resources(
        names=names,
        uid=[names.index(uid) for uid in uids],
        execution=draw(integers),
        iteration=draw(st.none() | integers),
        mark=draw(st.none() | integers),
        binary=draw(st.none() | integers),
        size=draw(st.none() | values),
        trace=draw(st.lists(st.integers(-1, 0), min_size=count, max_size=count)),
        metrics={name: draw(values) for name in metrics},
    )
    return sample_profile(
        metrics=metrics, resources=resources, stacks=Stacks(frames, [draw(stack)])
    )


@pytest.mark.slow
@given(profiles())
def test_what_is_written_is_read_again(profile):
    again = read(Perun().encode(profile))
    assert {
        name: again.metrics[name]
        for name in profile.metrics
        if any(v is not None for v in profile.resources.metrics[name])
    } == {
        name: about
        for name, about in profile.metrics.items()
        if any(v is not None for v in profile.resources.metrics[name])
    }
    for name, values in profile.resources.metrics.items():
        again.resources.metrics.setdefault(name, [None] * len(values))
    ordered = Profile(
        **{field: getattr(again, field) for field in again.__struct_fields__}
        | {"metrics": profile.metrics}
    )
    assert rows(ordered) == rows(profile)


def test_a_name_that_is_no_unicode_cannot_be_written():
    profile = sample_profile()
    profile.resources.names[0] = "\udcff"
    with pytest.raises(Malformed, match="not UTF-8"):
        Perun().encode(profile)
