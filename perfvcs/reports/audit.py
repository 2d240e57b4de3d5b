"""How often a project's own measurements raise a false alarm: a revision against itself, measured
in turns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfvcs.check import NothingToCompare
from perfvcs.check.markdown import FalseAlarms
from perfvcs.check.method import BY_RULES, CheckRequest
from perfvcs.check.vocabulary import WORDS
from perfvcs.errors import UsageError
from perfvcs.profile.naming import labelled
from perfvcs.reports.replay import FEWEST_AUDITED, ReplayRecord, records
from perfvcs.repository import NEAREST_ANCESTORS, Repository
from perfvcs.repository.state import State
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.quantity import share
from perfvcs.text.words import counted, metric_name, metric_rank
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.check.change import Change
    from perfvcs.measure.request import Request
    from perfvcs.measure.rig import Rig
    from perfvcs.measure.storedsession import CampaignOutcome
    from perfvcs.profile.rules import Rules

LIMIT = 0.02  # false alarms that a gate is still trusted with
AUDIT_CONFIDENCE = 0.95  # that the true rate is above the lower bound
TRIALS = 3  # below, one alarm alone would be above the limit
AUDIT_EXECUTIONS = 30  # executions a side of an audit, at least; twice those of a check
SUSPICIOUS = 0.1  # of the parts of a session, from which a unit is named


class UntrustedGate(UsageError):
    """The gate of a project that raises too many false alarms."""


class AuditTally(msgspec.Struct, frozen=True):
    """One metric (or all): how many comparisons there were, how many were called changed, and the
    share of the subsets' that was.
    """

    metric: str
    comparisons: int
    called: int
    rate: float


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What all A/A sessions together show; what `perf check --audit --json` prints.

    ``low``..``high`` is the 95 % bound on each side of the false-alarm rate. ``refused``: the gate
    is not to be trusted.

    ``trials`` is the number of independent ones: a job in a session, since what its metrics and
    units show is one story.
    """

    revision: str
    sessions: int
    trials: int
    tallies: Sequence[AuditTally] = msgspec.field(name="metrics")
    rate: float
    low: float
    high: float
    limit: float = LIMIT
    refused: bool
    suspects: Sequence[ReplayRecord]

    def conclusion(self) -> str:
        """What to make of it, in a sentence."""
        if self.refused:
            return (
                "Too many false alarms: `perf check --gate` is refused. Take more executions (`perf"
                " plan` says how many) or a larger --delta, and run `perf check --audit` again."
            )
        if self.low > LIMIT:
            return (
                "These were false alarms, but so few trials may be bad luck: perf check --audit"
                " again adds to them."
            )
        if self.high > LIMIT:
            return (
                "Nothing speaks against a gate yet, but so few trials cannot rule out"
                f" {share(self.high)}: perf check --audit again adds to them."
            )
        return (
            f"At most {share(self.high)} of the comparisons raise a false alarm: a gate can be"
            " trusted."
        )

    def lines(self) -> Iterator[str]:
        """The listing for a terminal of 80 columns."""
        many = f"{counted(self.sessions, 'session')}, {counted(self.trials, 'job')} in all"
        yield f"{self.revision} against itself, measured in turns: {many}"
        yield f"  {'':16}{'called changed':>20}{'by resampling':>18}"
        for tally in self.tallies:
            share = f"{100 * tally.rate:.1f} %"
            name = shorten(metric_name(tally.metric), 15)
            called = f"{tally.called} of {tally.comparisons}"
            yield f"  {name:16}{called:>20}{share:>18}"
        bounds = f"between {100 * self.low:.1f} and {100 * self.high:.1f} %"
        yield f"  false alarms: {100 * self.rate:.1f} %, {bounds} (each with 95 % confidence)"
        for suspect in self.suspects[:5]:
            name = labelled(suspect.job, suspect.uid, suspect.size)
            effect = "" if suspect.effect is None else f" ({100 * suspect.effect:+.1f} %)"
            line = (
                f"{shorten(name, 40)}, {metric_name(suspect.metric)}: called changed in"
                f" {100 * suspect.rate:.0f} % of the subsets{effect}"
            )
            yield from wrap(line, COLUMNS, initial_indent="  ", subsequent_indent="    ")
        yield from wrap(self.conclusion(), COLUMNS)

    def json(self) -> str:
        """The audit as JSON."""
        return json_text(self)


def measure(rig: Rig, revision: str, request: Request, asked: CheckRequest) -> CampaignOutcome:
    """Measure a revision against itself, by default 30 pairs on each host or twice what a check
    takes, and store it.

    Raises UsageError where fewer pairs are asked for than say anything.
    """
    from perfvcs.measure.campaign import settle
    from perfvcs.plan.automatic import planned

    if request.executions is not None and request.executions < FEWEST_AUDITED:
        raise UsageError(
            f"an audit of {counted(request.executions, 'pair')} says nothing: give -n"
            f" {FEWEST_AUDITED} or more"
        )
    repository = rig.repository
    state = repository.current(revision)
    if request.executions is None:
        cells, _ = planned(repository, request.apply(rig.config)[0], state.commit)
        pairs = max(AUDIT_EXECUTIONS, *(2 * cell.executions * cell.binaries for cell in cells))
        request = replace(request, executions=pairs * rig.executor.width)
    outcome, _ = settle(rig, (state, state), request, asked)
    if not outcome.profiles:
        outcome.raise_failures()
    return outcome


