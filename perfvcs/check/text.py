"""Every comparison of a report as plain text for a terminal: the word first, the metrics of one
benchmark together.
"""

from __future__ import annotations

import re
from collections import defaultdict
from sys import float_info
from typing import TYPE_CHECKING

from perfvcs.check.acceptance import identity, is_committed
from perfvcs.check.change import Change, CounterCluster, Report, exceeded
from perfvcs.check.vocabulary import EXCEEDED, OPEN_EXPLAINED, said, tally
from perfvcs.profile.naming import labelled
from perfvcs.text import wrapping
from perfvcs.text.characters import COLUMNS, printable, shorten
from perfvcs.text.quantity import at_sizes, difference, number, step
from perfvcs.text.quantity import change as effect
from perfvcs.text.words import ambiguous, counted, metric_name, metric_rank, tallied

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from perfvcs.check.sizerows import SizeRow

WORD_WIDTH = 14  # the longest word
METRIC_WIDTH = 15  # characters of a metric's name
NAME_WIDTH = 400  # characters of a name or a reason
SENTENCE_NAME = 48  # characters of a name in a sentence
MOST_NAMED_COUNTERS = 4  # counters of a cluster
INDENT = " " * (WORD_WIDTH + 3)


def text(report: Report, *, width: int = COLUMNS, following: Sequence[str] = ()) -> str:
    """Every comparison, what is accepted at the end; ``following`` is what to do next.

    Lines end without a newline at the last.
    """
    several = contested(report.changes)
    lines: list[str] = []
    for is_accepted in (False, True):
        chosen = [
            change for change in report.changes if (change.accepted is not None) == is_accepted
        ]
        for name, rows in _grouped(chosen).items():
            acceptable = ids(report, [change for row in rows for change in row.changes])
            listed = wrap(acceptable, width, initial_indent=INDENT, subsequent_indent=INDENT)
            lines += [
                *wrap(name, width, subsequent_indent="    "),
                *_benchmark(rows, several, width),
                *(listed if acceptable else []),
                "",
            ]
    return "\n".join([*lines, *_ending(report, width, following)])


def wrap(
    text: str, width: int, *, initial_indent: str = "", subsequent_indent: str = ""
) -> list[str]:
    """A text as lines of at most ``width`` characters, safe for a terminal: what would break a line
    elsewhere becomes visible.
    """
    line = initial_indent + text
    if len(line) <= width and text.isprintable() and text and text == text.strip():
        return [line]  # wrapping takes longer to see that it fits
    return wrapping.wrap(
        printable(text), width, initial_indent=initial_indent, subsequent_indent=subsequent_indent
    )


def command_of(text: str) -> str:
    """The command at the end of a text, behind a colon; empty without one.

    >>> command_of("Next: draw both: perf show a b"), command_of("perf check says so")
    ('perf show a b', '')
    """
    before, _, command = text.rpartition(": perf ")
    return f"perf {command}" if before else ""


def stepped(text: str, width: int) -> list[str]:
    """A text as lines. The command at its end stays in one piece: on a line of its own where there
    is no room beside what it is for.
    """
    command = command_of(text)
    if not command or len(text) <= width:
        return wrap(text, width, subsequent_indent="  ")
    what = text.removesuffix(command).rstrip()
    return [*wrap(what, width, subsequent_indent="  "), f"  {printable(command)}"]


def _grouped(changes: Iterable[Change]) -> dict[str, list[SizeRow]]:
    """The rows by the name of their benchmark, in the order in which they come; without a size
    where a row is of several.
    """
    from perfvcs.check.sizerows import size_rows

    groups: dict[str, list[SizeRow]] = defaultdict(list)
    for row in size_rows(changes):
        change = row.change
        size = None if row.others else change.size
        groups[shorten(labelled(change.job, change.uid, size), NAME_WIDTH)].append(row)
    return groups


def benchmark(change: Change) -> str:
    """The name of what was measured; safe for a terminal."""
    return shorten(labelled(change.job, change.uid, change.size), NAME_WIDTH)


def contested(changes: Iterable[Change]) -> set[tuple[str, str]]:
    """The benchmarks and metrics that several methods judged, so that a row is to name its own."""
    return ambiguous(
        [((benchmark(change), change.metric), change.method) for change in changes if change.method]
    )


def summary(report: Report) -> str:
    """``1 degradation, 2 same``; what was found, in numbers."""
    return tallied(report_tally(report).items()) or "nothing to compare"


def report_tally(report: Report) -> dict[str, int]:
    """How many changes have each word, and how many limits are exceeded."""
    beyond = len(exceeded(report.limits))
    return tally(report.changes) | ({EXCEEDED: beyond} if beyond else {})


def settlement(comparisons: Iterable[Change]) -> str:
    """``9 of 12 comparisons settled``."""
    settled = [change.settled for change in comparisons]
    return f"{sum(settled)} of {counted(len(settled), 'comparison')} settled"


def title(report: Report) -> str:
    """``1f0e2a3b4c -> 8c7f6a1d0e: 1 degradation, 2 same``."""
    return (
        f"{revision(report.baseline) or 'nothing'} -> {revision(report.target) or 'nothing'}:"
        f" {summary(report)}"
    )


def found_in(cluster: CounterCluster) -> str:
    """What a regressed cluster says: its counters, the one that stands for them, and the error of
    its prediction.
    """
    shown = ", ".join(
        [
            *cluster.counters[:MOST_NAMED_COUNTERS],
            *(["..."] if len(cluster.counters) > MOST_NAMED_COUNTERS else []),
        ]
    )
    error = (
        "cannot be predicted"
        if cluster.error is None
        else f"predicted with an error of {_percents(cluster.error)} %"
    )
    limit = f"at most {_percents(cluster.threshold)} %"
    return (
        f"{counted(len(cluster.counters), 'counter')} ({shown}): {cluster.target} {error}, {limit}"
    )


