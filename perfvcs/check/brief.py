"""A report in brief: what changed, by how much and how surely, in the order in which it is read;
the same in text, Markdown and pages.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import ceil

import msgspec

from perfvcs.check.answer import criteria, effect_of, metric_of, sentence
from perfvcs.check.bounds import bounds, percent_of
from perfvcs.check.change import Change, JobMetric, Overall, Report
from perfvcs.check.movement import JobUnit, MovedBenchmark, cpu_leads, entries
from perfvcs.check.text import (
    NAME_WIDTH,
    SENTENCE_NAME,
    benchmark,
    contested,
    ids,
    measure,
    remarks,
)
from perfvcs.check.vocabulary import ONE_SIDED, WORDS, said
from perfvcs.profile.naming import is_whole
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import at_sizes, percent, step
from perfvcs.text.words import CLOCKS, COUNTS, counted, metric_rank, named, plural

MOST_LISTED = 5  # changes that are listed
JOBS = 6  # jobs that are listed
ENOUGH_COMPARISONS = 20  # with fewer comparisons, a share of them says little
STATED_APART = 1.5  # both are stated if the largest bound is this many times that of most
WIDEST_BOUND = 1.0  # bound beyond which nothing is ruled out that is worth saying
WIDE_BOUND = 0.25  # bound from which on it is a possibility rather than an assurance


class BriefLine(msgspec.Struct, frozen=True):
    """One entry of a list: the verdict's ``word``, a ``name``, the ``numbers``, and remarks, the
    most important first.

    ``accept`` has the ids by which `perf accept` takes it; empty where there is nothing to accept.
    """

    word: str
    name: str
    numbers: str
    details: list[str] = []
    accept: str = ""

    @property
    def remarks(self) -> list[str]:
        """All that stands beside the numbers."""
        return [*self.details, self.accept] if self.accept else self.details


class Brief(msgspec.Struct, frozen=True):
    """A report in brief: a sentence for the whole, a line per job, the changes, and a line for
    everything else.

    ``criteria`` belong to the sentence: by what it was judged, where that needs to be said.
    ``hidden`` jobs and ``left_out`` changes are not listed.
    """

    sentence: str
    criteria: str
    jobs: list[BriefLine]
    hidden: int
    changes: list[BriefLine]
    left_out: int
    rest: list[str]


def brief(
    report: Report, causes: Mapping[JobUnit, Sequence[str]] | None = None, *, whole: bool = False
) -> Brief:
    """The brief form of a report; ``causes`` gives the known reasons why a unit of a job moved.

    ``whole``: the criteria are not cut.
    """
    moved = entries(report)
    several = contested(report.changes)
    lines = {
        entry.unit: _line(report, entry, several, (causes or {}).get(entry.unit, ()))
        for entry in moved
    }
    jobs, hidden, shown = _jobs(report, lines)
    listed = [line for unit, line in lines.items() if unit not in shown]
    rest = [line for line in (_bound(report), *_apart(report)) if line]
    return Brief(
        sentence=sentence(report, moved),
        criteria=criteria(report.judged_by, whole=whole),
        jobs=jobs,
        hidden=hidden,
        changes=listed[:MOST_LISTED],
        left_out=max(0, len(listed) - MOST_LISTED),
        rest=rest,
    )


def _jobs(
    report: Report, moved: Mapping[JobUnit, BriefLine]
) -> tuple[list[BriefLine], int, set[JobUnit]]:
    """A line per job, of its metric that says most, but for jobs of one unit that moved; how many
    more jobs there are; and the units that need no line of their own.

    A job that was measured as a whole says itself what moved there.
    """
    groups: dict[tuple[str, str], list[Overall]] = defaultdict(list)
    for overall in report.overall:
        if overall.units:
            groups[overall.job, overall.collector].append(overall)
    names = dict(zip(groups, named(list(groups)), strict=True))
    counts, shown = unit_counts(report), set[JobUnit]()
    units_of: dict[str, dict[JobUnit, None]] = defaultdict(dict)
    parts: dict[tuple[str, str], str] = {}
    for change in report.changes:
        units_of[change.series][change.job, change.uid] = None
        parts[change.series, change.metric] = benchmark(change)
    ranked: list[tuple[tuple[str, str], Overall, list[Overall], BriefLine | None]] = []
    for group, metrics in groups.items():
        clocks = {overall.metric: overall for overall in metrics}
        first, *others = sorted(metrics, key=_moved_first)
        if first.metric == "wall" and cpu_leads(clocks):
            first, others = clocks["cpu"], [first, *(one for one in others if one.metric != "cpu")]
        units = list(dict.fromkeys(unit for series in first.series for unit in units_of[series]))
        if first.units == 1 and units[0] in moved:
            continue
        whole = [unit for unit in units if is_whole(*unit)]
        said_of_it = moved.get(whole[0]) if len(whole) == 1 else None
        if said_of_it:
            shown.add(whole[0])
        ranked.append((group, first, others, said_of_it))
    ranked.sort(key=lambda row: _weight(row[1]))
    lines = []
    for group, first, others, said_of_it in ranked[:JOBS]:
        name = names[group]
        if first.units == 1:
            own = parts.get((first.series[0], first.metric), first.job)
            name = f"{own}{name.removeprefix(first.job)}"
        line = _job(name, first, others, counts[first.job_metric])
        if said_of_it:
            line = msgspec.structs.replace(
                line, details=said_of_it.details, accept=said_of_it.accept
            )
        lines.append(line)
    return lines, max(0, len(ranked) - JOBS), shown


def _moved_first(overall: Overall) -> tuple[bool, bool, tuple[int, str]]:
    """The key that sorts metrics of a job: what moved, what several units have, as in a table."""
    return not _has_moved(overall), overall.units == 1, metric_rank(overall.metric)


def _has_moved(overall: Overall) -> bool:
    return overall.word is not None and WORDS[overall.word].moved


def _weight(overall: Overall) -> tuple[bool, float]:
    seconds = (overall.baseline or 0.0) if overall.unit == "s" else 0.0
    return not _has_moved(overall), -abs(overall.effect or 0.0) * (seconds or 1.0)


def unit_counts(report: Report) -> dict[JobMetric, Counter[str]]:
    """How many units have which word; what is accepted counts as ``accepted``."""
    words: dict[JobMetric, dict[object, str]] = {job.job_metric: {} for job in report.overall}
    owners = {
        (series, job.metric): job.job_metric for job in report.overall for series in job.series
    }
    for change in report.changes:
        if owner := owners.get((change.series, change.metric)):
            words[owner].setdefault(
                (change.series, change.uid, change.size, change.environment), said(change).word
            )
    return {owner: Counter(word_by_unit.values()) for owner, word_by_unit in words.items()}


def _job(name: str, first: Overall, others: Iterable[Overall], tally: Counter[str]) -> BriefLine:
    numbers = f"{metric_of(first)} {effect_of(first)}".rstrip()
    details = []
    if first.units > 1:
        time = first.unit == "s"
        worse, better = ("slower", "faster") if time else ("worse", "better")
        moved = f"{tally['degradation']:,} {worse}, {tally['improvement']:,} {better}"
        if tally["accepted"]:
            moved += f", {tally['accepted']:,} accepted"
        name = f"{shorten(name, SENTENCE_NAME)} ({counted(first.units, 'unit')}: {moved})"
        if 0 < first.combined < first.units:
            details.append(
                f"the effect is that of the {first.combined:,} units that were measured in the same"
                " executions"
            )
        elif first.effect is None and first.reason:
            details.append(first.reason)
    elif first.word and not WORDS[first.word].moved and first.word != "same" and first.reason:
        details.append(shorten(first.reason, NAME_WIDTH))
    if levels := step(first.baseline, first.target, first.unit):
        numbers += f", {levels}{f' {at_sizes(first.at)}' if first.at else ''}"
    beside = [
        other for other in others if _has_moved(other) or (other.unit == "s" and other.units > 1)
    ]
    also, but = list[str](), list[str]()
    for other in beside:
        text = f"{metric_of(other)} {effect_of(other)}".rstrip()
        if _has_moved(other) and _has_moved(first) and other.word != first.word:
            but.append(f"{text} ({other.word})")
        else:
            also.append(text)
    details[:0] = _beside(also, but)
    accepted = first.word == "degradation" and tally["accepted"] and not tally["degradation"]
    return BriefLine(
        "accepted" if accepted else first.word or "", shorten(name, NAME_WIDTH), numbers, details
    )


def _line(
    report: Report, entry: MovedBenchmark, several: set[tuple[str, str]], causes: Sequence[str]
) -> BriefLine:
    first = entry.first
    levels = step(first.baseline, first.target, first.unit)
    effect = f"{metric_of(first)} {measure(first)}".rstrip()
    numbers = ", ".join(filter(None, [effect, levels]))
    told = {*(CLOCKS if entry.remark else ()), *(COUNTS if first.work else ())}
    others = [change for change in entry.others if change.metric not in told]
    also = [_briefly(change) for change in others if change.word == first.word]
    but = [f"{_briefly(change)} ({change.word})" for change in others if change.word != first.word]
    if entry.sizes:
        also.append(counted(entry.sizes, "other size"))
    details = [
        shorten(remark, NAME_WIDTH) for remark in (entry.remark, *remarks(first, several)) if remark
    ]
    details += [*causes, *_beside(also, but)]
    return BriefLine(first.word, benchmark(first), numbers, details, ids(report, entry.changes))


def _beside(also: Sequence[str], but: Sequence[str]) -> list[str]:
    """The other metrics in words: those that moved in the same way, and those that did not."""
    texts = {"also": also, "but": but}
    return [f"{word} {', '.join(metrics)}" for word, metrics in texts.items() if metrics]


def _briefly(change: Change) -> str:
    """A metric with its effect, without the interval."""
    effect = measure(change) if change.effect is None else percent(change.effect)
    return f"{metric_of(change)} {effect}".rstrip()


def _bound(report: Report) -> str:
    """How far everything may have moved that is not said to have changed: all of it, else as many
    as there is a useful bound for.
    """
    rest = [
        change
        for change in report.comparisons
        if not WORDS[change.word].moved and change.accepted is None
    ]
    sorted_bounds = sorted(bounds(rest))
    if not sorted_bounds:
        return ""
    known, unknown = len(sorted_bounds), len(rest) - len(sorted_bounds)
    other = "other " if any(WORDS[change.word].moved for change in report.changes) else ""
    those = f"the {counted(known, f'{other}comparison')}" if known > 1 else f"the {other}comparison"
    most = sorted_bounds[-1]
    usual = sorted_bounds[ceil(0.95 * known) - 1]
    middle = sorted_bounds[(known - 1) // 2]
    beside = f"; of {unknown:,} more there is no bound" if unknown else ""
    spread = known >= ENOUGH_COMPARISONS and most > STATED_APART * usual
    if not (unknown or spread) and most <= WIDEST_BOUND:
        if most > WIDE_BOUND:
            return f"{those.capitalize()} may have moved by up to {percent_of(most)}."
        what = "Nothing else" if other else "Nothing"
        if not most:
            return f"{what} moved ({counted(known, 'comparison')})."
        return f"{what} moved by more than {percent_of(most)} ({counted(known, 'comparison')})."
    if not most:
        return f"{those.capitalize()} {_moved(most)}{beside}."
    none = f", none by more than {percent_of(most)}" if most <= WIDEST_BOUND else ""
    if usual <= WIDEST_BOUND and known >= ENOUGH_COMPARISONS:
        return f"19 of 20 of {those} {_moved(usual)}{none}{beside}."
    if middle <= WIDEST_BOUND and known > 1:
        return f"Half of {those} {_moved(middle)}{none}{beside}."
    if most <= WIDEST_BOUND:
        return f"{those.capitalize()} {_moved(most)}{beside}."
    rule = plural(known, "rules", "rule")
    return f"{those.capitalize()} {rule} out nothing below {percent_of(WIDEST_BOUND)}{beside}."


def _moved(most: float) -> str:
    return f"moved by at most {percent_of(most)}" if most else "did not move"


def _apart(report: Report) -> list[str]:
    """What cannot be compared, and why; what is new, missing or accepted."""
    sentences = []
    others = Counter(change.reason for change in report.changes if change.word == "not comparable")
    compared = report.compared
    if others and compared:
        reason, _ = others.most_common(1)[0]
        more = f", and {len(others) - 1:,} other reasons" if len(others) > 1 else ""
        sentences.append(f"Not comparable: {others.total():,}, {shorten(reason, NAME_WIDTH)}{more}")
    for word in ONE_SIDED:
        names = list(dict.fromkeys(benchmark(change) for change in report.having(word)))
        if names:
            sentences.append(f"{word.capitalize()}: {_first(names)}")
    accepted = {
        benchmark(change): change for change in report.changes if change.accepted is not None
    }
    if accepted:
        first = next(iter(accepted.values()))
        sentences.append(
            f"Accepted: {_first(list(accepted))} ({shorten(first.accepted or '', NAME_WIDTH)})"
        )
    return sentences


def _first(names: Sequence[str]) -> str:
    shown = ", ".join(shorten(name, SENTENCE_NAME) for name in names[:2])
    return shown if len(names) <= 2 else f"{shown} and {len(names) - 2:,} more"
