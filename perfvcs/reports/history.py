"""What `perf history` prints on a terminal of 80 columns: a sentence on the whole, then the commits
that made something slower that still is, what they cost first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

import msgspec

from perfvcs.check.text import stepped
from perfvcs.history import finding
from perfvcs.history.finding import Direction, Finding, title
from perfvcs.history.triage import DENIED, ranked
from perfvcs.profile.naming import typed
from perfvcs.reports.plainlines import (
    BENCHMARK_WIDTH,
    STEP_METRIC_WIDTH,
    STEP_WORD_WIDTH,
    StepOverSizes,
    described,
    indented,
    summed_up,
    together,
)
from perfvcs.repository.benchmarks import typed_words
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.quantity import percent
from perfvcs.text.words import apart, counted, metric_name, plural
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.history.overview import Overview
    from perfvcs.index.lines import Line

EMPTY: Mapping[int, Sequence[str]] = {}
SCREEN = 24  # lines of a listing by default; the first commit is shown in any case
LISTED_COMMITS = 10  # by default, whatever has room
# series of a commit that are listed one by one by default; of more, each word is summed up
SERIES_ONE_BY_ONE = 2
# remarks of one kind, and notes on series that begin anew, that are listed by default
MOST_LISTED_REMARKS = 2
MOST_DOUBTS = 2  # of a commit's series that are named
MOST_NAMES = 5  # listed before the rest is only counted
REASON_CHARACTERS = 400  # of a note
LISTED_VERDICTS: tuple[Direction, ...] = ("degradation", "improvement")


class Remark(msgspec.Struct, frozen=True):
    """What a series shows beside steps."""

    word: str
    line: Line
    text: str


class Paragraph(msgspec.Struct, frozen=True):
    """Lines that are printed together or not at all, and the steps in them."""

    lines: list[str]
    steps: Sequence[StepOverSizes] = ()


class Listing(msgspec.Struct, frozen=True):
    """Changes and remarks as paragraphs.

    ``called`` has the name of each benchmark by its title, for ``hosts`` see ``lines``.
    """

    overview: Overview
    called: Mapping[str, str]
    hosts: Mapping[int, Sequence[str]]
    everything: bool

    def commits(self, steps: Iterable[StepOverSizes]) -> Iterator[Paragraph]:
        """What changed at each commit; a line says where those begin that are to be checked."""
        said = False
        for commit, members in groupby(steps, key=lambda step: step.finding.commit):
            changed = list(members)
            standings = [self.overview.standing(step.finding) for step in changed]
            is_open = any(standing.state == "open" for standing in standings)
            doubted = is_open and not any(standing.certain for standing in standings)
            head = ["", "to check:"] if doubted and not said and not self.everything else [""]
            said = said or doubted
            yield Paragraph([*head, self._commit(commit), *self._changes(changed)], changed)

    def remark(self, remark: Remark) -> Paragraph:
        """A series with what it shows."""
        metric = shorten(metric_name(remark.line.metric), STEP_METRIC_WIDTH)
        head = f"  {remark.word:{STEP_WORD_WIDTH}}  {self.called[title(remark.line)]}, {metric}"
        return Paragraph(
            [head, *indented(": ".join(filter(None, [self._place(remark.line), remark.text])))]
        )

    def _commit(self, commit: str) -> str:
        details = self.overview.details[commit]
        head = f"{commit[:10]}  {details.when[:10]}  {shorten(details.author, 16)}  "
        return head + shorten(details.title, COLUMNS - len(head))

    def _changes(self, steps: Sequence[StepOverSizes]) -> Iterator[str]:
        """The changes of one commit, one by one or, of many, each word summed up."""
        for word in LISTED_VERDICTS:
            members = [step for step in steps if step.finding.word == word]
            if self.everything or len(steps) <= SERIES_ONE_BY_ONE or len(members) <= 1:
                for step in members:
                    yield from described(
                        step, *self._named(step), self.hosts.get(id(step.finding), ())
                    )
                    yield from indented(self._doubted([step]))
            else:
                changed = dict.fromkeys(
                    what for step in members for what in self.hosts.get(id(step.finding), ())
                )
                yield from summed_up(members, *self._named(members[0]), list(changed))
                yield from indented(self._doubted(members))

    def _doubted(self, steps: Sequence[StepOverSizes]) -> str:
        """Why changes of one word are to be checked, what most of them share first, or what became
        of a single one.
        """
        standings = [self.overview.standing(step.finding) for step in steps]
        if len(standings) == 1:
            return standings[0].text
        # of several without their own numbers, which stand in parentheses or before a colon
        alike: dict[str, list[str]] = defaultdict(list)
        for standing in standings:
            for doubt in standing.doubts:
                words = doubt.partition(" (")[0]
                alike[words.rpartition(": ")[2]].append(words)
        if not alike:
            return ""
        count = sum(bool(standing.doubts) for standing in standings)
        named = [words[0] for words in sorted(alike.values(), key=len, reverse=True)[:MOST_DOUBTS]]
        return f"to check {count:,} of {len(steps):,}: {'; '.join(named)}"

    def _named(self, step: StepOverSizes) -> tuple[str, str]:
        return self.called[step.title], self._place(step.finding.line)

    def _place(self, line: Line) -> str:
        """In which environment something was found, where the same is measured in several."""
        name = self.overview.place(line)
        return f"in {name}" if name else ""


def lines(
    overview: Overview,
    commits: int | None = None,
    *,
    everything: bool = False,
    hosts: Mapping[int, Sequence[str]] = EMPTY,
    elsewhere: str = "",
) -> Iterator[str]:
    """The listing: a sentence on the whole, the newest values, the changes of each commit, the
    next step, what was left out.

    By default it fits a screen, and sums up a commit at which many series changed; ``commits``
    shows so many of them. ``everything`` shows each change with all that is known of it. ``hosts``
    has what changed meanwhile on the host of a finding, see ``history.meanwhile``; ``elsewhere``
    what is stored for no commit here.
    """
    if not overview.lines:
        yield f"no commit here has profiles: measure some with `perf collect`{elsewhere}"
        return
    steps = together(overview.findings)
    shown = steps if everything else _first(overview, steps, commits)
    most = None if everything else MOST_LISTED_REMARKS
    now = _unusual(overview)
    names = [*(title(remark.line) for remark in now[:most]), *(step.title for step in shown)]
    listing = Listing(overview, _called(names), hosts, everything)
    ending = list(_ending(overview, shown, everything=everything))
    first = [listing.remark(remark) for remark in now[:most]]
    changes = list(listing.commits(shown))
    sentence = wrap(_sentence(overview, steps), COLUMNS)
    if not everything:
        # an empty line, and what is left out and why
        room = SCREEN - len(ending) - len(sentence) - 4 - _height(first)
        if commits is None:
            changes = _fitting(changes, room) or changes[:1]
    yield from sentence
    for paragraph in (*first, *changes):
        yield from paragraph.lines
    yield from [""] if first or changes else []
    listed = {id(step) for paragraph in changes for step in paragraph.steps}
    left_out = [step for step in steps if id(step) not in listed]
    yield from _left_out(overview, left_out, len(now) - len(first))
    yield from ending


def _height(paragraphs: Iterable[Paragraph]) -> int:
    return sum(len(paragraph.lines) for paragraph in paragraphs)


def _fitting(paragraphs: Sequence[Paragraph], room: int) -> list[Paragraph]:
    """As many from the first on as have room together."""
    heights = accumulate(len(paragraph.lines) for paragraph in paragraphs)
    return [
        paragraph for paragraph, height in zip(paragraphs, heights, strict=True) if height <= room
    ]


def _called(titles: Iterable[str]) -> dict[str, str]:
    """By title the name of each benchmark in its column, of which no two look alike."""
    unique = list(dict.fromkeys(titles))
    return dict(zip(unique, apart(unique, BENCHMARK_WIDTH), strict=True))


def _unusual(overview: Overview) -> list[Remark]:
    """The values at the newest commit that are unlike those before."""
    return [Remark(newest.word, newest.line, finding.newest(newest)) for newest in overview.newest]


def _first(
    overview: Overview, steps: Sequence[StepOverSizes], commits: int | None
) -> list[StepOverSizes]:
    """The changes of so many commits: what is slower now by what it costs, then improvements, the
    newest first, and what is contradicted; the others only where a number of commits is asked for.
    """
    by_commit: dict[str, list[StepOverSizes]] = {}
    for step in steps:
        by_commit.setdefault(step.finding.commit, []).append(step)
    standings = {
        commit: [overview.standing(step.finding) for step in members]
        for commit, members in by_commit.items()
    }
    slower = ranked(standings)
    kinds = None if commits else {"improvements", DENIED}
    rest = [
        commit
        for commit in by_commit
        if commit not in slower
        and any(kinds is None or standing.kind in kinds for standing in standings[commit])
    ]
    return [
        step
        for commit in [*slower, *rest][: commits or LISTED_COMMITS]
        for step, standing in zip(by_commit[commit], standings[commit], strict=True)
        if kinds is None or standing.state == "open" or standing.kind in kinds
    ]


def _left_out(overview: Overview, steps: Sequence[StepOverSizes], others: int) -> Iterator[str]:
    standings = [overview.standing(step.finding) for step in steps]
    kinds = Counter(standing.kind for standing in standings)
    alike = len(kinds) == 1 and standings[0].state in ("accepted", "over")
    why = f", {standings[0].kind}" if alike else ""
    parts = [f"{counted(len(steps), 'step')}{why}"] if steps else []
    parts += [counted(others, "remark on a series", "remarks on series")] if others else []
    if parts:
        yield f"not shown: {' and '.join(parts)} (perf history --all)"
    if len(kinds) > 1:
        reasons = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        yield from wrap(reasons, COLUMNS, initial_indent="  ", subsequent_indent="  ")


def _sentence(overview: Overview, steps: Sequence[StepOverSizes]) -> str:
    """What was examined, and how much was found."""
    words = Counter(step.finding.word for step in steps)
    parts = [counted(words[word], word) for word in LISTED_VERDICTS if words[word]] or ["no step"]
    findings = ", ".join(parts)
    examined = (
        f"{counted(overview.lines, 'series', 'series')} over {counted(overview.commits, 'commit')}"
        f" examined: {findings}"
    )
    standings = {id(step): overview.standing(step.finding) for step in steps}
    open_steps = [step for step in steps if standings[id(step)].state == "open"]
    certain = [step for step in open_steps if standings[id(step)].certain]
    if len(certain) == words["degradation"]:
        return examined
    doubted = [step for step in open_steps if not standings[id(step)].certain]
    parts = []
    for members, word in ((certain, "certain"), (doubted, "to check")):
        commits = {step.finding.commit for step in members}
        if members:
            parts.append(f"{len(members):,} {word} at {counted(len(commits), 'commit')}")
    return f"{examined}; still slower: {', '.join(parts) or 'none'}"


def _ending(
    overview: Overview, steps: Sequence[StepOverSizes], *, everything: bool
) -> Iterator[str]:
    """What to do next, and what was not examined."""
    wide = next(
        (
            change
            for change in (step.finding for step in steps)
            if change.commits > 1 and overview.standing(change).state == "open"
        ),
        None,
    )
    if wide is not None and (command := _locating(overview, wide)):
        yield from stepped(
            f"Next: find which of {wide.commits:,} commits it was: {command}", COLUMNS
        )
    most = None if everything else MOST_LISTED_REMARKS
    for cut in overview.cuts[:most]:
        yield from _note(
            f"{counted(cut.series, 'series', 'series')} {'begins' if cut.series == 1 else 'begin'}"
            f" anew at {cut.commit[:10]}: {cut.reason}"
        )
    if len(overview.cuts) > len(overview.cuts[:most]):
        yield from _note(
            f"and at {counted(len(overview.cuts[most:]), 'other commit')}: perf history --all"
        )
    if overview.short:
        yield from _note(
            f"too short with fewer than {overview.shortest} commits, and not settled in turns:"
            f" {_short(overview, names=everything or not steps)}"
        )
        if overview.commits > 1 and not overview.compared and wide is None:
            first, last = (commit[:10] for commit in overview.ends)
            command = f"perf check {first}..{last}"
            yield from stepped(f"Next: compare each commit with the one before: {command}", COLUMNS)
    for row in overview.unlisted[:most]:
        pair = f"{row.baseline[:10]} {row.target[:10]}"
        effect = "" if row.effect is None else f" {percent(row.effect)}"
        what = f"{row.benchmark}, {metric_name(row.metric)}{effect}"
        yield from stepped(f"note: {what} is not listed ({row.reason}): perf check {pair}", COLUMNS)
    if len(overview.unlisted) > len(overview.unlisted[:most]):
        count = len(overview.unlisted[most:])
        others = f"{counted(count, 'other degradation')} of perf check {plural(count, 'is', 'are')}"
        yield from _note(f"and {others} not listed: perf history --all")
    if overview.unusable:
        yield from _note(
            f"left out: {counted(overview.unusable, 'value')} with a zero, negative or infinite"
            " measurement"
        )
    if overview.aside:
        is_one = overview.aside == 1
        were = "commit is on a branch that was" if is_one else "commits are on branches that were"
        yield from _note(
            f"{overview.aside} measured {were} merged, not on this line: perf history A..BRANCH"
            " shows one"
        )


def _locating(overview: Overview, wide: Finding) -> str:
    """The command that finds the commit of a change among several; empty where nothing here can
    measure them.
    """
    first, last = f"{wide.first[:10]}^", wide.last[:10]
    if wide.line.job.label in overview.configured:
        name = typed(f"{title(wide.line)}, {metric_name(wide.line.metric)}")
        return f"perf bisect {first} {last} -- {name}"
    words = typed_words(wide.line.job)
    return f"perf collect {first}..{last} -- {words}" if words else ""


def _short(overview: Overview, *, names: bool) -> str:
    """The series that are too short: the first ones by name, or where there are many findings to
    read how many there are.
    """
    first, rest = overview.short[:MOST_NAMES], len(overview.short) - MOST_NAMES
    if rest > 0 and not names:
        return counted(len(overview.short), "series", "series")
    called = _called(series.benchmark for series in overview.short)
    named = ", ".join(f"{called[each.benchmark]} {metric_name(each.metric)}" for each in first)
    return named + (f" and {rest} more" if rest > 0 else "")


def _note(text: str) -> list[str]:
    return wrap(f"note: {shorten(text, REASON_CHARACTERS)}", COLUMNS, subsequent_indent="      ")
