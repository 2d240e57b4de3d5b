"""What `perf history` prints: steps and drifts for a terminal of 80 columns, or as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.check.text import step
from perfvcs.quantity import change, escaped, metric_name, shorten
from perfvcs.reports.annals import SHORTEST, shaped, title
from perfvcs.reports.text import COLUMNS
from perfvcs.sparkline import sparkline

if TYPE_CHECKING:
    from perfvcs.reports.annals import Annals, Finding, Word

WORD = 11  # the longest word
MARGIN = WORD + 4
BENCHMARK = 38
METRIC = 15
NAMES = 5  # listed before the rest is only counted
REASON = 400
DETECTORS = {"pelt": "PELT", "divisive": "E-divisive", "window": "t-window"}
WORDS: tuple[Word, ...] = ("degradation", "improvement", "drift")
LEAST = 1e-99  # a p below is not told apart


def lines(annals: Annals, most: int | None = None) -> Iterator[str]:
    """The listing: the findings of one commit together, then what was looked at, and what could not be."""
    shown = annals.findings[:most]
    for commit, findings in groupby(shown, key=lambda one: one.commit):
        yield _commit(annals, commit)
        for finding in findings:
            yield from _finding(finding)
        yield ""
    yield from _ending(annals, len(annals.findings) - len(shown))


def _commit(annals: Annals, commit: str) -> str:
    about = annals.details[commit]
    head = f"{commit[:10]}  {about.when[:10]}  {shorten(about.author, 16)}  "
    return head + shorten(about.title, COLUMNS - len(head))


def _finding(finding: Finding) -> Iterator[str]:
    line = finding.line
    name = f"  {finding.word:{WORD}}  {shorten(title(line), BENCHMARK):{BENCHMARK}}"
    yield f"{name}  {sparkline(finding.around)}".rstrip()
    size = change(finding.effect, finding.low, finding.high)
    metric = (
        f"{shorten(metric_name(line.metric), METRIC):{METRIC}} {size:<23} {step(shaped(line, finding.before, finding.after))}"
    )
    yield from _indented(metric)
    yield from _indented("; ".join(filter(None, (_range(finding), _p(finding.p), _by(finding.detectors)))))


def _indented(text: str) -> list[str]:
    """Behind the word's column, on as many lines as it takes; inner spaces of what fits stay."""
    margin = " " * MARGIN
    if len(text) + MARGIN <= COLUMNS:
        return [margin + text]
    return wrap(" ".join(text.split()), COLUMNS, initial_indent=margin, subsequent_indent=margin)


def _range(finding: Finding) -> str:
    if finding.commits == 1:
        return ""
    what = "over" if finding.drift else "one of"
    return f"{what} {finding.commits:,} commits {finding.first[:10]}..{finding.last[:10]}"


def _p(p: float) -> str:
    return f"p = {p:.0e}" if p >= LEAST else f"p < {LEAST:.0e}"


def _by(detectors: Sequence[str]) -> str:
    return "by " + ", ".join(DETECTORS.get(name, name) for name in detectors)


def _ending(annals: Annals, hidden: int) -> Iterator[str]:
    if not annals.lines:
        yield "no commit here has profiles: measure some with `perf collect`"
        return
    if hidden:
        yield f"and {hidden} more: perf history --all"
    words = Counter(finding.word for finding in annals.findings)
    found = ", ".join(_several(words[word], word) for word in WORDS if words[word]) or "no step"
    series, commits = _several(annals.lines, "series", ""), _several(annals.commits, "commit")
    yield f"{series} over {commits} looked at: {found}"
    for cut in annals.cuts:
        yield from _note(
            f"{_several(cut.lines, 'series', '')} begin{'s' * (cut.lines == 1)} anew at {cut.commit[:10]}: {cut.reason}"
        )
    if annals.short:
        named = ", ".join(f"{shorten(name, BENCHMARK)} {metric_name(metric)}" for name, metric in annals.short[:NAMES])
        more = f" and {len(annals.short) - NAMES} more" if len(annals.short) > NAMES else ""
        yield from _note(f"too short, fewer than {SHORTEST} measured commits: {named}{more}")
    if annals.unusable:
        yield from _note(f"left out: {_several(annals.unusable, 'value')} with a zero, negative or infinite measurement")
    if annals.aside:
        were = "commits are on branches that were" if annals.aside != 1 else "commit is on a branch that was"
        yield from _note(f"{annals.aside} measured {were} merged, not on this line: perf history A..BRANCH shows one")


def _several(count: int, noun: str, plural: str = "s") -> str:
    return f"{count:,} {noun}{plural if count != 1 else ''}"


def _note(text: str) -> list[str]:
    return wrap(f"note: {shorten(text, REASON)}", COLUMNS, subsequent_indent="      ")


def json(annals: Annals, most: int | None = None) -> str:
    """The same as JSON."""
    found = {
        "findings": [_fields(annals, finding) for finding in annals.findings[:most]],
        "series": annals.lines,
        "commits": annals.commits,
        "cuts": [{"commit": cut.commit, "reason": cut.reason, "series": cut.lines} for cut in annals.cuts],
        "short": [{"benchmark": name, "metric": metric} for name, metric in annals.short],
        "unusable": annals.unusable,
        "aside": annals.aside,
    }
    return escaped(msgspec.json.format(msgspec.json.encode(found)).decode())


def _fields(annals: Annals, finding: Finding) -> dict[str, Any]:
    line, about = finding.line, annals.details[finding.commit]
    return {
        "word": finding.word, "direction": finding.direction, "benchmark": title(line), "job": line.job.label, "uid": line.uid,
        "size": line.size, "metric": line.metric, "unit": line.unit, "better": line.better, "key": line.job.key,
        "environment": line.environment.fingerprint, "commit": finding.commit, "author": about.author, "when": about.when,
        "title": about.title, "first": finding.first, "last": finding.last, "commits": finding.commits, "effect": finding.effect,
        "low": finding.low, "high": finding.high, "confidence": 0.99, "before": finding.before, "after": finding.after, "p": finding.p,
        "detectors": finding.detectors,
    }  # fmt: skip
