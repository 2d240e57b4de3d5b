"""Files as people have them: from containers, behind logs, with keys in another order, without a
last line end, of older versions, and with benchmarks that failed.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import each
from conftest import TESTS, Perf, Project
from samples import format_of

from perfvcs import formats
from perfvcs.formats import UnreadableFile
from perfvcs.formats.ncu import Ncu
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed

FOLDER = TESTS / "data" / "formats"
JSON = sorted(
    path.name
    for path in FOLDER.glob("*.json")
    if path.name not in ("cargo-criterion.json", "go-test.json", "bencher.json")
)
BEHIND_A_LOG = (
    "go.txt",
    "libtest.txt",
    "benchmark-js.txt",
    "gungraun.txt",
    "divan.txt",
    "ncu.csv",
    "nsys.csv",
    "perf-script.txt",
)
LINES = (*BEHIND_A_LOG, "py-spy.folded", "locust.csv", "celero.csv", "hyperfine.csv", "massif.out")


def read(document: bytes | str | dict[str, Any] | list[Any], name: str = "file") -> Profile:
    if isinstance(document, (dict, list)):
        document = json.dumps(document)
    return formats.decode(document.encode() if isinstance(document, str) else document, name)


def table(profile: Profile) -> list[tuple[str, list[float | None]]]:
    """Each row's unit with its values."""
    rows = profile.resources
    columns = [rows.metrics[name] for name in sorted(rows.metrics)]
    return [
        (rows.names[code], [column[row] for column in columns]) for row, code in enumerate(rows.uid)
    ]


def google(host: str, times: dict[str, float]) -> str:
    benchmarks = [
        {"name": name, "run_name": name, "real_time": time, "cpu_time": time, "time_unit": "us"}
        for name, time in times.items()
    ]
    context = {"host_name": host, "num_cpus": 8, "date": "2026-04-02T10:00:00+00:00"}
    return json.dumps({"context": context, "benchmarks": benchmarks})


def pytest_benchmark(host: str) -> dict[str, Any]:
    about = {"node": host, "machine": "x86_64", "release": f"6.8.0-{len(host)}-azure"}
    info = about | {"python_implementation_version": "3.12.1", "system": "Linux"}
    stats = {"mean": 2.0, "rounds": 3}
    return {"machine_info": info, "benchmarks": [{"name": "test_a", "stats": stats}]}


def pyperf(host: str) -> dict[str, Any]:
    shared = {"hostname": host, "platform": f"Linux-6.8.0-{len(host)}-azure-x86_64", "name": "a"}
    runs = [{"values": [0.5, 0.6], "metadata": {}}]
    return {"benchmarks": [{"runs": runs}], "metadata": {**shared, "loops": 2}, "version": "1.0"}


def asv(host: str) -> dict[str, Any]:
    params = {
        "machine": host,
        "os": f"Linux 6.8.0-{len(host)}-azure",
        "arch": "x86_64",
        "ram": host,
    }
    return {"commit_hash": "c" * 40, "params": params, "results": {"m.time_a": 1.0}, "version": 1}


def perun(host: str) -> dict[str, Any]:
    return {
        "machine": {"host": host, "release": f"6.8.0-{len(host)}-azure"},
        "collector_info": {"name": "time"},
        "header": {"cmd": "ls"},
        "resources": [{"amount": 1, "uid": "f"}],
    }


@each(
    "document",
    [lambda host: json.loads(google(host, {"a": 1.0})), pytest_benchmark, pyperf, asv, perun],
)
def test_another_container_of_one_kind_is_the_same_environment(
    document: Callable[[str], dict[str, Any]],
) -> None:
    one, other = (read(document(host)).environment for host in ("4f1c09", "b07733e1cc"))
    assert one.fields == other.fields
    assert one.fingerprint == other.fingerprint
    assert (one.notes["host"], other.notes["host"]) == ("4f1c09", "b07733e1cc")


