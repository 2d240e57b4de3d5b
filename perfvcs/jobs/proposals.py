"""Commands that `perf init` proposes for a project, by its files, the best first; measure/trial.py
tries them.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfvcs.jobs import starter
from perfvcs.jobs.starter import Proposal
from perfvcs.profile.rules import LARGEST_RULES
from perfvcs.system.foreign import beginning

BENCHMARK_FOLDERS = ("bench", "benches", "benchmark", "benchmarks", "perf")
PROPOSED_REPEATS = 5
PYTEST = f'{{ name = "pytest", repeat = {PROPOSED_REPEATS} }}'
EXTRAS = ("test", "tests", "testing", "dev")  # what projects call what their tests need
MOST_FILES = 2_000  # files that are looked at
MOST_ARGUMENTS = 20  # files in one command
USES_BENCHMARK = re.compile(
    r"^[ \t]*(?:async )?def test\w*\([^()]*\bbenchmark\b", re.MULTILINE
)  # the fixture of pytest-benchmark
SWITCHES_OFF = re.compile(
    r"(^|_)(WITHOUT|NO|DISABLE|SKIP|INSTALL|FETCH\w*|DOWNLOAD|VALGRIND|FUZZ\w*|COVERAGE)(_|$)"
)  # options of CMake
CMAKE = "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release"


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


def _text(path: Path) -> str:
    return beginning(path, LARGEST_RULES)


def _files(root: Path, pattern: str) -> list[Path]:
    """Files below a folder, those higher up first; none of hidden folders, and none that somebody
    else's packages brought.
    """
    files = []
    for path in sorted(root.glob(pattern), key=lambda path: (len(path.parts), path))[:MOST_FILES]:
        inside = path.relative_to(root).parts
        if (
            path.is_file()
            and not {"node_modules", "vendor", "third_party"}.intersection(inside)
            and not inside[0].startswith(".")
        ):
            files.append(path)
    return files


def _python(root: Path) -> Iterator[Proposal]:
    if not any((root / name).exists() for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        if tests := _tests(root):
            yield Proposal(
                "Python tests", f"python -m pytest {shlex.quote(tests)}", "tests", collector=PYTEST
            )
        return
    extra, needed = _needed_by_tests(root)
    plain = Proposal("", "", "", python=(".",), requires=("pytest",), collector=PYTEST)
    full = replace(plain, python=(f".[{extra}]" if extra else ".",), requires=("pytest", *needed))
    variants = [full] if full == plain else [full, plain]
    yield from _pytest_benchmarks(root, variants)
    if tests := _tests(root):
        for variant in variants:
            yield replace(
                variant,
                found="a Python project with tests",
                cmd=f"python -m pytest {shlex.quote(tests)}",
                name="tests",
            )
    yield _import_of(root)


def _pytest_benchmarks(root: Path, variants: Iterable[Proposal]) -> Iterator[Proposal]:
    """Folders of benchmarks for pytest, then files with tests of pytest-benchmark."""
    measuring = [
        replace(variant, requires=tuple(dict.fromkeys((*variant.requires, "pytest-benchmark"))))
        for variant in variants
    ]
    for path in (root / folder for folder in BENCHMARK_FOLDERS):
        tests = [*path.glob("test_*.py"), *path.glob("*benchmark*_test.py")]
        for variant in measuring if tests else ():
            yield replace(
                variant,
                found="a Python project with benchmarks for pytest",
                cmd=f"python -m pytest {path.name}",
                name=path.name,
            )
    files = [
        path.relative_to(root).as_posix()
        for path in _files(root, "**/*test*.py")
        if USES_BENCHMARK.search(_text(path))
    ]
    files = [name for name in files if name.partition("/")[0] not in BENCHMARK_FOLDERS]
    for variant in measuring if files else ():
        yield replace(
            variant,
            found="a Python project with tests of pytest-benchmark",
            cmd=f"python -m pytest {shlex.join(files[:MOST_ARGUMENTS])}",
            name="benchmarks",
        )


def _import_of(root: Path) -> Proposal:
    """The import of a project's first package or module; without any, an empty program."""
    packages = [
        path.parent.name
        for path in sorted([*root.glob("*/__init__.py"), *root.glob("src/*/__init__.py")])
    ]
    names = [
        name
        for name in packages
        if name.isidentifier() and not re.match(r"(tests?|docs?|examples?)$", name)
    ]
    names += [
        path.stem
        for path in sorted([*root.glob("src/*.py"), *root.glob("*.py")])
        if path.stem not in ("setup", "conftest")
    ]
    words = f"import {names[0]}" if names else "pass"
    return Proposal(
        "a Python project: measure something better than its import",
        f'python -c "{words}"',
        words,
        python=(".",),
    )


