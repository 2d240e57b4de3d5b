"""A check: two revisions, measured where that was asked for, their report, and what it means for
the caller.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING

import msgspec

import perfvcs
from perfvcs.check.change import NothingToCompare, Report, exceeded
from perfvcs.check.method import BY_RULES, CheckRequest
from perfvcs.check.vocabulary import said
from perfvcs.locate import BLAMES_FOLDER
from perfvcs.profile.rules import RULES_FILE
from perfvcs.profile.validity import Malformed
from perfvcs.reports.checkforms import Background, Form, rendered
from perfvcs.reports.pair import inheriting, noted, stored
from perfvcs.reports.untouchable import doubted
from perfvcs.repository import Repository, origin
from perfvcs.repository.lastreport import stored_profiles
from perfvcs.repository.state import State
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.markdown import FalseAlarms
    from perfvcs.check.movement import JobUnit
    from perfvcs.measure.storedsession import CampaignOutcome
    from perfvcs.profile.benchmarkfilter import BenchmarkFilter
    from perfvcs.profile.summary import Header
    from perfvcs.repository.criteria import Criteria

DEGRADED, OPEN = 3, 4


class Check(msgspec.Struct, frozen=True):
    """The report on two states, what was measured for it, if anything was, and ``why`` these two,
    where that is to be said.
    """

    repository: Repository
    baseline: State
    target: State
    report: Report
    outcome: CampaignOutcome | None = None
    why: str = ""

    def status(self, *, gate: bool = False, strict: bool = False) -> int:
        """The exit status: 3 for a degradation (``gate``: a certain one) that is not accepted, and
        for an output that had to stay the same; 4 where nothing was comparable, where nothing is
        settled (``gate``), or not everything (``strict``).
        """
        status = exit_status(self.report, gate=gate, strict=strict)
        if self.outcome and status != DEGRADED:
            self.outcome.raise_failures()
        return status

    def render(self, form: Form, *, verbose: bool = False) -> str:
        """The report in a form."""
        return rendered(
            self.report,
            form,
            self.background,
            verbose=verbose,
            why=self.why,
            false_alarms=self._false_alarms,
        )

    def _false_alarms(self) -> FalseAlarms | None:
        """What audits say of the series that are compared; None where none is stored."""
        from perfvcs.reports.audit import false_alarms

        return false_alarms(self.repository, self.target, self.report.changes)

    @property
    def _pairs(self) -> int:
        """How many pairs were just measured in turns, 0 where the report comes from what is
        stored.
        """
        pairs: Counter[tuple[str, str, int]] = Counter()
        # those of several hosts add up
        for profile in self.outcome.profiles if self.outcome else ():
            pairs[profile.job.label, profile.job.collector, profile.design.version] += (
                profile.design.executions
            )
        return max(pairs.values(), default=0)

    def background(self, *, shown: bool = False) -> Background:
        """The causes that are known and the files that differ, where something moved; and the next
        step for a reader who was ``shown`` both.
        """
        from perfvcs.reports.causes import causes, files
        from perfvcs.reports.nextsteps import Known, following

        repository, pair = self.repository, (self.baseline, self.target)
        inside: dict[JobUnit, list[str]] = {}
        names: list[str] = []
        after = _headers(repository, self.target)
        if any(said(change).moved for change in self.report.changes):
            before = _headers(repository, self.baseline)
            inside = causes(before, after, repository.profiles, self.report)
            names = files(repository, *pair)
        scheduler, blamed = self.outcome.scheduler if self.outcome else "", self._blamed()
        known = Known(after, self._pairs, scheduler, names, shown, bool(blamed))
        steps = following(repository, *pair, self.report, known)
        return Background(inside, names, blamed, steps, self._by_pairs(after))

    def _by_pairs(self, after: Sequence[Header]) -> str:
        """Of how many pairs in turns the report is, where more are stored than were measured now,
        or those of several sessions count; else empty.
        """
        own, stored = self._pairs, _pairs_by_session(after, self.baseline, self.target)
        total = sum(stored.values())
        if own and total > own:
            command = f"perf check {self.baseline.name} {self.target.name}{self.report.about}"
            judged = f"Judged by the {counted(own, 'pair')} of this call"
            return f"{judged}; by all {total:,} that are stored: {command}"
        if not own and len(stored) > 1:
            return f"Judged by {total:,} pairs of {len(stored)} sessions."
        return ""

    def of(self, benchmarks: BenchmarkFilter) -> Check:
        """The check of some benchmarks; raises NothingToCompare where neither side has any."""
        if not benchmarks:
            return self
        from perfvcs.check.narrowing import narrowed

        report = narrowed(self.report, benchmarks)
        if not (report.changes or report.untouched or report.limits):
            raise NothingToCompare(
                f"neither {self.baseline.name} nor {self.target.name} has profiles of"
                f" `{benchmarks.text}`: measure it with `perf check --measure`"
            )
        why = ", ".join(filter(None, [self.why, f"only {shorten(benchmarks.text)}"]))
        return msgspec.structs.replace(self, report=report, why=why)

    def _blamed(self) -> str:
        """What is blamed for the pair; empty where nothing was ever blamed here."""
        if not (self.repository.home / BLAMES_FOLDER).is_dir():
            return ""
        from perfvcs.reports.blame import stored_cause

        return stored_cause(self.repository, self.baseline.commit, self.target.commit)

    @property
    def checks(self) -> list[Check]:
        """Itself, as the only one."""
        return [self]


def _headers(repository: Repository, state: State) -> list[Header]:
    """The headers of the profiles of a state."""
    return [
        header
        for header in repository.index.headers([state.filed])
        if header.dirty == state.dirty and (state.product or header.design.product is None)
    ]


def _pairs_by_session(headers: Sequence[Header], baseline: State, target: State) -> dict[str, int]:
    """How many pairs of two commits each session has measured in turns, by the job with the most
    among the target's ``headers``; none where one side is not a commit.
    """
    if baseline.dirty or target.dirty or baseline.product or target.product:
        return {}
    pairs: Counter[tuple[str, str, str]] = Counter()
    for header in headers:
        if {baseline.commit, target.commit} <= set(header.design.versions):
            job = header.job
            pairs[header.collected.session, job.label, job.collector] += header.design.executions
    by_session: dict[str, int] = {}
    for (session, _, _), count in pairs.items():
        by_session[session] = max(count, by_session.get(session, 0))
    return by_session


def exit_status(report: Report, *, gate: bool = False, strict: bool = False) -> int:
    """The exit status that a report means, as ``Check.status`` has it."""
    if report.wrong or exceeded(report.limits):
        return DEGRADED
    if any(said(change).fails and (change.gate or not gate) for change in report.changes):
        return DEGRADED
    compared = report.compared
    settled = [change.settled for change in compared]
    if not compared and report.untouched:
        return 0
    return (
        OPEN if not compared or (gate and not any(settled)) or (strict and not all(settled)) else 0
    )


def judge(
    repository: Repository, revisions: tuple[str, ...], asked: CheckRequest = BY_RULES
) -> Check:
    """The check, from what is stored, of a target (the last of ``revisions``, else HEAD) against a
    baseline.

    The baseline is the first of two revisions, else the nearest ancestor with comparable profiles.
    Raises NothingToCompare, unless a limit is exceeded: that needs no baseline.
    """
    try:
        pair = stored(repository, revisions)
    except NothingToCompare as nothing:
        target = repository.state(revisions[-1] if revisions else "HEAD")
        criteria = repository.criteria(target, target)
        report = _alone(repository, target, asked.method, criteria, nothing)
        if not report.limits:
            raise
        return Check(repository, target, target, report)
    check = compared(repository, pair.baseline, pair.target, asked)
    return msgspec.structs.replace(check, why="" if pair.usual else pair.why)


def compared(
    repository: Repository,
    baseline: State,
    target: State,
    asked: CheckRequest,
    criteria: Criteria | None = None,
) -> Check:
    """The check of two states; ``criteria`` as in ``Repository.compare``.

    Reads the report if the same comparison is remembered. Raises NothingToCompare, unless a limit
    is exceeded.
    """
    from perfvcs.check.markdown import decode

    memory, pair = repository.index.memory, (baseline.verdict_key, target.verdict_key)
    basis = _basis(repository, baseline, target, [asked, criteria])
    remembered = memory.recall(*pair) if basis else None
    if remembered and remembered.basis == basis:
        with suppress(Malformed):  # a changed byte
            report = decode(remembered.report)
            remember(repository, baseline, target, remembered.report, basis)  # as the last verdict
            return Check(repository, baseline, target, report)
    criteria = criteria or repository.criteria(baseline, target)
    try:
        comparison = repository.compare(baseline, target, asked, criteria=criteria)
        comparison = doubted(repository, comparison, baseline, target)
        report = inheriting(repository, comparison, target)
    except NothingToCompare as nothing:
        alone = _alone(repository, target, asked.method, criteria, nothing)
        report = inheriting(
            repository, msgspec.structs.replace(alone, baseline=baseline.name), target
        )
        if not (report.untouched or report.limits):
            raise
    remember(repository, baseline, target, msgspec.json.encode(report), basis)
    return Check(repository, baseline, target, report)


def _alone(
    repository: Repository,
    target: State,
    method: str,
    criteria: Criteria,
    nothing: NothingToCompare,
) -> Report:
    """The report on a target with ``nothing`` to compare it with: the limits that it exceeds, or
    may exceed, and why there is no more.
    """
    from perfvcs.check.limits import limits
    from perfvcs.check.rows import ProfileRows

    measured = filter(target.has, repository.index.measured([target.filed]))
    rows = ProfileRows({}, repository.profiles)
    verdicts = limits([], list(measured), criteria.rules, rows)
    beyond = [verdict for verdict in verdicts if verdict.word != "same"]
    return Report(
        baseline="",
        target=target.name,
        method=method,
        changes=[],
        limits=beyond,
        remarks=[str(nothing)] * bool(beyond),
        judged_by=criteria.judged_by,
    )


def remember(
    repository: Repository, baseline: State, target: State, report: bytes, basis: str = ""
) -> None:
    """Remember a verdict on two revisions; a product is not a part of their history, nor is a
    revision against itself.
    """
    if not (baseline.product or target.product) and baseline != target:
        repository.index.memory.remember(
            baseline.verdict_key,
            target.verdict_key,
            report,
            basis,
            stored_profiles(repository, baseline, target),
        )


def _basis(
    repository: Repository, baseline: State, target: State, settings: Sequence[object]
) -> str:
    """The hash of all that a report from what is stored depends on: profiles, options, the
    project's own files, and the version and commit of perfvcs.

    Empty where that commit was changed: another edit may judge otherwise. What a commit has stays
    as it is; of the working tree it counts whether its rules judge.
    """
    # also a register that cannot be read is said, whatever else is missing
    project, accepted = repository.project, repository.acceptances
    code = origin.commit()
    if code.endswith("+"):
        return ""
    path = project.root / RULES_FILE
    text = path.read_bytes().hex() if path.is_file() and not project.bare else ""
    ended = [acceptance.id for acceptance in accepted if acceptance.has_ended(date.today())]
    states = [(state.commit, state.dirty) for state in (baseline, target)]
    criteria_limits = repository.criteria_reader.rules(baseline.commit, target.commit).rules.lowered
    options = [*settings, project.shallow, repository.criteria_reader.edited]
    basis = [
        repository.index.head,
        states,
        options,
        text,
        accepted,
        criteria_limits,
        ended,
        [perfvcs.__version__, code],
        noted(repository, target),
    ]
    return hashlib.sha256(msgspec.json.encode(basis)).hexdigest()
