"""What `perf history` prints on a terminal of 80 columns: a sentence on the whole, then lasting
changes commit by commit, newest first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from textwrap import wrap
from typing import TYPE_CHECKING

import msgspec

from perfvcs.history import finding
from perfvcs.history.finding import title
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
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.quantity import percent
from perfvcs.text.words import apart, counted, metric_name

if TYPE_CHECKING:
    from perfvcs.history.finding import FindingWord
    from perfvcs.history.overview import Overview
    from perfvcs.index.lines import Line

EMPTY: Mapping[int, Sequence[str]] = {}
SCREEN = 24  # lines of a listing by default; the first commit is shown in any case
LISTED_COMMITS = SCREEN // 3  # that can have room: each takes three lines at least
# series of a commit that are listed one by one by default; of more, each word is summed up
SERIES_ONE_BY_ONE = 2
# remarks of one kind, and notes on series that begin anew, that are listed by default
MOST_LISTED_REMARKS = 2
MOST_NAMES = 5  # listed before the rest is only counted
REASON_CHARACTERS = 400  # of a note
LISTED_VERDICTS: tuple[FindingWord, ...] = ("degradation", "improvement", "drift")


class Remark(msgspec.Struct, frozen=True):
    """What a series shows beside steps and drifts."""

    word: str
    line: Line
    text: str


class Paragraph(msgspec.Struct, frozen=True):
    """Lines that are printed together or not at all, and the number of steps in them."""

    lines: list[str]
    steps: int = 0


class Listing(msgspec.Struct, frozen=True):
    """Changes and remarks as paragraphs.

    ``called`` has the name of each benchmark by its title, for ``hosts`` see ``lines``.
    """

    overview: Overview
    called: Mapping[str, str]
    hosts: Mapping[int, Sequence[str]]
    everything: bool

    def commits(self, steps: Iterable[StepOverSizes]) -> Iterator[Paragraph]:
        """What changed at each commit."""
        for commit, members in groupby(steps, key=lambda step: step.finding.commit):
            changed = list(members)
            yield Paragraph(["", self._commit(commit), *self._changes(changed)], len(changed))

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
        for word in dict.fromkeys(step.finding.word for step in steps):
            members = [step for step in steps if step.finding.word == word]
            if self.everything or len(steps) <= SERIES_ONE_BY_ONE or len(members) == 1:
                for step in members:
                    yield from described(
                        step, *self._named(step), self.hosts.get(id(step.finding), ())
                    )
            else:
                changed = dict.fromkeys(
                    what for step in members for what in self.hosts.get(id(step.finding), ())
                )
                yield from summed_up(members, *self._named(members[0]), list(changed))

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
) -> Iterator[str]:
    """The listing: a sentence on the whole, the newest values, the changes of each commit, remarks,
    the next step, what was left out.

    By default it fits a screen, and sums up a commit at which many series changed; ``commits``
    shows so many of them. ``everything`` shows each change with all that is known of it. ``hosts``
    has what changed meanwhile on the host of a finding, see ``history.meanwhile``.
    """
    if not overview.lines:
        yield "no commit here has profiles: measure some with `perf collect`"
        return
    steps = together(overview.findings)
    shown = together(overview.of_newest(None if everything else commits or LISTED_COMMITS))
    most = None if everything else MOST_LISTED_REMARKS
    now, others = _unusual(overview), _remarks(overview)
    names = [
        *(title(remark.line) for remark in (*now[:most], *others[:most])),
        *(step.title for step in shown),
    ]
    listing = Listing(overview, _called(names), hosts, everything)
    ending = list(_ending(overview, everything=everything))
    first = [listing.remark(remark) for remark in now[:most]]
    changes = list(listing.commits(shown))
    last = [listing.remark(remark) for remark in others[:most]]
    if not everything:
        # the sentence, an empty line, what is left out
        room = SCREEN - len(ending) - 3 - _height(first)
        if commits is None:
            changes = _fitting(changes, room) or changes[:1]
        last = _fitting(last, room - _height(changes))
    yield from wrap(_sentence(overview, steps), COLUMNS)
    for paragraph in (*first, *changes, *([Paragraph([""])] if last else ()), *last):
        yield from paragraph.lines
    yield from [""] if first or changes or last else []
    yield from _left_out(
        len(steps) - sum(paragraph.steps for paragraph in changes),
        len(now) + len(others) - len(first) - len(last),
    )
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


def _remarks(overview: Overview) -> list[Remark]:
    """Series that switch between levels, and those with another spread."""
    spread = [
        Remark(
            "noisier" if series.after > series.before else "calmer",
            series.line,
            finding.noisier(series),
        )
        for series in overview.noisier
    ]
    return [
        *(
            Remark("switching", series.line, finding.switching(series))
            for series in overview.switching
        ),
        *spread,
    ]


def _left_out(steps: int, others: int) -> Iterator[str]:
    parts = [counted(steps, "step")] if steps else []
    parts += [counted(others, "remark on a series", "remarks on series")] if others else []
    if parts:
        yield f"not shown: {' and '.join(parts)} (perf history --all)"


def _sentence(overview: Overview, steps: Sequence[StepOverSizes]) -> str:
    """What was examined, and how much was found."""
    words = Counter(step.finding.word for step in steps)
    others = (
        (len(overview.switching), "switching"),
        (len(overview.noisier), "with another spread"),
    )
    parts = [counted(words[word], word) for word in LISTED_VERDICTS if words[word]] or ["no step"]
    findings = ", ".join([*parts, *(f"{count:,} {text}" for count, text in others if count)])
    return (
        f"{counted(overview.lines, 'series', 'series')} over {counted(overview.commits, 'commit')}"
        f" examined: {findings}"
    )


def _ending(overview: Overview, *, everything: bool) -> Iterator[str]:
    """What to do next, and what was not examined."""
    wide = next(
        (
            change
            for change in overview.findings
            if change.word == "degradation" and change.commits > 1 and not change.denied
        ),
        None,
    )
    if wide is not None:
        yield (
            f"Next: perf bisect {wide.first[:10]}^ {wide.last[:10]} finds which of {wide.commits:,}"
            " commits it was."
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
        called = _called(series.benchmark for series in overview.short)
        named = ", ".join(
            f"{called[series.benchmark]} {metric_name(series.metric)}"
            for series in overview.short[:MOST_NAMES]
        )
        rest = len(overview.short) - MOST_NAMES
        more = f" and {rest} more" if rest > 0 else ""
        yield from _note(
            f"too short, fewer than {overview.shortest} measured commits: {named}{more}"
        )
        if overview.commits > 1:
            first, last = (commit[:10] for commit in overview.ends)
            yield f"Next: perf check {first}..{last} compares each with the one before."
    for row in overview.unlisted[:most]:
        pair = f"{row.baseline[:10]} {row.target[:10]}"
        effect = "" if row.effect is None else f" {percent(row.effect)}"
        yield from _note(
            f"not listed, though perf check {pair} finds {row.benchmark}, {metric_name(row.metric)}"
            f"{effect}: {row.reason}"
        )
    if len(overview.unlisted) > len(overview.unlisted[:most]):
        others = counted(len(overview.unlisted[most:]), "other degradation")
        yield from _note(f"and {others} that perf check finds: perf history --all")
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


def _note(text: str) -> list[str]:
    return wrap(f"note: {shorten(text, REASON_CHARACTERS)}", COLUMNS, subsequent_indent="      ")
