"""Which stored jobs names mean, and their profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError, nearest

if TYPE_CHECKING:
    from perfvcs.index import Index


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


def of_jobs(
    index: Index, name: str, paths: Sequence[str], jobs: Sequence[str], *, whole: bool = False
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
