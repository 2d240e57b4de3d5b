"""Where many benchmarks of an environment step at once, and which commits a step may be."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.history.finding import Direction, Finding
    from perfvcs.history.triage import Past, Traced

WIDE = 20  # measured commits that a step may be: of more, it is laid to none
FIRST_ASK = "first ask whether the machine or the benchmarks changed"
AT_ONCE = 1 / 3  # of an environment's benchmarks that jump together: is it the machine?
FEWEST_AT_ONCE = 6  # benchmarks; of a few, one function moves a third


class Jumps:
    """Where many benchmarks of an environment step in one direction at once."""

    def __init__(self, all_series: Sequence[Traced], past: Past) -> None:
        self._places = {commit: place for place, commit in enumerate(past.commits)}
        self._series: dict[str, list[Traced]] = defaultdict(list)
        for series in all_series:
            self._series[series.line.environment.fingerprint].append(series)
        self._counts: dict[tuple[str, int, str], tuple[int, int]] = {}

    def asked(self, series: Traced, finding: Finding) -> str:
        """What to ask first about a finding that may be where more than a third of an environment's
        series jump in its direction; else empty.
        """
        mark = series.line.environment.fingerprint
        turns = {
            each.turn
            for other in self._series[mark]
            for each in other.findings
            if self._is_at(finding, each.turn, each.direction)
        }
        (jumped, live), turn = max(
            (self._count(mark, turn, finding.direction), turn) for turn in turns
        )
        if jumped < FEWEST_AT_ONCE or jumped <= AT_ONCE * live:
            return ""
        others = [
            self._count(other, turn, finding.direction) for other in self._series if other != mark
        ]
        there = [(moved, of) for moved, of in others if of]
        elsewhere = "nothing else was measured here"
        if there:
            moved, of = (sum(column) for column in zip(*there, strict=True))
            elsewhere = f"in other environments {moved:,} of {of:,}"
        return f"{jumped:,} of {live:,} benchmarks moved at once, {elsewhere}: {FIRST_ASK}"

    def first(self, finding: Finding) -> int:
        """The place of the first commit that a finding may be."""
        return self._places[finding.first]

    def wide(self, series: Traced, finding: Finding) -> str:
        """That a finding may be any of too many measured commits; else empty."""
        start = bisect_left(series.places, self.first(finding))
        count = bisect_right(series.places, self._places[finding.last]) - start
        return f"it may be any of more than {WIDE} commits ({count:,})" if count > WIDE else ""

    def _count(self, mark: str, turn: int, direction: Direction) -> tuple[int, int]:
        """Of one environment, how many benchmarks may step at a commit in a direction, and how many
        were measured on both sides.
        """
        key = mark, turn, direction
        if key not in self._counts:
            live, jumped = set(), set()
            for series in self._series[mark]:
                if series.places[0] < turn <= series.places[-1]:
                    unit = series.line.job.label, series.line.job.collector, series.line.uid
                    live.add(unit)
                    if any(self._is_at(each, turn, direction) for each in series.findings):
                        jumped.add(unit)
            self._counts[key] = len(jumped), len(live)
        return self._counts[key]

    def _is_at(self, finding: Finding, turn: int, direction: Direction) -> bool:
        """Whether a finding of this direction may be the commit at a place."""
        if finding.direction != direction:
            return False
        return self._places[finding.first] <= turn <= self._places[finding.last]
