"""What `perf history` prints: what series show, for a terminal of 80 columns, or as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.history import remarks
from perfvcs.history.finding import title
from perfvcs.history.judging import SHORTEST
from perfvcs.text.characters import escaped, shorten
from perfvcs.text.columns import COLUMNS
from perfvcs.text.naming import apart
from perfvcs.text.quantity import at_sizes, change, percent, step
from perfvcs.text.sparkline import sparkline
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from perfvcs.history.finding import Finding, Word
    from perfvcs.history.overview import Overview
    from perfvcs.index.lines import Line

EMPTY: Mapping[int, Sequence[str]] = {}
WORD = 11  # the longest word
MARGIN = WORD + 4
BENCHMARK = 38
METRIC = 15
NAMES = 5  # listed before the rest is only counted
REASON = 400
DETECTORS = {"series": "the series"}
TURNS = "measured in turns"
WORDS: tuple[Word, ...] = ("degradation", "improvement", "drift")
LEAST_P = 1e-99  # a p below is not told apart


@dataclass(frozen=True)
class StepOverSizes:
    """A finding, and those on other sizes of the same unit and metric at the same commit."""

    finding: Finding
    others: list[Finding]

    @property
    def title(self) -> str:
        """The benchmark's name, without a size where a whole curve was judged."""
        line = self.finding.line
        return title(line if self.finding.curve is None else line._replace(size=None))


