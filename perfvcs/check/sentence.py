"""A report in one sentence: what changed, by how much, and how surely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from perfvcs.check.bounds import within
from perfvcs.check.change import ONE_SIDED
from perfvcs.check.importance import MovedBenchmark, entries
from perfvcs.check.text import NAME_WIDTH, benchmark, measure
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import change as effect_text
from perfvcs.text.words import counted, metric_name, metric_rank, plural

if TYPE_CHECKING:
    from perfvcs.check.change import Change, JudgedBy, Overall, Report

SENTENCE_NAME = 48  # characters of a name
MOST_OPEN = 5  # up to so many open comparisons, one is named
SURE = ("degradation", "improvement")
MOST_CRITERIA, CRITERION = 5, 200  # differences in how a change is judged that are named, and characters of one


def headline(report: Report) -> str:
    """The sentence, and by what it was judged where that needs to be said; without a full stop."""
    return ". ".join(filter(None, [sentence(report), criteria(report.judged_by)]))


def criteria(by: JudgedBy) -> str:
    """What the target changes about how it is judged, and who judged if not the baseline's rules, in sentences.

    Empty where there is nothing to say.
    """
    said = [by.remark[:1].upper() + shorten(by.remark[1:], CRITERION)] if by.remark else []
    if by.differences:
        listed = [shorten(one, CRITERION) for one in by.differences[:MOST_CRITERIA]]
        listed += [f"{len(by.differences) - MOST_CRITERIA:,} more"] if len(by.differences) > MOST_CRITERIA else []
        said.insert(0, f"This change also changes how it is judged: {', '.join(listed)}")
    return ". ".join(said)


def sentence(report: Report, moved: Sequence[MovedBenchmark] | None = None) -> str:
    """The sentence, without a full stop; ``moved`` are the report's ``entries``, if known.

    What the change itself accepts comes first.
    """
    return "; ".join(filter(None, [accepting(report.judged_by), _finding(report, moved)]))


def accepting(by: JudgedBy) -> str:
    """The degradations that the change accepts by itself; empty where there are none."""
    own = by.accepts
    if not own:
        return ""
    first = shorten(own[0], 2 * SENTENCE_NAME)
    return f"this change accepts {counted(len(own), 'degradation')} of its own ({first}{', ...' if len(own) > 1 else ''})"


def _finding(report: Report, moved: Sequence[MovedBenchmark] | None) -> str:
    """What was found, in a sentence."""
    found = entries(report) if moved is None else moved
    compared = [change for change in report.comparisons if change.word != "not comparable"]
    if sure := [entry for entry in found if entry.first.word in SURE]:
        return _changed(report, sure)
    if found:
        first = found[0].first
        return f"{named(first)} may have become {adjective(first)}: {numbers_of(first)}; {first.reason or 'it is not certain'}"
    if not compared:
        return _nothing(report)
    if all(change.settled for change in compared):
        return _same(compared)
    undecided = [change for change in compared if not change.settled]
    first = min(undecided, key=lambda change: metric_rank(change.metric))
    why = f"; {named(first)}: {numbers_of(first)}" if len(undecided) <= MOST_OPEN and measure(first) else ""
    if len(undecided) == len(compared):
        return f"no change is shown: {_every(len(undecided))} open{why}"
    few = f"{len(undecided):,} of {len(compared):,} comparisons"
    return f"no change is shown, and {few} {plural(len(undecided), 'is', 'are')} open{why}"


def _changed(report: Report, sure: Sequence[MovedBenchmark]) -> str:
    """About the most important job: as a whole if that moved, else its most important benchmark; then the number of all others."""
    first = sure[0].first
    jobs = [job for job in report.overall if first.series in job.series and job.units > 1 and job.effect is not None]
    whole = min(jobs, key=lambda job: (job.word not in SURE, job.metric != first.metric, metric_rank(job.metric)), default=None)
    own = f"{named(first)} became {adjective(first)}: {numbers_of(first)}"
    if first.clusters:  # they have no direction
        own = f"the counters of {named(first)} behave differently"
    covered, parts = 1, []
    if whole is None:
        parts.append(own)
    elif whole.word not in SURE:
        surely = "the same" if whole.word == "same" else "no more than chance"
        parts += [own, f"{shorten(whole.job, SENTENCE_NAME)} in all: {metric_of(whole)} {effect_of(whole)}, {surely}"]
    else:
        parts.append(f"{shorten(whole.job, SENTENCE_NAME)} became {adjective(whole)}: {metric_of(whole)} {effect_of(whole)}")
        if first.word != whole.word:
            parts.append(f"but {own}")
        series = {*whole.series}
        covered = sum(entry.first.series in series for entry in sure)
    if covered < len(sure):
        parts.append(f"{counted(len(sure) - covered, 'other benchmark')} moved, too")
    words: Counter[str] = Counter(change.word for entry in sure for change in entry.changes)
    mixed = f" ({words['degradation']:,} worse, {words['improvement']:,} better)" if all(words[word] for word in SURE) else ""
    return "; ".join(parts) + mixed


def _same(compared: Sequence[Change]) -> str:
    """If everything is settled and nothing changed."""
    rest = [change for change in compared if change.accepted is None]
    accepted = len(compared) - len(rest)
    if not rest:
        return f"nothing changed beyond what is accepted: {counted(accepted, 'comparison')}"
    return f"nothing changed{' beyond what is accepted' if accepted else ''}: {_every(len(rest))} the same"


def _every(count: int) -> str:
    return {1: "the one comparison is", 2: "both comparisons are"}.get(count, f"all {count:,} comparisons are")


def _nothing(report: Report) -> str:
    """If nothing could be compared."""
    counts = Counter(change.word for change in report.changes)
    if counts["not comparable"]:
        reasons = Counter(change.reason for change in report.changes if change.word == "not comparable")
        return f"nothing is comparable: {shorten(reasons.most_common(1)[0][0], NAME_WIDTH)}"
    found = [f"{counts[word]:,} {word}" for word in ONE_SIDED if counts[word]]
    return f"nothing to compare{': ' if found else ''}{', '.join(found)}"


def bounds(changes: Iterable[Change]) -> list[float]:
    """The largest effect that each change leaves possible, as a share, if known."""
    found: list[float] = []
    for change in changes:
        ends = [abs(end) for end in (change.low, change.high) if end is not None]
        if change.bound is not None:
            found.append(change.bound)
        elif change.word == "same":
            found.append(max(ends) if len(ends) == 2 else abs(change.effect or 0.0))
    return found


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
    suspected = moved.word == "suspected" and ((moved.effect or 0.0) < 0) == (moved.better == "higher")
    words = {"s": ("slower", "faster"), "B": ("larger", "smaller")}.get(moved.unit, ("worse", "better"))
    return words[0] if moved.word == "degradation" or suspected else words[1]
