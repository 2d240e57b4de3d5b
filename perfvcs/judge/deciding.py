"""Files of a change that decide what the base's benchmarks and tests do, though they may build, or
be a part of the program, too; of a project's manifest what it says of running them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as ConfigError
from typing import Any, NamedTuple

from perfvcs.git.blobs import ChangedFile, CommittedFiles, Unreadable
from perfvcs.git.project import Project
from perfvcs.jobs.benchmark_files import TESTING, decides, of_jobs
from perfvcs.jobs.borrowednames import BorrowedNames
from perfvcs.jobs.configchanges import Table
from perfvcs.jobs.spoken import Spoken, committed, inputs, mentioned, texts

TESTS_EXAMPLES = re.compile(r"\bdoctest\b|--doctest-")
# a function of any package, which unittest asks for its tests, with its body
LOADS_TESTS = re.compile(r"^[^\n]*\bload_tests\b[^\n]*(?:\n(?:[ \t][^\n]*)?)*", re.MULTILINE)
EXAMPLE = re.compile(r"^[ \t]*>>>[^\n]*(?:\n[ \t]*[^\s\"'][^\n]*)*", re.MULTILINE)


class ChangedPaths(NamedTuple):
    """A change from the commit ``base`` to ``commit``: its ``files``, the ``paths`` of those that
    stay as they are in it, and the base's perf.toml.
    """

    base: str
    commit: str
    files: Sequence[ChangedFile]
    paths: Sequence[str]
    settings: Table


def deciding(project: Project, change: ChangedPaths) -> list[str]:
    """Those of the paths by which commands of jobs decide what to run, unless what they say of that
    is the same in both commits; those that give names of a benchmark's source another meaning; and
    those in which examples that are tests become others, or that say which tests there are.
    """
    files, settings = CommittedFiles(project), change.settings
    known = committed(project, change.base)
    tests = any(re.search(TESTING, text) for text in of_jobs(settings))
    names = BorrowedNames.of(project, change.base, known, settings)
    is_tested = any(map(TESTS_EXAMPLES.search, of_jobs(settings)))
    read = change.paths if names or tests or is_tested else ()
    old, new = (texts(project, commit, read) for commit in (change.base, change.commit))

    meant = _meaning_otherwise(names, old, new)

    def decides_by_text(path: str) -> bool:
        before, after = old.get(path, ""), new.get(path, "")
        if path in meant:
            return True
        if tests and _loading(before) != _loading(after):
            return True
        return is_tested and bool(_examples(before) - _examples(after))

    def decides_unasked(path: str) -> bool:
        if not decides(settings, path):
            return False
        spoken = Spoken.of(project, change.base, known, settings).paths
        return not runs_the_same(files, change.base, change.commit, path, spoken)

    return [path for path in change.paths if decides_unasked(path) or decides_by_text(path)]


def _meaning_otherwise(
    names: BorrowedNames, old: Mapping[str, str], new: Mapping[str, str]
) -> set[str]:
    """The paths of texts in which names get or lose a meaning that they have elsewhere neither
    before nor afterwards.
    """
    before, after = (
        {path: names.meant(path, text) for path, text in side.items()} for side in (old, new)
    )
    nothing = Counter[str]()
    lost, got = sum(before.values(), nothing), sum(after.values(), nothing)
    others = {meaning for meaning in {*lost, *got} if lost[meaning] != got[meaning]}
    return {
        path
        for path in {*before, *after}
        for meaning in others
        if before.get(path, nothing)[meaning] != after.get(path, nothing)[meaning]
    }


def needed(project: Project, change: ChangedPaths, left_out: Sequence[str]) -> list[str]:
    """Those of some files that the base's benchmarks would take as input and of which the rest of
    the change speaks, too: a part of the program cannot be left out.
    """
    if not left_out:
        return []
    known = committed(project, change.base)
    taken = inputs(project, change.base, change.files, known, change.settings)
    every = texts(project, change.commit, change.paths).values()
    spoken = mentioned(every, taken.intersection(left_out))
    return [path for path in left_out if path in spoken]


def _loading(text: str) -> list[str]:
    """What a source says of which tests it has."""
    return [part.rstrip() for part in LOADS_TESTS.findall(text)]


def _examples(text: str) -> Counter[str]:
    """The examples in a source that are tests, each with what it prints."""
    return Counter(" ".join(example.split()) for example in EXAMPLE.findall(text))


LARGEST = 1_000_000  # bytes of a manifest that is compared
SECTION = "tool:pytest"  # of setup.cfg
# what of a program's manifest decides nothing that a benchmark does: what it needs, what it is
# called, and how it is compiled
OF_PROGRAMS = {
    "package.json": ("version", "description", "keywords", "author", "license", "homepage"),
    "Cargo.toml": ("profile",),
}
NEEDS = "dependencies"
REQUIRED = re.compile(r"^require[ \t]*(?:\(([^)]*)\)|([^\n(]+))", re.MULTILINE)


def runs_the_same(
    files: CommittedFiles, base: str, commit: str, path: str, spoken: Collection[str]
) -> bool:
    """Whether a file is a manifest that says the same in both commits of how to run benchmarks,
    whose texts hold the ``spoken`` words: what these need decides, too.
    """
    reader = READERS.get(path.rpartition("/")[2])
    if reader is None:
        return False
    try:
        old, new = (reader(files.text(at, path, LARGEST) or "", spoken) for at in (base, commit))
    except (Unreadable, ValueError, RecursionError, ConfigError):
        return False
    return bool(old == new)


def _pyproject(text: str, _: Collection[str]) -> object:
    tools = tomllib.loads(text).get("tool", {})
    return tools.get("pytest") if isinstance(tools, dict) else None


def _setup(text: str, _: Collection[str]) -> object:
    parser = ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    return dict(parser[SECTION]) if parser.has_section(SECTION) else None


def _package(text: str, spoken: Collection[str]) -> object:
    return _rest(json.loads(text), OF_PROGRAMS["package.json"], spoken)


def _cargo(text: str, spoken: Collection[str]) -> object:
    table = _rest(tomllib.loads(text), OF_PROGRAMS["Cargo.toml"], spoken)
    package = table.get("package")
    return table | {"package": _rest(package, ("version",), spoken)}


def _rest(table: Any, left_out: Collection[str], spoken: Collection[str]) -> dict[str, Any]:
    """A table without some keys, and of what the program needs only what is spoken of. Raises
    ValueError where it is none.
    """
    if not isinstance(table, dict):
        raise ValueError("it is no table")
    rest = {key: value for key, value in table.items() if key not in left_out}
    needs = rest.get(NEEDS)
    if isinstance(needs, dict):
        rest[NEEDS] = {name: value for name, value in needs.items() if _is_among(name, spoken)}
    return rest


def _is_among(name: str, spoken: Collection[str]) -> bool:
    """Whether a package is spoken of: by its name, or as a language of programs writes that."""
    return name in spoken or name.replace("-", "_") in spoken


def _go(text: str, spoken: Collection[str]) -> object:
    needed = [
        tuple(line.split("//")[0].split())
        for several, one in REQUIRED.findall(text)
        for line in (several or one).splitlines()
    ]
    asked = sorted(words for words in needed if words and _is_among(words[0], spoken))
    return REQUIRED.sub("", text).split(), asked


READERS: Mapping[str, Callable[[str, Collection[str]], object]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup,
    "package.json": _package,
    "Cargo.toml": _cargo,
    "go.mod": _go,
}
