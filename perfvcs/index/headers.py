"""The headers of profiles as the index has them, and with their summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from perfvcs.index.filling import Details, Number, OfExecution
from perfvcs.index.lines import PATH_QUERY, WITHIN_COMMITS, order, unpacked
from perfvcs.profile import Environment, Job, Metric
from perfvcs.profile.summary import Header, Measured, Place

if TYPE_CHECKING:
    import sqlite3

HEADERS = f"""
SELECT p.id, {PATH_QUERY}, c.text, p.dirty, p.job, j.text, p.environment, e.text, p.metrics, m.text,
p.details
FROM profiles p JOIN commits c ON c.id = p.commit_id JOIN jobs j ON j.id = p.job
JOIN environments e ON e.id = p.environment
JOIN metrics m ON m.id = p.metrics"""
OF_COMMITS = f"FROM commits c JOIN profiles p ON p.commit_id = c.id WHERE {WITHIN_COMMITS}"
SUMMARIES = "SELECT profile, packed FROM summaries WHERE profile IN (SELECT p.id {})"
LINES = "SELECT id, text FROM lines WHERE (job, environment) IN (SELECT p.job, p.environment {})"
THERE = (
    "p.environment IN (SELECT id FROM environments WHERE json_extract(text, '$.fingerprint') = ?)"
)


class _HeaderRow(NamedTuple):
    """A row of the profiles, decoded."""

    number: int
    header: Header
    details: Details


def headers(connection: sqlite3.Connection, commits: list[str] | None) -> list[Header]:
    """The headers of all profiles, or of those of some commits."""
    if commits is None:
        rows = connection.execute(HEADERS)
    else:
        rows = connection.execute(f"{HEADERS} WHERE {WITHIN_COMMITS}", (_json(commits),))
    return [row.header for row in _decoded(commits, rows)]


def measured(
    connection: sqlite3.Connection, commits: list[str], environment: str | None
) -> list[Measured]:
    """Those of some commits with their summaries, of all environments or one fingerprint."""
    there, values = "", [_json(commits)]
    if environment is not None:
        there, values = f" AND {THERE}", [*values, environment]
    these = f"{OF_COMMITS}{there}"
    unpack = unpacked(connection.execute(LINES.format(these), values))
    packed = connection.execute(SUMMARIES.format(these), values)
    summaries = {profile: unpack(document) for profile, document in packed}
    rows = connection.execute(f"{HEADERS} WHERE {WITHIN_COMMITS}{there}", values)
    return [
        Measured(
            header,
            summaries[profile],
            _placed(detail.paces),
            _placed(detail.turns),
            _placed(detail.seeds),
            detail.results,
        )
        for profile, header, detail in _decoded(commits, rows)
    ]


def _decoded(commits: list[str] | None, rows: Iterable[tuple[Any, ...]]) -> list[_HeaderRow]:
    """The rows, by commit as they were asked for (by name when none were), then by time."""
    job, environment, metrics = _cached(Job), _cached(Environment), _cached(dict[str, Metric])
    details = msgspec.json.Decoder(Details).decode
    decoded = []
    for number, path, commit, dirty, *shared, text in rows:
        detail = details(text)
        where = msgspec.structs.replace(
            environment(*shared[2:4]), notes=detail.notes, warnings=detail.warnings
        )
        header = Header(
            path=path,
            commit=commit,
            dirty=dirty,
            job=job(*shared[:2]),
            collected=detail.collected,
            environment=where,
            design=detail.design,
            metrics=metrics(*shared[4:]),
        )
        decoded.append(_HeaderRow(number, header, detail))
    turn = order(commits)
    decoded.sort(
        key=lambda row: (turn(row.header.commit), row.header.collected.started, row.header.path)
    )
    return decoded


def _cached(kind: Any) -> Callable[[int, str], Any]:
    """A decoder of shared texts that decodes each row once."""
    decode, decoded_rows = msgspec.json.Decoder(kind).decode, {}

    def decoded(number: int, text: str) -> Any:
        if number not in decoded_rows:
            decoded_rows[number] = decode(text)
        return decoded_rows[number]

    return decoded


def _placed(values: Iterable[OfExecution[Number]]) -> dict[Place, Number]:
    return {(execution.build, execution.number): execution.value for execution in values}


def _json(commits: Sequence[str]) -> str:
    return msgspec.json.encode(commits).decode()
