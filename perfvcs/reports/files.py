"""Compares or draws two files of profiles without a repository, in any format that ``perf import``
reads.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from msgspec import structs

from perfvcs.check import compare
from perfvcs.check.change import Report
from perfvcs.check.method import BY_RULES, CheckRequest
from perfvcs.check.narrowing import narrowed, of_profiles, only
from perfvcs.check.nextstep import of_imports
from perfvcs.check.subject import Subject
from perfvcs.errors import NO_SPACE, UsageError
from perfvcs.formats import read, stem
from perfvcs.native.compiled import cache_folder
from perfvcs.profile import Profile
from perfvcs.profile.benchmarkfilter import NO_WORDS, FilterWords, catalogue, chosen
from perfvcs.profile.summary import Header
from perfvcs.profile.units import in_base_units
from perfvcs.reports.causes import causes
from perfvcs.reports.check import exit_status
from perfvcs.reports.checkforms import Background, Form, rendered
from perfvcs.store.removal import fold

UNNAMED = "benchmark"  # the job of two tables that have nothing in their names in common


@dataclass(frozen=True)
class FileCheck:
    """The report on two files."""

    paths: tuple[Path, Path]
    baseline: Profile
    target: Profile
    report: Report

    def status(self, *, gate: bool = False, strict: bool = False) -> int:
        """The exit status, as that of a check of two revisions."""
        return exit_status(self.report, gate=gate, strict=strict)

    def render(self, form: Form, *, verbose: bool = False) -> str:
        """The report in a form."""
        return rendered(self.report, form, self._background, verbose=verbose)

    def _background(self) -> Background:
        profiles = {"baseline": self.baseline, "target": self.target}
        before, after = ([Header.of(profile, side)] for side, profile in profiles.items())
        causes_by_unit = causes(
            before,
            after,
            lambda headers: [profiles[header.path] for header in headers],
            self.report,
        )
        return Background(causes_by_unit, following=list(filter(None, [self._following()])))

    def _following(self) -> str:
        """How to settle what another tool measured, else how to look at it; empty where nothing was
        compared.
        """
        if step := of_imports(self.report):
            return step
        compared = self.report.compared
        return f"Next: draw both: perf show {shlex.join(map(str, self.paths))}" if compared else ""


def check(
    paths: Sequence[Path], asked: CheckRequest = BY_RULES, wanted: FilterWords = NO_WORDS
) -> FileCheck:
    """The check of the second file against the first, as far as it is about what is ``wanted``;
    raises UsageError unless there are two, and as ``formats.read`` does.
    """
    if len(paths) != 2:
        raise UsageError(
            f"{len(paths)} {'file is' if len(paths) == 1 else 'files are'} named: name two, the"
            " baseline and the target"
        )
    baseline, target = profiles = _profiles(paths)
    benchmarks = chosen(catalogue(of_profiles(profiles)), wanted)
    report = compare(
        baseline,
        target,
        method=asked.method,
        delta=asked.delta,
        within=asked.within,
        overall=True,
        same_machine=asked.same_machine,
    )
    report = structs.replace(report, baseline=str(paths[0]), target=str(paths[1]))
    baseline, target = (only(profile, benchmarks) for profile in profiles)
    return FileCheck((paths[0], paths[1]), baseline, target, narrowed(report, benchmarks))


def subject_of(
    paths: Sequence[Path], wanted: FilterWords = NO_WORDS, *, delta: float | None = None
) -> Subject:
    """The subject of a page about one file or two, as far as it is about what is ``wanted``; raises
    UsageError, and as ``formats.read`` does.
    """
    if len(paths) > 2:
        raise UsageError(f"{len(paths)} files are named: a page shows one, or two side by side")
    if len(paths) == 1:
        (profile,) = _profiles(paths)
        benchmarks = chosen(catalogue(of_profiles([profile])), wanted)
        return Subject(paths[0].name, [only(profile, benchmarks)])
    comparison = check(paths, CheckRequest(delta=delta), wanted)
    return Subject(
        f"{paths[0].name} → {paths[1].name}",
        [comparison.target],
        [comparison.baseline],
        comparison.report,
    )


def page(paths: Sequence[Path]) -> Path:
    """Where the page about files is written unless a file is named: in the user's cache folder,
    made now; raises UsageError.
    """
    folder = cache_folder() / "pages"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in NO_SPACE:
            raise
        raise UsageError(f"cannot make {folder}: {error.strerror}: name a file with -o") from None
    names = "-".join(filter(None, (fold(stem(path.name)) for path in paths)))
    return folder / f"{names[:100] or 'files'}.html"


def _profiles(paths: Sequence[Path]) -> list[Profile]:
    """The profiles of files, in units without a prefix; jobs that are named after their files get
    one name.
    """
    profiles = [read(path) for path in paths]
    titles = [stem(path.name) for path in paths]
    if len(set(titles)) > 1 and [profile.job.name for profile in profiles] == titles:
        words = zip(*(re.split("[ ._-]+", title) for title in titles), strict=False)
        common = "-".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], words))
        profiles = [read(path, name=common or UNNAMED) for path in paths]
    return [profile if profile.models else in_base_units(profile) for profile in profiles]
