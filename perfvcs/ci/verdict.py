"""The result of a job: the document in report.json, from which every other report is made."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import msgspec

from perfvcs.check.change import Change, Count, Report, Text
from perfvcs.check.document import consistent
from perfvcs.check.importance import JobUnit, entries
from perfvcs.check.sentence import accepting, criteria, sentence
from perfvcs.ci.receipt import Receipt
from perfvcs.foreign import UNDECODABLE
from perfvcs.reports.check import DEGRADED, OPEN, exit_status
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted, plural
from perfvcs.validity import Malformed, require

FORMAT = "perfvcs-ci/1"
LONGEST = 1e9  # seconds that measuring may have taken
FAILED = 5  # exit status, as of `perf collect`
NAMES_IN_SENTENCE = 3  # names in a sentence
NAME_CHARACTERS = 60

CiWord = Literal["degraded", "failed", "unsettled", "untouched", "fine"]
STATUS: dict[CiWord, int] = {"degraded": DEGRADED, "failed": FAILED, "unsettled": OPEN, "untouched": 0, "fine": 0}


class SourcePlace(msgspec.Struct, frozen=True):
    """A place in the project: a path relative to the top of the repository, and the first and last line."""

    path: Text
    line: Count = 1
    end: Count = 1


class Alarm(msgspec.Struct, frozen=True):
    """A benchmark that became worse, and is not accepted: the change that matters most, all of its changes, and where to show it.

    ``certain``: it fails the job.
    """

    first: Change
    changes: list[Change]
    place: SourcePlace
    certain: bool
    text: Text


class CausesOfUnit(NamedTuple):
    """What is known of why a unit of a job moved."""

    job: Text
    uid: Text
    lines: list[Text]


class CiVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. ``why`` says in words why nothing was measured or settled, or what failed.

    ``following`` says what to do next, and ``notes`` what else is to be known. ``seconds`` is what it took.
    """

    format: str = FORMAT
    word: CiWord
    report: Report
    receipt: Receipt
    why: list[Text] = []
    alarms: list[Alarm] = []
    notes: list[Text] = []
    causes: list[CausesOfUnit] = []
    following: list[Text] = []
    seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST)] = 0.0

    @property
    def causes_by_unit(self) -> dict[JobUnit, list[str]]:
        """The causes by job's label and unit."""
        return {(one.job, one.uid): one.lines for one in self.causes}

    @property
    def status(self) -> int:
        """The exit status."""
        return STATUS[self.word]

    @property
    def speaks(self) -> bool:
        """Whether it is worth a comment that nobody asked for."""
        moved = self.word in ("degraded", "failed", "unsettled") or bool(entries(self.report))
        return moved or not self.report.judged_by.is_plain

    def headline(self) -> str:
        """All of it in a sentence, and by what it was judged where that needs to be said; without a full stop."""
        return ". ".join(filter(None, [self.sentence(), criteria(self.report.judged_by)]))

    def sentence(self) -> str:
        """The sentence alone."""
        said = self._nothing()
        return "; ".join(filter(None, [accepting(self.report.judged_by), said])) if said else sentence(self.report)

    def _nothing(self) -> str:
        """Why nothing was measured or settled; empty where it was."""
        if self.word == "untouched":
            return f"Nothing was measured: {'; '.join(self.why[:NAMES_IN_SENTENCE])}"
        if self.word == "failed":
            return f"Measuring failed: {'; '.join(self.why[:NAMES_IN_SENTENCE])}"
        if self.word == "unsettled":
            count = self.receipt.comparisons
            why = (
                "; ".join(self.why[:NAMES_IN_SENTENCE]) or f"{counted(count, 'comparison')} {plural(count, 'stays', 'stay')} open"
            )
            return f"Nothing could be settled: {why}"
        return ""  # the report says it; its sentence may begin with a name


def word_of(report: Report, receipt: Receipt, *, failures: bool) -> CiWord:
    """The word for a report, by the rules of `perf check --gate`."""
    status = exit_status(report, gate=True)
    if status == DEGRADED:
        return "unsettled" if receipt.alarms and receipt.alarms.refused else "degraded"
    if failures:
        return "failed"
    if status == OPEN:
        return "unsettled"
    return "fine" if any(change.settled for change in report.comparisons) else "untouched"


class _Version(msgspec.Struct):
    """Of a document whatever else it holds."""

    format: str


def decode(document: bytes) -> CiVerdict:
    """The verdict in a document, which anybody may have written; raises Malformed.

    All of it is checked here, once: whatever is computed and written of a verdict relies on it.
    """
    try:
        version = msgspec.json.decode(document, type=_Version).format
        require(version == FORMAT, f"its format is {shorten(version, 40)}, not {FORMAT}: read it with the perfvcs that wrote it")
        found = msgspec.json.decode(document, type=CiVerdict)
    except UNDECODABLE as error:
        raise Malformed(f"it is not a report of `perf ci`: {shorten(str(error), 200)}") from None
    consistent(found.report)
    return found
