"""Files of other tools, as these wrote them (tests/data/formats says how): what is read of each, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import ROOT, TESTS, Project, Said

from perfvcs import formats
from perfvcs.errors import PerfError
from perfvcs.profile import Profile
from perfvcs.validity import MAX_NAME, Malformed

Perf = Callable[..., Said]
FOLDER = TESTS / "data" / "formats"
Value = float | None


@dataclass(frozen=True)
class Sample:
    """A file, and what is in it: the number of rows and executions, some values in the order of the rows, and the metrics' units.

    A unit ends with ``+`` where more is better, with ``?`` where nobody says. ``text``: it has no end by which one could see that it
    was cut off.
    """

    format: str
    rows: int
    executions: int
    values: Mapping[tuple[str, float | None, str], list[Value]]
    units: Mapping[str, str]
    text: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    started: str = ""


SAMPLES = {
    "pytest-benchmark.json": Sample(
        "pytest-benchmark", 22, 1,
        {
            ("test_sort.py::test_sort", 100.0, "wall"): [
                2.3775501176714897e-06, 1.9804498151643203e-06, 1.971950041479431e-06, 1.971950041479431e-06,
                1.9688999600475653e-06, 1.9664501451188697e-06,
            ],
        },
        {"wall": "s"},
        environment={"host": "lab", "python": "CPython 3.11.7"}, started="2026-11-23T10:38:57Z",
    ),
    "pyperf.json": Sample(
        "pyperf", 18, 3,
        {
            ("sum", None, "wall"): [
                6.764050488428097e-05, 5.8254174804872605e-05, 5.8153119628201466e-05, 5.566605419993209e-05, 4.963587060480279e-05,
                6.287132128868222e-05, 5.7400075682778606e-05, 6.136093017694577e-05, 4.8417107665343906e-05,
            ],
        },
        {"wall": "s"},
        environment={"host": "lab", "cpu": "AMD EPYC"}, started="2026-11-23T10:39:01Z",
    ),
    "hyperfine.json": Sample(
        "hyperfine", 8, 4,
        {
            ("seq {n}", 1000.0, "wall"): [0.007797832, 0.001043934, 0.0009536900000000001, 0.012436796],
            ("seq {n}", 100000.0, "user"): [0.0014954999999999999, None, None, None],
        },
        {"wall": "s", "user": "s?", "system": "s?"},
    ),
    "hyperfine.csv": Sample(
        "hyperfine", 2, 1,
        {("seq {n}", 1000.0, "wall"): [0.005558063], ("seq {n}", 1000.0, "wall.deviation"): [0.005594972273104368]},
        {"wall": "s", **dict.fromkeys(("wall.deviation", "wall.median", "wall.least", "wall.largest", "user", "system"), "s?")},
        text=True,
    ),
    "google-benchmark.json": Sample(
        "google-benchmark", 9, 1,
        {
            ("BM_Sort", 256.0, "wall"): [7.134100087569095e-07, 6.820150156272575e-07, 8.185700062313117e-07],
            ("BM_Fill threads=2", None, "cpu"): [3.9578999999999987e-08, 4.561799999999993e-08, 4.013999999999993e-08],
        },
        {"wall": "s", "cpu": "s", "bytes_per_second": "B/s+", "elements": "?"},
        environment={"host": "lab", "cpus": "2"}, started="2026-11-23T10:39:16Z",
    ),
    "go.txt": Sample(
        "go", 9, 1,
        {
            ("example.org/sorting.Sort cpus=2", 100.0, "wall"): [3.879e-06, 3.835e-06, 3.857e-06],
            ("example.org/sorting.Sort cpus=2", 1000.0, "allocated"): [8216.0] * 3,
            ("example.org/sorting.Copy cpus=2", None, "throughput"): [41905.67e6, 45376.66e6, 77757.39e6],
        },
        {"wall": "s", "allocated": "B/op", "allocs": "allocs/op", "throughput": "B/s+", "elements_per_op": "elements/op?"},
        text=True, environment={"goos": "linux", "cpu": "AMD EPYC"},
    ),
}  # fmt: skip
FILES = pytest.mark.parametrize("name", SAMPLES)


def values(profile: Profile, uid: str, size: float | None, metric: str) -> list[Value]:
    rows = profile.resources
    sizes = rows.size or [None] * len(rows)
    return [
        rows.metrics[metric][row] for row, code in enumerate(rows.uid) if rows.names[code] == uid and sizes[row] == size
    ]  # fmt: skip


def described(profile: Profile) -> dict[str, str]:
    marks = {"lower": "", "higher": "+", "none": "?"}
    return {name: about.unit + marks[about.better] for name, about in profile.metrics.items()}


def read_or_refused(document: bytes, name: str, format_name: str | None = None) -> list[Profile] | None:
    """The profiles, which can be stored; None where the document was refused as it should be."""
    try:
        found = list(formats.decode_all(document, name, format_name))
    except PerfError as error:
        assert "\n" not in str(error)
        assert name in str(error)
        assert error.exit_code in (2, 12)
        return None
    for profile in found:
        profile.encode()
    return found


def test_every_file_of_the_samples_is_tested() -> None:
    assert {path.name for path in FOLDER.iterdir()} - {"README.md"} == set(SAMPLES)


def test_every_format_has_a_page_that_the_contents_name() -> None:
    index = (ROOT / "docs" / "exchange.md").read_text()
    for name in {*formats.members("decode"), *formats.members("encode")} - {"csv", "perfvcs", "asv", "perun"}:
        page = ROOT / "docs" / "exchange" / f"{name}.md"
        assert page.read_text().startswith(f"# {page.read_text().split(': ', 1)[0][2:]}: `{name}`\n"), name
        assert f"(exchange/{name}.md)" in index, name


@FILES
def test_a_file_is_read_as_its_tool_means_it(name: str) -> None:
    sample, path = SAMPLES[name], FOLDER / name
    assert formats.guess(path) == sample.format
    profile = formats.read(path)
    assert formats.read(path, sample.format) == profile
    assert (len(profile.resources), profile.design.executions) == (sample.rows, sample.executions)
    for (uid, size, metric), expected in sample.values.items():
        assert values(profile, uid, size, metric) == expected
    assert described(profile) == sample.units
    assert sample.environment.items() <= profile.environment.fields.items()
    assert profile.collected.started == sample.started
    assert (profile.job.name, profile.job.engine) == (sample.format, sample.format)


@FILES
def test_a_file_is_imported_once(name: str, project: Project, perf: Perf) -> None:
    project.commit()
    assert perf("import", str(FOLDER / name), "--commit", "HEAD").out.splitlines()[0] == "stored 1 profile"
    Path("packed").write_bytes(gzip.compress((FOLDER / name).read_bytes()))
    assert perf("import", "packed", "--commit", "HEAD").out.splitlines()[0] == "stored 0 profiles, 1 already stored"


@FILES
def test_a_file_that_was_cut_off_is_refused_or_has_its_first_rows(name: str) -> None:
    sample, whole = SAMPLES[name], (FOLDER / name).read_bytes()
    names = formats.read(FOLDER / name).resources.names
    for end in range(0, len(whole.rstrip()) - 1, max(1, len(whole) // 97)):
        found = read_or_refused(whole[:end], name, sample.format)
        assert found is None or sample.text, whole[:end][-100:]
        for profile in found or ():
            assert len(profile.resources) <= sample.rows
            assert set(profile.resources.names) <= set(names)


@FILES
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1", "utf-8-sig"])
def test_a_file_in_another_encoding_is_refused_or_read(name: str, encoding: str) -> None:
    text = (FOLDER / name).read_text(errors="surrogateescape").replace("sort", "sört", 1)
    read_or_refused(text.encode(encoding, "replace"), name)
    read_or_refused(text.encode(encoding, "replace"), name, SAMPLES[name].format)


@FILES
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1", "1" * 400, '"12"', "null", "[]", "{}"])
def test_numbers_that_are_none_do_no_harm(name: str, number: str) -> None:
    """Each number of the file in turn, as far as there are not too many."""
    document = (FOLDER / name).read_text(errors="surrogateescape")
    places = [match.span() for match in re.finditer(r"-?\d+\.\d+(?:[eE][-+]?\d+)?|\b\d{3,}\b", document)]
    for start, end in places[:: max(1, len(places) // 25)]:
        changed = document[:start] + number + document[end:]
        read_or_refused(changed.encode(errors="surrogateescape"), name, SAMPLES[name].format)


@FILES
def test_the_files_of_two_tools_in_one_are_refused_in_a_line(name: str) -> None:
    for other, sample in SAMPLES.items():
        if sample.format == SAMPLES[name].format:
            continue
        both = (FOLDER / name).read_bytes() + b"\n" + (FOLDER / other).read_bytes()
        found = read_or_refused(both, "both")
        assert found is None or SAMPLES[name].text, other
        for profile in found or ():
            assert profile.job.engine in (SAMPLES[name].format, sample.format)


@FILES
def test_a_name_of_any_length_is_cut(name: str) -> None:
    document = (FOLDER / name).read_bytes().replace(b"ort", b"o" * 20_000 + b"rt")
    for profile in read_or_refused(document, name, SAMPLES[name].format) or ():
        assert all(len(uid) <= MAX_NAME for uid in profile.resources.names)


@pytest.mark.parametrize("name", formats.members("decode"))
@pytest.mark.parametrize(
    "document",
    [
        b"", b"\0" * 100, b"\xff\xfe", b"{}", b"[]", b"null", b"0", b'""', b"[[[", b"[" * 100_000, b'{"a":' * 100_000, b"<a>" * 100_000,
        b"a;b " * 1000, b"\n" * 1000, os.urandom(300),
    ],
    ids=lambda document: repr(document[:8]),
)  # fmt: skip
def test_no_reader_fails_at_what_is_nothing(name: str, document: bytes) -> None:
    assert read_or_refused(document, "nothing", name) is None


def test_a_file_that_could_be_of_two_formats_is_refused_with_both_names(project: Project, perf: Perf) -> None:
    project.commit()
    Path("two.json").write_text('{"results": [{"command": "ls", "mean": 1}], "commit_hash": "x"}')
    said = perf("import", "two.json", code=2).err
    assert said == "perf: two.json could be asv or hyperfine: name its format with --format\n"


# What the samples do not show


def test_rounds_that_were_not_saved_are_one_row_with_what_is_known_of_them() -> None:
    stats = {"mean": 2.0, "stddev": 0.5, "rounds": 9}
    document = {"commit_info": {"id": "a" * 40, "dirty": True}, "benchmarks": [{"name": "t", "stats": stats}]}
    profile = formats.decode(json.dumps(document).encode(), "x.json")
    assert profile.commit == "a" * 40
    assert profile.resources.metrics == {"wall": [2.0], "wall.deviation": [0.5], "wall.samples": [9.0]}
    assert described(profile) == {"wall": "s", "wall.deviation": "s?", "wall.samples": "?"}
    assert profile.environment.warnings == ["measured with uncommitted changes"]


def test_warm_ups_of_pyperf_are_marked() -> None:
    profile = formats.read(FOLDER / "pyperf.json")
    assert profile.resources.mark == [2, 0, 0] * 6
    assert profile.resources.execution == [0, 0, 0, 1, 1, 1, 2, 2, 2] * 2


def test_a_package_that_is_announced_again_is_another_run_of_go() -> None:
    text = (FOLDER / "go.txt").read_bytes()
    profile = formats.decode(text + text, "go.txt")
    assert profile.design.executions == 2
    assert len(profile.resources) == 18


def test_means_of_google_benchmark_count_where_nothing_else_was_written() -> None:
    one = '{"name": "BM_x_mean", "run_name": "BM_x", "run_type": "aggregate", "aggregate_name": "mean", "real_time": 2, "time_unit": "ms"}'
    profile = formats.decode(f'{{"context": {{"num_cpus": 1}}, "benchmarks": [{one}]}}'.encode(), "x.json")
    assert profile.resources.metrics == {"wall": [0.002], "cpu": [None]}


def test_a_unit_of_time_that_is_none_is_refused_with_its_place() -> None:
    one = '{"name": "BM_x", "real_time": 2, "time_unit": "B"}'
    with pytest.raises(Malformed, match=r"benchmarks\[0\].time_unit"):
        formats.decode(f'{{"context": {{"num_cpus": 1}}, "benchmarks": [{one}]}}'.encode(), "x.json")
