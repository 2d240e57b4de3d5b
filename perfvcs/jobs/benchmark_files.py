"""Which files measure: the overlay, workloads, benchmarks and tests, and what their commands read
by themselves.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from typing import NamedTuple

from perfvcs.check.change import Difference
from perfvcs.git.blobs import ChangedFile, Links, TooManyLinks
from perfvcs.jobs.commandwords import LONGEST_COMMAND, PYTHON, entered, started, words
from perfvcs.jobs.configchanges import MOST_NAMED, Table, tables, texts
from perfvcs.profile.rules import RULES_FILE

DEEPEST_ENTRY = 100  # folders
MOST_FILLED = 10_000  # paths with the name of a workload in them
MOST_ENTERED = 8  # folders of one command that it enters

# what is called so measures or tests, whether a command names it or not
FOLDERS = frozenset({"asv_bench", "bench", "benches", "benchmark", "benchmarks", "perf"})
BENCHMARK = r"(?i:bench.*|.*[-_.]bench(?:marks?)?)\.[^.]+"
TEST = r"test_.*\.py|.*_test\.(?:py|go)|conftest\.py"
TEST_FOLDERS = frozenset({"test", "testing", "tests"})
TESTING = r"\b(?:pytest|unittest)\b|\bgo test\b"
CONFIGURES = "conftest.py"  # pytest loads it by itself
SERVICE = r"\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.yml"
PROSE = (
    r"(?i:.*\.(?:md|rst|adoc)|(?:readme|changelog|changes|news|authors|copying|licen[cs]e)[^/]*)"
)
ATTRIBUTES = ".gitattributes"  # by which git writes the files of a checkout
KINDS = ("overlay", "workload", "benchmark", "test", "checkout's", "service's job")

# what the tools in a command read unasked, in any folder; patterns are compiled when they are used
ANY_FOLDER = r"\A(?:[^/]*/)*"
PYTEST = r"\.?pytest\.(?:ini|toml)|pyproject\.toml|setup\.cfg|tox\.ini"
READ_BY = {
    "make bmake gmake": r"(?:GNU)?[Mm]akefile[^/]*|[^/]+\.ma?k",
    "cmake ctest ninja meson": (
        r"CMakeLists\.txt|CTest[^/]*|CMake\w*Presets\.json|[^/]+\.(?:cmake|ninja)|meson\.build|meson[._]options[^/]*"
    ),
    "node npm npx pnpm yarn bun deno": (
        r"package\.json|\.npmrc|\.yarnrc[^/]*|\.?pnpm[^/]*|bunfig\.toml|deno\.jsonc?|\w+\.config\.[cm]?[jt]s"
    ),
    "pytest tox nox asv": rf"{PYTEST}|noxfile\.py|asv[^/]*\.conf\.json",
    "cargo": r"Cargo\.toml|build\.rs|rust-toolchain[^/]*|\.cargo/config[^/]*",
    "go": r"go\.(?:mod|work)",
    "mvn mvnw gradle gradlew sbt ant": (
        r"pom\.xml|\.mvn/[\s\S]+|[^/]+\.gradle(?:\.kts)?|gradle\.properties|build\.(?:sbt|xml)"
    ),
    "bazel bazelisk": r"(?:BUILD|WORKSPACE|MODULE)(?:\.bazel)?|\.bazelrc|[^/]+\.bzl",
    "dotnet": r"[^/]+\.\w+proj|Directory\.[^/]+\.(?:props|targets)|global\.json",
    "just task rake mix zig scons": (
        r"\.?[Jj]ustfile|[Tt]askfile[^/]*|Rakefile|mix\.exs|build\.zig[^/]*|SCons\w+"
    ),
}
PYTEST_FILES = rf"{ANY_FOLDER}(?:{PYTEST})"
TOOL_FILES = {
    tool: rf"{ANY_FOLDER}(?:{names})" for tools, names in READ_BY.items() for tool in tools.split()
}

# what stands before or behind a path in a word: --conf=run.ini, @args
APART = r"[\s=,:;&|<>()@\"'`]+"
SHORT = r"-[A-Za-z](?=[^-])"  # an option that its value follows at once: -frun.mk
WORKLOAD = "{workload}"


class _Places(NamedTuple):
    """Paths of files and folders: of the overlay and of workloads, ``named`` by commands, by those
    that run tests (``tested``).

    Links of benchmarks lead to what is ``reached``.
    """

    overlay: set[str]
    workloads: set[str]
    named: set[str]
    tested: set[str]
    reached: set[str]


def of_files(
    old: Table, new: Table, changed: Sequence[ChangedFile], links: Links | None = None
) -> list[Difference]:
    """The files that measure among those that differ, by kind: see ``KINDS``.

    A file that a command names, or to which a link of a benchmark leads, may be the program itself:
    it is not listed where it alone changed, but for prose. New tests are not listed.
    """
    differences = []
    try:
        kinds = by_kind(old, new, changed, links or Links())
    except TooManyLinks:
        differences = [Difference(what="links (too many to follow)")]
        kinds = by_kind(old, new, changed, Links())
    return differences + [
        Difference(
            what=f"the {kind}",
            files=[file.path for file in files[:MOST_NAMED]],
            more=max(0, len(files) - MOST_NAMED),
        )
        for kind, files in kinds.items()
    ]


def by_kind(
    old: Table, new: Table, changed: Sequence[ChangedFile], links: Links
) -> dict[str, list[ChangedFile]]:
    """The files of each kind among those that differ, all of them: what commands name first, and
    what is new last. Raises TooManyLinks.
    """
    both = [new] if old == new else [old, new]
    asked = {text for table in both for text in commands(table)}
    tools = _read_by({each.program for text in asked for each in started(text)})
    tests = any(map(_runs_tests, both))
    places = _places(both, links)
    overlay, workloads, named = map(_with_above, (places.overlay, places.workloads, places.named))
    # what Python compiled by itself is in no commit; from one, it may run instead of its source
    seen = [file for file in changed if file.blob or "__pycache__" not in file.path.split("/")]
    around = {file.path: _around(file.path) for file in seen}
    by_command = {
        path for path, folders in around.items() if path in named or folders & places.reached
    }
    tested = {path for path, folders in around.items() if folders & places.tested}
    others = [path for path in around if path not in by_command and _is_prose(path)]
    alone = len(around.keys() - {RULES_FILE, *others}) == 1

    def kind(file: ChangedFile) -> str:
        path = file.path
        *folders, name = path.split("/")
        new = file.added and name != CONFIGURES
        fits = {
            "overlay": path in overlay or around[path] & places.overlay,
            "workload": path in workloads or around[path] & places.workloads,
            "benchmark": (
                is_benchmark(path)
                or any(re.fullmatch(names, path) for names in tools)
                or (tests and re.fullmatch(PYTEST_FILES, path))
                or (path in by_command and not alone)
            ),
            "test": (
                (tests and TEST_FOLDERS.intersection(folders)) or (path in tested and not alone)
            ),
            "checkout's": name == ATTRIBUTES,
            "service's job": re.fullmatch(SERVICE, path),
        }
        if re.fullmatch(TEST, name):
            fits["test"] = tests and not new
        return next((kind for kind in KINDS if fits[kind]), "")

    kinds: dict[str, list[ChangedFile]] = defaultdict(list)
    for file in seen:
        kinds[kind(file)].append(file)
    return {
        kind: sorted(kinds[kind], key=lambda file: (file.added, file.path not in named))
        for kind in KINDS
        if kind in kinds
    }


def _is_prose(path: str) -> bool:
    return re.fullmatch(PROSE, path.rpartition("/")[2]) is not None


def _with_above(places: Iterable[str]) -> set[str]:
    """The places, and the folders around them, any of which may be a link or a submodule."""
    return {around for place in places for around in _around(place)}


def _around(path: str) -> set[str]:
    """The path, and the folders around it."""
    return {path, *accumulate(path.split("/")[:-1][:DEEPEST_ENTRY], "{}/{}".format)}


def _places(both: Sequence[Table], links: Links) -> _Places:
    jobs = [job for table in both for job in tables(table, "job")]
    overlay = links.places([entry for table in both for entry in texts(table.get("overlay"))])
    workloads = links.places([entry for job in jobs for entry in texts(job.get("workloads"))])
    workloads |= links.within(workloads)
    named = links.places([path for table in both for path in _named(table)])
    tested = links.places(
        [path for table in both if _runs_tests(table) for path in _named(table)]
    ) - {""}
    tested |= links.within(tested)
    measuring = [path for path in links.paths if is_benchmark(path)]
    reached = links.places(measuring)
    reached |= links.within({*overlay, *measuring, *reached})
    return _Places(overlay - {""}, workloads - {""}, named - {""}, tested, reached - {""})


def measures(path: str) -> bool:
    """Whether a file measures or tests by its name alone, whatever else it may do."""
    *folders, name = path.split("/")
    is_test = TEST_FOLDERS.intersection(folders) or re.fullmatch(TEST, name)
    return bool(is_test) or is_benchmark(path)


def is_benchmark(path: str) -> bool:
    """Whether it is called so, or lies in a folder that is."""
    parts = path.split("/")
    return bool(FOLDERS.intersection(parts) or re.fullmatch(BENCHMARK, parts[-1]))


def decides(settings: Table, path: str) -> bool:
    """Whether a tool in the commands of jobs reads a file unasked, to learn what to run."""
    asked = [each for text in of_jobs(settings) for each in started(text)]
    # node reads no script of package.json where it is given a file
    programs = {
        each.program
        for each in asked
        if each.program != "node"
        or "--run" in each.given
        or not any(re.fullmatch(r"[^-][^\s]*\.[cm]?[jt]s", word) for word in each.given)
    }
    return any(re.fullmatch(names, path) for names in _read_by(programs)) or (
        _runs_tests(settings) and bool(re.fullmatch(PYTEST_FILES, path))
    )


def _read_by(programs: Iterable[str]) -> set[str]:
    """The patterns of what the tools among some programs read."""
    return {TOOL_FILES[program] for program in programs if program in TOOL_FILES}


def commands(settings: Table) -> Iterator[str]:
    """The commands of the build and of jobs, and those that make workloads."""
    yield from texts(settings.get("build"))
    yield from of_jobs(settings)


def of_jobs(settings: Table) -> Iterator[str]:
    """The commands of jobs, and those that make workloads."""
    for job in tables(settings, "job"):
        for key in ("cmd", "args"):
            yield from texts(job.get(key))
        for workload in tables(job, "workloads"):
            yield from (text for text in workload.values() if isinstance(text, str))


def _named(settings: Table) -> Iterator[str]:
    """The paths that commands and variables may name."""
    for command in dict.fromkeys([*commands(settings), *_values(settings)]):
        yield from _paths(command)
    for job in tables(settings, "job"):
        yield from _values(job)
        filling = [
            word
            for key in ("cmd", "args")
            for text in texts(job.get(key))
            if WORKLOAD in text
            for word in words(text)
            if WORKLOAD in word
        ]
        filled = (
            word.replace(WORKLOAD, name) for word in filling for name in texts(job.get("workloads"))
        )
        yield from islice(filled, MOST_FILLED)


def _values(table: Table) -> Iterator[str]:
    """The values of the variables that a table sets."""
    env = table.get("env")
    yield from (
        (value for value in env.values() if isinstance(value, str))
        if isinstance(env, Mapping)
        else ()
    )


def _paths(command: str) -> Iterator[str]:
    """The words of a command as paths, also in the folders that it enters, and the files of a
    Python module behind ``-m``.
    """
    pieces = [piece for word in words(command) for piece in _pieces(word)]
    paths = [*pieces]
    for before, word in pairwise(pieces):
        if before == "-m":
            base = word.replace(".", "/")
            paths += (
                f"{base}.py",
                f"{base}/__main__.py",
                f"src/{base}.py",
                f"src/{base}/__main__.py",
            )
        elif PYTHON.fullmatch(before):
            paths.append(f"{word}/__main__.py")
    yield from paths
    if len(command) > LONGEST_COMMAND:
        return
    for folder in islice(entered(command), MOST_ENTERED):
        yield from (f"{folder}/{path}" for path in paths if not path.startswith("/"))


def _pieces(word: str) -> Iterator[str]:
    """A word, and what in it may be a path."""
    yield word
    pieces = re.split(APART, word)
    yield from pieces if len(pieces) > 1 else ()
    for piece in pieces:
        if option := re.match(SHORT, piece):
            yield from (option[0], piece[option.end() :])


def _runs_tests(settings: Table) -> bool:
    jobs = tables(settings, "job")
    asked = [text for job in jobs for key in ("cmd", "args") for text in texts(job.get(key))]
    return re.search(TESTING, "\n".join(asked)) is not None or any(
        "pytest" in _collectors(job) for job in jobs
    )


def _collectors(job: Table) -> list[object]:
    options = tables(job, "collectors")
    return [*texts(job.get("collectors")), *(table.get("name") for table in options)]
