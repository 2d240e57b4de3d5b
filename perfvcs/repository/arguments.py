"""What the words of a command line are: revisions, ranges, files, or a benchmark. Decided here for
all commands.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from perfvcs.errors import PerfError, UsageError
from perfvcs.git.project import Project, UnknownRevision
from perfvcs.profile.benchmarkfilter import EVERYTHING, NO_WORDS, BenchmarkFilter, FilterWords, Way
from perfvcs.profile.naming import Benchmark, Kind, brief, typed
from perfvcs.repository import Repository
from perfvcs.repository.benchmarks import benchmarks, configured_only, filtered, jobs_called
from perfvcs.repository.lookup import called

Find = Callable[[], "Repository"]
BEHIND_DASHES = "-- {}"  # how most commands take a benchmark that is called like a revision


class Arguments(Struct, frozen=True):
    """What a command line names: ``revisions`` (also ranges, products, and what the command itself
    knows), or ``files``; and the benchmarks that it is about.

    ``wanted`` are the words for these, of which nothing is decided beside files.
    """

    revisions: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    benchmarks: BenchmarkFilter = EVERYTHING
    wanted: FilterWords = NO_WORDS

    @property
    def revision(self) -> str:
        """The only revision, HEAD by default; raises UsageError where there are several."""
        return self.at_most(1)[0] if self.revisions else "HEAD"

    @property
    def span(self) -> str:
        """The range A..B; empty where there is none."""
        return next((revision for revision in self.revisions if ".." in revision), "")

    def at_most(self, count: int) -> tuple[str, ...]:
        """The revisions; raises UsageError where there are more."""
        if len(self.revisions) > count:
            allowed = ("", "one revision and ", "two revisions and ")[count]
            raise UsageError(
                f"`{self.revisions[count]}` is one revision too many: name at most {allowed}one"
                " benchmark"
            )
        return self.revisions


def read(
    find: Find,
    words: Sequence[str],
    wanted: FilterWords = NO_WORDS,
    *,
    files: bool = False,
    own: Callable[[str], bool] | None = None,
    way: Way = "usual",
    runs: bool = False,
    revisions: bool = True,
    otherwise: str = BEHIND_DASHES,
) -> Arguments:
    """What each word is, as ``_Reader`` has it; at most one is a benchmark.

    ``files`` may be named, too; ``own`` says whether a command knows a word, such as the id of a
    profile. ``find`` gives the repository, always the same; beside files it need not exist.
    ``wanted`` are the options -j, -u and -m, and the benchmark behind ``--``; ``way`` is that of
    ``benchmarkfilter.chosen``. A command that ``runs`` jobs needs them in perf.toml. Without
    ``revisions`` every word is a benchmark; ``otherwise`` is how the command takes one that is
    called like a revision. Raises UsageError.
    """
    there = files and any(map(os.path.isfile, words))
    reader = _Reader(find, files=there, own=own, behind=wanted.behind, otherwise=otherwise)
    kinds: dict[str, list[str]] = {"file": [], "revision": [], "benchmark": []}
    for word in words:
        kinds[reader.kind(word) if revisions else "benchmark"].append(word)
    if kinds["revision"]:  # beside these a file that is no profile can only be a benchmark's name
        kinds["benchmark"] += [path for path in kinds["file"] if not _has_ending(path)]
        kinds["file"] = list(filter(_has_ending, kinds["file"]))
    paths, named = kinds["file"], kinds["revision"]
    if paths and named:
        raise UsageError(
            f"{paths[0]} is a file and `{named[0]}` is a revision: name two files, or store"
            f" the file first (`perf import {paths[0]} --commit REVISION`)"
        )
    for name in kinds["benchmark"] if not paths else ():
        reader.require_benchmark(
            name, "job" if way == "whole" else "benchmark", revisions=revisions
        )
    names = [*kinds["benchmark"], *filter(None, [wanted.name])]
    if len(names) > 1:
        raise UsageError(
            f"{typed(names[0])} and {typed(names[1])} are two benchmarks: name one, or their jobs"
            " with -j"
        )
    wanted = wanted._replace(name="".join(names))
    if paths:
        return Arguments(files=tuple(map(Path, paths)), wanted=wanted)
    repository = find()
    found = filtered(repository, wanted, way)
    if runs:
        found = configured_only(repository, found)
    return Arguments(tuple(named), benchmarks=found, wanted=wanted)


def read_profiles(
    repository: Repository,
    words: Sequence[str],
    wanted: FilterWords = NO_WORDS,
    way: Way = "usual",
    *,
    otherwise: str = BEHIND_DASHES,
) -> Arguments:
    """As ``read``, where single profiles may be named, too: by their paths or ids."""

    def is_profile(word: str) -> bool:
        return bool(called(repository.index, word))

    return read(lambda: repository, words, wanted, own=is_profile, way=way, otherwise=otherwise)


class _Reader:
    """Reads the words of one command line.

    1. What is a revision and the whole name of a benchmark, or has the ending of a file of profiles
       and is one of these, is refused with a way to write each. Other files give way to both.
    2. What is only one of them is that.
    3. Anything else is a part of a benchmark's name, or a mistake. Where benchmarks stand
       ``behind`` ``--``, it is a mistake.
    """

    def __init__(
        self,
        find: Find,
        *,
        files: bool,
        own: Callable[[str], bool] | None,
        behind: bool,
        otherwise: str,
    ) -> None:
        self._find, self._files, self._own, self._behind = find, files, own, behind
        self._otherwise = otherwise

    @cached_property
    def _repository(self) -> Repository | None:
        """The repository; beside files None where there is none."""
        try:
            return self._find()
        except PerfError:
            if self._files:
                return None
            raise

    @cached_property
    def _known(self) -> list[Benchmark]:
        return benchmarks(self._find())

    def kind(self, word: str) -> str:
        """``file``, ``revision``, or ``benchmark``; raises UsageError where it is several."""
        is_profile = self._files and _has_ending(word)
        readings = {"file": f"./{word}"} if is_profile else {}
        if self._is_revision(word):
            readings["revision"] = f"{word}~0"
        exists = self._files and os.path.lexists(word)
        if self._behind and not (readings or exists):
            return "revision"  # a mistake, which whoever resolves it reports
        if not self._behind and (readings or exists) and self._is_called(word):
            readings["benchmark"] = self._otherwise.format(typed(word))
        if len(readings) > 1:
            cures = ", ".join(f"{cure} for the {kind}" for kind, cure in readings.items())
            raise UsageError(f"`{word}` is a {' and a '.join(readings)} here: write {cures}")
        return next(iter(readings), "file" if exists else "benchmark")

    @cached_property
    def _jobs(self) -> set[str]:
        return set() if self._repository is None else jobs_called(self._repository)

    def _is_called(self, word: str) -> bool:
        """Whether a job or a unit that was measured has this name, to a letter.

        Asked of words that git takes for revisions, in which there is neither a space nor a colon:
        a unit with its job, size or metric is none of these.
        """
        if self._repository is None:
            return False
        return word in self._jobs or self._repository.index.has_unit(word)

    @cached_property
    def _project(self) -> Project | None:
        """The git repository, which may have no store beside files; None where there is none."""
        if self._repository is not None:
            return self._repository.project
        with suppress(PerfError):
            return Project.find()
        return None

    def _is_revision(self, word: str) -> bool:
        """Whether a word is a revision, a range of them, a product that was measured, or known to
        the command.
        """
        if self._project is None:
            return False
        unknown = (UsageError,) if self._repository else (PerfError,)  # it may have no commits
        with suppress(*unknown):
            self._project.fixed(word)
            return True
        if self._repository is None:
            return False
        own = self._own is not None and self._own(word)
        return own or self._repository.product(word) is not None

    def require_benchmark(self, word: str, kind: Kind, *, revisions: bool) -> None:
        """Raises UnknownRevision where no benchmark has such a name, either; UsageError where only
        a benchmark could be meant. What could be meant is of a ``kind``.
        """
        from perfvcs.profile.resolver import candidates, meant, unknown

        if meant(word, self._known, several=True).places:
            return
        if not revisions:
            raise unknown(word, self._known, kind)
        hint = f"nor is it a {kind}{candidates(word, self._known, kind)}"
        try:
            self._find().project.fixed(word)
        except UsageError as error:
            said = str(error).replace(word, brief(word))
            raise UnknownRevision(f"{said}; {hint}") from None


def _has_ending(name: str) -> bool:
    """Whether a file's name ends as those of profiles do."""
    from perfvcs.formats import suffixes

    return name.removesuffix(".gz").removesuffix(".z").endswith(suffixes())