def audit(
    repository: Repository,
    revision: str,
    asked: CheckRequest = BY_RULES,
    *,
    series: Collection[str] | None = None,
    rules: Rules | None = None,
) -> Audit:
    """What the A/A sessions stored on a revision and before show, of all jobs or of some series;
    raises NothingToCompare without any.

    ``rules`` are those of the check that is to be trusted, by default the present ones.
    """
    state = repository.current(revision)
    result = _audit(repository, state, asked, series, rules)
    if result is None:
        raise NothingToCompare(
            f"no A/A measurement is stored up to {state.name}: make one with `perf check --audit`"
        )
    return result


def require(
    repository: Repository,
    target: State,
    changes: Sequence[Change],
    asked: CheckRequest,
    rules: Rules,
) -> None:
    """Raises UntrustedGate where the audits stored for what was compared show more false alarms
    than a gate can have.
    """
    judged = {change.series for change in changes if WORDS[change.word].compared}
    result = _audit(repository, target, asked, judged, rules)
    if result is not None and result.refused:
        raise UntrustedGate(
            "the gate is refused: a revision against itself was called changed in"
            f" {100 * result.rate:.1f} % of the comparisons (at least {100 * result.low:.1f} %,"
            f" over {100 * LIMIT:g} %): take more executions (see `perf plan`) or a larger --delta,"
            " then run `perf check --audit`"
        )


def false_alarms(
    repository: Repository, target: State, changes: Sequence[Change]
) -> FalseAlarms | None:
    """What the audits that are stored say of the series that were compared; None without any."""
    judged = {change.series for change in changes if WORDS[change.word].compared}
    found = _audit(repository, target, BY_RULES, judged, None) if judged else None
    return None if found is None else filled(FalseAlarms, found)


def distrusted(repository: Repository) -> dict[str, str]:
    """The hosts whose newest audits show more false alarms than a gate can have, with what these
    show and the cure.
    """
    head = repository.project.head
    if head is None:
        return {}
    walk = repository.with_profiles(repository.project.walk(head))
    commits = list(islice(walk, NEAREST_ANCESTORS))
    if not commits:
        return {}
    hosts: dict[str, dict[str, dict[str, list[float]]]] = {}
    for record in records(repository, commits, BY_RULES, by_host=True):
        session = hosts.setdefault(record.host, {}).setdefault(record.session, {})
        session.setdefault(record.series, []).append(record.rate)
    suspected = {}
    for host, sessions in hosts.items():
        trials: list[float] = []
        for session in list(sessions.values())[-TRIALS:]:
            trials += map(fmean, session.values())
        rate = fmean(trials)
        if len(trials) >= TRIALS and bounds(rate, len(trials))[0] > LIMIT:
            suspected[host] = (
                f"in its newest audits {100 * rate:.0f} % of the comparisons were called changed;"
                " when that is mended, run `perf check --audit --scheduler ADDRESS` until it is"
                " trusted again"
            )
    return suspected


def _audit(
    repository: Repository,
    state: State,
    asked: CheckRequest,
    series: Collection[str] | None,
    rules: Rules | None,
) -> Audit | None:
    """The audit of what is stored; None where there is nothing to audit."""
    commits = [
        state.commit,
        *islice(repository.measured_ancestors(state.commit), NEAREST_ANCESTORS),
    ]
    every = records(repository, commits, asked, rules=rules)
    chosen = [record for record in every if series is None or record.series in series]
    if not chosen:
        return None
    trials: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    metrics: dict[str, list[ReplayRecord]] = defaultdict(list)
    for record in chosen:
        trials[record.session, record.job, record.series].append(record.rate)
        metrics[record.metric].append(record)
    tallies = [_tally(metric, metrics[metric]) for metric in sorted(metrics, key=metric_rank)]
    rate = fmean(map(fmean, trials.values()))
    low, high = bounds(rate, len(trials))
    suspects = sorted(
        (record for record in chosen if record.rate > SUSPICIOUS), key=lambda record: -record.rate
    )
    return Audit(
        revision=state.name,
        sessions=len({record.session for record in chosen}),
        trials=len(trials),
        tallies=[*tallies, _tally("all", chosen)],
        rate=rate,
        low=low,
        high=high,
        # above the limit beyond reasonable doubt, and not because of a single alarm
        refused=len(trials) >= TRIALS and low > LIMIT,
        suspects=suspects,
    )


def _tally(name: str, records: Sequence[ReplayRecord]) -> AuditTally:
    return AuditTally(
        name,
        len(records),
        sum(record.called for record in records),
        fmean(record.rate for record in records),
    )


def bounds(rate: float, trials: int) -> tuple[float, float]:
    """The bounds on a true rate, each with 95 % confidence, from the mean of so many independent
    shares between 0 and 1.

    Clopper and Pearson's, as if every share were 0 or 1: shares in between scatter less, so the
    bounds are on the wide side. Source: Clopper, Pearson 1934.
    """
    from scipy.special import betaincinv

    hits = rate * trials
    low = 0.0 if hits <= 0 else float(betaincinv(hits, trials - hits + 1, 1 - AUDIT_CONFIDENCE))
    high = 1.0 if hits >= trials else float(betaincinv(hits + 1, trials - hits, AUDIT_CONFIDENCE))
    return low, high
