"""What moved at a commit, for its page: verdicts on series in a sentence, by job, and the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from math import inf, log1p

from msgspec import Struct

from perfvcs.check import Report, answer
from perfvcs.check.acceptance import identity
from perfvcs.check.bounds import percent_of
from perfvcs.check.change import Change
from perfvcs.check.movement import entries, places, subject
from perfvcs.check.vocabulary import SURE, WORDS, said
from perfvcs.history.record import COMPARED, SeriesRecord
from perfvcs.history.verdict import Verdict
from perfvcs.profile.naming import is_whole
from perfvcs.site.model import JobTotal, StepData
from perfvcs.site.template import ID_DIGITS_SHOWN
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import percent, step
from perfvcs.text.words import counted, metric_name, metric_rank

JOBS = 6  # that are listed

NAME_CHARACTERS = 60


class Judged(Struct, frozen=True, dict=True):
    """A series at a commit: what it is ``called``, its ``environment``, and the verdict."""

    series: SeriesRecord
    verdict: Verdict
    called: str
    environment: str

    @property
    def word(self) -> str:
        """The verdict's word."""
        return said(self.verdict).word

    @property
    def curve(self) -> tuple[object, ...] | None:
        """The curve whose verdict it is, which its sizes share; None for a verdict of its own."""
        line = self.series.line
        if line.size is None or self.verdict.size is not None:
            return None
        return line.job.key, line.uid, line.metric, line.unit, line.better, self.environment

    @cached_property
    def change(self) -> Change:
        """Its verdict as a row of a report."""
        return self.verdict.change(self.environment)


def ranks(judged: Sequence[Judged]) -> list[tuple[float, bool, float]]:
    """What sorts comparisons on the page: those that moved as `perf check` has them, then times,
    by effect times the time that is spent.
    """
    changes = [comparison.change for comparison in judged]
    order, ranked = places(changes), list[tuple[float, bool, float]]()
    for change in changes:
        seconds = change.baseline or 0.0 if change.unit == "s" else 0.0
        weight = abs(change.effect or 0.0) * (seconds or 1.0)
        ranked.append((order.get(subject(change), inf), not seconds, -weight))
    return ranked


def sentence(judged: Sequence[Judged], older: int = 0) -> str:
    """What `perf check` says first of such a report, as a sentence; ``older`` series were measured
    on the commit before, too, and were not compared.
    """
    if not judged:
        if older:
            return (
                f"Older than the newest {COMPARED:,} comparisons: not compared with the commit"
                " before."
            )
        return "Nothing before this commit to compare with."
    changes = [comparison.change for comparison in judged]
    report = Report(baseline="", target="", method="auto", changes=changes)
    moved = entries(report)
    text = answer.sentence(report, moved)
    return f"{text if moved else text[:1].upper() + text[1:]}."


def jobs(judged: Sequence[Judged]) -> list[JobTotal]:
    """The effect of each job on its main metric: of the whole, else of the total of its series."""
    groups: dict[tuple[str, str, str], dict[str, list[Judged]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for comparison in judged:
        line = comparison.series.line
        if comparison.verdict.baseline and comparison.verdict.target and line.better != "none":
            groups[line.job.label, line.job.collector, comparison.environment][line.metric].append(
                comparison
            )
    ranked = []
    for (label, _, environment), metrics in groups.items():
        metric = min(metrics, key=metric_rank)
        rows = metrics[metric]
        # a whole contains its units
        parts = [
            comparison for comparison in rows if is_whole(label, comparison.series.line.uid)
        ] or rows
        before = sum(comparison.verdict.baseline or 0.0 for comparison in parts)
        after = sum(comparison.verdict.target or 0.0 for comparison in parts)
        if len(rows) < 2:  # which is listed itself
            continue
        words = Counter(comparison.word for comparison in rows)
        counts = [words[word] for word in SURE]
        worse = (after > before) == (rows[0].series.line.better == "lower")
        direction = ""
        if any(counts):
            direction = "degradation" if worse else "improvement"
        total = JobTotal(
            job=shorten(label, NAME_CHARACTERS),
            environment=environment,
            metric=metric_name(metric),
            series=len(rows),
            worse=counts[0],
            better=counts[1],
            change=percent(after / before - 1),
            levels=step(before, after, rows[0].series.line.unit).replace("->", "→"),
            direction=direction,
        )
        ranked.append(((not any(counts), -abs(after / before - 1)), total))
    return [total for _, total in sorted(ranked, key=lambda pair: pair[0])][:JOBS]


def acceptable(verdict: Verdict, baseline: str, target: str) -> str:
    """The id by which `perf accept` knows a degradation between two commits; empty for others."""
    if not said(verdict).fails:
        return ""
    old, new = (commit[:ID_DIGITS_SHOWN] for commit in (baseline, target))
    report = Report(baseline=old, target=new, method="auto", changes=[])
    return identity(report, verdict.change())


def lasting(steps: Sequence[StepData], unlisted: int) -> str:
    """How many changes for good are laid to a commit, and the largest of them; empty without.

    ``unlisted``: as many changes of series are laid to it beside these.
    """
    if not steps:
        return ""
    words = Counter(step.direction for step in steps)
    kinds = [counted(words[word], f"lasting {word}") for word in SURE if words[word]]
    first = max(steps, key=lambda step: (step.state == "open", abs(log1p(step.effect))))
    named = f"{first.benchmark}, {first.metric} {first.change}"
    verb = "is" if len(steps) == 1 else "are"
    which = ":" if len(steps) == 1 else "; the largest:"
    least = "at least " if unlisted else ""
    return f"{least}{' and '.join(kinds)} {verb} laid to this commit{which} {named}."


def rest(judged: Sequence[Judged], older: int, alone: int) -> str:
    """One line for everything else, with the bound that it rules out."""
    same = [comparison.verdict for comparison in judged if comparison.word == "same"]
    bounds = [
        max(abs(verdict.low), abs(verdict.high))
        for verdict in same
        if verdict.low is not None and verdict.high is not None
    ]
    rows = [WORDS[comparison.word] for comparison in judged]
    undecided = sum(not row.settled and not row.moved for row in rows)
    parts = []
    if same:
        bound = ""
        if len(bounds) == len(same):
            bound = f", none moved by more than {percent_of(max(bounds))}"
        parts.append(f"{counted(len(same), 'series is', 'series are')} the same{bound}")
    if undecided:
        parts.append(f"{counted(undecided, 'is', 'are')} undecided")
    if older and judged:
        parts.append(
            f"{counted(older, 'is', 'are')} older than the newest {COMPARED:,} comparisons and not"
            " compared"
        )
    if alone:
        parts.append(f"{counted(alone, 'has', 'have')} nothing before to compare with")
    return f"{'; '.join(parts)}." if parts else ""
