"""What reading the files of other benchmark tools takes: ``python benchmarks/foreign.py [--rows 1000000] [--only NAME]``.

First the files of tests/data/formats, then documents with so many values that are made here. Each is read, and written as a profile, in a
process of its own, which says its processor time and its largest memory.
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
found = list(formats.read_all(sys.argv[1]))
read = time.process_time() - start
stored = sum(len(profile.encode()) for profile in found)
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
rows = sum(len(profile.resources) for profile in found)
print(f"| {formats.guess(sys.argv[1])} | {Path(sys.argv[1]).stat().st_size:,} | {len(found)} | {rows:,} | {read:.2f} | {peak:.0f} |")
"""


def _pytest(rows: int) -> str:
    stats = {"mean": 1.0, "data": [1e-6 * (n % 97) for n in range(rows)]}
    return json.dumps({"machine_info": {}, "commit_info": {}, "benchmarks": [{"name": "t", "stats": stats}]})


def _pyperf(rows: int) -> str:
    runs = [{"values": [1e-6] * 1000, "warmups": [[1, 1e-6]]} for _ in range(rows // 1001)]
    return json.dumps({"benchmarks": [{"metadata": {"name": "t", "loops": 1}, "runs": runs}]})


def _hyperfine(rows: int) -> str:
    return json.dumps({"results": [{"command": f"c{n}", "mean": 1.0, "times": [0.5] * 1000} for n in range(rows // 1000)]})


def _google(rows: int) -> str:
    found = [
        {"name": f"BM_x/{n % 1000}", "run_type": "iteration", "real_time": 5.0, "cpu_time": 4.0, "time_unit": "ns"}
        for n in range(rows)
    ]
    return json.dumps({"context": {"num_cpus": 2}, "benchmarks": found})


def _go(rows: int) -> str:
    return "".join(f"BenchmarkSort/n={n % 1000}-2 300 3879 ns/op 920 B/op\n" for n in range(rows))


def _jmh(rows: int) -> str:
    score = {"scoreUnit": "us/op", "rawData": [[1.5] * 100] * 10}
    return json.dumps([{"benchmark": f"b{n}", "mode": "avgt", "forks": 10, "primaryMetric": score} for n in range(rows // 1000)])


def _criterion(rows: int) -> str:
    line = json.dumps({"iteration_count": [10] * 100, "measured_values": [5.5] * 100, "unit": "ns"})[1:]
    return "".join(f'{{"reason":"benchmark-complete","id":"s/{n}",{line}\n' for n in range(rows // 100))


def _catch(rows: int) -> str:
    one = '<BenchmarkResults name="b{}" samples="5"><mean value="5.5" lowerBound="5" upperBound="6"/></BenchmarkResults>'
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
        f"work 1 5.5: 100 cpu-clock:\n\t1158 f{n % 1000}+0x2f (/x/work)\n\t11b6 main+0x1b (/x/work)\n\n" for n in range(rows)
    )


def _mitata(rows: int) -> str:
    runs = [{"name": "x", "args": {}, "stats": {"samples": [5.5] * rows, "avg": 5.5}}]
    return json.dumps({"layout": [], "benchmarks": [{"alias": "x", "runs": runs}]})


MADE: dict[str, Callable[[int], str]] = {
    "pytest-benchmark": _pytest, "pyperf": _pyperf, "hyperfine": _hyperfine, "google-benchmark": _google, "go": _go, "jmh": _jmh,
    "criterion": _criterion, "catch2": _catch, "mitata": _mitata, "folded": _folded, "speedscope": _speedscope, "perf-script": _script,
}  # fmt: skip


def main() -> None:
    """Print a table of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=sorted(MADE))
    given = parser.parse_args()
    print("| format | bytes | profiles | rows | s of CPU | MB of memory |\n|---|---|---|---|---|---|")
    if not given.only:
        for path in sorted(path for path in FILES.iterdir() if path.is_file() and path.name != "README.md"):
            subprocess.run([sys.executable, "-c", ONE, str(path)], check=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, made in MADE.items():
            if given.only in (None, name):
                path = Path(folder, "document")
                path.write_text(made(given.rows))
                subprocess.run([sys.executable, "-c", ONE, str(path)], check=True)


if __name__ == "__main__":
    main()