def together(findings: Iterable[Finding]) -> list[StepOverSizes]:
    """The findings, each with those on other sizes that it stands for: first what a curve's verdict says, else the largest effect."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for one in findings:
        line = one.line
        alone = one.denied or line.size is None
        series = (line.job.key, line.uid, line.size if alone else None, line.metric, line.unit, line.environment.fingerprint)
        groups.setdefault((series, one.commit, one.word), []).append(one)
    found = []
    for members in groups.values():
        first, *others = sorted(members, key=lambda one: (one.curve is None, -abs(one.effect)))
        found.append(StepOverSizes(first, others))
    return found


def lines(overview: Overview, most: int | None = None, *, hosts: Mapping[int, Sequence[str]] = EMPTY) -> Iterator[str]:
    """The listing: remarks on series, the findings of one commit together, then what was looked at, and what could not be.

    ``hosts`` has what changed meanwhile on the host of a finding, see ``history.meanwhile``.
    """
    remarked = list(_remarks(overview))
    everything = together(overview.findings)
    shown = everything[:most]
    called = _called([*(title(line) for _, line, _ in remarked[:most]), *(one.title for one in shown), *_short(overview)])
    for word, line, text in remarked[:most]:
        yield f"  {word:{WORD}}  {called[title(line)]}, {shorten(metric_name(line.metric), METRIC)}"
        yield from _indented(": ".join(filter(None, [_place(overview, line), text])))
    yield from [""] if remarked else []
    if most is not None and len(remarked) > most:
        yield f"and {len(remarked) - most} more such series: perf history --all"
        yield ""
    for commit, members in groupby(shown, key=lambda one: one.finding.commit):
        yield _commit(overview, commit)
        for one in members:
            yield from _finding(one, called[one.title], _place(overview, one.finding.line))
            if changed := hosts.get(id(one.finding)):
                yield from _indented(f"the host changed meanwhile: {'; '.join(changed)}")
        yield ""
    yield from _ending(overview, everything, len(shown))


def _called(titles: Iterable[str]) -> dict[str, str]:
    """By title the name of each benchmark in its column, of which no two look alike."""
    unique = list(dict.fromkeys(titles))
    return dict(zip(unique, apart(unique, BENCHMARK), strict=True))


def _short(overview: Overview) -> list[str]:
    """The benchmarks that are too short to be looked at."""
    return [name for name, _ in overview.short]


def _place(overview: Overview, line: Line) -> str:
    """In which environment something was found, where the same is measured in several."""
    found = overview.place(line)
    return f"in {found}" if found else ""


def _remarks(overview: Overview) -> Iterator[tuple[str, Line, str]]:
    """Word, series and text of what was found beside steps and drifts."""
    yield from ((one.word, one.line, remarks.newest(one)) for one in overview.newest)
    yield from (("switching", one.line, remarks.switching(one)) for one in overview.switching)
    yield from (("noisier" if one.after > one.before else "calmer", one.line, remarks.noisier(one)) for one in overview.noisier)


def _commit(overview: Overview, commit: str) -> str:
    about = overview.details[commit]
    head = f"{commit[:10]}  {about.when[:10]}  {shorten(about.author, 16)}  "
    return head + shorten(about.title, COLUMNS - len(head))


def _finding(one: StepOverSizes, called: str, place: str) -> Iterator[str]:
    finding, line = one.finding, one.finding.line
    yield f"  {finding.word:{WORD}}  {called:{BENCHMARK}}  {sparkline(finding.around)}".rstrip()
    if place:
        yield from _indented(place)
    size = change(finding.effect, finding.low, finding.high)
    metric = f"{shorten(metric_name(line.metric), METRIC):{METRIC}} {size:<23} {step(*_levels(finding), line.unit)}"
    yield from _indented(metric)
    yield from _indented("; ".join(filter(None, (_at(finding), _others(one)))))
    yield from _indented("; ".join(filter(None, (_range(finding), _p(finding.p), _by(finding.detectors)))))
    if finding.contradiction:
        yield from _indented(f"contradicted: {finding.contradiction}")


def _levels(finding: Finding) -> tuple[float, float]:
    """Before and after, of a curve as its verdict says."""
    found = finding.curve or finding
    return found.before, found.after


def _at(finding: Finding) -> str:
    """At which sizes a curve has these levels."""
    return at_sizes(finding.curve.sizes) if finding.curve else ""


def _others(one: StepOverSizes) -> str:
    """How many other sizes moved, and by how much at least and at most, where that is not said already."""
    sizes = one.finding.curve.sizes if one.finding.curve else None
    apart = [each for each in one.others if sizes is None or each.line.size is None or not sizes[0] <= each.line.size <= sizes[1]]
    if not apart:
        return ""
    low, high = (percent(end([each.effect for each in apart])) for end in (min, max))
    return f"{counted(len(apart), 'other size')} {low if low == high else f'{low} to {high}'}"


def _indented(text: str) -> list[str]:
    """Behind the word's column, on as many lines as it takes; inner spaces of what fits stay."""
    if not text:
        return []
    margin = " " * MARGIN
    if len(text) + MARGIN <= COLUMNS:
        return [margin + text]
    return wrap(" ".join(text.split()), COLUMNS, initial_indent=margin, subsequent_indent=margin)


def _range(finding: Finding) -> str:
    if finding.commits == 1:
        return ""
    what = "over" if finding.drift else "one of"
    return f"{what} {finding.commits:,} commits {finding.first[:10]}..{finding.last[:10]}"


def _p(p: float | None) -> str:
    if p is None:
        return ""
    return f"p = {p:.0e}" if p >= LEAST_P else f"p < {LEAST_P:.0e}"


def _by(detectors: Sequence[str]) -> str:
    by = ", ".join(DETECTORS[name] for name in detectors if name in DETECTORS)
    return "; ".join(filter(None, (TURNS if "turns" in detectors else "", by and f"by {by}")))


