"""What `perf blame` says in SARIF, for tools that show findings at lines."""

from __future__ import annotations

from typing import Any

from perfvcs import __version__
from perfvcs.locate.blame.cause import Blame, Lines
from perfvcs.reports.blame import lines
from perfvcs.text.document import json_text


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
    driver = {"name": "perfvcs", "version": __version__, "rules": [rule]}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json_text(log)


def _location(hunk: Lines) -> dict[str, Any]:
    from urllib.parse import quote

    first = max(hunk.new[0], 1)
    region = {"startLine": first, "endLine": max(first, first + hunk.new[1] - 1)}
    return {"physicalLocation": {"artifactLocation": {"uri": quote(hunk.path)}, "region": region}}
