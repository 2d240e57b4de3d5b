"""Auxiliary versions measured beside the two that differ: the new one without a change, the old one
with new dependencies.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from msgspec import structs

from perfvcs.errors import PerfError
from perfvcs.git.project import Project
from perfvcs.locate.blame.cause import AuxiliaryTrial
from perfvcs.locate.blame.comparison import CommitComparison
from perfvcs.locate.blame.explanation import MeasuredSides
from perfvcs.locate.blame.laboratory import Laboratory, UnmeasurableVersion
from perfvcs.locate.blame.proof import SMALLEST_SHARE, Experiment, VersionValues, judge
from perfvcs.locate.blame.reversals import Blob, Reversal, Reversals, reverted
from perfvcs.locate.blame.suspects import Suspect
from perfvcs.locate.sources.hunks import ChangedUnit, Hunk, SourceDifference
from perfvcs.measure.site import Version
from perfvcs.text.words import counted

AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (
        ("NAME", "perfvcs"),
        ("EMAIL", "perfvcs@localhost"),
        ("DATE", "2000-01-01T00:00:00Z"),
    )
}
TRIED = 5  # suspects that are tried
MOST_OF_IT = 0.8  # the share of the effect beyond which no other suspect is tried


def commit(
    project: Project, scratch: Path, base: str, texts: Mapping[str, str | Blob | None]
) -> str:
    """The id of a commit that has the content of ``base`` with other texts in some files; None
    takes a file away.

    Neither the index nor the working tree nor any branch changes; git drops the commit when it
    collects garbage. ``scratch`` is a folder for an index. The same content has the same id.
    """
    extra = {**AUTHOR, "GIT_INDEX_FILE": str(scratch / f"index-{os.getpid()}")}
    try:
        project.git("read-tree", base, extra=extra)
        lines = []
        for path, text in texts.items():
            mode = (
                project.git(
                    "ls-files", "--stage", "-z", "--", f":(literal){path}", extra=extra
                ).partition(" ")[0]
                or "100644"
            )
            name = _named(project, text)
            lines.append(f"0 {'0' * 40}\t{path}\0" if text is None else f"{mode} {name}\t{path}\0")
        project.git("update-index", "-z", "--index-info", text="".join(lines), extra=extra)
        tree = project.git("write-tree", extra=extra)
    finally:
        Path(extra["GIT_INDEX_FILE"]).unlink(missing_ok=True)
    return project.git(
        "commit-tree",
        "-p",
        base,
        "-m",
        "perf blame: a version with some changes taken back, which is part of no branch",
        "--no-gpg-sign",
        tree,
        extra=extra,
    )


def _named(project: Project, content: str | Blob | None) -> str:
    """Git's name for a content, which is written where it is a text; empty for none."""
    if content is None:
        return ""
    if isinstance(content, Blob):
        return content.name
    return project.git("hash-object", "-w", "--stdin", text=content)


