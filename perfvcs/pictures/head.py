"""The head of a page: its answer, its table of benchmarks, and the facts about its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from perfvcs.check import Change, Report
from perfvcs.check.brief import BriefLine, brief
from perfvcs.check.change import VERDICT_WORDS
from perfvcs.check.subject import Series, Subject
from perfvcs.check.text import finding, found_in
from perfvcs.pictures.canvas import SEEN, seen
from perfvcs.pictures.chart import environments
from perfvcs.pictures.curvesides import growth, sized
from perfvcs.pictures.levels import latest
from perfvcs.pictures.listing import Column, Listing, TableCell, TableRow, title
from perfvcs.pictures.pageparts import BenchmarkKey, Naming
from perfvcs.pictures.sample import samples
from perfvcs.profile import Environment, Profile
from perfvcs.text.characters import shorten, sparkline
from perfvcs.text.quantity import change as change_text
from perfvcs.text.quantity import quantity, step
from perfvcs.text.words import apart, counted, metric_name, metric_rank, tallied

MOST_TABLE_ROWS = 1000
METRIC_COLUMNS_SHOWN = 3  # metrics with a column of their own
SPARKS = 24  # commits in a line of blocks
NAME_CHARACTERS = 64
FULL_NAMES_CHARACTERS = 500_000  # of full names in one page
NOTABLE = ("degradation", "improvement", "suspected", "accepted")


@dataclass(frozen=True)
class AnswerLine:
    """A job or a change: its word with its sign, its name, its numbers, and what is known of it."""

    word: str
    sign: str
    name: str
    numbers: str
    details: list[str]


@dataclass(frozen=True)
class Answer:
    """A sentence for the whole, a line per job, the changes that matter most, and in sentences
    everything else and what to do next.

    ``hidden`` jobs and ``left_out`` changes are in the tables only.
    """

    sentence: str
    jobs: list[AnswerLine]
    hidden: int
    changes: list[AnswerLine]
    left_out: int
    rest: list[str]


def answer(subject: Subject) -> Answer | None:
    """The report on two revisions; None if nothing was compared."""
    if subject.report is None or not subject.report.changes:
        return None
    report_brief = brief(subject.report, subject.causes)
    first = ". ".join(filter(None, [report_brief.sentence, report_brief.criteria]))
    return Answer(
        first,
        [_line(line) for line in report_brief.jobs],
        report_brief.hidden,
        [_line(line) for line in report_brief.changes],
        report_brief.left_out,
        [*report_brief.rest, *subject.report.notes, *subject.following],
    )


def _line(line: BriefLine) -> AnswerLine:
    sign = (
        SEEN[line.word].sign
        if line.word in (*VERDICT_WORDS, "accepted") and line.word in SEEN
        else ""
    )
    return AnswerLine(
        line.word,
        sign,
        line.name,
        line.numbers.replace("->", "→"),
        [text.replace("->", "→") for text in line.details],
    )


@dataclass(frozen=True)
class Fact:
    """One line of a page's head: what, and its values."""

    term: str
    values: list[str]


def _commit(profile: Profile) -> str:
    """The commit, and what was measured instead of it."""
    if product := profile.design.product:
        return f"{product.name} ({product.command or product.folder}), beside {profile.commit}"
    return profile.commit + (" with uncommitted changes" if profile.dirty else "")


def facts(subject: Subject) -> list[Fact]:
    """The origin of the figures: commits, benchmarks, environments, design and time."""
    profiles = [*subject.baseline, *subject.target]
    listed = []
    for name, side in (
        ("baseline", subject.baseline),
        ("target" if subject.baseline else "commit", subject.target),
    ):
        commits = dict.fromkeys(_commit(profile) for profile in side)
        if commits:
            listed.append(Fact(name, _some(commits)))
    if not profiles and subject.report is not None:
        listed = [
            Fact("baseline", [subject.report.baseline]),
            Fact("target", [subject.report.target]),
        ]
    if subject.history:
        measured = {point.commit for series in subject.history for point in series.points}
        listed.append(Fact("commits", [f"{len(measured):,}"]))
        listed.append(
            Fact(
                "environments",
                _some(dict.fromkeys(series.environment for series in subject.history)),
            )
        )
    environments = {profile.environment.fingerprint: profile.environment for profile in profiles}
    if environments:
        listed.append(
            Fact(
                "environment",
                _some(_environment(environment) for environment in environments.values()),
            )
        )
        listed.append(
            Fact("design", _some(dict.fromkeys(_design(profile) for profile in profiles)))
        )
        listed.append(
            Fact("collected", _some(dict.fromkeys(_collected(profile) for profile in profiles)))
        )
    return listed


def warnings(subject: Subject) -> list[str]:
    """The disturbances of the measurements, each once, with the number of profiles that saw it."""
    profiles = [*subject.baseline, *subject.target]
    seen = Counter(
        warning for profile in profiles for warning in dict.fromkeys(profile.environment.warnings)
    )
    return _some(
        f"{warning} ({count} profiles)" if count > 1 else warning for warning, count in seen.items()
    )


