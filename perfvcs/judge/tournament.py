"""A tournament: several candidates against one base in one session, ranked.

``Standings`` is what `perf judge --tournament --json` prints (``perfvcs-tournament/1``).
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfvcs.errors import UsageError
from perfvcs.judge.candidate import Candidate, Target
from perfvcs.judge.expectation import gain_of, is_better
from perfvcs.judge.guardcheck import Rejected
from perfvcs.judge.ruling import Cost, Ruling, beforehand, decided, rejected, unmeasured
from perfvcs.judge.trials import Trials, Unaffordable
from perfvcs.measure.budget import run
from perfvcs.measure.product import MOST_PRODUCTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.judge.judgerequest import JudgeRequest
    from perfvcs.measure.rig import Rig
    from perfvcs.measure.storedsession import CampaignOutcome
    from perfvcs.repository.state import State

FORMAT = "perfvcs-tournament/1"
BLOCKS = 30  # at most; the budget mostly ends before


class Place(msgspec.Struct, frozen=True):
    """A candidate's place, from 1; those that nothing tells apart share one. None where its ruling
    excludes it.
    """

    place: int | None
    ruling: Ruling


class Standings(msgspec.Struct, frozen=True, kw_only=True):
    """All candidates: the best first, then those that a ruling excludes."""

    format: str = FORMAT
    base: str
    expectation: str
    places: list[Place]
    cost: Cost

    @property
    def status(self) -> int:
        """The exit status: that of the best candidate."""
        return self.places[0].ruling.status


class _Competitor(msgspec.Struct):
    """A candidate in the session, what is asked of it, the state that it is measured as, and its
    ruling.
    """

    candidate: Candidate
    asked: JudgeRequest
    state: State
    ruling: Ruling
    gain: float | None = None  # of which nothing is known


def compete(rig: Rig, asked: JudgeRequest, targets: Sequence[Target]) -> Standings:
    """Measures all targets and the base in balanced blocks, judges each, and ranks them.

    Raises UsageError where there is nothing to judge.
    """
    most = MOST_PRODUCTS - bool(asked.hidden)  # the base is a product then, too
    if not 2 <= len(targets) <= most:
        beside = " beside --hidden" if asked.hidden else ""
        raise UsageError(f"a tournament{beside} has 2 to {most} candidates, not {len(targets)}")
    began = time.monotonic()
    rig.repository.acceptances = []  # these are about checks
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="perfvcs-judge-")))
        project, competitors = rig.repository.project, list[_Competitor]()
        baseline, specs = stack.enter_context(asked.baseline(project, place / "base"))
        for number, target in enumerate(targets, 1):
            of_target = asked._replace(target=target)
            names = (f"candidate-{number}", f"judged-candidate-{number}")
            candidate = stack.enter_context(
                of_target.candidate(project, place / f"target-{number}", names)
            )
            ruling = beforehand(rig.progress, of_target, candidate)
            competitors.append(_Competitor(candidate, of_target, candidate.state, ruling))
        open_ones = [
            competitor for competitor in competitors if competitor.ruling.verdict == "failed"
        ]
        outcome = _measure(rig, asked, baseline, specs, open_ones, began)
        places = _ranked(rig, competitors, asked, outcome)
    pairs = max(place.ruling.cost.pairs for place in places)
    cost = Cost(time.monotonic() - began, asked.budget, pairs)
    return Standings(
        base=asked.base[:10], expectation=str(asked.expectation), places=places, cost=cost
    )


def _measure(
    rig: Rig,
    asked: JudgeRequest,
    baseline: State,
    specs: Sequence[str],
    competitors: Sequence[_Competitor],
    began: float,
) -> CampaignOutcome:
    """Measure all in one session, and note the ruling on each."""
    from perfvcs.measure.storedsession import CampaignOutcome, opened

    outcome = CampaignOutcome()
    if not competitors:
        return outcome
    candidates = [competitor.candidate for competitor in competitors]
    trials, request = asked.session(rig.repository.project, candidates, specs, began)
    states = [baseline, *(competitor.state for competitor in competitors)]
    try:
        with opened(replace(rig, executor=trials), states, request, outcome) as session:
            run(session, dict.fromkeys(range(len(session.cells)), BLOCKS))
    except Unaffordable as error:
        outcome.warnings.append(asked.too_small(error, began))
    except Rejected:
        pass  # which the loop below asks of each
    for position, competitor in enumerate(competitors, 1):
        if checks := trials.rejected.get(position):
            competitor.ruling = rejected(competitor.ruling, checks)
        else:
            _judge(rig, baseline, competitor, outcome, trials, position)
    return outcome


def _judge(
    rig: Rig,
    baseline: State,
    competitor: _Competitor,
    outcome: CampaignOutcome,
    trials: Trials,
    position: int,
) -> None:
    """Note the ruling on a candidate, and how much it gained."""
    of_both = [profile for profile in outcome.profiles if profile.design.version in (0, position)]
    if {profile.design.version for profile in of_both} != {0, position}:
        failures = [
            str(failure) for failure in outcome.failures if failure.version == competitor.state.name
        ]
        competitor.ruling = unmeasured(competitor.ruling, failures, outcome.warnings)
        return
    asked = competitor.asked
    session = outcome.profiles[0].collected.session
    report = asked.compare(rig.repository, baseline, competitor.state, session)
    plain = [attempt for attempt in trials.plain if attempt.position == position]
    checks = trials.checks(rig.repository.project, position)
    competitor.ruling = decided(
        competitor.ruling, asked, competitor.candidate, report, outcome, checks, plain
    )
    competitor.gain = gain_of(asked.expectation, report.changes)


def _ranked(
    rig: Rig, competitors: Sequence[_Competitor], asked: JudgeRequest, outcome: CampaignOutcome
) -> list[Place]:
    """The candidates with their places; last those that are excluded, or were not measured.

    A candidate shares the place of the one before it unless that is better beyond chance.
    """
    fair = [
        competitor
        for competitor in competitors
        if competitor.gain is not None and competitor.ruling.verdict not in ("rejected", "failed")
    ]
    fair.sort(key=lambda competitor: -(competitor.gain or 0.0))
    places: list[Place] = []
    for number, competitor in enumerate(fair, 1):
        place = number
        if number > 1:
            session, better = outcome.profiles[0].collected.session, fair[number - 2]
            report = asked.compare(rig.repository, competitor.state, better.state, session)
            before = places[-1].place
            comparisons = len(fair) * (len(fair) - 1) // 2
            is_apart = is_better(asked.expectation, report.changes, comparisons)
            place = number if is_apart or before is None else before
        places.append(Place(place, competitor.ruling))
    excluded = [competitor for competitor in competitors if competitor not in fair]
    return places + [Place(None, competitor.ruling) for competitor in excluded]
