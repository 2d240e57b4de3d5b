"""The rows of a list of changes: those of one unit at many sizes share a row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from perfvcs.check.bounds import distance
from perfvcs.check.change import Change
from perfvcs.check.vocabulary import said
from perfvcs.text.quantity import percent
from perfvcs.text.words import counted

MANY_SIZES = 3  # of one unit that were judged alike, from which on they share a row


class SizeRow(NamedTuple):
    """A change, and those of the same unit and metric at other sizes for which it stands."""

    change: Change
    others: Sequence[Change] = ()

    @property
    def changes(self) -> list[Change]:
        """All of them."""
        return [self.change, *self.others]

    @property
    def remark(self) -> str:
        """``at 14; 3 other sizes up to 900: +2.0 % to +40 %``; empty where it stands alone."""
        if not self.others:
            return ""
        effects = sorted(change.effect for change in self.others if change.effect is not None)
        largest = max(change.size or 0.0 for change in self.changes)
        text = f"at {self.change.size:.10g}; {counted(len(self.others), 'other size')}"
        if largest > (self.change.size or 0.0):
            text += f" up to {largest:.10g}"
        if not effects:
            return text
        ends = dict.fromkeys(percent(effect) for effect in (effects[0], effects[-1]))
        return f"{text}: {' to '.join(ends)}"


def size_rows(changes: Iterable[Change]) -> list[SizeRow]:
    """The rows of changes, in the order in which they come: of many sizes that were judged alike,
    the one that moved furthest.
    """
    groups: dict[tuple[object, ...], list[Change]] = defaultdict(list)
    for change in changes:
        alike = (said(change).word, change.method, change.series, change.environment)
        alone = change.size if change.size is None else True
        groups[change.job, change.uid, change.metric, alone, alike].append(change)
    rows = []
    for members in groups.values():
        if len(members) < MANY_SIZES:
            rows += [SizeRow(change) for change in members]
            continue
        first = max(members, key=distance)
        rows.append(SizeRow(first, [change for change in members if change is not first]))
    return rows
