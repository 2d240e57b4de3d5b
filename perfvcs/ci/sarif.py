"""A verdict as SARIF 2.1.0, for services that show findings at lines."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from perfvcs import __version__
from perfvcs.check.sentence import criteria
from perfvcs.text.characters import escaped, shorten

if TYPE_CHECKING:
    from perfvcs.ci.verdict import Alarm, CiVerdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_SARIF_RESULTS = 5000  # results that GitHub shows of a run
MESSAGE_CHARACTERS = 1000
RULE = {
    "id": "performance-degradation",
    "name": "PerformanceDegradation",
    "shortDescription": {"text": "A benchmark became worse"},
    "fullDescription": {"text": "A benchmark became worse than where the change began, measured in turns, beyond chance."},
    "help": {"text": "perf show BASELINE TARGET shows it, perf blame names the function, perf accept accepts it."},
    "defaultConfiguration": {"level": "error"},
    "properties": {"tags": ["performance"]},
}


def sarif(verdict: CiVerdict) -> bytes:
    """The log: a result per benchmark that became worse; without results where none did."""
    receipt = verdict.receipt.lines()
    plain = verdict.word in ("degraded", "fine") and verdict.report.judged_by.is_plain
    notifications = [] if plain else [_notification(verdict)]
    run = {
        "tool": {"driver": {"name": "perfvcs", "version": __version__, "rules": [RULE]}},
        "automationDetails": {"id": "perf-ci/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": verdict.word != "failed", "toolExecutionNotifications": notifications}],
        "results": [_result(alarm, receipt) for alarm in verdict.alarms[:MOST_SARIF_RESULTS]],
        "properties": {"verdict": verdict.word, "errorReceipt": receipt, "judgedBy": criteria(verdict.report.judged_by)},
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return escaped(msgspec.json.format(msgspec.json.encode(log)).decode()).encode()


def fingerprint(alarm: Alarm) -> str:
    """The identity of a finding across commits: the benchmark, and the file in which it is shown."""
    first = alarm.first
    about = [first.job, first.uid, first.metric, alarm.place.path]
    return hashlib.sha256(msgspec.json.encode(about)).hexdigest()


def _result(alarm: Alarm, receipt: list[str]) -> dict[str, Any]:
    place, first = alarm.place, alarm.first
    where = {
        "artifactLocation": {"uri": quote(place.path)},
        "region": {"startLine": place.line, "endLine": max(place.line, place.end)},
    }
    return {
        "ruleId": RULE["id"],
        "ruleIndex": 0,
        "level": "error" if alarm.certain else "warning",
        "message": {"text": shorten(" ".join([f"{alarm.text}.", *receipt]), MESSAGE_CHARACTERS)},
        "locations": [{"physicalLocation": where}],
        "partialFingerprints": {"primaryLocationLineHash": f"{fingerprint(alarm)[:16]}:1"},
        "properties": {"job": first.job, "benchmark": first.uid, "metric": first.metric, "effect": first.effect},
    }


def _notification(verdict: CiVerdict) -> dict[str, Any]:
    usual = "note" if verdict.report.judged_by.is_plain else "warning"
    level = {"failed": "error", "unsettled": "warning"}.get(verdict.word, usual)
    return {"level": level, "message": {"text": shorten(f"{verdict.headline()}.", MESSAGE_CHARACTERS)}}