@dataclass
class Experiments:
    """The trials of one investigation; nothing new begins after ``deadline``, a time of the
    monotonic clock.
    """

    comparison: CommitComparison
    measured: MeasuredSides
    deadline: float
    trials: list[AuxiliaryTrial] = field(default_factory=list)
    # by commit: its values, or why it does not run
    _known: dict[str, VersionValues | str] = field(default_factory=dict)

    @property
    def laboratory(self) -> Laboratory:
        """Where the benchmark is measured."""
        return self.comparison.laboratory

    def suspects(self, changed: SourceDifference, suspects: list[Suspect]) -> None:
        """Take suspects' changes back, the most suspect first, until one or several together
        explain the effect.

        Those that counting does not suspect follow only if none of the others explains anything.
        """
        reversals = Reversals(changed)
        are_counted = any(suspect.score for suspect in suspects)
        if not are_counted and len(suspects) > TRIED:
            suspects = self._halved(reversals, suspects)
        rivals = filter(self._may_contribute, suspects) if are_counted else suspects[:TRIED]
        apart = {suspect.unit.key: suspect.unit for suspect in rivals}
        for number, suspect in enumerate(suspects):
            if self._enough(number, suspect):
                return
            if self._late():
                left = counted(max(TRIED - number, 1), "suspect")
                self.comparison.notes.append(f"the budget is used up: {left} not tried (--budget)")
                return
            if suspect.unit.key not in self._tried():
                self._try(reversals, suspect.unit, apart)

    def _halved(self, reversals: Reversals, suspects: list[Suspect]) -> list[Suspect]:
        """Suspects of which nothing tells how much they cost, those first that keep most of the
        effect when more and more of them are taken back together: halves, quarters, and so on.
        """
        first = suspects
        while len(first) > 1 and not self._late():
            middle = len(first) // 2
            halves = [first[:middle], first[middle:]]
            shares = [self._share_of(reversals, half) for half in halves]
            if max(shares) < SMALLEST_SHARE:
                break
            first = halves[shares.index(max(shares))]
        return [*first, *(suspect for suspect in suspects if suspect not in first)]

    def _share_of(self, reversals: Reversals, suspects: list[Suspect]) -> float:
        """The share of the effect that is gone without all of some suspects; 0 where that version
        does not run.
        """
        units = [suspect.unit for suspect in suspects]
        what = f"{len(units)} changes" if len(units) > 1 else f"the change of {units[0]}"
        levels = self._tried_without(reversals, reversals.together(units), what)
        if isinstance(levels, str):
            return 0.0
        return judge(levels, self.comparison.delta).share

    def _enough(self, number: int, suspect: Suspect) -> bool:
        """Whether trials explain so much that a suspect, of which so many come before it, need not
        be tried.
        """
        shown = [trial for trial in self.trials if trial.shows]
        if any(trial.word == "proved" for trial in shown) or (shown and not suspect.score):
            return True
        explained = sum(trial.share or 0.0 for trial in shown)
        return (number >= TRIED or explained >= MOST_OF_IT) and not self._may_contribute(suspect)

    def _may_contribute(self, suspect: Suspect) -> bool:
        """Whether the function itself was seen to add so much that it may be a contribution."""
        return suspect.own >= SMALLEST_SHARE * abs(self.measured.effect.value)

    def _tried(self, *, shown: bool = False) -> set[str]:
        """The keys of the units that were tried, or of those that were shown to be causes."""
        trials = (trial for trial in self.trials if trial.shows or not shown)
        return {f"{trial.path}:{trial.name}" for trial in trials}

    def _try(
        self, reversals: Reversals, unit: ChangedUnit, apart: Mapping[str, ChangedUnit]
    ) -> None:
        """Measure the new version without a unit's change, and without more where it does not run.

        Before a function of ``apart`` is taken back with it, that is tried alone, and what
        contributes alone is not taken back with others.
        """
        reason = "it cannot be taken back without functions that contribute by themselves"
        for reversal in reversals.of(unit):
            for key in sorted(reversal.units & apart.keys() - self._tried()):
                self._alone(reversals, apart[key])
            if any(trial.word == "proved" for trial in self.trials):
                return
            if reversal.units & self._tried(shown=True):
                continue
            trial = self._without(unit, reversal, reversals)
            if trial.level is not None:
                self.trials.append(trial)
                return
            reason = f"the new version does not work without it: {trial.reason}"
        self.trials.append(
            AuxiliaryTrial(name=unit.name, path=unit.path, word="not proved", reason=reason)
        )

    def _alone(self, reversals: Reversals, unit: ChangedUnit) -> None:
        """Measure the new version without a unit's change and without that of any other
        function.
        """
        for reversal in reversals.of(unit):
            trial = None if reversal.units else self._without(unit, reversal, reversals)
            if trial is not None and trial.level is not None:
                self.trials.append(trial)
                return

    def dependencies(self, upgraded: list[str]) -> AuxiliaryTrial | None:
        """Measure the old version with the new one's dependencies: ``proved`` if that alone has the
        new level; None without a build.
        """
        self.laboratory.rig.progress.say(
            f"trying {self.comparison.a[:10]} with {', '.join(upgraded[:5])}"
        )
        try:
            levels = self._levels(Version(self.comparison.a, packages=tuple(upgraded)))
        except PerfError as error:
            if error.exit_code != UnmeasurableVersion.exit_code:
                raise
            self.comparison.notes.append(f"not tried with the new dependencies: {error}")
            return None
        seen = judge(VersionValues(levels.b, levels.a, levels.auxiliary), self.comparison.delta)
        return self._trial("dependencies", ", ".join(upgraded), levels, seen)

    def _without(
        self, unit: ChangedUnit, reversal: Reversal, reversals: Reversals
    ) -> AuxiliaryTrial:
        """Measures the new version without some hunks; without a level where it does not run."""
        with_what = f", {reversal.besides}" if reversal.besides else ""
        what = f"the change of {unit}{with_what}"
        levels = self._tried_without(reversals, reversal.hunks, what)
        if isinstance(levels, str):
            return AuxiliaryTrial(name=unit.name, path=unit.path, word="not proved", reason=levels)
        seen = judge(levels, self.comparison.delta)
        trial = self._trial(unit.name, unit.path, levels, seen)
        auxiliary = self._auxiliary(reversals, reversal.hunks)
        return structs.replace(trial, besides=reversal.besides, commit=auxiliary)

    def _tried_without(
        self, reversals: Reversals, hunks: Mapping[str, list[Hunk]], what: str
    ) -> VersionValues | str:
        """The levels with the new version without some hunks, or why that does not run; measured
        once.
        """
        auxiliary = self._auxiliary(reversals, hunks)
        if auxiliary not in self._known:
            self.laboratory.rig.progress.say(f"trying {self.comparison.b[:10]} without {what}")
            try:
                self._known[auxiliary] = self._levels(Version(auxiliary))
            except UnmeasurableVersion as error:
                self._known[auxiliary] = str(error)
        return self._known[auxiliary]

    def _auxiliary(self, reversals: Reversals, hunks: Mapping[str, list[Hunk]]) -> str:
        """The commit of the new version without some hunks."""
        repository = self.laboratory.rig.repository
        scratch = repository.home / "tmp"
        scratch.mkdir(exist_ok=True)
        texts = reverted(reversals.difference, hunks)
        return commit(repository.project, scratch, self.comparison.b, texts)

    def _levels(self, auxiliary: Version) -> VersionValues:
        return self.comparison.trial(self.measured, auxiliary, self._late)

    def _late(self) -> bool:
        return time.monotonic() > self.deadline

    def _trial(
        self, name: str, path: str, levels: VersionValues, seen: Experiment
    ) -> AuxiliaryTrial:
        """What a trial shows: where its executions leave open whether it is all of the effect, a
        part is shown that the interval leaves none out of.

        Its level is as far from that of a as it was in the same blocks: the machine may have had
        another pace when the effect was measured.
        """
        a = fmean(self.measured.levels.a)
        word = seen.word
        if word == "open":
            word = "contributes" if seen.low >= SMALLEST_SHARE else "not proved"
        return AuxiliaryTrial(
            name=name,
            path=path,
            level=fmean(
                z * a / x if x else z + a for x, z in zip(levels.a, levels.auxiliary, strict=True)
            ),
            word=word,
            share=seen.share,
            low=seen.low,
            high=seen.high,
            executions=len(levels.auxiliary),
            reason="too noisy to tell" if word == "not proved" and seen.word == "open" else "",
        )
