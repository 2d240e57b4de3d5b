"""Files of a change that decide what the base's benchmarks and tests do, though they may build, or
be a part of the program, too.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.git.blobs import CommittedFiles
from perfvcs.jobs.benchmark_files import TESTING, decides, of_jobs
from perfvcs.jobs.borrowednames import BorrowedNames
from perfvcs.jobs.spoken import Spoken, committed, inputs, mentioned, texts
from perfvcs.judge.manifests import runs_the_same

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfvcs.git.blobs import ChangedFile
    from perfvcs.git.project import Project
    from perfvcs.jobs.configchanges import Table

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