def _some(values: Iterable[str], most: int = 6) -> list[str]:
    """The first few of many, and how many more there are."""
    listed = [shorten(value, 400) for value in values]
    return listed[:most] + ([f"and {len(listed) - most:,} more"] if len(listed) > most else [])


def _environment(environment: Environment) -> str:
    """The machine, its system, the toolchain, and how it was set; what is not known by name stands
    as it was recorded.
    """
    left = dict(environment.fields)

    def phrase(form: str, *names: str) -> str:
        taken = [left.pop(name, "") for name in names]
        return " ".join(form.format(*taken).split()) if any(taken) else ""

    processors = phrase(
        "{} processor" if left.get("processors") == "1" else "{} processors", "processors"
    )
    groups = [
        [phrase("{}", "cpu"), processors, phrase("quota {}", "quota")],
        [phrase("{} {} {}", "system", "kernel", "machine"), phrase("{}", "libc")],
        [phrase("{}", "python"), phrase("{}", "compiler")],
        [phrase(f"{name} {{}}", name) for name in ("pin", "aslr", "padding")],
    ]
    groups += [[f"{name} {value}" for name, value in left.items()], [environment.fingerprint]]
    return (
        " · ".join(filter(None, (", ".join(filter(None, group)) for group in groups)))
        or "not recorded"
    )


def _design(profile: Profile) -> str:
    design = profile.design
    text = counted(design.executions, "execution")
    text += f" of {design.binaries} builds" if design.binaries > 1 else ""
    text += f", {design.warmup} to warm up" if design.warmup else ""
    if design.order == "sequential":
        return f"{text}, not interleaved"
    others = max(1, len(design.versions) - 1)
    return (
        f"{text}, interleaved with {counted(others, 'other version')} in random order, seed"
        f" {design.seed}"
    )


def _collected(profile: Profile) -> str:
    when = profile.collected
    return (
        f"{when.started[:19].replace('T', ' ')} to {when.ended[11:19]} UTC, session {when.session},"
        f" {when.tool}"
    )


@dataclass(frozen=True)
class PageTable:
    """The cells of each benchmark, by environment (empty if there is only one) and metric."""

    heading: str
    caption: str
    cells: Mapping[tuple[BenchmarkKey, str], dict[str, TableCell]]
    notes: list[str]
    most: int = METRIC_COLUMNS_SHOWN

    def table(self) -> Listing:
        """A row per benchmark, a column for each of the most telling metrics, and one for what
        changed in others.
        """
        metrics = sorted({metric for row in self.cells.values() for metric in row}, key=metric_rank)
        shown, others = metrics[: self.most], metrics[self.most :]
        bound = max(300, FULL_NAMES_CHARACTERS // max(1, min(MOST_TABLE_ROWS, len(self.cells))))
        rows = []
        titles = [title(key) for key, _ in islice(self.cells, MOST_TABLE_ROWS)]
        for ((key, environment), row), short in zip(
            self.cells.items(), apart(titles, NAME_CHARACTERS), strict=False
        ):
            listed = [row.get(metric) for metric in shown]
            if others:
                listed.append(
                    _remaining(
                        {metric: row[metric] for metric in others if metric in row},
                        alone=not any(listed),
                    )
                )
            place = f" in {environment}" if environment else ""
            rows.append(TableRow(key, short + place, shorten(title(key), bound) + place, listed))
        left_out = len(self.cells) - MOST_TABLE_ROWS
        notes = (
            [*self.notes, f"{left_out:,} more benchmarks are not listed."]
            if left_out > 0
            else self.notes
        )
        columns = [Column(metric_name(metric)) for metric in shown] + (
            [Column("changes in other metrics")] if others else []
        )
        return Listing(self.heading, self.caption, columns, rows, notes)

    def sentence(self, key: BenchmarkKey | None, metric: str) -> str:
        """One line about a benchmark (None: all of them) under one metric; with several
        environments, the first.
        """
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
    """The table that goes with a subject: verdicts, the history's newest state, or the centres of
    one revision.
    """
    if subject.report is not None:
        return _verdicts(subject.report, Naming.of(subject))
    if subject.history:
        return _newest(subject.history)
    return _centres(subject.target or subject.baseline)


def _remaining(row: Mapping[str, TableCell], *, alone: bool) -> TableCell | None:
    """Changes in metrics without a column; with ``alone``, because the benchmark has no others, all
    of them.
    """
    notable = {metric: cell for metric, cell in row.items() if alone or cell.word in NOTABLE}
    text = "; ".join(
        f"{cell.sign} {metric_name(metric)}: {cell.said}".rstrip()
        for metric, cell in notable.items()
    )
    return (
        TableCell(text, "\n".join(cell.finding for cell in notable.values() if cell.finding))
        if notable
        else None
    )


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
    text = (
        ""
        if change.effect is None
        else change_text(change.effect, change.low, change.high).replace(", ", ",\u00a0")
    )
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
        text, small, word, style.sign, shorten(reason, 300), finding_text, change.effect
    )


def _newest(history: Sequence[Series]) -> PageTable:
    cells: dict[tuple[BenchmarkKey, str], dict[str, TableCell]] = {}
    places = {series.environment: series for series in history}
    names = (
        dict(zip(places, environments(list(places.values())), strict=True))
        if len(places) > 1
        else {}
    )
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
