"""What was left out, and the project's own miss rate: some of it is measured all the same, and what
that shows is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perfvcs.check.vocabulary import SURE
from perfvcs.index.database import Database
from perfvcs.profile.naming import ONCE
from perfvcs.text.quantity import share
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.check.change import Change
    from perfvcs.locate.select.selection import LeftOut

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
