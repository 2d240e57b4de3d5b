"""What two versions of a benchmark cost: the effect by the metric that shows it, and what each
function adds to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from perfvcs.locate.blame.calltree import CallTree, least_of
from perfvcs.locate.blame.cause import Count, RelativeEffect, VersionValues, effect, judge
from perfvcs.locate.blame.gauge import BYTES, SECONDS, Gauge, Gauges, Question
from perfvcs.locate.blame.laboratory import Bench, Laboratory, UnmeasurableVersion, in_turns, level
from perfvcs.locate.blame.pairing import MatchedTree, contributions, differing, match, unsettled
from perfvcs.locate.blame.places import Places
from perfvcs.locate.blame.suspects import TreeEvidence
from perfvcs.locate.repeating import StoredCount
from perfvcs.measure.site import Version
from perfvcs.measure.unitseconds import wholes
from perfvcs.plugins.collector import divided
from perfvcs.profile import Profile
from perfvcs.profile.rules import USUAL_DELTA
from perfvcs.text.quantity import duration, percent

REPEATS = 3  # executions by time, of which the least counts
SAMPLED = 5  # executions under a sampler, which add up
# the share of the effect that bytecode instructions must have, for them to tell all
EXPLAINED = 0.75
# an effect from which on no count is repeated to see whether it varies: Lua's and Rust's vary by
# 1 % at most
VARIATION = 0.1
COUNTING_SHARE = 0.5  # of the budget that counting may take: other means need the rest
# how many times as long an execution takes that is counted by functions: measured 25 to 60, and 3.2
SLOWER = {"instructions": 50, "bytecodes": 5}
WHOLE = "counted over the whole program"  # what collectors say that cannot divide a program
MISSING = {
    "instructions": "its instructions are not counted",
    "bytecodes": "its bytecode is not counted",
    "allocated": "what it allocates is not counted",
    "allocations": "what it allocates is not counted",
    "samples": "it is not sampled",
    "python time": "the time of its functions is not known",
}


@dataclass
class MeasuredSides:
    """What both versions gave: the effect by one gauge, and trees with the difference by function
    in units of ``measure``.
    """

    gauge: Gauge
    levels: VersionValues
    effect: RelativeEffect
    evidence: list[TreeEvidence] = field(default_factory=list)
    measure: str = ""


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
            bench = _Named(opened, list(cells))
            self.profiles = bench.run("own")  # imports are compiled, files are read
            self._see(self.profiles)
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
                self._explain(bench, measured, counted)
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

    def _counted(self, bench: _Named, gauge: Gauge) -> list[Profile] | None:
        """Profiles by an exact metric; None, with a note, where it cannot be counted."""
        asked = gauge.metric in (self.gauges.metric, self.question.metric)
        if not asked and (seconds := self._too_long(gauge)):
            self.notes.append(
                f"{MISSING[gauge.metric]}: an execution takes {duration(seconds)}"
                f" (--metric {gauge.metric})"
            )
            return None
        if self.gauges.metric == gauge.metric:
            profiles = bench.run(gauge.metric)
        elif (optional := self._optional(bench, gauge.metric)) is not None:
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
        self._see(profiles)
        self.counts.append(Count(gauge.metric, a, b, *differing(*sides), whole))
        return profiles

    def _too_long(self, gauge: Gauge) -> float:
        """What an execution takes (s), if counting both sides and a trial would take more of the
        budget than its share; else 0.
        """
        seconds = max(wholes(self.profiles).values(), default=0.0)
        executions = len(self.profiles) + 1
        most = self.budget * COUNTING_SHARE
        return seconds if seconds * executions * SLOWER.get(gauge.metric, 1) > most else 0.0

    def _see(self, profiles: Iterable[Profile]) -> None:
        for profile in profiles:
            frames = profile.stacks.frames if profile.stacks else []
            self.ran |= {owner for frame in frames if (owner := self.places.owner(frame))}
            self.ran |= set(profile.reached.functions if profile.reached else ())

    def _optional(self, bench: _Named, name: str, times: int = 1) -> list[Profile] | None:
        """Profiles of what may turn out not to work, with a note where it does not."""
        if name not in bench.names:
            return None
        try:
            return bench.run(name, times)
        except UnmeasurableVersion as error:
            self.notes.append(f"{MISSING[name]}: {error}")
            if "valgrind said: " in str(error):  # its own words help nobody but its authors
                self.notes[-1] = "valgrind cannot run this program, so its functions are sampled"
            bench.bench.session.failures.clear()
            return None

    def _effect(self, bench: _Named, own: Gauge, counted: Sequence[MeasuredSides]) -> MeasuredSides:
        """The effect by the first exact metric that shows what the verdict shows; else the
        verdict's own, else processor time in turns.
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
        first = next((side for side in telling if self._shows(side)), None)
        if first is not None:
            return first
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

    def _timed(self, bench: _Named, own: Gauge) -> MeasuredSides:
        """The effect as the verdict has it where that was measured in turns, else measured so
        now.
        """
        return self._of_verdict(own) or self._in_turns(bench, "own", own, 1)

    def _repeated(self, bench: _Named, measured: MeasuredSides, own: Gauge) -> MeasuredSides:
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

    def _in_turns(self, bench: _Named, name: str, gauge: Gauge, done: int) -> MeasuredSides:
        """The effect over executions in turns, of which so many are done."""

        def seen(levels: VersionValues) -> RelativeEffect:
            return effect(levels.a, levels.b, self.delta, exact=False)

        def is_decided(levels: VersionValues) -> bool:
            so_far = seen(levels)
            return so_far.real or max(abs(so_far.low), abs(so_far.high)) < self.delta

        levels = in_turns(
            lambda turns: VersionValues(*map(gauge.levels, bench.run(name, turns))),
            is_decided,
            done,
        )
        return MeasuredSides(gauge, levels, seen(levels))

    def _explain(
        self, bench: _Named, measured: MeasuredSides, counted: dict[str, list[Profile]]
    ) -> None:
        """The call trees of both sides, and what each function adds."""
        if "allocated" in counted:
            self._add(measured, "bytes allocated", counted["allocated"])
        elif "bytecodes" in counted:
            tree = self._add(measured, "bytecode instructions", counted["bytecodes"])
            shown = tree.difference / (sum(tree.own[0]) or 1.0)
            if self._is_whole() or shown / measured.effect.value < EXPLAINED:
                self._add_time(bench, measured)
        else:
            self._explain_compiled(bench, measured, counted)
        by_unit = measured.gauge.exact and measured.gauge.unit  # its job counts it by itself
        if self._is_whole() and not by_unit:
            self._say_whole(bench)

    def _explain_compiled(
        self, bench: _Named, measured: MeasuredSides, counted: dict[str, list[Profile]]
    ) -> None:
        """Instructions; where they do not show the effect, allocations, which are exact, and
        samples, which say more of the time.
        """
        if "instructions" in counted and not self.gauges.python:
            self._add(measured, "instructions", counted["instructions"])
        if measured.gauge.metric == "instructions" and measured.evidence:
            return
        if not (self.counts or self.places.names_native or self.laboratory.runtime):
            self.notes.append("the cost of functions is not known here")  # of a script's
            return
        before = len(self.notes)
        allocations = None if measured.evidence else self._optional(bench, "allocations")
        if allocations:
            self._add(measured, "bytes allocated", allocations)
        if samples := self._optional(bench, "samples", SAMPLED):
            del self.notes[before:]  # samples also show what allocates
            self._add(measured, "samples", samples)
        if not measured.evidence:
            self.notes.append("the cost of functions is not known here")
        elif self.places.names_native and not self.ran:
            self.notes.append(
                "no function of the project has its name in the program: compile it with -g, and"
                " do not strip it"
            )

    def _add(
        self, measured: MeasuredSides, measure: str, profiles: Sequence[Profile]
    ) -> MatchedTree:
        self._see(profiles)
        first, second = (CallTree.of(profile) or CallTree.of_paths([]) for profile in profiles)
        tree = match(first, second)
        if len(tree) > 1:
            measured.evidence.append(TreeEvidence(tree, contributions(tree, self.places.owner)))
            measured.measure = measure
        return tree

    def _add_time(self, bench: _Named, measured: MeasuredSides) -> None:
        """Trees by processor time: of each path the least, and how far functions vary from
        execution to execution.
        """
        profiles = self._optional(bench, "python time", REPEATS)
        if not profiles:
            return
        sides = [list(filter(None, map(CallTree.of, _executions(side)))) for side in profiles]
        tree = match(least_of(sides[0]), least_of(sides[1]))
        repeats = [
            contributions(match(x, y), self.places.owner) for x, y in zip(*sides, strict=True)
        ]
        measured.evidence.append(
            TreeEvidence(tree, contributions(tree, self.places.owner), unsettled(repeats))
        )
        measured.measure = "processor time"

    def _is_whole(self) -> bool:
        return any(count.whole for count in self.counts)

    def _say_whole(self, bench: _Named) -> None:
        """Says that functions were counted over the whole program, and what share the unit has."""
        own = self.gauges.own()
        warned = next((line for line in bench.bench.session.warnings if WHOLE in line), WHOLE)
        said = warned[warned.index(WHOLE) :]
        share = ""
        if own.scale == SECONDS and (whole := level(bench.run("whole")[0])[0]):
            part = percent(own.levels(self.profiles[0])[0] / whole).lstrip("+")
            share = f", of which `{self.laboratory.unit}` is {part}"
        self.notes.append(said.replace(WHOLE, f"{WHOLE}{share}"))


@dataclass
class _Named:
    """A bench whose cells have names."""

    bench: Bench
    names: list[str]

    def run(self, name: str, times: int = 1) -> list[Profile]:
        return self.bench.run(self.names.index(name), times)


def rematched(
    evidence: TreeEvidence, renamed: dict[str, str], owner: Callable[[str], str | None]
) -> TreeEvidence:
    """The same trees, matched again by names that functions have now."""
    present = {before: after for before, after in renamed.items() if before in evidence.tree.names}
    if not present:
        return evidence
    tree = match(evidence.tree.side(0), evidence.tree.side(1), present)
    return TreeEvidence(tree, contributions(tree, owner), evidence.noise)


def _executions(profile: Profile) -> Iterable[Profile]:
    rows = profile.resources
    for execution in sorted(set(rows.execution)):
        trace = [
            stack if number == execution else -1
            for stack, number in zip(rows.integers("trace"), rows.execution, strict=True)
        ]
        yield structs.replace(profile, resources=replace(rows, trace=trace))
