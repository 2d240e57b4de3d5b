"""What `perf check` has said of neighbours: it knows which executions were measured in turns, which a site's own comparison does not."""

from __future__ import annotations

from collections import defaultdict
from math import isfinite, log1p
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.index.lines import Line
    from perfvcs.index.verdicts import Verdicts

WORDS = ("degradation", "improvement", "same")  # the others leave open what the site's own comparison may answer


class _Change(msgspec.Struct, kw_only=True):
    word: str
    series: str
    environment: str = ""
    uid: str
    size: float | None
    metric: str
    unit: str
    better: str
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    accepted: str | None = None

    def line(self) -> tuple[object, ...]:
        """What names its line, with the series and the environment in the place of the job and all about the other."""
        return (self.series, self.environment, self.uid, self.size, self.metric, self.unit, self.better)


class _Report(msgspec.Struct):
    baseline: str
    target: str
    changes: list[_Change]


class Verdict(NamedTuple):
    """A settled verdict between two places of a record, as logarithms: the difference and half the width of its interval."""

    before: int
    after: int
    move: float
    doubt: float
    changed: bool
    accepted: bool


def verdicts(memory: Verdicts, commits: Sequence[str], lines: Sequence[Line]) -> dict[int, list[Verdict]]:
    """The settled verdicts between two of ``commits``, oldest first, by the place of the line that they are on."""
    reports = memory.along(commits, _Report)
    if not reports:  # the key of a line takes a while
        return {}
    found: dict[int, list[Verdict]] = defaultdict(list)
    places = {commit: place for place, commit in enumerate(commits)}
    known: dict[tuple[object, ...], int] = {
        (line.job.key, line.environment.fingerprint, *line[2:]): turn for turn, line in enumerate(lines)
    }
    for baseline, target, report in reports:
        ends = places[baseline], places[target]
        if ends[0] >= ends[1] or report.baseline.endswith("+") or report.target.endswith("+"):  # uncommitted changes
            continue
        for change in report.changes:
            line = known.get(change.line())
            if line is not None and change.word in WORDS and (verdict := _verdict(change, *ends)):
                found[line].append(verdict)
    return found


def _verdict(change: _Change, before: int, after: int) -> Verdict | None:
    """None for a change without an effect, or an interval, that has logarithms."""
    ends = (change.effect, change.low, change.high)
    if any(end is None or not isfinite(end) or end <= -1 for end in ends):
        return None
    move, low, high = (log1p(end) for end in ends if end is not None)
    return Verdict(before, after, move, (high - low) / 2, change.word != "same", change.accepted is not None)
