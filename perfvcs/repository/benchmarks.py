"""The benchmarks that a repository knows, measured ones and those of perf.toml, and the filter that
somebody's words mean among them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perfvcs.errors import UsageError
from perfvcs.profile.benchmarkfilter import (
    EVERYTHING,
    BenchmarkFilter,
    FilterWords,
    Way,
    catalogue,
    chosen,
)
from perfvcs.profile.naming import Benchmark, typed
from perfvcs.profile.rules import RULES_FILE
from perfvcs.text.words import ambiguous

if TYPE_CHECKING:
    from perfvcs.index.lines import Line
    from perfvcs.jobs.cell import Cell
    from perfvcs.profile import Job
    from perfvcs.repository import Repository


def benchmarks(repository: Repository) -> list[Benchmark]:
    """All that can be named: units and metrics that were measured, and the jobs of perf.toml."""
    return catalogue([*measured(repository), *map(configured, _cells(repository))])


def configured_labels(repository: Repository) -> set[str]:
    """The labels of the jobs of perf.toml; none where it cannot be read."""
    return {cell.label for cell in _cells(repository)}


def typed_words(job: Job) -> str:
    """The words behind `perf collect --` that measure a job again, as a shell takes them; empty
    where it needs more than them.
    """
    from perfvcs.jobs import matrix
    from perfvcs.jobs.config import BadConfig, single

    if not job.cmd or not job.cmd.isprintable():
        return ""
    with suppress(BadConfig, ValueError):  # words of other tools need not be of a shell
        (cell,) = matrix(single(shlex.split(job.cmd)))
        # quoted as anybody may paste it
        if (cell.cmd, cell.label, cell.collector_name) == (job.cmd, job.label, job.collector):
            return job.cmd
    return ""


def configured(cell: Cell) -> Benchmark:
    """A cell of perf.toml's matrix, by its names."""
    return Benchmark(cell.name, cell.label, cell.collector_name)


def filtered(repository: Repository, words: FilterWords, way: Way = "usual") -> BenchmarkFilter:
    """The filter that words mean here, as ``benchmarkfilter.chosen`` has it; raises UsageError."""
    if not words.text:
        return EVERYTHING
    found = chosen(benchmarks(repository), words, way)
    others = (
        job.key
        for job in repository.index.series()
        if found.has_job(job.label) and not found.has_job(job.label, job.collector)
    )
    return replace(found, others=frozenset(others))


def configured_only(repository: Repository, benchmarks: BenchmarkFilter) -> BenchmarkFilter:
    """The filter without what perf.toml no longer has, for commands that run jobs; raises
    UsageError where it has none of it, BadConfig where it cannot be read.
    """
    if not benchmarks.cells:
        return benchmarks
    from perfvcs.jobs import matrix
    from perfvcs.jobs.config import load

    cells = matrix(load(repository.project.root / RULES_FILE))
    there = benchmarks.cells.intersection((cell.label, cell.collector_name) for cell in cells)
    if not there:
        raise UsageError(
            f"{typed(benchmarks.text)} was measured, but is not a job of {RULES_FILE} any more: add"
            " it there"
        )
    return replace(benchmarks, cells=there)


def jobs_called(repository: Repository) -> set[str]:
    """The names and labels of all jobs that were measured."""
    return {name for job in repository.index.series() for name in (job.name, job.label)}


def has_line(benchmarks: BenchmarkFilter, line: Line) -> bool:
    """Whether a line of history is meant."""
    return benchmarks.has_job(line.job.label, line.job.collector) and benchmarks.has(
        line.job.label, line.uid, line.size, line.metric
    )


def of_lines(lines: Iterable[Line]) -> Iterator[Benchmark]:
    """What lines of history are called; environments have names where a benchmark has several."""
    rows = [(Benchmark(*_job_of(line), line.uid, line.size, line.metric), line) for line in lines]
    several = ambiguous((named, line.environment.fingerprint) for named, line in rows)
    if not several:
        yield from (named for named, _ in rows)
        return
    from perfvcs.environment.host import names

    called = names(line.environment for named, line in rows if named in several)
    for named, line in rows:
        where = called[line.environment.fingerprint] if named in several else ""
        yield named._replace(environment=where)


def _job_of(line: Line) -> tuple[str, str, str]:
    return line.job.name, line.job.label, line.job.collector


def measured(repository: Repository) -> Iterator[Benchmark]:
    """The jobs, units and metrics that were measured, some of them twice; of uncommitted changes
    those that are measured at HEAD.
    """
    index = repository.index
    yield from of_lines(index.lines().values())
    yield from (Benchmark(job.name, job.label, job.collector) for job in index.series())
    head = repository.project.head
    if head in index.changed():
        for at_head in index.measured([head]):
            job = at_head.header.job
            for row in at_head.summaries:
                yield Benchmark(job.name, job.label, job.collector, row.uid, row.size, row.metric)


def _cells(repository: Repository) -> Sequence[Cell]:
    """The cells of perf.toml; none where it cannot be read: whoever needs it says so."""
    path = repository.project.root / RULES_FILE
    if repository.project.bare or not path.is_file():
        return []
    from perfvcs.jobs import matrix
    from perfvcs.jobs.config import load

    with suppress(UsageError):
        return matrix(load(path))
    return []