def test_runs_of_two_containers_are_compared(project: Project, perf: Perf) -> None:
    project.commit()
    project.commit()
    Path("old.json").write_text(google("4f1c09", {"sum": 200.0}))
    Path("new.json").write_text(google("b07733", {"sum": 260.0}))
    perf("import", "old.json", "new.json", "--commit", "HEAD~1", "--commit", "HEAD")
    said = perf("check").flat
    assert "+30.0 %" in said
    assert "not comparable" not in said


@pytest.mark.parametrize("name", JSON)
def test_keys_may_come_in_any_order_and_late(name: str, tmp_path: Path) -> None:
    document = json.loads((FOLDER / name).read_text())
    late = (
        {"padding": ["x" * 20_000], **dict(reversed(document.items()))}
        if isinstance(document, dict)
        else document
    )
    path = tmp_path / "late.json"
    path.write_text(json.dumps(late))
    expected = formats.read(FOLDER / name)
    assert format_of(path) == expected.job.engine
    assert sorted(map(str, table(formats.read(path)))) == sorted(map(str, table(expected)))


@pytest.mark.parametrize("name", [*BEHIND_A_LOG, "go-test.json"])
def test_results_may_come_behind_a_long_log(name: str, tmp_path: Path) -> None:
    log = "".join(f"    sort_test.go:{line}: checked all permutations\n" for line in range(2000))
    path = tmp_path / "log.txt"
    path.write_text(f"{log}\n{(FOLDER / name).read_text()}")
    expected = formats.read(FOLDER / name)
    assert format_of(path) == expected.job.engine
    assert table(formats.read(path)) == table(expected)


@pytest.mark.parametrize("name", LINES)
def test_a_last_line_needs_no_end_and_is_remarked(name: str) -> None:
    whole = (FOLDER / name).read_bytes()
    profile = read(whole.rstrip(), name)
    assert table(profile) == table(formats.read(FOLDER / name))
    assert any("cut off" in remark for remark in profile.environment.warnings)
    assert not any("cut off" in note for note in formats.read(FOLDER / name).environment.warnings)


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.*")))
def test_marks_of_utf_8_line_ends_of_windows_and_empty_lines_change_nothing(name: str) -> None:
    if name in ("README.md", "go.pprof"):  # no measurement, no text
        return
    expected, *_ = formats.read_all(FOLDER / name)
    written = (FOLDER / name).read_bytes()
    windows = (BOM_UTF8 + written).replace(b"\n", b"\r\n")
    late = b"\n \r\n" * written.startswith(b"<") + written
    for changed in (BOM_UTF8 + written, windows, late):
        again, *_ = formats.decode_all(changed, name)
        assert table(again) == table(expected)
        assert again.environment == expected.environment


HEAD = "work 10 1.000000: {}\n\t1158 inner (/home/eve/work)\n\t11b6 main (/home/eve/work)\n\n"


def test_samples_without_a_period_are_counted_and_not_judged() -> None:
    for event in ("cpu-clock:", "cycles:"):
        profile = read(HEAD.format(event) * 3)
        assert list(profile.metrics) == ["samples"]
        assert profile.metrics["samples"].better == "none"
        assert profile.resources.metrics["samples"][0] == 3.0
    both = read(HEAD.format("cpu-clock:") + HEAD.format("5000 cpu-clock:"))
    assert both.resources.metrics["busy"][0] == 5000 / 1e9


def test_an_editor_that_took_the_last_empty_line_away_lost_nothing() -> None:
    whole = HEAD.format("250000 cpu-clock:") * 2
    assert table(read(whole.rstrip("\n") + "\n")) == table(read(whole))
    with pytest.raises(Malformed, match="cut off"):
        read(whole + "work 10 1.000000: 250000 cpu-clock:\n\t1158 inner (/home")


def test_a_recording_without_call_graphs_has_stacks_of_one_frame() -> None:
    line = "            work 10 19.1: 250000 cpu-clock:u:      1158 inner+0x2 (/home/eve/work)\n"
    profile = read(line * 2)
    assert table(profile)[1][0] == "inner (work)"
    assert profile.stacks is not None and profile.stacks.stacks == [[0]]
    assert profile.environment.warnings == []


