"""A ruling: whether a change does what is expected of it, and is still right.

``Ruling`` is what `perf judge --json` prints (``perfvcs-judge/1``, docs/judge.md).
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import structs

from perfvcs.judge.expectation import Finding, decide
from perfvcs.judge.guardcheck import GuardCheck, Rejected, said_by
from perfvcs.judge.quiet import Trust, trust
from perfvcs.judge.safeguard import Parts, Seen, examine, examine_files, is_open, layout
from perfvcs.judge.trials import Unaffordable
from perfvcs.profile.naming import labelled
from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfvcs.check.change import Change, Report
    from perfvcs.judge.candidate import Candidate, Target
    from perfvcs.judge.judgerequest import JudgeRequest
    from perfvcs.judge.plain import Plain
    from perfvcs.measure.progress import Progress
    from perfvcs.measure.rig import Rig
    from perfvcs.measure.storedsession import CampaignOutcome
    from perfvcs.profile import Profile
    from perfvcs.repository.state import State

Verdict = Literal["proved", "refuted", "not decided", "rejected", "failed"]
FORMAT = "perfvcs-judge/1"
STATUS = {"proved": 0, "refuted": 3, "not decided": 4, "failed": 5, "rejected": 6}
LONGEST_NAME = 60  # characters of a target in a sentence


class Compared(msgspec.Struct, frozen=True):
    """One comparison of a ruling; effects are shares of the base."""

    benchmark: str
    metric: str
    word: str
    effect: float | None
    low: float | None
    high: float | None
    pairs: int

    @classmethod
    def of(cls, change: Change) -> Compared:
        """A change as a ruling tells it."""
        return cls(
            labelled(change.job, change.uid, change.size),
            change.metric,
            change.word,
            change.effect,
            change.low,
            change.high,
            min(change.executions),
        )


class Cost(msgspec.Struct, frozen=True):
    """What a ruling took: ``seconds`` of its ``budget``, and ``pairs`` of executions."""

    seconds: float
    budget: float
    pairs: int

    @property
    def left(self) -> float:
        """The seconds that are left of the budget."""
        return max(0.0, self.budget - self.seconds)


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a change, and all that it rests on.

    ``decided_by`` is the comparison that decides; ``guard`` has the checks by name, ``next`` the
    commands that go on, as they can be run.
    """

    format: str = FORMAT
    verdict: Verdict
    why: str
    expectation: str
    base: str
    target: str
    decided_by: Compared | None = None
    comparisons: list[Compared] = []
    guard: dict[str, GuardCheck] = {}
    trust: Trust | None = None
    cost: Cost
    restored: list[str] = []
    next: list[str] = []

    @property
    def status(self) -> int:
        """The exit status."""
        return STATUS[self.verdict]


def judge(rig: Rig, asked: JudgeRequest) -> Ruling:
    """Measures the target against the base in turns, now, and judges it.

    No stored profile counts; only builds are used again. Raises UsageError where there is nothing
    to judge.
    """
    began = time.monotonic()
    rig.repository.acceptances = []  # these are about checks, and the change may have written them
    with ExitStack() as stack:
        # not below .perf, where a session sweeps up what others left
        place = Path(stack.enter_context(TemporaryDirectory(prefix="perfvcs-judge-")))
        project = rig.repository.project
        candidate = stack.enter_context(asked.candidate(project, place / "target"))
        found = beforehand(rig.progress, asked, candidate)
        if found.verdict == "failed":
            baseline, specs = stack.enter_context(asked.baseline(project, place / "base"))
            found = _measured(rig, asked, candidate, found, baseline, specs, began)
        cost = structs.replace(found.cost, seconds=time.monotonic() - began)
        return structs.replace(found, cost=cost)


def _measured(
    rig: Rig,
    asked: JudgeRequest,
    candidate: Candidate,
    empty: Ruling,
    baseline: State,
    specs: tuple[str, ...],
    began: float,
) -> Ruling:
    from perfvcs.measure.campaign import settle

    target = candidate.state
    trials, request = asked.session(rig.repository.project, [candidate], specs, began)
    jobs = len(request.apply(rig.config)[0])

    def is_decided(report: Report, profiles: Sequence[Profile]) -> bool:
        """Whether what a job gave so far decides it, if the others say nothing else, and no doubt
        is left that more of it may settle.
        """
        finding = decide(asked.expectation, report.changes, jobs=jobs)
        if finding.word != "proved":
            return finding.word == "refuted"
        trials.complete()
        plain = [each for each in trials.plain if each.job in {one.job.label for one in profiles}]
        checks, _ = _checked(finding, asked, candidate, report, profiles, plain)
        return not is_open(checks, finding.change)

    try:
        outcome, session = settle(
            structs.replace(rig, executor=trials),
            (baseline, target),
            request,
            asked.question,
            until=is_decided,
        )
    except Rejected as error:
        return rejected(empty, error.checks)
    except Unaffordable as error:
        return unmeasured(empty, [], [asked.too_small(error, began)])
    if trials.rejected:
        return rejected(empty, trials.rejected[1])
    if outcome.failures or not outcome.profiles:
        return unmeasured(empty, list(map(str, outcome.failures)), outcome.warnings)
    report = asked.compare(rig.repository, baseline, target, session)
    checks = trials.checks(rig.repository.project, 1)
    return decided(empty, asked, candidate, report, outcome, checks, trials.plain)


