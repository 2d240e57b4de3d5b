"""What reading the files of other benchmark tools takes: ``python benchmarks/foreign.py [--rows
1000000] [--only NAME]``.

First the files of tests/data/formats, then documents with so many values that are made here, one
for every format that can be read. Each is read, and written as a profile, in a process of its own,
which says its processor time and its largest memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

FILES = Path(__file__).resolve().parents[1] / "tests/data/formats"
ONE = """
import sys, time
from pathlib import Path
from perfvcs import formats
start = time.process_time()
name = sys.argv[2] or formats.guess(sys.argv[1])
found = list(formats.read_all(sys.argv[1], name))
read = time.process_time() - start
stored = sum(len(profile.encode()) for profile in found)
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
rows = sum(len(profile.resources) for profile in found)
print(f"| {name} | {Path(sys.argv[1]).stat().st_size:,} | {len(found)} | {rows:,} | {read:.2f} | {peak:.0f} |")
"""


def _pytest(rows: int) -> str:
    stats = {"mean": 1.0, "data": [1e-6 * (n % 97) for n in range(rows)]}
    return json.dumps(
        {"machine_info": {}, "commit_info": {}, "benchmarks": [{"name": "t", "stats": stats}]}
    )


def _pyperf(rows: int) -> str:
    runs = [{"values": [1e-6] * 1000, "warmups": [[1, 1e-6]]} for _ in range(rows // 1001)]
    return json.dumps({"benchmarks": [{"metadata": {"name": "t", "loops": 1}, "runs": runs}]})


def _hyperfine(rows: int) -> str:
    return json.dumps(
        {
            "results": [
                {"command": f"c{n}", "mean": 1.0, "times": [0.5] * 1000}
                for n in range(rows // 1000)
            ]
        }
    )


def _google(rows: int) -> str:
    found = [
        {
            "name": f"BM_x/{n % 1000}",
            "run_type": "iteration",
            "real_time": 5.0,
            "cpu_time": 4.0,
            "time_unit": "ns",
        }
        for n in range(rows)
    ]
    return json.dumps({"context": {"num_cpus": 2}, "benchmarks": found})


def _go(rows: int) -> str:
    return "".join(f"BenchmarkSort/n={n % 1000}-2 300 3879 ns/op 920 B/op\n" for n in range(rows))


def _jmh(rows: int) -> str:
    score = {"scoreUnit": "us/op", "rawData": [[1.5] * 100] * 10}
    return json.dumps(
        [
            {"benchmark": f"b{n}", "mode": "avgt", "forks": 10, "primaryMetric": score}
            for n in range(rows // 1000)
        ]
    )


def _criterion(rows: int) -> str:
    line = json.dumps(
        {"iteration_count": [10] * 100, "measured_values": [5.5] * 100, "unit": "ns"}
    )[1:]
    return "".join(
        f'{{"reason":"benchmark-complete","id":"s/{n}",{line}\n' for n in range(rows // 100)
    )


def _catch(rows: int) -> str:
    one = (
        '<BenchmarkResults name="b{}" samples="5"><mean value="5.5" lowerBound="5"'
        ' upperBound="6"/></BenchmarkResults>'
    )
    return f'<Catch name="x">{"".join(one.format(n) for n in range(rows))}</Catch>'


def _folded(rows: int) -> str:
    return "".join(f"main;f{n % 1000};g{n} 3\n" for n in range(rows))


def _speedscope(rows: int) -> str:
    frames = [{"name": f"f{n}", "file": "x.py"} for n in range(1000)]
    thread = {
        "type": "sampled",
        "unit": "seconds",
        "samples": [[0, n % 1000, n // 1000 % 1000] for n in range(rows)],
        "weights": [0.01] * rows,
    }
    schema = "https://www.speedscope.app/file-format-schema.json"
    return json.dumps({"$schema": schema, "shared": {"frames": frames}, "profiles": [thread]})


def _script(rows: int) -> str:
    return "".join(
        f"work 1 5.5: 100 cpu-clock:\n\t1158 f{n % 1000}+0x2f (/x/work)\n\t11b6 main+0x1b"
        " (/x/work)\n\n"
        for n in range(rows)
    )


def _mitata(rows: int) -> str:
    runs = [{"name": "x", "args": {}, "stats": {"samples": [5.5] * rows, "avg": 5.5}}]
    return json.dumps({"layout": [], "benchmarks": [{"alias": "x", "runs": runs}]})


def _nanobench(rows: int) -> str:
    epochs = [{"iterations": 50, "elapsed": 2e-7, "instructions": 0}] * 1000
    found = [
        {"epochs": 1000, "minEpochTime": 0.1, "name": f"b{n}", "measurements": epochs}
        for n in range(rows // 1000)
    ]
    return json.dumps({"results": found})


def _tinybench(rows: int) -> str:
    return json.dumps(
        [
            {
                "name": "x",
                "result": {"totalTime": 5.5, "latency": {"mean": 5.5, "samples": [5.5] * rows}},
            }
        ]
    )


def _vitest(rows: int) -> str:
    found = [{"name": "x", "mean": 5.5, "samples": [5.5] * rows}]
    return json.dumps(
        {"files": [{"filepath": "x.js", "groups": [{"fullName": "g", "benchmarks": found}]}]}
    )


def _dotnet(rows: int) -> str:
    taken = {
        "IterationMode": "Workload",
        "IterationStage": "Result",
        "LaunchIndex": 1,
        "Operations": 4096,
        "Nanoseconds": 5e6,
    }
    found = [{"FullName": f"b{n}", "Measurements": [taken] * 1000} for n in range(rows // 1000)]
    return json.dumps({"HostEnvironmentInfo": {"ProcessorName": "x"}, "Benchmarks": found})


def _bencher(rows: int) -> str:
    return json.dumps(
        {
            f"b{n}": {"latency": {"value": 88.5, "lower_value": 87.5, "upper_value": 89.5}}
            for n in range(rows)
        }
    )


def _github(rows: int) -> str:
    benches = [
        {"name": f"b{n}", "range": "± 12", "unit": "ns/iter", "value": 1207} for n in range(1000)
    ]
    entries = [
        {
            "commit": {"id": f"{n:040x}"},
            "date": 1795165200000 + n,
            "tool": "cargo",
            "benches": benches,
        }
        for n in range(rows // 1000)
    ]
    return "window.BENCHMARK_DATA = " + json.dumps(
        {"lastUpdate": 1, "repoUrl": "", "entries": {"Rust": entries}}
    )


def _k6(rows: int) -> str:
    trend = {"avg": 13.5, "min": 2.25, "med": 5.125, "max": 240.5, "p(90)": 19.5, "p(95)": 38.25}
    return json.dumps({"root_group": {}, "metrics": {f"waiting_{n}": trend for n in range(rows)}})


def _locust(rows: int) -> str:
    heading = (
        "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min"
        " Response Time,Max Response Time"
    )
    return heading + "\n" + "".join(f"GET,/{n},129,0,5,13.5,2.25,240.5\n" for n in range(rows))


def _celero(rows: int) -> str:
    heading = "Group,Experiment,Problem Space,Samples,Iterations,Failure,Mean (us)"
    return heading + "\n" + "".join(f"Sorting,sort,{n},5,50,0,24.5\n" for n in range(rows))


def _divan(rows: int) -> str:
    heading = "sorting  fastest │ slowest │ median │ mean │ samples │ iters\n"
    return heading + "".join(
        f"├─ b{n}  0.6 ns │ 1.7 ns │ 0.6 ns │ 0.7 ns │ 100 │ 8192\n" for n in range(rows)
    )


def _callgrind(rows: int) -> str:
    return (
        "# callgrind format\nevents: Ir\n"
        + "".join(f"fn=({n}) f{n}\n1 12\n" for n in range(rows))
        + f"totals: {12 * rows}\n"
    )


def _cpuprofile(rows: int) -> str:
    nodes = [
        {"id": n, "callFrame": {"functionName": f"f{n}", "url": "x.js"}} for n in range(1, rows + 1)
    ]
    top = {"id": 0, "callFrame": {"functionName": "(root)"}, "children": list(range(1, rows + 1))}
    return json.dumps(
        {"nodes": [top, *nodes], "samples": list(range(1, rows + 1)), "timeDeltas": [5] * rows}
    )


def _pprof(rows: int) -> bytes:
    def field(number: int, value: int | bytes) -> bytes:
        """A field of a message; numbers are below 2^14."""
        if isinstance(value, int):
            return (
                bytes([number << 3, value])
                if value < 128
                else bytes([number << 3, value & 127 | 128, value >> 7])
            )
        return bytes([number << 3 | 2, len(value)]) + value

    strings = ["", "samples", "count", *(f"f{n}" for n in range(1000))]
    functions = (
        field(5, field(1, n + 1) + field(2, n + 3))
        + field(4, field(1, n + 1) + field(4, field(1, n + 1)))
        for n in range(1000)
    )
    samples = (
        field(2, field(1, n % 1000 + 1) + field(1, n // 1000 + 1) + field(2, 3))
        for n in range(rows)
    )
    texts = (field(6, text.encode()) for text in strings)
    return b"".join([field(1, field(1, 1) + field(2, 2)), *samples, *functions, *texts])


def _csv(rows: int) -> str:
    return "uid,run,wall [s]\n" + "".join(f"b{n % 1000},{n // 1000},0.5\n" for n in range(rows))


def _asv(rows: int) -> str:
    results = {f"bench.time_{n}": [[0.5], [], [[0.5] * 1000]] for n in range(rows // 1000)}
    columns = ["result", "params", "samples"]
    return json.dumps(
        {
            "commit_hash": "a" * 40,
            "env_name": "x",
            "result_columns": columns,
            "results": results,
            "version": 2,
        }
    )


def _perun(rows: int) -> str:
    found = [
        {
            "amount": 0.5,
            "uid": f"b{n % 1000}",
            "type": "time",
            "subtype": "wall",
            "order": n // 1000,
        }
        for n in range(rows)
    ]
    header = {"type": "time", "cmd": "x", "args": "", "workload": "", "units": {"time": "s"}}
    return json.dumps({"origin": "a" * 40, "header": header, "global": {"resources": found}})


MADE: dict[str, Callable[[int], str | bytes]] = {
    "csv": _csv,
    "asv": _asv,
    "perun": _perun,
    "pytest-benchmark": _pytest,
    "pyperf": _pyperf,
    "hyperfine": _hyperfine,
    "google-benchmark": _google,
    "go": _go,
    "jmh": _jmh,
    "criterion": _criterion,
    "divan": _divan,
    "catch2": _catch,
    "nanobench": _nanobench,
    "celero": _celero,
    "benchmark-dotnet": _dotnet,
    "mitata": _mitata,
    "tinybench": _tinybench,
    "vitest": _vitest,
    "k6": _k6,
    "locust": _locust,
    "bencher": _bencher,
    "github-action-benchmark": _github,
    "folded": _folded,
    "speedscope": _speedscope,
    "perf-script": _script,
    "pprof": _pprof,
    "callgrind": _callgrind,
    "cpuprofile": _cpuprofile,
}


def main() -> None:
    """Print a table of Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=sorted(MADE))
    given = parser.parse_args()
    print(
        "| format | bytes | profiles | rows | s of CPU | MB of memory |\n|---|---|---|---|---|---|"
    )
    if not given.only:
        for path in sorted(
            path for path in FILES.iterdir() if path.is_file() and path.name != "README.md"
        ):
            subprocess.run([sys.executable, "-c", ONE, str(path), ""], check=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, made in MADE.items():
            if given.only in (None, name):
                path, document = Path(folder, "document"), made(given.rows)
                path.write_bytes(document.encode() if isinstance(document, str) else document)
                del document
                subprocess.run([sys.executable, "-c", ONE, str(path), name], check=True)


if __name__ == "__main__":
    main()
