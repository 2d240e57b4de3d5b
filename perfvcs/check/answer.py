"""The answer that comes first: what changed most, by how much and how surely, in one sentence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.check.acceptance import is_open
from perfvcs.check.change import ONE_SIDED
from perfvcs.check.text import NAME_WIDTH, benchmark, measure
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import change as effect_text
from perfvcs.text.words import counted, metric_name, metric_rank, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from perfvcs.check.case import Case
    from perfvcs.check.change import Change, Difference, JudgedBy, Overall, Report, Word


ComparedKey = tuple[str, str, str, str]

COARSE = 0.1  # from this bound on whole percents are enough
MOVED_VERDICTS: tuple[Word, ...] = ("degradation", "improvement", "suspected")
WHOLE = 1.0  # assumed seconds of a job whose time is not known
NEW = 10.0  # effect of what has no ratio: it was nothing, or is a finding without a number
JobUnit = tuple[str, str]  # job's label, uid
SENTENCE_NAME = 48  # characters of a name
MOST_OPEN = 5  # up to so many open comparisons, one is named
SURE = ("degradation", "improvement")
# differences in how a change is judged that are named, and characters of one
MOST_CRITERIA, CRITERION = 10, 200
MOST_PARTS, PART = 4, 44  # of one of them, and characters of a part


class Undecided(Enum):
    """Why an interval decides nothing, as a text with a place for delta in percent."""

    WIDE = "the interval reaches beyond ±{:.3g} %"
    FAR = "some executions are far from the others: they may be part of a change"


def explained(reason: str | Undecided, delta: float) -> str:
    """The reason as a text."""
    return reason.value.format(100 * delta) if isinstance(reason, Undecided) else reason


def within(bound: float) -> str:
    """The bound in words, rounded up.

    >>> within(0.0226), within(0.1), within(0.306)
    ('within ±2.3 %', 'within ±10 %', 'within ±31 %')
    """
    from math import ceil

    digits = 1 if bound >= COARSE else 10
    return f"within ±{ceil(round(100 * digits * bound, 6)) / digits:,.10g} %"


def stated(word: Word, reason: str, bound: float | None) -> str:
    """The reason, with the bound if the comparison is open."""
    from math import isfinite

    if word != "inconclusive" or bound is None or not isfinite(bound):
        return reason
    return f"{reason}; {within(bound)}"


def key(compared: Case | Change) -> ComparedKey:
    """What the changes of a case have in common with it."""
    return compared.series, compared.environment, compared.uid, compared.metric


def settle(
    changes: Iterable[Change], asked: float | None, by_rule: Mapping[ComparedKey, float]
) -> list[Change]:
    """The changes; open ones within ``asked`` (a share) become the same, with the bound as the
    reason.

    ``by_rule`` has the shares of cases whose rule names one; ``asked`` overrides it.
    """
    if asked is None and not by_rule:
        return [*changes]
    return [
        _settled(change, by_rule.get(key(change)) if asked is None else asked) for change in changes
    ]


def _settled(change: Change, share: float | None) -> Change:
    if share is None or not change.method:
        return change
    if change.word != "inconclusive" or change.bound is None or change.bound > share:
        return msgspec.structs.replace(change, within=share)
    return msgspec.structs.replace(
        change, word="same", reason=within(change.bound), coarse=False, within=share
    )


class SizedUnit(NamedTuple):
    """A unit of a job (its label) at one of its sizes."""

    job: str
    uid: str
    size: float | None

    @classmethod
    def of(cls, change: Change) -> SizedUnit:
        """What a change is about, in all its metrics."""
        return cls(change.job, change.uid, change.size)


class MovedBenchmark(msgspec.Struct, frozen=True):
    """A benchmark that moved: its changes, the one that matters most first; ``importance`` in
    seconds, effect times time spent.
    """

    changes: list[Change]
    importance: float

    @property
    def first(self) -> Change:
        """The change that matters most."""
        return self.changes[0]

    @property
    def unit(self) -> JobUnit:
        """The job's label and the unit."""
        return self.first.job, self.first.uid

    @property
    def others(self) -> list[Change]:
        """The first change of each other metric."""
        first_by_metric = {change.metric: change for change in reversed(self.changes)}
        return [
            change
            for metric, change in reversed(first_by_metric.items())
            if metric != self.first.metric
        ]

    @property
    def sizes(self) -> int:
        """How many other sizes moved under the first metric."""
        sizes = {change.size for change in self.changes if change.metric == self.first.metric}
        return len(sizes) - 1


def entries(report: Report) -> list[MovedBenchmark]:
    """The benchmarks that moved and are not accepted: those that fail the check first, then the
    more important before the less.
    """
    time = _time_spent(report.changes)
    moved: dict[JobUnit, list[tuple[Change, float]]] = defaultdict(list)
    for change in report.changes:
        if change.word in MOVED_VERDICTS and change.accepted is None:
            moved[change.job, change.uid].append((change, importance(change, time)))
    benchmarks = [_entry(members) for members in moved.values()]
    return sorted(
        benchmarks, key=lambda entry: (not any(map(is_open, entry.changes)), -entry.importance)
    )


