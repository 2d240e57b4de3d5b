"""What a project of Java offers to `perf init`: benchmarks of JMH, classes that are benchmarks by
themselves, and its tests.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from perfvcs.jobs import harnessoffers
from perfvcs.jobs.benchscripts import BENCHMARK_FOLDERS
from perfvcs.jobs.ownfiles import BESIDE, file_text, own_files
from perfvcs.jobs.starter import Proposal

MOST_SOURCES = 500  # sources whose folder of packages is looked up
MOST_CLASSES = 3  # classes that are proposed
MAIN = re.compile(r"\bpublic\s+static\s+void\s+main\s*\(|\bstatic\s+public\s+void\s+main\s*\(")
NAME = re.compile(r"(?:.*[a-z0-9])?(?:Bench|Benchmarks?|Perf|Performance|Speed)(?:[A-Z0-9].*)?")
# it may only say how to use it
ASKS = re.compile(r"\bargs\s{0,9}\.length\b|:\s{0,9}args\s{0,9}\)|\bargs\s{0,9}\[")
PACKAGE = re.compile(r"^\s{0,99}package\s+([\w.]{1,300})\s{0,9};", re.MULTILINE)
IMPORTED = re.compile(r"^\s{0,99}import\s+(?:static\s+)?([\w.]{1,300})", re.MULTILINE)
OF_JAVA = ("java.", "javax.", "jdk.", "org.w3c.dom.", "org.xml.sax.")
RESOURCES = ("src/main/resources", "src/test/resources")
OUT = "build/perf-classes"


def offers(root: Path) -> Iterator[Proposal]:
    """The best first: harnesses, classes with a ``main`` that are benchmarks, then tests."""
    yield from harnessoffers.jmh(root)
    sources = [name for name in own_files(root) if name.endswith(".java")]
    yield from _classes(root, sources)
    tested = any(PurePosixPath(name).stem.endswith(("Test", "Tests")) for name in sources)
    if not tested:
        return
    if (root / "pom.xml").is_file():
        yield Proposal(
            "a Maven project with tests",
            "mvn --batch-mode --quiet test",
            "tests",
            ("mvn --batch-mode --quiet test-compile",),
        )
    if any((root / name).is_file() for name in ("build.gradle", "build.gradle.kts")):
        tool = harnessoffers.gradle_of(root)
        yield Proposal(
            "a Gradle project with tests",
            f"{tool} --no-daemon --quiet cleanTest test",
            "tests",
            (f"{tool} --no-daemon --quiet testClasses",),
        )


def _classes(root: Path, sources: Sequence[str]) -> Iterator[Proposal]:
    """Classes that are benchmarks by their name and have a ``main``, compiled by javac alone: those
    that import what is neither Java's nor the project's need another tool.
    """
    folders: dict[str, None] = {}  # those in which packages of the product begin
    packages: set[str] = set()
    for name in sources[:MOST_SOURCES]:
        package = _package(file_text(root / name))
        folder = _begins(name, package)
        if folder is None or not package or BESIDE.intersection(folder.split("/")):
            continue
        folders[folder] = None
        packages.add(package)
    named = [name for name in sources if _is_named(name)]
    plain = [name for name in named if _is_plain(file_text(root / name), packages)]
    # the shortest name is that of all benchmarks
    for name in sorted(plain, key=lambda name: len(PurePosixPath(name).stem))[:MOST_CLASSES]:
        package = _package(file_text(root / name))
        if (folder := _begins(name, package)) is None:
            continue
        among = [folder, *(other for other in folders if other != folder)]
        compiled = ["javac", "-d", OUT, "-sourcepath", ":".join(among), name]
        stem = PurePosixPath(name).stem
        resources = [path for path in RESOURCES if (root / path).is_dir()]
        run = ["java", "-cp", ":".join([OUT, *resources]), f"{package}.{stem}".lstrip(".")]
        yield Proposal(
            f"found the benchmark {name}", shlex.join(run), stem.lower(), (shlex.join(compiled),)
        )


def _package(text: str) -> str:
    match = PACKAGE.search(text)
    return match[1] if match else ""


def _begins(name: str, package: str) -> str | None:
    """The folder in which the packages of a source begin; None where it lies elsewhere than its
    package says.
    """
    folder = PurePosixPath(name).parent.as_posix()
    if not package:
        return folder
    inside = package.replace(".", "/")
    if folder == inside:
        return "."
    return folder.removesuffix(f"/{inside}") if folder.endswith(f"/{inside}") else None


def _is_named(name: str) -> bool:
    path = PurePosixPath(name)
    called = NAME.fullmatch(path.stem) is not None
    return name.isprintable() and (called or path.parts[0] in BENCHMARK_FOLDERS)


def _is_plain(text: str, packages: set[str]) -> bool:
    """Whether a source is a program that javac compiles with the project alone."""
    imported = IMPORTED.findall(text)
    own = tuple(f"{package}." for package in packages if package)
    if not MAIN.search(text) or ASKS.search(text):
        return False
    return all(name.startswith((*OF_JAVA, *own)) for name in imported)
