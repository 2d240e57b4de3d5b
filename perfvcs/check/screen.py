"""A report on one screen: the answer first, at most 24 lines, whatever was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from perfvcs.check.brief import Brief, BriefLine, brief
from perfvcs.check.change import Report
from perfvcs.check.movement import JobUnit
from perfvcs.check.text import (
    NAME_WIDTH,
    WORD_WIDTH,
    beginning,
    command_of,
    cut,
    revision,
    settlement,
    stepped,
    summary,
    untouched,
    wrap,
)
from perfvcs.text.characters import COLUMNS, fitted, shorten
from perfvcs.text.words import apart, counted

SCREEN_LINES = 24  # of a terminal
SENTENCE, DETAIL, CLOSING = 4, 2, 2  # lines that one of each takes at most
BESIDE_CRITERIA, FEWEST, MOST = 3, 3, 7  # lines of the sentence where it has criteria, and of these
BODY = 6  # lines that changes need
BLANKS = 2  # lines before and behind these
NAME_COLUMNS = 60  # columns of a name
NOTES = 2  # that are listed
MOST_LONG_TEXTS = 4  # texts that may take more than a line
INDENT = " " * (WORD_WIDTH + 3)


def screen(
    report: Report,
    *,
    causes: Mapping[JobUnit, Sequence[str]] | None = None,
    following: Sequence[str] = (),
    why: str = "",
    width: int = COLUMNS,
) -> str:
    """The sentence, the jobs, the changes with what is known of their cause, everything else, what
    to do next, and the count.

    ``following`` is what to do next, a sentence each, ``why`` the reason for comparing these two.
    Details are left out first, then changes and jobs from the least important on.
    """
    parts = brief(report, causes)
    most = BESIDE_CRITERIA if parts.criteria else SENTENCE
    top = beginning(_title(report, why), parts.sentence, most, width)
    crowded = parts.criteria and len(parts.rest) + len(following) > MOST_LONG_TEXTS
    notes = _notes(report, 0 if crowded else NOTES)
    texts = [*parts.rest, *notes, *following]
    plain = [text for text in texts if not command_of(text)]
    ending = _ending(report, texts, CLOSING if len(plain) <= MOST_LONG_TEXTS else 1, width)
    criteria = FEWEST if parts.criteria else 0
    if len(top) + criteria + BODY + len(ending) + BLANKS > SCREEN_LINES:
        ending = _ending(report, texts, 1, width)
    room = SCREEN_LINES - len(top) - len(ending) - BODY - BLANKS
    top += cut(_criteria(parts, width), max(FEWEST, min(MOST, room)), width)
    body = _listed(parts, SCREEN_LINES - len(top) - len(ending) - BLANKS, width)
    return "\n".join([*top, "", *body, *([""] if body else []), *ending])


def _notes(report: Report, most: int) -> list[str]:
    """The first notes on jobs, at most so many."""
    notes = [f"note: {shorten(note, NAME_WIDTH)}" for note in report.notes]
    left_out = len(notes) - most
    more = []
    if left_out > 0:
        noun = "more note" if most else "note"
        more = [f"note: {counted(left_out, noun)}: perf check -v"]
    return [*filter(None, [untouched(report)]), *notes[:most], *more]


def _ending(report: Report, texts: Sequence[str], most: int, width: int) -> list[str]:
    """What comes after what is listed; each text takes ``most`` lines at most."""
    lines = [line for text in texts for line in _closing(text, most, width)]
    return [
        *lines,
        *cut(wrap(summary(report), width, subsequent_indent="  "), most, width),
        settlement(report.comparisons),
    ]


def _closing(text: str, most: int, width: int) -> list[str]:
    """A text in ``most`` lines; one that ends with a command is not cut, since half of a command
    does not run.
    """
    lines = stepped(text, width)
    return lines if command_of(text) else cut(lines, most, width)


def lead(report: Report, *, why: str = "", width: int = COLUMNS) -> list[str]:
    """The sentence and the jobs, which precede a complete list; ``why`` as in ``screen``."""
    parts = brief(report, whole=True)
    lines = [line for job in parts.jobs for line in _rows(job, width).within(SCREEN_LINES, width)]
    top = [
        *wrap(f"{_title(report, why)}: {parts.sentence}", width, subsequent_indent="  "),
        *_criteria(parts, width),
    ]
    return [*top, "", *lines, *([""] if lines else [])]


def _criteria(parts: Brief, width: int) -> list[str]:
    """What it was judged by, below the sentence."""
    if not parts.criteria:
        return []
    return wrap(f"{parts.criteria}.", width, initial_indent="  ", subsequent_indent="  ")


def _title(report: Report, why: str) -> str:
    title = f"{revision(report.baseline) or 'nothing'} -> {revision(report.target) or 'nothing'}"
    return f"{title} ({why})" if why else title


class ScreenLines(msgspec.Struct, frozen=True):
    """The lines of one thing: its ``head``, for name and numbers, its ``details``, and its
    ``foot``, by which it can be accepted. It needs its head and foot.
    """

    head: list[str]
    details: list[list[str]]
    foot: list[str]

    @property
    def needed(self) -> int:
        """How many lines it needs."""
        return len(self.head) + len(self.foot)

    def within(self, room: int, width: int) -> list[str]:
        """Its lines, with so many of its details at most; one that goes on says so."""
        details: list[str] = []
        for lines in self.details:
            if (left := room - len(details)) <= 0:
                break
            details += cut(lines, left, width)
        return [*self.head, *details, *self.foot]


def _listed(parts: Brief, room: int, width: int) -> list[str]:
    """The jobs and the changes in that many lines: first what each needs, then details if there is
    room, those of changes first. Where there is no room for a job, the sentence alone is about it.
    """
    names = iter(apart([line.name for line in (*parts.jobs, *parts.changes)], NAME_COLUMNS))

    def rows_of(briefs: Iterable[BriefLine]) -> list[ScreenLines]:
        return [_rows(msgspec.structs.replace(line, name=next(names)), width) for line in briefs]

    jobs, changes = rows_of(parts.jobs), rows_of(parts.changes)
    hidden, left_out = parts.hidden, parts.left_out
    while (left := room - _height(jobs, changes, hidden, left_out)) < 0 and len(jobs) + len(
        changes
    ) > 1:
        if len(jobs) > 2 or len(changes) <= 1:
            jobs, hidden = jobs[:-1], hidden + 1
        else:
            changes, left_out = changes[:-1], left_out + 1
    shown: list[list[str]] = []
    for item in (*changes, *jobs):
        shown.append(item.within(left, width))
        left -= len(shown[-1]) - item.needed
    lines = [line for rows in shown[len(changes) :] for line in rows]
    if jobs and hidden:
        lines.append(f"{INDENT}and {counted(hidden, 'other job')}")
    if lines and changes:
        lines.append("")
    lines += [line for rows in shown[: len(changes)] for line in rows]
    if left_out:
        lines.append(f"{INDENT}and {counted(left_out, 'more benchmark')} that moved: perf check -v")
    return lines


def _height(
    jobs: Sequence[ScreenLines], changes: Sequence[ScreenLines], hidden: int, left_out: int
) -> int:
    """The lines that all of it takes without details."""
    blank = bool(jobs and changes)
    others = bool(jobs and hidden) + bool(left_out)
    return sum(rows.needed for rows in (*jobs, *changes)) + blank + others


def _rows(line: BriefLine, width: int) -> ScreenLines:
    """Word and name, numbers beside them or below, then details two columns further in."""
    inner = f"{INDENT}  "
    head = (
        f"  {line.word:<{WORD_WIDTH}}"
        f" {fitted(line.name, min(NAME_COLUMNS, max(20, width - WORD_WIDTH - 3)))}".rstrip()
    )
    numbers = cut(
        wrap(line.numbers, width, initial_indent=INDENT, subsequent_indent=inner), DETAIL, width
    )
    first = (
        [f"{head}  {line.numbers}"]
        if len(head) + len(line.numbers) + 2 <= width
        else [head, *numbers]
    )
    details = [
        cut(wrap(detail, width, initial_indent=inner, subsequent_indent=inner), DETAIL, width)
        for detail in line.details
    ]
    foot = wrap(line.accept, width, initial_indent=inner, subsequent_indent=inner)
    return ScreenLines(first, details, cut(foot, DETAIL, width))
