"""Resources as Perun has them from the rows of a profile: one amount per value."""

from __future__ import annotations

import re
from typing import Any

from perfvcs.formats._amounts import SIZE_FIELD, UNREACHABLE
from perfvcs.profile import Profile

TIME_UNIT = re.compile(r"(?:n|u|µ|m)?s|min|h")
BYTES = re.compile(r"(?:[kKMGT]i?)?B")
LINE = re.compile(r"0|[1-9][0-9]{0,8}")
NUMBERS = ("iteration", "binary", "mark")


def amounts(profile: Profile) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The type of each metric, and one resource per value, in the order of the rows."""
    rows = profile.resources
    kinds = {name: _kind(definition.unit) for name, definition in profile.metrics.items()}
    traces = _traces(profile)
    numbers = {name: column for name in NUMBERS if any(column := getattr(rows, name) or ())}
    several = len(profile.metrics) > 1
    resources: list[dict[str, Any]] = []
    for row, (code, execution) in enumerate(zip(rows.uid, rows.execution, strict=True)):
        shared: dict[str, Any] = {"uid": rows.names[code], "order": execution}
        if rows.size is not None and rows.size[row] is not None:
            shared[SIZE_FIELD] = rows.size[row]
        if rows.trace is not None and rows.trace[row] >= 0:
            shared["trace"] = traces[rows.trace[row]]
        shared |= {key: column[row] for key, column in numbers.items()} | (
            {"row": row} if several else {}
        )
        values = {
            name: column[row] for name, column in rows.metrics.items() if column[row] is not None
        }
        for name, value in (values or dict.fromkeys(list(rows.metrics)[:1])).items():
            resources.append({"amount": value, "type": kinds[name], "subtype": name, **shared})
    return kinds, resources


def _kind(unit: str) -> str:
    if TIME_UNIT.fullmatch(unit):
        return "time"
    return "memory" if BYTES.fullmatch(unit) else "mixed"


def _traces(profile: Profile) -> list[list[dict[str, Any]]]:
    if profile.stacks is None:
        return []
    frames = []
    for frame in profile.stacks.frames:
        place, colon, line = frame.removesuffix(")").rpartition(":")
        function, bracket, source = place.rpartition(" (")
        fits = frame.endswith(")") and colon and bracket and source and LINE.fullmatch(line)
        located = fits and (source != UNREACHABLE or line != "0")
        frames.append(
            {"function": function, "source": source, "line": int(line)}
            if located
            else {"function": frame, "source": UNREACHABLE, "line": 0}
        )
    return [[frames[number] for number in reversed(stack)] for stack in profile.stacks.stacks]
