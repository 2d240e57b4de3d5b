"""Lines of text, read by a regular expression."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from cases import each
from conftest import Perf, Project

from perfvcs import formats
from perfvcs.errors import UsageError
from perfvcs.formats import NoResults, log
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed

LINE = r"(?P<name>\w+): (?P<value>\S+) (?P<unit>\S+)"


def read(text: str | bytes, regex: str, **options: str) -> Profile:
    document = text.encode() if isinstance(text, str) else text
    return formats.decode(document, "run.txt", "log", {"regex": regex, **options})


def judged(profile: Profile) -> Mapping[str, tuple[str, str]]:
    return {name: (about.unit, about.better) for name, about in profile.metrics.items()}


def test_lines_that_match_are_values_and_repeated_ones_iterations() -> None:
    profile = read("begin\nsort: 12 ms\nmerge: 3 ms\r\nsort: 14 ms", LINE)
    rows = profile.resources
    assert [rows.names[code] for code in rows.uid] == ["sort", "sort", "merge"]
    assert rows.metrics == {"wall": [0.012, 0.014, 0.003]}
    assert rows.iteration == [0, 1, 0]
    assert profile.design.executions == 1
    assert profile.job.name == "log"


@each(
    "unit metric base better",
    [
        ("us", "wall", "s", "lower"),
        ("ns/op", "wall", "s", "lower"),
        ("MB/s", "rate_B", "B/s", "higher"),
        ("req/sec", "rate_req", "req/s", "higher"),
        ("kB", "value_B", "B", "none"),
        ("points", "value_points", "points", "none"),
    ],
)
def test_a_unit_says_which_direction_is_better_or_nothing(
    unit: str, metric: str, base: str, better: str
) -> None:
    assert judged(read(f"a: 7 {unit}\n", LINE)) == {metric: (base, better)}


def test_commas_between_thousands_are_read_where_they_can_be_nothing_else() -> None:
    amount = r"(?P<name>\w): (?P<value>[\d.,]+) (?P<unit>ms)"
    rows = read("a: 1,234.5 ms\nb: 12,345,678 ms\n", amount).resources
    assert rows.metrics == {"wall": [1.2345, 12345.678]}
    with pytest.raises(Malformed, match="line 1: its value `1,234` is not a number"):
        read("a: 1,234 ms\n", amount)


def test_what_the_text_does_not_say_is_an_option() -> None:
    bare = r"(?P<value>\d+)"
    assert judged(read("7\n", bare)) == {"value": ("", "none")}
    assert judged(read("7\n", bare, unit="ms")) == {"wall": ("s", "lower")}
    assert judged(read("7\n", bare, better="higher")) == {"value": ("", "higher")}


def test_metrics_of_a_name_stand_in_one_row_and_a_size_beside_it() -> None:
    text = "sort 100 time=3 ms\nsort 100 heap=5 kB\nsort 200 time=7 ms\n"
    profile = read(
        text, r"(?P<name>\w+) (?P<size>\d+) (?P<metric>\w+)=(?P<value>\d+) (?P<unit>\w+)"
    )
    assert profile.resources.size == [100.0, 200.0]
    assert profile.resources.metrics == {"time": [0.003, 0.007], "heap": [5000.0, None]}


@each(
    "text regex message",
    [
        ("a: 1.2.3 ms\n", LINE, "line 1: its value `1.2.3` is not a number"),
        ("\na: nan ms\n", LINE, "line 2: its value `nan` is not a number"),
        ("x 1 s\nx 2 kB\n", r"(?P<metric>x) (?P<value>\d) (?P<unit>\w+)", "line 2: `x` is in `B`"),
        ("7\n", r"(?P<value>7)(?P<size>)", "line 1: its size `` is not a number"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, regex: str, message: str) -> None:
    with pytest.raises(Malformed, match=r"run\.txt: ") as refused:
        read(text, regex)
    assert message in str(refused.value)


@each(
    "regex message",
    [
        ("(", "is not a regular expression"),
        (r"(?P<value>x){99999999999}", "is not a regular expression"),
        (r"\d+", "no group for the value"),
        (r"(?P<value>\d)(?P<nam>x)", "did you mean `name`"),
        ("x" * 10_001, "over 10,000 characters"),
    ],
)
def test_an_expression_that_cannot_work_is_refused(regex: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        read("7\n", regex)


@pytest.mark.slow
def test_an_expression_whose_time_explodes_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "SEARCH_SECONDS", 1.0)
    began = time.monotonic()
    with pytest.raises(Malformed, match=r"run\.txt: the expression takes over 1 s: repeat nothing"):
        read("a" * 60 + "!\n", r"(?P<value>(a+)+)$")
    assert time.monotonic() - began < 60


def test_lines_and_matches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Malformed, match="line 2 has over 1,048,576 bytes"):
        read("7\n" + "7" * ((1 << 20) + 1), r"(?P<value>7)")
    monkeypatch.setattr(log, "MOST_MATCHES", 5000)
    with pytest.raises(Malformed, match="over 5,000 matches"):
        read("7" * 10_000, r"(?P<value>7)")


def test_bytes_that_are_not_utf_8_and_names_of_any_kind_are_kept() -> None:
    profile = read(
        b"\xff \"a b\": 1 s\n'\t\x1b[1mc': 2 s\n", r"""["'](?P<name>.*)["']: (?P<value>\d) s"""
    )
    assert profile.resources.names == ["a b", "\t\x1b[1mc"]
    profile.encode()


def test_a_text_without_a_match_or_an_expression_has_no_results() -> None:
    with pytest.raises(NoResults, match="no line matches"):
        read("nothing here\n", LINE)
    with pytest.raises(Malformed, match="--regex"):
        formats.decode(b"7\n", "run.txt", "log")


def test_an_expression_on_the_command_line_chooses_the_format(project: Project, perf: Perf) -> None:
    project.commit()
    Path("run.txt").write_text("sort: 12 ms\n")
    assert perf("import", "run.txt", "--regex", LINE).out.startswith("stored 1 profile\n")
    said = perf("import", "run.txt", "--regex", LINE, "--format", "csv", code=2).err
    assert "--regex reads lines of text" in said
