"""What `perf` says when it is called without a command: how things stand in this folder, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from perfvcs.errors import PerfError

HELP = "all commands: perf --help"


def lines() -> Iterator[str]:
    """The standing of the repository around the current folder; what is missing for that, with its cure, where there is none."""
    from perfvcs.reports.status import status_of
    from perfvcs.repository import Repository

    try:
        status = status_of(Repository.find())
    except PerfError as error:
        yield "perfvcs keeps the performance history of a git repository beside its code history."
        yield str(error)
    else:
        yield from status.lines()
        if status.verdict:
            yield "perf show draws it, perf log lists the commits, perf history the lasting changes"
    yield HELP