def _percents(share: float) -> str:
    """A share in percent, as far as a float goes."""
    return number(max(-float_info.max, min(100 * share, float_info.max)))


def remarks(change: Change, several: Container[tuple[str, str]] = ()) -> list[str]:
    """Remarks on a change beyond its numbers: what the method found, and the reason for the
    verdict.

    Where ``several`` methods judged, the method's name comes first.
    """
    by = (
        f"by {change.method}"
        if change.method and (benchmark(change), change.metric) in several
        else ""
    )
    clusters = [found_in(cluster) for cluster in change.clusters or () if cluster.regressed]
    why = change.reason if change.accepted is None else change.accepted
    return [remark for remark in (by, change.work, finding(change), *clusters, why) if remark]


def finding(change: Change) -> str:
    """What a method found beyond the numbers; of a curve at least the sizes that these are of."""
    curve = change.curve
    return change.finding or (
        f"effect {at_sizes(curve.at)}" if curve and curve.at and change.baseline is not None else ""
    )


def untouched(report: Report) -> str:
    """The benchmarks that were left out, counted, and whose verdicts they inherit; empty where none
    was.
    """
    if not report.untouched:
        return ""
    return (
        f"not touched: inherits {report.inherits}: {counted(len(report.untouched), 'benchmark')}"
        " (perf select says why)"
    )


def revision(name: str) -> str:
    """A revision's name; a full commit id is cut to 10 digits, as everywhere."""
    return name[:10] if re.fullmatch(r"[0-9a-f]{40,64}", name) else shorten(name, NAME_WIDTH)


def _sorted(changes: Sequence[Change]) -> list[Change]:
    """Wall and CPU time first, beside each other, then the others as they come."""
    return sorted(changes, key=lambda change: metric_rank(change.metric)[0])


def _benchmark(rows: Sequence[SizeRow], several: set[tuple[str, str]], width: int) -> list[str]:
    """The rows of one benchmark; a remark appears once, below the last row that has it."""
    ranked = sorted(rows, key=lambda row: metric_rank(row.change.metric)[0])
    said_of = [
        [remark for remark in (row.remark, *remarks(row.change, several)) if remark]
        for row in ranked
    ]
    lines: list[str] = []
    for place, row in enumerate(ranked):
        change = row.change
        metric = shorten(metric_name(change.metric), METRIC_WIDTH)
        numbers = f"{measure(change):<23} {step(change.baseline, change.target, change.unit)}"
        lines += _indented(said(change).word, f"{metric:<{METRIC_WIDTH}} {numbers}", width)
        later = [remark for others in said_of[place + 1 :] for remark in others]
        for remark in said_of[place]:
            if remark not in later:
                lines += wrap(
                    shorten(remark, NAME_WIDTH),
                    width,
                    initial_indent=INDENT,
                    subsequent_indent=INDENT,
                )
    return lines


def ids(report: Report, changes: Sequence[Change]) -> str:
    """``accept: 3eb04b0 (wall time), dde9ab0 (CPU time)``: the names for ``perf accept``; empty
    where there is nothing to accept.
    """
    names: dict[str, str] = {}
    several = len({change.size for change in changes}) > 1
    for change in _sorted(changes):
        if said(change).fails and is_committed(report):
            metric = shorten(metric_name(change.metric), METRIC_WIDTH)
            where = f" at {change.size:.10g}" if several and change.size is not None else ""
            names.setdefault(identity(report, change), f"{metric}{where}")
    listed = ", ".join(
        f"{name} ({metric})" if len(names) > 1 else name for name, metric in names.items()
    )
    return f"accept: {listed}" if names else ""


def measure(change: Change) -> str:
    """The effect with its interval: in percent, or in the metric's unit where a share of the
    baseline has no meaning.
    """
    if change.effect is not None:
        return effect(change.effect, change.low, change.high)
    if change.shift is None or change.shift_low is None:
        return ""
    return difference(change.shift, change.shift_low, change.shift_high, change.unit)


def _indented(word: str, rest: str, width: int) -> list[str]:
    """The word in its column and the rest beside it; inner spaces of a row that fits stay."""
    line = f"  {word:<{WORD_WIDTH}} {rest}".rstrip()
    return (
        [line]
        if len(line) <= width
        else wrap(line, width, subsequent_indent=" " * (WORD_WIDTH + 5))
    )


def _ending(report: Report, width: int, following: Sequence[str]) -> list[str]:
    lines = wrap(title(report), width, subsequent_indent="  ")
    counts = tally(report.changes)
    meanings = (f"{word.word}: {word.meaning}" for word in OPEN_EXPLAINED if word.word in counts)
    for text in (*meanings, *filter(None, [untouched(report)]), *following):
        lines += stepped(text, width)
    for note in report.notes:
        lines += wrap(f"note: {shorten(note, NAME_WIDTH)}", width, subsequent_indent="      ")
    return [*lines, settlement(report.comparisons)]


def beginning(title: str, sentence: str, most: int, width: int) -> list[str]:
    """The title and the sentence of a report; where these take more than ``most`` lines, without
    the last parts of it, which its lists say, too.
    """
    parts = sentence.split("; ")
    lines = wrap(f"{title}: {sentence}", width, subsequent_indent="  ")
    while len(lines) > most and len(parts) > 1:
        parts.pop()
        lines = wrap(f"{title}: {'; '.join(parts)}", width, subsequent_indent="  ")
    return cut(lines, most, width)


def cut(lines: list[str], most: int, width: int) -> list[str]:
    """The first lines of a text; the last one ends in an ellipsis where there were more."""
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"{lines[most - 1][: width - 1].rstrip()}…"]
