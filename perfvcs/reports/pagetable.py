"""The table of benchmarks on a page: verdicts, the newest values, or centres."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from perfvcs.check import Change, Report
from perfvcs.check.subject import Series, Subject
from perfvcs.check.text import finding, found_in
from perfvcs.pictures.canvas import SEEN, seen
from perfvcs.pictures.chart import environments
from perfvcs.pictures.curvesides import growth, sized
from perfvcs.pictures.levels import MARKED_VERDICTS, latest
from perfvcs.pictures.listing import Column, Listing, TableCell, TableRow, title
from perfvcs.pictures.pageparts import BenchmarkKey, Naming
from perfvcs.pictures.sample import samples
from perfvcs.profile import Profile
from perfvcs.text.characters import shorten, sparkline
from perfvcs.text.quantity import change as change_text
from perfvcs.text.quantity import quantity, step
from perfvcs.text.words import apart, counted, metric_name, metric_rank, tallied

MOST_TABLE_ROWS = 1000
METRIC_COLUMNS_SHOWN = 3  # metrics with a column of their own
SPARKS = 24  # commits in a line of blocks
NAME_CHARACTERS = 120
NO_WIDTH = "0 %, 0 %]"  # the interval of executions that count the same
FULL_NAMES_CHARACTERS = 500_000  # of full names in one page


@dataclass(frozen=True)
class PageTable:
    """The cells of each benchmark, by environment (empty if there is only one) and metric."""

    heading: str
    caption: str
    cells: Mapping[tuple[BenchmarkKey, str], dict[str, TableCell]]
    notes: list[str]
    most: int = METRIC_COLUMNS_SHOWN

    def table(self) -> Listing:
        """A row per benchmark, a column per most telling metric, and one for other changes."""
        metrics = sorted({metric for row in self.cells.values() for metric in row}, key=metric_rank)
        shown, others = metrics[: self.most], metrics[self.most :]
        bound = max(300, FULL_NAMES_CHARACTERS // max(1, min(MOST_TABLE_ROWS, len(self.cells))))
        rows = []
        titles = [title(key) for key, _ in islice(self.cells, MOST_TABLE_ROWS)]
        for ((key, environment), row), short in zip(
            self.cells.items(), apart(titles, NAME_CHARACTERS), strict=False
        ):
            listed = [row.get(metric) for metric in shown]
            listed.append(_remaining(row, others, alone=not any(listed)))
            place = f" in {environment}" if environment else ""
            rows.append(TableRow(key, short + place, shorten(title(key), bound) + place, listed))
        told = any(row.cells[-1] for row in rows)
        if not told:
            rows = [replace(row, cells=row.cells[:-1]) for row in rows]
        left_out = len(self.cells) - MOST_TABLE_ROWS
        if left_out > 0:
            notes = [*self.notes, f"{left_out:,} more benchmarks are not listed."]
        else:
            notes = self.notes
        columns = [Column(metric_name(metric)) for metric in shown]
        if told:
            judged = any(cell.word for row in self.cells.values() for cell in row.values())
            columns.append(Column("changes in other metrics" if judged else "other metrics"))
        return Listing(self.heading, self.caption, columns, rows, notes)

    def sentence(self, key: BenchmarkKey | None, metric: str) -> str:
        """One line about a benchmark (None: all) under a metric; the first of environments."""
        if key is None:
            words = Counter(row[metric].word for row in self.cells.values() if metric in row)
            return tallied([(word, words[word]) for word in SEEN if words[word]])
        cell = next(
            (
                row[metric]
                for (row_key, _), row in self.cells.items()
                if row_key == key and metric in row
            ),
            None,
        )
        return (
            "" if cell is None else ", ".join(filter(None, [cell.said, *cell.detail.splitlines()]))
        )


def overview(subject: Subject) -> PageTable | None:
    """The table of a subject: verdicts, the history's newest state, or one revision's centres."""
    if subject.report is not None:
        return _verdicts(subject.report, Naming.of(subject))
    if subject.history:
        return _newest(subject.history)
    return _centres(subject.target or subject.baseline)


def _remaining(
    row: Mapping[str, TableCell], others: Sequence[str], *, alone: bool
) -> TableCell | None:
    """Changes in metrics without a column; with ``alone``, of no others, all of them."""
    notable = {
        metric: row[metric]
        for metric in others
        if metric in row and (alone or row[metric].word in MARKED_VERDICTS)
    }
    text = "; ".join(
        f"{cell.sign} {metric_name(metric)}: {cell.said}".rstrip()
        for metric, cell in notable.items()
    )
    if notable:
        return TableCell(text, "\n".join(cell.finding for cell in notable.values() if cell.finding))
    return None


def _verdicts(report: Report, names: Naming) -> PageTable:
    cells: dict[tuple[BenchmarkKey, str], dict[str, TableCell]] = {}
    for change in report.changes:
        cells.setdefault((names.change(change), ""), {}).setdefault(change.metric, _verdict(change))
    counts = Counter(seen(change)[0] for change in report.changes)
    counted_words = ", ".join(
        tallied([(word, counts[word])]).replace(" ", f" {style.sign} ", 1)
        for word, style in SEEN.items()
        if counts[word]
    )
    confidence = report.changes[0].confidence if report.changes else 0.99
    notes = [
        f"Change of the target against the baseline with its {100 * confidence:g} % interval; every"
        " execution counts once."
    ]
    return PageTable("Verdicts", counted_words, cells, notes)


def _verdict(change: Change) -> TableCell:
    if change.effect is None:
        text = ""
    else:
        text = change_text(change.effect, change.low, change.high)
        text = text.replace(", ", ",\u00a0").replace(" %", "\u00a0%")  # broken before [ only
    centres = [
        quantity(value, change.unit)
        for value in (change.baseline, change.target)
        if value is not None
    ]
    detail = (
        step(change.baseline, change.target, change.unit).replace("->", "→")
        or "".join(centres)
        or change.reason
    )
    design = f"{change.executions[0]} and {change.executions[1]} executions, method {change.method}"
    reason = change.reason or design if change.accepted is None else change.accepted
    word, style = seen(change)
    findings = [
        finding(change),
        *(found_in(cluster) for cluster in change.clusters or () if cluster.regressed),
    ]
    finding_text = shorten("; ".join(filter(None, findings)), 300)
    small = "\n".join(filter(None, [shorten(detail, 120), finding_text]))
    return TableCell(
        text=text,
        detail=small,
        word=word,
        sign=style.sign,
        reason=shorten(reason, 300),
        finding=finding_text,
        value=change.effect,
    )


def _newest(history: Sequence[Series]) -> PageTable:
    cells: dict[tuple[BenchmarkKey, str], dict[str, TableCell]] = {}
    places = {series.environment: series for series in history}
    if len(places) > 1:
        names = dict(zip(places, environments(list(places.values())), strict=True))
    else:
        names = {}
    for series in history:
        if series.points:
            newest = series.points[-1]
            line = sparkline([point.centre for point in series.points], width=SPARKS)
            cell = TableCell(
                quantity(newest.centre, series.unit),
                latest(series),
                value=newest.centre,
                spark=line,
            )
            place = shorten(names.get(series.environment, ""), 24)
            cells.setdefault(((series.label, series.uid, series.size), place), {}).setdefault(
                series.metric, cell
            )
    return PageTable(
        "Newest values",
        f"The newest commit's centre; the line shows the newest {SPARKS} commits at most",
        cells,
        [],
        most=4,
    )


def _centres(profiles: Sequence[Profile]) -> PageTable | None:
    cells: dict[tuple[BenchmarkKey, str], dict[str, TableCell]] = {}
    environments = {profile.environment.fingerprint for profile in profiles}
    names = Naming.of(Subject("", profiles))
    for sample in samples(profiles):
        centre = sample.centre
        if sample.meaning.better != "none" and centre is not None:
            low_high = centre.text(sample.meaning.unit).partition(" [")[2]
            detail = f"[{low_high}, " if low_high else "no interval, "
            detail = "the same in " if low_high == NO_WIDTH else detail
            detail += counted(centre.executions, "execution")
            detail = growth(sample) if sized(sample) else detail
            place = shorten(sample.environment, 24) if len(environments) > 1 else ""
            cell = TableCell(
                quantity(centre.value, sample.meaning.unit), detail, value=centre.value
            )
            cells.setdefault((names.unit(sample.unit), place), {}).setdefault(sample.metric, cell)
    positive = all(
        cell.value is None or cell.value > 0 for named in cells.values() for cell in named.values()
    )
    mean = "Geometric mean" if positive else "Mean (geometric where all values are above 0)"
    caption = f"{mean} of the executions' medians, with its 99 % interval"
    return PageTable("Measurements", caption, cells, [], most=4) if cells else None
