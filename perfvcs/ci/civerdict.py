"""The result of a job: the document in report.json, from which every other report is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

import msgspec

from perfvcs.check.answer import accepting, criteria, sentence
from perfvcs.check.bounds import smallest
from perfvcs.check.change import Change, Count, Finite, NothingToCompare, Report, Share, Text
from perfvcs.check.markdown import consistent
from perfvcs.check.movement import JobUnit, entries
from perfvcs.profile.rules import Rules
from perfvcs.profile.validity import Malformed, require
from perfvcs.reports.check import DEGRADED, OPEN, exit_status
from perfvcs.repository import Repository
from perfvcs.system.foreign import UNDECODABLE
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import percent, share
from perfvcs.text.words import counted, plural

FORMAT = "perfvcs-ci/1"
LONGEST = 1e9  # seconds that measuring may have taken
FAILED = 5  # exit status, as of `perf collect`
NAMES_IN_SENTENCE = 3  # names in a sentence
NAME_CHARACTERS = 60
CiWord = Literal["degraded", "failed", "unsettled", "untouched", "fine"]
STATUS: dict[CiWord, int] = {
    "degraded": DEGRADED,
    "failed": FAILED,
    "unsettled": OPEN,
    "untouched": 0,
    "fine": 0,
}


class Alarms(msgspec.Struct, frozen=True):
    """The result of A/A measurements of this set-up: comparisons, false alarms, their rate and its
    upper 95 % bound.
    """

    comparisons: Count
    called: Count
    rate: Share
    high: Share
    refused: bool = False


class Detectable(msgspec.Struct, frozen=True):
    """The smallest changes, as shares, that would have been found four times of five: of the best,
    the middle, and the worst comparison.
    """

    least: Finite
    middle: Finite
    most: Finite


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The error rates behind a verdict.

    ``pairs`` is the least and most that a job was measured in turns; empty: none.
    """

    comparisons: Count
    settled: Count
    pairs: list[Count] = []
    detectable: Detectable | None = None
    alarms: Alarms | None = None

    def lines(self) -> list[str]:
        """The receipt in sentences; none where nothing was compared."""
        if not self.comparisons:
            return []
        sentences = [
            f"Settled: {self.settled:,} of"
            f" {counted(self.comparisons, 'comparison')}{self._pairs()}."
        ]
        if self.detectable is None:
            sentences.append(
                "Smallest change that would have been found: not known, too few executions have an"
                " interval."
            )
        elif self.comparisons == 1:
            sentences.append(
                "Smallest change that would have been found 4 times of 5:"
                f" {_share(self.detectable.most)}."
            )
        else:
            spread = self.detectable
            sentences.append(
                f"Smallest change that would have been found 4 times of 5: {_share(spread.middle)}"
                f" in half of the comparisons, {_share(spread.least)} in the best and"
                f" {_share(spread.most)} in the worst."
            )
        if self.alarms is None:
            sentences.append(
                "False alarms of this set-up: not known; `perf check --audit`, then `perf push`,"
                " measures them."
            )
        else:
            alarms = self.alarms
            sentences.append(
                f"False alarms of this set-up: {alarms.called:,} of"
                f" {counted(alarms.comparisons, 'A/A comparison')} ({100 * alarms.rate:.1f} % by"
                f" resampling, at most {share(alarms.high)})."
            )
        return sentences

    def _pairs(self) -> str:
        return (
            f", in {'-'.join(f'{count}' for count in dict.fromkeys(self.pairs))} pairs each"
            if self.pairs
            else ""
        )


def receipt(
    repository: Repository, report: Report, pairs: Sequence[int], rules: Rules | None = None
) -> Receipt:
    """The receipt of a report on the jobs that took so many ``pairs``; ``rules`` are those that
    judged, by default the present ones.
    """
    compared = report.compared
    return Receipt(
        comparisons=len(report.comparisons),
        settled=sum(change.settled for change in report.comparisons),
        pairs=[min(pairs), max(pairs)] if pairs else [],
        detectable=_detectable(compared),
        alarms=_alarms(repository, report, rules) if compared else None,
    )


def _detectable(changes: Sequence[Change]) -> Detectable | None:
    """By the comparisons whose intervals say it and have a width."""
    found = sorted(
        effect
        for change in changes
        if change.low != change.high and (effect := smallest(change)) is not None
    )
    if not found:
        return None
    return Detectable(found[0], found[(len(found) - 1) // 2], found[-1])


def _alarms(repository: Repository, report: Report, rules: Rules | None) -> Alarms | None:
    """The result of stored audits; None without any."""
    from perfvcs.reports.audit import audit

    try:
        stored = audit(
            repository, "HEAD", series={change.series for change in report.changes}, rules=rules
        )
    except NothingToCompare:
        return None
    whole = stored.tallies[-1]
    return Alarms(whole.comparisons, whole.called, stored.rate, stored.high, stored.refused)


def _share(share: float) -> str:
    return percent(share).removeprefix("+")


class SourcePlace(msgspec.Struct, frozen=True):
    """A place in the project: a path relative to the top of the repository, and the first and last
    line.
    """

    path: Text
    line: Count = 1
    end: Count = 1


class Alarm(msgspec.Struct, frozen=True):
    """A benchmark that became worse, and is not accepted: the change that matters most, all of its
    changes, and where to show it.

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
    """The document of `perf ci`.

    ``why`` says in words why nothing was measured or settled, or what failed. ``following`` says
    what to do next, and ``notes`` what else is to be known. ``seconds`` is what it took.
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
        return {(cause.job, cause.uid): cause.lines for cause in self.causes}

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
        """All of it in a sentence, and by what it was judged where that needs to be said; without a
        full stop.
        """
        return ". ".join(filter(None, [self.sentence(), criteria(self.report.judged_by)]))

    def sentence(self) -> str:
        """The sentence alone."""
        nothing = self._nothing()
        if not nothing:
            return sentence(self.report)
        return "; ".join(filter(None, [accepting(self.report.judged_by), nothing]))

    def _nothing(self) -> str:
        """Why nothing was measured or settled; empty where it was."""
        if self.word == "untouched":
            return f"Nothing was measured: {'; '.join(self.why[:NAMES_IN_SENTENCE])}"
        if self.word == "failed":
            return f"Measuring failed: {'; '.join(self.why[:NAMES_IN_SENTENCE])}"
        if self.word == "unsettled":
            count = self.receipt.comparisons
            why = (
                "; ".join(self.why[:NAMES_IN_SENTENCE])
                or f"{counted(count, 'comparison')} {plural(count, 'stays', 'stay')} undecided"
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
        require(
            version == FORMAT,
            f"its format is {shorten(version, 40)}, not {FORMAT}: read it with the perfvcs that"
            " wrote it",
        )
        verdict = msgspec.json.decode(document, type=CiVerdict)
    except UNDECODABLE as error:
        raise Malformed(f"it is not a report of `perf ci`: {shorten(str(error), 200)}") from None
    consistent(verdict.report)
    return verdict
