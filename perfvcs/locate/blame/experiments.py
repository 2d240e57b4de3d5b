"""Auxiliary versions measured beside the two that differ: the new one without a change, the old one
with new dependencies.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import structs

from perfvcs.errors import PerfError
from perfvcs.git.project import Project
from perfvcs.locate.blame.cause import AuxiliaryTrial, Experiment, VersionValues, judge
from perfvcs.locate.blame.comparison import TURNS, CommitComparison, MeasuredSides
from perfvcs.locate.blame.laboratory import Laboratory, UnmeasurableVersion, level
from perfvcs.locate.blame.suspects import Suspect
from perfvcs.locate.sources.hunks import ChangedUnit, Hunk, SourceDifference
from perfvcs.locate.sources.outline import MODULE, last_name
from perfvcs.measure.site import Version
from perfvcs.text.characters import source_lines
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


def commit(project: Project, scratch: Path, base: str, texts: Mapping[str, str | None]) -> str:
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
            name = "" if text is None else project.git("hash-object", "-w", "--stdin", text=text)
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


def reverted(
    difference: SourceDifference, hunks: Mapping[str, Iterable[Hunk]]
) -> dict[str, str | None]:
    """The texts of files without some hunks, by file."""
    sources: dict[str, str | None] = {}
    for path, taken_back in hunks.items():
        change = difference.files[path]
        text = change.without(taken_back)
        sources[path] = None if change.is_new and not text else text
    return sources


def attempts(
    difference: SourceDifference, unit: ChangedUnit
) -> list[tuple[str, dict[str, list[Hunk]]]]:
    """What to take back to see what a unit's change costs, the least first, each with its name.

    First the unit alone; then with what it may need: other changes of the same file, outside of
    functions and of functions that were added or lost; then the whole file; then, of other files,
    the hunks that name it, such as calls with other arguments.
    """
    change = difference.files[unit.path]
    tries = [("", {unit.path: list(unit.hunks)})]
    before, after = change.outlines
    names = [
        {definition.name for definition in side.definitions} if side else set()
        for side in (before, after)
    ]
    needed = [
        hunk
        for other in difference.units.values()
        if other.path == unit.path
        and (other is unit or other.name == MODULE or other.name not in names[0] & names[1])
        for hunk in other.hunks
    ]
    tries.append(("with the code outside of functions", {unit.path: needed}))
    tries.append(("with the whole file", {unit.path: list(change.hunks)}))
    if uses := _uses(difference, unit):
        tries.append(("with its uses in other files", {unit.path: needed, **uses}))
    seen: list[dict[str, list[Hunk]]] = []
    distinct = []
    for name, hunks in tries:
        every = {path: sorted(taken_back) for path, taken_back in hunks.items()}
        if every not in seen:
            seen.append(every)
            distinct.append((name, hunks))
    return distinct


def _uses(difference: SourceDifference, unit: ChangedUnit) -> dict[str, list[Hunk]]:
    """The hunks of other files in which a function's name is, by file."""
    if unit.name == MODULE:
        return {}
    name = re.compile(rf"\b{re.escape(last_name(unit.name))}\b")
    uses: dict[str, list[Hunk]] = {}
    for path, change in difference.files.items():
        if path == unit.path or not name.search(change.old + change.new):
            continue
        sides = [source_lines(text) for text in (change.old, change.new)]
        for hunk in change.hunks:
            lines = [
                line
                for side, (first, count) in zip(sides, hunk, strict=True)
                if count
                for line in side[first - 1 :][:count]
            ]
            if name.search("\n".join(lines)):
                uses.setdefault(path, []).append(hunk)
    return uses


@dataclass
class Experiments:
    """The trials of one investigation; nothing new begins after ``deadline``, a time of the
    monotonic clock.
    """

    comparison: CommitComparison
    measured: MeasuredSides
    deadline: float
    trials: list[AuxiliaryTrial] = field(default_factory=list)

    @property
    def laboratory(self) -> Laboratory:
        """Where the benchmark is measured."""
        return self.comparison.laboratory

    def suspects(self, changed: SourceDifference, suspects: list[Suspect]) -> None:
        """Take suspects' changes back, the most suspect first, until one or several together
        explain the effect.

        Those that counting does not suspect follow only if none of the others explains anything.
        """
        tried = suspects[:TRIED]
        for number, suspect in enumerate(tried):
            if (
                number
                and not suspect.score
                and any(trial.word == "contributes" for trial in self.trials)
            ):
                return
            if self._late():
                left = counted(len(tried) - number, "suspect")
                self.comparison.notes.append(f"the budget is used up: {left} not tried (--budget)")
                return
            trial = self._without(changed, suspect.unit)
            self.trials.append(trial)
            if trial.word == "proved" or (
                trial.word == "contributes" and (trial.share or 0.0) >= MOST_OF_IT
            ):
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
        return _trial("dependencies", ", ".join(upgraded), levels, seen)

    def _without(self, changed: SourceDifference, unit: ChangedUnit) -> AuxiliaryTrial:
        """Measures the new version without a unit's hunks; takes back more of them where it does
        not run.
        """
        reason, repository = "", self.laboratory.rig.repository
        scratch = repository.home / "tmp"
        scratch.mkdir(exist_ok=True)
        for besides, hunks in attempts(changed, unit):
            auxiliary = commit(
                repository.project, scratch, self.comparison.b, reverted(changed, hunks)
            )
            with_what = f", {besides}" if besides else ""
            self.laboratory.rig.progress.say(
                f"trying {self.comparison.b[:10]} without the change of {unit}{with_what}"
            )
            try:
                levels = self._levels(Version(auxiliary))
            except UnmeasurableVersion as error:
                reason = str(error)
                continue
            seen = judge(levels, self.comparison.delta)
            return structs.replace(
                _trial(unit.name, unit.path, levels, seen), besides=besides, commit=auxiliary
            )
        reason = f"the new version does not work without it: {reason}"
        return AuxiliaryTrial(name=unit.name, path=unit.path, word="not proved", reason=reason)

    def _levels(self, auxiliary: Version) -> VersionValues:
        """The levels of a, b and the auxiliary version; exact ones of a and b are known."""
        measured, laboratory = self.measured, self.laboratory
        gauge = self.comparison.gauge(measured.metric) if measured.levels.exact else None
        if gauge is not None:
            with laboratory.open([auxiliary], [laboratory.under("time"), gauge]) as bench:
                bench.run(0)
                return VersionValues(measured.levels.a, measured.levels.b, level(bench.run(1)[0]))
        with laboratory.open(
            [Version(self.comparison.a), Version(self.comparison.b), auxiliary],
            [laboratory.under("time")],
        ) as bench:
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
        name=name,
        path=path,
        level=middle,
        word="not proved" if undecided else seen.word,
        share=seen.share,
        low=seen.low,
        high=seen.high,
        executions=len(levels.auxiliary),
        reason="too noisy to tell" if undecided else "",
    )
