"""What a project has accepted: a known degradation is judged against the accepted level, and a worse one still fails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Literal, NamedTuple, Protocol

import msgspec

from perfvcs.check.change import Change, Report
from perfvcs.text.quantity import percent

ID = 7  # hex digits
SERIES = 12  # hex digits of a series key in the file
DELTA = 0.01  # of a change that has none


class Way(Protocol):
    """The way from one commit to another, see perfvcs.git.ancestry."""

    @property
    def baseline(self) -> str:
        """The full id of the commit at which it begins."""

    def gained(self, commit: str) -> bool:
        """Whether its end contains a commit that its beginning does not."""

    def contains(self, commit: str, other: str) -> bool:
        """Whether a commit (the first) is another or has it among its ancestors."""


class Acceptance(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One accepted change, as perf-accepted.toml has it.

    From commit ``baseline`` to commit ``target`` a metric of a benchmark (its label, its unit ``uid`` and ``size``) became worse by
    ``effect`` (target/baseline - 1), or by ``shift`` in its unit where there is no ratio. ``series`` is how the series key begins; empty
    is any. From the day ``until`` on it has no effect. ``who`` and ``when`` are told, never used.
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

    def is_about(self, change: Change) -> bool:
        """Whether it accepts this benchmark and metric."""
        return (
            (self.benchmark, self.uid, self.size, self.metric) == (change.job, change.uid, change.size, change.metric)
            and change.series.startswith(self.series)
        )  # fmt: skip

    def has_ended(self, today: date) -> bool:
        """Whether its day has come."""
        return self.until is not None and self.until <= today

    def covers(self, way: Way) -> bool:
        """Whether the accepted step lies on the way.

        The target contains it and the baseline does not. A baseline within the accepted step is not covered: on which side of it the
        change came cannot be told.
        """
        if not way.gained(self.target):
            return False
        if way.baseline == self.baseline:
            return True
        return not (way.contains(way.baseline, self.baseline) and way.contains(self.target, way.baseline))


class _Chain(NamedTuple):
    """Accepted steps that follow each other: what they allow together."""

    ratio: float
    shift: float
    steps: tuple[Acceptance, ...]


def identity(report: Report, change: Change) -> str:
    """The short name of a change: the same for the same pair of revisions, series, unit, size and metric, wherever it is computed."""
    import hashlib

    about = [report.baseline, report.target, change.series, change.uid, change.size, change.metric]
    return hashlib.sha256(msgspec.json.encode(about)).hexdigest()[:ID]


def is_open(change: Change) -> bool:
    """Whether it is a degradation that nobody accepted."""
    return change.word == "degradation" and change.accepted is None


def is_committed(report: Report) -> bool:
    """Whether both sides are commits; uncommitted changes have no name that could be written down."""
    return not report.baseline.endswith("+") and not report.target.endswith("+")


def apply(report: Report, acceptances: Iterable[Acceptance], *, way: Way, today: date) -> Report:
    """The report with what was accepted on the way from its baseline to its target; what is worse than accepted says so.

    With an accepted ratio X = 1 + effect, a change's ratio R is judged as R / X: it is still a degradation where that is worse than
    ``delta`` and the interval excludes X. Of accepted steps that follow each other the ratios multiply.
    """
    known: dict[tuple[str, str, float | None, str], list[Acceptance]] = {}
    for one in acceptances:
        known.setdefault((one.benchmark, one.uid, one.size, one.metric), []).append(one)
    changes = []
    for change in report.changes:
        found = known.get((change.job, change.uid, change.size, change.metric), ())
        about = [one for one in found if change.word in ("degradation", "suspected") and one.is_about(change) and one.covers(way)]
        changes.append(_judged(change, about, way, today) if about else change)
    return msgspec.structs.replace(report, changes=changes)


def _judged(change: Change, about: Sequence[Acceptance], way: Way, today: date) -> Change:
    """A change for the worse in the light of the acceptances that cover it."""
    valid = [one for one in about if not one.has_ended(today)]
    notes = [change.reason] if change.reason else []
    worse = -1 if change.better == "higher" else 1
    if change.effect is not None and worse * change.effect < 0:  # a suspected improvement
        return change
    gate = change.gate
    if valid:
        chain = _chain(valid, way, worse)
        above = _excess(change, chain, worse)
        if above is None:
            return msgspec.structs.replace(
                change, accepted="; ".join(dict.fromkeys(one.reason for one in chain.steps)), gate=False
            )
        level, gate = above
        notes.append(f"more than the accepted {level}".rstrip())
    notes += [f"its acceptance ended on {one.until}: {one.reason}" for one in about if one not in valid]
    return msgspec.structs.replace(change, reason="; ".join(notes), gate=gate)


def _chain(valid: Sequence[Acceptance], way: Way, worse: int) -> _Chain:
    """Of the sequences of steps that follow each other the one that accepts most; steps that overlap count once."""

    def size(chain: _Chain) -> tuple[float, float]:
        return worse * chain.ratio, worse * chain.shift

    def extended(chain: _Chain, one: Acceptance) -> _Chain:
        return _Chain(chain.ratio * (1 + (one.effect or 0)), chain.shift + (one.shift or 0), (*chain.steps, one))

    start = _Chain(1.0, 0.0, ())
    largest: dict[tuple[str, str], Acceptance] = {}  # of one step, accepted several times
    for one in sorted(valid, key=lambda one: size(extended(start, one))):
        largest[one.baseline, one.target] = one
    steps = list(largest.values())
    before = [
        [place for place, one in enumerate(steps) if one is not later and way.contains(later.baseline, one.target)]
        for later in steps
    ]
    best: dict[int, _Chain] = {}
    # what stands before others stands before all that follow them, too: the number of those before it orders them
    for place in sorted(range(len(steps)), key=lambda place: len(before[place])):
        earlier = [best[other] for other in before[place] if other in best]  # not there: a circle in a hand-made file
        best[place] = extended(max(earlier, key=size, default=start), steps[place])
    return max(best.values(), key=size)


def _excess(change: Change, chain: _Chain, worse: int) -> tuple[str, bool] | None:
    """None where a change is no worse than accepted; else the accepted level in words, and whether the excess is certain."""
    delta = DELTA if change.delta is None else change.delta
    bound = change.high if worse < 0 else change.low
    if change.effect is not None and any(one.effect is not None for one in chain.steps):
        excess = worse * ((1 + change.effect) / chain.ratio - 1)
        least = excess if bound is None else worse * ((1 + bound) / chain.ratio - 1)
        return (percent(chain.ratio - 1), change.gate and least > delta) if excess > delta and least > 0 else None
    if change.shift is not None and any(one.shift is not None for one in chain.steps):
        return ("", change.gate) if worse * (change.shift - chain.shift) > delta * abs(chain.shift) else None
    return None  # a finding without a number: there is nothing to be worse
