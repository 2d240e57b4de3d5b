"""What the earlier sessions of a benchmark show: how much it moves between sessions, and against
itself.
"""

from __future__ import annotations

from collections import defaultdict
from math import fsum, isfinite, log
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from perfvcs.check.samples.newestsession import NewestSession
    from perfvcs.profile import Metric
    from perfvcs.profile.summary import Header, Measured, Summary
    from perfvcs.statistics.sessions import Spread

Centres = dict["Unit", float]


class Unit(NamedTuple):
    """The subject of a history: one unit and metric of one series in one environment (its
    fingerprint).
    """

    series: str
    environment: str
    uid: str
    size: float | None
    metric: str


class EarlierSessions(msgspec.Struct, frozen=True):
    """One unit's history: per session, in order, the log-mean of the executions' medians and the
    commit;

    And the A/A effects seen. ``alike``: somebody says that sessions do not differ. ``newest``:
    what the last one shows against baselines, by their commits, where that was asked beforehand.
    """

    means: tuple[float, ...] = ()
    commits: tuple[str, ...] = ()
    audits: tuple[float, ...] = ()
    alike: bool = False
    newest: Mapping[str, NewestSession | None] = {}

    def preceding(self, place: int) -> str:
        """The commit measured before that of a session; empty where there is none."""
        commit = self.commits[place]
        return next((other for other in self.commits[:place][::-1] if other != commit), "")

    def spread(self, within: float) -> Spread | None:
        """The between-session variance that it shows, where a session's mean has the variance
        ``within``; None where it is too short.
        """
        from perfvcs.statistics import sessions

        if self.alike:
            return sessions.Spread(0.0, 1.0)
        return sessions.between(self.means, self.commits, within)


def earlier_sessions(
    measured: Iterable[Measured], centres_of: dict[int, Centres] | None = None
) -> dict[Unit, EarlierSessions]:
    """The history in profiles that are given in their order (by ancestry, or by time).

    A session which interleaved several versions counts once per host, with the last of them:
    between its versions there is no session's difference. A session that held one commit twice
    gives an A/A effect (difference of log-means). Units with a value of 0 or below have no history,
    and where a metric was redefined (another direction, say) its history begins anew. ``known``
    keeps the log-means of profiles, by the id of their summaries, from one call to the next.
    """
    centres_of = {} if centres_of is None else centres_of
    sessions: dict[tuple[str, str, str, str], list[tuple[Header, list[Summary]]]] = defaultdict(
        list
    )
    for profile in measured:
        header = profile.header
        sessions[
            header.job.key, header.environment.fingerprint, header.collected.session, header.worker
        ].append((header, profile.summaries))
    histories: dict[Unit, _History] = {}
    for (series, environment, *_), members in sessions.items():
        members.sort(key=lambda member: member[0].design.version)
        last, summaries = members[-1]
        centres = _kept(centres_of, series, environment, summaries)
        for unit, centre in centres.items():
            meaning, history = last.metrics[unit.metric], histories.get(unit)
            if history is None or history.meaning != meaning:
                history = histories[unit] = _History(meaning, [], [], [])
            history.means.append(centre)
            history.commits.append(last.commit)
        twins = [
            summaries
            for header, summaries in members[:-1]
            if header.commit == last.commit and header.dirty == last.dirty
        ]
        if twins:
            for unit, centre in _kept(centres_of, series, environment, twins[0]).items():
                if unit in centres:
                    histories[unit].audits.append(centres[unit] - centre)
    return {
        unit: EarlierSessions(tuple(history.means), tuple(history.commits), tuple(history.audits))
        for unit, history in histories.items()
    }


class _History(msgspec.Struct):
    """The columns of ``EarlierSessions`` while they are read, of a metric of one meaning."""

    meaning: Metric
    means: list[float]
    commits: list[str]
    audits: list[float]


def _kept(
    centres_of: dict[int, Centres], series: str, environment: str, summaries: list[Summary]
) -> Centres:
    if id(summaries) not in centres_of:
        centres_of[id(summaries)] = _centres(series, environment, summaries)
    return centres_of[id(summaries)]


def _centres(series: str, environment: str, summaries: list[Summary]) -> Centres:
    centres: dict[Unit, float] = {}
    for summary in summaries:
        usable = [value for value in summary.medians if isfinite(value)]
        if usable and min(usable) > 0:
            unit = Unit(series, environment, summary.uid, summary.size, summary.metric)
            centres[unit] = fsum(map(log, usable)) / len(usable)
    return centres
