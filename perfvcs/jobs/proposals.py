"""Commands that `perf init` proposes for a project, by its files, the best first; measure/trial.py
tries them.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from perfvcs.jobs import benchscripts, harnessoffers, javaoffers, makefile, pythonoffers, starter
from perfvcs.jobs.benchscripts import (
    BENCHMARK_FOLDERS,
    MAYBE_FOLDERS,
    BenchmarkScript,
    benchmark_scripts,
    beside_each_other,
    commands,
    shell_of,
)
from perfvcs.jobs.hazards import hazards
from perfvcs.jobs.npmscripts import direct, is_there
from perfvcs.jobs.ownfiles import (
    BESIDE,
    file_text,
    language_of,
    lines_by_language,
    own_files,
    project_files,
)
from perfvcs.jobs.starter import Proposal, quoted

SWITCHES_OFF = re.compile(
    r"(^|_)(WITHOUT|NO|DISABLE|SKIP|INSTALL|FETCH\w*|DOWNLOAD|VALGRIND|FUZZ\w*|COVERAGE)(_|$)"
)  # options of CMake
CMAKE = "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release"
# without any of these, ctest finds no test after the whole build
HAS_TESTS = re.compile(
    r"\b(?:enable_testing|add_test|\w{1,40}_discover_tests)[ \t]{0,9}\(|\bCTest\b", re.IGNORECASE
)
# all programs of tests that cargo built, whose names nobody knows before
RUST_TESTS = (
    "sh -c 'for test in target/release/deps/*; do"
    ' case $test in *.*) ;; *) "$test" --quiet || exit 1 ;; esac; done\''
)
# of other packages, and of documents
OTHER_RUST_TESTS = re.compile(
    r"#\[[\w:]{1,50}test\b|#\[rstest\b|\bproptest!|\bquickcheck\b|^[ \t]{0,99}//[/!] ?```",
    re.MULTILINE,
)
RUST_PROGRAM = re.compile(
    r"^[ \t]{0,99}(?:\[\[[ \t]{0,99}['\"]?bin\b|['\"]?bin['\"]?[ \t]{0,99}=)", re.MULTILINE
)  # in Cargo.toml
RUN_TESTS = re.compile(r"(?:(?:scripts|tests?|tools)/)?run[-_]?tests?(?:\.(?:py|sh))?")
MOST_NAMED = 3  # benchmarks that a proposal names
# share of the lines from which a language is one of the project's, and its packaging comes first
LEAST_SHARE, MAIN_SHARE = 0.05, 0.2
PACKAGING = {
    "python": ("pyproject.toml", "setup.py", "setup.cfg"),
    "rust": ("Cargo.toml",),
    "go": ("go.mod",),
    "java": ("pom.xml", "build.gradle", "build.gradle.kts"),
    "node": ("package.json",),
    "native": ("CMakeLists.txt", "meson.build", "configure"),
}
# what is proposed only where nothing else runs
STARTS = ("than its import", "than its loading", "measure it at work")


def proposals(root: Path) -> list[Proposal]:
    """Everything that a project in a folder offers, the best first; the last resort, a command that
    is to be replaced, is not among it.

    Suites and scripts that are benchmarks come first, then what the languages offer, those with the
    most lines first, and at the end what only starts the project.
    """
    files = own_files(root)
    lines = lines_by_language(root, files)
    suite = list(starter.proposals(root))
    main = next((language for language, _ in lines.most_common(1)), "")
    # a suite's files are no programs
    scripts = [] if suite else benchmark_scripts(root, files, main)
    languages = [offer for propose in _proposers(root, lines) for offer in propose(root)]
    offers = [*suite, *_of_scripts(root, scripts, languages), *languages]
    offers = offers or [*_below(root, files)]
    offers = sorted(
        _each_once(_reading_first(offers)), key=lambda offer: offer.found.endswith(STARTS)
    )
    overlay = _overlay(root, scripts)
    inside = overlay.rstrip("/")
    return [
        replace(offer, overlay=overlay)
        if inside and _names(offer, inside) and not offer.overlay
        else offer
        for offer in offers
    ]


def _below(root: Path, files: list[str]) -> Iterator[Proposal]:
    """What the projects in folders offer where there is none at the top: what needs no environment
    of Python, and nothing that does something beside measuring, which is looked for at the top.
    """
    packages = frozenset().union(*PACKAGING.values())
    paths = [PurePosixPath(name) for name in files]
    folders = dict.fromkeys(
        str(path.parent)
        for path in paths
        if path.name in packages and path.parts[1:] and BESIDE.isdisjoint(path.parts)
    )
    for folder in [*folders][:MOST_NAMED]:
        for offer in proposals(root / folder):
            if offer.python is None and not offer.collector and not hazards(root / folder, offer):
                yield offer.within(folder)


def _each_once(offers: Iterable[Proposal]) -> list[Proposal]:
    """The offers without those that an earlier one makes in other words."""
    first: dict[Proposal, Proposal] = {}
    for offer in offers:
        first.setdefault(replace(offer, found="", name="", beside=(), copied=()), offer)
    return list(first.values())


def _reading_first(offers: list[Proposal]) -> Iterator[Proposal]:
    """The offers, before each the one that reads what the same command reports."""
    reading = {(offer.cmd, offer.build): offer for offer in reversed(offers) if offer.reads}
    for offer in offers:
        yield reading.get((offer.cmd, offer.build), offer)
        yield offer


def _names(offer: Proposal, inside: str) -> bool:
    """Whether an offer runs what is in a folder, or compiles it."""
    return inside in offer.cmd or any(f" {inside}/" in line for line in offer.build)


def placeholder(root: Path) -> Proposal:
    """The content of perf.toml if nothing is proposed."""
    overlay = _overlay(root, benchmark_scripts(root, own_files(root)))
    return Proposal(
        "found nothing to run: write the command to measure as the `cmd` of the job",
        "./benchmark",
        "benchmark",
        overlay=overlay,
    )


def _proposers(root: Path, lines: Counter[str]) -> Iterator[Callable[[Path], Iterator[Proposal]]]:
    """The proposers of the languages in which the project is written or packaged, the main one
    first; what is for all languages comes last.
    """
    least = LEAST_SHARE * lines.total()
    packaged = [
        name for name, files in PACKAGING.items() if any((root / file).is_file() for file in files)
    ]
    if lines and not lines["node"] and "node" in packaged:  # of a library of C, or for its tools
        packaged.remove("node")
    ranked = sorted(PROPOSERS, key=lambda name: -lines[name])
    if "python" in packaged and lines["python"] >= MAIN_SHARE * lines.total():
        ranked.sort(key=lambda name: name != "python")  # its extensions are built by its packaging
    for name in ranked:
        if name in packaged or (lines[name] and lines[name] >= least):
            yield PROPOSERS[name]
    yield makefile.offers


def _of_scripts(
    root: Path, scripts: list[BenchmarkScript], offers: list[Proposal]
) -> Iterator[Proposal]:
    """The benchmarks beside each other, all at once, then those elsewhere; with the environment and
    the build of the language's other offers, of which Node's are not needed everywhere.
    """
    while scripts:
        chosen = beside_each_other(scripts)
        scripts = [script for script in scripts if script not in chosen]
        base = next(
            (offer for offer in offers if offer.python is not None or offer.build),
            Proposal("", "", ""),
        )
        named = " and ".join(script.path for script in chosen[:MOST_NAMED])
        more = f" and {len(chosen) - MOST_NAMED} more" if len(chosen) > MOST_NAMED else ""
        for cmds in commands(root, chosen):
            (name, cmd), *beside = cmds.items()
            offer = Proposal(
                f"found the benchmark{'s' * (len(chosen) > 1)} {named}{more}",
                cmd,
                name,
                base.build,
                python=None if base.python is None else (".",),
                versions=base.versions,
                beside=tuple(beside),
            )
            if chosen[0].pyperf:
                yield harnessoffers.pyperf(offer)
                continue
            if base.build and all(script.alone for script in chosen):
                yield replace(offer, build=())
            yield offer


def _overlay(root: Path, scripts: list[BenchmarkScript]) -> str:
    """The folder of benchmarks, as an overlay entry, or a benchmark at the top; empty without
    one.
    """
    for folder in BENCHMARK_FOLDERS:
        if (root / folder).is_dir():
            return f"{folder}/"
    for folder in MAYBE_FOLDERS:
        if any(script.path.startswith(f"{folder}/") for script in scripts):
            return f"{folder}/"
    return next((script.path for script in scripts if "/" not in script.path), "")


def _rust(root: Path) -> Iterator[Proposal]:
    text = file_text(root / "Cargo.toml")
    # any bytes may have that name
    if not re.search(r"^[ \t]*\[(package|workspace)\b", text, re.MULTILINE):
        return
    yield from harnessoffers.cargo(root, text)
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
    # rustdoc compiles the tests of the documents in each execution
    texts = [file_text(path) for path in project_files(root, "**/*.rs")]
    tested = any("#[test]" in text for text in texts)
    # whose programs cargo builds for the tests, beside these
    runs = any((root / name).exists() for name in ("src/main.rs", "src/bin"))
    alone = not runs and not RUST_PROGRAM.search(text)
    if tested and alone and "[workspace" not in text:
        # cargo itself executes twenty times as much as the tests of a small library
        build = ("cargo test --release --quiet --tests --no-run",)
        yield Proposal("a Rust project with tests, without cargo", RUST_TESTS, "tests", build)
    otherwise = ("",) if any(map(OTHER_RUST_TESTS.search, texts)) else ()
    for option in (" --tests", " --lib", "") if tested else otherwise:
        cmd = f"cargo test --release --quiet{option}"
        yield Proposal("a Rust project with tests", cmd, "tests", (f"{cmd} --no-run",))


def _node(root: Path) -> Iterator[Proposal]:
    text = file_text(root / "package.json")
    if not text:
        return
    import msgspec

    class Package(msgspec.Struct):
        scripts: dict[str, str] = {}
        dependencies: dict[str, str] = {}
        devDependencies: dict[str, str] = {}

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
    needed = package.dependencies | package.devDependencies
    yield from harnessoffers.node(root, package.scripts, needed, whole)
    if "test" in package.scripts and "no test specified" not in package.scripts["test"]:
        found = "a Node project with tests"
        cmd = direct(package.scripts, "test", needed)
        if cmd and is_there(root, cmd):
            yield Proposal(found, cmd, "tests", whole, copied=(("package.json", cmd),))
        yield Proposal(found, "npm test --silent", "tests", whole)
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
            for given, reads in harnessoffers.reporting(path.parent, sources.split()):
                cmd = f"{program} {given}".rstrip()
                yield Proposal(
                    f"{found}, a unit for each benchmark", cmd, name, build, reads=quoted(reads)
                )
            yield Proposal(found, program, name, build)
    if not any(HAS_TESTS.search(text) for _, text in lists):
        yield from _run_tests(root, (CMAKE, "cmake --build build -j2"))
        return
    for flags in dict.fromkeys((" ".join(tests), "")):
        yield Proposal(
            "a CMake project with tests",
            "ctest --test-dir build --no-tests=error",
            "tests",
            (f"{CMAKE} {flags}".strip(), "cmake --build build -j2"),
        )


def _run_tests(root: Path, build: tuple[str, ...]) -> Iterator[Proposal]:
    """Scripts that run the tests of what was built, inside the build or at the top."""
    for path in own_files(root):
        if not RUN_TESTS.fullmatch(path):
            continue
        is_python = language_of(root, path) == "python"
        program = "python3" if is_python else shell_of(root, path)
        script = shlex.quote(path)
        for cmd in (f"env -C build {program} ../{script}", f"{program} {script}"):
            yield Proposal(f"a CMake project with {path}", cmd, "tests", build)


def _meson(root: Path) -> Iterator[Proposal]:
    """What meson runs of its benchmarks and tests; where there are none, it succeeds as well."""
    if not (root / "meson.build").exists():
        return
    text = "\n".join(file_text(path) for path in project_files(root, "**/meson.build"))
    build = ("meson setup build --buildtype=release", "ninja -C build")
    if re.search(r"^[ \t]*benchmark[ \t]?\(", text, re.MULTILINE):
        yield Proposal(
            "a Meson project with benchmarks", "meson test -C build --benchmark", "bench", build
        )
    if re.search(r"^[ \t]*test[ \t]?\(", text, re.MULTILINE):
        yield Proposal("a Meson project with tests", "meson test -C build", "tests", build)


PROPOSERS: dict[str, Callable[[Path], Iterator[Proposal]]] = {
    "python": pythonoffers.offers,
    "rust": _rust,
    "go": harnessoffers.go,
    "java": javaoffers.offers,
    "node": _node,
    "native": _native,
    "perl": benchscripts.perl,
    "lua": benchscripts.lua,
    "ruby": benchscripts.ruby,
    "shell": benchscripts.shell,
}
