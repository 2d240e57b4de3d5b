"""What a shell completes: names of revisions, jobs and benchmarks. Nothing is said where there is no repository, or it cannot be read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from perfvcs.errors import PerfError

if TYPE_CHECKING:
    import click

    from perfvcs.repository import Repository

MOST = 500  # names that are offered
_ACTIVE = re.compile(r"[^\w@%+=:,./-]")  # what bash would take for its own where it is typed


def revisions(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:  # noqa: ARG001
    """HEAD, branches and tags; of a range its second end."""
    start, dots, name = begun.rpartition("..")
    return [f"{start}{dots}{found}" for found in _of(_revisions, name)]


def jobs(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:  # noqa: ARG001
    """The jobs of perf.toml."""
    return _of(_jobs, begun)


def benchmarks(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """The benchmarks that were measured, and revisions."""
    return _of(_benchmarks, begun) + revisions(ctx, parameter, begun)


def metrics(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:  # noqa: ARG001
    """The metrics that were measured."""
    return _of(lambda repository: (line.metric for line in repository.index.lines().values()), begun)


def _of(names: Callable[[Repository], Iterable[str]], begun: str) -> list[str]:
    from perfvcs.repository import Repository

    bash = os.environ.get("_PERF_COMPLETE", os.environ.get("_PERFVCS_COMPLETE")) == "bash_complete"
    try:
        found = dict.fromkeys(name for name in names(Repository.find()) if name.startswith(begun) and name.isprintable())
    except (PerfError, OSError):  # a message would end up in the line that somebody is typing
        return []
    return [_ACTIVE.sub(r"\\\\\g<0>", name) if bash else name for name in found][:MOST]  # bash reads one of the two away


def _revisions(repository: Repository) -> Iterable[str]:
    listed = repository.project.git("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes")
    return ["HEAD", *listed.split("\n")] if listed else ["HEAD"]


def _jobs(repository: Repository) -> Iterable[str]:
    from perfvcs.jobs.config import load
    from perfvcs.rules import FILE

    return (job.name for job in load(repository.project.root / FILE).job)


def _benchmarks(repository: Repository) -> Iterable[str]:
    from perfvcs.history.finding import title

    yield from (job.label for job in repository.index.series())
    yield from (title(line) for line in repository.index.lines().values())
