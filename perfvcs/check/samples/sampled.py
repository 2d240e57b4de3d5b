"""What the published methods for samples share: one number per execution of both sides, and their
rule's outcome as a change.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from dataclasses import dataclass
from math import frexp, inf, isinf
from statistics import median
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from perfvcs.check.bounds import Undecided, explained, stated
from perfvcs.check.method import SINGLE_EXECUTION, PairMethod
from perfvcs.check.samples.scale import CLOCK_STEPS, finest_step, is_coarse, mean, share, too_coarse
from perfvcs.check.statement import Chances, EffectInterval, PairNumbers, PairVerdict, state
from perfvcs.check.vocabulary import Word, direction
from perfvcs.system.numeric import Floats, Integers, np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from perfvcs.check.case import ExecutionsOfSessions, Pair
    from perfvcs.check.change import Change
    from perfvcs.profile.summary import Measured

TOO_FEW_FOR_INTERVAL = "too few {}s for an interval"
SHAPE = "the distributions differ, their centres do not"
MEASURED_APART = "measured apart, which this rule makes no allowance for"


class SampleSide(Struct, frozen=True, eq=False):
    """One side's finite ``values``, the number of the ``execution`` of each (from 0, ascending),
    and the ``build`` of each execution.
    """

    values: Floats
    execution: Integers
    build: Integers

    def runs(self, *, logarithms: bool = False) -> list[Floats]:
        """The values of each execution."""
        values = np.log(self.values) if logarithms else self.values
        return np.split(values, np.searchsorted(self.execution, np.arange(1, len(self.build))))

    def means(self) -> Floats:
        """The mean of each execution."""
        return grouped_means(self.values, self.execution)

    def replicates(self, *, builds: bool) -> Floats:
        """The values to compare: the means of the executions, or with ``builds`` each build's mean
        of these.
        """
        return grouped_means(self.means(), self.build) if builds else self.means()


class ScaledSample(Struct, frozen=True):
    """A pair with its numbers in ``unit``s of the metric's unit: a power of two that keeps squares
    within a float.

    There is one replicate per execution; where builds were repeated one per build, the mean of its
    executions, since these share its variance (Kalibera 2006, eq. 16).
    """

    pair: Pair
    sides: tuple[SampleSide, SampleSide]
    replicates: tuple[Floats, Floats]
    unit: float

    @property
    def counts(self) -> tuple[int, int]:
        """Executions, or builds, on both sides."""
        return len(self.replicates[0]), len(self.replicates[1])

    @property
    def kind(self) -> str:
        """What the replicates are."""
        return "build" if self.pair.builds else "execution"

    @property
    def identical(self) -> bool:
        """Whether all replicates of both sides are equal."""
        first, second = self.replicates
        return bool(min(first.min(), second.min()) == max(first.max(), second.max()))


class RuleOutcome(Struct, frozen=True):
    """What a rule says of a sample: ``shift`` is target minus baseline in the sample's unit, with
    its interval.

    ``same`` where the rule itself says so; otherwise that is read from the interval.
    """

    shift: float
    low: float = -inf
    high: float = inf
    changed: bool = False
    same: bool = False
    p: float | None = None
    permutation_p: float | None = None
    reason: str = ""
    finding: str = ""


class Batch(Struct, frozen=True, eq=False):
    """Samples with equal counts; their replicates as ``baseline`` (samples, m) and ``target``
    (samples, k).
    """

    samples: list[ScaledSample]
    baseline: Floats
    target: Floats

    @property
    def paired(self) -> bool:
        """Whether replicates of one number belong together."""
        return self.samples[0].pair.paired


@dataclass(frozen=True)
class SampledMethod(PairMethod):
    """A published rule, which decides by its own level, whatever ``delta`` is, and knows of no
    sessions.

    What is not changed has the reach of its interval as its bound, and is ``same`` where that lies
    within ``delta``, or all values are equal, else ``inconclusive``. ``gate`` needs the interval
    beyond ``delta``. Where the sides were not measured in turns the rule answers anyway, and a
    reason warns.
    """

    name: ClassVar[str]
    level: ClassVar[float | None] = None  # the rule's own; else what ``confidence`` leaves
    # of an execution's measurements and of the executions, instead of means
    medians: ClassVar[bool] = False

    @property
    def stated(self) -> float:
        """The confidence of the interval."""
        return self.confidence if self.level is None else 1 - self.level

    def judge(self, pairs: Sequence[Pair]) -> list[Change]:
        """One change per pair, in their order."""
        scaled = samples(pairs, medians=self.medians)
        outcomes: dict[int, RuleOutcome] = {}
        for batch in _batches(scaled):
            outcomes |= zip(map(id, batch.samples), self.outcomes(batch), strict=True)
        return [self._conclude(sample, outcomes.get(id(sample))) for sample in scaled]

    @abstractmethod
    def outcomes(self, batch: Batch) -> list[RuleOutcome]:
        """One outcome per sample, each of at least two replicates a side, not all of them equal."""

    def _conclude(self, sample: ScaledSample, outcome: RuleOutcome | None) -> Change:
        """The outcome in words; a sample without one is of equal values, or has a single replicate
        on a side.
        """
        base, target = (
            (median if self.medians else mean)(side.tolist()) for side in sample.replicates
        )
        if outcome is None:
            outcome = (
                RuleOutcome(0.0, 0.0, 0.0) if min(sample.counts) > 1 else RuleOutcome(target - base)
            )
        reference, relative = _shares(sample, outcome, base, target)
        delta = self.least(sample.pair.case, reference * sample.unit)
        bar = delta * reference
        word, reason = self._word(sample, outcome, bar)
        text, bound = explained(reason, delta), None
        if not outcome.changed and min(sample.counts) > 1:
            finest, level = finest_step(sample.pair), abs(reference)
            if level:
                bound = max(
                    -outcome.low / level,
                    outcome.high / level,
                    CLOCK_STEPS * finest / (level * sample.unit),
                )
            if (word == "same" or reason is Undecided.WIDE) and is_coarse(
                finest, reference * sample.unit, delta
            ):
                word, text = "inconclusive", too_coarse(sample.pair.about, finest, delta)
            text = stated(word, text, bound)
        beyond = outcome.low > bar or outcome.high < -bar
        warned = not sample.pair.paired and min(sample.counts) > 1
        warning = MEASURED_APART if warned else ""
        return state(
            sample.pair,
            PairVerdict(
                word,
                self.name,
                reason="; ".join(filter(None, (text, warning))),
                finding=outcome.finding,
                delta=delta,
                confidence=self.stated,
                gate=word == "degradation" and beyond,
                builds=sample.counts if sample.pair.builds else None,
            ),
            PairNumbers(
                (base * sample.unit, target * sample.unit),
                relative,
                shifts=EffectInterval(
                    outcome.shift * sample.unit,
                    outcome.low * sample.unit,
                    outcome.high * sample.unit,
                ),
                chances=Chances(outcome.p, permutation_p=outcome.permutation_p),
                bound=bound,
            ),
        )

    def _word(
        self, sample: ScaledSample, outcome: RuleOutcome, bar: float
    ) -> tuple[Word, str | Undecided]:
        if min(sample.counts) < 2:
            return "inconclusive", SINGLE_EXECUTION.format(sample.kind)
        if outcome.changed:
            return (
                (direction(sample.pair.about, outcome.shift), "")
                if outcome.shift
                else ("inconclusive", SHAPE)
            )
        if sample.identical or outcome.same or -bar <= outcome.low <= outcome.high <= bar:
            return "same", outcome.reason
        return "inconclusive", outcome.reason or (
            TOO_FEW_FOR_INTERVAL.format(sample.kind)
            if isinf(outcome.high - outcome.low)
            else Undecided.WIDE
        )


def _shares(
    sample: ScaledSample, outcome: RuleOutcome, base: float, target: float
) -> tuple[float, EffectInterval]:
    """What delta is a share of, in the sample's unit, and the effects as shares of the baseline
    where these have a meaning.

    It is the baseline's centre; where values are negative or that is 0, the larger of both,
    whatever their signs.
    """
    has_shares = sample.identical or min(side.values.min() for side in sample.sides) >= 0
    effect = share(outcome.shift, base) if has_shares else None
    if effect is not None:
        return base, EffectInterval(effect, share(outcome.low, base), share(outcome.high, base))
    return max(abs(base), abs(target)), EffectInterval()


def samples(pairs: Sequence[Pair], *, medians: bool = False) -> list[ScaledSample]:
    """The pairs' measurements and replicates; with ``medians`` an execution has its median alone,
    and no profile is opened.
    """
    if not medians:
        _prepare(pairs)
    scaled = []
    for pair in pairs:
        first, second = (
            _medians(executions) if medians else _measurements(pair, number, executions)
            for number, executions in enumerate((pair.before, pair.after))
        )
        largest = float(max(np.abs(first.values).max(), np.abs(second.values).max()))
        unit = 2.0 ** (frexp(largest)[1] - 1) if largest else 1.0
        sides = (
            SampleSide(first.values / unit, first.execution, first.build),
            SampleSide(second.values / unit, second.execution, second.build),
        )
        builds = pair.builds is not None
        scaled.append(
            ScaledSample(
                pair,
                sides,
                (sides[0].replicates(builds=builds), sides[1].replicates(builds=builds)),
                unit,
            )
        )
    return scaled


def _prepare(pairs: Sequence[Pair]) -> None:
    """Read all profiles that will be asked for in one go."""
    wanted: dict[int, Measured] = {}
    for chosen in {id(pair.case.chosen): pair.case.chosen for pair in pairs}.values():
        wanted |= {id(measured): measured for side in chosen.sides for measured in side}
    if wanted:
        pairs[0].case.rows.prepare(wanted.values())


def _medians(executions: ExecutionsOfSessions) -> SampleSide:
    values = np.array([execution.value for session in executions for execution in session])
    return SampleSide(values, np.arange(len(values)), _builds(executions))


def _measurements(pair: Pair, number: int, executions: ExecutionsOfSessions) -> SampleSide:
    """The measurements of one side, those of each execution together."""
    profiles = pair.case.chosen.sides[number]
    values, places, before = [], [], 0
    for session in executions:
        table = pair.case.rows.table(profiles[session[0].profile], pair.case.uid)
        value = table.metrics[pair.case.metric]
        usable = np.isfinite(value)
        if pair.size is not None:
            usable &= table.size == pair.size
        by_build: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for ordinal, execution in enumerate(session, before):
            by_build[execution.place[0]].append((execution.place[1], ordinal))
        for build, members in by_build.items():
            numbers, place_of = (
                np.array(column, dtype=np.int64) for column in zip(*sorted(members), strict=True)
            )
            rows = np.flatnonzero(usable & (table.binary == build))
            at = np.minimum(np.searchsorted(numbers, table.execution[rows]), len(numbers) - 1)
            wanted = numbers[at] == table.execution[rows]
            values.append(value[rows[wanted]])
            places.append(place_of[at[wanted]])
        before += len(session)
    numbers = np.concatenate(places)
    order = np.argsort(numbers, kind="stable")
    return SampleSide(np.concatenate(values)[order], numbers[order], _builds(executions))


def _builds(executions: ExecutionsOfSessions) -> Integers:
    """The build of each execution, counted through all sessions in the order of their numbers, so
    that pairs have the same.
    """
    keys = [
        (number, execution.place[0])
        for number, session in enumerate(executions)
        for execution in session
    ]
    numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def grouped_means(values: Floats, group: Integers) -> Floats:
    """The mean of each group; equal values are their own mean, without rounding."""
    counts = np.bincount(group)
    if len(counts) == len(values):  # one each
        sorted_values: Floats = values[np.argsort(group)]
        return sorted_values
    low, high = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    clipped: Floats = np.clip(np.bincount(group, values) / counts, low, high)
    return clipped


def _batches(samples: Sequence[ScaledSample]) -> Iterator[Batch]:
    """The samples that can be tested, those with equal counts together."""
    buckets: dict[tuple[bool, tuple[int, int]], list[ScaledSample]] = defaultdict(list)
    for sample in samples:
        if min(sample.counts) > 1 and not sample.identical:
            buckets[sample.pair.paired, sample.counts].append(sample)
    for members in buckets.values():
        first = np.stack([sample.replicates[0] for sample in members])
        second = np.stack([sample.replicates[1] for sample in members])
        yield Batch(members, first, second)
