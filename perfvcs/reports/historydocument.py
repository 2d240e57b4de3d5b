"""What `perf history --json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from perfvcs.history.finding import Direction, Finding, SeriesFields
from perfvcs.history.overview import Overview, SeriesBreak, ShortSeries
from perfvcs.history.triage import ChangeState
from perfvcs.history.unlisted import Unlisted
from perfvcs.text.document import filled, json_text


class FindingRow(SeriesFields, frozen=True, kw_only=True):
    """A finding with its commit; ``sizes`` are those of a curve, ``host`` says what changed on
    hosts meanwhile. The rest says what became of it, see ``history.triage.Standing``.
    """

    word: Direction
    direction: Direction
    commit: str
    author: str
    when: str
    title: str
    first: str
    last: str
    commits: int
    effect: float
    low: float | None
    high: float | None
    confidence: float = 0.99
    before: float
    after: float
    sizes: tuple[float, float] | None = None
    p: float | None
    detectors: tuple[str, ...]
    contradiction: str
    host: Sequence[str]
    state: ChangeState
    reason: str
    holds: int
    newest: int
    switches: bool
    doubts: Sequence[str]
    certain: bool


class NewestRow(SeriesFields, frozen=True):
    """The newest value of a series, which is unusual."""

    word: str
    commit: str
    since: str
    effect: float
    value: float
    expected: float
    low: float
    high: float
    chance: float
    support: int


class HistoryDocument(msgspec.Struct, frozen=True):
    """What `perf history --json` prints; ``series`` and ``commits`` were analysed."""

    findings: list[FindingRow]
    newest: list[NewestRow]
    series: int
    commits: int
    cuts: Sequence[SeriesBreak]
    short: Sequence[ShortSeries]
    unusable: int
    aside: int
    unlisted: Sequence[Unlisted]


def json(
    overview: Overview, findings: Sequence[Finding], hosts: Mapping[int, Sequence[str]]
) -> str:
    """Some findings of an overview, and everything else in it, as one JSON object; ``hosts`` as in
    ``reports.history.lines``.
    """
    return json_text(
        filled(
            HistoryDocument,
            overview,
            findings=[
                filled(
                    FindingRow,
                    row.curve,  # what a verdict says of a curve comes before the series' levels
                    row,
                    overview.details[row.commit],
                    SeriesFields.of(row.line),
                    overview.standing(row),
                    host=hosts.get(id(row), []),
                )
                for row in findings
            ],
            newest=[filled(NewestRow, row, SeriesFields.of(row.line)) for row in overview.newest],
            series=overview.lines,
        )
    )