def test_packages_of_old_go_are_named_by_their_last_line() -> None:
    text = "PASS\nBenchmarkA\t 100\t 700 ns/op\nok  \texample.org/one\t1.0s\n"
    profile = read(text + text.replace("one", "two").replace("700", "300"))
    assert table(profile) == [("example.org/one.A", [7e-07]), ("example.org/two.A", [3e-07])]


@each(
    "log results remarks",
    [
        ("BenchmarkA-8 \tloading\n     300\t 3000 ns/op\n", [("p.A cpus=8", [3e-06])], []),
        ("BenchmarkA\nBenchmarkA-8 \t 300\t 3000 ns/op\n", [("p.A cpus=8", [3e-06])], []),
        (
            "BenchmarkA\nBenchmarkA/x\nBenchmarkA/x-8 \t 300\t 3000 ns/op\n",
            [("p.A(x) cpus=8", [3e-06])],
            [],
        ),
        (
            "BenchmarkA-8 \t 300\t 3000 ns/op\nBenchmarkB-8 \tpanic: no\n",
            [("p.A cpus=8", [3e-06])],
            ["1 unit without a value: p.B cpus=8"],
        ),
        (
            "BenchmarkA-8 \t 300\t 3000 ns/op\n--- FAIL: BenchmarkB-8\n    b_test.go:7: wrong\n",
            [("p.A cpus=8", [3e-06])],
            ["1 unit without a value: p.B cpus=8"],
        ),
        ("Benchmarking is fun\nBenchmarkA-8 \t 300\t 3000 ns/op\n", [("p.A cpus=8", [3e-06])], []),
    ],
)
def test_a_benchmark_of_go_that_prints_something_is_read_or_missed_aloud(
    log: str, results: list[Any], remarks: list[str]
) -> None:
    profile = read(f"pkg: p\n{log}PASS\n")
    assert table(profile) == results
    assert profile.environment.warnings == remarks


