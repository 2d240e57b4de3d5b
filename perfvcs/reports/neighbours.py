"""Judges every measured commit on a way through the history against the one before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from perfvcs.check.change import NothingToCompare
from perfvcs.check.method import BY_RULES, CheckRequest
from perfvcs.check.vocabulary import EXCEEDED, ORDER, WORDS
from perfvcs.errors import UsageError
from perfvcs.git.ancestry import way
from perfvcs.reports.check import DEGRADED, OPEN, Check, compared
from perfvcs.reports.checkforms import Form
from perfvcs.repository.state import State
from perfvcs.text.characters import COLUMNS
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.profile.benchmarkfilter import BenchmarkFilter
    from perfvcs.repository import Repository

FOLD = 4  # pairs in a row without news from which on they share a line
MOST_NEWS = 5  # pairs with news that are listed
SENTENCE = 2  # lines of one


@dataclass(frozen=True)
class Neighbours:
    """The checks of neighbouring measured commits, oldest first."""

    checks: Sequence[Check]

    def status(self, *, gate: bool = False, strict: bool = False) -> int:
        """The exit status: 3 where a pair has a degradation, 4 where no pair was comparable
        (``gate``: or settled) or, ``strict``, one is undecided.
        """
        statuses = [check.status(gate=gate) for check in self.checks]
        if DEGRADED in statuses:
            return DEGRADED
        undecided = strict and any(check.status(gate=gate, strict=True) for check in self.checks)
        return OPEN if undecided or all(statuses) else 0

    def of(self, benchmarks: BenchmarkFilter) -> Neighbours:
        """The checks of some benchmarks, of those pairs that have any; raises NothingToCompare
        where none has.
        """
        checks = []
        for check in self.checks:
            with suppress(NothingToCompare):
                checks.append(check.of(benchmarks))
        if not checks:
            raise NothingToCompare(f"none of these commits has profiles of `{benchmarks.text}`")
        return Neighbours(checks)

    def render(self, form: Form, *, verbose: bool = False) -> str:
        """All reports in a form, and what they come to; as text only those with news, unless
        ``verbose``.
        """
        if form == "json":
            from perfvcs.check.markdown import encode

            return encode([check.report for check in self.checks])
        from perfvcs.check.text import settlement

        settled = settlement(change for check in self.checks for change in check.report.comparisons)
        if form == "markdown":
            return "\n\n".join(
                [*(check.render("markdown") for check in self.checks), self.total(), settled]
            )
        if form == "line":
            return f"{self.total()}; {settled}"
        return "\n".join(
            [
                *self._lines(verbose=verbose),
                *wrap(self.total(), COLUMNS, subsequent_indent="  "),
                settled,
            ]
        )

    def total(self) -> str:
        """``3 pairs of neighbours: 1 degradation, 8 same``."""
        from perfvcs.check.text import report_tally
        from perfvcs.text.words import counted, tallied

        counts: Counter[str] = Counter()
        for check in self.checks:
            counts.update(report_tally(check.report))
        words = tallied((word, counts[word]) for word in (*ORDER, EXCEEDED) if counts[word])
        pairs = f"{counted(len(self.checks), 'pair')} of neighbours"
        return f"{pairs}: {words or 'nothing to compare'}"

    def _lines(self, *, verbose: bool) -> Iterator[str]:
        """All reports, where ``verbose``; else that of the only pair with news, or a sentence for
        each of the few that matter most.
        """
        if verbose:
            for check in self.checks:
                yield from (check.render("text", verbose=True), "")
            return
        news = [check for check in self.checks if has_news(check)]
        listed = sorted(news, key=_weight)[:MOST_NEWS]
        hidden = 0
        for kind, group in groupby(self.checks, key=lambda check: _kind(check, news, listed)):
            checks = list(group)
            if kind == "news" and len(news) == 1:
                yield from (checks[0].render("text"), "")
            elif kind == "news":
                for check in checks:
                    yield from _sentence(check)
            elif kind == "hidden":
                hidden += len(checks)
            else:
                yield from _folded(checks)
        if hidden:
            yield f"and {hidden:,} more with news: perf check -v"
        yield ""


def _kind(check: Check, news: Sequence[Check], listed: Sequence[Check]) -> str:
    if not any(check is other for other in news):
        return "quiet"
    return "news" if any(check is other for other in listed) else "hidden"


def _weight(check: Check) -> tuple[bool, float]:
    """Sorts checks that fail first, then those with the most important changes."""
    from perfvcs.check.movement import entries

    return check.status() != DEGRADED, -max(
        (entry.importance for entry in entries(check.report)), default=0.0
    )


def _sentence(check: Check) -> Iterator[str]:
    from perfvcs.check.answer import criteria, sentence
    from perfvcs.check.text import beginning, cut, revision

    report = check.report
    pair = f"{revision(report.baseline)} -> {revision(report.target)}"
    yield from beginning(pair, sentence(report), SENTENCE, COLUMNS)
    if how := criteria(report.judged_by):
        yield from cut(wrap(f"  {how}", COLUMNS, subsequent_indent="  "), SENTENCE, COLUMNS)


def has_news(check: Check) -> bool:
    """Whether a check found anything but what is the same, or not settled."""
    return any(
        WORDS[change.word].moved or not WORDS[change.word].compared
        for change in check.report.changes
    )


def _folded(checks: Sequence[Check]) -> Iterator[str]:
    """A line per check without news; one for many in a row."""
    from perfvcs.check.text import revision, title

    if len(checks) < FOLD:
        for check in checks:
            yield from wrap(title(check.report), COLUMNS, subsequent_indent="  ")
        return
    first, last = checks[0].report, checks[-1].report
    together = Neighbours(checks).total()
    yield from wrap(
        f"{revision(first.baseline)} -> {revision(last.target)}: {together}",
        COLUMNS,
        subsequent_indent="  ",
    )


def neighbours(repository: Repository, span: str, asked: CheckRequest = BY_RULES) -> Neighbours:
    """The checks along ``A..B``: of A and the commits that lead to B, those that have profiles.

    Each is a parent of the next. Where A is not an ancestor of B, they begin where the lines part.
    Raises UsageError for what is not a range, and NothingToCompare where fewer than two commits of
    it were measured.
    """
    old, _, new = span.partition("..")
    if new.startswith("."):
        raise UsageError(f"`{span}` has three dots: use `A..B`")
    project = repository.project
    start, end = project.resolve(old or "HEAD"), project.resolve(new or "HEAD")
    commits = [start, *(commit.commit for commit in way(project, start, end))]
    if len(commits) == 1:
        ask = ("rev-list", "--first-parent", "--parents", f"{start}..{end}")
        since = project.git(*ask).split("\n")
        if not since[0]:
            raise UsageError(f"`{span}` holds no commits: is it the wrong way round?")
        commits = [*since[-1].split()[1:2], *(line.split()[0] for line in reversed(since))]
    states = _measured(repository, commits)
    if len(states) < 2:
        lacking = "one commit that is" if states else "no commit that is"
        raise NothingToCompare(
            f"`{span}` has {lacking} measured: measure them in turns with `perf collect {span}`"
        )
    return Neighbours([compared(repository, *pair, asked) for pair in pairwise(states)])


def _measured(repository: Repository, commits: Sequence[str]) -> list[State]:
    """The states of those commits that have profiles; the last one's may have been taken before it
    was committed, from its parent.
    """
    changed, newest = repository.index.changed(), repository.state(commits[-1])
    older = [
        repository.state(commit) if commit in changed else State(commit)
        for commit in repository.with_profiles(commits[:-1])
    ]
    states = [
        state for state in older if (state.filed, state.dirty) != (newest.filed, newest.dirty)
    ]
    return [*states, newest] if repository.index.counts([newest.filed]) else states
