"""Auxiliary versions measured beside the two that differ: the new one without a change, the old one with new dependencies."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from msgspec import structs

from perfvcs.errors import PerfError
from perfvcs.locate import auxiliary
from perfvcs.locate.comparison import TURNS, CommitComparison, MeasuredSides
from perfvcs.locate.finding import AuxiliaryTrial
from perfvcs.locate.hunks import ChangedUnit, SourceDifference
from perfvcs.locate.laboratory import Laboratory, UnmeasurableVersion, level
from perfvcs.locate.proof import Experiment, VersionValues, judge
from perfvcs.locate.suspects import Suspect
from perfvcs.measure.site import Version
from perfvcs.text.words import counted

TRIED = 5  # suspects that are tried
MOST_OF_IT = 0.8  # the share of the effect beyond which no other suspect is tried


@dataclass
class Experiments:
    """The trials of one investigation; nothing new begins after ``deadline``, a time of the monotonic clock."""

    comparison: CommitComparison
    measured: MeasuredSides
    deadline: float
    trials: list[AuxiliaryTrial] = field(default_factory=list)

    @property
    def laboratory(self) -> Laboratory:
        """Where the benchmark is measured."""
        return self.comparison.laboratory

    def suspects(self, changed: SourceDifference, suspects: list[Suspect]) -> None:
        """Take suspects' changes back, the most suspect first, until one or several together explain the effect.

        Those that counting does not suspect follow only if none of the others explains anything.
        """
        tried = suspects[:TRIED]
        for number, suspect in enumerate(tried):
            if number and not suspect.score and any(trial.word == "contributes" for trial in self.trials):
                return
            if self._late():
                left = counted(len(tried) - number, "suspect")
                self.comparison.notes.append(f"the budget is used up: {left} not tried (--budget)")
                return
            trial = self._without(changed, suspect.unit)
            self.trials.append(trial)
            if trial.word == "proved" or (trial.word == "contributes" and (trial.share or 0.0) >= MOST_OF_IT):
                return

    def dependencies(self, upgraded: list[str]) -> AuxiliaryTrial | None:
        """Measure the old version with the new one's dependencies: ``proved`` if that alone has the new level; None without a build."""
        self.laboratory.progress.say(f"trying {self.comparison.a[:10]} with {', '.join(upgraded[:5])}")
        try:
            levels = self._levels(Version(self.comparison.a, packages=tuple(upgraded)))
        except PerfError as error:
            if error.exit_code != UnmeasurableVersion.exit_code:
                raise
            self.comparison.notes.append(f"not tried with the new dependencies: {error}")
            return None
        seen = judge(VersionValues(levels.b, levels.a, levels.auxiliary), self.comparison.delta)
        return _trial("dependencies", ", ".join(upgraded), levels, seen)

    def _without(self, changed: SourceDifference, unit: ChangedUnit) -> AuxiliaryTrial:
        """Measure the new version without a unit's hunks, with more of them taken back where it does not run without those alone."""
        reason, repository = "", self.laboratory.repository
        scratch = repository.home / "tmp"
        scratch.mkdir(exist_ok=True)
        for besides, hunks in auxiliary.attempts(changed, unit):
            made = auxiliary.commit(repository.project, scratch, self.comparison.b, auxiliary.reverted(changed, hunks))
            with_what = f", {besides}" if besides else ""
            self.laboratory.progress.say(f"trying {self.comparison.b[:10]} without the change of {unit}{with_what}")
            try:
                levels = self._levels(Version(made))
            except UnmeasurableVersion as error:
                reason = str(error)
                continue
            seen = judge(levels, self.comparison.delta)
            return structs.replace(_trial(unit.name, unit.path, levels, seen), besides=besides, commit=made)
        reason = f"the new version does not work without it: {reason}"
        return AuxiliaryTrial(name=unit.name, path=unit.path, word="not proved", reason=reason)

    def _levels(self, made: Version) -> VersionValues:
        """The levels of a, b and the auxiliary version; exact ones of a and b are known."""
        measured, laboratory = self.measured, self.laboratory
        gauge = self.comparison.gauge(measured.metric) if measured.levels.exact else None
        if gauge is not None:
            with laboratory.open([made], [laboratory.under("time"), gauge]) as bench:
                bench.run(0)
                return VersionValues(measured.levels.a, measured.levels.b, level(bench.run(1)[0]))
        with laboratory.open([Version(self.comparison.a), Version(self.comparison.b), made], [laboratory.under("time")]) as bench:
            done = 0
            for turns in TURNS:
                profiles = bench.run(0, turns - done)
                done = turns
                levels = VersionValues(*(level(profile) for profile in profiles))
                if judge(levels, self.comparison.delta).word != "open" or self._late():
                    break
        return levels

    def _late(self) -> bool:
        return time.monotonic() > self.deadline


def _trial(name: str, path: str, levels: VersionValues, seen: Experiment) -> AuxiliaryTrial:
    middle = sum(levels.auxiliary) / len(levels.auxiliary)
    undecided = seen.word == "open"
    return AuxiliaryTrial(
        name=name, path=path, level=middle, word="not proved" if undecided else seen.word, share=seen.share, low=seen.low, high=seen.high,
        executions=len(levels.auxiliary), reason="too noisy to tell" if undecided else "",
    )  # fmt: skip
