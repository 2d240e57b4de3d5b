"""A report as Markdown, for a pull request or a build's summary."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perfvcs.check.acceptance import identity, is_open
from perfvcs.check.text import benchmark, contested, measure, remarks, revision, settlement, step, summary
from perfvcs.text.characters import shorten
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from perfvcs.check.change import Change, Report

LONGEST_NAME = 10_000  # characters of a name or a reason
HEAD = ("| verdict | benchmark | metric | effect | baseline -> target | remark |", "|---|---|---|---|---|---|")
SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~!@&])")


def markdown(report: Report) -> str:
    """One table with a row per change, in the report's order, and one of what is accepted.

    Names are escaped, they come from whoever wrote the profile.
    """
    lines = [
        f"**perf check** {escape(revision(report.baseline))} → {escape(revision(report.target))}: {summary(report)}",
        "",
        *HEAD,
    ]
    several = contested(report.changes)
    lines += [_row(report, change, several) for change in report.changes if change.accepted is None]
    accepted = [_row(report, change, several) for change in report.changes if change.accepted is not None]
    if accepted:
        lines += ["", "Accepted:", "", *HEAD, *accepted]
    lines += [line for note in (*report.failures, *report.renamed) for line in ("", f"Note: {escape(note)}")]
    shown = {f"{100 * change.confidence:g} %" for change in report.changes if measure(change).endswith("]")}
    if shown:
        lines += ["", f"In brackets: the {' and '.join(sorted(shown))} interval of the effect."]
    return "\n".join([*lines, "", settlement(report.comparisons)])


def _row(report: Report, change: Change, several: set[tuple[str, str]]) -> str:
    remark = escape("; ".join(remarks(change, several)).replace("->", "→"))
    if is_open(change):
        remark = f"{remark} `{identity(report, change)}`".lstrip()
    cells = (
        "accepted" if change.accepted is not None else f"**{change.word}**" if change.word == "degradation" else change.word,
        escape(benchmark(change)),
        escape(metric_name(change.metric)),
        escape(measure(change)) if change.effect is None else measure(change),
        escape(step(change.baseline, change.target, change.unit).replace("->", "→")),
        remark,
    )
    return f"| {' | '.join(cells)} |"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return SPECIAL.sub(r"\\\1", shorten(text, LONGEST_NAME))
