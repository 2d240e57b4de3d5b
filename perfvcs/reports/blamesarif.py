"""What `perf blame` says in SARIF, for tools that show findings at lines."""

from __future__ import annotations

from typing import Any

from perfvcs.locate.blame.cause import Blame, Lines
from perfvcs.reports.blame import lines
from perfvcs.text.document import sarif_log


def _level(blame: Blame) -> str:
    """The level of SARIF: an error where a degradation was proved."""
    if blame.effect <= 0:
        return "note"
    return "error" if blame.verdict == "proved" else "warning"


def sarif(blame: Blame) -> str:
    """A SARIF 2.1.0 log with a result at the hunks of the function that is blamed; without results
    where none is.
    """
    cause = blame.cause
    results: list[dict[str, Any]] = []
    if cause is not None:
        results.append(
            {
                "ruleId": "performance-change",
                "level": _level(blame),
                "message": {"text": "\n".join(lines(blame))},
                "locations": [_location(hunk) for hunk in cause.hunks[:10]],
                "properties": {
                    "effect": blame.effect,
                    "metric": blame.metric,
                    "verdict": blame.verdict,
                    "job": blame.job,
                    "benchmark": blame.benchmark,
                },
            }
        )
    rule = {
        "id": "performance-change",
        "shortDescription": {"text": "A change that makes a benchmark slower or faster"},
    }
    return sarif_log({"results": results}, rule)


def _location(hunk: Lines) -> dict[str, Any]:
    from urllib.parse import quote

    first = max(hunk.new[0], 1)
    region = {"startLine": first, "endLine": max(first, first + hunk.new[1] - 1)}
    return {"physicalLocation": {"artifactLocation": {"uri": quote(hunk.path)}, "region": region}}
