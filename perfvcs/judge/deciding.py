"""Files of a change that decide what the base's benchmarks and tests do, though they may build, or
be a part of the program, too.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from configparser import ConfigParser
from configparser import Error as ConfigError
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.git.blobs import CommittedFiles, Unreadable
from perfvcs.jobs.benchmark_files import TESTING, decides, of_jobs
from perfvcs.jobs.spoken import asked, committed, defines, inputs, mentioned, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.git.blobs import ChangedFile
    from perfvcs.git.project import Project
    from perfvcs.jobs.configchanges import Table

LARGEST = 1_000_000  # bytes of a file whose section of the test runner is compared
TESTS_EXAMPLES = re.compile(r"\bdoctest\b|--doctest-")
# a function of any package, which unittest asks for its tests, with its body
LOADS_TESTS = re.compile(r"^[^\n]*\bload_tests\b[^\n]*(?:\n(?:[ \t][^\n]*)?)*", re.MULTILINE)
EXAMPLE = re.compile(r"^[ \t]*>>>[^\n]*(?:\n[ \t]*[^\s\"'][^\n]*)*", re.MULTILINE)
SECTION = "tool:pytest"  # of setup.cfg
PROJECT_FILES = ("pyproject.toml", "setup.cfg")  # which say far more than how tests are run


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
    is the same in both commits; those that define what a benchmark's source asks for; and those in
    which examples that are tests become others, or that say which tests there are.
    """
    files, settings = CommittedFiles(project), change.settings
    known = committed(project, change.base)
    tests = any(re.search(TESTING, text) for text in of_jobs(settings))
    names = asked(project, change.base, known, settings)
    is_tested = any(map(TESTS_EXAMPLES.search, of_jobs(settings)))
    read = change.paths if names or tests or is_tested else ()
    old, new = (texts(project, commit, read) for commit in (change.base, change.commit))

    def decides_by_text(path: str) -> bool:
        before, after = old.get(path, ""), new.get(path, "")
        if defines(before, names) != defines(after, names):
            return True
        if tests and _loading(before) != _loading(after):
            return True
        return is_tested and bool(_examples(before) - _examples(after))

    def decides_unasked(path: str) -> bool:
        commits = change.base, change.commit
        return decides(settings, path) and not _runs_the_same(files, *commits, path)

    return [path for path in change.paths if decides_unasked(path) or decides_by_text(path)]


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


def _runs_the_same(files: CommittedFiles, base: str, commit: str, path: str) -> bool:
    if path.rpartition("/")[2] not in PROJECT_FILES:
        return False
    try:
        return _of_runner(files, base, path) == _of_runner(files, commit, path)
    except (Unreadable, ValueError, RecursionError, ConfigError):
        return False


def _of_runner(files: CommittedFiles, commit: str, path: str) -> object:
    """What a commit's file says to pytest; raises ValueError, RecursionError or ConfigError where
    it is no such file.
    """
    text = files.text(commit, path, LARGEST) or ""
    if path.endswith(".toml"):
        tools = tomllib.loads(text).get("tool", {})
        return tools.get("pytest") if isinstance(tools, dict) else None
    parser = ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    return dict(parser[SECTION]) if parser.has_section(SECTION) else None
