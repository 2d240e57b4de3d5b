"""The answer that comes first: what changed most, by how much and how surely, in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from perfvcs.check.bounds import distance, is_wide, percent_of
from perfvcs.check.change import Change, Difference, JudgedBy, Overall, Report
from perfvcs.check.doubts import first_said
from perfvcs.check.movement import FURTHER, MovedBenchmark, cpu_leads, entries
from perfvcs.check.text import NAME_WIDTH, SENTENCE_NAME, benchmark, measure
from perfvcs.check.vocabulary import ONE_SIDED, SURE, WORDS, comparative
from perfvcs.profile.naming import is_whole
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import change as effect_text
from perfvcs.text.words import CLOCKS, counted, metric_name, metric_rank, plural

# differences in how a change is judged that are named, and characters of one
MOST_CRITERIA, CRITERION = 10, 200
MOST_PARTS, PART = 4, 44  # of one of them, and characters of a part
MANY = 0.25  # of the units of a job
MOST_OPEN = 5  # of more open comparisons, the one with the largest effect is named


def headline(report: Report) -> str:
    """The sentence, and by what it was judged where that needs to be said; without a full stop."""
    return ". ".join(filter(None, [sentence(report), criteria(report.judged_by)]))


def sentence(report: Report, moved: Sequence[MovedBenchmark] | None = None) -> str:
    """The sentence, without a full stop; ``moved`` are the report's ``entries``, if known.

    What the change itself accepts comes first, and what is wrong apart from speed.
    """
    said = [accepting(report.judged_by), first_said(report), _finding(report, moved)]
    return "; ".join(filter(None, [*said, _earlier(report)]))


def _finding(report: Report, moved: Sequence[MovedBenchmark] | None) -> str:
    """What was found, in a sentence."""
    benchmarks = entries(report) if moved is None else moved
    compared = report.compared
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
    if len(undecided) > MOST_OPEN:
        largest = max(undecided, key=lambda change: abs(change.effect or 0.0))
        why = f"; the largest is {named(largest)}: {numbers_of(largest)}{_doubt(largest)}"
        why = why if largest.effect else ""
    elif measure(first) and not first.since:
        why = f"; {named(first)}: {numbers_of(first)}"
    none = "no change is shown"
    if any(change.accepted for change in compared):
        none += " beyond what is accepted"
    if len(undecided) == len(compared):
        return f"{none}: {_every(len(undecided))} undecided{why}"
    few = f"{len(undecided):,} of {len(compared):,} comparisons"
    return f"{none}, and {few} {plural(len(undecided), 'is', 'are')} undecided{why}"


def _doubt(change: Change) -> str:
    """Why a comparison is open, in brackets, where its interval does not say so."""
    reason = change.reason.partition(":")[0]
    if not reason or is_wide(reason):
        return ""
    return f" ({reason})"


def _changed(report: Report, sure: Sequence[MovedBenchmark]) -> str:
    """About the most important benchmark, with its job as a whole; then the number of all others.

    The whole comes first where many of its units moved, and all about as much.
    """
    first = sure[0].first
    whole = _whole(report, first)
    said = f"{named(first)} {became(first)}: {numbers_of(first)}"
    finding = "; ".join(filter(None, [said, _beside(sure[0])]))
    if first.clusters:  # they have no direction
        finding = f"the counters of {named(first)} behave differently"
    others, parts = list(sure[1:]), [finding]
    if whole is not None and _is_general(whole, sure):
        parts = [
            f"{shorten(whole.job, SENTENCE_NAME)} became {adjective(whole)}: {metric_of(whole)}"
            f" {effect_of(whole)}"
        ]
        series = {*whole.series}
        others = [entry for entry in sure if entry.first.series not in series]
    elif whole is not None and not is_whole(first.job, first.uid):
        surely = {"same": ", the same"}.get(whole.word or "", ", no more than chance")
        parts.append(
            f"{shorten(whole.job, SENTENCE_NAME)} in all: {metric_of(whole)} {effect_of(whole)}"
            + ("" if whole.word in SURE else surely)
        )
        others = [
            entry
            for entry in others
            if entry.first.series not in whole.series or not is_whole(*entry.unit)
        ]
    if others:
        moved = f"{counted(len(others), 'other benchmark')} moved, too"
        parts.append(moved + _ways(first, others))
    return "; ".join(parts)


def _ways(first: Change, others: Sequence[MovedBenchmark]) -> str:
    """How many of the others became worse and better, unless all went the way of the first."""
    words: Counter[str] = Counter(entry.first.word for entry in others)
    if set(words) <= {first.word}:
        return ""
    ways = {"worse": words["degradation"], "better": words["improvement"]}
    moved = [f"{count:,} {way}" for way, count in ways.items() if count]
    return f" ({', '.join(moved)})"


def became(change: Change) -> str:
    """``became slower``; of single values that differ since a commit before the target, ``is slower
    since 80e5b7fea8``.
    """
    if change.since:
        return f"is {adjective(change)} since {change.since[:10]}"
    return f"became {adjective(change)}"


def _earlier(report: Report) -> str:
    """What single values show to have changed before the baseline, which nothing fails for."""
    changes = [change for change in report.changes if change.since and not WORDS[change.word].moved]
    if not changes:
        return ""
    first = min(changes, key=lambda change: metric_rank(change.metric))
    others = {(change.job, change.uid) for change in changes} - {(first.job, first.uid)}
    more = f"; {counted(len(others), 'other benchmark')} changed earlier, too" if others else ""
    return f"{named(first)} {first.finding}{more}"


def _beside(entry: MovedBenchmark) -> str:
    """What the other clock says where it is not believed, or the time where another metric comes
    first.
    """
    if entry.first.metric == "cpu":
        return entry.remark
    if entry.first.metric in CLOCKS:
        return ""
    timed = next((change for change in entry.others if change.metric in CLOCKS), None)
    return numbers_of(timed) if timed and timed.word in SURE else ""


def _whole(report: Report, first: Change) -> Overall | None:
    """What the job of a change did as a whole, if it has several units: under its metric if that
    moved, and by CPU time where that says more.
    """
    jobs = [
        job
        for job in report.overall
        if first.series in job.series and job.units > 1 and job.effect is not None
    ]
    leading = "cpu" if cpu_leads({job.metric: job for job in jobs}) else first.metric
    return min(
        jobs,
        key=lambda job: (job.word not in SURE, job.metric != leading, metric_rank(job.metric)),
        default=None,
    )


def _is_general(whole: Overall, sure: Sequence[MovedBenchmark]) -> bool:
    """Whether the whole says more than the unit that matters most: many of its units moved, and
    that one does not stand out.
    """
    from statistics import median

    first = sure[0].first
    moved = [
        distance(entry.first)
        for entry in sure
        if entry.first.series in whole.series
        and entry.first.word == whole.word
        and not is_whole(*entry.unit)
    ]
    many = len(moved) >= max(2, MANY * whole.units)
    return first.word == whole.word and many and distance(first) <= FURTHER * median(moved)


def _same(compared: Sequence[Change]) -> str:
    """The sentence if everything is settled and nothing changed."""
    rest = [change for change in compared if change.accepted is None]
    accepted = len(compared) - len(rest)
    if not rest:
        return f"nothing changed beyond what is accepted: {counted(accepted, 'comparison')}"
    beyond = " beyond what is accepted" if accepted else ""
    settled = [change.bound for change in rest if change.bound and _is_settled_by_bound(change)]
    most = f" by more than {percent_of(max(settled))}" if settled else ""
    return f"nothing changed{beyond}{most}: {_every(len(rest))} the same"


def _is_settled_by_bound(change: Change) -> bool:
    """Whether its bound, which was asked for, settles what its delta leaves open."""
    if change.within is None or change.bound is None or change.delta is None:
        return False
    return change.word == "same" and change.bound > change.delta


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


def named(change: Change) -> str:
    """The benchmark's name, short enough for a sentence."""
    return shorten(benchmark(change), SENTENCE_NAME)


def metric_of(moved: Change | Overall) -> str:
    """The metric's name, short enough for a sentence."""
    return shorten(metric_name(moved.metric), SENTENCE_NAME)


def numbers_of(change: Change) -> str:
    """The metric with its effect, and the work beside it: ``wall time +7.3 % [+5.1, +9.6]; executes
    3.2 % more instructions``.
    """
    numbers = f"{metric_of(change)} {measure(change)}".rstrip()
    return "; ".join(filter(None, [numbers, change.work]))


def effect_of(overall: Overall) -> str:
    """The effect with its interval, empty where there is none."""
    return "" if overall.effect is None else effect_text(overall.effect, overall.low, overall.high)


def adjective(moved: Change | Overall) -> str:
    """What became of a benchmark: slower or faster, larger or smaller, else worse or better."""
    suspected = moved.word == "suspected" and ((moved.effect or 0.0) < 0) == (
        moved.better == "higher"
    )
    return comparative(moved.unit, worse=moved.word == "degradation" or suspected)


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
