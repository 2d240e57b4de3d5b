"""What `perf hosts` prints: the hosts that measured, how quiet and how fast they are, and when
their configuration changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from perfvcs.check.method import BY_RULES
from perfvcs.environment.host import Facts, changes, configuration, host_of
from perfvcs.errors import UsageError, nearest
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.document import json_text
from perfvcs.text.quantity import percent
from perfvcs.text.words import counted
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.index.filling import HostSession
    from perfvcs.repository import Repository

NAME_CHARACTERS = 30  # characters of a host's name
GIB = 1 << 30
MOST_LISTED_CHANGES = 3  # changes of a host that are listed among others
FEWEST = 3  # sessions whose pace says what is usual
INDENT = "  "


class Reconfiguration(msgspec.Struct, frozen=True):
    """What changed on a host between two sessions that follow each other; ``when`` is the time of
    the second.
    """

    when: str
    changes: list[str]


class AuditCount(msgspec.Struct, frozen=True):
    """The comparisons of a revision with itself on a host, and how many of them were called
    changed.
    """

    comparisons: int
    called: int


class Host(msgspec.Struct, frozen=True):
    """One host.

    ``pace`` is that of its newest session against the median of those before, as a share; None
    where that is unknown. ``connected``: what it says of itself now, where a scheduler was asked.
    """

    name: str
    configuration: dict[str, str]
    fingerprints: list[str]
    first: str
    last: str
    sessions: int
    profiles: int
    jobs: int
    pace: float | None
    audit: AuditCount
    changes: list[Reconfiguration]
    connected: Facts | None = None

    def lines(self, most: int | None = MOST_LISTED_CHANGES) -> Iterator[str]:
        """Its lines on a terminal, with the newest ``most`` changes."""
        parts = [
            self.configuration.get("cpu", ""),
            _many(self.configuration),
            self.configuration.get("memory", ""),
        ]
        yield shorten(self.name, NAME_CHARACTERS) + (
            f": {', '.join(filter(None, parts))}" if any(parts) else ""
        )
        if now := self.connected:
            yield from _wrapped(
                f"connected: {counted(now.cores, 'processor')}, {now.memory / GIB:.1f} GiB, load"
                f" {now.load:.1f}, {now.system} {now.kernel}"
            )
        if not self.sessions:
            yield from _wrapped("has not measured anything here yet")
            return
        yield from _wrapped(
            f"{counted(self.profiles, 'profile')} of {counted(self.jobs, 'job')} in"
            f" {counted(self.sessions, 'session')}, {self.first[:10]} to {self.last[:10]}"
        )
        if self.pace is not None:
            yield from _wrapped(
                f"pace: the newest session took {percent(self.pace)} against the median of those"
                " before"
            )
        if self.audit.comparisons:
            yield from _wrapped(
                f"A/A: {self.audit.called} of {counted(self.audit.comparisons, 'comparison')}"
                " called changed"
            )
        for change in self.changes[-most:] if most else self.changes:
            yield from _wrapped(f"{change.when[:10]}: {'; '.join(change.changes)}")
        if most and len(self.changes) > most:
            yield from _wrapped(
                f"and {counted(len(self.changes) - most, 'earlier change')}: perf hosts"
                f" {shorten(self.name, NAME_CHARACTERS)}"
            )


class Hosts(msgspec.Struct, frozen=True):
    """All hosts, the one that measured last first."""

    hosts: list[Host]
    only: str = ""

    def lines(self) -> Iterator[str]:
        """The listing for a terminal of 80 columns."""
        for host in self.hosts:
            yield from host.lines(None if self.only else MOST_LISTED_CHANGES)
        if not self.hosts:
            yield "nothing was measured yet: run `perf collect`"

    def json(self) -> str:
        """The listing as JSON."""
        return json_text(self.hosts)


def hosts_of(repository: Repository, name: str = "", connected: Sequence[Facts] = ()) -> Hosts:
    """The hosts in the store and those that are connected, or the one of that name; raises
    UsageError.
    """
    now = {known_name.host: known_name for known_name in connected}
    groups: dict[str, list[HostSession]] = defaultdict(list)
    for session in repository.index.sessions():
        groups[host_of(session.environment)].append(session)
    if name and name not in groups and name not in now:
        raise UsageError(f"no host `{name}` has measured here{nearest(name, list(groups))}")
    audits = _audits(repository)
    listed = [
        _host(known_name, members, audits, now.get(known_name))
        for known_name, members in groups.items()
        if name in ("", known_name)
    ]
    listed += [
        _unused(facts)
        for known_name, facts in now.items()
        if known_name not in groups and name in ("", known_name)
    ]
    return Hosts(sorted(listed, key=lambda host: host.last, reverse=True), name)


def _unused(facts: Facts) -> Host:
    """A host that is connected and has not measured yet."""
    return Host(
        name=facts.host,
        configuration={"cpu": facts.cpu},
        fingerprints=[],
        first="",
        last="",
        sessions=0,
        profiles=0,
        jobs=0,
        pace=None,
        audit=AuditCount(0, 0),
        changes=[],
        connected=facts,
    )


def _host(
    name: str,
    members: Sequence[HostSession],
    audits: dict[tuple[str, str], AuditCount],
    connected: Facts | None,
) -> Host:
    newest = members[-1]
    called = [
        audits[session, name]
        for session in dict.fromkeys(session.session for session in members)
        if (session, name) in audits
    ]
    return Host(
        name=name,
        configuration=configuration(newest.environment),
        fingerprints=list(dict.fromkeys(member.environment.fingerprint for member in members)),
        first=members[0].started,
        last=newest.started,
        sessions=len({member.session for member in members}),
        profiles=sum(member.profiles for member in members),
        jobs=len(frozenset[int]().union(*(member.jobs for member in members))),
        pace=_pace(members),
        audit=AuditCount(
            sum(audit.comparisons for audit in called), sum(audit.called for audit in called)
        ),
        changes=_reconfigurations(members),
        connected=connected,
    )


def _pace(members: Sequence[HostSession]) -> float | None:
    """The newest session's pace against the median of the earlier ones, where the newest has one
    and enough others do.
    """
    paces = [median(member.paces) if member.paces else None for member in members]
    *earlier, newest = paces
    usable = [pace for pace in earlier if pace]
    return newest / median(usable) - 1 if newest and len(usable) >= FEWEST else None


def _reconfigurations(members: Sequence[HostSession]) -> list[Reconfiguration]:
    differences = (
        (after.started, changes(before.environment, after.environment))
        for before, after in pairwise(members)
    )
    return [Reconfiguration(when, what) for when, what in differences if what]


def _audits(repository: Repository) -> dict[tuple[str, str], AuditCount]:
    """What the newest A/A sessions showed, by session and host."""
    from perfvcs.reports.replay import records
    from perfvcs.repository import NEAREST_ANCESTORS

    head = repository.project.head
    if head is None:
        return {}
    counts: dict[tuple[str, str], AuditCount] = {}
    commits = list(
        islice(repository.with_profiles(repository.project.walk(head)), NEAREST_ANCESTORS)
    )
    for record in records(repository, commits, BY_RULES, by_host=True) if commits else ():
        count = counts.get((record.session, record.host), AuditCount(0, 0))
        counts[record.session, record.host] = AuditCount(
            count.comparisons + 1, count.called + record.called
        )
    return counts


def _many(fields: dict[str, str]) -> str:
    number = fields.get("processors", "")
    return counted(int(number), "processor") if number.isdigit() else ""


def _wrapped(text: str) -> list[str]:
    return wrap(text, COLUMNS, initial_indent=INDENT, subsequent_indent=2 * INDENT)