def _ending(overview: Overview, everything: Sequence[StepOverSizes], shown: int) -> Iterator[str]:
    if not overview.lines:
        yield "no commit here has profiles: measure some with `perf collect`"
        return
    if len(everything) > shown:
        yield f"and {len(everything) - shown} more: perf history --all"
    words = Counter(one.finding.word for one in everything)
    others = ((len(overview.switching), "switching"), (len(overview.noisier), "with another spread"))
    parts = [counted(words[word], word) for word in WORDS if words[word]] or ["no step"]
    found = ", ".join([*parts, *(f"{count:,} {text}" for count, text in others if count)])
    series, commits = counted(overview.lines, "series", "series"), counted(overview.commits, "commit")
    yield f"{series} over {commits} examined: {found}"
    wide = next((one for one in overview.findings if one.word == "degradation" and one.commits > 1), None)
    if wide is not None:
        yield f"Next: perf bisect {wide.first[:10]}^ {wide.last[:10]} finds which of {wide.commits:,} commits it was."
    for cut in overview.cuts:
        yield from _note(
            f"{counted(cut.lines, 'series', 'series')} {'begins' if cut.lines == 1 else 'begin'} anew at {cut.commit[:10]}: {cut.reason}"
        )
    if overview.short:
        called = _called(_short(overview))
        named = ", ".join(f"{called[name]} {metric_name(metric)}" for name, metric in overview.short[:NAMES])
        more = f" and {len(overview.short) - NAMES} more" if len(overview.short) > NAMES else ""
        yield from _note(f"too short, fewer than {SHORTEST} measured commits: {named}{more}")
        if overview.commits > 1:
            first, last = (commit[:10] for commit in overview.ends)
            yield f"Next: perf check {first}..{last} compares each with the one before."
    if overview.unusable:
        yield from _note(f"left out: {counted(overview.unusable, 'value')} with a zero, negative or infinite measurement")
    if overview.aside:
        were = "commits are on branches that were" if overview.aside != 1 else "commit is on a branch that was"
        yield from _note(f"{overview.aside} measured {were} merged, not on this line: perf history A..BRANCH shows one")


def _note(text: str) -> list[str]:
    return wrap(f"note: {shorten(text, REASON)}", COLUMNS, subsequent_indent="      ")


def json(overview: Overview, most: int | None = None, *, hosts: Mapping[int, Sequence[str]] = EMPTY) -> str:
    """The same as JSON."""
    found = {
        "findings": [_fields(overview, finding) | {"host": hosts.get(id(finding), [])} for finding in overview.findings[:most]],
        "newest": [
            {
                **_about(one.line),
                "word": one.word,
                "commit": one.commit,
                "since": one.since,
                "effect": one.effect,
                "value": one.value,
                "expected": one.expected,
                "low": one.low,
                "high": one.high,
                "chance": one.chance,
                "support": one.support,
            }
            for one in overview.newest
        ],
        "switching": [
            {
                **_about(one.line),
                "first": one.first,
                "last": one.last,
                "levels": one.levels,
                "shares": one.shares,
                "moves": one.moves,
            }
            for one in overview.switching
        ],
        "noisier": [
            {**_about(one.line), "commit": one.commit, "before": one.before, "after": one.after, "p": one.p}
            for one in overview.noisier
        ],
        "series": overview.lines,
        "commits": overview.commits,
        "cuts": [{"commit": cut.commit, "reason": cut.reason, "series": cut.lines} for cut in overview.cuts],
        "short": [{"benchmark": name, "metric": metric} for name, metric in overview.short],
        "unusable": overview.unusable,
        "aside": overview.aside,
    }
    return escaped(msgspec.json.format(msgspec.json.encode(found)).decode())


def _fields(overview: Overview, finding: Finding) -> dict[str, Any]:
    line, about = finding.line, overview.details[finding.commit]
    return {
        "word": finding.word, "direction": finding.direction, **_about(line), "commit": finding.commit, "author": about.author,
        "when": about.when, "title": about.title, "first": finding.first, "last": finding.last, "commits": finding.commits,
        "effect": finding.effect, "low": finding.low, "high": finding.high, "confidence": 0.99, "before": _levels(finding)[0],
        "after": _levels(finding)[1], "sizes": finding.curve.sizes if finding.curve else None, "p": finding.p,
        "detectors": finding.detectors, "contradiction": finding.contradiction,
    }  # fmt: skip


def _about(line: Line) -> dict[str, Any]:
    """Which series it is."""
    return {
        "benchmark": title(line), "job": line.job.label, "uid": line.uid, "size": line.size, "metric": line.metric, "unit": line.unit,
        "better": line.better, "key": line.job.key, "environment": line.environment.fingerprint,
    }  # fmt: skip
