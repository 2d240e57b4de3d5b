"""Tables of a subject: what a cell, a row and a table are, and the complete one, with every unit
under every metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from perfvcs.check import Change, Report
from perfvcs.check.subject import Series, Subject
from perfvcs.check.text import finding, found_in
from perfvcs.check.vocabulary import VERDICT_WORDS
from perfvcs.pictures.canvas import SEEN, seen
from perfvcs.pictures.curvesides import growth, sized
from perfvcs.pictures.pageparts import BenchmarkKey, DrawnUnit
from perfvcs.pictures.sample import DrawnSample, samples
from perfvcs.profile import Profile
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import is_boundless, percent, quantity
from perfvcs.text.words import ambiguous, metric_name, metric_rank

NAME_CHARACTERS = 64  # characters of a benchmark's name where it stands in full elsewhere
REASON_CHARACTERS = 300  # characters of a reason


@dataclass(frozen=True)
class TableCell:
    """One row under one column: a verdict's word (or empty), a text, the small print, and the
    reason shown on hover.

    ``finding`` is that part of the small print which a method found beyond the number, ``spark`` a
    line of blocks above it; ``value`` is the number itself, in the metric's unit or in percent, by
    which rows are sorted and which a file of numbers has. ``place`` is the file, with its line
    where that is known, that the text names.
    """

    text: str
    detail: str = ""
    word: str = ""
    sign: str = ""
    reason: str = ""
    finding: str = ""
    value: float | None = None
    spark: str = ""
    place: str = ""

    @property
    def order(self) -> float | None:
        """The sort key of the rows; None to sort by the text."""
        if self.value is None and self.word in VERDICT_WORDS:
            return VERDICT_WORDS.index(self.word)
        return self.value

    @property
    def said(self) -> str:
        """Word and text on one line."""
        return f"{self.word} {self.text}".strip()


@dataclass(frozen=True)
class TableRow:
    """One benchmark: ``key`` is its job, unit and size; a cell is None if not measured."""

    key: BenchmarkKey
    name: str
    full: str
    cells: list[TableCell | None]


@dataclass(frozen=True)
class Column:
    """A column's title, its name in a file of numbers, and whether it holds numbers.

    A ``minor`` one is left out first where there is no room, an ``apart`` one stands in files of
    numbers only.
    """

    title: str
    name: str = ""
    number: bool = False
    minor: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Listing:
    """A heading, a caption, columns (the benchmark's own left out), rows, and remarks."""

    heading: str
    caption: str
    columns: list[Column]
    rows: list[TableRow]
    notes: list[str]


def title(key: BenchmarkKey) -> str:
    """A benchmark's name in full."""
    return DrawnUnit(key[0], "", key[1], key[2]).title


def listing(subject: Subject) -> Listing | None:
    """The complete table: every change of two revisions, every commit of a history, every unit and
    metric of one revision.

    None if there is nothing to list. A column in which no row has anything is left out.
    """
    if subject.report is not None and subject.report.changes:
        return _without_empty(_changes(subject.report))
    if any(series.points for series in subject.history):
        return _without_empty(_commits(subject.history))
    drawn = samples(subject.target or subject.baseline)
    return _without_empty(_samples(drawn, subject.target or subject.baseline)) if drawn else None


def _without_empty(table: Listing) -> Listing:
    filled = sorted(
        {
            number
            for row in table.rows
            for number, cell in enumerate(row.cells)
            if cell and cell.said
        }
    )
    rows = []
    for row in table.rows:
        cells = [row.cells[number] for number in filled]
        rows.append(replace(row, cells=[cell if cell and cell.said else None for cell in cells]))
    return replace(table, columns=[table.columns[number] for number in filled], rows=rows)


METRIC_COLUMN = (Column("metric", "metric"), Column("unit", "unit", apart=True))
BETWEEN = (Column("low", "low", number=True), Column("high", "high", number=True))


def _row(key: BenchmarkKey, cells: Sequence[TableCell | None]) -> TableRow:
    return TableRow(key, shorten(title(key), NAME_CHARACTERS), title(key), list(cells))


def _metric(metric: str, unit: str, collector: str = "") -> tuple[TableCell, TableCell]:
    return TableCell(
        shorten(metric_name(metric)) + (f" ({collector})" if collector else "")
    ), TableCell(shorten(unit))


def _amount(value: float | None, unit: str) -> TableCell | None:
    return None if value is None else TableCell(quantity(value, unit), value=value)


def _share(value: float | None) -> TableCell | None:
    return None if value is None else TableCell(percent(value), value=100 * value)


def _ends(low: float | None, high: float | None) -> list[TableCell | None]:
    """Both ends of a relative change's interval; a file of numbers has those that bound nothing."""
    ends = [_share(low), _share(high)]
    if low is None or high is None or not is_boundless(low, high):
        return ends
    return [end and replace(end, text="no bound") for end in ends]


def _count(value: int) -> TableCell:
    return TableCell(f"{value:,}", value=value)


def _changes(report: Report) -> Listing:
    columns = [
        *METRIC_COLUMN,
        Column("verdict", "verdict"),
        Column("change", "change_percent", number=True),
        Column("low", "low_percent", number=True),
        Column("high", "high_percent", number=True),
        Column("baseline", "baseline", number=True),
        Column("target", "target", number=True),
        Column("executions", "executions_baseline", number=True, minor=True),
        Column("of target", "executions_target", number=True, apart=True),
        Column("p", "p", number=True, apart=True),
        Column("q", "q", number=True, minor=True),
        Column("method", "method", minor=True),
        Column("remark", "remark", minor=True),
    ]
    confidence = {
        f"{100 * change.confidence:g} %" for change in report.changes if change.low is not None
    }
    between = (
        f"; low and high are the ends of the change's {' or '.join(sorted(confidence))} interval"
        if confidence
        else ""
    )
    caption = f"The target against the baseline{between}"
    return Listing("Changes", caption, columns, [_change(change) for change in report.changes], [])


def _change(change: Change) -> TableRow:
    word, style = seen(change)
    regressed = (found_in(cluster) for cluster in change.clusters or () if cluster.regressed)
    remarks = [
        finding(change),
        *regressed,
        change.reason if change.accepted is None else change.accepted,
    ]
    before, after = change.executions
    both = TableCell(
        f"{before:,} and {after:,}" if before != after else f"{before:,}", value=before
    )
    chances = (
        None if chance is None else TableCell(f"{chance:.2g}", value=chance)
        for chance in (change.p, change.q)
    )
    cells: list[TableCell | None] = [
        *_metric(change.metric, change.unit),
        TableCell("", word=word, sign=style.sign),
        _share(change.effect),
        *_ends(change.low, change.high),
        _amount(change.baseline, change.unit),
        _amount(change.target, change.unit),
        both,
        _count(after),
        *chances,
        TableCell(change.method),
        TableCell(shorten("; ".join(filter(None, remarks)), REASON_CHARACTERS)),
    ]
    return _row((change.job, change.uid, change.size), cells)


def _commits(history: Sequence[Series]) -> Listing:
    columns = [
        *METRIC_COLUMN,
        Column("environment", "environment", minor=True),
        Column("commit", "commit"),
        Column("value", "value", number=True),
        *BETWEEN,
        Column("executions", "executions", number=True, minor=True),
        Column("verdict", "verdict"),
        Column("change", "change_percent", number=True),
        Column("date", "date", minor=True),
        Column("author", "author", minor=True),
        Column("title", "title", minor=True),
    ]
    benchmarks = dict.fromkeys((line.label, line.uid, line.size) for line in history)
    places = {key: place for place, key in enumerate(benchmarks)}
    rows = [
        _row(
            (series.label, series.uid, series.size),
            [
                *_metric(series.metric, series.unit),
                TableCell(shorten(series.environment)),
                TableCell(point.commit[:10]),
                _amount(point.centre, series.unit),
                _amount(point.low, series.unit),
                _amount(point.high, series.unit),
                _count(point.executions),
                TableCell(
                    "",
                    word=point.verdict,
                    sign=SEEN[point.verdict].sign if point.verdict in SEEN else "",
                ),
                _share(point.effect),
                TableCell(shorten(point.when)),
                TableCell(shorten(point.author)),
                TableCell(shorten(point.title, NAME_CHARACTERS)),
            ],
        )
        for series in sorted(
            history,
            key=lambda series: (
                places[series.label, series.uid, series.size],
                metric_rank(series.metric),
            ),
        )
        for point in reversed(series.points)
    ]
    caption = (
        "The newest commit first; low and high are the ends of the 99 % interval, the change is"
        " that against the commit before"
    )
    return Listing("Commits", caption, columns, rows, [])


def _samples(samples: Iterable[DrawnSample], profiles: Sequence[Profile]) -> Listing:
    environments = {profile.environment.fingerprint for profile in profiles}
    columns = [
        *METRIC_COLUMN,
        *([Column("environment", "environment", minor=True)] if len(environments) > 1 else []),
        Column("mean", "mean", number=True),
        *BETWEEN,
        Column("executions", "executions", number=True),
        Column("rows", "rows", number=True, minor=True),
        Column("growth", "growth", minor=True),
    ]
    ordered = list(samples)
    places = {key: place for place, key in enumerate(dict.fromkeys(map(_key, ordered)))}
    # what is judged before what is only noted, whatever collected them
    ordered.sort(
        key=lambda sample: (
            sample.meaning.better == "none",
            places[_key(sample)],
            metric_rank(sample.metric),
        )
    )
    several = ambiguous(
        ((_key(sample), sample.metric), sample.unit.collector) for sample in ordered
    )
    rows = [
        _sample(
            sample, several=len(environments) > 1, named=(_key(sample), sample.metric) in several
        )
        for sample in ordered
    ]
    caption = "The mean of the executions' medians; low and high are the ends of its 99 % interval"
    return Listing("Measurements", caption, columns, rows, [])


def _key(sample: DrawnSample) -> BenchmarkKey:
    return sample.unit.job, sample.unit.uid, sample.unit.size


def _sample(sample: DrawnSample, *, several: bool, named: bool) -> TableRow:
    """The row of a sample; ``several`` says its environment, ``named`` its collector."""
    centre, unit = sample.centre, sample.meaning.unit
    value, *ends = [None] * 3 if centre is None else [centre.value, centre.low, centre.high]
    between = [_amount(end, unit) for end in ends]
    if centre is not None and centre.low is None and centre.executions > 1:
        between = [TableCell("too few")] * 2
    metric = _metric(sample.metric, unit, sample.unit.collector if named else "")
    environment = [TableCell(shorten(sample.environment, 24))] if several else []
    executions = centre.executions if centre else 0
    cells: list[TableCell | None] = [
        *metric,
        *environment,
        _amount(value, unit),
        *between,
        _count(executions),
        _count(len(sample.values)),
        TableCell(growth(sample)) if sized(sample) else None,
    ]
    return _row(_key(sample), cells)
