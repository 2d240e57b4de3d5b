"""The summaries of one series along its history, for views."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.index.filling import unpack
from perfvcs.summary import Summary

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

PATH_QUERY = "substr(c.text, 1, 2) || '/' || c.text || '/' || p.name"
WITHIN_COMMITS = "c.text IN (SELECT value FROM json_each(?))"
HISTORY_QUERY = f"""
SELECT c.text, p.dirty, p.details, p.started, e.text, {PATH_QUERY}, u.text, s.size, n.text, s.executions, s.binaries, s.sizes, s.medians
FROM jobs j JOIN profiles p ON p.job = j.id JOIN commits c ON c.id = p.commit_id JOIN environments e ON e.id = p.environment
JOIN summaries s ON s.profile = p.id JOIN names u ON u.id = s.uid JOIN names n ON n.id = s.metric"""


class SeriesEntry(NamedTuple):
    """One summary in a series' history, with what it is compared by; ``environment`` is the fingerprint."""

    commit: str
    dirty: str | None
    session: str
    started: str
    environment: str
    path: str
    summary: Summary


def entries(
    connection: sqlite3.Connection, key: str, commits: list[str] | None, uid: str | None, metric: str | None
) -> list[SeriesEntry]:
    """The entries of the job with this ``key``, by commit as they were asked for, then by time."""
    conditions, values = ["j.key = ?"], [key]
    asked = None if commits is None else msgspec.json.encode(commits).decode()
    for condition, value in (("u.text = ?", uid), ("n.text = ?", metric), (WITHIN_COMMITS, asked)):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    rows = connection.execute(f"{HISTORY_QUERY} WHERE {' AND '.join(conditions)} ORDER BY p.started, p.id, s.number", values)
    details, environment = msgspec.json.Decoder(_Session).decode, msgspec.json.Decoder(_Fingerprint).decode
    found = [
        SeriesEntry(
            row[0], row[1], details(row[2]).collected.session, row[3], environment(row[4]).fingerprint, row[5], unpack(*row[6:])
        )
        for row in rows
    ]  # fmt: skip
    turn = order(commits)
    return sorted(found, key=lambda entry: turn(entry.commit))


def order(commits: list[str] | None) -> Callable[[str], tuple[int, str]]:
    """The place of a commit among those that were asked for, else its name."""
    places = {commit: place for place, commit in reversed(list(enumerate(commits or ())))}
    return lambda commit: (places.get(commit, 0), "" if commits is not None else commit)


class _Collected(msgspec.Struct):
    session: str


class _Session(msgspec.Struct, array_like=True):
    """The first field of Details, without decoding the others."""

    collected: _Collected


class _Fingerprint(msgspec.Struct):
    fingerprint: str = ""
