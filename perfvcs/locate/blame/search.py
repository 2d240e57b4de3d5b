"""Which function made a benchmark slower: counted, compared with what changed, and proved by taking
the change back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec import structs

from perfvcs.errors import PerfError, UsageError
from perfvcs.jobs import Cell, matrix
from perfvcs.jobs.config import Config
from perfvcs.locate.blame.cause import (
    AuxiliaryTrial,
    Blame,
    FunctionVerdict,
    Lines,
    Node,
    SuspectFunction,
    best,
)
from perfvcs.locate.blame.comparison import BlameMetric, CommitComparison, MeasuredSides, rematched
from perfvcs.locate.blame.elsewhere import others, own_name, surroundings, upgraded
from perfvcs.locate.blame.experiments import Experiments
from perfvcs.locate.blame.kinds import kinds
from perfvcs.locate.blame.laboratory import Laboratory
from perfvcs.locate.blame.pairing import MatchedTree
from perfvcs.locate.blame.places import Places, is_source
from perfvcs.locate.blame.suspects import Suspect, TreeEvidence, rank
from perfvcs.locate.sources.hunks import SourceDifference, difference
from perfvcs.measure.rig import Rig
from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter
from perfvcs.profile.naming import typed
from perfvcs.repository import Repository
from perfvcs.text.characters import source_lines

SUSPECTS = 10  # that are reported
LEAST_SHOWN = 0.001  # the share of all cost from which on a node of the trees is kept
MOST_NODES = 4000  # of the trees, the heaviest


class NothingToBlame(PerfError):
    """There is nothing to compare."""

    exit_code = 4


@dataclass(frozen=True)
class BlameRequest:
    """What the caller asks: revisions, the benchmarks that are meant (by default what changed
    most), the metric, delta as a share, seconds.
    """

    a: str
    b: str
    benchmarks: BenchmarkFilter = EVERYTHING
    metric: BlameMetric = "auto"
    delta: float = 0.01
    budget: float = 1800.0
    prove: bool = True
    wait: bool = False


def blame(rig: Rig, request: BlameRequest) -> Blame:
    """Find what made a benchmark another one from ``a`` to ``b``; raises UnmeasurableVersion,
    NothingToBlame, UsageError.
    """
    repository = rig.repository
    project = repository.project
    a, b = (project.resolve(revision) for revision in (request.a, request.b))
    if a == b:
        raise NothingToBlame(
            f"{request.a} and {request.b} are the same commit: name two different ones"
        )
    cell = choose(repository, rig.config, request)
    with repository.measuring(wait=request.wait):
        return _Investigation(rig, request, a, b, cell).run()


def choose(repository: Repository, config: Config, request: BlameRequest) -> Cell:
    """The benchmark: the one named, the one that changed most by what is stored, or the only
    one.
    """
    wanted = request.benchmarks
    cells = {
        cell.label: cell
        for cell in reversed(matrix(config))
        if wanted.has_job(cell.label, cell.collector_name)
    }
    if len(cells) == 1:
        return next(iter(cells.values()))
    from perfvcs.check import NothingToCompare

    try:
        report = repository.compare(repository.state(request.a), repository.state(request.b))
    except NothingToCompare:
        report = None
    changes = report.having("degradation", "improvement") if report else []
    changes.sort(key=lambda change: abs(change.effect or 0.0), reverse=True)
    changes.sort(key=lambda change: change.word != "degradation")
    for change in changes:
        fits = wanted.has(change.job, change.uid, change.size, change.metric, change.series)
        if fits and change.job in cells:
            return cells[change.job]
    names = ", ".join(map(typed, sorted(cells)[:8]))
    raise UsageError(
        f"no stored verdict says which benchmark changed: name one: `perf blame {request.a}"
        f" {request.b} BENCHMARK` ({names})"
    )


class _Investigation:
    """One call of `perf blame`."""

    def __init__(self, rig: Rig, request: BlameRequest, a: str, b: str, cell: Cell) -> None:
        self.project, self.config, self.request = rig.repository.project, rig.config, request
        self.a, self.b = a, b
        self.began = time.monotonic()
        self.laboratory = Laboratory(rig, cell)
        places = Places.of(self.project, a, b, native=not self.laboratory.runs_python())
        self.comparison = CommitComparison(
            self.laboratory, a, b, request.metric, request.delta, places
        )

    def run(self) -> Blame:
        """Measure, compare, and prove."""
        measured = self.comparison.measure()
        first, second = self.comparison.profiles
        elsewhere = surroundings(first, second)
        if not measured.effect.real:
            return self._found(measured, "no difference", elsewhere)
        changed = self._difference(measured.evidence)
        suspects = self._rank(changed, measured)
        experiments = Experiments(self.comparison, measured, self.began + self.request.budget)
        newer = upgraded(first, second, own_name(self.project, self.b))
        other = experiments.dependencies(newer) if newer and self.request.prove else None
        if other is not None and other.word == "proved":
            return self._found(measured, "not the code", elsewhere, changed, dependencies=other)
        if suspects and self.request.prove:
            experiments.suspects(changed, suspects)
        verdict = _verdict(suspects, experiments.trials)
        return self._found(
            measured, verdict, elsewhere, changed, suspects, experiments.trials, other
        )

    def _difference(self, evidence: Sequence[TreeEvidence]) -> SourceDifference:
        kept, places = (*self.config.overlay, "perf.toml"), self.comparison.places
        owners = {places.owner(name) for tree in evidence for name in set(tree.tree.names)}
        reached = {owner.rpartition(":")[0] for owner in owners if owner}
        return difference(
            self.project,
            self.a,
            self.b,
            skip=lambda path: not is_source(path, kept),
            first=reached.__contains__,
        )

    def _rank(self, changed: SourceDifference, measured: MeasuredSides) -> list[Suspect]:
        sign, places = 1.0 if measured.effect.value > 0 else -1.0, self.comparison.places
        if changed.left_out:
            self.comparison.notes.append(f"{changed.left_out:,} changed files are left out")
        if changed.renamed:
            measured.evidence = [
                rematched(tree, changed.renamed, places.owner) for tree in measured.evidence
            ]
        return rank(changed.meaning, measured.evidence, places, sign)

    def _found(
        self,
        measured: MeasuredSides,
        verdict: FunctionVerdict,
        elsewhere: list[str],
        changed: SourceDifference | None = None,
        suspects: Sequence[Suspect] = (),
        trials: Sequence[AuxiliaryTrial] = (),
        dependencies: AuxiliaryTrial | None = None,
    ) -> Blame:
        levels, effect = measured.levels, measured.effect
        tree = measured.evidence[-1].tree if measured.evidence else None
        blame = Blame(
            baseline=self.a,
            target=self.b,
            job=self.laboratory.cell.label,
            metric=measured.metric,
            a=sum(levels.a) / len(levels.a),
            b=sum(levels.b) / len(levels.b),
            effect=effect.value,
            low=effect.low,
            high=effect.high,
            delta=self.request.delta,
            verdict=verdict,
            trials=list(trials),
            dependencies=dependencies,
            notes=self.comparison.notes,
            elsewhere=elsewhere,
            measure=measured.measure,
            tree=_nodes(tree) if tree else [],
            executions=self.laboratory.executions,
            seconds=round(time.monotonic() - self.began, 1),
            made=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        if changed is None:
            return blame
        return structs.replace(
            blame,
            others=others(changed),
            suspects=[_function(suspect, changed) for suspect in suspects[:SUSPECTS]],
            changed=len(changed.meaning),
        )


def _verdict(suspects: Sequence[Suspect], trials: Sequence[AuxiliaryTrial]) -> FunctionVerdict:
    if not suspects:
        return "not the code"
    if (shown := best(trials)) is not None:
        return "proved" if shown.word == "proved" else "contributes"
    return "not proved" if trials else "suspected"


def _function(suspect: Suspect, changed: SourceDifference) -> SuspectFunction:
    unit = suspect.unit
    change = changed.files[unit.path]
    old, new = (source_lines(text.replace("\r\n", "\n")) for text in (change.old, change.new))
    return SuspectFunction(
        name=unit.name,
        path=unit.path,
        score=suspect.score,
        own=suspect.own,
        led=suspect.led,
        dearer=suspect.dearer,
        oftener=suspect.oftener,
        callee=suspect.callee,
        through=suspect.through.partition(":")[2],
        reached=suspect.reached,
        calls=suspect.calls,
        kinds=kinds(change, unit.name, unit.hunks),
        hunks=[
            Lines(unit.path, hunk.old, hunk.new, _part(old, *hunk.old), _part(new, *hunk.new))
            for hunk in unit.hunks
        ],
    )


def _part(source: Sequence[str], first: int, count: int) -> list[str]:
    """So many lines of a source, from the ``first`` on; without any, ``first`` may be 0."""
    return list(source[first - 1 :][:count]) if count else []


def _nodes(tree: MatchedTree) -> list[Node]:
    """The heaviest nodes, parents first."""
    whole = tree.inclusive()
    least = LEAST_SHOWN * max(whole[0][0], whole[1][0])
    costs = [max(sides) for sides in zip(*whole, strict=True)]
    chosen = sorted(range(len(tree)), key=lambda node: -costs[node])[:MOST_NODES]
    heaviest = sorted(node for node in chosen if costs[node] >= least)
    place = {node: number for number, node in enumerate(heaviest)}
    return [
        Node(
            tree.names[node],
            place.get(tree.parents[node], -1),
            whole[0][node],
            whole[1][node],
            tree.calls[0][node],
            tree.calls[1][node],
        )
        for node in heaviest
    ]
