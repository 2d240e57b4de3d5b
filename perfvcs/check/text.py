"""A report as plain text for a terminal: the word first, the metrics of one benchmark together, the ones that matter on top."""

from __future__ import annotations

import re
from collections import defaultdict
from math import floor, log10
from textwrap import wrap
from typing import TYPE_CHECKING

from perfvcs.quantity import change as effect
from perfvcs.quantity import counted, metric_name, metric_rank, scale, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perfvcs.check.change import Change, Report, Word

WORD = 14  # the longest word
FOLD = 5  # benchmarks without news from which on they share a line
METRIC = 15  # characters of a metric's name
TIMES = ("wall", "cpu")
LONGEST = 400  # characters of a name or a reason

MEANINGS: tuple[tuple[Word, str], ...] = (
    ("inconclusive", "not settled by what was measured, neither changed nor the same"),
    ("suspected", "changed, but perhaps the machine did it and not the code"),
    ("not comparable", "measured in different ways or places"),
)


def text(report: Report, *, width: int = 80, verbose: bool = False) -> str:
    """The whole report;

    ``verbose`` lists also the benchmarks whose every metric is the same. Lines end without a newline at the last.
    """
    groups = grouped(report.changes)
    quiet = [name for name, changes in groups.items() if all(change.word == "same" for change in changes)]
    folded = set() if verbose or len(quiet) < FOLD else set(quiet)
    lines: list[str] = []
    for name, changes in groups.items():
        if name not in folded:
            lines += [*wrap(name, width, subsequent_indent="    "), *_benchmark(changes, width, verbose=verbose), ""]
    if folded:
        metrics = dict.fromkeys(
            metric_name(change.metric) for name in groups if name in folded for change in _sorted(groups[name])
        )
        lines += [*_indented("same", f"{len(folded)} benchmarks ({', '.join(metrics)})", width), ""]
    return "\n".join([*lines, *_ending(report, width)])


def grouped(changes: Iterable[Change]) -> dict[str, list[Change]]:
    """The changes by the name of their benchmark, in the order in which they come."""
    groups: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        groups[benchmark(change)].append(change)
    return groups


def benchmark(change: Change) -> str:
    """The name of what was measured: the job's label, with the unit where that says more, and its size; safe for a terminal."""
    name = change.job if change.uid in ("", change.job, change.job.split(" ")[0]) else f"{change.job}: {change.uid}"
    return shorten(name if change.size is None else f"{name} [{change.size:g}]", LONGEST)


def summary(report: Report) -> str:
    """``1 degradation, 2 same``; what was found, in numbers."""
    return counted(report.counts.items()) or "nothing to compare"


def revision(name: str) -> str:
    """A revision's name; a full commit id is cut to 12 digits."""
    return name[:12] if re.fullmatch(r"[0-9a-f]{40,64}", name) else shorten(name, LONGEST)


def step(change: Change) -> str:
    """``13.10 -> 14.06 ms``: both centres under one prefix, with four digits of the larger; empty where one is unknown."""
    if change.baseline is None or change.target is None:
        return ""
    chosen = scale(max(abs(change.baseline), abs(change.target)), change.unit)
    old, new = change.baseline * chosen.factor, change.target * chosen.factor
    top = max(abs(old), abs(new))
    whole = old == int(old) and new == int(new)
    form = ".4g" if top >= 1e9 or 0 < top < 1e-3 else ",.0f" if not top or whole else f",.{max(0, 3 - floor(log10(top)))}f"
    return f"{old:{form}} -> {new:{form}} {shorten(chosen.unit, LONGEST)}".rstrip()


def _sorted(changes: Sequence[Change]) -> list[Change]:
    """Wall and CPU time first, beside each other, then the others as they come."""
    return sorted(changes, key=lambda change: metric_rank(change.metric)[0])


def _benchmark(changes: Sequence[Change], width: int, *, verbose: bool) -> list[str]:
    """The rows of one benchmark; a reason stands once, below the last row that has it."""
    rows = [change for change in _sorted(changes) if verbose or not _brief(change)]
    brief: dict[tuple[str, str], list[str]] = defaultdict(list)
    for change in _sorted(changes):
        if change not in rows:
            brief[change.word, change.reason].append(_unknown(change))
    lines: list[str] = []
    for place, change in enumerate(rows):
        metric = shorten(metric_name(change.metric), METRIC)
        numbers = f"{_effect(change):<23} {step(change)}"
        lines += _indented(change.word, f"{metric:<{METRIC}} {numbers}", width)
        if change.reason and all(later.reason != change.reason for later in rows[place + 1 :]):
            lines += wrap(
                shorten(change.reason, LONGEST), width, initial_indent=" " * (WORD + 3), subsequent_indent=" " * (WORD + 3)
            )
    for (word, reason), metrics in brief.items():
        lines += _indented(word, ", ".join(metrics) + (f": {shorten(reason, LONGEST)}" if reason else ""), width)
    return lines


def _brief(change: Change) -> bool:
    """Whether naming the metric is enough: nothing was computed, or it stayed what it was and is not a time."""
    return change.effect is None or (change.word == "same" and change.metric not in TIMES)


def _effect(change: Change) -> str:
    return "" if change.effect is None else effect(change.effect, change.low, change.high)


def _unknown(change: Change) -> str:
    return f"{metric_name(change.metric)} {step(change) if change.effect is None else ''}".rstrip()


def _indented(word: str, rest: str, width: int) -> list[str]:
    """The word in its column and the rest beside it; inner spaces of a row that fits stay."""
    line = f"  {word:<{WORD}} {rest}".rstrip()
    return [line] if len(line) <= width else wrap(line, width, subsequent_indent=" " * (WORD + 5), drop_whitespace=True)


def _ending(report: Report, width: int) -> list[str]:
    old, new = revision(report.baseline), revision(report.target)
    lines = wrap(f"{old or 'nothing'} -> {new or 'nothing'}: {summary(report)}", width, subsequent_indent="  ")
    found = [(word, meaning) for word, meaning in MEANINGS if report.having(word)]
    lines += [line for word, meaning in found for line in wrap(f"{word}: {meaning}", width, subsequent_indent="  ")]
    if not found:
        return lines
    # Uncommitted changes have no name to ask for; the plain command measures them.
    named = "" if new.endswith("+") else f" {old.rstrip('+')} {new}"
    return [*lines, f"To settle it: perf check --measure{named}".rstrip()]
