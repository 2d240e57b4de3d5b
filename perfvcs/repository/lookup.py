"""Which stored jobs and profiles names mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError, nearest
from perfvcs.git.project import UnknownRevision

if TYPE_CHECKING:
    from perfvcs.index import Index
    from perfvcs.repository import Repository


def series_of(index: Index, names: Sequence[str], *, whole: bool = False) -> set[str]:
    """The keys of the stored jobs that names mean, or, unless they are to be ``whole``, parts of
    names; raises UsageError.
    """
    from perfvcs.check.text import called
    from perfvcs.text.words import meant

    jobs = index.series()
    called_jobs = [called(job) for job in jobs]
    keys: set[str] = set()
    for name in names:
        exact = [
            number
            for number, job in enumerate(called_jobs)
            if name in job.names or name in job.also
        ]
        numbers = exact if whole else meant(name, called_jobs, "job")
        if not numbers:
            spellings = dict.fromkeys(spelling for job in called_jobs for spelling in job.names)
            raise UsageError(f"no job `{name}` is stored{nearest(name, spellings)}")
        keys.update(jobs[number].key for number in numbers)
    return keys


def paths_of(
    repository: Repository, name: str, jobs: Sequence[str] = (), *, whole: bool = False
) -> list[str]:
    """Paths of profiles: all of the revision ``name``, else those that begin with it; of ``jobs``
    as ``series_of`` has it.

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
        paths = [path for path in index.find(name) if "/" in name or path.endswith(f"-{name}.json")]
        if not paths and (product := repository.product(name)):
            paths = [measured.header.path for measured in repository.measured(product)]
        if not paths:
            raise
    if jobs:
        paths = _of_jobs(index, name, paths, jobs, whole=whole)
    if not paths:
        raise UsageError(
            f"`{name}` has no profiles: measure it with `perf collect`; `perf log` shows what there"
            " is"
        )
    return paths


def _of_jobs(
    index: Index, name: str, paths: Sequence[str], jobs: Sequence[str], *, whole: bool
) -> list[str]:
    """Those of the profiles of ``name`` that belong to some jobs, as ``series_of`` has them; raises
    UsageError for a job without any.
    """
    commits = {path.split("/")[1] for path in paths}
    job_of = {header.path: header.job for header in index.headers(commits)}
    for job in jobs:
        keys = series_of(index, [job], whole=whole)
        if paths and not any(path in job_of and job_of[path].key in keys for path in paths):
            there = dict.fromkeys(
                stored_job.label for path, stored_job in job_of.items() if path in paths
            )
            raise UsageError(f"`{name}` has no profiles of a job `{job}`{nearest(job, there)}")
    keys = series_of(index, jobs, whole=whole)
    return [path for path in paths if path in job_of and job_of[path].key in keys]
