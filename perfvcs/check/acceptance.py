"""What a project has accepted: a known degradation is judged against the accepted level, and a
worse one still fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from perfvcs.check.change import Change, Report
from perfvcs.check.vocabulary import ACCEPTABLE
from perfvcs.text.quantity import percent

if TYPE_CHECKING:
    from perfvcs.git.ancestry import Ancestry
    from perfvcs.history.verdict import Verdict
    from perfvcs.profile import Job

ID_DIGITS = 7  # hex digits
NAME_DIGITS = 10  # hex digits of a commit in a report
SERIES_DIGITS = 12  # hex digits of a series key in the file
ABBREVIATED_COMMIT = re.compile("[0-9a-f]{4,64}")  # an id, or how it begins
DEFAULT_DELTA = 0.01  # of a change that has none

Acceptable = TypeVar("Acceptable", "Change", "Verdict")  # what is accepted or not


class Acceptance(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One accepted change, as perf-accepted.toml has it.

    From commit ``baseline`` to commit ``target`` a metric of a benchmark (its label, its unit
    ``uid`` and ``size``) became worse by ``effect`` (target/baseline - 1), or by ``shift`` in its
    unit where there is no ratio. ``series`` is how the series key begins; empty is any. From the
    day ``until`` on it has no effect. ``who`` and ``when`` are only displayed.
    """

    id: str
    benchmark: str
    uid: str = ""
    size: float | None = None
    metric: str
    effect: float | None = None
    shift: float | None = None
    unit: str = ""
    better: Literal["lower", "higher"] = "lower"
    series: str = ""
    baseline: str
    target: str
    reason: str
    until: date | None = None
    who: str = ""
    when: datetime | None = None

    def is_about(self, change: Change | Verdict) -> bool:
        """Whether it accepts this benchmark and metric."""
        return (self.benchmark, self.uid, self.size, self.metric) == (
            change.job,
            change.uid,
            change.size,
            change.metric,
        ) and change.series.startswith(self.series)

    def renamed(self, former: Job, present: Job) -> Acceptance:
        """The acceptance under the job's present name, if it names a former one."""
        if self.benchmark != former.label or not former.key.startswith(self.series):
            return self
        uid = present.name if self.uid == former.name else self.uid
        return replace(
            self,
            benchmark=present.label,
            uid=uid,
            series=self.series and present.key[:SERIES_DIGITS],
        )

    def has_ended(self, today: date) -> bool:
        """Whether its day has come."""
        return self.until is not None and self.until <= today

    def covers(self, way: Ancestry, since: str = "") -> bool:
        """Whether the accepted step lies on the way, or was accepted at or after the commit
        ``since`` which single values differ.

        The target contains it and the baseline does not. A baseline within the accepted step is not
        covered: on which side of it the change came is not known.
        """
        if since:
            return way.contains(self.target, since) and way.contains(way.target, self.target)
        if not way.gained(self.target):
            return False
        if way.baseline == self.baseline:
            return True
        return not (
            way.contains(way.baseline, self.baseline) and way.contains(self.target, way.baseline)
        )


class Move(NamedTuple):
    """How far something moved: what an accepted level is compared with."""

    better: str
    effect: float | None
    low: float | None
    high: float | None
    shift: float | None = None
    delta: float | None = None


class Ruling(NamedTuple):
    """What acceptances say of a move: the reasons why it is ``accepted``; None where it went beyond
    the ``level``, maybe for certain.
    """

    accepted: str | None
    level: str = ""
    certain: bool = False


class _Chain(NamedTuple):
    """Accepted steps that follow each other: what they allow together."""

    ratio: float
    shift: float
    steps: tuple[Acceptance, ...]


def between(change: Change, baseline: str, target: str) -> tuple[str, str]:
    """The commits between which a change came: those that were compared, or of single values the
    one from which on they differ and the measured one before it.
    """
    if not change.preceding:
        return baseline, target
    return change.preceding, change.since or target


def identity(report: Report, change: Change) -> str:
    """The short name of a change: the same for the same commits, series, unit, size and metric,
    wherever it is computed.
    """
    import hashlib

    sides = between(change, report.baseline, report.target)
    if change.preceding:
        sides = sides[0][:NAME_DIGITS], sides[1][:NAME_DIGITS]
    parts = [*sides, change.series, change.uid, change.size, change.metric]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:ID_DIGITS]


def is_committed(report: Report) -> bool:
    """Whether both sides are commits; neither uncommitted changes nor files have a name that could
    be written down.
    """
    return all(ABBREVIATED_COMMIT.fullmatch(name) for name in (report.baseline, report.target))


