"""A/A sessions replayed: every job's two sides of one revision, compared whole and in random
parts.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs import __version__
from perfvcs.check.vocabulary import WORDS
from perfvcs.environment.host import host_of
from perfvcs.profile.summary import Header, Measured, Summary
from perfvcs.system import disk
from perfvcs.system.foreign import UNDECODABLE
from perfvcs.system.numeric import np

if TYPE_CHECKING:
    from pathlib import Path

    from perfvcs.check.change import Change, Report
    from perfvcs.check.method import CheckRequest
    from perfvcs.profile.rules import Rules
    from perfvcs.repository import Repository

NEWEST_SESSIONS = 10  # the newest that count
FEWEST_AUDITED = 5  # executions of an A/A session that say anything
EXECUTIONS = 10  # of a check where perf.toml does not say
SUBSETS = 60  # random subsets of a session's blocks
BUDGET = 2000  # comparisons of all subsets of a session
KEPT_REPLAYS = 8  # replays that the cache holds
Twins = tuple[Measured, Measured]
Judge = Callable[[Sequence[Measured], Sequence[Measured]], "Report"]


class ReplayedUnit(NamedTuple):
    """What one change is about."""

    job: str
    series: str
    uid: str
    size: float | None
    metric: str


class ReplayRecord(msgspec.Struct, frozen=True):
    """One unit and metric in one session: whether all of it was ``called`` changed, its effect, and
    the share of its parts called so.
    """

    session: str
    job: str
    series: str
    uid: str
    size: float | None
    metric: str
    called: bool
    effect: float | None
    rate: float
    host: str = ""


def records(
    repository: Repository,
    commits: Sequence[str],
    asked: CheckRequest,
    *,
    by_host: bool = False,
    rules: Rules | None = None,
) -> list[ReplayRecord]:
    """What the newest A/A sessions on some commits show, compared like `perf check` does with as
    many executions as perf.toml says.

    ``rules`` are those of the check, by default the present ones. ``by_host``: what each host of a
    session shows alone, whatever others do. Replaying takes seconds, so that the newest results are
    kept in ``.perf/audits.json``, which can be deleted at any time.
    """
    twins = pairs_of(repository.index.headers(commits))
    if not twins:
        return []
    from perfvcs.check import compare, earlier_sessions

    counts = counts_of(repository, commits[0])
    rules = repository.rules if rules is None else rules
    paths = [[header.path for pair in pairs for header in pair] for pairs in twins.values()]
    basis = msgspec.json.encode(
        [
            __version__,
            asked.delta,
            asked.method,
            repr(rules),
            sorted(counts.items()),
            paths,
            SUBSETS,
            BUDGET,
            by_host,
        ]
    )
    key, cache = hashlib.sha256(basis).hexdigest(), _Cache(repository.home / "audits.json")
    if (cached := cache.get(key)) is not None:
        return cached
    measured = repository.index.measured(commits)
    by_path = {side.header.path: side for side in measured}
    replays: list[ReplayRecord] = []
    for session, pairs in twins.items():
        # a session must not vouch for itself: what it shows raises the smallest change that counts
        others = (
            ()
            if by_host
            else (side for side in measured if side.header.collected.session != session)
        )
        rest = earlier_sessions(others)
        judge = partial(compare, method=asked.method, rules=rules, delta=asked.delta, history=rest)
        groups: dict[str, list[Twins]] = defaultdict(list)
        for first, last in pairs:
            groups[host_of(first.environment) if by_host else ""].append(
                (by_path[first.path], by_path[last.path])
            )
        for host, sides in groups.items():
            replays += _records(session, host, *replayed(sides, counts, judge))
    cache.put(key, replays)
    return replays


class _Cache:
    """The newest results by what they were made from. A damaged file counts as empty; one that
    cannot be written stays as it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def _read(self) -> dict[str, list[ReplayRecord]]:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, list[ReplayRecord]])
        except (OSError, *UNDECODABLE):
            return {}

    def get(self, key: str) -> list[ReplayRecord] | None:
        return self._read().get(key)

    def put(self, key: str, records: list[ReplayRecord]) -> None:
        newest = list(self._read().items())[1 - KEPT_REPLAYS :]
        with suppress(OSError):
            disk.write(self.path, msgspec.json.encode(dict([*newest, (key, records)])))


