"""A report for other programs: as Markdown, for a pull request or a build's summary, and as
JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from perfvcs.check.acceptance import identity, is_committed
from perfvcs.check.answer import headline
from perfvcs.check.bounds import smallest
from perfvcs.check.brief import BriefLine, brief, unit_counts
from perfvcs.check.change import Change, JudgedBy, LimitVerdict, Overall, Report, Text
from perfvcs.check.movement import JobUnit
from perfvcs.check.sizerows import SizeRow, size_rows
from perfvcs.check.text import (
    NAME_WIDTH,
    contested,
    measure,
    remarks,
    revision,
    settlement,
    summary,
    untouched,
)
from perfvcs.check.vocabulary import WORDS, said, tally
from perfvcs.profile.naming import labelled
from perfvcs.profile.validity import Malformed, require
from perfvcs.system.foreign import UNDECODABLE
from perfvcs.text.characters import shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.quantity import step
from perfvcs.text.words import counted, metric_name

MARKDOWN_NAME = 10_000  # characters of a name or a reason
BRIEF = ("| verdict | benchmark | change | remark |", "|---|---|---|---|")
TABLE_HEAD = (
    "| verdict | benchmark | metric | effect | baseline -> target | remark |",
    "|---|---|---|---|---|---|",
)
SPECIAL = r"([\\`*_{}\[\]<>|!&])"
# of a list, a rule or a heading: `1.`, `-`, `---`
BEGINNING = r"^(?:\d{1,9}(?=[.)](?: |$))|(?=[-+=](?!\d)))"
# What GitHub and GitLab make of a word after the Markdown is read, whatever is escaped in it,
# unless it is code.
ACTIVE = r"""(?xia)
    [@#$~]              # people, issues, snippets, labels, addresses of mail; formulas
    | [!&^]\w | %[\w"']  # merge requests, epics, alerts, milestones
    | ://|www\.         # addresses
    | :[\w+-]+:         # emoji
    | [0-9a-f]{7}       # commits
    | [a-z]-\w*\d | ghsa-  # GH-1, JIRA-12, CVE-2024-1, and advisories
    | ^/\w              # /close: a command in a comment
    | \[\[ | \[toc\] | [\[*]\w+:  # pages, contents, [issue:1]
    | [-+][\]}]         # the end of {+what was added+}
    """
ENTITIES = {"`": "&#96;", "|": "&#124;"}  # what cannot be in code, whatever is around it
FORMAT = "perfvcs-report/1"
# changes that the effects on whole jobs are of, each as often as it is named
MOST_NAMED = 10_000_000


def markdown(
    report: Report,
    *,
    causes: Mapping[JobUnit, Sequence[str]] | None = None,
    following: Sequence[str] = (),
    verbose: bool = False,
    why: str = "",
) -> str:
    """The sentence, a table of the jobs and the changes that matter most, everything else, and what
    to do next.

    ``why`` is the reason for comparing these two. ``verbose`` adds a table of every comparison, in
    the report's order, and one of what is accepted. Names come from whoever wrote the profile: they
    are shown literally.
    """
    parts = brief(report, causes, whole=verbose)
    said_first = ". ".join(filter(None, [parts.sentence, parts.criteria]))
    title = (
        f"{escape(revision(report.baseline)) or 'nothing'} →"
        f" {escape(revision(report.target))}{f' ({escape(why)})' if why else ''}"
    )
    lines = [f"**perf check** {title}: {escape(said_first)}", ""]
    rows = [_line(line) for line in (*parts.jobs, *parts.changes)]
    if rows:
        lines += [*BRIEF, *rows, ""]
    hidden = [(parts.hidden, "other job"), (parts.left_out, "more benchmark")]
    more = [counted(count, noun) for count, noun in hidden if count]
    paragraphs = [*([f"And {', '.join(more)}."] if more else []), *parts.rest]
    paragraphs += filter(None, [untouched(report)])
    paragraphs += [f"Note: {note}" for note in report.notes]
    paragraphs += following
    lines += [line for text in paragraphs for line in (escape(text), "")]
    if verbose:
        lines += [*_complete(report), ""]
    shown = {
        f"{100 * change.confidence:g} %"
        for change in report.changes
        if measure(change).endswith("]")
    }
    if shown:
        lines += [f"In brackets: the {' and '.join(sorted(shown))} interval of the effect.", ""]
    return "\n".join([*lines, f"{summary(report)}.", "", settlement(report.comparisons)])


def _line(line: BriefLine) -> str:
    remark = escape("; ".join(line.remarks).replace("->", "→"))
    return (
        f"| {_word(line.word)} | {escape(line.name)} | {escape(line.numbers.replace('->', '→'))} |"
        f" {remark} |"
    )


def _word(word: str) -> str:
    return f"**{word}**" if word in WORDS and WORDS[word].fails else word


def _complete(report: Report) -> Iterator[str]:
    several = contested(report.changes)
    yield from TABLE_HEAD
    yield from (
        _row(report, row, several)
        for row in size_rows(change for change in report.changes if change.accepted is None)
    )
    accepted = [change for change in report.changes if change.accepted is not None]
    if accepted:
        rows = [_row(report, row, several) for row in size_rows(accepted)]
        yield from ("", "Accepted:", "", *TABLE_HEAD, *rows)


def _row(report: Report, row: SizeRow, several: set[tuple[str, str]]) -> str:
    change = row.change
    texts = [text for text in (row.remark, *remarks(change, several)) if text]
    remark = escape("; ".join(texts).replace("->", "→"))
    for failed in row.changes:
        if said(failed).fails and is_committed(report):
            remark = f"{remark} `{identity(report, failed)}`".lstrip()
    size = None if row.others else change.size
    measured = measure(change)
    cells = (
        _word(said(change).word),
        escape(shorten(labelled(change.job, change.uid, size), NAME_WIDTH)),
        escape(metric_name(change.metric)),
        escape(measured) if change.effect is None else measured,
        escape(step(change.baseline, change.target, change.unit).replace("->", "→")),
        remark,
    )
    return f"| {' | '.join(cells)} |"


def escape(text: str) -> str:
    """Text that is shown literally, on one line, by whatever reads Markdown: all names are written
    by this.

    What a service would turn into a link, a mention, a command or an emoji becomes code, where
    services leave it alone.

    >>> print(escape("sort_all [a|b]"), escape("seen by @ada in #1"), escape("- 1"))
    sort\\_all \\[a\\|b\\] seen by `@ada` in `#1` \\- 1
    """
    words = shorten(text, MARKDOWN_NAME).split()
    return re.sub(BEGINNING, r"\g<0>\\", " ".join(map(_literal, words)), count=1)


def _literal(word: str) -> str:
    if not re.search(ACTIVE, word):
        return re.sub(SPECIAL, r"\\\1", word)
    name = word.rstrip(",;:.)")
    coded = (ENTITIES.get(part) or f"`{part}`" for part in re.split("([`|])", name) if part)
    return "".join(coded) + word[len(name) :]


class NamedChange(Change, frozen=True, kw_only=True):
    """A change with the name of its benchmark, and the ``smallest`` effect that would have been
    found with a chance of 80 %, as a share of the baseline; None where that is not known.
    """

    benchmark: Text
    smallest: float | None = None


class OpenChange(NamedChange, frozen=True, kw_only=True):
    """A change that `perf accept` takes by its ``id``."""

    id: Text


class CountedOverall(Overall, frozen=True, kw_only=True):
    """What a metric of a job did as a whole, and how many of its units have which word."""

    counts: Mapping[str, int]


class CheckDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What `perf check --json` prints of a pair: its ``Report``, and what follows from it.

    What stands only beside a single report: the ``causes`` by unit, the ``files`` that differ, what
    to do ``next``, why the ``pair`` was compared, and the ``false_alarms`` of stored audits; None
    where there is none.
    """

    format: str = FORMAT
    baseline: Text
    target: Text
    sentence: str
    judged_by: JudgedBy
    method: Text
    foreign: list[Text]
    failures: list[Text]
    untouched: list[Text]
    inherits: Text
    renamed: list[Text]
    unused: list[Text]
    remarks: list[Text]
    outputs: list[Text]
    wrong: list[Text]
    left: list[Text]
    limits: list[LimitVerdict]
    counts: Mapping[str, int]
    comparisons: int
    settled: int
    overall: list[CountedOverall]
    changes: list[Change]
    causes: Mapping[str, Sequence[str]] | UnsetType = UNSET
    files: Sequence[str] | UnsetType = UNSET
    next: str | UnsetType = UNSET
    pair: str | UnsetType = UNSET
    false_alarms: FalseAlarms | UnsetType | None = UNSET


def document(report: Report, **beside: object) -> CheckDocument:
    """The document of a report; ``beside`` it stands what only a single one has."""
    counts = unit_counts(report)
    return filled(
        CheckDocument,
        report,
        sentence=headline(report),
        counts=tally(report.changes),
        comparisons=len(report.comparisons),
        settled=sum(change.settled for change in report.comparisons),
        overall=[
            filled(CountedOverall, job, counts=counts[job.job_metric]) for job in report.overall
        ],
        changes=[
            filled(OpenChange, change, id=identity(report, change), **_beside(change))
            if said(change).fails
            else filled(NamedChange, change, **_beside(change))
            for change in report.changes
        ],
        **beside,
    )


def _beside(change: Change) -> dict[str, object]:
    """What a document says of a change beside it."""
    name = labelled(change.job, change.uid, change.size)
    return {"benchmark": name, "smallest": smallest(change)}


def encode(report: Report | Sequence[Report]) -> str:
    """The JSON document of a report, or the list of those of several."""
    if isinstance(report, Report):
        return json_text(document(report))
    return json_text([document(single) for single in report])


def decode(document: str | bytes) -> Report:
    """The report in a JSON document; raises Malformed with the place of the first thing wrong."""
    try:
        return consistent(msgspec.json.decode(document, type=Report))
    except UNDECODABLE as error:
        raise Malformed(f"the report is damaged: {error}") from None


def consistent(report: Report) -> Report:
    """The report itself; raises Malformed where the effects on whole jobs are not of its changes,
    or of all of them again and again.
    """
    changes_of = Counter(change.series for change in report.changes)
    named = 0
    for place, whole in enumerate(report.overall):
        require(
            changes_of.keys() >= set(whole.series),
            f"$.overall[{place}].series is of nothing in $.changes",
        )
        require(whole.series or not whole.units, f"$.overall[{place}] has units, but no series")
        named += sum(changes_of[series] for series in whole.series)
        require(named <= MOST_NAMED, f"$.overall names over {MOST_NAMED:,} changes")
    return report


class FalseAlarms(msgspec.Struct, frozen=True, kw_only=True):
    """What stored measurements of a revision against itself (A/A) say of the series that are
    compared: how often they were called changed.

    ``rate`` is a share of the comparisons, ``low`` and ``high`` are its bounds, each with 95 %
    confidence; ``trials`` is a job in one of the ``sessions``.
    """

    rate: float
    low: float
    high: float
    sessions: int
    trials: int
