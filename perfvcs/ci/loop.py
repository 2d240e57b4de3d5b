"""The loop itself: baselines are pulled, what the change can touch is measured in turns with its
baseline, and judged.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from perfvcs.check.answer import became
from perfvcs.check.change import Change, JudgedBy, NothingToCompare, Report
from perfvcs.check.method import BY_RULES, CheckRequest
from perfvcs.check.movement import entries
from perfvcs.check.text import benchmark, revision
from perfvcs.check.text import measure as measured
from perfvcs.check.vocabulary import said
from perfvcs.ci.civerdict import Alarm, CausesOfUnit, CiVerdict, receipt, word_of
from perfvcs.environment.variables import hidden
from perfvcs.errors import PerfError
from perfvcs.measure.progress import PassedOn, Progress
from perfvcs.measure.session import CollectFailed
from perfvcs.reports.check import Check
from perfvcs.reports.checkforms import Background
from perfvcs.reports.inturns import measure
from perfvcs.repository import Repository
from perfvcs.repository.state import State
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from perfvcs.jobs.config import Config
    from perfvcs.measure.request import Request
    from perfvcs.measure.rig import Rig

NOTE = 300  # characters of a note
MOST_NAMED_FILES = 3  # changed files that a reason names


class Heard(PassedOn):
    """A progress that remembers what failed, for the reports."""

    def __init__(self, inner: Progress) -> None:
        super().__init__(inner)
        self.failed: list[str] = []

    def say(self, line: str) -> None:
        """Hands the line on, without tokens."""
        self.inner.say(hidden(line, os.environ))

    def fail(self, failure: str) -> None:
        """Remembers the failure and hands it on, without tokens."""
        reason = hidden(failure, os.environ)
        self.failed.append(shorten(reason, NOTE))
        self.inner.fail(reason)


@dataclass(frozen=True)
class LoopRequest:
    """The request: the commits, what to measure, what counts, and how many commits' baselines to
    ``pull`` (0: none).

    ``select``: what the change cannot touch is left out, but for one in so many (0: all of it);
    None: nothing is left out. ``remote``: nobody who reads the reports has the job's clone.
    """

    baseline: str
    target: str
    request: Request
    select: int | None = 0
    pull: int = 0
    asked: CheckRequest = BY_RULES
    remote: bool = False


def judge(rig: Rig, wanted: LoopRequest) -> tuple[CiVerdict, Check]:
    """Measure and judge one change; raises UsageError for what is wrong in perf.toml, and
    Locked.
    """
    began, heard, repository = time.monotonic(), Heard(rig.progress), rig.repository
    ends = State(wanted.baseline), State(wanted.target)
    notes = [note] if wanted.pull and (note := pull(repository, wanted.pull)) else []
    criteria = repository.criteria(*ends, committed=True)
    check, why = _measured(rig.watched(heard), wanted, ends, criteria.judged_by)
    outcome, report = check.outcome, check.report
    pairs = [profile.design.executions for profile in outcome.profiles] if outcome else []
    errors = receipt(repository, report, pairs, criteria.rules)
    word = word_of(report, errors, failures=bool(heard.failed))
    if wanted.baseline == wanted.target:
        word = "untouched"
    if word == "untouched":
        why = [_why(repository, wanted)]
    elif word == "failed":
        why = heard.failed
    elif errors.alarms and errors.alarms.refused:
        why = ["HEAD against itself is called changed too often on this machine (see below)"]
    warnings = [*(outcome.warnings if outcome else []), *_doubts(check)]
    background = _background(check, remote=wanted.remote)
    verdict = CiVerdict(
        word=word,
        report=report,
        receipt=errors,
        why=why,
        alarms=_alarms(repository, rig.config, ends, report),
        notes=[*notes, *(shorten(hidden(warning, os.environ), NOTE) for warning in warnings)],
        causes=[CausesOfUnit(*unit, lines) for unit, lines in background.causes.items()],
        following=background.sentences,
        seconds=time.monotonic() - began,
    )
    return _hidden(verdict), check


def _measured(
    rig: Rig, wanted: LoopRequest, ends: tuple[State, State], judged_by: JudgedBy
) -> tuple[Check, list[str]]:
    """The check, and why there is nothing in it, where that is so."""
    nothing = Report(
        baseline=ends[0].name, target=ends[1].name, method="auto", changes=[], judged_by=judged_by
    )
    if wanted.baseline == wanted.target:
        return Check(rig.repository, *ends, nothing), []
    try:
        names = wanted.baseline, wanted.target
        check = measure(rig, names, wanted.request, wanted.asked, select=wanted.select)
        return check, []
    except (NothingToCompare, CollectFailed) as error:
        reason = shorten(hidden(str(error), os.environ), NOTE)
        return Check(rig.repository, *ends, nothing), [reason]


def _doubts(check: Check) -> list[str]:
    """What the guard of `perf judge` has against the figures that were measured."""
    from perfvcs.judge.quiet import trust
    from perfvcs.judge.safeguard import Parts, doubts

    if check.outcome is None:
        return []
    profiles = check.outcome.profiles
    base = [profile for profile in profiles if profile.design.version == 0]
    found = doubts(check.report.changes, trust(base, None), Parts.of(profiles))
    return [f"not to be relied on: {doubt}" for doubt in found]


def _hidden(verdict: CiVerdict) -> CiVerdict:
    """The verdict without tokens, before any format writes them in its own way."""
    document = msgspec.json.encode(verdict)
    return msgspec.json.decode(hidden(document.decode(), os.environ), type=CiVerdict)


def pull(repository: Repository, last: int) -> str:
    """Take over the newest baselines that a remote has; what went wrong, in a sentence."""
    from perfvcs.exchange.sharing import pull_if_any

    try:
        pulled = pull_if_any(repository, last)
        if pulled is not None:
            pulled.raise_refused()
        repository.refresh()
    except PerfError as error:
        return shorten(hidden(f"no baselines were pulled: {error}", os.environ), NOTE)
    return ""


def _why(repository: Repository, wanted: LoopRequest) -> str:
    """Why nothing was measured, in words."""
    from perfvcs.reports.select import select

    if wanted.baseline == wanted.target:
        return "there is no change, HEAD is its own baseline"
    choices = select(repository, (wanted.baseline, wanted.target), wanted.request.jobs).choices
    reasons = list(dict.fromkeys(choice.reason for choice in choices if not choice.run))
    listed = repository.project.git(
        "diff", "--name-only", "-z", wanted.baseline, wanted.target
    ).split("\0")
    names = [
        shorten(name, NOTE // MOST_NAMED_FILES)
        for name in islice(filter(None, listed), MOST_NAMED_FILES)
    ]
    more = (
        f" and {counted(len(listed) - 1 - len(names), 'more file')}"
        if len(listed) - 1 > len(names)
        else ""
    )
    several = counted(len(choices), "benchmark")
    return (
        f"{reasons[0] if len(reasons) == 1 else f'the change cannot touch any of the {several}'}"
        f" ({', '.join(names)}{more})"
    )


def _background(check: Check, *, remote: bool) -> Background:
    """What the report says beyond its verdicts; on a service's machine the next step is one for
    another clone.
    """
    background = check.background()
    elsewhere = _on_the_branch(check) if remote else []
    return msgspec.structs.replace(background, following=elsewhere) if elsewhere else background


def _on_the_branch(check: Check) -> list[str]:
    """How to accept a degradation in another clone; nothing where there is none, or where it is not
    known yet which commit made it.

    The service's own merge cannot be accepted: the next one does not contain it.
    """
    from perfvcs.reports.nextsteps import ACCEPTING, between_them

    if not any(said(change).fails for change in check.report.changes) or any(
        between_them(check.repository, check.baseline, check.target)
    ):
        return []
    base = revision(check.report.baseline)
    return [f"Next, in a clone of the branch: perf ci --base {base}", ACCEPTING]


def _alarms(
    repository: Repository, config: Config, ends: tuple[State, State], report: Report
) -> list[Alarm]:
    """The benchmarks that became worse, those that matter most first."""
    from perfvcs.ci.findings import BenchmarkPlaces

    open_changes = (
        [change for change in entry.changes if said(change).fails] for entry in entries(report)
    )
    worse = [changes for changes in open_changes if changes]
    if not worse:
        return []
    places = BenchmarkPlaces(repository, config, *ends)
    return [
        Alarm(
            changes[0],
            changes,
            places.of(changes[0]),
            any(change.gate for change in changes),
            _text(changes),
        )
        for changes in worse
    ]


def _text(changes: list[Change]) -> str:
    """All that became worse of one benchmark, in a sentence."""
    seen = {(change.metric, change.size): change for change in reversed(changes)}
    parts = [
        f"{metric_name(change.metric)} {measured(change)}".rstrip()
        for change in reversed(seen.values())
    ]
    return shorten(f"{benchmark(changes[0])} {became(changes[0])}: {', '.join(parts)}", NOTE)
