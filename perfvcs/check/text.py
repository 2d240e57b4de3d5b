"""A report as plain text for a terminal: the word first, the metrics of one benchmark together, the ones that matter on top."""

from __future__ import annotations

import re
import textwrap
from collections import Counter, defaultdict
from math import floor, log10
from typing import TYPE_CHECKING

from perfvcs.check.acceptance import identity, is_committed, is_open
from perfvcs.check.change import WORDS
from perfvcs.text.characters import shorten
from perfvcs.text.columns import COLUMNS
from perfvcs.text.quantity import change as effect
from perfvcs.text.quantity import difference, number, scale
from perfvcs.text.words import ambiguous, counted, metric_name, metric_rank, tallied

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from perfvcs.check.change import Change, Cluster, Report, Word

WORD = 14  # the longest word
FOLD = 5  # benchmarks without news from which on they share a line
METRIC = 15  # characters of a metric's name
TIMES = ("wall", "cpu", "duration")
LONGEST_NAME = 400  # characters of a name or a reason
NAMED = 4  # counters of a cluster
INDENT = " " * (WORD + 3)

MEANINGS: tuple[tuple[Word, str], ...] = (
    ("inconclusive", "not settled by what was measured, neither changed nor the same"),
    ("suspected", "changed, but perhaps the machine did it and not the code"),
    ("not comparable", "measured in different ways or places"),
)

FOREIGN = (
    "To settle what was imported: measure both in turns, run by run, and store them with `perf import --in-turns`, or import"
    " ten earlier commits, too"
)


def text(report: Report, *, width: int = COLUMNS, verbose: bool = False, pairs: int = 0) -> str:
    """The whole report, what is accepted at its end; ``verbose`` lists also the benchmarks whose every metric is the same.

    ``pairs`` is how many were just measured in turns to reach it, 0 where it comes from what is stored.
    Lines end without a newline at the last.
    """
    groups = grouped(change for change in report.changes if change.accepted is None)
    quiet = [name for name, changes in groups.items() if all(change.word == "same" for change in changes)]
    folded = set() if verbose or len(quiet) < FOLD else set(quiet)
    several = contested(report.changes)
    lines: list[str] = []
    for name, changes in groups.items():
        if name not in folded:
            rows = [*_benchmark(changes, several, width, verbose=verbose), *_ids(report, changes, width)]
            lines += [*wrap(name, width, subsequent_indent="    "), *rows, ""]
    if folded:
        metrics = dict.fromkeys(
            metric_name(change.metric) for name in groups if name in folded for change in _sorted(groups[name])
        )
        lines += [*_indented("same", f"{len(folded)} benchmarks ({', '.join(metrics)})", width), ""]
    for name, changes in grouped(change for change in report.changes if change.accepted is not None).items():
        lines += [*wrap(name, width, subsequent_indent="    "), *_benchmark(changes, several, width, verbose=verbose), ""]
    return "\n".join([*lines, *_ending(report, width, pairs)])


def wrap(text: str, width: int, *, initial_indent: str = "", subsequent_indent: str = "") -> list[str]:
    """A text of one line as lines of at most ``width`` characters; ``textwrap`` takes longer to find that it fits as it is."""
    line = initial_indent + text
    if len(line) <= width and text and text == text.strip():
        return [line]
    return textwrap.wrap(text, width, initial_indent=initial_indent, subsequent_indent=subsequent_indent)


def grouped(changes: Iterable[Change]) -> dict[str, list[Change]]:
    """The changes by the name of their benchmark, in the order in which they come."""
    groups: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        groups[benchmark(change)].append(change)
    return groups


def benchmark(change: Change) -> str:
    """The name of what was measured; safe for a terminal."""
    return shorten(labelled(change.job, change.uid, change.size), LONGEST_NAME)


def labelled(job: str, uid: str, size: float | None) -> str:
    """The job's label, with the unit where that says more, and the size where the label does not end in it.

    >>> labelled("sort", "sort", 1e6), labelled("sort 200", "sort", 200.0), labelled("sort", "insert", None)
    ('sort [1000000]', 'sort 200', 'sort: insert')
    """
    name = job if uid in ("", job, job.partition(" ")[0]) else f"{job}: {uid}"
    told = "" if size is None else f"{size:.10g}"
    return f"{name} [{told}]" if told and name.rpartition(" ")[2] != told else name


