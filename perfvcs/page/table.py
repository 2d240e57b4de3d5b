"""What a page says in words and plain tables: where the figures come from, and one row per benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfvcs.check import Change, Report
from perfvcs.check.text import found_in
from perfvcs.profile import Environment, Profile
from perfvcs.quantity import change as change_text
from perfvcs.quantity import counted, metric_name, metric_rank, quantity, shorten
from perfvcs.sparkline import sparkline
from perfvcs.views import Series, Subject
from perfvcs.views._canvas import SEEN, seen
from perfvcs.views._samples import Unit, samples
from perfvcs.views._sides import growth, sized

ROWS = 1000
COLUMNS = 3  # metrics with a column of their own
SPARKS = 24  # commits in a line of blocks
NAMES = 500_000  # characters of full names in one page
NOTABLE = ("degradation", "improvement", "suspected", "accepted")
Key = tuple[str, str, float | None]


@dataclass(frozen=True)
class Fact:
    """One line of a page's head: what, and its values."""

    term: str
    values: list[str]


@dataclass(frozen=True)
class Cell:
    """One metric of one benchmark: a verdict's word (or empty), the number, the small print, and the reason shown on hover.

    ``finding`` is that part of the small print which a method found beyond the number.
    """

    text: str
    detail: str = ""
    word: str = ""
    sign: str = ""
    reason: str = ""
    finding: str = ""


@dataclass(frozen=True)
class Row:
    """One benchmark: ``key`` is its job, unit and size; a cell is None where a metric was not measured."""

    key: Key
    name: str
    full: str
    cells: list[Cell | None]


@dataclass(frozen=True)
class Table:
    """A heading, a caption, column titles (the benchmark's own left out), and rows."""

    heading: str
    caption: str
    columns: list[str]
    rows: list[Row]
    notes: list[str]


def tabulate(subject: Subject) -> Table | None:
    """The table that goes with a subject: verdicts, the history's newest state, or the centres of one revision."""
    if subject.report is not None:
        return _verdicts(subject.report)
    if subject.history:
        return _newest(subject.history)
    return _centres(subject.target or subject.baseline)


def title(key: Key) -> str:
    """A benchmark's name in full."""
    return Unit(key[0], "", key[1], key[2]).title


