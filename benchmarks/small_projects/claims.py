"""What a command says of a slip, and whether two commands contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

SUBJECT = re.compile(r"(?P<subject>.+?)(?: became|:? [-+][\d.,]+ ?%|, (?=[A-Za-z ]+: [-+]))")
NEXT = re.compile(r"^Next: (?:[^:]+:\s+)?(?P<command>perf .+)$", re.MULTILINE)
ROUNDING = 1e-9


class Claim(NamedTuple):
    """A command says that a metric of a subject changed by so much, relative to the baseline.

    ``subject`` is the benchmark as it was printed.
    """

    command: str
    subject: str
    metric: str
    effect: float
    low: float
    high: float

    def contradicts(self, other: Claim) -> str:
        """In what the other one contradicts; empty where it does not.

        Intervals are compared of one subject and metric only, signs of one subject in any.
        """
        if self.subject != other.subject:
            return ""
        both = f"{self.command} and {other.command}"
        if self.effect * other.effect < 0:
            return f"{both}: {self.effect:+.1%} and {other.effect:+.1%}"
        apart = max(self.low - other.high, other.low - self.high)
        printed = _interval(self), _interval(other)
        if self.metric == other.metric and apart > ROUNDING and printed[0] != printed[1]:
            return f"{both}: {self.metric} {printed[0]} and {printed[1]}"
        return ""


def _interval(claim: Claim) -> str:
    return f"[{100 * claim.low:+.3g}, {100 * claim.high:+.3g}] %"


def contradictions(claims: Sequence[Claim]) -> Iterator[str]:
    """What contradicts what, in words."""
    for one, other in combinations(claims, 2):
        if words := one.contradicts(other):
            yield words


def subject_of(sentence: str) -> str:
    """The benchmark that a sentence is about: "sort became slower: wall time +7 %", "sort: +7 %"."""
    match = SUBJECT.match(sentence)
    return match["subject"].rstrip(":,") if match else ""


def next_command(line: str) -> str:
    """The first command that a `Next:` line names."""
    match = NEXT.search(line)
    return match["command"] if match else ""


def of_report(command: str, report: dict[str, Any]) -> Iterator[Claim]:
    """The changes of a report of `perf check --json`."""
    for change in report["changes"]:
        if change["word"] in ("degradation", "improvement"):
            yield _claim(command, name_of(change), change)


def of_history(history: dict[str, Any]) -> Iterator[Claim]:
    """The steps of `perf history --json`."""
    for finding in history["findings"]:
        yield _claim("history", finding["benchmark"], finding)


def name_of(change: dict[str, Any]) -> str:
    """A change's benchmark as reports print it."""
    job, unit = change["job"], change["uid"]
    return job if unit in ("", job) else f"{job}: {unit}"


def _claim(command: str, subject: str, values: dict[str, Any]) -> Claim:
    low, high = (values[name] for name in ("low", "high"))
    effect = values["effect"]
    known = low is not None and high is not None
    return Claim(
        command,
        subject,
        values["metric"],
        effect,
        low if known else effect,
        high if known else effect,
    )
