"""The results of `perf blame` that are kept, the newest for each pair of revisions and benchmark,
in ``.perf/blames``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from perfvcs.check.text import revision
from perfvcs.errors import UsageError
from perfvcs.locate import BLAMES_FOLDER
from perfvcs.locate.blame.cause import Blame
from perfvcs.profile.benchmarkfilter import EVERYTHING, NO_WORDS, BenchmarkFilter, FilterWords
from perfvcs.repository import Repository
from perfvcs.repository.arguments import read
from perfvcs.system import disk
from perfvcs.system.disk import NotPlain, entries, make_folder
from perfvcs.system.foreign import UNDECODABLE, content

LARGEST_BLAME = 1 << 24  # bytes of a result


class BlameWords(NamedTuple):
    """What the words of `perf blame` mean: two revisions, and the benchmarks that are meant; by
    default what changed most.
    """

    before: str
    after: str
    benchmarks: BenchmarkFilter = EVERYTHING

    @property
    def pair(self) -> str:
        """Both revisions as a command takes them; a full commit id is cut."""
        return f"{revision(self.before)} {revision(self.after)}"


def asked(
    repository: Repository,
    words: Sequence[str],
    wanted: FilterWords = NO_WORDS,
    *,
    runs: bool = True,
) -> BlameWords:
    """The revisions and the benchmark that the words of a command are: ``[A] [B] [BENCHMARK]``, or
    ``A..B``; ``runs``: it is measured now.

    Raises UsageError.
    """
    from perfvcs.locate.blame.gauge import NothingToBlame  # takes longer than reading what is kept

    named = read(lambda: repository, words, wanted, way="one", runs=runs)
    project = repository.project
    revisions = [*named.at_most(2)]
    if len(revisions) == 1 and ".." in revisions[0]:
        before, _, after = revisions[0].partition("..")
        revisions = [before or "HEAD", after or "HEAD"]
    if len(revisions) == 2:
        before, after = revisions
        if project.resolve(before) == project.resolve(after):
            raise NothingToBlame(
                f"{before} and {after} are the same commit: name two different ones"
            )
        return BlameWords(before, after, named.benchmarks)
    b = revisions[0] if revisions else "HEAD"
    details = project.describe([project.resolve(b)]).get(project.resolve(b))
    if details is None or not details.parents:
        raise NothingToBlame(f"{b} has no parent: name the revision to compare it with")
    return BlameWords(details.parents[0], b, named.benchmarks)


def store(repository: Repository, blame: Blame) -> None:
    """Keep a result in the place of an older one for the same pair and benchmark."""
    folder = make_folder(repository.home / BLAMES_FOLDER)
    disk.write(
        folder / _name(blame.baseline, blame.target, blame.benchmark), msgspec.json.encode(blame)
    )


def load(repository: Repository, a: str, b: str, benchmarks: BenchmarkFilter = EVERYTHING) -> Blame:
    """The newest result for a pair and a benchmark; raises UsageError where there is none."""
    before, after = repository.project.resolve(a), repository.project.resolve(b)
    results = [
        result
        for result in of_pair(repository, before, after)
        if benchmarks.has(result.job, result.unit or result.job, result.size)
    ]
    if results:
        return max(results, key=lambda result: result.made)
    run = f"`perf blame {revision(a)} {revision(b)}{benchmarks.arguments}`"
    others = [
        result
        for result in every(repository)
        if benchmarks.has(result.job, result.unit or result.job, result.size)
    ]
    newest = max(others, key=lambda result: result.made, default=None)
    stored = ""
    if newest:
        pair = f"{newest.baseline[:10]} {newest.target[:10]}"
        stored = f"; of another pair: `perf blame --stored {pair}{benchmarks.arguments}`"
    raise UsageError(f"nothing is known of {before[:10]} -> {after[:10]}: run {run}{stored}")


def of_pair(repository: Repository, a: str, b: str) -> list[Blame]:
    """All results for two commits, by their full ids. Leaves out what cannot be read, since it can
    be made again.
    """
    return [
        result
        for result in every(repository, f"{a[:16]}-{b[:16]}-")
        if (result.baseline, result.target) == (a, b)
    ]


def every(repository: Repository, first: str = "") -> list[Blame]:
    """All results that can be read, or those whose names begin with ``first``."""
    folder = repository.home / BLAMES_FOLDER
    try:
        names = [name for name in entries(folder) if name.startswith(first)]
    except (NotPlain, OSError):
        return []
    results = []
    for name in sorted(names):
        try:
            results.append(msgspec.json.decode(content(folder / name, LARGEST_BLAME), type=Blame))
        except (*UNDECODABLE, OSError):
            continue
    return results


def _name(a: str, b: str, benchmark: str) -> str:
    digest = hashlib.sha256(benchmark.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{a[:16]}-{b[:16]}-{digest[:12]}.json"