def _tests(root: Path) -> str:
    """The folder with a project's tests; empty without one."""
    for name in ("tests", "test"):
        folder = root / name
        if any(folder.rglob("test*.py")) or any(folder.rglob("*_test.py")):
            return name
    # what pytest looks for
    files = (path for pattern in ("**/test_*.py", "**/*_test.py") for path in _files(root, pattern))
    return next((str(path.parent.relative_to(root)) for path in files), "")


def _needed_by_tests(root: Path) -> tuple[str, tuple[str, ...]]:
    """The extra that tests need, and requirements that are not in one."""
    table: dict[str, Any] = {}
    with suppress(ValueError, RecursionError):
        table = tomllib.loads(_text(root / "pyproject.toml"))
    project, groups = table.get("project", {}), table.get("dependency-groups", {})
    extras = project.get("optional-dependencies", {}) if isinstance(project, dict) else {}
    extra = next((name for name in EXTRAS if isinstance(extras, dict) and name in extras), "")
    group: list[object] = next(
        (
            groups[name]
            for name in EXTRAS
            if isinstance(groups, dict) and isinstance(groups.get(name), list)
        ),
        [],
    )
    needed = [word for word in group if isinstance(word, str)]
    for name in (
        "requirements-test.txt",
        "requirements-tests.txt",
        "test-requirements.txt",
        "tests/requirements.txt",
        "requirements/test.txt",
    ):
        if (root / name).is_file():
            needed.append(f"-r{name}")
            break
    return extra, tuple(needed)


def _rust(root: Path) -> Iterator[Proposal]:
    text = _text(root / "Cargo.toml")
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
    for path in _files(root, "**/*_test.go"):
        inside = path.parent.relative_to(root).as_posix()
        counts[inside] = counts.get(inside, 0) + len(
            re.findall(r"^func Benchmark\w*\(", _text(path), re.MULTILINE)
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
    text = _text(root / "package.json")
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
        (text for name in ("GNUmakefile", "makefile", "Makefile") if (text := _text(root / name))),
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
    lists = [(path, _text(path)) for path in _files(root, "**/CMakeLists.txt")]
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
        for name in re.findall(
            r"add_executable\s*\(\s*([\w.-]*(?:bench|perf)[\w.-]*)", text, re.IGNORECASE
        )[:3]:
            inside = path.parent.relative_to(root).as_posix()
            program = f"build/{name}" if inside == "." else f"build/{inside}/{name}"
            build = (" ".join([CMAKE, *on]), f"cmake --build build -j2 --target {name}")
            yield Proposal(f"a CMake project with the program {name}", program, name, build)
    for flags in dict.fromkeys((" ".join(tests), "")):
        yield Proposal(
            "a CMake project with tests",
            "ctest --test-dir build --no-tests=error",
            "tests",
            (f"{CMAKE} {flags}".strip(), "cmake --build build -j2"),
        )


def _meson(root: Path) -> Iterator[Proposal]:
    if (root / "meson.build").exists():
        build = ("meson setup build --buildtype=release", "ninja -C build")
        yield Proposal(
            "a Meson project with benchmarks", "meson test -C build --benchmark", "bench", build
        )
        yield Proposal("a Meson project with tests", "meson test -C build", "tests", build)


PROPOSERS: tuple[Callable[[Path], Iterator[Proposal]], ...] = (_python, _rust, _go, _node, _native)