def contested(changes: Iterable[Change]) -> set[tuple[str, str]]:
    """The benchmarks and metrics that several methods judged, so that a row is to name its own."""
    return ambiguous(((benchmark(change), change.metric), change.method) for change in changes if change.method)


def tally(changes: Iterable[Change]) -> dict[str, int]:
    """How many changes have each word that occurs, in the order of ``WORDS``; the accepted ones apart and last."""
    found = Counter("accepted" if change.accepted is not None else change.word for change in changes)
    return {word: found[word] for word in (*WORDS, "accepted") if word in found}


def summary(report: Report) -> str:
    """``1 degradation, 2 same``; what was found, in numbers."""
    return tallied(tally(report.changes).items()) or "nothing to compare"


def settlement(comparisons: Iterable[Change]) -> str:
    """``9 of 12 comparisons settled``."""
    found = [change.settled for change in comparisons]
    return f"{sum(found)} of {counted(len(found), 'comparison')} settled"


def title(report: Report) -> str:
    """``1f0e2a3b4c -> 8c7f6a1d0e: 1 degradation, 2 same``."""
    return f"{revision(report.baseline) or 'nothing'} -> {revision(report.target) or 'nothing'}: {summary(report)}"


def found_in(cluster: Cluster) -> str:
    """What a regressed cluster says: its counters, the one that stands for them, and the error of its prediction."""
    shown = ", ".join([*cluster.counters[:NAMED], *(["..."] if len(cluster.counters) > NAMED else [])])
    error = "cannot be predicted" if cluster.error is None else f"predicted with an error of {number(100 * cluster.error)} %"
    limit = f"at most {number(100 * cluster.threshold)} %"
    return f"{counted(len(cluster.counters), 'counter')} ({shown}): {cluster.target} {error}, {limit}"


def remarks(change: Change, several: Container[tuple[str, str]] = ()) -> list[str]:
    """What is to be said of a change beyond its numbers: what the method found, and why the verdict is what it is.

    Where ``several`` methods judged, the method's name comes first.
    """
    by = f"by {change.method}" if change.method and (benchmark(change), change.metric) in several else ""
    clusters = [found_in(cluster) for cluster in change.clusters or () if cluster.regressed]
    why = change.reason if change.accepted is None else change.accepted
    return [remark for remark in (by, change.finding, *clusters, why) if remark]


def revision(name: str) -> str:
    """A revision's name; a full commit id is cut to 12 digits."""
    return name[:12] if re.fullmatch(r"[0-9a-f]{40,64}", name) else shorten(name, LONGEST_NAME)


def step(before: float | None, after: float | None, unit: str) -> str:
    """``13.10 -> 14.06 ms``: both centres under one prefix, with four digits of the larger; empty where one is unknown."""
    if before is None or after is None:
        return ""
    chosen = scale(max(abs(before), abs(after)), unit)
    old, new = before * chosen.factor, after * chosen.factor
    top = max(abs(old), abs(new))
    whole = old == int(old) and new == int(new)
    form = ".4g" if top >= 1e9 or 0 < top < 1e-3 else ",.0f" if not top or whole else f",.{max(0, 3 - floor(log10(top)))}f"
    return f"{old:{form}} -> {new:{form}} {shorten(chosen.unit, LONGEST_NAME)}".rstrip()


def _sorted(changes: Sequence[Change]) -> list[Change]:
    """Wall and CPU time first, beside each other, then the others as they come."""
    return sorted(changes, key=lambda change: metric_rank(change.metric)[0])


