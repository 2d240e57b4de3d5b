"""The choice whether a benchmark is to run, from what it reaches and what a change reaches, and the
project's own miss rate: some of what was left out is measured all the same, and what that shows is
counted.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from perfvcs.check.vocabulary import SURE
from perfvcs.index.database import Database
from perfvcs.locate.select.changereach import ChangeReach, stale, touches
from perfvcs.locate.select.reached import BenchmarkUnit, Reach
from perfvcs.profile.naming import ONCE
from perfvcs.text.quantity import share
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.check.change import Change
    from perfvcs.jobs.cell import Cell
    from perfvcs.locate.select.selection import LeftOut
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


LEFT_OUT_FILE = "selected.db"
SCHEMA = """
CREATE TABLE sampled (
    baseline TEXT NOT NULL, target TEXT NOT NULL, job TEXT NOT NULL, collector TEXT NOT NULL,
    uid TEXT NOT NULL, word TEXT,
    PRIMARY KEY (baseline, target, job, collector, uid)
) WITHOUT ROWID;
CREATE TABLE left_out (
    target TEXT NOT NULL, job TEXT NOT NULL, collector TEXT NOT NULL, uid TEXT NOT NULL,
    baseline TEXT NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (target, job, collector, uid)
) WITHOUT ROWID"""
SAME_VERDICT = "same"
ONE_IN = 20  # of the benchmarks that are left out, one in so many is measured all the same
MOST_TARGETS = 200  # commits of which is remembered what was left out


class Inherited(NamedTuple):
    """What was left out, as label and unit (the unit "" is the whole job), since a ``baseline``."""

    baseline: str
    units: frozenset[tuple[str, str]]

    def has(self, job: str, uid: str) -> bool:
        """Whether a unit of a job is among it."""
        return (job, "") in self.units or (job, uid.removesuffix(ONCE)) in self.units


class LeftOutSampler:
    """What was left out and measured all the same, in a file of its own in the folder ``home``; it
    may be deleted at any time.
    """

    def __init__(self, home: Path) -> None:
        self._home = home

    @cached_property
    def _database(self) -> Database:
        return Database(self._home / LEFT_OUT_FILE, SCHEMA, 1)

    def _rows(self, sql: str, *values: str) -> list[Any]:
        """What a query finds; nothing where nothing was ever left out."""
        if not (self._home / LEFT_OUT_FILE).exists():
            return []
        return self._database.attempt(
            lambda: self._database.connection.execute(sql, values).fetchall()
        )

    def note(self, baseline: str, target: str, left_out: LeftOut) -> None:
        """Remember what was left out at a target, by state names, and what of it is measured all
        the same.
        """
        keys = [(baseline, target, unit.job, unit.collector, unit.uid) for unit in left_out.sampled]
        sql = (
            "INSERT OR IGNORE INTO sampled (baseline, target, job, collector, uid) VALUES (?, ?, ?,"
            " ?, ?)"
        )

        def keep() -> None:
            with self._database.transaction() as connection:
                ((number,),) = connection.execute(
                    "SELECT coalesce(max(number), 0) + 1 FROM left_out"
                ).fetchall()
                rows = [(target, *row, baseline, number) for row in left_out.units]
                connection.execute("DELETE FROM left_out WHERE target = ?", (target,))
                connection.executemany("INSERT INTO left_out VALUES (?, ?, ?, ?, ?, ?)", rows)
                connection.execute(
                    "DELETE FROM left_out WHERE number <= ?", (number - MOST_TARGETS,)
                )
                connection.executemany(sql, keys)

        self._database.attempt(keep)

    def inheriting(self, target: str) -> Inherited:
        """What was left out at a target, with the baseline whose verdicts it inherits."""
        rows = self._rows("SELECT baseline, job, uid FROM left_out WHERE target = ?", target)
        return Inherited(rows[0][0] if rows else "", frozenset((job, uid) for _, job, uid in rows))

    def judge(self, baseline: str, target: str, changes: Iterable[Change]) -> None:
        """Note what a check says of those that were sampled between two states: whether anything
        changed, or all stayed the same.
        """
        sql = "SELECT job, collector, uid FROM sampled WHERE baseline = ? AND target = ?"
        asked = self._rows(sql, baseline, target)
        if not asked:
            return
        words: dict[tuple[str, str], set[str]] = {}
        for change in changes:
            for uid in (change.uid.removesuffix(ONCE), ""):
                words.setdefault((change.job, uid), set()).add(change.word)
        rows = []
        for job, collector, uid in asked:
            verdicts = words.get((job, uid), set())
            word = next(
                (changed for changed in SURE if changed in verdicts),
                SAME_VERDICT if verdicts == {SAME_VERDICT} else None,
            )
            rows.append((word, baseline, target, job, collector, uid))
        update = (
            "UPDATE sampled SET word = ? WHERE baseline = ? AND target = ? AND job = ? AND"
            " collector = ? AND uid = ?"
        )

        def keep() -> None:
            with self._database.transaction() as connection:
                connection.executemany(update, rows)

        self._database.attempt(keep)

    def counts(self) -> Mapping[str, int]:
        """How many were sampled, how many of these are settled, and how many changed."""
        by_word = dict(self._rows("SELECT word, count(*) FROM sampled GROUP BY word"))
        changed = sum(by_word.get(word, 0) for word in SURE)
        return {
            "measured": sum(by_word.values()),
            "settled": changed + by_word.get(SAME_VERDICT, 0),
            "changed": changed,
        }

    def summary(self) -> str:
        """One sentence about them; empty where none was settled yet."""
        counts = self.counts()
        if not counts["settled"]:
            return ""
        rate, settled = counts["changed"] / counts["settled"], counts["settled"]
        most = _most(counts["changed"], settled)
        return (
            "measured anyway to see what selecting misses:"
            f" {counted(counts['measured'], 'benchmark')}, of {settled:,} settled"
            f" {counts['changed']:,} changed ({share(rate)}; with 95 % confidence at most"
            f" {share(most)})"
        )


def _most(changed: int, settled: int) -> float:
    """The upper end of the 95 % interval of a share, by Clopper and Pearson."""
    if changed >= settled:
        return 1.0
    from scipy.stats import beta

    return float(beta.ppf(0.95, changed + 1, settled - changed))
