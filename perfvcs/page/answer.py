"""The opening of a page of two revisions: the report in brief, in the order of `perf check`."""

from __future__ import annotations

from dataclasses import dataclass

from perfvcs.check.brief import BriefLine, brief
from perfvcs.check.change import VERDICT_WORDS
from perfvcs.drawing.canvas import SEEN
from perfvcs.subject import Subject


@dataclass(frozen=True)
class AnswerLine:
    """A job or a change: its word with its sign, its name, its numbers, and what is known of it."""

    word: str
    sign: str
    name: str
    numbers: str
    details: list[str]


@dataclass(frozen=True)
class Answer:
    """A sentence for the whole, a line per job, the changes that matter most, and in sentences everything else and what to do next.

    ``hidden`` jobs and ``left_out`` changes are in the tables only.
    """

    sentence: str
    jobs: list[AnswerLine]
    hidden: int
    changes: list[AnswerLine]
    left_out: int
    rest: list[str]


def answer(subject: Subject) -> Answer | None:
    """The report on two revisions; None if nothing was compared."""
    if subject.report is None or not subject.report.changes:
        return None
    said = brief(subject.report, subject.causes)
    first = ". ".join(filter(None, [said.sentence, said.criteria]))
    notes = [*subject.report.failures, *subject.report.renamed]
    return Answer(
        first, [_line(one) for one in said.jobs], said.hidden, [_line(one) for one in said.changes], said.left_out,
        [*said.rest, *notes, *subject.following],
    )  # fmt: skip


def _line(line: BriefLine) -> AnswerLine:
    sign = SEEN[line.word].sign if line.word in (*VERDICT_WORDS, "accepted") and line.word in SEEN else ""
    return AnswerLine(
        line.word, sign, line.name, line.numbers.replace("->", "→"), [text.replace("->", "→") for text in line.details]
    )
