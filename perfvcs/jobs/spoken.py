"""What the base's benchmarks speak of: files that they read where there are such, folders whose
files are their input, and programs that they start.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import PurePosixPath
from typing import NamedTuple

from perfvcs.git.blobs import ChangedFile, CommittedFiles, contents
from perfvcs.git.project import Project
from perfvcs.jobs.benchmark_files import is_benchmark, of_jobs
from perfvcs.jobs.commandwords import entered, started, words
from perfvcs.jobs.configchanges import Table, tables
from perfvcs.jobs.ownfiles import MAKEFILE, OF_SUFFIX, without_comments

LARGEST = 1_000_000  # bytes of a file that is looked into
MAKES = r"[bg]?make|ninja"
PATH = r"[\w.+@~-][\w./+@~-]{0,4095}"  # in a text
# a path of a folder, as far as it is no mere word: in quotes, or with what is below it
FOLDER = (
    r"(?<=[\"'])[\w.+@~-][\w./+@~-]{0,4095}(?=[\"'])"
    r"|(?<![\w./+@~-])[\w.+@~-][\w./+@~-]{0,4095}/"
)
PROGRAMS = r"(?<![A-Za-z_])PATH[ \t]{0,9}[:?+]?=([^\n]{0,4096})"
VARIABLE = r"\$[({]?\w+[)}]?"
RUNS = r"\w+|\W+"  # of a text: between two, a word begins or ends
WORD = r"\w"
SHELLS = ("", ".sh", ".bash", ".mk", ".mak")  # suffixes of texts in which a word is an argument
# what is not written in a language that is known, but is no data either
BUILDS = (
    r".*\.(?:pyi|pxd|f|f90|for|s|S|asm|cs|swift|scala|kt|zig|toml|cfg|ini|cmake|mk|am|ac|in|lock"
    r"|gradle|xml|ya?ml|so|pyd|pyc)|CMakeLists\.txt|(?:requirements|constraints)[^/]*\.txt"
)


class Spoken(NamedTuple):
    """What the texts of benchmarks hold: ``paths``, those of ``folders``, and the folders in which
    they look for ``programs``.
    """

    paths: set[str]
    folders: set[str]
    programs: set[str]

    @classmethod
    def of(cls, project: Project, base: str, known: Sequence[str], settings: Table) -> Spoken:
        """What the benchmarks of a commit with the paths ``known`` speak of."""
        read = texts(project, base, speaking(known, settings))
        every = {path: without_comments(path, text) for path, text in read.items()}
        spoken, folders = set[str](), set[str]()
        for path, text in every.items():
            paths = {_normal(word) for word in {*re.findall(PATH, text)}}
            spoken |= paths
            is_shell = PurePosixPath(path).suffix in SHELLS
            folders |= (
                paths if is_shell else {_normal(word) for word in {*re.findall(FOLDER, text)}}
            )
        programs = {
            _normal(word)
            for text in (*every.values(), *_settings(settings))
            for line in re.findall(PROGRAMS, text)
            for word in re.findall(PATH, re.sub(VARIABLE, "", line))
        }
        return cls(spoken, folders - {".", ".."}, programs)

    def names(self, path: str) -> bool:
        """Whether they speak of a file, or of a program in a folder where they look for these."""
        folder, _, name = path.rpartition("/")
        if name in self.paths and not self.programs.isdisjoint(_tails(folder or ".")):
            return True
        return not self.paths.isdisjoint(_ends(path))


def speaking(known: Sequence[str], settings: Table) -> list[str]:
    """Those of some paths that are benchmarks, what commands of jobs name, or their makefiles."""
    called = named(of_jobs(settings))
    makefiles = {path for path in known if re.fullmatch(MAKEFILE, path)}
    if not makefiles or not making(settings):
        makefiles = set()
    return [path for path in known if is_benchmark(path) or path in called or path in makefiles]


def inputs(
    project: Project, base: str, files: Sequence[ChangedFile], paths: Sequence[str], settings: Table
) -> set[str]:
    """The paths of changed files that are the input of the base's benchmarks: those of data, and
    new ones, of which these speak, and of data in a folder of which they speak and that has no
    other.

    ``paths`` are those of the commit ``base``. Raises GitError.
    """
    spoken = Spoken.of(project, base, paths, settings)
    of_code = {folder for path in paths if not is_data(path) for folder in _above(path)}
    folders = spoken.folders - of_code
    return {
        file.path
        for file in files
        if ((file.added or is_data(file.path)) and spoken.names(file.path))
        or (is_data(file.path) and not folders.isdisjoint(_above(file.path)))
    }


def committed(project: Project, commit: str) -> list[str]:
    """The paths of a commit. Raises GitError."""
    listed = project.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    return [path for path in listed.split("\0") if path]


def is_data(path: str) -> bool:
    """Whether a file is neither a source nor a part of a build, by its name."""
    name = path.rpartition("/")[2]
    return PurePosixPath(name).suffix.lower() not in OF_SUFFIX and not re.fullmatch(BUILDS, name)


def mentioned(texts: Iterable[str], paths: Iterable[str]) -> set[str]:
    """Those of some paths of which a text speaks: by the name of the file, or of a source by its
    stem, as a whole word. Takes one pass over each text, whatever the number of paths.
    """
    by_name: dict[tuple[str, ...], set[str]] = {}
    for path in paths:
        name = PurePosixPath(path)
        spoken = name.name if is_data(path) else name.stem
        by_name.setdefault(tuple(re.findall(RUNS, spoken)), set()).add(path)
    lengths: dict[str, set[int]] = {}
    for name_runs in by_name:
        lengths.setdefault(name_runs[0], set()).add(len(name_runs))
    return {
        path
        for text in texts
        for seen in _names_in(re.findall(RUNS, text), lengths)
        for path in by_name.get(seen, ())
    }


def _names_in(
    runs: Sequence[str], lengths: Mapping[str, Collection[int]]
) -> Iterator[tuple[str, ...]]:
    """What stands in a text where a name of some ``lengths`` may begin, by its first run.

    Where a name begins or ends with something else than letters, a letter stands beside it.
    """
    for start, run in enumerate(runs):
        for length in lengths.get(run, ()):
            name = tuple(runs[start : start + length])
            begins = start or re.match(WORD, name[0])
            if begins and (start + length < len(runs) or re.match(WORD, name[-1])):
                yield name


def texts(project: Project, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """The texts of files of a commit by their paths. Raises GitError."""
    files = CommittedFiles(project)
    files.ask([commit], *paths)
    every = {path: files.of(commit, path) for path in paths}
    there = {path: file for path, file in every.items() if file.blob and file.size <= LARGEST}
    read = contents(project, (file.blob for file in there.values()))
    return {path: read[file.blob] for path, file in there.items()}


def making(settings: Table) -> list[str]:
    """The commands of jobs that start make."""
    return [
        text
        for text in of_jobs(settings)
        if re.search(MAKES, text)
        and any(re.fullmatch(MAKES, asked.program) for asked in started(text))
    ]


def named(asked: Iterable[str]) -> set[str]:
    """The words of commands as paths, also in the folders that these enter."""
    return {
        posixpath.normpath(posixpath.join(folder, word))
        for text in asked
        for folder in ("", *entered(text))
        for word in words(text)
    }


def _settings(settings: Table) -> Iterator[str]:
    """The commands of jobs, and PATH as they set it."""
    yield from of_jobs(settings)
    for table in (settings, *tables(settings, "job")):
        env = table.get("env")
        if isinstance(env, dict) and isinstance(env.get("PATH"), str):
            yield f"PATH={env['PATH']}"


def _normal(word: str) -> str:
    return posixpath.normpath(word)


def _above(path: str) -> Iterator[str]:
    """The folders around a path."""
    return accumulate(path.split("/")[:-1], "{}/{}".format)


def _tails(path: str) -> Iterator[str]:
    """The path, and what is left of it in the folders around it."""
    parts = path.split("/")
    return ("/".join(parts[depth:]) for depth in range(len(parts)))


def _ends(path: str) -> Iterator[str]:
    """The tails of a path that are no mere words."""
    return (end for end in _tails(path) if "/" in end or "." in end)