def accept(
    changes: Iterable[Acceptable], acceptances: Iterable[Acceptance], *, way: Ancestry, today: date
) -> list[Acceptable]:
    """The changes with what was accepted on the way; what is worse than accepted says so.

    With an accepted ratio X = 1 + effect, a change's ratio R is judged as R / X: it is still a
    degradation where that is worse than ``delta`` and the interval excludes X. Of accepted steps
    that follow each other the ratios multiply. What is accepted of a commit before the baseline is
    not said.
    """
    by_benchmark: dict[tuple[str, str, float | None, str], list[Acceptance]] = {}
    for acceptance in acceptances:
        by_benchmark.setdefault(
            (acceptance.benchmark, acceptance.uid, acceptance.size, acceptance.metric), []
        ).append(acceptance)
    ruled = []
    for change in changes:
        candidates = by_benchmark.get((change.job, change.uid, change.size, change.metric), ())
        covering = [
            acceptance
            for acceptance in candidates
            if (change.word in ACCEPTABLE or change.since)
            and acceptance.is_about(change)
            and acceptance.covers(way, change.since)
        ]
        update = _judged(change, covering, way, today) if covering else {}
        ruled.append(replace(change, **update) if update else change)
    return ruled


def ruling(move: Move, acceptances: Sequence[Acceptance], way: Ancestry) -> Ruling:
    """What acceptances that cover a change for the worse, and have not ended, say of it."""
    worse = _worse(move.better)
    chain = _chain(acceptances, way, worse)
    above = _excess(move, chain, worse)
    if above is not None:
        return Ruling(None, *above)
    return Ruling("; ".join(dict.fromkeys(step.reason for step in chain.steps)))


def _worse(better: str) -> int:
    return -1 if better == "higher" else 1


def _judged(
    change: Change | Verdict, covering: Sequence[Acceptance], way: Ancestry, today: date
) -> dict[str, object]:
    """What becomes of a change for the worse in the light of the acceptances that cover it."""
    valid = [acceptance for acceptance in covering if not acceptance.has_ended(today)]
    if change.word not in ACCEPTABLE:
        return {"since": "", "finding": ""} if valid else {}
    notes = [change.reason] if change.reason else []
    # a suspected improvement
    if change.effect is not None and _worse(change.better) * change.effect < 0:
        return {}
    gate = change.gate
    if valid:
        move = Move(
            change.better, change.effect, change.low, change.high, change.shift, change.delta
        )
        accepted, level, certain = ruling(move, valid, way)
        if accepted is not None:
            return {"accepted": accepted, "gate": False}
        gate = gate and certain
        notes.append(f"more than the accepted {level}".rstrip())
    notes += [
        f"its acceptance ended on {acceptance.until}: {acceptance.reason}"
        for acceptance in covering
        if acceptance not in valid
    ]
    return {"reason": "; ".join(notes), "gate": gate}


def _chain(valid: Sequence[Acceptance], way: Ancestry, worse: int) -> _Chain:
    """The sequence of steps that follow each other which accepts most; steps that overlap count
    once.
    """

    def size(chain: _Chain) -> tuple[float, float]:
        return worse * chain.ratio, worse * chain.shift

    def extended(chain: _Chain, acceptance: Acceptance) -> _Chain:
        return _Chain(
            chain.ratio * (1 + (acceptance.effect or 0)),
            chain.shift + (acceptance.shift or 0),
            (*chain.steps, acceptance),
        )

    start = _Chain(1.0, 0.0, ())
    largest: dict[tuple[str, str], Acceptance] = {}  # of one step, accepted several times
    for acceptance in sorted(valid, key=lambda acceptance: size(extended(start, acceptance))):
        largest[acceptance.baseline, acceptance.target] = acceptance
    steps = list(largest.values())

    def preceding(later: Acceptance) -> list[int]:
        return [
            place
            for place, step in enumerate(steps)
            if step is not later and way.contains(later.baseline, step.target)
        ]

    before = list(map(preceding, steps))
    best: dict[int, _Chain] = {}
    # what stands before others stands before all that follow them, too: the number of those before
    # it orders them
    for place in sorted(range(len(steps)), key=lambda place: len(before[place])):
        # not there: a circle in a hand-made file
        earlier = [best[other] for other in before[place] if other in best]
        best[place] = extended(max(earlier, key=size, default=start), steps[place])
    return max(best.values(), key=size)


def _excess(move: Move, chain: _Chain, worse: int) -> tuple[str, bool] | None:
    """The accepted level in words, and whether the excess is certain; None if a move is not worse
    than accepted.
    """
    delta = DEFAULT_DELTA if move.delta is None else move.delta
    bound = move.high if worse < 0 else move.low
    if move.effect is not None and any(step.effect is not None for step in chain.steps):
        excess = worse * ((1 + move.effect) / chain.ratio - 1)
        least = excess if bound is None else worse * ((1 + bound) / chain.ratio - 1)
        return (percent(chain.ratio - 1), least > delta) if excess > delta and least > 0 else None
    if move.shift is not None and any(step.shift is not None for step in chain.steps):
        return ("", True) if worse * (move.shift - chain.shift) > delta * abs(chain.shift) else None
    return None  # a finding without a number: there is nothing to be worse
