"""What two versions of a benchmark cost: the effect by the metric that shows it, and what each
function adds to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from msgspec import structs

from perfvcs.errors import UsageError
from perfvcs.jobs import Cell
from perfvcs.locate.blame.calltree import CallTree, least_of
from perfvcs.locate.blame.cause import RelativeEffect, VersionValues, effect
from perfvcs.locate.blame.laboratory import Bench, Laboratory, UnmeasurableVersion, level
from perfvcs.locate.blame.pairing import MatchedTree, contributions, match, unsettled
from perfvcs.locate.blame.places import Places
from perfvcs.locate.blame.suspects import TreeEvidence
from perfvcs.measure.site import Version
from perfvcs.profile import Profile

# blocks of a sampled metric, after each of which it is decided whether more are needed
TURNS = (6, 12, 24)
REPEATS = 3  # executions by time, of which the least counts
SAMPLED = 5  # executions under a sampler, which add up
# the share of the effect that bytecode instructions must have, for them to tell all
EXPLAINED = 0.75
BlameMetric = Literal["auto", "instructions", "bytecodes", "cpu", "allocated"]
COLLECTORS: dict[BlameMetric, str] = {
    "instructions": "instructions",
    "bytecodes": "bytecode",
    "allocated": "memory",
    "cpu": "time",
}


@dataclass
class MeasuredSides:
    """What both versions gave: the effect by one metric, and trees with the difference by function
    in units of ``measure``.
    """

    metric: BlameMetric
    levels: VersionValues
    effect: RelativeEffect
    evidence: list[TreeEvidence] = field(default_factory=list)
    measure: str = ""


@dataclass
class CommitComparison:
    """One benchmark on two commits; ``profiles`` are those of the first execution, ``notes`` what
    could not be measured.

    ``metric`` is what the effect is shown by: "auto" takes the first exact one that shows any, else
    processor time.
    """

    laboratory: Laboratory
    a: str
    b: str
    metric: BlameMetric
    delta: float
    places: Places
    notes: list[str] = field(default_factory=list)
    profiles: list[Profile] = field(default_factory=list)

    def measure(self) -> MeasuredSides:
        """The effect, and where there is one the call trees; raises UnmeasurableVersion,
        UsageError.
        """
        python = self.laboratory.runs_python()
        cells = {"time": self.laboratory.under("time"), **self._exact_cells(python=python)}
        if python:
            cells["python time"] = self.laboratory.under("bytecode", meter="time", warm=False)
        elif "instructions" not in cells:
            cells |= self._approximate_cells()
        with self.laboratory.open(
            [Version(self.a), Version(self.b)], list(cells.values())
        ) as opened:
            bench = _Named(opened, list(cells))
            self.profiles = bench.run("time")  # imports are compiled, files are read
            counts = self._optional(bench, "bytecodes", "not counted in Python")
            measured = self._effect(bench, counts)
            if measured.effect.real:
                self._explain(bench, measured, counts)
        return measured

    def gauge(self, metric: BlameMetric) -> Cell | None:
        """The benchmark under the collector of an exact metric; None where that cannot run here."""
        options: dict[str, object] = {}
        if metric == "bytecodes":
            options = {"warm": False}
        elif metric == "instructions":
            # of a Python program the total alone, since the functions that valgrind sees are the
            # interpreter's
            python = self.laboratory.runs_python()
            options = {
                "tool": "cachegrind" if python else "callgrind",
                "repeat": 0,
                "inlined": not python,
            }
        cell = self.laboratory.under(COLLECTORS[metric], **options)
        reason = cell.collector.available()
        if reason and self.metric == metric:
            raise UsageError(reason)
        return None if reason else cell

    def _exact_cells(self, *, python: bool) -> dict[str, Cell]:
        wanted: dict[BlameMetric, bool] = {
            "instructions": self.metric in ("auto", "instructions"),
            "bytecodes": python and self.metric not in ("cpu", "allocated"),
            "allocated": self.metric == "allocated",
        }
        cells = {metric: self.gauge(metric) for metric, is_wanted in wanted.items() if is_wanted}
        if wanted["instructions"] and cells["instructions"] is None:
            self.notes.append(
                "without valgrind functions of C are known by their time only: apt install valgrind"
            )
        return {metric: cell for metric, cell in cells.items() if cell is not None}

    def _approximate_cells(self) -> dict[str, Cell]:
        """What shows the functions of a compiled program without counting its instructions:
        samples, and allocations.
        """
        cells = {
            "samples": self.laboratory.under("samples"),
            "allocated": self.laboratory.under("memory"),
        }
        return {name: cell for name, cell in cells.items() if cell.collector.available() is None}

    def _optional(
        self, bench: _Named, name: str, otherwise: str, times: int = 1
    ) -> list[Profile] | None:
        """Profiles of what may turn out not to work, with a note where it does not."""
        if name not in bench.names:
            return None
        try:
            return bench.run(name, times)
        except UnmeasurableVersion as error:
            self.notes.append(f"{otherwise}: {error}")
            bench.bench.session.failures.clear()
            return None

    def _effect(self, bench: _Named, counts: list[Profile] | None) -> MeasuredSides:
        """The effect by the first exact metric that shows one, else by processor time in turns."""
        exact: MeasuredSides | None = None
        if self.metric in ("auto", "instructions") and "instructions" in bench.names:
            exact = self._exact("instructions", bench.run("instructions"))
        elif self.metric == "allocated":
            exact = self._exact("allocated", bench.run("allocated"))
        elif counts:
            exact = self._exact("bytecodes", counts)
        if exact is not None and (exact.effect.real or self.metric != "auto"):
            return exact
        done = 1
        for turns in TURNS:
            levels = [level(profile) for profile in bench.run("time", turns - done)]
            done = turns
            sampled = VersionValues(levels[0], levels[1])
            seen = effect(levels[0], levels[1], self.delta, exact=False)
            if seen.real or max(abs(seen.low), abs(seen.high)) < self.delta:
                break
        if not seen.real and exact is not None:
            return exact  # the exact figure says more than an interval
        return MeasuredSides("cpu", sampled, seen)

    def _exact(self, metric: BlameMetric, profiles: list[Profile]) -> MeasuredSides:
        levels = [level(profile)[-1:] for profile in profiles]
        return MeasuredSides(
            metric,
            VersionValues(levels[0], levels[1]),
            effect(levels[0], levels[1], self.delta, exact=True),
        )

    def _explain(
        self, bench: _Named, measured: MeasuredSides, counts: list[Profile] | None
    ) -> None:
        """The call trees of both sides, and what each function adds."""
        if measured.metric == "allocated":
            self._add(measured, "bytes allocated", bench.again("allocated"))
            return
        if counts:
            tree = self._add(measured, "bytecode instructions", counts)
            shown = tree.difference / (sum(tree.own[0]) or 1.0)
            if shown / measured.effect.value >= EXPLAINED:
                return
            measured.evidence.append(self._by_time(bench.run("python time", REPEATS)))
            measured.measure = "processor time"
        elif "instructions" in bench.names and not self.laboratory.runs_python():
            self._add(measured, "instructions", bench.again("instructions"))
        else:
            self._explain_without_counts(bench, measured)

    def _explain_without_counts(self, bench: _Named, measured: MeasuredSides) -> None:
        """Allocations, which are exact, and samples, which say more of the time."""
        if allocations := self._optional(bench, "allocated", "allocations are not known"):
            self._add(measured, "bytes allocated", allocations)
        if samples := self._optional(bench, "samples", "not sampled", SAMPLED):
            self._add(measured, "samples", samples)
        if not measured.evidence:
            self.notes.append(
                "the cost of functions is not known here, so every changed function is a suspect"
            )

    def _add(
        self, measured: MeasuredSides, measure: str, profiles: Sequence[Profile]
    ) -> MatchedTree:
        first, second = (CallTree.of(profile) or CallTree.of_paths([]) for profile in profiles)
        tree = match(first, second)
        if len(tree) > 1:
            measured.evidence.append(TreeEvidence(tree, contributions(tree, self.places.owner)))
            measured.measure = measure
        return tree

    def _by_time(self, profiles: list[Profile]) -> TreeEvidence:
        """Trees by processor time: of each path the least, and how far functions vary from
        execution to execution.
        """
        sides = [list(filter(None, map(CallTree.of, _executions(side)))) for side in profiles]
        tree = match(least_of(sides[0]), least_of(sides[1]))
        repeats = [
            contributions(match(x, y), self.places.owner) for x, y in zip(*sides, strict=True)
        ]
        return TreeEvidence(tree, contributions(tree, self.places.owner), unsettled(repeats))


@dataclass
class _Named:
    """A bench whose cells have names."""

    bench: Bench
    names: list[str]

    def run(self, name: str, times: int = 1) -> list[Profile]:
        return self.bench.run(self.names.index(name), times)

    def again(self, name: str) -> list[Profile]:
        """What is measured already."""
        return self.bench.run(self.names.index(name), 0)


def rematched(
    evidence: TreeEvidence, renamed: dict[str, str], owner: Callable[[str], str | None]
) -> TreeEvidence:
    """The same trees, matched again by names that functions have now."""
    present = {before: after for before, after in renamed.items() if before in evidence.tree.names}
    if not present:
        return evidence
    tree = match(_side(evidence.tree, 0), _side(evidence.tree, 1), present)
    return TreeEvidence(tree, contributions(tree, owner), evidence.noise)


def _side(tree: MatchedTree, side: int) -> CallTree:
    """One of the two trees that a matched tree was made from, as far as names are known."""
    place: dict[int, int] = {-1: -1}
    names: list[str] = []
    parents: list[int] = []
    own: list[float] = []
    calls: list[float] = []
    for node in range(len(tree)):
        if node and not tree.calls[side][node]:
            continue
        place[node] = len(names)
        names.append(tree.names[node])
        parents.append(place[tree.parents[node]])
        own.append(tree.own[side][node])
        calls.append(tree.calls[side][node])
    return CallTree(names, parents, own, calls)


def _executions(profile: Profile) -> Iterable[Profile]:
    """A profile per execution."""
    rows = profile.resources
    for execution in sorted(set(rows.execution)):
        trace = [
            stack if number == execution else -1
            for stack, number in zip(rows.integers("trace"), rows.execution, strict=True)
        ]
        yield structs.replace(profile, resources=replace(rows, trace=trace))