def _checked(
    finding: Finding,
    asked: JudgeRequest,
    candidate: Candidate,
    report: Report,
    profiles: Sequence[Profile],
    plain: Sequence[Plain],
) -> tuple[dict[str, GuardCheck], Trust]:
    """The checks of the guard, and what the base's profiles say of themselves."""
    deciding = finding.change
    base = [profile for profile in profiles if profile.design.version == 0]
    trusted = trust(base, (deciding.uid, deciding.metric) if deciding else None)
    checks = examine(
        Seen(
            candidate,
            report.changes,
            plain,
            trusted,
            report.outputs,
            same_output=asked.same_output,
            left=report.left,
            limits=report.limits,
            parts=Parts.of(profiles),
        )
    )
    if finding.word == "proved" and asked.expectation.kind != "not-slower":
        checks["layout"] = layout(deciding, base)
    return checks, trusted


def beforehand(progress: Progress, asked: JudgeRequest, candidate: Candidate) -> Ruling:
    """The ruling on a candidate before anything was measured: ``failed``, unless the files of the
    change decide. What they say, ``progress`` says now where it decides nothing.
    """
    empty = Ruling(
        verdict="failed",
        why="nothing was measured",
        expectation=str(asked.expectation),
        base=asked.base[:10],
        target=_name(asked.target),
        cost=Cost(0.0, asked.budget, 0),
        restored=candidate.restored,
        guard=examine_files(candidate),
    )
    finding = Finding("proved", "")  # at best
    if candidate.is_base and asked.expectation.kind != "not-slower":
        finding = Finding("refuted", "nothing differs from the base but what measures or judges it")
    verdict, why = _verdict(finding, empty.guard)
    if verdict != "proved":
        return structs.replace(empty, verdict=verdict, why=why)
    for said in said_by(empty.guard, "warning"):
        progress.say(said)
    return empty


def rejected(empty: Ruling, checks: Mapping[str, GuardCheck]) -> Ruling:
    """The ruling on a target that checks reject before it is measured."""
    why = "; ".join(said_by(checks, "rejected"))
    return structs.replace(empty, verdict="rejected", why=why, guard={**empty.guard, **checks})


def unmeasured(empty: Ruling, failures: Sequence[str], warnings: Sequence[str]) -> Ruling:
    """The ruling on a target of which there are no figures: it failed, or the budget ended."""
    verdict: Verdict = "failed" if failures else "not decided"
    why = next(iter([*failures, *warnings]), "nothing was measured")
    return structs.replace(empty, verdict=verdict, why=why)


def decided(
    empty: Ruling,
    asked: JudgeRequest,
    candidate: Candidate,
    report: Report,
    outcome: CampaignOutcome,
    tried: Mapping[str, GuardCheck],
    plain: Sequence[Plain],
) -> Ruling:
    """The ruling on what was measured; ``tried`` are the checks of what was laid out for it."""
    finding = decide(asked.expectation, report.changes)
    deciding = finding.change
    checks, trusted = _checked(finding, asked, candidate, report, outcome.profiles, plain)
    checks |= tried
    verdict, why = _verdict(finding, checks)
    pairs = max(profile.design.executions for profile in outcome.profiles)
    return structs.replace(
        empty,
        verdict=verdict,
        why=why,
        decided_by=None if deciding is None else Compared.of(deciding),
        comparisons=[Compared.of(change) for change in report.compared],
        guard=checks,
        trust=trusted,
        cost=structs.replace(empty.cost, pairs=pairs),
        next=_next(asked, candidate),
    )


def _verdict(finding: Finding, checks: Mapping[str, GuardCheck]) -> tuple[Verdict, str]:
    """The verdict and why: what rejects comes first, and nothing that is in doubt is proved."""
    if reasons := said_by(checks, "rejected"):
        return "rejected", "; ".join(reasons)
    doubts = said_by(checks, "doubted")
    if doubts and finding.word == "proved":
        return "not decided", "; ".join(doubts)
    return finding.word, finding.why


def _next(asked: JudgeRequest, candidate: Candidate) -> list[str]:
    """What shows more: the figures, and for two revisions the function."""
    commands = [f"perf show {asked.measured_base} {candidate.product.name}"]
    if asked.target.revision:
        commands.append(f"perf blame {asked.base[:10]} {asked.target.revision}")
    return commands


def _name(target: Target) -> str:
    if target.patch is not None:
        return target.patch.name
    return shorten(target.name, LONGEST_NAME) or "the working tree"
