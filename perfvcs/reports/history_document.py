"""What `perf history --json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.history.finding import title
from perfvcs.text.characters import escaped

if TYPE_CHECKING:
    from perfvcs.history.finding import Finding
    from perfvcs.history.overview import Overview
    from perfvcs.index.lines import Line


def json(overview: Overview, findings: Sequence[Finding], hosts: Mapping[int, Sequence[str]]) -> str:
    """Some findings of an overview, and everything else in it, as one JSON object; ``hosts`` as in ``reports.history.lines``."""
    found = {
        "findings": [_fields(overview, finding) | {"host": hosts.get(id(finding), [])} for finding in findings],
        "newest": [
            {
                **_about(one.line),
                "word": one.word,
                "commit": one.commit,
                "since": one.since,
                "effect": one.effect,
                "value": one.value,
                "expected": one.expected,
                "low": one.low,
                "high": one.high,
                "chance": one.chance,
                "support": one.support,
            }
            for one in overview.newest
        ],
        "switching": [
            {
                **_about(one.line),
                "first": one.first,
                "last": one.last,
                "levels": one.levels,
                "shares": one.shares,
                "moves": one.moves,
            }
            for one in overview.switching
        ],
        "noisier": [
            {**_about(one.line), "commit": one.commit, "before": one.before, "after": one.after, "p": one.p}
            for one in overview.noisier
        ],
        "series": overview.lines,
        "commits": overview.commits,
        "cuts": [{"commit": cut.commit, "reason": cut.reason, "series": cut.lines} for cut in overview.cuts],
        "short": [{"benchmark": name, "metric": metric} for name, metric in overview.short],
        "unusable": overview.unusable,
        "aside": overview.aside,
    }
    return escaped(msgspec.json.format(msgspec.json.encode(found)).decode())


def _fields(overview: Overview, finding: Finding) -> dict[str, Any]:
    line, about = finding.line, overview.details[finding.commit]
    return {
        "word": finding.word, "direction": finding.direction, **_about(line), "commit": finding.commit, "author": about.author,
        "when": about.when, "title": about.title, "first": finding.first, "last": finding.last, "commits": finding.commits,
        "effect": finding.effect, "low": finding.low, "high": finding.high, "confidence": 0.99, "before": finding.judged_levels[0],
        "after": finding.judged_levels[1], "sizes": finding.curve.sizes if finding.curve else None, "p": finding.p,
        "detectors": finding.detectors, "contradiction": finding.contradiction,
    }  # fmt: skip


def _about(line: Line) -> dict[str, Any]:
    """Which series it is."""
    return {
        "benchmark": title(line), "job": line.job.label, "uid": line.uid, "size": line.size, "metric": line.metric, "unit": line.unit,
        "better": line.better, "key": line.job.key, "environment": line.environment.fingerprint,
    }  # fmt: skip
