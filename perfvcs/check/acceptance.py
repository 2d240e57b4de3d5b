"""What a project has accepted: a known degradation is judged against the accepted level, and a worse one still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from functools import cache
from math import prod
from typing import Literal

import msgspec

from perfvcs.check.change import Change, Report
from perfvcs.quantity import percent

ID = 7  # hex digits
SERIES = 12  # hex digits of a series key in the file
DELTA = 0.01  # of a change that has none

Contains = Callable[[str, str], bool]  # whether a commit (the first) is another or has it among its ancestors


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

    def covers(self, baseline: str, target: str, contains: Contains) -> bool:
        """Whether the accepted step lies on the way from commit ``baseline`` to commit ``target``.

        The target contains it and the baseline does not. A baseline within the accepted step is not covered: on which side of it the
        change came cannot be told.
        """
        if not contains(target, self.target) or contains(baseline, self.target):
            return False
        return baseline == self.baseline or not (contains(baseline, self.baseline) and contains(self.target, baseline))


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


def apply(
    report: Report, acceptances: Iterable[Acceptance], *, baseline: str, target: str, contains: Contains, today: date
) -> Report:
    """The report with what was accepted on the way between two full commit ids; what is worse than accepted says so.

    With an accepted ratio X = 1 + effect, a change's ratio R is judged as R / X: it is still a degradation where that is worse than
    ``delta`` and the interval excludes X. Of accepted steps that follow each other the ratios multiply.
    """
    known = list(acceptances)
    if not known:
        return report
    contains = cache(contains)
    covering = cache(lambda place: known[place].covers(baseline, target, contains))
    changes = []
    for change in report.changes:
        found = [place for place, one in enumerate(known) if change.word in ("degradation", "suspected") and one.is_about(change)]
        about = [known[place] for place in found if covering(place)]
        changes.append(_judged(change, about, contains, today) if about else change)
    return msgspec.structs.replace(report, changes=changes)


def _judged(change: Change, about: Sequence[Acceptance], contains: Contains, today: date) -> Change:
    """A change for the worse in the light of the acceptances that cover it."""
    valid = [one for one in about if not one.has_ended(today)]
    notes = [change.reason] if change.reason else []
    worse = -1 if change.better == "higher" else 1
    if change.effect is not None and worse * change.effect < 0:  # a suspected improvement
        return change
    gate = change.gate
    if valid:
        chain = _chain(valid, contains, worse)
        above = _excess(change, chain, worse)
        if above is None:
            return msgspec.structs.replace(change, accepted="; ".join(dict.fromkeys(one.reason for one in chain)), gate=False)
        level, gate = above
        notes.append(f"more than the accepted {level}".rstrip())
    notes += [f"its acceptance ended on {one.until}: {one.reason}" for one in about if one not in valid]
    return msgspec.structs.replace(change, reason="; ".join(notes), gate=gate)


def _chain(valid: Sequence[Acceptance], contains: Contains, worse: int) -> list[Acceptance]:
    """Of the sequences of steps that follow each other the one that accepts most; steps that overlap count once."""
    best: dict[int, list[Acceptance]] = {}

    def ending(place: int) -> list[Acceptance]:
        if place not in best:
            best[place] = [valid[place]]  # also what a circle in a hand-made file comes to
            earlier = [
                ending(other) for other, one in enumerate(valid)
                if other != place and contains(valid[place].baseline, one.target)
            ]  # fmt: skip
            best[place] = [*max(earlier, key=lambda chain: _size(chain, worse), default=[]), valid[place]]
        return best[place]

    return max(map(ending, range(len(valid))), key=lambda chain: _size(chain, worse))


def _size(chain: Sequence[Acceptance], worse: int) -> tuple[float, float]:
    return worse * _ratio(chain), worse * sum(one.shift or 0 for one in chain)


def _ratio(chain: Sequence[Acceptance]) -> float:
    return prod(1 + (one.effect or 0) for one in chain)


def _excess(change: Change, chain: Sequence[Acceptance], worse: int) -> tuple[str, bool] | None:
    """None where a change is no worse than accepted; else the accepted level in words, and whether the excess is certain."""
    delta = DELTA if change.delta is None else change.delta
    bound = change.high if worse < 0 else change.low
    if change.effect is not None and any(one.effect is not None for one in chain):
        ratio = _ratio(chain)
        excess = worse * ((1 + change.effect) / ratio - 1)
        least = excess if bound is None else worse * ((1 + bound) / ratio - 1)
        return (percent(ratio - 1), change.gate and least > delta) if excess > delta and least > 0 else None
    if change.shift is not None and any(one.shift is not None for one in chain):
        accepted = sum(one.shift or 0 for one in chain)
        return ("", change.gate) if worse * (change.shift - accepted) > delta * abs(accepted) else None
    return None  # a finding without a number: there is nothing to be worse