def pairs_of(headers: Sequence[Header]) -> dict[str, list[tuple[Header, Header]]]:
    """By session, newest last, both sides of every job that was measured against itself, on the
    machine that did so last.
    """
    members: dict[tuple[str, str, str, str, str, str | None], list[Header]] = defaultdict(list)
    for header in headers:
        if header.design.order == "interleaved":
            place = (
                header.collected.session,
                header.worker,
                header.job.key,
                header.environment.fingerprint,
            )
            members[(*place, header.commit, header.dirty)].append(header)
    ordered = [
        sorted(versions, key=lambda header: header.design.version)
        for versions in members.values()
        if len(versions) > 1
    ]
    ordered.sort(key=lambda versions: versions[0].collected.started)
    machines = {sides[0].job.key: sides[0].environment.fingerprint for sides in ordered}
    sessions: dict[str, list[tuple[Header, Header]]] = defaultdict(list)
    for first, *_, last in ordered:
        if first.environment.fingerprint == machines[first.job.key]:
            sessions[first.collected.session].append((first, last))
    return dict(list(sessions.items())[-NEWEST_SESSIONS:])


def counts_of(repository: Repository, revision: str) -> dict[tuple[str, str], int]:
    """Executions of a check by perf.toml, per benchmark and collector; where they are automatic, as
    planned for a revision.
    """
    from perfvcs.jobs import matrix
    from perfvcs.jobs.config import load
    from perfvcs.profile.rules import RULES_FILE

    path = repository.project.root / RULES_FILE
    cells = matrix(load(path)) if not repository.project.bare and path.is_file() else []
    if any(cell.auto for cell in cells):
        from perfvcs.plan.automatic import planned

        cells, _ = planned(repository, cells, revision)
    return {(cell.label, cell.collector_name): cell.executions for cell in cells}


def replayed(
    pairs: Sequence[Twins], counts: Mapping[tuple[str, str], int], judge: Judge
) -> tuple[list[Change], list[list[Change]]]:
    """The changes that are called in a whole session, and those in random subsets of its blocks of
    the size of a check.
    """
    usable = [pair for pair in pairs if len(_blocks(pair)) >= FEWEST_AUDITED]
    if not usable:
        return [], []
    whole = _judged(judge, usable)
    rng = np.random.default_rng(0)
    jobs = [pair[0].header.job for pair in usable]
    taken = [
        min(counts.get((job.label, job.collector), EXECUTIONS), len(_blocks(pair)))
        for job, pair in zip(jobs, usable, strict=True)
    ]
    # a part of the builds is another design
    builds = [any(summary.binaries for summary in pair[0].summaries) for pair in usable]
    if all(
        count == len(_blocks(pair)) or several
        for pair, count, several in zip(usable, taken, builds, strict=True)
    ):
        return whole, [whole]
    subsets = []
    for _ in range(max(1, min(SUBSETS, BUDGET // max(1, len(whole))))):
        drawn = [
            pair if several else _part(pair, set(rng.permutation(_blocks(pair))[:count].tolist()))
            for pair, count, several in zip(usable, taken, builds, strict=True)
        ]
        subsets.append(_judged(judge, drawn))
    return whole, subsets


def _records(
    session: str, host: str, whole: Sequence[Change], subsets: Sequence[Sequence[Change]]
) -> list[ReplayRecord]:
    called: dict[ReplayedUnit, list[bool]] = defaultdict(list)
    for changes in subsets:
        for change in changes:
            called[_unit(change)].append(WORDS[change.word].sure)
    return [
        ReplayRecord(
            session,
            *_unit(change),
            WORDS[change.word].sure,
            change.effect,
            fmean(called[_unit(change)]),
            host,
        )
        for change in whole
        if called[_unit(change)]
    ]


def _unit(change: Change) -> ReplayedUnit:
    return ReplayedUnit(change.job, change.series, change.uid, change.size, change.metric)


def _judged(judge: Judge, pairs: Sequence[Twins]) -> list[Change]:
    report = judge([first for first, _ in pairs], [last for _, last in pairs])
    return report.compared


def _blocks(pair: Twins) -> list[int]:
    """The numbers of the executions that both sides have."""
    sides = [
        {number for summary in side.summaries for number in summary.executions} for side in pair
    ]
    return sorted(sides[0] & sides[1])


def _part(pair: Twins, chosen: Collection[int]) -> Twins:
    """Both sides with some of their blocks only."""
    first, last = (
        msgspec.structs.replace(
            side, summaries=[_chosen(summary, chosen) for summary in side.summaries]
        )
        for side in pair
    )
    return first, last


def _chosen(summary: Summary, chosen: Collection[int]) -> Summary:
    rows = [
        (number, value)
        for number, value in zip(summary.executions, summary.medians, strict=True)
        if number in chosen
    ]
    return msgspec.structs.replace(
        summary,
        executions=tuple(number for number, _ in rows),
        medians=tuple(value for _, value in rows),
    )
