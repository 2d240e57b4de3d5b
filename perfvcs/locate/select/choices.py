"""The choice whether a benchmark is to run, from what it reaches and what a change reaches."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.locate.select.changereach import ChangeReach, stale, touches
from perfvcs.locate.select.reached import BenchmarkUnit, Reach

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.locate.select.reached import Reach
    from perfvcs.locate.sources.uses import Sources


class Choice(NamedTuple):
    """Whether a benchmark is to run, and why; ``by`` is what it was decided by, empty where nothing
    is known of the benchmark.
    """

    unit: BenchmarkUnit
    run: bool
    reason: str
    by: str = ""
    reach: Reach | None = None


@dataclass(frozen=True)
class BenchmarkReach:
    """What is known of one benchmark: its reach, and the impacts of what changed since (``stale``:
    before the change itself).
    """

    reach: Reach | None
    unknown: str = "nothing is recorded of it"
    stale: ChangeReach | None = None


def choose(unit: BenchmarkUnit, evidence: BenchmarkReach, change: ChangeReach) -> Choice:
    """Whether a change can touch a benchmark."""
    reach = evidence.reach
    if change.empty:
        return Choice(unit, False, "no source, build or data file changed", "files", reach)
    if change.everything:
        path, why = next(iter(change.everything.items()))
        others = len(change.everything) - 1
        more = f" (and {others} more such)" if others else ""
        return Choice(unit, True, f"{path} changed: {why}{more}", "files", reach)
    if reach is None:
        return Choice(unit, True, evidence.unknown)
    by = "recorded" if reach.recorded else "static"
    if reason := touches(reach, change):
        return Choice(unit, True, reason, by, reach)
    if evidence.stale is not None and (reason := stale(reach, evidence.stale)):
        return Choice(
            unit,
            True,
            f"what it runs changed since it was recorded on {reach.commit[:10]}: {reason}",
            by,
            reach,
        )
    if change.unread and (
        reason := _beside(change.unread, {name.partition(":")[0] for name in reach.functions})
    ):
        return Choice(unit, True, reason, "files", reach)
    if change.unread and not change.functions:
        reason = f"nothing that it runs names {change.unread[0]} or is beside it"
        return Choice(unit, False, reason, by, reach)
    functions = _quantified(len(change.functions))
    return Choice(unit, False, f"does not run {functions} that the change can touch", by, reach)


def _quantified(count: int) -> str:
    """So many functions, none of which is run."""
    if count == 1:
        return "the function"
    return f"any of the {count:,} functions" if count else "any function"


def sampled(choices: Sequence[Choice], seed: str, one_in: int) -> list[BenchmarkUnit]:
    """One in so many of the benchmarks that are left out, chosen by chance that follows from a
    ``seed``.
    """

    def drawn(unit: BenchmarkUnit) -> int:
        text = "\0".join((seed, unit.job, unit.collector, unit.uid))
        return int.from_bytes(
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
        )

    return [
        choice.unit
        for choice in choices
        if not choice.run and one_in and drawn(choice.unit) % one_in == 0
    ]


def beside_program(cell: Cell, paths: Iterable[str], sources: Sources) -> str:
    """How a job may notice one of some changed files: it is below the folder of what the command
    names; empty where none is.
    """
    return _beside(paths, _named(cell, sources))


def _beside(paths: Iterable[str], programs: Iterable[str]) -> str:
    folders = {path.rpartition("/")[0]: path for path in sorted(programs, reverse=True)}
    for path in paths:
        around = {
            "" if str(folder) == "." else str(folder) for folder in PurePosixPath(path).parents
        }
        if near := sorted(around & folders.keys()):
            return (
                f"{path} changed, in the folder of {folders[near[-1]]}, and is known by file only"
            )
    return ""


def _named(cell: Cell, sources: Sources) -> Iterator[str]:
    """The files that a command names."""
    command = " ".join(filter(None, (cell.cmd, cell.args)))
    try:
        words = shlex.split(command)
    except ValueError:  # of a shell
        words = command.split()
    for word in words:
        if (path := os.path.normpath(word)) in sources.files:
            yield path
