"""What a change is expected to do, and whether a report proves or refutes it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, NamedTuple

from perfvcs.check.change import Change
from perfvcs.check.executedwork import EXACT
from perfvcs.errors import UsageError
from perfvcs.text.words import CLOCKS

Kind = Literal["faster", "not-slower", "smaller"]
Decision = Literal["proved", "refuted", "not decided"]

TOLERATED = 0.02  # of `not-slower` without a share: what people take for the same
# the p-value that a proof needs in all, split over the comparisons; looking at up to 200 pairs
# makes a false proof some twenty times as likely, by simulation (benchmarks/looks.py)
PROOF = 4e-5
ORDERED = 0.01  # the p-value that an order of candidates needs in all
WRITTEN = re.compile(
    r"(?P<kind>faster|not-slower|smaller)(?::(?P<metric>[^=\s]{1,100}))?"
    r"(?:=(?P<share>\d{1,4}(?:\.\d{1,6})?)%?)?"
)
CURE = "give faster, faster=5%, not-slower, not-slower=2%, smaller:METRIC or smaller:METRIC=5%"


class Expectation(NamedTuple):
    """What is expected of the target against the base: ``faster`` or ``smaller`` by ``share`` of
    the base at least, or ``not-slower`` by more than it.

    ``metric``: the only one that counts; empty: time.
    """

    kind: Kind = "faster"
    share: float = 0.0
    metric: str = ""

    def __str__(self) -> str:
        metric = f":{self.metric}" if self.metric else ""
        share = f"={100 * self.share:g}%" if self.share else ""
        return f"{self.kind}{metric}{share}"

    @property
    def within(self) -> float | None:
        """The bound within which a comparison needs no more measuring."""
        return self.share if self.kind == "not-slower" else None


class Finding(NamedTuple):
    """What a report says of an expectation, why, and the ``change`` that decides it; None where
    none does.
    """

    word: Decision
    why: str
    change: Change | None = None


class _Gain(NamedTuple):
    """The bounds of what a change gained, as shares of the base: positive is better."""

    low: float
    high: float


def read(text: str) -> Expectation:
    """An expectation as it is written: ``faster=5%``; raises UsageError with the cure."""
    written = WRITTEN.fullmatch(text.strip())
    if written is None:
        raise UsageError(f"`{text:.60}` is no expectation: {CURE}")
    kind, metric = written["kind"], written["metric"] or ""
    if (kind == "smaller") != bool(metric):
        raise UsageError(f"`{text:.60}`: {CURE}")
    share = float(written["share"]) / 100 if written["share"] else 0.0
    if kind == "not-slower":
        return Expectation("not-slower", share or TOLERATED)
    if share >= 1:
        raise UsageError(f"`{text:.60}`: nothing can become {kind} by 100 % or more")
    return Expectation("smaller" if kind == "smaller" else "faster", share, metric)


def decide(expectation: Expectation, changes: Sequence[Change], jobs: int = 1) -> Finding:
    """Whether the comparisons of a report prove or refute an expectation; it is of one of so many
    ``jobs``.

    1. Only comparisons of the metric that counts are looked at, accepted ones too: an acceptance
       is about a check.
    2. `faster` and `smaller` are proved by one benchmark that gained, with a p-value of ``PROOF``
       over the number of comparisons, if none became worse. They are refuted if one became worse,
       or if everything is settled and nothing gained as much.
    3. `not-slower` is proved if no benchmark can have lost more than the share, by wall or by CPU
       time, and refuted by a comparison that surely did.
    """
    counted = [change for change in changes if _counts(expectation, change)]
    if not counted and any(_is_asked(expectation, change) for change in changes):
        return Finding("not decided", "the budget ended before there were two pairs")
    if not counted:
        what = f"no comparison of {expectation.metric or 'a time'}"
        return Finding("not decided", f"{what} is there to decide it")
    if expectation.kind == "not-slower":
        return _not_slower(expectation, counted)
    return _gained(expectation, counted, PROOF / (jobs * len(counted)))


def gain_of(expectation: Expectation, changes: Sequence[Change]) -> float:
    """The share of the base that benchmarks gained on average, by the surer clock of each."""
    surest: dict[tuple[str, str, float | None], Change] = {}
    for change in changes:
        if _counts(expectation, change):
            known = surest.setdefault((change.series, change.uid, change.size), change)
            if _width(change) < _width(known):
                surest[change.series, change.uid, change.size] = change
    gains = [_estimate(change) for change in surest.values()]
    return sum(gains) / len(gains) if gains else 0.0


def _width(change: Change) -> float:
    gain = _gain(change)
    return gain.high - gain.low


def _estimate(change: Change) -> float:
    effect = change.effect or 0.0
    return -effect if change.better != "higher" else 1 - 1 / max(1 + effect, 1e-9)


def is_better(expectation: Expectation, changes: Sequence[Change], comparisons: int) -> bool:
    """Whether a target is better than what it is compared with beyond chance, as one of so many
    ``comparisons``: something gained, and nothing lost.
    """
    counted = [change for change in changes if _counts(expectation, change)]
    if any(change.word == "degradation" for change in counted):
        return False
    alpha = ORDERED / (comparisons * max(1, len(counted)))
    return any(change.word == "improvement" and _certain(change, alpha) for change in counted)


def _counts(expectation: Expectation, change: Change) -> bool:
    """Whether a comparison is asked for, and has an interval, or is exact."""
    return _bounds(change) is not None and _is_asked(expectation, change)


def _bounds(change: Change) -> tuple[float, float] | None:
    """The interval of an effect; that of an exact one is the effect itself. None where it has
    none.
    """
    if change.effect is None:
        return None
    if change.method == EXACT:
        return change.effect, change.effect
    return None if change.low is None or change.high is None else (change.low, change.high)


def _is_asked(expectation: Expectation, change: Change) -> bool:
    if expectation.metric:
        return change.metric == expectation.metric
    return change.metric in CLOCKS or change.unit == "s" or change.unit.endswith("/s")


def _gain(change: Change) -> _Gain:
    """What a change gained: of a rate, by the time that one of it takes."""
    bounds = _bounds(change)
    assert bounds is not None
    low, high = bounds
    if change.better != "higher":
        return _Gain(-high, -low)
    return _Gain(*(1 - 1 / max(1 + bound, 1e-9) for bound in bounds))


def _gained(expectation: Expectation, changes: Sequence[Change], alpha: float) -> Finding:
    better, worse = ("smaller", "larger") if expectation.metric else ("faster", "slower")
    lost = [change for change in changes if change.word == "degradation"]
    gained = [
        change
        for change in changes
        if change.word == "improvement"
        and _gain(change).low >= expectation.share
        and _certain(change, alpha)
    ]
    if lost:
        return Finding("refuted", f"became {worse}", max(lost, key=_distance))
    if gained:
        return Finding("proved", f"became {better}", max(gained, key=_distance))
    most = max(changes, key=lambda change: _gain(change).high)
    if expectation.share and _gain(most).high < expectation.share:
        return Finding("refuted", f"gained less than {100 * expectation.share:g} %", most)
    if all(change.word == "same" for change in changes):
        return Finding("refuted", "is the same", max(changes, key=_distance))
    undecided = [change for change in changes if not change.settled] or list(changes)
    return Finding("not decided", "is not settled", max(undecided, key=_distance))


def _not_slower(expectation: Expectation, changes: Sequence[Change]) -> Finding:
    lost = [change for change in changes if _gain(change).high < -expectation.share]
    if lost:
        return Finding("refuted", "became slower", max(lost, key=_distance))
    clocks: dict[tuple[str, str, float | None], list[Change]] = defaultdict(list)
    for change in changes:
        clocks[change.series, change.uid, change.size].append(change)
    # the surer clock of each benchmark: on a busy machine wall time is never settled
    surest = [max(both, key=lambda change: _gain(change).low) for both in clocks.values()]
    least = min(surest, key=lambda change: _gain(change).low)
    if _gain(least).low <= -expectation.share:
        return Finding("not decided", "is not settled", least)
    return Finding("proved", f"lost less than {100 * expectation.share:g} %", least)


def _certain(change: Change, alpha: float) -> bool:
    """Whether a change is beyond what one of a whole judgement shows by chance."""
    return change.p is None or change.p <= alpha


def _distance(change: Change) -> float:
    return abs(change.effect or 0.0)
