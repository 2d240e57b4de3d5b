"""Files of other tools, as these wrote them (tests/data/formats says how): what is read of each,
and what is refused.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cases import each
from conftest import ROOT, TESTS, Perf, Project
from msgspec.structs import replace
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from samples import format_of, sample_profile

from perfvcs import formats
from perfvcs.errors import PerfError, UsageError
from perfvcs.formats import UnreadableFile
from perfvcs.formats._foreign import expanded
from perfvcs.profile import DELAYED, FINE, REPEATED, Job, Metric, Profile, Resources
from perfvcs.profile.validity import MAX_NAME, MAX_PROFILE, Malformed
from perfvcs.repository import Repository

FOLDER = TESTS / "data" / "formats"
Value = float | None


@dataclass(frozen=True)
class Sample:
    """A file, and what is in it: the number of rows and executions, some values in the order of the
    rows, and the metrics' units.

    A unit ends with ``+`` where more is better, with ``?`` where nobody says. ``text``: it has no
    end by which one could see that it was cut off.
    """

    format: str
    rows: int
    executions: int
    values: Mapping[tuple[str, float | None, str], list[Value]]
    units: Mapping[str, str]
    text: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    started: str = ""
    profiles: int = 1


DHAT_SELF = {"allocated": "B?", "allocations": "?", "peak": "B?"}
SAMPLES = {
    "pytest-benchmark.json": Sample(
        "pytest-benchmark",
        22,
        1,
        {
            ("test_sort.py::test_sort", 100.0, "wall"): [
                2.3775501176714897e-06,
                1.9804498151643203e-06,
                1.971950041479431e-06,
                1.971950041479431e-06,
                1.9688999600475653e-06,
                1.9664501451188697e-06,
            ]
        },
        {"wall": "s"},
        environment={"host": "lab", "python": "CPython 3.11.7"},
        started="2026-11-23T10:38:57Z",
    ),
    "pyperf.json": Sample(
        "pyperf",
        18,
        3,
        {
            ("sum", None, "wall"): [
                6.764050488428097e-05,
                5.8254174804872605e-05,
                5.8153119628201466e-05,
                5.566605419993209e-05,
                4.963587060480279e-05,
                6.287132128868222e-05,
                5.7400075682778606e-05,
                6.136093017694577e-05,
                4.8417107665343906e-05,
            ]
        },
        {"wall": "s"},
        environment={"host": "lab", "cpu": "AMD EPYC"},
        started="2026-11-23T10:39:01Z",
    ),
    "hyperfine.json": Sample(
        "hyperfine",
        8,
        4,
        {
            ("seq {n}", 1000.0, "wall"): [
                0.007797832,
                0.001043934,
                0.0009536900000000001,
                0.012436796,
            ],
            ("seq {n}", 100000.0, "user"): [0.0014954999999999999, None, None, None],
        },
        {"wall": "s", "user": "s?", "system": "s?"},
    ),
    "hyperfine.csv": Sample(
        "hyperfine",
        2,
        1,
        {
            ("seq {n}", 1000.0, "wall"): [0.005558063],
            ("seq {n}", 1000.0, "wall.deviation"): [0.005594972273104368],
        },
        {
            "wall": "s",
            **dict.fromkeys(
                ("wall.deviation", "wall.median", "wall.least", "wall.largest", "user", "system"),
                "s?",
            ),
        },
        text=True,
    ),
    "google-benchmark.json": Sample(
        "google-benchmark",
        9,
        1,
        {
            ("BM_Sort", 256.0, "wall"): [
                7.134100087569095e-07,
                6.820150156272575e-07,
                8.185700062313117e-07,
            ],
            ("BM_Fill threads=2", None, "cpu"): [
                3.9578999999999987e-08,
                4.561799999999993e-08,
                4.013999999999993e-08,
            ],
        },
        {"wall": "s", "cpu": "s", "bytes_per_second": "B/s+", "elements": "?"},
        environment={"host": "lab", "cpus": "2"},
        started="2026-11-23T10:39:16Z",
    ),
    "jmh.json": Sample(
        "jmh",
        36,
        2,
        {
            ("org.example.Sorting.copy [thrpt]", 100.0, "throughput"): [
                value * 1e6
                for value in (
                    0.6891459308169313,
                    0.12356287012247255,
                    0.4700451575669488,
                    0.355128322074411,
                    0.4117636330414887,
                    0.5903371149971823,
                )
            ],
            ("org.example.Sorting.sort", 1000.0, "wall"): [
                value / 1e6
                for value in (
                    867.64392,
                    645.7120798319328,
                    368.7020445026178,
                    508.30594074074077,
                    458.4769836065574,
                    609.3338,
                )
            ],
        },
        {
            "throughput": "ops/s+",
            "wall": "s",
            "wall.samples": "?",
            **{
                f"p{share}": "s/op?"
                for share in ("0.00", "0.50", "0.90", "0.95", "0.99", "0.999", "0.9999", "1.00")
            },
        },
        environment={"jdk": "17.0.15"},
    ),
    "py-spy.folded": Sample(
        "folded",
        4,
        1,
        {
            ("folded", None, "samples"): [154.0],
            ("inner (work.py:2)", None, "samples"): [32.0],
            ("[nothing]", None, "samples"): [3.0],
        },
        {"samples": "?"},
        text=True,
    ),
    "py-spy.speedscope.json": Sample(
        "speedscope",
        10,
        1,
        {
            ("speedscope", None, "samples"): [154.0],
            ("inner (/home/ada/sorting/work.py)", None, "samples"): [44.0],
        },
        {"samples": "?", "busy": "s", "busy.self": "s?"},
    ),
    "node.cpuprofile": Sample(
        "cpuprofile",
        5,
        1,
        {
            ("cpuprofile", None, "busy"): [0.809327],
            ("inner (/home/ada/sorting/work.js)", None, "samples"): [29.0],
            ("(program)", None, "busy.self"): [0.081702],
        },
        {"samples": "?", "busy": "s", "busy.self": "s?"},
    ),
    "perf-script.txt": Sample(
        "perf-script",
        2,
        1,
        {("perf-script", None, "busy"): [0.1005025], ("inner (work)", None, "samples"): [20.0]},
        {"samples": "?", "busy": "s", "busy.self": "s?"},
        text=True,
    ),
    "callgrind.out": Sample(
        "callgrind",
        8,
        1,
        {
            ("callgrind", None, "instructions"): [1248.0],
            ("add (small)", None, "instructions.self"): [1224.0],
            ("twice (small)", None, "instructions.inclusive"): [1240.0],
        },
        {"instructions": "", "instructions.self": "?", "instructions.inclusive": "?"},
        text=True,
    ),
    "go.pprof": Sample(
        "pprof",
        5,
        1,
        {
            ("pprof", None, "cpu"): [0.04],
            ("sort.IntSlice.Less (/usr/lib/go-1.19/src/sort/sort.go)", None, "samples"): [1.0],
        },
        {"samples": "?", "cpu": "s", "cpu.self": "s?"},
        text=True,
        started="2026-11-23T10:39:13Z",
    ),
    "mitata.json": Sample(
        "mitata",
        15,
        1,
        {
            ("sort > sort $n", 1000.0, "wall"): [
                9.5222e-05,
                9.7846e-05,
                9.8557e-05,
                0.0001007,
                0.000103214,
            ],
            ("sort > sort $n", 100.0, "heap"): [2962.56640625, None, None, None, None],
        },
        {"wall": "s", "heap": "B?"},
        environment={"runtime": "node 20.20.2", "cpu": "AMD EPYC"},
    ),
    "tinybench.json": Sample(
        "tinybench",
        10,
        1,
        {
            ("sort", None, "wall"): [
                0.0001150609999999972,
                0.00011810600000001158,
                0.00011889700000000402,
                0.00012152100000000132,
                0.00013638299999999502,
            ]
        },
        {"wall": "s"},
        environment={"runtime": "node 20.20.2"},
    ),
    "vitest.json": Sample(
        "vitest",
        2,
        1,
        {
            ("sort.bench.js > sorting > sort", None, "wall"): [1.749684444444441 / 1e3],
            ("sort.bench.js > sorting > sort", None, "wall.p99"): [44.275464000000056 / 1e3],
            ("sort.bench.js > sorting > reverse", None, "wall.samples"): [454.0],
        },
        {
            "wall": "s",
            "wall.samples": "?",
            **{
                f"wall.{word}": "s?"
                for word in ("deviation", "median", "least", "largest", "p75", "p99")
            },
        },
    ),
    "nanobench.json": Sample(
        "nanobench",
        10,
        1,
        {
            ("sorting > sort", 100.0, "wall"): [
                2.3456e-07,
                1.977e-07,
                1.969e-07,
                1.975e-07,
                2.1132e-07,
            ],
            ("sorting > sort", 1000.0, "loops"): [50.0] * 5,
        },
        {"wall": "s", "loops": "?"},
    ),
    "catch2.xml": Sample(
        "catch2",
        3,
        1,
        {
            ("sorting > sort 100", None, "wall"): [315.554 / 1e9],
            ("sorting > sort 1000", None, "wall.high"): [5044.2 / 1e9],
            ("sorting > small > sort 10", None, "wall.deviation"): [2.98975 / 1e9],
        },
        {
            "wall": "s",
            "wall.samples": "?",
            **{f"wall.{word}": "s?" for word in ("low", "high", "deviation")},
        },
    ),
    "celero.csv": Sample(
        "celero",
        4,
        1,
        {
            ("Sorting.sort", 100.0, "wall"): [24.4 / 1e6 / 50],
            ("Sorting.stable", 1000.0, "wall.largest"): [355 / 1e6 / 50],
            ("Sorting.stable", 100.0, "memory"): [6057980.0],
        },
        {
            "wall": "s",
            "wall.samples": "?",
            "loops": "?",
            "memory": "B?",
            **{f"wall.{word}": "s?" for word in ("deviation", "least", "largest")},
        },
        text=True,
    ),
    "locust.csv": Sample(
        "locust",
        3,
        1,
        {
            ("GET /", None, "wall"): [13.062081728270458 / 1e3],
            ("GET /missing", None, "failures"): [46.0],
            ("Aggregated", None, "wall.p99"): [0.19],
            ("GET /", None, "rate"): [42.92942847982207],
        },
        {
            "wall": "s",
            "wall.samples": "?",
            "rate": "ops/s?",
            "failures": "?",
            "content": "B?",
            **{
                f"wall.{word}": "s?"
                for word in ("median", "least", "largest", "p75", "p90", "p95", "p99", "p999")
            },
        },
        text=True,
    ),
    "cargo-criterion.json": Sample(
        "criterion",
        5,
        1,
        {
            ("sort/stable", 100.0, "wall"): [1.2e-06, 1.21e-06, 1.21e-06],
            ("add", None, "loops"): [1000.0, 2000.0],
        },
        {"wall": "s", "loops": "?"},
        text=True,
    ),
    "divan.txt": Sample(
        "divan",
        6,
        1,
        {
            ("sorting::add", None, "wall"): [0.672 / 1e9],
            ("sorting::fibonacci", 16.0, "wall.largest"): [3.812 / 1e6],
            ("sorting::sort::stable", 1000.0, "wall.median"): [21.2 / 1e6],
            ("sorting::sort::unstable", None, "wall.samples"): [100.0],
        },
        {
            "wall": "s",
            "wall.samples": "?",
            **{f"wall.{word}": "s?" for word in ("least", "largest", "median")},
        },
        text=True,
    ),
    "bencher.json": Sample(
        "bencher",
        2,
        1,
        {
            ("sort::stable", None, "wall"): [88.5 / 1e9],
            ("sort::stable", None, "wall.low"): [87.25 / 1e9],
            ("sort::stable", None, "allocations"): [12.0],
            ("sort::unstable", None, "throughput"): [16393442.5],
        },
        {
            "wall": "s",
            "wall.low": "s?",
            "wall.high": "s?",
            "allocations": "?",
            "throughput": "ops/s+",
        },
    ),
    "github-action-benchmark.js": Sample(
        "github-action-benchmark",
        4,
        1,
        {
            ("sort_100", None, "wall"): [1207 / 1e9, 1101 / 1e9],
            ("sort_1000", None, "wall"): [21050 / 1e9],
            ("test_sort", None, "rate_iter"): [490306.25],
        },
        {"wall": "s", "rate_iter": "iter/s+"},
        started="2026-11-20T09:00:00Z",
        profiles=3,
    ),
    "benchmark-dotnet.json": Sample(
        "benchmark-dotnet",
        6,
        2,
        {
            ("Example.Sorting.Sort", 100.0, "wall"): [
                1250.5 / 1e9,
                1249.25 / 1e9,
                1300.75 / 1e9,
                1298.5 / 1e9,
            ],
            ("Example.Sorting.Sort", 100.0, "allocated"): [424.0, None, 424.0, None],
            ("Example.Sorting.Copy", None, "wall"): [25.5 / 1e9, 26.0 / 1e9],
        },
        {"wall": "s", "allocated": "B/op", "loops": "?"},
        environment={"cpu": "AMD EPYC", "configuration": "RELEASE"},
    ),
    "k6.json": Sample(
        "k6",
        8,
        1,
        {
            ("http_req_duration", None, "wall"): [13.062081 / 1e3],
            ("http_reqs", None, "rate"): [58.23759677495242],
            ("http_req_failed", None, "share"): [0.26285714285714284],
            ("queue_length", None, "value"): [3.5],
        },
        {
            "wall": "s",
            "rate": "ops/s?",
            "share": "?",
            "value": "?",
            **{
                f"{of}.{word}": f"{unit}?"
                for of, unit in (("wall", "s"), ("value", ""))
                for word in ("least", "median", "largest", "p90", "p95")
            },
        },
    ),
    "junit.xml": Sample(
        "junit",
        3,
        1,
        {("test_sort.test_sort[1000]", None, "wall"): [0.063]},
        {"wall": "s"},
        started="2026-11-29T08:45:26Z",
    ),
    "go-test.json": Sample(
        "go-test",
        4,
        1,
        {
            ("example.org/sorting.TestOrder/small", None, "wall"): [0.02],
            ("example.org/sorting.Sort cpus=2", None, "wall"): [295.5 / 1e9],
        },
        {"wall": "s"},
        text=True,
        environment={"goos": "linux", "cpu": "AMD EPYC"},
        started="2026-11-29T08:46:12Z",
    ),
    "cachegrind.out": Sample(
        "cachegrind",
        6,
        1,
        {
            ("cachegrind", None, "instructions"): [513626.0],
            ("cmp (sort.c)", None, "instructions.self"): [53244.0],
        },
        {
            metric + part: unit
            for metric in ("instructions", "I1mr", "ILmr", "Dr", "Dw", "D1mw", "DLmw")
            for part, unit in (("", ""), (".self", "?"))
        },
        text=True,
    ),
    "massif.out": Sample(
        "massif",
        3,
        1,
        {
            ("massif", None, "peak"): [8000.0],
            ("make (sort.c)", None, "peak.self"): [4000.0],
            ("qsort_r (msort.c)", None, "peak.self"): [4000.0],
        },
        {"peak": "B", "peak.self": "B?"},
        text=True,
    ),
    "dhat.json": Sample(
        "dhat",
        3,
        1,
        {
            ("dhat", None, "allocated"): [25200.0],
            ("dhat", None, "peak"): [8000.0],
            ("make (sort.c)", None, "peak.self"): [8000.0],
        },
        {
            "allocated": "B",
            "allocations": "",
            "peak": "B",
            **{f"{name}.self": unit for name, unit in DHAT_SELF.items()},
        },
    ),
    "benchmark-js.txt": Sample(
        "benchmark-js",
        2,
        1,
        {("RegExp#test", None, "throughput"): [5291614.0]},
        {"throughput": "ops/s+", "throughput.error": "ops/s?", "throughput.samples": "?"},
        text=True,
    ),
    "benchmark-js-coloured.txt": Sample(
        "benchmark-js",
        3,
        1,
        {
            ("no special characters", None, "throughput"): [3380611.0],
            ("many special characters", None, "throughput.samples"): [127.0],
        },
        {"throughput": "ops/s+", "throughput.error": "ops/s?", "throughput.samples": "?"},
        text=True,
    ),
    "libtest.txt": Sample(
        "libtest",
        2,
        1,
        {
            ("tests::copy", None, "throughput"): [51848e6],
            ("tests::sort_100", None, "wall"): [656.92 / 1e9],
        },
        {"wall": "s", "wall.spread": "s?", "throughput": "B/s+"},
        text=True,
    ),
    "gungraun.txt": Sample(
        "gungraun",
        2,
        1,
        {
            ("sorting::sorting_group::sort small:make(100)", None, "instructions"): [1734.0],
            ("sorting::sorting_group::sort large:make(1000)", None, "estimated_cycles"): [
                35638757.0
            ],
        },
        {
            "instructions": "",
            "estimated_cycles": "",
            **dict.fromkeys(("L1_Hits", "LL_Hits", "RAM_Hits", "Total_read_write"), "?"),
        },
        text=True,
    ),
    "nvbench.json": Sample(
        "nvbench",
        1,
        1,
        {("sort", 100.0, "gpu"): [1.25e-05], ("sort", 100.0, "items"): [8e6]},
        {"gpu": "s", "gpu.samples": "?", "cpu": "s", "items": "items/s+"},
        environment={"gpu": "Example GPU 4000", "sm_clock": "1695000000"},
    ),
    "ncu.csv": Sample(
        "ncu",
        3,
        1,
        {
            ("sort(int *, int) (40, 1, 1) (256, 1, 1)", None, "gpu"): [12.45 / 1e6, 12.55 / 1e6],
            ("merge(int *) (4, 1, 1) (64, 1, 1)", None, "gpu"): [980 / 1e9],
        },
        {"gpu": "s", "Elapsed_Cycles": "cycle?"},
        text=True,
        environment={"compute_capability": "8.6", "sm_clock": "1.31 Ghz"},
    ),
    "nsys.csv": Sample(
        "nsys",
        2,
        1,
        {("void sort<(int)512>(float *, int)", None, "wall"): [0.000125]},
        {
            "wall": "s",
            "wall.samples": "?",
            "total": "s?",
            **{f"wall.{word}": "s?" for word in ("median", "least", "largest", "deviation")},
        },
        text=True,
    ),
    "go.txt": Sample(
        "go",
        9,
        1,
        {
            ("example.org/sorting.Sort cpus=2", 100.0, "wall"): [3.879e-06, 3.835e-06, 3.857e-06],
            ("example.org/sorting.Sort cpus=2", 1000.0, "allocated"): [8216.0] * 3,
            ("example.org/sorting.Copy cpus=2", None, "throughput"): [
                41905.67e6,
                45376.66e6,
                77757.39e6,
            ],
        },
        {
            "wall": "s",
            "allocated": "B/op",
            "allocs": "allocs/op",
            "throughput": "B/s+",
            "elements_per_op": "elements/op?",
        },
        text=True,
        environment={"goos": "linux", "cpu": "AMD EPYC"},
    ),
}
OURS = {"csv", "log", "perfvcs", "asv", "perun"}  # which have tests of their own
FILES = pytest.mark.parametrize("name", SAMPLES)


def values(profile: Profile, uid: str, size: float | None, metric: str) -> list[Value]:
    rows = profile.resources
    sizes = rows.size or [None] * len(rows)
    return [
        rows.metrics[metric][row]
        for row, code in enumerate(rows.uid)
        if metric in rows.metrics and rows.names[code] == uid and sizes[row] == size
    ]


def described(profile: Profile) -> dict[str, str]:
    marks = {"lower": "", "higher": "+", "none": "?"}
    return {name: about.unit + marks[about.better] for name, about in profile.metrics.items()}


def read_or_refused(
    document: bytes, name: str, format_name: str | None = None
) -> list[Profile] | None:
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
    assert {path.name for path in FOLDER.iterdir() if path.is_file()} - {"README.md"} == set(
        SAMPLES
    )
    assert {sample.format for sample in SAMPLES.values()} == set(formats.members("decode")) - OURS


def test_every_format_has_a_page_that_the_contents_name() -> None:
    index = (ROOT / "docs" / "exchange.md").read_text()
    for name in {*formats.members("decode"), *formats.members("encode")} - {"perfvcs"}:
        page = ROOT / "docs" / "exchange" / f"{name}.md"
        assert page.read_text().startswith(
            f"# {page.read_text().split(': ', 1)[0][2:]}: `{name}`\n"
        ), name
        assert f"(exchange/{name}.md)" in index, name


@FILES
def test_a_file_is_read_as_its_tool_means_it(name: str) -> None:
    sample, path = SAMPLES[name], FOLDER / name
    assert format_of(path) == sample.format
    profiles = list(formats.read_all(path))
    assert list(formats.read_all(path, sample.format)) == profiles
    assert len(profiles) == sample.profiles
    assert sum(len(profile.resources) for profile in profiles) == sample.rows
    for (uid, size, metric), expected in sample.values.items():
        assert [
            value for profile in profiles for value in values(profile, uid, size, metric)
        ] == expected, (uid, metric)
    assert {
        metric: unit for profile in profiles for metric, unit in described(profile).items()
    } == sample.units
    assert profiles[0].design.executions == sample.executions
    machine = profiles[0].environment
    assert sample.environment.items() <= (machine.notes | machine.fields).items()
    assert "host" not in machine.fields  # a note, as docs/measuring.md says
    assert profiles[0].collected.started == sample.started
    assert {profile.job.engine for profile in profiles} == {sample.format}
    assert len({profile.collected.session for profile in profiles}) == sample.profiles


@FILES
def test_a_file_is_imported_once(name: str, project: Project, perf: Perf) -> None:
    project.commit()
    count = SAMPLES[name].profiles
    many = f"{count} profile{'s' * (count > 1)}"
    assert (
        perf("import", str(FOLDER / name), "--commit", "HEAD").out.splitlines()[0]
        == f"stored {many}"
    )
    Path("packed").write_bytes(gzip.compress(expanded((FOLDER / name).read_bytes(), MAX_PROFILE)))
    assert perf("import", "packed", "--commit", "HEAD").out.startswith(
        f"stored 0 profiles, {count} already stored\n"
    )


@FILES
def test_a_file_that_was_cut_off_is_refused_or_has_its_first_rows(name: str) -> None:
    sample, whole = SAMPLES[name], (FOLDER / name).read_bytes()
    names = {uid for profile in formats.read_all(FOLDER / name) for uid in profile.resources.names}
    for end in range(0, len(whole.rstrip()) - 1, max(1, len(whole) // 97)):
        found = read_or_refused(whole[:end], name, sample.format)
        assert found is None or sample.text, whole[:end][-100:]
        for profile in found or ():
            # a last line without an end, which may be whole, is read with a remark
            if any("cut off" in note for note in profile.environment.warnings):
                continue
            assert len(profile.resources) <= sample.rows
            assert set(profile.resources.names) <= names


@FILES
@each("encoding", ["utf-16", "utf-32", "latin-1", "utf-8-sig"])
def test_a_file_in_another_encoding_is_refused_or_read(name: str, encoding: str) -> None:
    text = (FOLDER / name).read_text(errors="surrogateescape").replace("sort", "sört", 1)
    read_or_refused(text.encode(encoding, "replace"), name)
    read_or_refused(text.encode(encoding, "replace"), name, SAMPLES[name].format)


def test_text_in_utf_16_is_refused_with_the_cure() -> None:
    with pytest.raises(UnreadableFile, match=r"table\.csv is text in UTF-16: convert it to UTF-8"):
        formats.decode("uid,wall [s]\na,1\n".encode("utf-16"), "table.csv")


@FILES
@each(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1", "1" * 400, '"12"', "null", "[]", "{}"]
)
def test_numbers_that_are_none_do_no_harm(name: str, number: str) -> None:
    """Each number of the file in turn, as far as there are not too many."""
    document = (FOLDER / name).read_text(errors="surrogateescape")
    places = [
        match.span() for match in re.finditer(r"-?\d+\.\d+(?:[eE][-+]?\d+)?|\b\d{3,}\b", document)
    ]
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
@each(
    "document",
    [
        b"",
        b"\0" * 100,
        b"\xff\xfe",
        b"{}",
        b"[]",
        b"null",
        b"0",
        b'""',
        b"[[[",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"<a>" * 100_000,
        b"a;b " * 1000,
        b"\n" * 1000,
        random.Random(1).randbytes(300),
    ],
)
def test_no_reader_fails_at_what_is_nothing(name: str, document: bytes) -> None:
    assert read_or_refused(document, "nothing", name) is None


def test_a_file_that_could_be_of_two_formats_is_refused_with_both_names(
    project: Project, perf: Perf
) -> None:
    project.commit()
    Path("two.json").write_text('{"results": [{"command": "ls", "mean": 1}], "commit_hash": "x"}')
    said = perf("import", "two.json", code=2).err
    assert said == "perf: two.json could be asv or hyperfine: name its format with --format\n"


# What the samples do not show


def test_rounds_that_were_not_saved_are_one_row_with_their_summary() -> None:
    stats = {"mean": 2.0, "stddev": 0.5, "rounds": 9}
    document = {
        "commit_info": {"id": "a" * 40, "dirty": True},
        "benchmarks": [{"name": "t", "stats": stats}],
    }
    profile = formats.decode(json.dumps(document).encode(), "x.json")
    assert profile.commit == "a" * 40
    assert profile.resources.metrics == {
        "wall": [2.0],
        "wall.deviation": [0.5],
        "wall.samples": [9.0],
    }
    assert described(profile) == {"wall": "s", "wall.deviation": "s?", "wall.samples": "?"}
    assert profile.environment.warnings == ["measured with uncommitted changes"]


def test_runs_of_hyperfine_are_executions_with_their_memory() -> None:
    runs = {
        "command": "ls",
        "mean": 2.0,
        "user": 0.5,
        "times": [1.0, 2.0, 3.0],
        "memory_usage_byte": [10, 20, 30, 40],
    }
    profile = formats.decode(
        json.dumps({"results": [runs, runs | {"command": "df", "times": [4.0]}]}).encode(), "x.json"
    )
    assert profile.resources.execution == [0, 1, 2, 0]
    assert profile.resources.metrics == {
        "wall": [1.0, 2.0, 3.0, 4.0],
        "memory": [10.0, 20.0, 30.0, 10.0],
        "user": [0.5, None, None, 0.5],
    }


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
    one = (
        '{"name": "BM_x_mean", "run_name": "BM_x", "run_type": "aggregate", "aggregate_name":'
        ' "mean", "real_time": 2, "time_unit": "ms"}'
    )
    profile = formats.decode(
        f'{{"context": {{"num_cpus": 1}}, "benchmarks": [{one}]}}'.encode(), "x.json"
    )
    assert profile.resources.metrics == {"wall": [0.002]}


def test_the_folder_of_criterion_is_one_profile_of_its_newest_samples(
    project: Project, perf: Perf
) -> None:
    project.commit()
    assert perf("import", str(FOLDER / "criterion"), "--commit", "HEAD").out == "stored 1 profile\n"
    assert (
        perf("import", str(FOLDER / "criterion"), "--commit", "HEAD").out
        == "stored 0 profiles, 1 already stored\n"
    )
    repository = Repository.find()
    ((_, profile),) = repository.store.read_many(repository.store.paths())
    assert sorted(profile.resources.names) == ["add", "sort/stable"]
    assert values(profile, "sort/stable", 100.0, "wall")[:2] == [
        1901402.0 / 2443 / 1e9,
        4008059.0 / 4886 / 1e9,
    ]
    assert len(profile.resources) == 30
    said = perf("import", str(FOLDER / "criterion" / "add" / "new" / "sample.json"), code=12).err
    assert "import the folder target/criterion" in said and said.count("\n") == 1


def test_a_folder_of_criterion_with_a_broken_file_is_refused_with_its_name(
    project: Project, perf: Perf
) -> None:
    project.commit()
    shutil.copytree(FOLDER / "criterion", "criterion")
    Path("criterion/add/new/sample.json").write_text('{"iters": [1], "times": ["soon"]}')
    said = perf("import", "criterion", code=12).err
    assert said.startswith("perf: criterion/add/new: ") and said.count("\n") == 1


def test_entities_of_xml_are_refused() -> None:
    with pytest.raises(Malformed, match="line 1"):
        formats.decode(b'<?xml version="1.0" encoding="TF-8"?><Catch name="\xff"/>', "x.xml")
    bomb = (
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><Catch'
        ' name="&b;"><BenchmarkResults name="x"/></Catch>'
    )
    with pytest.raises(Malformed, match="document type"):
        formats.decode(bomb.encode(), "x.xml")
    with pytest.raises(Malformed, match="deeper than 64"):
        formats.decode(b"<Catch>" * 100, "x.xml")
    with pytest.raises(Malformed, match="line 1"):
        formats.decode(b'<Catch name="&unknown;"/>', "x.xml")


def test_a_grown_file_of_many_commits_brings_earlier_ones_again(
    project: Project, perf: Perf
) -> None:
    text = (FOLDER / "github-action-benchmark.js").read_text()
    head = project.commit()
    Path("data.js").write_text(text)
    assert perf("import", "data.js").out.splitlines()[0] == "stored 3 profiles"
    benches = [{"name": "x", "value": 1, "unit": "ns"}]
    new = json.dumps(
        {"commit": {"id": head}, "date": 1795338000000, "tool": "cargo", "benches": benches}
    )
    Path("data.js").write_text(text.replace('"Rust": [', f'"Rust": [{new},'))
    assert perf("import", "data.js").out.splitlines()[0] == "stored 1 profile, 3 already stored"
    with pytest.raises(UnreadableFile, match="has 4 profiles"):
        formats.read("data.js")


def test_a_measure_of_ones_own_is_judged_where_somebody_says_how() -> None:
    document = (FOLDER / "bencher.json").read_bytes()
    chosen = {"better": {"allocations": "lower"}, "unit": {"allocations": "B"}}
    assert described(formats.decode(document, "x.json", "bencher", chosen))["allocations"] == "B"
    with pytest.raises(Malformed, match="no measure `allocation`"):
        formats.decode(document, "x.json", "bencher", {"unit": {"allocation": "B"}})


def test_other_tables_of_locust_have_no_results(project: Project, perf: Perf) -> None:
    project.commit()
    Path("csv").mkdir()
    shutil.copy(FOLDER / "locust.csv", "csv/visits_stats.csv")
    Path("csv/visits_failures.csv").write_text(
        "Method,Name,Error,Occurrences,First Seen,Last Seen\nGET,/,x,1,now,now\n"
    )
    Path("csv/visits_exceptions.csv").write_text("Count,Message,Traceback,Nodes\n")
    assert (
        perf("import", "csv", "--commit", "HEAD").out
        == "stored 1 profile\nleft out 2 files without results\n"
    )


def test_results_of_tinybench_without_names_are_refused_with_a_cure() -> None:
    with pytest.raises(Malformed, match=r"bench\.tasks\.map"):
        formats.decode(b'[{"latency": {"mean": 1}, "period": 1, "totalTime": 1}]', "x.json")


def test_samples_of_vitest_are_kept_where_they_were_written() -> None:
    document = (
        (FOLDER / "vitest.json").read_text().replace('"samples": []', '"samples": [0.125, 0.25]', 1)
    )
    profile = formats.decode(document.encode(), "x.json")
    assert values(profile, "sort.bench.js > sorting > sort", None, "wall") == [0.000125, 0.00025]
    assert values(profile, "sort.bench.js > sorting > sort", None, "wall.p99") == [None, None]


@pytest.mark.parametrize(
    ("name", "stack"),
    [
        (
            "py-spy.folded",
            ["<module> (work.py:8)", "main (work.py:7)", "outer (work.py:4)", "inner (work.py:2)"],
        ),
        (
            "perf-script.txt",
            ["__libc_start_call_main (libc.so.6)", "main (work)", "outer (work)", "inner (work)"],
        ),
        ("callgrind.out", ["add (small)"]),
    ],
)
def test_stacks_stand_root_first(name: str, stack: list[str]) -> None:
    profile = formats.read(FOLDER / name)
    assert profile.stacks is not None
    assert stack in [
        [profile.stacks.frames[frame] for frame in one] for one in profile.stacks.stacks
    ]
    assert profile.resources.trace == [-1, *range(len(profile.stacks.stacks))]


SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # lines of str.splitlines, and of no tool


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("perf-script.txt", "inner+", "in|ner+"),
        ("py-spy.folded", "inner", "in|ner"),
        ("callgrind.out", ") add\n", ") in|ner\n"),
        ("go.txt", "pkg: example.org/sorting", "pkg: example.org/in|ner"),
        ("divan.txt", "fibonacci", "in|ner   "),
    ],
)
def test_only_newlines_end_a_line(name: str, old: str, new: str) -> None:
    plain = formats.read(FOLDER / name)
    text = (FOLDER / name).read_text()
    assert old in text
    for separator in SEPARATORS:
        found = formats.decode(text.replace(old, new.replace("|", separator)).encode(), name)
        assert found.resources.metrics == plain.resources.metrics
        names = [*found.resources.names, *(found.stacks.frames if found.stacks else ())]
        assert any("in ner" in " ".join(one.split()) for one in names)
    crlf = formats.decode(text.replace("\n", "\r\n").encode(), name)
    assert (crlf.resources, crlf.stacks) == (plain.resources, plain.stacks)


def test_a_recording_is_drawn_as_a_flame_graph(project: Project, perf: Perf) -> None:
    project.commit()
    perf("import", str(FOLDER / "py-spy.folded"), "--commit", "HEAD")
    perf("show", "HEAD", "--view", "flamegraph", "-o", "page.html", "--no-open")
    assert Path("page.html").stat().st_size > 10_000
    project.commit()
    perf("import", str(FOLDER / "go.txt"), "--commit", "HEAD")
    said = perf("show", "HEAD", "--view", "flamegraph", "-o", "other.html", "--no-open", code=None)
    assert said.code
    assert "call stacks" in said.err


def test_delayed_executions_are_written_and_repeated_ones_are_not() -> None:
    rows = Resources(
        names=["work"],
        uid=[0] * 3,
        execution=[0, 1, 2],
        mark=[FINE, DELAYED, REPEATED],
        metrics={"wall": [1.0, 3.0, 9.0]},
    )
    profile = replace(
        formats.read(FOLDER / "go.txt"), resources=rows, metrics={"wall": Metric("s")}
    )
    (bench,) = json.loads(formats.encode(profile, "bencher"))["work"].values()
    assert bench["value"] == 2e9  # ns


@pytest.mark.parametrize("name", ["folded", "speedscope"])
def test_stacks_that_are_written_are_read_again(name: str) -> None:
    first = formats.read(FOLDER / "py-spy.folded")
    again = formats.decode(formats.encode(first, name), "x")
    assert again.stacks == first.stacks
    assert again.resources.metrics["samples"] == first.resources.metrics["samples"]
    with pytest.raises(Malformed, match="no call stacks"):
        formats.encode(formats.read(FOLDER / "go.txt"), name)


def test_a_result_of_asv_that_is_written_is_read_again() -> None:
    first = formats.read(
        TESTS / "data" / "asv" / "results" / "lab" / "158ec25c-existing-py_python3.json"
    )
    again = formats.decode(formats.encode(first, "asv"), "x.json")
    assert again.commit == first.commit
    assert again.metrics == first.metrics
    assert again.environment.fields == first.environment.fields
    assert again.environment.notes == first.environment.notes

    def rows(profile: Profile) -> dict[tuple[str, float | None, str], list[Value]]:
        sizes = profile.resources.size or [None] * len(profile.resources)
        units = {
            (profile.resources.names[code], size)
            for code, size in zip(profile.resources.uid, sizes, strict=True)
        }
        return {
            (uid, size, metric): values(profile, uid, size, metric)
            for uid, size in units
            for metric in profile.metrics
        }

    assert rows(again) == rows(first)


def test_rounds_that_are_written_for_pytest_benchmark_are_read_again() -> None:
    first = formats.read(FOLDER / "pytest-benchmark.json")
    again = formats.decode(formats.encode(first, "pytest-benchmark"), "x.json")
    assert again.commit == first.commit
    assert again.resources == first.resources
    with pytest.raises(Malformed, match="has no times"):
        formats.encode(formats.read(FOLDER / "py-spy.folded"), "pytest-benchmark")


def test_values_that_are_written_for_bencher_are_read_again() -> None:
    first = formats.read(FOLDER / "bencher.json")
    again = formats.decode(formats.encode(first, "bencher"), "x.json")
    assert values(again, "sort::stable", None, "wall") == values(
        first, "sort::stable", None, "wall"
    )
    assert described(again)["throughput"] == "ops/s+"


def test_an_entry_that_is_written_for_github_action_benchmark_is_read_again() -> None:
    first = next(formats.read_all(FOLDER / "github-action-benchmark.js"))
    again = formats.decode(formats.encode(first, "github-action-benchmark"), "data.js")
    assert (again.commit, again.job.name, again.metrics, again.collected.started) == (
        first.commit,
        first.job.name,
        first.metrics,
        first.collected.started,
    )
    assert again.resources == first.resources
    both = formats.decode_all(
        formats.encode(formats.read(FOLDER / "google-benchmark.json"), "github-action-benchmark"),
        "data.js",
    )
    assert [sorted({about.better for about in profile.metrics.values()}) for profile in both] == [
        ["lower"],
        ["higher"],
    ]


def test_openmetrics_ends_as_it_has_to_and_is_only_written() -> None:
    lines = (
        formats.encode(formats.read(FOLDER / "hyperfine.json"), "openmetrics").decode().splitlines()
    )
    assert lines[:2] == ["# TYPE perfvcs_wall_seconds gauge", "# UNIT perfvcs_wall_seconds seconds"]
    assert lines[-1] == "# EOF"
    label = f'{{job="hyperfine",unit="seq {{n}}",size="1000",metric="wall",commit="{"0" * 40}"}} '
    assert (
        lines[2]
        == f"perfvcs_wall_seconds{label}{(0.007797832 + 0.001043934 + 0.0009536900000000001 + 0.012436796) / 4!r}"
    )
    with pytest.raises(UsageError, match="can only be written"):
        formats.read(FOLDER / "hyperfine.json", "openmetrics")


HOSTILE = "a\n::e\x1b[31m \\ \" ' } { , = # EOF \r\u2028\x85 é \\n"


def test_openmetrics_of_hostile_names_are_read_by_prometheus() -> None:
    units = [HOSTILE, HOSTILE + "\\", "# EOF", "\\", '"', "x\n# EOF\n"]
    metrics = {
        "wall": Metric("s"),
        "wall_seconds": Metric(""),
        HOSTILE: Metric("B"),
        "é": Metric(""),
        "ü": Metric(""),
        "x": Metric(""),
        "x_total": Metric(""),
        "x_bucket": Metric(""),
        "x_created": Metric(""),
        "": Metric("s"),
    }
    rows = Resources(
        names=units,
        uid=[0, *range(len(units))],
        execution=[0] * 7,
        size=[1e6 + 1, *[1e6] * 6],
        metrics={name: [1.0] * 7 for name in metrics},
    )
    text = formats.encode(
        sample_profile(job=Job(HOSTILE, "time", "x"), metrics=metrics, resources=rows),
        "openmetrics",
    ).decode()
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    assert (
        len({(one.name, *sorted(one.labels.items())) for one in samples})
        == len(samples)
        == 7 * len(metrics)
    )
    assert {one.labels["unit"] for one in samples} == set(units)
    assert {one.labels["metric"] for one in samples} == set(metrics)
    assert {one.labels["job"] for one in samples} == {HOSTILE}


def test_callgrind_counts_a_recursion_once() -> None:
    """A function that calls itself, and two that call each other: no more than the whole
    program.
    """
    lines = [
        "events: Ir",
        "fn=main",
        "1 10",
        "cfn=f",
        "calls=1 2",
        "1 90",
        "fn=f",
        "2 60",
        "cfn=f",
        "calls=5 2",
        "2 50",
        "cfn=g",
        "calls=1 3",
        "2 30",
        "fn=g",
        "3 30",
        "cfn=f",
        "calls=1 2",
        "3 90",
        "totals: 100",
    ]
    found = formats.decode("\n".join(["# callgrind format", *lines, ""]).encode(), "x.callgrind")
    table = [line.split(",") for line in formats.encode(found, "csv").decode().split("\r\n")[1:-1]]
    assert {name: inclusive for name, *_, inclusive in table} == {
        "callgrind": "",
        "main": "100.0",
        "f": "90.0",
        "g": "100.0",
    }


def test_frames_that_open_and_close_are_stacks() -> None:
    events = [("O", 0, 0), ("O", 1, 2), ("C", 1, 5), ("C", 0, 6)]
    thread = {
        "type": "evented",
        "unit": "milliseconds",
        "events": [dict(zip(("type", "frame", "at"), one, strict=True)) for one in events],
    }
    schema = "https://www.speedscope.app/file-format-schema.json"
    document = {
        "$schema": schema,
        "shared": {"frames": [{"name": "a"}, {"name": "b"}]},
        "profiles": [thread],
    }
    profile = formats.decode(json.dumps(document).encode(), "x.json")
    assert profile.resources.metrics == {
        "busy": [0.006, None, None],
        "busy.self": [None, 0.003, 0.003],
    }
    thread["events"][2]["frame"] = 0
    with pytest.raises(Malformed, match="not the innermost"):
        formats.decode(json.dumps(document).encode(), "x.json")


def test_nodes_that_are_children_of_each_other_are_refused() -> None:
    call = {"functionName": "f"}
    nodes = [
        {"id": 1, "callFrame": call, "children": [2]},
        {"id": 2, "callFrame": call, "children": [1]},
    ]
    with pytest.raises(Malformed, match="children of each other"):
        formats.decode(
            json.dumps({"nodes": nodes, "samples": [1], "timeDeltas": [5]}).encode(), "x.cpuprofile"
        )


def test_a_unit_of_time_that_is_none_is_refused_with_its_place() -> None:
    one = '{"name": "BM_x", "real_time": 2, "time_unit": "B"}'
    with pytest.raises(Malformed, match=r"benchmarks\[0\].time_unit"):
        formats.decode(
            f'{{"context": {{"num_cpus": 1}}, "benchmarks": [{one}]}}'.encode(), "x.json"
        )


def test_profiles_of_several_commits_are_one_data_js(project: Project, perf: Perf) -> None:
    commits = [project.commit(title) for title in ("one", "two")]
    for commit, value in zip(commits, (2.0, 3.0), strict=True):
        Path("data.csv").write_text(f"uid,wall [s]\nsort,{value}\n")
        perf("import", "data.csv", "--commit", commit, "--name", "sorting")
    assert (
        perf("export", *commits, "--format", "github-action-benchmark", "-o", "data.js").out
        == "wrote data.js\n"
    )
    found = list(formats.read_all("data.js"))
    assert sorted(
        (one.commit, one.job.name, one.resources.metrics["wall"]) for one in found
    ) == sorted([(commits[0], "sorting", [2.0]), (commits[1], "sorting", [3.0])])
    Path("folder").mkdir()
    perf("export", *commits, "--format", "github-action-benchmark", "-o", "folder")
    assert Path("folder/data.js").read_bytes() == Path("data.js").read_bytes()
