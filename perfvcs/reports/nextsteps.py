"""What to do next about a report on two states, a line each; the command ends its line, so that it
can be pasted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from perfvcs.check.acceptance import is_committed
from perfvcs.check.movement import followed
from perfvcs.check.nextstep import on_hosts, settling
from perfvcs.check.renewal import offer
from perfvcs.check.text import benchmark, revision
from perfvcs.check.vocabulary import said
from perfvcs.environment.variables import SEED_PLACEHOLDER
from perfvcs.git.ancestry import way
from perfvcs.profile.naming import typed
from perfvcs.profile.rules import RULES_FILE
from perfvcs.profile.summary import SIZES, Header
from perfvcs.repository.benchmarks import configured_labels, typed_words
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted, plural

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from perfvcs.check.change import Change, Report
    from perfvcs.locate.bisect.saved import Target
    from perfvcs.repository import Repository
    from perfvcs.repository.state import State

WARNING = 240  # characters of a warning
ACCEPTING = "If it is wanted: perf accept ID --reason TEXT"


class Known(NamedTuple):
    """What decides about the next step beside the report: the ``headers`` of the target.

    ``pairs`` is how many were just measured in turns, on the hosts of a ``scheduler`` if there is
    one. ``files`` differ. ``shown``: the reader looks at both already; ``blamed``: somebody has
    named the function already.
    """

    headers: Sequence[Header]
    pairs: int = 0
    scheduler: str = ""
    files: Sequence[str] = ()
    shown: bool = False
    blamed: bool = False


def following(
    repository: Repository, baseline: State, target: State, report: Report, known: Known
) -> list[str]:
    """The next steps, a line each; none where there is nothing to do."""
    moved = [change for change in report.changes if said(change).sure]
    if not moved:
        products = [state.product for state in (baseline, target) if state.product]
        seeded = {
            header.job.label for header in known.headers if SEED_PLACEHOLDER in header.job.cmd
        }
        return settling(
            report,
            known.pairs,
            lambda job: _noise(known.headers, job),
            known.scheduler,
            products,
            seeded,
            _typed(repository, known.headers, report),
        )
    if not is_committed(report):
        return []
    return _located(repository, baseline, target, report, moved, known)


def _located(
    repository: Repository,
    baseline: State,
    target: State,
    report: Report,
    moved: Sequence[Change],
    known: Known,
) -> list[str]:
    """How to find the commit, where there are several; else the function, or how to look at both;
    and how to accept what became worse.
    """
    old, new = revision(report.baseline), revision(report.target)
    between, measured = between_them(repository, baseline, target, {one.series for one in moved})
    if between - measured > 0:
        those = between - measured
        if report.foreign and all(change.series in report.foreign for change in moved):
            commits = counted(those, "commit")
            return [f"Next: import measurements of the {commits} between to find which one it was."]
        first = followed(report, lambda _: True)
        better = " --improvement" * bool(first and first.change.word == "improvement")
        command = f"perf bisect{better} {old} {new}{on_hosts(known.scheduler)}{report.about}"
        are = plural(those, "is", "are")
        typed_words = _typed(repository, known.headers, report)
        if typed_words is not None:
            command = f"perf collect {old}..{new} -- {typed_words}" if typed_words else "perf init"
        return [f"Next: find the commit ({those:,} between {are} not measured): {command}"]
    if measured:
        commits = counted(measured, "commit")
        return [
            f"Next: judge the {commits} between one by one: perf check {old}..{new}{report.about}"
        ]
    steps = []
    if again := offer(report):
        steps.append(f"Next: {again}")
    elif not known.blamed and (name := _blamable(repository, report, known.files)) is not None:
        steps.append(f"Next: find the function: perf blame {old} {new}{name}")
    elif not known.shown:
        steps.append(f"Next: draw both: perf show {old} {new}{report.about}")
    if any(said(change).fails and not change.renewable for change in moved):
        steps.append(ACCEPTING)
    return steps


def _typed(repository: Repository, headers: Sequence[Header], report: Report) -> str | None:
    """The command that was typed behind `perf collect --` and is followed here, as a shell takes
    it; None where perf.toml has a job of the report, empty where no such command is known.
    """
    series = {change.series for change in report.changes if not change.accepted}
    jobs = [header.job for header in headers if header.job.key in series]
    project = repository.project
    is_configured = (project.root / RULES_FILE).is_file() and not project.bare
    # a job with a name of its own is one of perf.toml, which takes long to read
    if is_configured and not (jobs and typed_words(jobs[0])):
        return None
    labels = configured_labels(repository)
    if labels & {job.label for job in jobs} or (labels and not jobs):
        return None
    words = [typed_words(job) for job in jobs if job.key not in report.foreign]
    return next(filter(None, words), None if labels else "")


def _blamable(repository: Repository, report: Report, files: Sequence[str]) -> str | None:
    """The benchmark as `perf blame` takes it behind both revisions, empty where it needs none; None
    where it could not help: nothing became worse, no source differs, the job cannot run here, or
    executes nothing.
    """
    from perfvcs.locate.sources.grammars import family

    chosen = followed(report, lambda change: said(change).fails)
    if chosen is None or chosen.change.series in report.foreign or not any(map(family, files)):
        return None
    jobs = repository.index.series()
    if any(job.key == chosen.change.series and job.collector == SIZES for job in jobs):
        return None
    if repository.project.bare or chosen.change.job not in configured_labels(repository):
        return None
    return f" -- {typed(benchmark(chosen.change))}" if report.about else ""


def of_commit(repository: Repository, target: Target, parent: str, commit: str) -> str:
    """How to find the function in a commit of one parent that `perf bisect` names; empty where
    `perf blame` could not help.
    """
    from perfvcs.git.blobs import changed_files
    from perfvcs.locate.sources.grammars import family

    files = (file.path for file in changed_files(repository.project, parent, commit))
    if target.collector == SIZES or not any(map(family, files)):
        return ""
    return f"Next: find the function: perf blame {commit[:10]} -- {typed(target.name)}"


def between_them(
    repository: Repository, baseline: State, target: State, series: Collection[str] = ()
) -> tuple[int, int]:
    """How many commits lie on the way from one to another, and how many of them are measured; 0
    without one.

    Where ``series`` are given, only commits with one of these count as measured.
    """
    if baseline.commit == target.commit:
        return 0, 0
    inner = [
        commit.commit for commit in way(repository.project, baseline.commit, target.commit)[:-1]
    ]
    measured = list(repository.with_profiles(inner))
    if series and measured:
        headers = repository.index.headers(measured)
        measured = list({header.commit for header in headers if header.job.key in series})
    return len(inner), len(measured)


def _noise(headers: Sequence[Header], job: str) -> str:
    """What disturbed the newest measurement of a job, with the cure; empty where nothing is
    known.
    """
    newest = max(
        (header for header in headers if header.job.label == job),
        key=lambda header: header.collected.started,
        default=None,
    )
    if newest is None or not newest.environment.warnings:
        return ""
    return shorten(newest.environment.warnings[0], WARNING)
