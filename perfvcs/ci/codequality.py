"""A verdict as GitLab's Code Quality report."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.ci.sarif import fingerprint
from perfvcs.rules import RULES_FILE
from perfvcs.text.characters import escaped, shorten

if TYPE_CHECKING:
    from perfvcs.ci.verdict import Alarm, CiVerdict

MOST_ISSUES = 5000  # entries
MESSAGE_CHARACTERS = 1000


def code_quality(verdict: CiVerdict) -> bytes:
    """A list: an entry per benchmark that became worse, and one where nothing could be settled or measured, or where the
    change touches its own judge.
    """
    receipt = verdict.receipt.lines()
    entries = [_entry(alarm, receipt) for alarm in verdict.alarms[:MOST_ISSUES]]
    if verdict.word in ("failed", "unsettled"):
        entries.append(_remark(verdict, verdict.word, receipt))
    elif not verdict.report.judged_by.is_plain:
        entries.append(_remark(verdict, "judge", receipt))
    return escaped(msgspec.json.format(msgspec.json.encode(entries)).decode()).encode()


def _remark(verdict: CiVerdict, word: str, receipt: list[str]) -> dict[str, Any]:
    """About the whole of it, at the head of perf.toml."""
    name = f"performance-{word}"
    return {
        "description": shorten(" ".join([f"{verdict.headline()}.", *receipt]), MESSAGE_CHARACTERS), "check_name": name,
        "fingerprint": hashlib.sha256(name.encode()).hexdigest(), "severity": "info",
        "location": {"path": RULES_FILE, "lines": {"begin": 1}},
    }  # fmt: skip


def _entry(alarm: Alarm, receipt: list[str]) -> dict[str, Any]:
    return {
        "description": shorten(" ".join([f"{alarm.text}.", *receipt]), MESSAGE_CHARACTERS),
        "check_name": "performance-degradation",
        "fingerprint": fingerprint(alarm),
        "severity": "major" if alarm.certain else "minor",
        "location": {"path": alarm.place.path, "lines": {"begin": alarm.place.line}},
    }
