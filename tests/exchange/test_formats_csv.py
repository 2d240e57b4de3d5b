"""Tables as profiles, and profiles as tables."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from samples import format_of, sample_profile

from perfvcs import formats
from perfvcs.errors import UsageError
from perfvcs.formats import UnreadableFile, read
from perfvcs.formats._foreign import counted, grouped
from perfvcs.formats._metric import described, usable
from perfvcs.formats._table import BATCH
from perfvcs.formats.csv import Csv
from perfvcs.profile import Metric, Profile, Resources
from perfvcs.profile.validity import METRIC_NAME, RESERVED, Malformed


def table(text: str, **options: Any) -> Profile:
    return Csv(**options).decode(text.encode(), "results")


def rows(profile: Profile) -> list[tuple[Any, ...]]:
    """The rows with everything that a table holds."""
    found = profile.resources
    size = found.size or [None] * len(found)
    numbers = [found.integers(name) for name in ("execution", "iteration", "binary", "mark")]
    names = [found.names[code] for code in found.uid]
    return list(
        zip(names, size, *numbers, *(found.metrics[name] for name in profile.metrics), strict=True)
    )


def test_a_wide_table_has_a_column_per_metric():
    profile = table(
        "uid,size,execution,wall [ms],rate [1/s higher]\nsort,10,0,1.5,7\nsort,10,1,1.6,\n"
    )
    assert profile.metrics == {"wall": Metric("ms"), "rate": Metric("1/s", "higher")}
    assert rows(profile) == [
        ("sort", 10.0, 0, 0, 0, 0, 1.5, 7.0),
        ("sort", 10.0, 1, 0, 0, 0, 1.6, None),
    ]
    assert profile.job.name == "results"
    assert profile.job.collector == "import"
    assert profile.design.executions == 2
    assert profile.commit == formats.UNKNOWN


def test_a_long_table_has_a_row_per_value():
    profile = table(
        "uid,size,execution,metric,value,unit,better\n"
        "a,1,0,wall,1.5,s,\na,1,0,rate,7,1/s,higher\nb,1,0,rate,8,1/s,higher\na,1,1,wall,2,s,\na,1,1,wall,3,s,\n"
    )
    assert profile.metrics == {"wall": Metric("s"), "rate": Metric("1/s", "higher")}
    assert rows(profile) == [
        ("a", 1.0, 0, 0, 0, 0, 1.5, 7.0),
        ("b", 1.0, 0, 0, 0, 0, None, 8.0),
        ("a", 1.0, 1, 0, 0, 0, 2.0, None),
        ("a", 1.0, 1, 0, 0, 0, 3.0, None),
    ]


def test_without_a_column_of_executions_every_repetition_is_one():
    assert table("uid,wall\na,1\nb,2\na,3\n").resources.execution == [0, 0, 1]
    assert table("uid,n,wall\na,1,1\na,2,2\na,1,3\n").resources.execution == [0, 0, 1]
    assert table("uid,iteration,wall\na,0,1\na,1,2\na,0,3\n").resources.execution == [0, 0, 1]
    assert table("uid,metric,value\na,wall,1\na,cpu,2\na,wall,3\n").resources.execution == [0, 1]


@pytest.mark.parametrize("word", ["", "NA", "n/a", "nan", "NaN", "null", "None"])
def test_words_for_no_value_are_empty_cells(word):
    assert table(f"uid,wall\na,{word}\nb,2\n").resources.metrics["wall"] == [None, 2.0]


def test_whole_numbers_may_be_written_as_decimals():
    assert table("uid,execution,wall\na,1.0,5\na,2.0,6\n").resources.execution == [1, 2]
    with pytest.raises(Malformed, match="not an integer"):
        table("uid,execution,wall\na,1.5,5\n")


def test_without_a_column_of_units_the_job_is_the_unit():
    assert table("wall\n1\n2\n", name="sort").resources.names == ["sort"]


@pytest.mark.parametrize("title", ["uid", "Function", "BENCHMARK", "test", "name"])
def test_columns_are_known_by_their_titles(title):
    assert table(f"{title},wall\na,1\n").resources.names == ["a"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found_out(delimiter):
    text = (
        'uid,"wall, all [ms]",n\na,1.5,10\n'.replace(",w", f"{delimiter}w")
        .replace(',"', f'{delimiter}"')
        .replace('",', f'"{delimiter}')
    )
    text = text.replace("a,1.5,10", delimiter.join(("a", "1.5", "10")))
    assert rows(table(text)) == [("a", 10.0, 0, 0, 0, 0, 1.5)]


def test_any_delimiter_can_be_named():
    assert rows(table("uid|wall\na,b|1\n", delimiter="|")) == [("a,b", None, 0, 0, 0, 0, 1.0)]


def test_a_byte_order_mark_and_other_line_ends_do_not_matter():
    assert rows(Csv().decode(b"\xef\xbb\xbfuid,wall\r\na,1\r\n\r\nb,2\r\n")) == [
        ("a", None, 0, 0, 0, 0, 1.0),
        ("b", None, 0, 0, 0, 0, 2.0),
    ]


def test_options_say_which_column_is_what():
    profile = table(
        "what,n,run,ms,date\nsort,5,3,1.5,monday\n",
        name="nightly",
        uid="what",
        size="n",
        metrics=["ms"],
        unit={"ms": "ms"},
        better={"ms": "none"},
        kind={"ms": "deterministic"},
        started="2026-11-20T09:30:00Z",
    )
    assert rows(profile) == [("sort", 5.0, 3, 0, 0, 0, 1.5)]
    assert profile.metrics == {"ms": Metric("ms", "none", "deterministic")}
    assert profile.job.name == "nightly"
    assert profile.collected.started == "2026-11-20T09:30:00Z"


def test_a_column_that_an_option_calls_a_metric_is_none_of_the_known_ones():
    assert set(table("uid,n,wall\na,1,2\n", metrics=["n", "wall"]).metrics) == {"n", "wall"}
    assert set(table("uid,date,wall\na,today,2\n", ignore=["date"]).metrics) == {"wall"}
    assert set(table("uid,date,metric,value\na,x,wall,2\n", ignore=["date"]).metrics) == {"wall"}


def test_names_of_columns_become_names_of_metrics():
    assert list(table("uid,time delta (us),99 %,trace\na,1,2,3\n").metrics) == [
        "time_delta",
        "m_99",
        "trace_",
    ]
    assert table("uid,time delta (us)\na,1\n").metrics["time_delta"].unit == "us"


def test_long_names_that_begin_alike_stay_apart():
    names = list(table(f"uid,{'a' * 70}1,{'a' * 70}2\na,1,2\n").metrics)
    assert len(set(names)) == 2
    assert all(METRIC_NAME.fullmatch(name) for name in names)


@pytest.mark.slow
@given(st.text(max_size=200))
def test_every_name_becomes_one_that_a_metric_can_have(name):
    found = usable(name)
    assert METRIC_NAME.fullmatch(found)
    assert found not in RESERVED
    assert usable(found) == found


@each(
    "text message",
    [
        ("", "the table is empty"),
        ("\n\n", "the table is empty"),
        ("uid,wall\n", "no rows below its heading"),
        ("uid,wall\na,x\n", "line 2, column `wall`: `x` is not a number"),
        ("uid,wall\na,1e999\n", "line 2, column `wall`: `1e999` is not a finite number"),
        ("uid,wall\na,1\nb,-inf\n", "line 3, column `wall`"),
        ("uid,wall\na,1_0\n", "line 2, column `wall`"),
        ("uid;wall\na;1,5\n", "decimals are written with a point"),
        ('uid,wall\n"a\nb",1\n\nc,?\n', "line 5, column `wall`"),
        ("uid,wall,wall\na,1,2\n", "line 1, the column `wall` is there twice"),
        ("uid\na\n", "no column holds values"),
        ("uid,execution,wall\na,-1,2\n", "line 2, column `execution`: `-1` is not an integer"),
        ("uid,execution,wall\na,1.5,2\n", "line 2, column `execution`: `1.5` is not an integer"),
        ("uid,execution,wall\na,0,2\na,x,2\n", "line 3, column `execution`: `x` is not an integer"),
        ("uid,execution,wall\na,1_0,2\n", "line 2, column `execution`: `1_0` is not an integer"),
        (f"uid,execution,wall\na,{2**63},2\n", "line 2, column `execution`"),
        (f"uid,execution,wall\na,{'9' * 5000},2\n", "line 2, column `execution`"),
        ("uid,wall\na,1,2\n", "line 2, it has 3 cells, the heading has 2"),
        ("uid,wall\na,1\nb\n", "line 3, it has 1 cells"),
        ('uid,wall\n"a,1\n', "line 2: unexpected end"),
        ("uid,wall\n" + "a" * 200_000 + ",1\n", "line 2: field larger than"),
        ("uid,a b,a_b\na,1,2\n", "would both be the metric `a_b`"),
        ("uid,metric,value,when\na,x,1,y\n", "the column `when` is not used"),
        ("uid,metric,value,unit\na,x,1,s\na,x,2,ms\n", "column `unit`: a metric has several"),
        (
            "uid,wall,kind\na,1,2\n" * 0 + "uid," + ",".join(f"c{n}" for n in range(1001)) + "\n",
            "1,002 columns, over the limit",
        ),
    ],
)
def test_what_is_wrong_in_a_table_is_reported_with_its_place(text, message):
    with pytest.raises(Malformed) as caught:
        table(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_place_far_down_is_reported_too():
    lines = ["uid,wall", *(f"a,{number}" for number in range(2 * BATCH)), "a,x"]
    with pytest.raises(Malformed, match=f"line {2 * BATCH + 2}, column"):
        table("\n".join(lines))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"uid": "nmae"}, "no column `nmae`; did you mean `name`"),
        ({"metrics": ["wal"]}, "no column `wal`; did you mean `wall`"),
        ({"unit": {"x": "s"}}, "no column `x`"),
        ({"ignore": ["x"]}, "no column `x`"),
        ({"better": {"wall": "faster"}}, "metric's description is wrong"),
    ],
)
def test_an_option_that_does_not_fit_the_table_is_reported(options, message):
    with pytest.raises(Malformed, match=message):
        table("name,wall\na,1\n", **options)


@pytest.mark.parametrize(
    "options", [{"delimiter": ";;"}, {"delimiter": '"'}, {"started": "yesterday"}]
)
def test_an_option_that_makes_no_sense_is_refused(options):
    with pytest.raises(UsageError):
        Csv(**options)


def test_a_table_that_is_no_text_is_refused(monkeypatch):
    with pytest.raises(Malformed, match="line 3 is not UTF-8"):
        Csv().decode(b"uid,wall\na,1\n\xff,1\n")
    monkeypatch.setattr("perfvcs.formats._foreign.MAX_FOREIGN", 10)
    with pytest.raises(Malformed, match="over the limit"):
        Csv().decode(b"uid,wall\nabc,1\n")


def test_more_rows_than_a_profile_holds_are_refused(monkeypatch):
    monkeypatch.setattr("perfvcs.formats._table.MAX_ROWS", 2)
    with pytest.raises(Malformed, match="over 2 rows"):
        table("uid,wall\na,1\na,2\na,3\n")


def test_a_table_is_known_by_its_suffix(tmp_path: Path):
    path = tmp_path / "results.csv.gz"
    path.write_bytes(gzip.compress(b"uid,wall [s]\na,1\n"))
    assert format_of(path) == "csv"
    profile = formats.read(path)
    assert profile.job.name == "results"
    assert rows(profile) == [("a", None, 0, 0, 0, 0, 1.0)]
    path.rename(tmp_path / "results")
    with pytest.raises(UnreadableFile):
        formats.read(tmp_path / "results")


def test_the_same_file_is_the_same_profile():
    assert table("uid,wall\na,1\n").encode() == table("uid,wall\na,1\n").encode()
    assert table("uid,wall\na,1\n").encode() != table("uid,wall\na,2\n").encode()


TEXTS = st.sampled_from(["a", "b", ""])
INTEGERS = st.sampled_from([0, 1, 2**30, 2**31 - 1, 2**31, 2**63 - 1])
NUMBERS = st.sampled_from([None, 0.0, -0.0, 1.5, 1e300])


@given(st.lists(st.tuples(TEXTS, INTEGERS, INTEGERS, INTEGERS, NUMBERS), min_size=1, max_size=12))
def test_rows_are_grouped_and_counted_as_they_come(table):
    groups = {row: number for number, row in enumerate(dict.fromkeys(table))}
    keys = grouped(list(zip(*table, strict=True)))
    assert keys.tolist() == [groups[row] for row in table]
    assert counted(keys).tolist() == [table[:place].count(row) for place, row in enumerate(table)]


NAME = (
    st.from_regex(METRIC_NAME, fullmatch=True)
    | st.sampled_from(["n", "name", "metric", "value", "unit"])
).filter(lambda name: name not in RESERVED)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
UNIT = st.text(st.characters(codec="utf-8", exclude_characters="[]"), max_size=10).map(
    str.strip
) | st.sampled_from(["none", "a none"])
METRIC = st.builds(
    Metric,
    UNIT,
    st.sampled_from(["lower", "higher", "none"]),
    st.sampled_from(["sampled", "deterministic"]),
)
FORMULA = st.from_regex(r"'{0,3}[-=+@\t\r\n]?[a-z=']{0,5}", fullmatch=True)
UID = (
    st.text(st.characters(codec="utf-8"), max_size=20)
    | FORMULA
    | st.sampled_from(["=cmd()", 'a,"b"', "a\r\nb", "\r", "a;b\t"])
)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    count = draw(st.integers(1, 6))
    uids = draw(st.lists(UID, min_size=count, max_size=count))
    names = list(dict.fromkeys(uids))
    integers = st.lists(st.integers(0, 2**63 - 1), min_size=count, max_size=count)
    values = st.lists(NUMBER | st.none(), min_size=count, max_size=count)
    metrics = draw(st.dictionaries(NAME, METRIC, min_size=1, max_size=3))
    resources = Resources(
        names=names,
        uid=[names.index(uid) for uid in uids],
        execution=draw(integers),
        iteration=draw(st.none() | integers),
        binary=draw(st.none() | integers),
        mark=draw(st.none() | integers),
        size=draw(st.none() | values),
        metrics={name: draw(values) for name in metrics},
    )
    return sample_profile(metrics=metrics, resources=resources)


@pytest.mark.slow
@given(profiles(), st.sampled_from(["", ";", "\t"]), st.sampled_from(["quote", "keep"]))
def test_what_is_written_is_read_again(profile, delimiter, formulas):
    again = Csv(formulas=formulas).decode(
        Csv(delimiter=delimiter, formulas=formulas).encode(profile)
    )
    assert rows(again) == rows(profile)
    assert again.metrics == profile.metrics


def test_a_name_that_is_no_unicode_cannot_be_written():
    profile = sample_profile()
    profile.resources.names[0] = "\udcff"
    with pytest.raises(Malformed, match="not UTF-8"):
        Csv().encode(profile)


@pytest.mark.parametrize(
    "name", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1"]
)
def test_a_spreadsheet_takes_no_unit_for_a_formula(name):
    profile = Csv().decode(b"uid,wall\nx,-1\n")
    profile.resources.names[:] = [name]
    (_, row) = list(csv.reader(io.StringIO(Csv().encode(profile).decode(), newline="")))
    assert row == [f"'{name}", "0", "-1.0"]  # numbers are numbers
    (_, row) = list(
        csv.reader(io.StringIO(Csv(formulas="keep").encode(profile).decode(), newline=""))
    )
    assert row[0] == name


def test_an_apostrophe_that_somebody_else_wrote_before_a_formula_is_taken_away_too():
    table = b"uid,wall\n'=a,1\n'b,2\n''-c,3\n"
    assert Csv().decode(table).resources.names == ["=a", "'b", "'-c"]
    assert Csv(formulas="keep").decode(table).resources.names == ["'=a", "'b", "''-c"]


def test_formulas_are_quoted_or_kept_and_nothing_else(tmp_path):
    written = tmp_path / "a.csv"
    written.write_text("uid,wall\na,1\n")
    with pytest.raises(UsageError, match="formulas is"):
        read(written, "csv", {"formulas": "drop"})


@pytest.mark.parametrize(
    "title",
    [
        "[" * 9999,
        "(" * 9999,
        "x[" * 4999,
        " " * 9998 + "x",
        "x" + " [" * 4999,
        "x" + "()" * 4999,
        "x (" + " " * 9990,
    ],
    ids=lambda title: title[:4],
)
def test_a_title_costs_no_time_that_grows_with_its_square(title):
    """Each took minutes while a pattern tried every bracket as the first; it is the test's own time
    that would show it.
    """
    for text in (title, title * 26):
        try:
            Csv().decode(f'uid,"{text}"\na,1\n'.encode())
        except Malformed as error:
            assert len(text) > 10_000 or "metric" in str(error)


def test_a_title_has_at_most_so_many_characters():
    with pytest.raises(Malformed, match="line 1, the title of column 2 has over 10,000 characters"):
        Csv().decode(b"uid," + b"x" * 10_001 + b"\na,1\n")


@each(
    "title name unit",
    [
        ("a [b]", "a", "b"),
        ("[a] [b]", "[a]", "b"),
        (" [a] ", "[a]", None),
        ("a[b]c", "a[b]c", None),
        ("a [b] (c)", "a [b]", "c"),
        ("a (b (c)", "a (b", "c"),
        ("a (b) c)", "a (b) c)", None),
        ("a [b (c)]", "a", "b (c)"),
        ("(a)", "(a)", None),
        ("a []", "a", ""),
        ("a [b [c]]", "a", "b [c]"),
    ],
)
def test_brackets_at_the_end_of_a_title_say_what_it_is(title, name, unit):
    found, about = described(title)
    assert found == name
    assert (about.unit if about else None) == unit
