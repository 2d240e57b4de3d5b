"""The results of `perf blame` that are kept, the newest for each pair of revisions and benchmark,
in ``.perf/blames``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from perfvcs.errors import UsageError
from perfvcs.git.project import UnknownRevision
from perfvcs.locate.blame.cause import Blame
from perfvcs.repository import Repository
from perfvcs.system import disk
from perfvcs.system.disk import NotPlain, entries, make_folder
from perfvcs.system.foreign import UNDECODABLE, content

BLAMES_FOLDER = "blames"


LARGEST_BLAME = 1 << 24  # bytes of a result


class BlameWords(NamedTuple):
    """What the words of `perf blame` mean: two revisions, and a benchmark (empty: the job that
    changed most).
    """

    before: str
    after: str
    benchmark: str


def asked(repository: Repository, names: Sequence[str]) -> BlameWords:
    """The revisions and the benchmark that the words of a command are: ``[A] [B] [BENCHMARK]``, or
    ``A..B``.

    What is not a revision is the benchmark. Raises UsageError.
    """
    from perfvcs.locate.blame.search import NothingToBlame  # takes longer than reading what is kept

    words, project = list(names), repository.project
    revisions: list[str] = []
    if words and ".." in words[0]:
        before, _, after = words.pop(0).partition("..")
        revisions = [before or "HEAD", after or "HEAD"]
    while words and len(revisions) < 2:
        try:
            project.resolve(words[0])
        except UnknownRevision:
            if len(words) > 1:
                raise
            break
        revisions.append(words.pop(0))
    if len(words) > 1:
        raise UsageError(f"`{words[1]}` is too much: name at most two revisions and one benchmark")
    b = revisions[-1] if revisions else "HEAD"
    if len(revisions) == 2:
        return BlameWords(revisions[0], b, words[0] if words else "")
    details = project.describe([project.resolve(b)]).get(project.resolve(b))
    if details is None or not details.parents:
        raise NothingToBlame(f"{b} has no parent: name the revision to compare it with")
    return BlameWords(details.parents[0], b, words[0] if words else "")


def store(repository: Repository, blame: Blame) -> None:
    """Keep a result in the place of an older one for the same pair and benchmark."""
    folder = make_folder(repository.home / BLAMES_FOLDER)
    disk.write(folder / _name(blame.baseline, blame.target, blame.job), msgspec.json.encode(blame))


def load(repository: Repository, a: str, b: str, benchmark: str = "") -> Blame:
    """The newest result for a pair; raises UsageError where there is none."""
    before, after = repository.project.resolve(a), repository.project.resolve(b)
    results = [
        result
        for result in of_pair(repository, before, after)
        if benchmark in ("", result.job, result.job.split(" ")[0])
    ]
    if not results:
        raise UsageError(
            f"nothing is known of {before[:10]} -> {after[:10]}: run `perf blame {a} {b}`"
        )
    return max(results, key=lambda result: result.made)


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


def _name(a: str, b: str, job: str) -> str:
    digest = hashlib.sha256(job.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{a[:16]}-{b[:16]}-{digest[:12]}.json"