def _table(
    heading: str, caption: str, cells: dict[tuple[Key, str], dict[str, Cell]], notes: list[str], most: int = COLUMNS
) -> Table:
    """Rows out of cells by benchmark, environment (empty where there is but one) and metric."""
    metrics = sorted({metric for row in cells.values() for metric in row}, key=metric_rank)
    kept, others = metrics[:most], metrics[most:]
    bound = max(300, NAMES // max(1, min(ROWS, len(cells))))
    rows = []
    for (key, environment), row in list(cells.items())[:ROWS]:
        listed = [row.get(metric) for metric in kept]
        if others:
            alone = not any(listed)  # then nothing else is told of this benchmark
            told = {metric: cell for metric in others if (cell := row.get(metric)) and (alone or cell.word in NOTABLE)}
            said = "; ".join(
                f"{cell.sign} {metric_name(metric)}: {cell.word} {cell.text}".rstrip() for metric, cell in told.items()
            )
            findings = "\n".join(cell.finding for cell in told.values() if cell.finding)
            listed.append(Cell(said, findings) if told else None)
        place = f" in {environment}" if environment else ""
        rows.append(Row(key, shorten(title(key), 64) + place, shorten(title(key), bound) + place, listed))
    if len(cells) > ROWS:
        notes = [*notes, f"{len(cells) - ROWS:,} more benchmarks are not listed."]
    columns = [metric_name(metric) for metric in kept] + (["changes in other metrics"] if others else [])
    return Table(heading, caption, columns, rows, notes)


def _verdicts(report: Report) -> Table:
    cells: dict[tuple[Key, str], dict[str, Cell]] = {}
    for change in report.changes:
        cells.setdefault(((change.job, change.uid, change.size), ""), {}).setdefault(change.metric, _verdict(change))
    counts = Counter(seen(change)[0] for change in report.changes)
    caption = ", ".join(
        counted([(word, counts[word])]).replace(" ", f" {look.sign} ", 1) for word, look in SEEN.items() if counts[word]
    )
    confidence = report.changes[0].confidence if report.changes else 0.99
    notes = [f"Change of the target against the baseline with its {100 * confidence:g} % interval; every execution counts once."]
    return _table("Verdicts", caption, cells, notes)


def _verdict(change: Change) -> Cell:
    text = "" if change.effect is None else change_text(change.effect, change.low, change.high).replace(", ", ",\u00a0")
    centres = [quantity(value, change.unit) for value in (change.baseline, change.target) if value is not None]
    detail = " → ".join(centres) or change.reason
    design = f"{change.executions[0]} and {change.executions[1]} executions, method {change.method}"
    reason = change.reason or design if change.accepted is None else change.accepted
    word, look = seen(change)
    found = [change.finding, *(found_in(cluster) for cluster in change.clusters or () if cluster.regressed)]
    finding = shorten("; ".join(filter(None, found)), 300)
    return Cell(text, "\n".join(filter(None, [shorten(detail, 120), finding])), word, look.sign, shorten(reason, 300), finding)


def _newest(history: Sequence[Series]) -> Table:
    cells: dict[tuple[Key, str], dict[str, Cell]] = {}
    several = len({series.environment for series in history}) > 1
    for series in history:
        if series.points:
            newest = series.points[-1]
            judged = next((point for point in reversed(series.points) if point.verdict in NOTABLE), None)
            line = sparkline([point.centre for point in series.points], width=SPARKS)
            word = "" if judged is None else "accepted change" if judged.verdict == "accepted" else judged.verdict
            detail = f"last {word} at {judged.commit[:8]}" if judged else f"no change in {len(series.points):,} commits"
            cell = Cell(quantity(newest.centre, series.unit), f"{line}\n{detail}")
            place = shorten(series.environment, 24) if several else ""
            cells.setdefault(((series.label, series.uid, series.size), place), {}).setdefault(series.metric, cell)
    return _table("Newest values", f"The newest commit's centre; the line shows the newest {SPARKS} commits at most", cells, [])


def _centres(profiles: Sequence[Profile]) -> Table | None:
    cells: dict[tuple[Key, str], dict[str, Cell]] = {}
    environments = {profile.environment.fingerprint for profile in profiles}
    for sample in samples(profiles):
        found = sample.centre
        if sample.meaning.better != "none" and found is not None:
            low_high = found.text(sample.meaning.unit).partition(" [")[2]
            detail = f"[{low_high}, " if low_high else "no interval, "
            detail += f"{found.executions:,} execution{'s' * (found.executions != 1)}"
            detail = growth(sample) if sized(sample) else detail
            place = shorten(sample.environment, 24) if len(environments) > 1 else ""
            cell = Cell(quantity(found.value, sample.meaning.unit), detail)
            cells.setdefault(((sample.unit.job, sample.unit.uid, sample.unit.size), place), {}).setdefault(sample.metric, cell)
    caption = "Geometric mean of the executions' medians, with its 99 % interval"
    return _table("Measurements", caption, cells, [], most=4) if cells else None


def facts(subject: Subject) -> list[Fact]:
    """Where the figures come from: commits, benchmarks, environments, design, and when."""
    profiles = [*subject.baseline, *subject.target]
    found = []
    for name, side in (("baseline", subject.baseline), ("target" if subject.baseline else "commit", subject.target)):
        commits = dict.fromkeys(profile.commit + (" with uncommitted changes" if profile.dirty else "") for profile in side)
        if commits:
            found.append(Fact(name, _some(commits)))
    if not profiles and subject.report is not None:
        found = [Fact("baseline", [subject.report.baseline]), Fact("target", [subject.report.target])]
    if subject.history:
        measured = {point.commit for series in subject.history for point in series.points}
        found.append(Fact("commits", [f"{len(measured):,}"]))
        found.append(Fact("environments", _some(dict.fromkeys(series.environment for series in subject.history))))
    environments = {profile.environment.fingerprint: profile.environment for profile in profiles}
    if environments:
        found.append(Fact("environment", _some(_environment(environment) for environment in environments.values())))
        found.append(Fact("design", _some(dict.fromkeys(_design(profile) for profile in profiles))))
        found.append(Fact("collected", _some(dict.fromkeys(_collected(profile) for profile in profiles))))
    return found


def warnings(subject: Subject) -> list[str]:
    """What disturbed the measurements, each once, with how many profiles it was seen in."""
    profiles = [*subject.baseline, *subject.target]
    seen = Counter(warning for profile in profiles for warning in dict.fromkeys(profile.environment.warnings))
    return _some(f"{warning} ({count} profiles)" if count > 1 else warning for warning, count in seen.items())


def _some(values: Iterable[str], most: int = 6) -> list[str]:
    """The first few of many, and how many more there are."""
    listed = [shorten(value, 400) for value in values]
    return listed[:most] + ([f"and {len(listed) - most:,} more"] if len(listed) > most else [])


def _environment(environment: Environment) -> str:
    """The machine, its system, the toolchain, and how it was set; what is not known by name stands as it was recorded."""
    left = dict(environment.fields)

    def phrase(form: str, *names: str) -> str:
        taken = [left.pop(name, "") for name in names]
        return " ".join(form.format(*taken).split()) if any(taken) else ""

    processors = phrase("{} processor" if left.get("processors") == "1" else "{} processors", "processors")
    groups = [
        [phrase("{}", "cpu"), processors, phrase("quota {}", "quota")],
        [phrase("{} {} {}", "system", "kernel", "machine"), phrase("{}", "libc")],
        [phrase("{}", "python"), phrase("{}", "compiler")],
        [phrase(f"{name} {{}}", name) for name in ("pin", "aslr", "padding")],
    ]
    groups += [[f"{name} {value}" for name, value in left.items()], [environment.fingerprint]]
    return " · ".join(filter(None, (", ".join(filter(None, group)) for group in groups))) or "not recorded"


def _design(profile: Profile) -> str:
    design = profile.design
    text = f"{design.executions} execution{'s' * (design.executions != 1)}"
    text += f" of {design.binaries} builds" if design.binaries > 1 else ""
    text += f", {design.warmup} to warm up" if design.warmup else ""
    if design.order == "sequential":
        return f"{text}, not interleaved"
    others = max(1, len(design.versions) - 1)
    return f"{text}, interleaved with {others} other version{'s' * (others != 1)} in random order, seed {design.seed}"


def _collected(profile: Profile) -> str:
    when = profile.collected
    return f"{when.started[:19].replace('T', ' ')} to {when.ended[11:19]} UTC, session {when.session}, {when.tool}"
