"""Which stored profiles names mean, and how many are stored of commits that are not in the
repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError, nearest
from perfvcs.git.ancestry import CommitDates
from perfvcs.git.project import UnknownRevision
from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter
from perfvcs.profile.naming import typed
from perfvcs.repository import Repository
from perfvcs.text.words import counted, listed, plural

if TYPE_CHECKING:
    from perfvcs.index import Index


def called(index: Index, name: str) -> list[str]:
    """The paths of the profiles that a path, the beginning of one, or an id names."""
    return [path for path in index.find(name) if "/" in name or path.endswith(f"-{name}.json")]


def paths_of(
    repository: Repository, name: str, benchmarks: BenchmarkFilter = EVERYTHING
) -> list[str]:
    """Paths of profiles: all of the revision ``name``, else those that begin with it; of some
    ``benchmarks``, those of their jobs.

    Raises UsageError without any.
    """
    index = repository.index
    try:
        commit = repository.project.resolve(name)
        paths = repository.store.paths(commit, at=index.head)
        if commit in index.changed():
            products = {header.path for header in index.headers([commit]) if header.design.product}
            paths = [path for path in paths if path not in products]
        if not paths and (before := repository.states.before_committed(commit)):
            paths = [measured.header.path for measured in repository.measured(before)]
    except UnknownRevision:
        paths = called(index, name)
        if not paths and (product := repository.product(name)):
            paths = [measured.header.path for measured in repository.measured(product)]
        if not paths:
            raise
    if benchmarks and paths:
        paths = _of(index, name, paths, benchmarks)
    if not paths:
        raise UsageError(
            f"`{name}` has no profiles: measure it with `perf collect`; `perf log` shows what there"
            " is"
        )
    return paths


def _of(index: Index, name: str, paths: Sequence[str], benchmarks: BenchmarkFilter) -> list[str]:
    """Those of the profiles of ``name`` that the jobs of some benchmarks have; raises UsageError
    without any.
    """
    commits = {path.split("/")[1] for path in paths}
    jobs = {header.path: header.job for header in index.headers(commits)}
    there = {path: jobs[path] for path in paths if path in jobs}
    chosen = [path for path, job in there.items() if benchmarks.has_job(job.label, job.collector)]
    if not chosen:
        hint = nearest(benchmarks.text, dict.fromkeys(job.label for job in there.values()), typed)
        raise UsageError(f"`{name}` has no profiles of `{benchmarks.text}`{hint}")
    return chosen


def elsewhere(repository: Repository) -> str:
    """How many there are, of which commits, and the cure, as the end of a message that nothing is
    stored here; empty where there are none.
    """
    dates = CommitDates(repository.project.root)
    try:
        missing = sorted(commit for commit in repository.index.commits() if not dates.of(commit))
    finally:
        dates.close()
    count = sum(repository.index.counts(missing).values())
    if not count:
        return ""
    commits = listed([commit[:10] for commit in missing])
    return (
        f"; {counted(count, 'profile')} {plural(count, 'is', 'are')} stored for commits that are"
        f" not in this repository ({commits}): fetch them, or import with --commit or --map"
    )
