"""Sessions by the host on which they measured, with the host's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from perfvcs.index.filling import Details
from perfvcs.profile import Environment

if TYPE_CHECKING:
    from collections.abc import Iterable

# A row for all profiles of one session on one host; the notes, in which the host is, are the third part of the details. SQLite takes
# the other columns from the row with the greatest id.
SESSIONS_TABLE = """
SELECT count(*), group_concat(DISTINCT p.job), e.text, p.details, max(p.id)
FROM profiles p JOIN environments e ON e.id = p.environment
GROUP BY p.started, p.environment, json_extract(CAST(p.details AS TEXT), '$[2].host', '$[2].worker') ORDER BY p.started"""

# The newest environment of a series on a commit, by the number of the question: a commit, a job's key and a fingerprint.
ENVIRONMENTS = """
SELECT a.key, e.text, p.details, max(p.started) FROM json_each(?) a
JOIN commits c ON c.text = json_extract(a.value, '$[0]') JOIN jobs j ON j.key = json_extract(a.value, '$[1]')
JOIN profiles p ON p.job = j.id AND p.commit_id = c.id AND p.dirty IS NULL
JOIN environments e ON e.id = p.environment AND json_extract(e.text, '$.fingerprint') = json_extract(a.value, '$[2]')
GROUP BY a.key"""


class HostSession(NamedTuple):
    """The measurements of one session in one environment of one host: so many ``profiles`` of ``jobs``, numbered as in the index.

    ``paces`` are those of the machine in the executions of one of the profiles, in s.
    """

    session: str
    started: str
    environment: Environment
    profiles: int
    jobs: frozenset[int]
    paces: tuple[float, ...]


def sessions(rows: Iterable[tuple[Any, ...]]) -> list[HostSession]:
    """The sessions in the rows of ``SESSIONS_TABLE``, the oldest first."""
    environment, details = msgspec.json.Decoder(Environment).decode, msgspec.json.Decoder(Details).decode
    found = []
    for count, jobs, text, document, _ in rows:
        own = details(document)
        where = msgspec.structs.replace(environment(text), notes=own.notes)
        paces = tuple(pace for *_, pace in own.paces)
        numbers = frozenset(map(int, jobs.split(",")))
        found.append(HostSession(own.collected.session, own.collected.started, where, count, numbers, paces))
    return found


def environments(rows: Iterable[tuple[Any, ...]]) -> dict[int, Environment]:
    """The environments in the rows of ``ENVIRONMENTS``, with their notes."""
    environment, details = msgspec.json.Decoder(Environment).decode, msgspec.json.Decoder(Details).decode
    return {
        number: msgspec.structs.replace(environment(text), notes=details(document).notes) for number, text, document, _ in rows
    }