BROKEN: dict[str, Any] = {
    "tinybench": [
        {"name": "ok", "result": {"latency": {"mean": 1, "samples": [1.5]}, "totalTime": 1}},
        {"name": "bad", "result": {"state": "errored"}},
    ],
    "mitata": {
        "layout": [],
        "benchmarks": [
            {"alias": "ok", "runs": [{"name": "ok", "stats": {"samples": [5.0]}}]},
            {"alias": "bad", "runs": [{"name": "bad", "error": "no"}]},
        ],
    },
    "asv": {"commit_hash": "d" * 40, "results": {"m.time_ok": 1.0, "m.time_bad": None}},
    "pyperf": {
        "benchmarks": [
            {"metadata": {"name": "ok"}, "runs": [{"values": [0.5], "warmups": []}]},
            {"metadata": {"name": "bad"}, "runs": [{"warmups": []}]},
        ]
    },
    "celero": (
        "Group,Experiment,Problem Space,Samples,Iterations,Failure,Mean (us)\n"
        "g,ok,1,1,10,0,50\ng,bad,1,1,10,1,0\n"
    ),
    "libtest": "test ok ... bench:  5 ns/iter (+/- 1)\ntest bad ... FAILED\n",
    "junit": (
        '<testsuite><testcase name="ok" time="1"/><testcase name="bad" time="2"><failure/>'
        "</testcase></testsuite>"
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_benchmark_that_failed_is_missed_aloud(name: str, project: Project, perf: Perf) -> None:
    project.commit()
    document = BROKEN[name]
    Path("out").write_text(document if isinstance(document, str) else json.dumps(document))
    profile = formats.read("out")
    assert profile.job.engine == name
    (remark,) = profile.environment.warnings
    assert remark.startswith("1 unit without a value: ") and "bad" in remark
    assert f"out: {remark}\n" in perf("import", "out", "--commit", "HEAD").out


def test_two_counts_on_each_line_are_no_stacks() -> None:
    with pytest.raises(Malformed, match="two counts"):
        formats.decode(b"main;a 3 5\nmain;b 0 2\n", "x.folded")
    mixed = formats.decode(b"main;thread 7 5\nmain;b 2\n", "x.folded")
    assert mixed.resources.names == ["folded", "thread 7", "b"]


def test_old_versions_are_read() -> None:
    old = {"common_metadata": {"name": "sum"}, "runs": [{"samples": [0.25], "warmups": [[1, 9.0]]}]}
    profile = read({"benchmarks": [old], "version": 5})
    assert profile.resources.metrics == {"wall": [9.0, 0.25]}
    sort = {"Namespace": "N", "Type": "T", "Method": "M", "Statistics": {"Mean": 500.0}}
    dotnet = {"HostEnvironmentInfo": {"BenchmarkDotNetVersion": "0.9.9"}, "Benchmarks": [sort]}
    assert table(read(dotnet)) == [("N.T.M", [5e-07])]


def test_jobs_of_one_benchmark_of_dotnet_are_two_units() -> None:
    def job(name: str, mean: float) -> dict[str, Any]:
        return {"FullName": "N.T.M", "DisplayInfo": f"T.M: {name}", "Statistics": {"Mean": mean}}

    both = [job("NET 8", 500.0), job("NET 9 [n=1]", 400.0)]
    profile = read({"HostEnvironmentInfo": {}, "Benchmarks": both})
    assert table(profile) == [("N.T.M [NET 8]", [5e-07]), ("N.T.M [NET 9]", [4e-07])]


@each(
    "text rows",
    [
        (
            "Method,Runtime,N,Mean,Error,Allocated\nSort,Core,10,14.50 us,1 us,2 KB\n",
            [("T.Sort", 10.0, 14.5e-06, 2048.0)],
        ),
        (
            'Method;N;Mean [ns];Error\nSort;10;"1,250.5";-\nCopy;10;NA;NA\n',
            [("T.Sort", 10.0, 1250.5e-09, None)],
        ),
        (
            "Method,Job,Runtime,Mean,Error\nSort,A,Net8,1 s,1 s\nSort,B,Net9,2 s,1 s\n",
            [("T.Sort [A, Net8]", None, 1.0, None), ("T.Sort [B, Net9]", None, 2.0, None)],
        ),
    ],
)
def test_the_table_of_dotnet_is_read_with_its_units(text: str, rows: list[Any]) -> None:
    profile = read(text, "T-report.csv")
    resources = profile.resources
    sizes = resources.size or [None] * len(resources)
    allocated = resources.metrics.get("allocated") or [None] * len(resources)
    walls = resources.metrics["wall"]
    names = [resources.names[code] for code in resources.uid]
    assert [*zip(names, sizes, walls, allocated, strict=True)] == rows


def entry(tool: str, unit: str) -> str:
    bench = {"name": "loop", "value": 1.0, "unit": unit}
    about = {"commit": {"id": "e" * 40}, "benches": [bench]} | ({"tool": tool} if tool else {})
    return json.dumps({"lastUpdate": 1, "entries": {"suite": [about]}})


@each(
    "tool unit better",
    [
        ("", "iter/sec", "higher"),
        ("", "ns", "lower"),
        ("", "points", "none"),
        ("go", "MB/s", "higher"),
        ("go", "allocs/op", "lower"),
        ("jmh", "ops/us", "higher"),
        ("customBiggerIsBetter", "ms", "higher"),
        ("customSmallerIsBetter", "req/s", "lower"),
    ],
)
def test_directions_are_neither_lost_nor_guessed(tool: str, unit: str, better: str) -> None:
    (about,) = read(entry(tool, unit)).metrics.values()
    assert about.better == better


def test_a_rate_of_jmh_keeps_its_direction_through_bencher() -> None:
    score = {"score": 5.0, "scoreUnit": "ops/ms", "rawData": [[5.0]]}
    row = {"benchmark": "Q.take", "mode": "thrpt", "forks": 1, "primaryMetric": score}
    again = formats.decode(formats.encode(read([row]), "bencher"), "x.json")
    about = again.metrics["throughput"]
    assert (about.unit, about.better) == ("ops/s", "higher")
    assert again.resources.metrics["throughput"] == [5000.0]


LOCUST = (
    "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time\n"
    "GET,/a,10,0,1,{a}\nGET,/b,10,0,1,30\n,Aggregated,20,0,1,20\n"
)
K6 = """{{"metrics": {{
    "iteration_duration": {{"avg": {a}, "med": 1}}, "http_req_waiting": {{"avg": {a}, "med": 1}}
}}}}"""
GO_EVENT = (
    '{{"Time":"2026-01-05T08:00:00Z","Action":"pass","Package":"p","Test":"TestA","Elapsed":{a}}}\n'
)
GO_TEST = GO_EVENT + GO_EVENT.replace("TestA", "TestA/part")


@pytest.mark.parametrize("text", [LOCUST, K6, GO_TEST], ids=["locust", "k6", "go test"])
def test_units_with_parts_in_common_have_no_sum(text: str, project: Project, perf: Perf) -> None:
    project.commit()
    project.commit()
    Path("old").write_text(text.format(a=10))
    Path("new").write_text(text.format(a=13))
    perf("import", "old", "new", "--commit", "HEAD~1", "--commit", "HEAD")
    (whole,) = perf("check", "--json").document["overall"]
    assert whole["effect"] is None
    said = perf("check").flat
    assert "no sum: its units have parts in common" in said
    assert "+30.0 %" in said


def test_the_whole_of_a_job_keeps_the_job_s_name() -> None:
    profile = formats.decode(b"main;a 3\n", "x.folded", name="nightly")
    assert profile.job.name == "nightly"
    assert profile.resources.names == ["nightly", "a"]


def test_of_many_open_comparisons_the_largest_is_named(project: Project, perf: Perf) -> None:
    project.commit()
    project.commit()
    times = {f"case{number}": 200.0 for number in range(6)}
    Path("old.json").write_text(google("a", times))
    Path("new.json").write_text(google("b", times | {"case3": 260.0}))
    perf("import", "old.json", "new.json", "--commit", "HEAD~1", "--commit", "HEAD")
    for options in ((), ("--markdown",)):
        said = perf("check", *options).flat
        assert "the largest is google-benchmark: case3: wall time +30.0 %" in said
        assert "(a single execution has no spread)" in said


def test_profiles_of_commits_elsewhere_are_counted(project: Project, perf: Perf) -> None:
    project.commit()
    Path("asv.json").write_text(json.dumps(asv("lab")))
    perf("import", "asv.json")
    remark = "1 profile is stored for commits that are not in this repository (cccccccccc)"
    assert remark in perf("history").out
    assert remark in perf("log").out
    assert remark in perf("check", code=4).err
    assert remark in perf("publish", "site", code=4).err


@each(
    "name begin command",
    [
        ("gmon.out", b"gmon\1\0", "gprof -b -p PROGRAM gmon.out"),
        ("perf.data", b"PERFILE2", "perf script -i perf.data"),
        ("x.prof", b"\xfb)\x03\xfa\x01", "python -m pstats x.prof"),
        (
            "m.bin",
            b"\x04\x22\x4d\x18\x40\x40\xc0\x70\x09\0\0\xfa\x04memray",
            "memray transform csv",
        ),
        ("h", b"v 10500 2\nX ./work\n", "heaptrack_print h -F stacks.folded"),
        ("r.nsys-rep", b"\0\1", "nsys stats"),
        ("r.ncu-rep", b"\0\1", "ncu --import r.ncu-rep --csv"),
        ("r.jfr", b"FLR\0", "jfrconv r.jfr"),
        ("t.nettrace", b"Nettrace", "dotnet-trace convert t.nettrace"),
        ("unknown.bin", b"\0\1\2", "--regex"),
    ],
)
def test_what_is_not_read_is_answered_by_a_command(name: str, begin: bytes, command: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        formats.decode(begin + b"\0" * 100, name)
    assert command in str(refused.value)
    assert "\n" not in str(refused.value)


TRACE = """\
Processing [sorting.sqlite] with [cuda_gpu_trace.py]...
Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),\
DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name
701000,2100,112,,,,,,,,,,0.262,124800.0,Pageable,Device,Example GPU 4000 (0),1,7,[CUDA memcpy Host-to-Device]
750000,12450,120,40,1,1,256,1,1,16,0.0,0.0,,,,,Example GPU 4000 (0),1,7,"sort(int *, int)"
770000,12550,121,40,1,1,256,1,1,16,0.0,0.0,,,,,Example GPU 4000 (0),1,7,"sort(int *, int)"
"""
RAW_PAGE = """\
==PROF== Disconnected from process 4711
"ID","Process ID","Host Name","Kernel Name","Block Size","Grid Size","Device","CC",\
"device__attribute_clock_rate","device__attribute_display_name","dram__bytes_read.sum","gpu__time_duration.sum"
"","","","","","","","","Khz","","Mbyte","usecond"
"0","4711","lab","sort(int *, int)","(256, 1, 1)","(40, 1, 1)","0","8.6","1695000","Example GPU 4000","1.05","12.45"
"1","4711","lab","sort(int *, int)","(256, 1, 1)","(40, 1, 1)","0","8.6","1695000","Example GPU 4000","1,001","12.55"
"""
SORT = "sort(int *, int) (40, 1, 1) (256, 1, 1)"


def test_a_trace_of_a_gpu_has_its_launches_and_its_model() -> None:
    profile = read(TRACE)
    assert table(profile) == [
        ("[CUDA memcpy Host-to-Device]", [2.1e-06]),
        (SORT, [1.245e-05]),
        (SORT, [1.255e-05]),
    ]
    assert profile.environment.fields == {"gpu": "Example GPU 4000"}
    # one file of two reports, as `nsys stats` writes them
    both = read(f"{TRACE}\n{(FOLDER / 'nsys.csv').read_text()}")
    assert both.resources.names == [
        *profile.resources.names,
        "void sort<(int)512>(float *, int)",
        "merge",
    ]
    other = read(TRACE.replace("GPU 4000 (0)", "GPU 5000 (0)"))
    assert other.environment.fingerprint != profile.environment.fingerprint
    # whichever of two works first
    first = read(TRACE.replace("GPU 4000 (0)", "GPU 5000 (1)", 1))
    two = TRACE.replace("GPU 4000 (0)", "GPU 5000 (1)")
    second = read(two.replace("GPU 5000 (1)", "GPU 4000 (0)", 1))
    assert first.environment.fields == second.environment.fields


def test_the_raw_page_of_a_gpu_has_metrics_as_columns_and_its_model() -> None:
    profile = read(RAW_PAGE)
    # bytes that were read, then the duration
    assert table(profile) == [
        (SORT, [1_050_000.0, 1.245e-05]),
        (SORT, [1_001_000_000.0, 1.255e-05]),
    ]
    assert profile.metrics["gpu"] == Metric("s")
    assert profile.metrics["dram__bytes_read.sum"] == Metric("B", "none")
    assert profile.environment.fields == {"gpu": "Example GPU 4000", "compute_capability": "8.6"}
    assert profile.environment.notes == {"host": "lab", "gpu_clock": "1695000 Khz"}


def test_a_table_with_two_underscores_in_a_heading_is_not_of_a_gpu() -> None:
    assert not Ncu().recognises("", b'"ID","param__depth","benchmark","wall"\n')
    assert Ncu().recognises("", b'"ID","Kernel Name","gpu__time_duration.sum"\n')