def _entry(members: Sequence[tuple[Change, float]]) -> MovedBenchmark:
    ranked = sorted(
        members,
        key=lambda member: (not is_open(member[0]), metric_rank(member[0].metric)[0], -member[1]),
    )
    return MovedBenchmark([change for change, _ in ranked], max(weight for _, weight in members))


def importance(change: Change, time: Mapping[SizedUnit, float]) -> float:
    """Effect times time spent, in seconds."""
    effect = NEW if change.effect is None else abs(change.effect)
    return effect * time[SizedUnit.of(change)]


def _time_spent(changes: Iterable[Change]) -> dict[SizedUnit, float]:
    """Seconds that are spent in each unit at each size: its own time where it has one.

    Else its part of the longest time in the report (a second, where it has none): its part of the
    largest amount of a metric.
    """
    times: dict[SizedUnit, float] = {}
    amounts: dict[SizedUnit, float] = {}
    largest: dict[tuple[str, str], float] = defaultdict(float)
    rows = list(changes)
    for change in rows:
        amount = abs(change.baseline or change.target or 0.0)
        if change.unit == "s":
            unit = SizedUnit.of(change)
            times[unit] = max(times.get(unit, 0.0), amount)
        largest[change.job, change.metric] = max(largest[change.job, change.metric], amount)
    whole = max(times.values(), default=0.0) or WHOLE
    for change in rows:
        unit, most = SizedUnit.of(change), largest[change.job, change.metric]
        share = abs(change.baseline or change.target or 0.0) / most if most else 1.0
        amounts[unit] = max(amounts.get(unit, 0.0), share * whole)
    return amounts | times


def headline(report: Report) -> str:
    """The sentence, and by what it was judged where that needs to be said; without a full stop."""
    return ". ".join(filter(None, [sentence(report), criteria(report.judged_by)]))


def criteria(by: JudgedBy, *, whole: bool = False) -> str:
    """What the target changes about how it is judged, and who judged if not the baseline's rules,
    in sentences.

    Empty where there is nothing to say. ``whole``: all that is known of it.
    """
    sentences = [by.remark[:1].upper() + shorten(by.remark[1:], CRITERION)] if by.remark else []
    if by.differences:
        shown = by.differences if whole else by.differences[:MOST_CRITERIA]
        listed = [_written(difference, whole=whole) for difference in shown]
        if len(by.differences) > len(shown):
            listed.append(f"{len(by.differences) - len(shown):,} more")
        sentences.insert(0, f"This change also changes how it is judged: {', '.join(listed)}")
    return ". ".join(sentences)


def _written(difference: Difference, *, whole: bool) -> str:
    """A difference with its parts in brackets and its files; if not ``whole``, with the first of
    them.
    """
    parts, files, more = difference.parts, difference.files, difference.more
    if not whole:
        longest = PART if len(parts) > 1 else CRITERION
        more += len(parts[MOST_PARTS:]) + len(files[1:])
        parts, files = (
            [shorten(part, longest) for part in parts[:MOST_PARTS]],
            [shorten(file, PART) for file in files[:1]],
        )
    listed = [*parts, f"{more:,} more"] if parts and more else parts
    if files:
        files = [*files, counted(more, "more file")] if more else files
    brackets = f"({'; '.join(listed)})" if listed else ""
    return " ".join(
        filter(None, [shorten(difference.what, CRITERION), brackets, " and ".join(files)])
    )


def sentence(report: Report, moved: Sequence[MovedBenchmark] | None = None) -> str:
    """The sentence, without a full stop; ``moved`` are the report's ``entries``, if known.

    What the change itself accepts comes first.
    """
    return "; ".join(filter(None, [accepting(report.judged_by), _finding(report, moved)]))


def accepting(by: JudgedBy) -> str:
    """The degradations that the change accepts by itself; empty where there are none."""
    accepted = by.accepts
    if not accepted:
        return ""
    first = shorten(accepted[0], 2 * SENTENCE_NAME)
    return (
        f"this change accepts {counted(len(accepted), 'degradation')} of its own"
        f" ({first}{', ...' if len(accepted) > 1 else ''})"
    )


def _finding(report: Report, moved: Sequence[MovedBenchmark] | None) -> str:
    """What was found, in a sentence."""
    benchmarks = entries(report) if moved is None else moved
    compared = [change for change in report.comparisons if change.word != "not comparable"]
    if sure := [entry for entry in benchmarks if entry.first.word in SURE]:
        return _changed(report, sure)
    if benchmarks:
        first = benchmarks[0].first
        return (
            f"{named(first)} may have become {adjective(first)}: {numbers_of(first)};"
            f" {first.reason or 'it is not certain'}"
        )
    if not compared:
        return _nothing(report)
    if all(change.settled for change in compared):
        return _same(compared)
    undecided = [change for change in compared if not change.settled]
    first = min(undecided, key=lambda change: metric_rank(change.metric))
    why = ""
    if len(undecided) <= MOST_OPEN and measure(first):
        why = f"; {named(first)}: {numbers_of(first)}"
    if len(undecided) == len(compared):
        return f"no change is shown: {_every(len(undecided))} open{why}"
    few = f"{len(undecided):,} of {len(compared):,} comparisons"
    return f"no change is shown, and {few} {plural(len(undecided), 'is', 'are')} open{why}"