def _benchmark(changes: Sequence[Change], several: set[tuple[str, str]], width: int, *, verbose: bool) -> list[str]:
    """The rows of one benchmark; a reason stands once, below the last row that has it."""
    rows = [change for change in _sorted(changes) if verbose or not _brief(change)]
    brief: dict[tuple[str, str], list[str]] = defaultdict(list)
    for change in _sorted(changes):
        if change not in rows:
            by = [f"({remark})" for remark in remarks(change, several) if remark == f"by {change.method}"]
            brief[change.word, change.reason].append(" ".join([_unknown(change), *by]))
    lines: list[str] = []
    for place, change in enumerate(rows):
        metric = shorten(metric_name(change.metric), METRIC)
        numbers = f"{measure(change):<23} {step(change.baseline, change.target, change.unit)}"
        lines += _indented("accepted" if change.accepted is not None else change.word, f"{metric:<{METRIC}} {numbers}", width)
        later = [remark for other in rows[place + 1 :] for remark in remarks(other, several)]
        for remark in remarks(change, several):
            if remark not in later:
                lines += wrap(shorten(remark, LONGEST_NAME), width, initial_indent=INDENT, subsequent_indent=INDENT)
    for (word, reason), metrics in brief.items():
        lines += _indented(word, ", ".join(metrics) + (f": {shorten(reason, LONGEST_NAME)}" if reason else ""), width)
    return lines


def _ids(report: Report, changes: Sequence[Change], width: int) -> list[str]:
    """The line that names what ``perf accept`` can be told, where there is something to accept."""
    names: dict[str, str] = {}
    for change in _sorted(changes):
        if is_open(change) and is_committed(report):
            names.setdefault(identity(report, change), metric_name(change.metric))
    listed = ", ".join(f"{name} ({metric})" if len(names) > 1 else name for name, metric in names.items())
    return wrap(f"accept: {listed}", width, initial_indent=INDENT, subsequent_indent=INDENT) if names else []


def _brief(change: Change) -> bool:
    """Whether naming the metric is enough: nothing was computed or found, or it stayed what it was and is not a time."""
    if change.accepted is not None or change.finding or any(cluster.regressed for cluster in change.clusters or ()):
        return False
    return (change.effect is None and change.shift_low is None) or (change.word == "same" and change.metric not in TIMES)


def measure(change: Change) -> str:
    """The effect with its interval: in percent, or in the metric's unit where a share of the baseline has no meaning."""
    if change.effect is not None:
        return effect(change.effect, change.low, change.high)
    if change.shift is None or change.shift_low is None:
        return ""
    return difference(change.shift, change.shift_low, change.shift_high, change.unit)


def _unknown(change: Change) -> str:
    levels = step(change.baseline, change.target, change.unit) if change.effect is None else ""
    return f"{metric_name(change.metric)} {levels}".rstrip()


def _indented(word: str, rest: str, width: int) -> list[str]:
    """The word in its column and the rest beside it; inner spaces of a row that fits stay."""
    line = f"  {word:<{WORD}} {rest}".rstrip()
    return [line] if len(line) <= width else wrap(line, width, subsequent_indent=" " * (WORD + 5))


def _ending(report: Report, width: int, pairs: int) -> list[str]:
    old, new = revision(report.baseline), revision(report.target)
    lines = wrap(title(report), width, subsequent_indent="  ")
    counts = tally(report.changes)
    found = [(word, meaning) for word, meaning in MEANINGS if word in counts]
    lines += [line for word, meaning in found for line in wrap(f"{word}: {meaning}", width, subsequent_indent="  ")]
    if found:
        # Uncommitted changes have no name to ask for; the plain command measures them.
        here = " HEAD HEAD" if old == new else ""
        named = here if new.endswith("+") else f" {old.rstrip('+')} {new}"
        series = {change.series for change in report.changes if change.word in dict(MEANINGS) and change.accepted is None}
        if pairs:
            lines += [f"Open after {counted(pairs, 'pair')}; four times as many halve an interval:"]
            lines += wrap(f"perf check --measure{named} -n {4 * pairs}", width, initial_indent="  ", subsequent_indent="    ")
        elif series - {*report.foreign}:
            lines.append(f"To settle it: perf check --measure{named}".rstrip())
        if series & {*report.foreign}:
            lines += wrap(FOREIGN, width, subsequent_indent="  ")
    if report.untouched:
        left = counted(len(report.untouched), "benchmark")
        lines += wrap(f"not touched: inherits {report.inherits}: {left} (perf select says why)", width, subsequent_indent="  ")
    for note in (*report.failures, *report.renamed):
        lines += wrap(f"note: {shorten(note, LONGEST_NAME)}", width, subsequent_indent="      ")
    if "degradation" in counts and is_committed(report):
        lines.append("A degradation that is wanted: perf accept ID --reason TEXT")
    return [*lines, settlement(report.comparisons)]
