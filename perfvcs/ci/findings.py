"""A verdict as findings at lines: GitHub's annotations, GitLab's Code Quality, and SARIF."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath
from secrets import token_hex
from typing import Any
from urllib.parse import quote

import msgspec

from perfvcs.check.answer import criteria
from perfvcs.check.change import Change
from perfvcs.ci.civerdict import Alarm, CiVerdict, SourcePlace
from perfvcs.ci.demands import Demand, unmet
from perfvcs.jobs.config import Config
from perfvcs.profile.rules import RULES_FILE
from perfvcs.repository import Repository
from perfvcs.repository.state import State
from perfvcs.text.characters import shorten, source_lines
from perfvcs.text.document import json_text, sarif_log

HUNKS = 10  # of a blamed function
MESSAGE_CHARACTERS = 1000
MOST_SARIF_RESULTS = 5000  # results that GitHub shows of a run
RULE = {
    "id": "performance-degradation",
    "name": "PerformanceDegradation",
    "shortDescription": {"text": "A benchmark became worse"},
    "fullDescription": {
        "text": (
            "A benchmark became worse than where the change began, measured in turns, beyond"
            " chance."
        )
    },
    "help": {
        "text": (
            "perf show BASELINE TARGET shows it, perf blame names the function, perf accept"
            " accepts it."
        )
    },
    "defaultConfiguration": {"level": "error"},
    "properties": {"tags": ["performance"]},
}
MOST_ISSUES = 5000  # entries
NAMES = re.compile(r"\s*name\s*=\s*")  # a line of perf.toml that names a job
OF_A_KIND, IN_ALL = 10, 50  # annotations of a kind and step, and of a job


class BenchmarkPlaces:
    """The places of one comparison's benchmarks, by its configuration and what is known of the
    blame.
    """

    def __init__(
        self, repository: Repository, config: Config, baseline: State, target: State
    ) -> None:
        from perfvcs.jobs import matrix
        from perfvcs.locate.blame.blames import of_pair

        project = repository.project
        self._commands = {cell.label: f"{cell.cmd} {cell.args}" for cell in matrix(config)}
        self._names = {cell.label: cell.name for cell in matrix(config)}
        self._files = set(
            project.git("ls-tree", "-r", "-z", "--name-only", target.commit).split("\0")
        )
        self._blamed: Mapping[tuple[str, str], SourcePlace] = {
            (result.job, result.unit): SourcePlace(
                hunk.path, max(1, hunk.new[0]), max(1, hunk.new[0] + hunk.new[1] - 1)
            )
            for result in sorted(
                of_pair(repository, baseline.commit, target.commit), key=lambda blame: blame.made
            )
            if result.cause is not None and result.verdict in ("proved", "contributes")
            for hunk in reversed(result.cause.hunks[:HUNKS])
        }
        self._text = (
            source_lines(project.git("show", f"{target.commit}:{RULES_FILE}"))
            if RULES_FILE in self._files
            else []
        )

    def of(self, change: Change) -> SourcePlace:
        """The place of one change."""
        for unit in (change.uid, ""):  # the whole job
            if (change.job, unit) in self._blamed:
                return self._blamed[change.job, unit]
        if (test := change.uid.partition("::")[0]) in self._files:
            return SourcePlace(test)
        for word in _words(self._commands.get(change.job, "")):
            if (path := str(PurePosixPath(word))) in self._files:
                return SourcePlace(path)
        return self._of_job(change.job)

    def _of_job(self, label: str) -> SourcePlace:
        """The line of perf.toml that names a job."""
        name = self._names.get(label, label)
        quoted = (f'"{name}"', f"'{name}'")
        line = 1
        for number, text in enumerate(self._text, 1):
            if (match := NAMES.match(text)) and text.startswith(quoted, match.end()):
                line = number
                break
        return SourcePlace(RULES_FILE, line, line)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quotation mark alone, in what a shell is given
        return command.split()


def workflow_commands(verdict: CiVerdict) -> list[str]:
    """At most ten errors (of what fails the job, demands first), ten warnings (of what may), and a
    notice with the error receipt.

    It is one of the warnings where nothing was settled, or the change touches its own judge.
    """
    certain = [alarm for alarm in verdict.alarms if alarm.certain]
    others = [alarm for alarm in verdict.alarms if not alarm.certain]
    errors = [_command("error", demand.said, RULES_FILE) for demand in unmet(verdict.report)]
    errors += [
        _command("error", alarm.text, alarm.place.path, alarm.place.line, alarm.place.end)
        for alarm in certain
    ]
    commands = errors[:OF_A_KIND]
    warns = verdict.word in ("unsettled", "failed") or not verdict.report.judged_by.is_plain
    room = OF_A_KIND - warns
    commands += [
        _command("warning", alarm.text, alarm.place.path, alarm.place.line, alarm.place.end)
        for alarm in others[:room]
    ]
    text = " ".join([f"{verdict.headline()}.", *verdict.receipt.lines()])
    commands.append(_command("warning" if warns else "notice", text))
    return commands[:IN_ALL]


@contextmanager
def obeying_nothing(say: Callable[[str], None]) -> Iterator[None]:
    """Keep the runner from taking lines of the output for commands: names of benchmarks and what
    programs print are foreign.
    """
    token = token_hex(16)
    say(f"::stop-commands::{token}")
    try:
        yield
    finally:
        say(f"::{token}::")


def _command(kind: str, text: str, path: str = "", line: int = 1, end: int = 1) -> str:
    where = {"file": path, "line": str(line), "endLine": str(max(line, end))} if path else {}
    properties = ",".join(
        f"{name}={_property(value)}" for name, value in (where | {"title": "perf ci"}).items()
    )
    return f"::{kind} {properties}::{_data(shorten(text, MESSAGE_CHARACTERS))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(verdict: CiVerdict) -> bytes:
    """The log: a result per benchmark that became worse; without results where none did."""
    receipt = verdict.receipt.lines()
    plain = verdict.word in ("degraded", "fine") and verdict.report.judged_by.is_plain
    notifications = [] if plain else [_notification(verdict)]
    results = [_result_of(demand) for demand in unmet(verdict.report)]
    results += [_result(alarm, receipt) for alarm in verdict.alarms]
    run = {
        "automationDetails": {"id": "perf-ci/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": verdict.word != "failed",
                "toolExecutionNotifications": notifications,
            }
        ],
        "results": results[:MOST_SARIF_RESULTS],
        "properties": {
            "verdict": verdict.word,
            "errorReceipt": receipt,
            "judgedBy": criteria(verdict.report.judged_by),
        },
    }
    return sarif_log(run, RULE).encode()


def fingerprint(alarm: Alarm) -> str:
    """The identity of a finding across commits: the benchmark, and the file in which it is
    shown.
    """
    first = alarm.first
    identity = [first.job, first.uid, first.metric, alarm.place.path]
    return hashlib.sha256(msgspec.json.encode(identity)).hexdigest()


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
        "properties": {
            "job": first.job,
            "benchmark": first.uid,
            "metric": first.metric,
            "effect": first.effect,
        },
    }


def _demanded(demand: Demand) -> str:
    """The identity of a demand across commits."""
    return hashlib.sha256(msgspec.json.encode([demand.job, demand.name])).hexdigest()


def _result_of(demand: Demand) -> dict[str, Any]:
    """About a demand, at the head of perf.toml."""
    where = {"artifactLocation": {"uri": RULES_FILE}, "region": {"startLine": 1, "endLine": 1}}
    return {
        "ruleId": RULE["id"],
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": shorten(f"{demand.said}.", MESSAGE_CHARACTERS)},
        "locations": [{"physicalLocation": where}],
        "partialFingerprints": {"primaryLocationLineHash": f"{_demanded(demand)[:16]}:1"},
        "properties": {"job": demand.job},
    }


def _entry_of(demand: Demand) -> dict[str, Any]:
    """About a demand, at the head of perf.toml."""
    return {
        "description": shorten(f"{demand.said}.", MESSAGE_CHARACTERS),
        "check_name": "performance-degradation",
        "fingerprint": _demanded(demand),
        "severity": "major",
        "location": {"path": RULES_FILE, "lines": {"begin": 1}},
    }


def _notification(verdict: CiVerdict) -> dict[str, Any]:
    usual = "note" if verdict.report.judged_by.is_plain else "warning"
    level = {"failed": "error", "unsettled": "warning"}.get(verdict.word, usual)
    return {
        "level": level,
        "message": {"text": shorten(f"{verdict.headline()}.", MESSAGE_CHARACTERS)},
    }


def code_quality(verdict: CiVerdict) -> bytes:
    """A list: an entry per benchmark that became worse, and one where nothing could be settled or
    measured, or where the change touches its own judge.
    """
    receipt = verdict.receipt.lines()
    entries = [_entry_of(demand) for demand in unmet(verdict.report)]
    entries += [_entry(alarm, receipt) for alarm in verdict.alarms]
    entries = entries[:MOST_ISSUES]
    if verdict.word in ("failed", "unsettled"):
        entries.append(_remark(verdict, verdict.word, receipt))
    elif not verdict.report.judged_by.is_plain:
        entries.append(_remark(verdict, "judge", receipt))
    return json_text(entries).encode()


def _remark(verdict: CiVerdict, word: str, receipt: list[str]) -> dict[str, Any]:
    """About the whole of it, at the head of perf.toml."""
    name = f"performance-{word}"
    return {
        "description": shorten(" ".join([f"{verdict.headline()}.", *receipt]), MESSAGE_CHARACTERS),
        "check_name": name,
        "fingerprint": hashlib.sha256(name.encode()).hexdigest(),
        "severity": "info",
        "location": {"path": RULES_FILE, "lines": {"begin": 1}},
    }


def _entry(alarm: Alarm, receipt: list[str]) -> dict[str, Any]:
    return {
        "description": shorten(" ".join([f"{alarm.text}.", *receipt]), MESSAGE_CHARACTERS),
        "check_name": "performance-degradation",
        "fingerprint": fingerprint(alarm),
        "severity": "major" if alarm.certain else "minor",
        "location": {"path": alarm.place.path, "lines": {"begin": alarm.place.line}},
    }
