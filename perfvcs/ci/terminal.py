"""A verdict in the log of a job."""

from __future__ import annotations

from perfvcs.check.screen import screen
from perfvcs.check.text import revision, wrap
from perfvcs.ci.verdict import CiVerdict
from perfvcs.text.columns import COLUMNS
from perfvcs.text.duration import duration


def lines(verdict: CiVerdict, width: int = COLUMNS) -> list[str]:
    """The report as `perf check` prints it, or why there is none, and the error receipt."""
    found: list[str] = []
    if verdict.report.changes:
        found += [screen(verdict.report, causes=verdict.causes_by_unit, following=verdict.following, width=width), ""]
    if not verdict.report.changes or verdict.word in ("failed", "unsettled"):
        pair = f"{revision(verdict.report.baseline)} -> {revision(verdict.report.target)}"
        said = verdict.sentence() if verdict.report.changes else verdict.headline()
        found += wrap(f"{pair}: {said}", width, subsequent_indent="  ")
    for line in verdict.receipt.lines():
        found += wrap(line, width, subsequent_indent="  ")
    for note in verdict.notes:
        found += wrap(f"note: {note}", width, subsequent_indent="  ")
    return [*found, f"took {duration(verdict.seconds)}"]
