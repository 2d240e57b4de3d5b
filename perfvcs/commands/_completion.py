"""Completion by a shell: names of revisions, jobs and benchmarks.

Outside of a repository, or in an unreadable one, it offers nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from perfvcs.errors import PerfError

if TYPE_CHECKING:
    import click

    from perfvcs.repository import Repository

MOST_OFFERED = 500  # names that are offered
_ACTIVE = re.compile(r"[^\w@%+=:,./-]")  # what bash would take for its own where it is typed


def revisions(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:  # noqa: ARG001
    """HEAD, branches and tags; of a range its second end."""
    start, dots, name = begun.rpartition("..")
    return [f"{start}{dots}{revision}" for revision in _of(_revisions, name)]


def jobs(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:  # noqa: ARG001
    """The jobs of perf.toml."""
    return _of(_jobs, begun)


def known_jobs(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:  # noqa: ARG001
    """The jobs that have profiles, and those of perf.toml."""
    return _of(_known_jobs, begun)


def benchmarks(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:  # noqa: ARG001
    """The benchmarks that were measured, and the jobs of perf.toml."""
    return _of(_benchmarks, begun)


def words(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """What most commands take: revisions and benchmarks."""
    return revisions(ctx, parameter, begun) + benchmarks(ctx, parameter, begun)


def words_or_files(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Revisions and benchmarks, else files."""
    return words(ctx, parameter, begun) or _files(begun)


def units(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:  # noqa: ARG001
    """The units that were measured."""
    return _of(lambda repository: (line.uid for line in repository.index.lines().values()), begun)


def metrics(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:  # noqa: ARG001
    """The metrics that were measured."""
    return _of(
        lambda repository: (line.metric for line in repository.index.lines().values()), begun
    )


def degradations(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:  # noqa: ARG001
    """The degradations of the last report: their ids, and their names with the metric."""
    return _of(_degradations, begun)


def _of(names: Callable[[Repository], Iterable[str]], begun: str) -> list[str]:
    """The names that begin so; else those of which it is a part."""
    if _outside():
        return []
    from perfvcs.repository import Repository

    try:
        printable = [
            name for name in dict.fromkeys(names(Repository.find())) if name and name.isprintable()
        ]
    except (PerfError, OSError):  # a message would end up in the line that somebody is typing
        return []
    return _typed(
        [name for name in printable if name.startswith(begun)]
        or [name for name in printable if begun in name]
    )


def _outside() -> bool:
    """Whether there is no git repository here: a shell is answered before git is started and what
    reads repositories is imported.
    """
    from pathlib import Path

    try:
        folder = Path.cwd()
    except OSError:  # it was removed
        return True
    marks = (".git", "HEAD")  # the latter of a bare repository
    return "GIT_DIR" not in os.environ and not any(
        (place / mark).exists() for place in (folder, *folder.parents) for mark in marks
    )


def _typed(names: Iterable[str]) -> list[str]:
    """Names as a shell has them typed."""
    bash = os.environ.get("_PERF_COMPLETE", os.environ.get("_PERFVCS_COMPLETE")) == "bash_complete"
    # bash reads one of the two away
    return [_ACTIVE.sub(r"\\\\\g<0>", name) if bash else name for name in names][:MOST_OFFERED]


def _files(begun: str) -> list[str]:
    """The files of profiles that begin so, by their endings, and folders; none before something was
    typed.
    """
    if not begun:
        return []
    from perfvcs.formats import suffixes

    folder, _, name = begun.rpartition("/")
    endings = tuple(f"{suffix}{packed}" for suffix in suffixes() for packed in ("", ".gz", ".z"))
    try:
        entries = sorted(
            os.scandir(folder or ("/" if begun.startswith("/") else ".")),
            key=lambda entry: entry.name,
        )
        fitting = [
            entry for entry in entries if entry.name.startswith(name) and entry.name.isprintable()
        ]
        shown = [
            entry.name + "/" * entry.is_dir()
            for entry in fitting
            if entry.is_dir() or entry.name.endswith(endings)
        ]
    except OSError:
        return []
    before = begun[: len(begun) - len(name)]
    return _typed(before + name for name in shown)


def _revisions(repository: Repository) -> Iterable[str]:
    listed = repository.project.git(
        "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes"
    )
    return ["HEAD", *listed.split("\n")] if listed else ["HEAD"]


def _jobs(repository: Repository) -> Iterator[str]:
    """The names of the jobs of perf.toml, read without the matrix, whose plugins take a third of
    the time of a completion.
    """
    from perfvcs.errors import UsageError
    from perfvcs.profile.rules import LARGEST_RULES, RULES_FILE
    from perfvcs.system.foreign import beginning, toml

    path = repository.project.root / RULES_FILE
    if repository.project.bare:
        return
    try:
        tables = toml(beginning(path, LARGEST_RULES), UsageError).get("job")
    except UsageError:  # what was measured is known all the same
        return
    for table in tables if isinstance(tables, list) else ():
        if isinstance(table, dict) and isinstance(table.get("name"), str):
            yield table["name"]


def _known_jobs(repository: Repository) -> Iterator[str]:
    for job in repository.index.series():
        yield from (job.name, job.label)
    yield from _jobs(repository)


def _benchmarks(repository: Repository) -> Iterator[str]:
    from perfvcs.check.text import NAME_WIDTH
    from perfvcs.profile.benchmarkfilter import catalogue
    from perfvcs.repository.benchmarks import measured
    from perfvcs.text.characters import shorten

    benchmarks = catalogue(measured(repository))
    yield from (benchmark.label for benchmark in benchmarks)
    yield from _jobs(repository)
    yield from (shorten(benchmark.title, NAME_WIDTH) for benchmark in benchmarks)


def _degradations(repository: Repository) -> Iterable[str]:
    from perfvcs.reports.accept import acceptable, spellings

    for degradation in acceptable(repository):
        yield from spellings(degradation)