def _changed(report: Report, sure: Sequence[MovedBenchmark]) -> str:
    """About the most important job: as a whole if that moved, else its most important benchmark;
    then the number of all others.
    """
    first = sure[0].first
    jobs = [
        job
        for job in report.overall
        if first.series in job.series and job.units > 1 and job.effect is not None
    ]
    whole = min(
        jobs,
        key=lambda job: (job.word not in SURE, job.metric != first.metric, metric_rank(job.metric)),
        default=None,
    )
    finding = f"{named(first)} became {adjective(first)}: {numbers_of(first)}"
    if first.clusters:  # they have no direction
        finding = f"the counters of {named(first)} behave differently"
    covered, parts = 1, []
    if whole is None:
        parts.append(finding)
    elif whole.word not in SURE:
        surely = "the same" if whole.word == "same" else "no more than chance"
        parts += [
            finding,
            (
                f"{shorten(whole.job, SENTENCE_NAME)} in all: {metric_of(whole)}"
                f" {effect_of(whole)}, {surely}"
            ),
        ]
    else:
        parts.append(
            f"{shorten(whole.job, SENTENCE_NAME)} became {adjective(whole)}: {metric_of(whole)}"
            f" {effect_of(whole)}"
        )
        if first.word != whole.word:
            parts.append(f"but {finding}")
        series = {*whole.series}
        covered = sum(entry.first.series in series for entry in sure)
    if covered < len(sure):
        parts.append(f"{counted(len(sure) - covered, 'other benchmark')} moved, too")
    words: Counter[str] = Counter(change.word for entry in sure for change in entry.changes)
    mixed = ""
    if all(words[word] for word in SURE):
        mixed = f" ({words['degradation']:,} worse, {words['improvement']:,} better)"
    return "; ".join(parts) + mixed


def _same(compared: Sequence[Change]) -> str:
    """The sentence if everything is settled and nothing changed."""
    rest = [change for change in compared if change.accepted is None]
    accepted = len(compared) - len(rest)
    if not rest:
        return f"nothing changed beyond what is accepted: {counted(accepted, 'comparison')}"
    return (
        f"nothing changed{' beyond what is accepted' if accepted else ''}: {_every(len(rest))} the"
        " same"
    )


def _every(count: int) -> str:
    return {1: "the one comparison is", 2: "both comparisons are"}.get(
        count, f"all {count:,} comparisons are"
    )


def _nothing(report: Report) -> str:
    """The sentence if nothing could be compared."""
    counts = Counter(change.word for change in report.changes)
    if counts["not comparable"]:
        reasons = Counter(
            change.reason for change in report.changes if change.word == "not comparable"
        )
        return f"nothing is comparable: {shorten(reasons.most_common(1)[0][0], NAME_WIDTH)}"
    one_sided = [f"{counts[word]:,} {word}" for word in ONE_SIDED if counts[word]]
    return f"nothing to compare{': ' if one_sided else ''}{', '.join(one_sided)}"


def bounds(changes: Iterable[Change]) -> list[float]:
    """The largest effect that each change leaves possible, as a share, if known."""
    largest: list[float] = []
    for change in changes:
        ends = [abs(end) for end in (change.low, change.high) if end is not None]
        if change.bound is not None:
            largest.append(change.bound)
        elif change.word == "same":
            largest.append(max(ends) if len(ends) == 2 else abs(change.effect or 0.0))
    return largest


def percent_of(bound: float) -> str:
    """A bound in percent, rounded up.

    >>> percent_of(0.0226)
    '2.3 %'
    """
    return within(bound).removeprefix("within ±")


def named(change: Change) -> str:
    """The benchmark's name, short enough for a sentence."""
    return shorten(benchmark(change), SENTENCE_NAME)


def metric_of(moved: Change | Overall) -> str:
    """The metric's name, short enough for a sentence."""
    return shorten(metric_name(moved.metric), SENTENCE_NAME)


def numbers_of(change: Change) -> str:
    """The metric with its effect: ``wall time +7.3 % [+5.1, +9.6]``."""
    return f"{metric_of(change)} {measure(change)}".rstrip()


def effect_of(overall: Overall) -> str:
    """The effect with its interval, empty where there is none."""
    return "" if overall.effect is None else effect_text(overall.effect, overall.low, overall.high)


def adjective(moved: Change | Overall) -> str:
    """What became of a benchmark: slower or faster, larger or smaller, else worse or better."""
    suspected = moved.word == "suspected" and ((moved.effect or 0.0) < 0) == (
        moved.better == "higher"
    )
    words = {"s": ("slower", "faster"), "B": ("larger", "smaller")}.get(
        moved.unit, ("worse", "better")
    )
    return words[0] if moved.word == "degradation" or suspected else words[1]
