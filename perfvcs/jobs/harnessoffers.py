"""Commands that `perf init` proposes for projects whose benchmark harness is known: each benchmark
becomes a unit.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from perfvcs.jobs.npmscripts import direct, is_there
from perfvcs.jobs.ownfiles import file_text, project_files
from perfvcs.jobs.starter import Proposal, quoted
from perfvcs.text.words import counted

MOST_SOURCES = 20  # of a program that are read
# Catch2 hides what has one of these tags
HIDDEN = re.compile(r"\[!benchmark\]|\[\.")
# By what a program of C++ includes: the options with which it reports its benchmarks, and the
# format. An execution of each benchmark takes about 20 ms, with its repetitions.
REPORTING = {
    "benchmark/benchmark.h": (
        "--benchmark_format=json --benchmark_min_time=0.02",
        "google-benchmark",
    ),
    "catch2/catch": (
        "--reporter xml --benchmark-samples 20 --benchmark-warmup-time 5 --benchmark-no-analysis",
        "catch2",
    ),
    "nanobench.h": ("", "nanobench"),
}
# of Go: 100 runs of 300 ns each vary 18-fold from one execution to the next, those of 20 ms by 5 %
GO_OPTIONS = "-test.run ^$ -test.bench . -test.benchtime"
GO_TIME = re.compile(r"(?<=-test\.bench \. -test\.benchtime )\d{1,9}(?=ms)")
GO_ALL, GO_LEAST, GO_MOST = 1000, 20, 200  # ms of all benchmarks of an execution, and of one
GO_BENCHMARKS = re.compile(r"^func Benchmark\w*\(", re.MULTILINE)
GO_TESTS = re.compile(r"^func (?:Test|Example|Fuzz)\w*\(", re.MULTILINE)
GO_PROGRAM = re.compile(r"^package main\b", re.MULTILINE)
CRITERION_OPTIONS = "--noplot --warm-up-time 0.1 --measurement-time 0.3"
# which takes whole seconds only
OLD_CRITERION = re.compile(
    r"^(?:criterion\b|\[[\w.-]{1,50}\.criterion\]\n(?:[a-z-]{1,30} *=[^\n]*\n){0,9}version\b)"
    r"[^\n]*[\"^~= ]0\.[0-3]\b",
    re.MULTILINE,
)
PYPERF_OPTIONS = "--processes 1 --warmups 1 --values 3 --min-time 0.05 --quiet -o pyperf.json"
JMH_OPTIONS = "-f 1 -wi 3 -i 5 -w 200ms -r 200ms -rf json -rff jmh.json"
JMH_FILE = '{ format = "jmh", file = "jmh.json" }'
VITEST_FILE = '{ format = "vitest", file = "vitest.json" }'
# What programs without a harness print, a line for each part: "sort: 12.3 ms"
TIMED_LINES = (
    r"{ regex = '^(?P<name>[^:]{1,200}): {1,40}(?P<value>[\d.]{1,30}) ?(?P<unit>ns|µs|us|ms|s)$' }"
)
# Benchmark.js takes at least 5 s for each benchmark, and no options, see native/benchmarkjs.js
NODE_SECONDS = "PERFVCS_BENCHMARK_SECONDS="
NODE_TIME = re.compile(r"(?<=PERFVCS_BENCHMARK_SECONDS=)[\d.]{1,9}")
NODE_ALL, NODE_LEAST, NODE_MOST = 2.0, 0.2, 0.5  # s of all benchmarks of an execution, and of one
# of Node; mitata and tinybench report where the script writes JSON
NODE = {"mitata": '"mitata"', "tinybench": '"tinybench"', "benchmark": '"benchmark-js"'}


def cargo(root: Path, manifest: str) -> Iterator[Proposal]:
    """``cargo bench`` with what its harness reports, then as a whole."""
    sources = {path.stem: file_text(path) for path in project_files(root, "benches/*.rs")}
    tables = manifest.split("[[bench]]")[1:]
    named = [re.search(r'^name *= *"([\w.-]+)"', table, re.MULTILINE) for table in tables]
    names = [match[1] for match in named if match] or [*sources]
    if not names:
        return
    text = "\n".join(sources.values())
    # the library's own tests run in another harness, which knows none of these options
    chosen = "".join(f" --bench {name}" for name in names)
    cmd, reads = f"cargo bench --quiet{chosen}", TIMED_LINES
    if "criterion" in manifest:
        old = OLD_CRITERION.search(manifest)
        options = "--noplot --warm-up-time 1 --measurement-time 1" if old else CRITERION_OPTIONS
        cmd, reads = f"{cmd} -- {options}", '{ format = "criterion", file = "target/criterion" }'
    elif "divan" in manifest:
        reads = quoted("divan")
    elif "#[bench]" in text:
        reads = quoted("libtest")
    build = (f"cargo bench --no-run{chosen}",)
    yield Proposal(
        "a Rust project with benches, a unit for each benchmark", cmd, "bench", build, reads=reads
    )
    yield Proposal("a Rust project with benches", "cargo bench", "bench", ("cargo bench --no-run",))


def go(root: Path) -> Iterator[Proposal]:
    """The packages with most benchmarks, each as a compiled test binary; then tests and program."""
    if not (root / "go.mod").exists():
        return
    counts: dict[str, int] = {}
    tested = False
    for path in project_files(root, "**/*_test.go"):
        inside, text = path.parent.relative_to(root).as_posix(), file_text(path)
        counts[inside] = counts.get(inside, 0) + len(GO_BENCHMARKS.findall(text))
        tested = tested or GO_TESTS.search(text) is not None
    for inside, count in sorted(counts.items(), key=lambda pair: -pair[1])[:2]:
        if count:
            package = "." if inside == "." else f"./{inside}"
            program = shlex.quote(f"{package}/bench.test")
            # benchmarks read their data beside them
            where = "" if inside == "." else f" in {package}"
            there = "" if inside == "." else f"env -C {shlex.quote(inside)} "
            yield Proposal(
                f"a Go project with {counted(count, 'benchmark')}{where}",
                f"{there}./bench.test {GO_OPTIONS} {_milliseconds(count)}ms",
                "bench",
                (f"go test -c -o {program} {shlex.quote(package)}",),
                reads=quoted("go"),
            )
    if tested:
        yield Proposal(
            "a Go project with tests", "go test -count=1 ./...", "tests", ("go test -run ^$ ./...",)
        )
    at_top = [path for path in project_files(root, "*.go") if path.parent == root]
    if any(GO_PROGRAM.search(file_text(path)) for path in at_top):
        yield Proposal(
            "a Go program: measure it at work", "go run . --help", "run", ("go build ./...",)
        )


def _milliseconds(benchmarks: int) -> int:
    return min(GO_MOST, max(GO_LEAST, GO_ALL // benchmarks // 10 * 10))


def shorter(
    offer: Proposal, benchmarks: int, seconds: float, longest: float
) -> tuple[Proposal, float]:
    """A proposal for Go or Benchmark.js that reported so many benchmarks, of which the sources name
    fewer where these have parts: each as long as that many allow, and an execution no longer than
    ``longest`` (s) as far as that is possible; with the seconds of such an execution.
    """
    number, share = max(1, benchmarks), longest / seconds
    if match := GO_TIME.search(offer.cmd):
        fitting = int(float(match[0]) * share) // 10 * 10
        after: float = max(GO_LEAST, min(_milliseconds(number), fitting))
    elif match := NODE_TIME.search(offer.cmd):
        fitting_seconds = min(NODE_ALL / number, float(match[0]) * share)
        after = max(NODE_LEAST, round(fitting_seconds, 1))
    if match is None or after >= float(match[0]):
        return offer, seconds
    cmd = f"{offer.cmd[: match.start()]}{after}{offer.cmd[match.end() :]}"
    return replace(offer, cmd=cmd), seconds * after / float(match[0])


def pyperf(offer: Proposal) -> Proposal:
    """Scripts that pyperf runs, with what it reports: as a whole each takes as long as it likes."""
    return replace(
        offer,
        found=f"{offer.found}, a unit for each",
        cmd=f"{offer.cmd} {PYPERF_OPTIONS}",
        beside=tuple((name, f"{cmd} {PYPERF_OPTIONS}") for name, cmd in offer.beside),
        reads='{ format = "pyperf", file = "pyperf.json" }',
    )


def node(
    root: Path, scripts: Mapping[str, str], needed: Mapping[str, str], build: tuple[str, ...]
) -> Iterator[Proposal]:
    """Vitest's benchmarks, and scripts named after benchmarks, with what their harness reports and
    as a whole; ``needed`` are the packages of package.json.
    """
    if "vitest" in needed and project_files(root, "**/*.bench.[jt]s"):
        cmd = "npx vitest bench --run --outputJson=vitest.json"
        yield Proposal(
            "a Node project with benchmarks of Vitest", cmd, "bench", build, reads=VITEST_FILE
        )
    harness = next((name for name in NODE if name in needed), "")
    for name in ("bench", "benchmark", "benchmarks", "perf"):
        if name not in scripts:
            continue
        found = f"a Node project with a script `{name}`"
        plain = direct(scripts, name, needed)
        if not is_there(root, plain):
            continue
        cmd = plain or f"npm run --silent {name}"
        proposal = Proposal(
            found, cmd, name, build, copied=(("package.json", plain),) if plain else ()
        )
        if harness:
            brief = f"env {NODE_SECONDS}{NODE_MOST} {cmd}" if harness == "benchmark" else cmd
            yield replace(proposal, found=f"{found} ({harness})", cmd=brief, reads=NODE[harness])
        yield proposal


def jmh(root: Path) -> Iterator[Proposal]:
    """Benchmarks of JMH, whose jar the build makes."""
    if "jmh-core" in file_text(root / "pom.xml"):
        yield Proposal(
            "a Maven project with benchmarks of JMH",
            f"java -jar target/benchmarks.jar {JMH_OPTIONS}",
            "bench",
            ("mvn --batch-mode --quiet -DskipTests package",),
            reads=JMH_FILE,
        )
    gradle = "".join(file_text(root / name) for name in ("build.gradle", "build.gradle.kts"))
    if "me.champeau.jmh" in gradle:
        yield Proposal(
            "a Gradle project with benchmarks of JMH",
            f"java -cp 'build/libs/*' org.openjdk.jmh.Main {JMH_OPTIONS}",
            "bench",
            (f"{gradle_of(root)} --no-daemon --quiet jmhJar",),
            reads=JMH_FILE,
        )


def gradle_of(root: Path) -> str:
    """The Gradle that a project brings, else the machine's."""
    return "./gradlew" if (root / "gradlew").is_file() else "gradle"


def reporting(folder: Path, sources: list[str]) -> Iterator[tuple[str, str]]:
    """The options with which a program of these sources reports its benchmarks, and the format in
    which it does, if its harness is known; ``folder`` is the one of its CMakeLists.txt.
    """
    text = "\n".join(file_text(folder / name) for name in sources[:MOST_SOURCES])
    included = "\n".join(re.findall(r"^[ \t]*#[ \t]*include.*", text, re.MULTILINE))
    for header, (options, reads) in REPORTING.items():
        if header in included:
            hidden = reads == "catch2" and HIDDEN.search(text)
            yield f"{options} [!benchmark]" if hidden else options, reads
