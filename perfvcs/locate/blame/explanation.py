"""What each function adds to an effect: the call trees of both sides by counts, samples or time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from perfvcs.launcher.execution import TIMED_OUT
from perfvcs.locate.blame.calltree import CallTree, least_of
from perfvcs.locate.blame.cause import Count
from perfvcs.locate.blame.gauge import SECONDS, Gauge, Gauges
from perfvcs.locate.blame.laboratory import Bench, Laboratory, UnmeasurableVersion, level
from perfvcs.locate.blame.pairing import MatchedTree, contributions, match, unsettled
from perfvcs.locate.blame.places import Places
from perfvcs.locate.blame.proof import RelativeEffect, VersionValues
from perfvcs.locate.blame.suspects import TreeEvidence
from perfvcs.profile import Profile
from perfvcs.text.quantity import duration, percent

REPEATS = 3  # executions by time, of which the least counts
SAMPLED = 5  # executions under a sampler, which add up
# the share of the effect that bytecode instructions must have, for them to tell all
EXPLAINED = 0.75
WHOLE = "counted over the whole program"  # what collectors say that cannot divide a program
MISSING = {
    "instructions": "its instructions are not counted",
    "bytecodes": "its bytecode is not counted",
    "allocated": "what it allocates is not counted",
    "allocations": "what it allocates is not counted",
    "samples": "it is not sampled",
    "python time": "the time of its functions is not known",
}


def takes_long(metric: str, seconds: float) -> str:
    """Says that something is not counted, since an execution takes so many seconds."""
    return f"{MISSING[metric]}: an execution takes {duration(seconds)} (--metric {metric})"


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
class NamedBench:
    """A bench whose cells have names; ``notes`` say what could not be measured there."""

    bench: Bench
    names: list[str]
    notes: list[str]

    def run(self, name: str, times: int = 1) -> list[Profile]:
        """A profile of each version by the cell of a name; raises UnmeasurableVersion."""
        return self.bench.run(self.names.index(name), times)

    def optional(
        self, name: str, times: int = 1, most: float | None = None
    ) -> list[Profile] | None:
        """Profiles of what may turn out not to work, or to take more than so many seconds, with a
        note where it does.
        """
        if name not in self.names:
            return None
        if most is not None:
            self.bench.limit(self.names.index(name), most)
        try:
            return self.run(name, times)
        except UnmeasurableVersion as error:
            self.notes.append(f"{MISSING[name]}: {error}")
            if most is not None and TIMED_OUT in str(error):
                self.notes[-1] = takes_long(name, most)
            if "valgrind said: " in str(error):  # its own words help nobody but its authors
                self.notes[-1] = "valgrind cannot run this program, so its functions are sampled"
            self.bench.session.failures.clear()
            return None


@dataclass
class Explanation:
    """How an effect is explained; ``first`` is the first execution of the older side, ``counts``
    what exact metrics counted, ``ran`` the functions that were seen to run.
    """

    bench: NamedBench
    laboratory: Laboratory
    gauges: Gauges
    places: Places
    first: Profile
    counts: list[Count]
    ran: set[str]

    def explain(self, measured: MeasuredSides, counted: dict[str, list[Profile]]) -> None:
        """The call trees of both sides, and what each function adds."""
        if "allocated" in counted:
            self._add(measured, "bytes allocated", counted["allocated"])
        elif "bytecodes" in counted:
            tree = self._add(measured, "bytecode instructions", counted["bytecodes"])
            shown = tree.difference / (sum(tree.own[0]) or 1.0)
            if self._is_whole() or shown / measured.effect.value < EXPLAINED:
                self._add_time(measured)
        else:
            self._explain_compiled(measured, counted)
        by_unit = measured.gauge.exact and measured.gauge.unit  # its job counts it by itself
        if self._is_whole() and not by_unit:
            self._say_whole()

    def _explain_compiled(self, measured: MeasuredSides, counted: dict[str, list[Profile]]) -> None:
        """Instructions; where they do not show the effect, allocations, which are exact, and
        samples, which say more of the time.
        """
        if "instructions" in counted and not self.gauges.python:
            self._add(measured, "instructions", counted["instructions"])
        if measured.gauge.metric == "instructions" and measured.evidence:
            return
        if not (self.counts or self.places.names_native or self.laboratory.runtime):
            self.bench.notes.append("the cost of functions is not known here")  # of a script's
            return
        before = len(self.bench.notes)
        allocations = None if measured.evidence else self.bench.optional("allocations")
        if allocations:
            self._add(measured, "bytes allocated", allocations)
        if samples := self.bench.optional("samples", SAMPLED):
            del self.bench.notes[before:]  # samples also show what allocates
            self._add(measured, "samples", samples)
        if not measured.evidence:
            self.bench.notes.append("the cost of functions is not known here")
        elif self.places.names_native and not self.ran:
            self.bench.notes.append(
                "no function of the project has its name in the program: compile it with -g, and"
                " do not strip it"
            )

    def _add(
        self, measured: MeasuredSides, measure: str, profiles: Sequence[Profile]
    ) -> MatchedTree:
        self.ran |= seen(profiles, self.places)
        first, second = (CallTree.of(profile) or CallTree.of_paths([]) for profile in profiles)
        tree = match(first, second)
        if len(tree) > 1:
            measured.evidence.append(TreeEvidence(tree, contributions(tree, self.places.owner)))
            measured.measure = measure
        return tree

    def _add_time(self, measured: MeasuredSides) -> None:
        """Trees by processor time: of each path the least, and how far functions vary from
        execution to execution.
        """
        profiles = self.bench.optional("python time", REPEATS)
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

    def _say_whole(self) -> None:
        """Says that functions were counted over the whole program, and what share the unit has."""
        own = self.gauges.own()
        warned = next((line for line in self.bench.bench.session.warnings if WHOLE in line), WHOLE)
        said = warned[warned.index(WHOLE) :]
        share = ""
        if own.scale == SECONDS and (whole := level(self.bench.run("whole")[0])[0]):
            part = percent(own.levels(self.first)[0] / whole).lstrip("+")
            share = f", of which `{self.laboratory.unit}` is {part}"
        self.bench.notes.append(said.replace(WHOLE, f"{WHOLE}{share}"))


def seen(profiles: Iterable[Profile], places: Places) -> set[str]:
    """The functions that profiles show to have run."""
    ran: set[str] = set()
    for profile in profiles:
        frames = profile.stacks.frames if profile.stacks else []
        ran |= {owner for frame in frames if (owner := places.owner(frame))}
        ran |= set(profile.reached.functions if profile.reached else ())
    return ran


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
