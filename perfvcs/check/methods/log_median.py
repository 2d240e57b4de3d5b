"""The default rule for sampled metrics: the difference of log-medians, with its interval, and what
makes it a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, isnan
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from perfvcs.check.bounds import Undecided, explained, stated
from perfvcs.check.change import Change
from perfvcs.check.method import (
    FEWEST_EXECUTIONS,
    FROM_DIFFERENT_SESSIONS,
    NO_ORDER,
    OF_SERIES,
    ONE_ORDER,
    SINGLE_EXECUTION,
    TOO_FEW_EXECUTIONS,
    USUAL,
    PairMethod,
    chance_needs,
)
from perfvcs.check.samples.estimate import VETO, Estimate, estimates
from perfvcs.check.samples.newestsession import (
    EARLIER_SESSIONS,
    Compared,
    NewestSession,
    newest_sessions,
)
from perfvcs.check.samples.pace import at_one_pace, disagreement
from perfvcs.check.samples.scale import (
    ALL_EQUAL,
    CLOCK_STEPS,
    Scaled,
    finest_step,
    is_coarse,
    scale,
    too_coarse,
)
from perfvcs.check.statement import Chances, EffectInterval, PairNumbers, PairVerdict, state
from perfvcs.check.vocabulary import Word, comparative, direction
from perfvcs.statistics.changepoints.newest import SUPPORT
from perfvcs.statistics.multiplicity import q_values
from perfvcs.statistics.sessions import aa_floor
from perfvcs.system.numeric import np
from perfvcs.text.quantity import change as effect_text
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.case import Pair

FALSE_DISCOVERIES = 0.05
PERIOD = 0.2  # no period effect is larger
SLACK = 1e-9  # share of a clock's step that logarithms round
SINGLE = 0.999  # confidence of a single value's range


@dataclass(frozen=True)
class LogMedian(PairMethod):
    """Student's (pairs measured in turns) or Welch's difference of the log-medians of executions.

    A change needs all of: Benjamini and Hochberg at 5 % over all pairs keep it; p <= ``alpha``, so
    that word and interval never disagree; the permutation p is at most 1 % (apart 3 %), or the
    smallest that so few executions can reach; the size is at least ``delta``, which is never below
    the benchmark's own A/A floor. It is ``same`` when the interval lies within ``delta``. Both need
    5 executions a side; and executions taken in turns, or else the variance between sessions, which
    is added. Without that a change is ``suspected``, all else ``inconclusive``: the interval is
    known to be too narrow. Equal values everywhere are ``same``, unless they are readings of a
    clock: equal readings show how coarse it is, and nothing else. What the finest step of the
    readings may hide or pretend widens the interval; where it is more than a quarter of ``delta``,
    nothing is ``same``, and a change must be larger. If a value is 0 or below, the differences are
    those of the values, and ``delta`` is a share of the larger side's mean. If builds were
    repeated, they replace executions: each counts with the mean of its executions. From eight pairs
    on, those further than 2.5 standard deviations from the others are pulled in to that distance,
    so a disturbance of one execution does not hide a change (``student`` leaves them). A change
    that hits less than about 29 % of the executions is an outlier, too, so that ``same`` needs
    Student's interval of all pairs within ``delta`` as well, that of 90 %: an equivalence test at 5
    %. The period effect is removed where the order is known and the effect evident
    (``statistics.period``). In pairs of one order alone nothing is settled, and of five to seven
    pairs in an unknown order a change is ``suspected``, unless it is beyond the largest period
    effect, 20 %. A single execution is compared with the level of the history, of which the
    baseline must be a part: a value that chance explains in 1 of 10,000 cases at most, or that the
    one before confirms, is a change; it is ``suspected`` in 1 of 1,000 cases, and where fewer than
    ten earlier sessions support the level. What changed before the baseline is only said. Pairs
    that several hosts measured have the variance between hosts in their interval
    (``statistics.hosts``), and each host's result is stated if they differ. Times are adjusted to
    one pace of the machine, if that was read. Source: Kalibera, Jones 2013; Kalibera 2006, ch. 7;
    Benjamini, Hochberg 1995; Huber 1981, sections 6.4-6.5.
    """

    name: ClassVar[str] = "log-median"
    robust: ClassVar[bool] = True  # whether outliers among pairs are pulled in

    def judge(self, pairs: Sequence[Pair]) -> list[Change]:
        """One change per pair, in their order."""
        scaled = [scale(at_one_pace(pair), finest_step(pair)) for pair in pairs]
        results = [
            _widened(estimate, sample.rounding)
            for sample, estimate in zip(scaled, self._estimates(scaled), strict=True)
        ]
        q = q_values(np.array([result.p for result in results])).tolist()
        unlike = q_values(np.array([result.unlike for result in results])).tolist()
        alone = self._alone(scaled)
        changes = []
        for number, sample in enumerate(scaled):
            result, session = results[number], alone.get(number)
            if session and not session.earlier:
                changes.append(self._by_level(sample, session))
                continue
            finding = disagreement(sample, result, unlike[number])
            change = self._judge(sample, result, q[number], finding)
            changes.append(_since(change, sample, session) if session else _usual(change, sample))
        return changes

    def _estimates(self, scaled: Sequence[Scaled]) -> list[Estimate]:
        """One per pair, in their order."""
        return estimates(scaled, self.confidence, self.alpha, robust=self.robust)

    def _judge(self, scaled: Scaled, result: Estimate, q: float, finding: str) -> Change:
        delta = max(
            self.least(scaled.pair.case, scaled.value), expm1(aa_floor(scaled.pair.past.audits))
        )
        bar = scaled.bar(delta)
        coarse = is_coarse(scaled.step, scaled.value, delta)
        word, reason = self._word(scaled, result, q, bar)
        if coarse and (word == "same" or isinstance(reason, Undecided)):
            word, reason = "inconclusive", too_coarse(scaled.pair.about, scaled.step, delta)
        bound = self._bound(scaled, result)
        reason = stated(word, explained(reason, delta), bound)
        if word == "suspected" and reason == FROM_DIFFERENT_SESSIONS and scaled.logarithmic:
            finding = finding or chance_needs(result.theta)
        beyond = result.low > bar or result.high < -bar
        with_medians = scaled.logarithmic and result.widest is not None
        return state(
            scaled.pair,
            PairVerdict(
                word,
                self.name,
                reason=reason,
                finding=finding,
                delta=delta,
                confidence=self.confidence,
                gate=word == "degradation" and beyond,
                coarse=coarse
                and word == "inconclusive"
                and min(scaled.counts) >= FEWEST_EXECUTIONS
                and abs(result.theta) <= scaled.rounding,
                builds=scaled.counts if scaled.pair.builds else None,
            ),
            PairNumbers(
                scaled.medians if with_medians else scaled.centres,
                EffectInterval(
                    scaled.relative(result.theta),
                    scaled.relative(result.low),
                    scaled.relative(result.high),
                ),
                shifts=EffectInterval(
                    scaled.shift(result.theta), scaled.shift(result.low), scaled.shift(result.high)
                ),
                chances=Chances(result.p, q, result.permutation_p),
                bound=bound,
            ),
        )

    def _bound(self, scaled: Scaled, result: Estimate) -> float | None:
        """How large the effect is at most, to either side; None where the interval is known to be
        too narrow, or has no meaning.
        """
        apart = not scaled.pair.paired and scaled.between is None
        if (
            min(scaled.counts) < FEWEST_EXECUTIONS
            or apart
            or result.order == "one"
            or isnan(result.p)
            or not scaled.value
        ):
            return None
        return max(
            scaled.reach(result.low, result.high),
            scaled.reach(0.0, result.widest or 0.0),
            CLOCK_STEPS * scaled.step / scaled.value,
        )

    def _alone(self, scaled: Sequence[Scaled]) -> dict[int, NewestSession]:
        """What the level of the history says of sides of one execution, where that is more than two
        values do, and at least delta.
        """
        asked = {
            number: compared
            for number, sample in enumerate(scaled)
            if (compared := _compared_alone(sample))
        }
        sessions = newest_sessions(list(asked.values()))
        return {
            number: session
            for number, session in zip(asked, sessions, strict=True)
            if session and abs(session.difference) >= self._bar(scaled[number])
        }

    def _bar(self, scaled: Scaled) -> float:
        """How far one execution has to be from the level."""
        return scaled.bar(self.least(scaled.pair.case, scaled.value))

    def _by_level(self, scaled: Scaled, newest: NewestSession) -> Change:
        """The verdict on a commit by its unusual session."""
        pair = scaled.pair
        level, bar = exp(newest.expected), self._bar(scaled)
        target = pair.past.commits[-1]
        since = "" if newest.since == target else newest.since
        after = f", since {since[:10]}" if since else ""
        word: Word = direction(pair.about, newest.difference)
        reason = ""
        if newest.word != "changed":
            chance = f"{100 * newest.chance:.2g} %"
            word = "suspected"
            reason = (
                f"one value alone, whose chance is {chance}: the next commit confirms or"
                " withdraws it"
            )
            if newest.support < SUPPORT:
                count = newest.support
                reason = f"only {count} earlier commits are at the present level: at least 10"
        return state(
            pair,
            PairVerdict(
                word,
                self.name,
                reason=reason,
                finding=f"against the level of {newest.support} earlier commits{after}",
                since=since,
                preceding=newest.preceding,
                delta=self.least(pair.case, scaled.value),
                confidence=SINGLE,
                gate=word == "degradation" and (newest.low > bar or newest.high < -bar),
            ),
            PairNumbers(
                (level, scaled.centres[1]),
                EffectInterval(
                    scaled.relative(newest.difference),
                    scaled.relative(newest.low),
                    scaled.relative(newest.high),
                ),
                chances=Chances(newest.chance),
            ),
        )

    def _word(
        self, scaled: Scaled, result: Estimate, q: float, bar: float
    ) -> tuple[Word, str | Undecided]:
        """The verdict on a pair, by the first of these that holds:

        1. equal values are the same, unless the clock is too coarse to show a difference;
        2. a single execution shows nothing, and few show nothing for sure;
        3. a change counts if both tests agree and it is delta or more; it is suspected where
           sessions or the order of the executions leave a doubt;
        4. the same is what stays within delta, also at its widest;
        5. everything else is open.
        """
        fewest, unit = min(scaled.counts), "build" if scaled.pair.builds else "execution"
        vetoed = result.permutation_p > result.veto  # never where nothing was permuted
        # Readings without noise that are one step apart differ for sure, if not by how much.
        seen = not scaled.rounding or max(result.low, -result.high) >= -SLACK * scaled.rounding
        changed = (
            seen
            and q <= FALSE_DISCOVERIES
            and result.p <= self.alpha
            and not vetoed
            and abs(result.theta) >= bar
        )
        apart = not scaled.pair.paired and scaled.between is None
        if scaled.equal and fewest > 1:
            return ("inconclusive", ALL_EQUAL) if scaled.step else ("same", "")
        if fewest < 2 or isnan(result.p):
            return "inconclusive", SINGLE_EXECUTION.format(unit)
        if fewest < FEWEST_EXECUTIONS:
            return ("suspected" if changed else "inconclusive"), TOO_FEW_EXECUTIONS.format(
                fewest, unit
            )
        if changed and apart:
            return "suspected", FROM_DIFFERENT_SESSIONS
        if result.order == "one":
            return ("suspected" if changed else "inconclusive"), ONE_ORDER
        if (
            changed
            and result.order == "unknown"
            and result.veto > VETO
            and not max(result.low, -result.high) > scaled.bar(PERIOD)
        ):
            return "suspected", NO_ORDER
        if changed:
            return direction(scaled.pair.about, result.theta), ""
        if -bar <= result.low and result.high <= bar:
            if result.widest is not None and result.widest > bar:
                return "inconclusive", Undecided.FAR
            return ("inconclusive", FROM_DIFFERENT_SESSIONS) if apart else ("same", "")
        if apart:
            return "inconclusive", FROM_DIFFERENT_SESSIONS
        away = result.low > 0 or result.high < 0
        return "inconclusive", Undecided.CHANCE if vetoed and away else Undecided.WIDE


def _since(change: Change, scaled: Scaled, newest: NewestSession) -> Change:
    """A change that says that the level was another one before the baseline."""
    worse = direction(scaled.pair.about, newest.difference) == "degradation"
    is_so = "is" if newest.word == "changed" else "may be"
    low, high = (scaled.relative(end) for end in (newest.low, newest.high))
    effect = effect_text(scaled.relative(newest.difference) or 0.0, low, high)
    return replace(
        change,
        since=newest.since,
        finding=f"{is_so} {comparative(change.unit, worse=worse)} since {newest.since[:10]}:"
        f" {metric_name(change.metric)} {effect}",
    )


def _usual(change: Change, scaled: Scaled) -> Change:
    """A change that says of a single execution that it is usual, or where that is told, if so many
    commits were measured before.
    """
    if change.reason != SINGLE_EXECUTION.format("execution"):
        return change
    if (compared := _compared_alone(scaled)) is None:
        return change
    commits = compared.past.commits
    if len(commits) <= EARLIER_SESSIONS:
        return change
    is_next = commits[-2:] == (compared.baseline, compared.target)
    return replace(change, reason=USUAL.format(len(commits) - 1) if is_next else OF_SERIES)


def _widened(result: Estimate, rounding: float) -> Estimate:
    """The estimate with what the readings' finest step may hide or pretend on both sides of its
    interval.
    """
    if not rounding:
        return result
    widest = None if result.widest is None else result.widest + rounding
    return replace(result, low=result.low - rounding, high=result.high + rounding, widest=widest)


def _compared_alone(scaled: Scaled) -> Compared | None:
    """What is compared if one execution is to be judged by the level of the history."""
    pair = scaled.pair
    if min(scaled.counts) > 1 or pair.paired or pair.builds or not scaled.logarithmic:
        return None
    sides = [{measured.header.commit for measured in side} for side in pair.case.chosen.sides]
    if any(len(commits) != 1 for commits in sides):
        return None
    (before,), (after,) = sides
    return Compared(pair.past, before, after)
