"""Lines of any text, read by a regular expression with named groups, as docs/exchange/log.md
describes it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import msgspec

from perfvcs.errors import UsageError, nearest
from perfvcs.formats._foreign import NoResults, bounded
from perfvcs.formats._metric import Written, direction, quantity, usable
from perfvcs.formats._readings import Reading, ReadingValue, number, profile_of
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed

GROUPS = ("name", "value", "unit", "metric", "size")
LONGEST_EXPRESSION = 10_000  # characters
# commas between thousands, where they cannot be those of a decimal: before a point, or several
GROUPED = re.compile(r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:,\d{3}){2,})")
MOST_MATCHES = 10_000_000
# An expression that somebody wrote may take a time that doubles with each character, and Python
# cannot stop one in its own process: it runs in another one, which has so long, and a second more
# for each MiB.
SEARCH_SECONDS = 10.0
# It writes lists of matches: the number of the line, and the groups in their order.
SEARCH = r"""
import json, re, sys
asked = json.loads(sys.stdin.buffer.readline())
expression, count, found = re.compile(asked["expression"]), 0, []
places = [expression.groupindex.get(name) for name in asked["groups"]]
for number, line in enumerate(sys.stdin.buffer, 1):
    if len(line) > asked["longest"]:
        sys.exit(f"line {number} is too long")
    for match in expression.finditer(line.decode("utf-8", "replace").rstrip("\r\n")):
        found.append([number, *(None if place is None else match[place] for place in places)])
    if len(found) > 1000:
        count += len(found)
        if count > asked["most"]:
            sys.exit("too many")
        print(json.dumps(found))
        found = []
print(json.dumps(found))
"""
LONGEST_LINE = 1 << 20  # bytes
LONG, MANY = re.compile(r"line ([0-9]{1,18}) is too long"), "too many"
UNNAMED = "log"  # the unit of values without a name


@dataclass(frozen=True)
class Log:
    """One execution's lines: each match of the expression is a value, and what a name has of a
    metric again are iterations.

    ``regex``: has the group ``value``, and may have ``name``, ``unit``, ``metric`` and ``size``.
    ``unit``: of values without that group. ``better``: of all values; else less is better of times,
    more of what is per second, and of others neither. Raises UsageError.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()  # nothing shows that a text is one

    regex: str = ""
    unit: str = ""
    better: Literal["lower", "higher", "none", ""] = ""

    def __post_init__(self) -> None:
        if len(self.regex) > LONGEST_EXPRESSION:
            raise UsageError(f"the expression has over {LONGEST_EXPRESSION:,} characters")
        if self.regex:
            _require_groups(self.regex)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - the contract's arguments
        """Never: without its expression a text says nothing."""
        return False

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults where no line matches, and Malformed with the line, or for
        an expression that takes too long.
        """
        if not self.regex:
            raise Malformed(
                "a text is read by a regular expression: --regex"
                r" '(?P<name>\w+): (?P<value>[\d.]+) (?P<unit>ms)'"
            )
        metrics: dict[str, Metric] = {}
        known: dict[tuple[str, str], Written] = {}
        units: dict[tuple[str, float | None], dict[str, list[ReadingValue]]] = {}
        for match in _matches(self.regex, bounded(document)):
            kind = match.unit or self.unit, match.metric or ""
            if kind not in known:
                known[kind] = self._written(*kind, match.line, metrics)
            measured = known[kind]
            size = None if match.size is None else _number(match.size, "size", match.line)
            value = measured.moved(_number(match.value, "value", match.line))
            columns = units.setdefault((match.name or UNNAMED, size), {})
            columns.setdefault(measured.metric, []).append(value)
        if not units:
            raise NoResults("it has no results: no line matches the expression")
        readings = (Reading(name, columns, size) for (name, size), columns in units.items())
        return profile_of(document, "log", readings, metrics)

    def _written(self, unit: str, asked: str, line: int, metrics: dict[str, Metric]) -> Written:
        """How values in a unit are kept; their metric gets into ``metrics``."""
        unit = unit.strip()
        measured = quantity(unit, self.better or direction(unit), usable(asked) if asked else "")
        known = metrics.setdefault(measured.metric, measured.definition)
        if known != measured.definition:
            raise Malformed(
                f"line {line}: `{measured.metric}` is in `{measured.definition.unit[:80]}`, and in"
                f" `{known.unit[:80]}` before"
            )
        return measured


def _require_groups(expression: str) -> None:
    """Raise UsageError for an expression that cannot be one, or lacks its group."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            groups = re.compile(expression).groupindex
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"--regex is not a regular expression: {error}") from None
    if "value" not in groups:
        raise UsageError(
            "the expression has no group for the value: write (?P<value>...) around the number"
        )
    if unknown := [name for name in groups if name not in GROUPS]:
        raise UsageError(
            f"the expression has a group `{unknown[0][:80]}`{nearest(unknown[0], GROUPS)}"
        )


def _number(text: str | None, group: str, line: int) -> float:
    text = (text or "").strip()
    value = number(text.replace(",", "") if GROUPED.fullmatch(text) else text)
    if value is None:
        raise Malformed(f"line {line}: its {group} `{text[:80]}` is not a number")
    return value


class _Match(NamedTuple):
    """One match: its line, and the groups; None for those that took no part in it."""

    line: int
    name: str | None
    value: str | None
    unit: str | None
    metric: str | None
    size: str | None


def _matches(expression: str, document: bytes) -> Iterator[_Match]:
    """The matches, in their order; raises Malformed, also where the expression takes
    too long.
    """
    asked = {
        "expression": expression,
        "groups": GROUPS,
        "longest": LONGEST_LINE,
        "most": MOST_MATCHES,
    }
    seconds = SEARCH_SECONDS + len(document) / (1 << 20)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", SEARCH],
            input=json.dumps(asked).encode() + b"\n" + document,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Malformed(
            f"the expression takes over {seconds:.0f} s: repeat nothing that itself repeats,"
            " as (\\w+)+ does"
        ) from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        if match := LONG.fullmatch(reason):
            raise Malformed(f"line {match[1]} has over {LONGEST_LINE:,} bytes: split it")
        if reason == MANY:
            raise Malformed(f"the expression has over {MOST_MATCHES:,} matches: split the file")
        raise Malformed(f"the expression cannot be searched for: {reason[:200]}")
    for line in done.stdout.splitlines():
        yield from msgspec.json.decode(line, type=list[_Match])
