"""Commands that `perf init` proposes for a project, by its files, the best first; measure/trial.py
tries them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from perfvcs.jobs import pythonoffers, starter
from perfvcs.jobs.starter import BENCHMARK_FOLDERS, Proposal, file_text, project_files

SWITCHES_OFF = re.compile(
    r"(^|_)(WITHOUT|NO|DISABLE|SKIP|INSTALL|FETCH\w*|DOWNLOAD|VALGRIND|FUZZ\w*|COVERAGE)(_|$)"
)  # options of CMake
CMAKE = "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release"
MOST_SOURCES = 20  # of a program that are read
# By default these fit their work to the clock, so that what is slower does not take longer. By what
# a program includes: options for the same work in each execution, every benchmark 100 times.
SAME_WORK = {
    "benchmark/benchmark.h": "--benchmark_min_time=1e-9 --benchmark_repetitions=100"
    " --benchmark_report_aggregates_only=true",
    "catch2/catch": "--benchmark-no-analysis --benchmark-warmup-time 0",
}


def proposals(root: Path) -> list[Proposal]:
    """Everything that a project in a folder offers; the last resort, a command that is to be
    replaced, is not among it.
    """
    overlay, script = _benchmark(root)
    suite = list(starter.proposals(root))
    offers = [*suite, *(offer for propose in PROPOSERS for offer in propose(root))]
    if script and not suite:  # its files are no programs
        base = next(
            (offer for offer in offers if offer.python is not None or offer.build),
            Proposal("", "", ""),
        )
        python = None if base.python is None else (".",)
        offers.insert(
            0,
            Proposal(
                f"found the benchmark {script}",
                _interpreted(script),
                Path(script).stem,
                base.build,
                overlay,
                python,
            ),
        )
    inside = overlay.rstrip("/")
    return [
        replace(offer, overlay=overlay)
        if inside and inside in offer.cmd and not offer.overlay
        else offer
        for offer in offers
    ]


def placeholder(root: Path) -> Proposal:
    """The content of perf.toml if nothing is proposed."""
    overlay, _ = _benchmark(root)
    return Proposal(
        "found nothing to run: write the command to measure as the `cmd` of the job",
        "./benchmark",
        "benchmark",
        overlay=overlay,
    )


def _benchmark(root: Path) -> tuple[str, str]:
    """The folder of benchmarks, as an overlay entry, and a script in it (or beside it); empty
    without one.
    """
    for folder in BENCHMARK_FOLDERS:
        if (root / folder).is_dir():
            scripts = sorted(
                path.name
                for path in (root / folder).iterdir()
                if path.suffix in (".py", ".sh")
                and path.stem != "conftest"
                and path.name.isprintable()
                and not path.name.startswith(("_", "test_"))
            )
            return f"{folder}/", f"{folder}/{scripts[0]}" if scripts else ""
    scripts = sorted(
        path.name
        for path in root.glob("*.py")
        if re.match(r"(bench|perf)", path.name) and path.name.isprintable()
    )
    return (scripts[0], scripts[0]) if scripts else ("", "")


def _interpreted(script: str) -> str:
    return f"{'python' if script.endswith('.py') else 'sh'} {shlex.quote(script)}"


def _rust(root: Path) -> Iterator[Proposal]:
    text = file_text(root / "Cargo.toml")
    # any bytes may have that name
    if not re.search(r"^[ \t]*\[(package|workspace)\b", text, re.MULTILINE):
        return
    if list((root / "benches").glob("*.rs")) or "[[bench]]" in text:
        yield Proposal(
            "a Rust project with benches", "cargo bench", "bench", ("cargo bench --no-run",)
        )
    for path in sorted((root / "examples").glob("*bench*.rs")):
        yield Proposal(
            "a Rust project with an example",
            f"target/release/examples/{path.stem}",
            path.stem,
            ("cargo build --release --examples",),
        )
    name = re.search(r'^name\s*=\s*"([\w.-]+)"', text, re.MULTILINE)
    if name and (root / "src/main.rs").exists() and not list((root / "tests").glob("*.rs")):
        program = f"target/release/{name[1]}"
        yield Proposal(
            "a Rust program: measure it at work",
            f"{program} --version",
            name[1],
            ("cargo build --release",),
        )
    yield Proposal(
        "a Rust project with tests",
        "cargo test --release --quiet",
        "tests",
        ("cargo test --release --quiet --no-run",),
    )
    yield Proposal(
        "a Rust project with tests",
        "cargo test --release --quiet --lib",
        "tests",
        ("cargo test --release --quiet --lib --no-run",),
    )


def _go(root: Path) -> Iterator[Proposal]:
    if not (root / "go.mod").exists():
        return
    counts: dict[str, int] = {}
    for path in project_files(root, "**/*_test.go"):
        inside = path.parent.relative_to(root).as_posix()
        counts[inside] = counts.get(inside, 0) + len(
            re.findall(r"^func Benchmark\w*\(", file_text(path), re.MULTILINE)
        )
    for inside, count in sorted(counts.items(), key=lambda pair: -pair[1])[:2]:
        if count:
            package = "." if inside == "." else f"./{inside}"
            yield Proposal(
                f"a Go project with {count} benchmarks in {package}",
                f"go test -run ^$ -bench . -benchtime 100x {shlex.quote(package)}",
                "bench",
                (f"go test -run ^$ {shlex.quote(package)}",),
            )
    if counts:
        yield Proposal(
            "a Go project with tests", "go test -count=1 ./...", "tests", ("go test -run ^$ ./...",)
        )
    yield Proposal(
        "a Go program: measure it at work", "go run . --help", "run", ("go build ./...",)
    )


def _node(root: Path) -> Iterator[Proposal]:
    text = file_text(root / "package.json")
    if not text:
        return
    import msgspec

    class Package(msgspec.Struct):
        scripts: dict[str, str] = {}
        dependencies: dict[str, str] = {}

    try:
        package = msgspec.json.decode(text, type=Package)
    except (msgspec.DecodeError, RecursionError):
        package = Package()
    locked = any((root / name).exists() for name in ("package-lock.json", "npm-shrinkwrap.json"))
    whole = (f"npm {'ci' if locked else 'install'} --no-audit --no-fund",)
    small = (
        ("npm install --no-audit --no-fund --omit=dev --ignore-scripts",)
        if package.dependencies
        else ()
    )
    for name in ("bench", "benchmark", "benchmarks", "perf"):
        if name in package.scripts:
            yield Proposal(
                f"a Node project with a script `{name}`", f"npm run --silent {name}", name, whole
            )
    for path in [
        *root.glob("bench*.js"),
        *(path for folder in BENCHMARK_FOLDERS for path in sorted((root / folder).glob("*.js"))),
    ][:3]:
        inside = path.relative_to(root).as_posix()
        for build in dict.fromkeys((whole, small)):
            yield Proposal(
                f"a Node project with the benchmark {inside}",
                f"node {shlex.quote(inside)}",
                path.stem,
                build,
            )
    if "test" in package.scripts and "no test specified" not in package.scripts["test"]:
        yield Proposal("a Node project with tests", "npm test --silent", "tests", whole)
    yield Proposal(
        "a Node project: measure something better than its loading",
        "node -e \"import('./index.js').catch(() => require('.'))\"",
        "load",
        small,
    )
    yield Proposal(
        "a Node project: measure something better than its loading",
        "node -e \"require('.')\"",
        "load",
        small,
    )


def _native(root: Path) -> Iterator[Proposal]:
    yield from _cmake(root)
    yield from _meson(root)
    if (root / "configure").is_file():
        for target in ("bench", "benchmark", "check", "test"):
            yield Proposal(
                f"a project with configure: make {target}",
                f"make {target}",
                target,
                ("./configure", "make -j2"),
            )
    makefile = next(
        (
            text
            for name in ("GNUmakefile", "makefile", "Makefile")
            if (text := file_text(root / name))
        ),
        "",
    )
    if makefile:
        targets = re.findall(r"^([\w.-]+)\s*:(?![=:])", makefile, re.MULTILINE)
        for target in ("bench", "benchmark", "benchmarks", "perf", "check", "test", "tests"):
            if target in targets:
                yield Proposal(
                    f"a project with a Makefile: make {target}",
                    f"make {target}",
                    target,
                    ("make -j2",),
                )
                yield Proposal(
                    f"a project with a Makefile: make {target}", f"make {target}", target
                )


def _cmake(root: Path) -> Iterator[Proposal]:
    """Programs named after benchmarks, of Google Benchmark and Catch2 too, then what ctest runs."""
    if not (root / "CMakeLists.txt").exists():
        return
    lists = [(path, file_text(path)) for path in project_files(root, "**/CMakeLists.txt")]
    names = dict.fromkeys(
        re.findall(
            r"\b(?:cmake_dependent_)?option\s*\(\s*(\w+)",
            "\n".join(text for _, text in lists),
            re.IGNORECASE,
        )
    )
    options = [name for name in names if not SWITCHES_OFF.search(name)]
    on = [f"-D{name}=ON" for name in options if re.search(r"BENCH|PERF", name)]
    tests = [
        f"-D{name}=ON" for name in options if re.search(r"(^|_)(BUILD_)?TESTS?(ING|S)?(_|$)", name)
    ]
    for path, text in lists:
        for name, sources in re.findall(
            r"add_executable\s*\(\s*([\w.-]*(?:bench|perf)[\w.-]*)([^)]*)", text, re.IGNORECASE
        )[:3]:
            inside = path.parent.relative_to(root).as_posix()
            program = f"build/{name}" if inside == "." else f"build/{inside}/{name}"
            build = (" ".join([CMAKE, *on]), f"cmake --build build -j2 --target {name}")
            found = f"a CMake project with the program {name}"
            if same := _same_work(path.parent, sources.split()):
                cmd = f"{program} {same}"
                yield Proposal(f"{found}, at the same work each time", cmd, name, build)
            yield Proposal(found, program, name, build)
    for flags in dict.fromkeys((" ".join(tests), "")):
        yield Proposal(
            "a CMake project with tests",
            "ctest --test-dir build --no-tests=error",
            "tests",
            (f"{CMAKE} {flags}".strip(), "cmake --build build -j2"),
        )


def _same_work(folder: Path, sources: list[str]) -> str:
    """The options with which a program of these sources does the same work each time, if it has
    such; ``folder`` is the one of its CMakeLists.txt.
    """
    text = "\n".join(file_text(folder / name) for name in sources[:MOST_SOURCES])
    included = "\n".join(re.findall(r"^[ \t]*#[ \t]*include.*", text, re.MULTILINE))
    return next((options for header, options in SAME_WORK.items() if header in included), "")


def _meson(root: Path) -> Iterator[Proposal]:
    if (root / "meson.build").exists():
        build = ("meson setup build --buildtype=release", "ninja -C build")
        yield Proposal(
            "a Meson project with benchmarks", "meson test -C build --benchmark", "bench", build
        )
        yield Proposal("a Meson project with tests", "meson test -C build", "tests", build)


PROPOSERS: tuple[Callable[[Path], Iterator[Proposal]], ...] = (
    pythonoffers.offers,
    _rust,
    _go,
    _node,
    _native,
)
