"""Which function made a benchmark slower: counted, compared with what changed, and proved by taking
the change back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from msgspec import structs

from perfvcs.locate.blame.calltree import ROOT
from perfvcs.locate.blame.cause import (
    AuxiliaryTrial,
    Blame,
    FunctionVerdict,
    Lines,
    Node,
    SuspectFunction,
    best,
)
from perfvcs.locate.blame.comparison import CommitComparison
from perfvcs.locate.blame.elsewhere import (
    others,
    own_name,
    some,
    submodules,
    surroundings,
    upgraded,
)
from perfvcs.locate.blame.experiments import Experiments
from perfvcs.locate.blame.explanation import MeasuredSides, rematched
from perfvcs.locate.blame.gauge import BlameMetric, Gauges, Question
from perfvcs.locate.blame.jobfiles import OWN, JobFiles
from perfvcs.locate.blame.kinds import kinds
from perfvcs.locate.blame.laboratory import Laboratory
from perfvcs.locate.blame.pairing import MatchedTree, contributions
from perfvcs.locate.blame.places import Places, files_of
from perfvcs.locate.blame.suspects import UNEXPLAINED_SHARE, Suspect, TreeEvidence, rank
from perfvcs.locate.sources import is_within
from perfvcs.locate.sources.grammars import language_of, unread
from perfvcs.locate.sources.hunks import SourceDifference, difference
from perfvcs.measure.rig import Rig
from perfvcs.text.characters import source_lines
from perfvcs.text.quantity import percent

SUSPECTS = 10  # that are reported
LEAST_SHOWN = 0.001  # the share of all cost from which on a node of the trees is kept
MOST_NODES = 4000  # of the trees, the heaviest


@dataclass(frozen=True)
class BlameRequest:
    """What the caller asks: revisions, what of them, the metric, delta as a share (None: the usual
    one, and of an exact metric by which the verdict goes none), seconds.
    """

    a: str
    b: str
    question: Question
    metric: BlameMetric = "auto"
    delta: float | None = None
    budget: float = 1800.0
    prove: bool = True
    wait: bool = False


def blame(rig: Rig, request: BlameRequest) -> Blame:
    """Find what made a benchmark another one from ``a`` to ``b``; raises UnmeasurableVersion,
    UsageError.
    """
    repository = rig.repository
    project = repository.project
    a, b = (project.resolve(revision) for revision in (request.a, request.b))
    with repository.measuring(wait=request.wait):
        return _Investigation(rig, request, a, b).run()


class _Investigation:
    """One call of `perf blame`."""

    def __init__(self, rig: Rig, request: BlameRequest, a: str, b: str) -> None:
        self.repository, self.config, self.request = rig.repository, rig.config, request
        self.project = rig.repository.project
        self.a, self.b = a, b
        self.began = time.monotonic()
        question = request.question
        self.laboratory = Laboratory(rig, question.cell, unit=question.unit)
        places = Places.of(self.project, a, b, native=not self.laboratory.runs_python())
        gauges = Gauges(self.laboratory, question, request.metric)
        self.comparison = CommitComparison(
            laboratory=self.laboratory,
            a=a,
            b=b,
            question=question,
            gauges=gauges,
            asked_delta=request.delta,
            places=places,
            budget=request.budget,
        )

    def run(self) -> Blame:
        measured = self.comparison.measure()
        first, second = self.comparison.profiles
        elsewhere = surroundings(first, second) + submodules(self.project, self.a, self.b)
        if not measured.effect.real:
            return self._found(measured, "no difference", elsewhere)
        changed = self._difference(measured.evidence)
        suspects = self._rank(changed, measured)
        experiments = Experiments(self.comparison, measured, self.began + self.request.budget)
        newer = upgraded(first, second, own_name(self.project, self.b))
        other = experiments.dependencies(newer) if newer and self.request.prove else None
        if other is not None and other.word == "proved":
            return self._found(measured, "not the code", elsewhere, changed, dependencies=other)
        if self.request.prove:
            # what changes time without running only moves other code; exact counts stay as they are
            able = [suspect for suspect in suspects if suspect.may_be_cause or measured.gauge.exact]
            experiments.suspects(changed, able)
        verdict = self._verdict(suspects, experiments.trials)
        return self._found(
            measured, verdict, elsewhere, changed, suspects, experiments.trials, other
        )

    def _difference(self, evidence: Sequence[TreeEvidence]) -> SourceDifference:
        kept, places = (*self.config.overlay, "perf.toml"), self.comparison.places
        owners = {places.owner(name) for tree in evidence for name in set(tree.tree.names)}
        reached = {owner.rpartition(":")[0] for owner in owners if owner}
        reached |= self.files.own
        return difference(
            self.project,
            self.a,
            self.b,
            skip=lambda path: is_within(path, kept),
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
        ran = self.comparison.ran
        if self.comparison.laboratory.serves():  # what a service runs is not seen: anything may
            ran = {unit.key for unit in changed.meaning}
        self._say_read(changed)
        distance = self.files.distance
        return rank(changed.meaning, measured.evidence, places, sign, ran, distance)

    def _say_read(self, changed: SourceDifference) -> None:
        """Says which of the job's own files are read as text, and why."""
        paths = [path for path, change in changed.files.items() if change.is_text]
        reasons: dict[str, list[str]] = {}
        for path in paths:
            if self.files.distance(path) == OWN and (reason := unread(language_of(path))):
                reasons.setdefault(reason, []).append(path)
        for reason, paths in reasons.items():
            self.comparison.notes.append(f"{some(paths)} read as text: {reason}")

    @cached_property
    def files(self) -> JobFiles:
        """The files of the newer side, by how near they are to the job."""
        cell = self.laboratory.cell
        return JobFiles(self.project, files_of(self.project, self.b), cell, self.config.build)

    def _verdict(
        self, suspects: Sequence[Suspect], trials: Sequence[AuxiliaryTrial]
    ) -> FunctionVerdict:
        if not suspects:
            return "not the code"
        if (shown := best(trials)) is not None:
            return "proved" if shown.word == "proved" else "contributes"
        if self.comparison.agree:
            return "same counts"
        if not trials and not any(suspect.may_be_cause for suspect in suspects):
            return "not seen"
        return "not proved" if trials else "suspected"

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
        if judge := self.repository.judge_changes(self.a, self.b):
            self.comparison.notes.append(judge)
        tree = measured.evidence[-1].tree if measured.evidence else None
        blame = Blame(
            baseline=self.a,
            target=self.b,
            job=self.laboratory.cell.label,
            unit=self.laboratory.unit,
            size=self.request.question.size,
            metric=measured.gauge.metric,
            scale=measured.gauge.scale,
            a=sum(levels.a) / len(levels.a),
            b=sum(levels.b) / len(levels.b),
            effect=effect.value,
            low=effect.low,
            high=effect.high,
            delta=self.comparison.delta,
            verdict=verdict,
            checked=self.request.question.checked,
            counts=self.comparison.counts,
            trials=list(trials),
            dependencies=dependencies,
            notes=[*filter(None, [self.request.question.choice]), *self.comparison.notes],
            elsewhere=elsewhere,
            measure=measured.measure,
            moved=_moved(measured),
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


def _moved(measured: MeasuredSides) -> str:
    """The function that adds most to the difference, whoever's it is, and its share of what the old
    version costs; empty where that is not known.
    """
    sign = 1 if measured.effect.value > 0 else -1
    for evidence in reversed(measured.evidence):
        amounts = {
            name: contribution.amount * sign
            for name, contribution in contributions(evidence.tree).items()
            if name != ROOT
        }
        name = max(amounts, key=amounts.__getitem__, default="")
        if name and amounts[name] > UNEXPLAINED_SHARE * evidence.base:
            return f"{name} {percent(sign * amounts[name] / evidence.base)}"
    return ""


def _function(suspect: Suspect, changed: SourceDifference) -> SuspectFunction:
    unit = suspect.unit
    change = changed.files.get(unit.path)
    sides = (change.old, change.new) if change else ("", "")
    old, new = (source_lines(text.replace("\r\n", "\n")) for text in sides)
    return SuspectFunction(
        name=unit.name,
        path=unit.path,
        score=suspect.score,
        through=suspect.through.partition(":")[2],
        kinds=kinds(change, unit.name, unit.hunks) if change else [],
        hunks=[
            Lines(unit.path, hunk.old, hunk.new, _part(old, *hunk.old), _part(new, *hunk.new))
            for hunk in unit.hunks
        ],
        **{name: value for name, value in vars(suspect).items() if name not in ("unit", "through")},
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
