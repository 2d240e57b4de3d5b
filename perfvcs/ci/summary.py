"""A verdict as Markdown: for a comment on a pull request, and for the summary of a step."""

from __future__ import annotations

import re

from perfvcs.check.markdown import escape, markdown
from perfvcs.check.sentence import criteria
from perfvcs.check.text import revision
from perfvcs.ci.verdict import CiVerdict, CiWord
from perfvcs.text.characters import shorten
from perfvcs.text.duration import duration

COMMENT = 65_536  # characters that GitHub takes; no text has more of them than bytes
SUMMARY = 1 << 20  # bytes of a step
HEADLINE = 1000  # characters of the sentence in it
SAFE_NAME = re.compile(r"[\w.-]{1,60}", re.ASCII)
BANNERS: dict[CiWord, str] = {
    "degraded": "CAUTION", "failed": "CAUTION", "unsettled": "WARNING", "untouched": "NOTE", "fine": "TIP",
}  # fmt: skip
PARTLY = "IMPORTANT"  # nothing changed as far as it is settled, or by a judge that the change touches
CUT = "\n\nThe rest does not fit here: the page and `report.json` have it.\n"


def marker(name: str) -> str:
    """The invisible marker at the start of a comment; ``name`` distinguishes several comments on one pull request."""
    return f"<!-- perfvcs-ci {name} -->"


def comment(verdict: CiVerdict, name: str) -> str:
    """The comment, at most ``COMMENT`` bytes."""
    return _joined(verdict, f"{marker(name)}\n", COMMENT, verbose=False)


def summary(verdict: CiVerdict, most: int = SUMMARY) -> str:
    """The same with a table of every comparison, at most so many bytes."""
    return _joined(verdict, "", most, verbose=True)


def _joined(verdict: CiVerdict, top: str, most: int, *, verbose: bool) -> str:
    """Banner, report, receipt and notes, the report cut where all of it does not fit."""
    partly = verdict.receipt.settled < verdict.receipt.comparisons or not verdict.report.judged_by.is_plain
    banner = PARTLY if partly and verdict.word in ("fine", "untouched") else BANNERS[verdict.word]
    pair = " → ".join(escape(revision(name)) for name in (verdict.report.baseline, verdict.report.target))
    said = [shorten(verdict.sentence(), HEADLINE), criteria(verdict.report.judged_by)]
    headline = escape(". ".join(filter(None, said)))
    head = f"{top}> [!{banner}]\n> **perf ci** {pair}: {headline}.\n\n"
    empty = not verdict.report.changes
    whole = "" if empty else markdown(verdict.report, causes=verdict.causes_by_unit, following=verdict.following, verbose=verbose)
    body = whole.partition("\n\n")[2]  # its first paragraph is the sentence
    receipt = "".join(f"- {line}\n" for line in verdict.receipt.lines())
    notes = "".join(
        f"\nNote: {escape(note)}\n" for note in (*(() if verdict.word == "failed" else verdict.why[1:]), *verdict.notes)
    )
    took = f"\n<sub>took {duration(verdict.seconds)}</sub>\n"
    end = f"\n\n{receipt}{notes}{took}"
    room = most - len((head + CUT + took).encode())
    end = end if len(end.encode()) <= room // 2 else f"{_cut(end, room // 2)}{took}"
    body = _cut(body, room - len(end.encode()))
    return f"{head}{body}{end}"


def _cut(text: str, room: int) -> str:
    """The first lines of a text, in so many bytes."""
    whole = text.encode()
    if len(whole) <= room:
        return text
    return whole[: max(0, room)].rpartition(b"\n")[0].decode() + CUT
