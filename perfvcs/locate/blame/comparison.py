"""What two versions of a benchmark cost: the effect by the metric that shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from perfvcs.locate.blame.calltree import CallTree
from perfvcs.locate.blame.cause import Count
from perfvcs.locate.blame.explanation import (
    Explanation,
    MeasuredSides,
    NamedBench,
    seen,
    takes_long,
)
from perfvcs.locate.blame.gauge import BYTES, SECONDS, Gauge, Gauges, Question
from perfvcs.locate.blame.laboratory import TURNS, Laboratory, in_turns
from perfvcs.locate.blame.pairing import differing
from perfvcs.locate.blame.places import Places
from perfvcs.locate.blame.proof import RelativeEffect, VersionValues, effect, judge
from perfvcs.locate.repeating import StoredCount
from perfvcs.measure.site import Version
from perfvcs.measure.unitseconds import wholes
from perfvcs.plugins.collector import divided
from perfvcs.profile import Profile
from perfvcs.profile.rules import USUAL_DELTA

# an effect from which on no count is repeated to see whether it varies: Lua's and Rust's vary by
# 1 % at most
VARIATION = 0.1
# of the budget that counting may take: other means need the rest, and people wait for it
COUNTING_SHARE = 0.25
LEAST_COUNTING = 60.0  # seconds that counting an execution may take in any case
LATE = 1.5  # times as long as is usual, from which on it is given up
# how many times as long an execution takes that is counted by functions: measured 25 to 60, and 3.2
SLOWER = {"instructions": 50, "bytecodes": 5}


@dataclass
class CommitComparison:
    """One benchmark on two commits; ``profiles`` are those of the first execution, ``counts`` what
    exact metrics counted, ``ran`` the functions that were seen to run, ``notes`` what could not be
    measured. ``budget`` is that of the investigation (s).
    """

    laboratory: Laboratory
    a: str
    b: str
    question: Question
    gauges: Gauges
    asked_delta: float | None
    places: Places
    budget: float
    profiles: list[Profile] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)
    ran: set[str] = field(default_factory=set)

    @property
    def delta(self) -> float:
        """The smallest difference that counts, as a share."""
        return USUAL_DELTA if self.asked_delta is None else self.asked_delta

    @property
    def notes(self) -> list[str]:
        """What could not be measured."""
        return self.gauges.notes

    def measure(self) -> MeasuredSides:
        """The effect, and where there is one the call trees; raises UnmeasurableVersion,
        UsageError.
        """
        own, exact = self.gauges.own(), self.gauges.exact()
        cells = {"own": own.cell} | {gauge.metric: gauge.cell for gauge in exact}
        cells |= {**self.gauges.approximate(), "whole": self.gauges.whole()}
        with self.laboratory.open(
            [Version(self.a), Version(self.b)], list(cells.values())
        ) as opened:
            bench = NamedBench(opened, list(cells), self.notes)
            self.profiles = bench.run("own")  # imports are compiled, files are read
            self.ran |= seen(self.profiles, self.places)
            counted = {
                gauge.metric: profiles
                for gauge in exact
                if (profiles := self._counted(bench, gauge)) is not None
            }
            sides = [
                self._exact(gauge, counted[gauge.metric])
                for gauge in exact
                if gauge.metric in counted
            ]
            measured = self._effect(bench, own, sides)
            if measured.effect.real and measured.gauge.exact:
                measured = self._repeated(bench, measured, own)
            if measured.effect.real:
                explanation = Explanation(
                    bench=bench,
                    laboratory=self.laboratory,
                    gauges=self.gauges,
                    places=self.places,
                    first=self.profiles[0],
                    counts=self.counts,
                    ran=self.ran,
                )
                explanation.explain(measured, counted)
        return measured

    def trial(
        self, measured: MeasuredSides, auxiliary: Version, is_over: Callable[[], bool]
    ) -> VersionValues:
        """The levels of a, b and another version, by the gauge that shows the effect; exact ones of
        a and b are known.

        Raises UnmeasurableVersion where that version does not run.
        """
        gauge = measured.gauge
        versions = [Version(self.a), Version(self.b), auxiliary]
        cells = [gauge.cell, self.gauges.whole()]
        if gauge.is_told_at_once:
            versions = [auxiliary]
        with self.laboratory.open(versions, cells if gauge.exact else cells[:1]) as bench:
            if gauge.exact:
                bench.run(1)  # imports are compiled, files are read
            if gauge.is_told_at_once:
                (level,) = map(gauge.levels, bench.run(0))
                return VersionValues(measured.levels.a, measured.levels.b, level)
            return in_turns(
                lambda turns: VersionValues(*map(gauge.levels, bench.run(0, turns))),
                lambda levels: judge(levels, self.delta).word != "open" or is_over(),
            )

    @property
    def agree(self) -> bool:
        """Whether exact metrics were counted, and every function's count is the same on both
        sides.
        """
        return bool(self.counts) and not any(
            count.whole or count.differing or abs(count.effect) >= self.delta
            for count in self.counts
        )

    def _counted(self, bench: NamedBench, gauge: Gauge) -> list[Profile] | None:
        """Profiles by an exact metric; None, with a note, where it cannot be counted."""
        asked = self._is_asked(gauge)
        if not asked and self._takes_long(gauge):
            self.notes.append(takes_long(gauge.metric, self._seconds()))
            return None
        most = None if asked else self._longest(gauge)
        if self.gauges.metric == gauge.metric:
            profiles = bench.run(gauge.metric)
        elif (optional := bench.optional(gauge.metric, most=most)) is not None:
            profiles = optional
        else:
            return None
        inside = {divided(profile) for profile in profiles}
        whole = bool(self.laboratory.unit) and not all(inside)
        if len(inside) > 1:
            self.notes.append(
                f"{gauge.metric} could be counted inside {self.laboratory.unit} on one side only"
            )
            return None
        (a,), (b,) = map(gauge.levels, profiles)
        sides = [CallTree.of(profile) or CallTree.of_paths([]) for profile in profiles]
        self.ran |= seen(profiles, self.places)
        self.counts.append(Count(gauge.metric, a, b, *differing(*sides), whole))
        return profiles

    def _is_asked(self, gauge: Gauge) -> bool:
        """Whether somebody asked for this metric, however long it takes."""
        return gauge.metric in (self.gauges.metric, self.question.metric)

    def _seconds(self) -> float:
        """What an execution takes that is not counted (s)."""
        return max(wholes(self.profiles).values(), default=0.0)

    def _takes_long(self, gauge: Gauge) -> bool:
        """Whether counting both sides, once more where the effect is small, and a trial are
        expected to take more than counting may.
        """
        checked, sides = self.question.checked, len(self.profiles)
        is_large = checked is not None and abs(checked.effect or 0.0) >= VARIATION
        return self._is_beyond((1 if is_large else 2) * sides + 1, gauge)

    def _is_beyond(self, executions: int, gauge: Gauge) -> bool:
        """Whether so many executions are expected to take more than counting may."""
        counting = executions * self._seconds() * SLOWER.get(gauge.metric, 1)
        return counting > self.budget * COUNTING_SHARE

    def _longest(self, gauge: Gauge) -> float:
        """The seconds after which counting an execution is given up: a program that starts
        hundreds of others becomes far slower than one that computes.
        """
        return max(LEAST_COUNTING, LATE * self._seconds() * SLOWER.get(gauge.metric, 1))

    def _effect(
        self, bench: NamedBench, own: Gauge, counted: Sequence[MeasuredSides]
    ) -> MeasuredSides:
        """The effect by the exact metric that shows what the verdict shows, and most of it; else
        the verdict's own, else processor time in turns.
        """
        if own.exact and self.gauges.metric == "auto":
            return self._exact(own, self.profiles)
        whole = {count.metric for count in self.counts if count.whole}
        if len(whole) < len(self.counts):  # those inside the unit say all
            self.counts = [count for count in self.counts if not count.whole]
        sides = [side for side in counted if side.gauge.metric not in whole]
        wanted = (self.gauges.metric, self.question.metric)
        asked = next((side for side in sides if side.gauge.metric in wanted), None)
        if asked is not None:
            return asked
        # bytecodes may differ by what takes hardly any time, which instructions tell
        denied = any(s.gauge.metric == "instructions" and not s.effect.real for s in sides)
        telling = [side for side in sides if not denied or side.gauge.metric != "bytecodes"]
        if shown := [side for side in telling if self._shows(side)]:
            # a program in Python executes other instructions where its heap is another one, which
            # hides as much of a small difference; of equals the first says most
            return max(shown, key=lambda side: abs(side.effect.value))
        timed = self._timed(bench, own)
        fitting = [side for side in sides if self._fits(side.gauge)]
        # an exact figure says more than an interval
        return timed if timed.effect.real or not fitting else fitting[0]

    def _fits(self, gauge: Gauge) -> bool:
        """Whether a gauge may show the difference of what is asked about."""
        wanted = BYTES if gauge.metric == "allocated" else SECONDS
        return not self.question.metric or self.question.scale == wanted

    def _shows(self, side: MeasuredSides) -> bool:
        """Whether an exact metric shows the difference that is asked about."""
        checked = self.question.checked
        if not (side.effect.real and self._fits(side.gauge)):
            return False
        return checked is None or checked.agrees(side.effect.value)

    def _exact(self, gauge: Gauge, profiles: Sequence[Profile]) -> MeasuredSides:
        levels = VersionValues(*map(gauge.levels, profiles))
        # as in a verdict, any difference of what repeats exactly counts
        is_of_verdict = gauge.metric == self.question.metric
        least = 0.0 if is_of_verdict and self.asked_delta is None else self.delta
        return MeasuredSides(gauge, levels, effect(levels.a, levels.b, least, exact=True))

    def _timed(self, bench: NamedBench, own: Gauge) -> MeasuredSides:
        """The effect as the verdict has it where that was measured in turns, else measured so
        now.
        """
        return self._of_verdict(own) or self._in_turns(bench, "own", own, 1)

    def _repeated(self, bench: NamedBench, measured: MeasuredSides, own: Gauge) -> MeasuredSides:
        """The effect by an exact metric, in turns where its counts vary here: as stored executions
        show, else another one where the effect is so small that a variation could hide in it.
        """
        gauge, cell = measured.gauge, self.laboratory.cell
        name, done = "own" if gauge == own else gauge.metric, 1
        stored = StoredCount(
            cell.label,
            gauge.cell.collector_name,
            self.question.unit or cell.name,
            self.question.size,
            gauge.metric,
        )
        varies = stored.varies(self.laboratory.rig.repository.index, (self.a, self.b))
        if varies is None and abs(measured.effect.value) < VARIATION:
            levels, done = map(gauge.levels, bench.run(name)), 2
            varies = any(len(set(values)) > 1 for values in levels)
        if not varies:
            return measured
        if not self._is_asked(gauge) and self._is_beyond(TURNS[0] * len(self.profiles), gauge):
            self.notes.append(f"{gauge.metric} vary between executions, and averages take too long")
            return self._timed(bench, own)
        self.notes.append(f"{gauge.metric} vary between executions, so that they are averaged")
        gauge = gauge._replace(varies=True)
        return self._of_verdict(gauge) or self._in_turns(bench, name, gauge, done)

    def _of_verdict(self, gauge: Gauge) -> MeasuredSides | None:
        """The effect as the verdict has it, where that was measured in turns."""
        checked = self.question.checked
        if checked is None or not checked.in_turns or gauge.metric != checked.metric:
            return None
        known = checked.effect, checked.low, checked.high, checked.baseline, checked.target
        if None in known:
            return None
        value, low, high, a, b = (number or 0.0 for number in known)
        effect = RelativeEffect(value, low, high, real=True)
        return MeasuredSides(gauge, VersionValues([a], [b]), effect)

    def _in_turns(self, bench: NamedBench, name: str, gauge: Gauge, done: int) -> MeasuredSides:
        """The effect over executions in turns, of which so many are done."""

        def so_far(levels: VersionValues) -> RelativeEffect:
            return effect(levels.a, levels.b, self.delta, exact=False)

        def is_decided(levels: VersionValues) -> bool:
            shown = so_far(levels)
            return shown.real or max(abs(shown.low), abs(shown.high)) < self.delta

        levels = in_turns(
            lambda turns: VersionValues(*map(gauge.levels, bench.run(name, turns))),
            is_decided,
            done,
        )
        return MeasuredSides(gauge, levels, so_far(levels))
