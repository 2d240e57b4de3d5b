"""What a page of `perf show` is about: one revision, two, or the history of a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from perfvcs.check.change import NothingToCompare
from perfvcs.check.method import CheckRequest
from perfvcs.check.narrowing import narrowed, only
from perfvcs.check.subject import Subject
from perfvcs.errors import NO_SPACE, UsageError
from perfvcs.git.forge import usual
from perfvcs.history.series import gather
from perfvcs.profile import Profile
from perfvcs.profile.benchmarkfilter import NO_WORDS, BenchmarkFilter, FilterWords
from perfvcs.profile.naming import labelled
from perfvcs.reports.check import Check
from perfvcs.reports.sourcelinks import source_links
from perfvcs.reports.untouchable import doubted
from perfvcs.repository import Repository
from perfvcs.repository.arguments import Arguments, read
from perfvcs.repository.state import State
from perfvcs.store.removal import fold
from perfvcs.system.disk import NotPlain, make_folder


def page_of(
    words: Sequence[str], wanted: FilterWords = NO_WORDS, *, delta: float | None = None
) -> tuple[Subject, Callable[[], Path]]:
    """The subject that words name, files or what a repository has, and where its page is written
    unless a file is named.

    Raises UsageError.
    """
    find = cache(Repository.find)
    asked = read(find, words, wanted, files=True)
    if asked.files:
        from perfvcs.reports import files

        subject = files.subject_of(asked.files, asked.wanted, delta=delta)
        return subject, lambda: files.page(asked.files)
    return _subject(find(), asked, delta), lambda: _page(find().home / "pages", words)


def _page(folder: Path, names: Sequence[str]) -> Path:
    """Where the page about these names is written, in a folder that is made now; raises
    UsageError.
    """
    try:
        folder = make_folder(folder).resolve()
    except NotPlain as error:
        raise UsageError(f"{error}, or name a file with -o") from None
    except OSError as error:
        if error.errno in NO_SPACE:
            raise
        raise UsageError(f"cannot make {folder}: {error.strerror}: name a file with -o") from None
    return folder / f"{('-'.join(filter(None, map(fold, names))) or 'HEAD')[:100]}.html"


def subject_of(
    repository: Repository, words: Sequence[str], *, delta: float | None = None
) -> Subject:
    """The subject that words name: a revision (default HEAD), two revisions, or a benchmark; raises
    UsageError.
    """
    return _subject(repository, read(lambda: repository, words), delta)


def _subject(repository: Repository, asked: Arguments, delta: float | None) -> Subject:
    if asked.benchmarks and not asked.revisions:
        return _history(repository, asked.benchmarks, delta)
    states = [repository.state(name) for name in asked.revisions or ("HEAD",)]
    if len(states) == 1:
        return _one(repository, states[0], asked.benchmarks)
    if len(states) > 2:
        raise UsageError(
            "a page shows one revision, two, or the history of one benchmark: name fewer"
        )
    baseline, target = states
    whole_report = repository.compare(baseline, target, CheckRequest(delta=delta))
    report = narrowed(doubted(repository, whole_report, baseline, target), asked.benchmarks)
    profiles = [_profiles(repository, state, asked.benchmarks) for state in states]
    if baseline == target:  # an A/A measurement: the versions that took turns
        whole = profiles[0]
        profiles = [
            [profile for profile in whole if not profile.design.version],
            [profile for profile in whole if profile.design.version],
        ]
    background = Check(repository, baseline, target, report).background(shown=True)
    return Subject(
        f"{_title(repository, baseline)} → {_title(repository, target)}",
        profiles[1],
        profiles[0],
        report,
        causes=background.causes,
        following=background.sentences,
        sources=_sources(repository, [*profiles[0], *profiles[1]]),
    )


def _one(repository: Repository, state: State, benchmarks: BenchmarkFilter) -> Subject:
    profiles = _profiles(repository, state, benchmarks)
    if not profiles:
        of = f" of `{benchmarks.text}`" if benchmarks else ""
        raise NothingToCompare(
            f"{state.name} has no profiles{of}: measure it with `{state.collecting}`"
        )
    sources = _sources(repository, profiles)
    return Subject(_title(repository, state), profiles, sources=sources)


def _sources(repository: Repository, profiles: Sequence[Profile]) -> dict[str, str]:
    if all(profile.stacks is None for profile in profiles):
        return {}
    return source_links(repository.project, profiles, usual(repository.project))


def _profiles(repository: Repository, state: State, benchmarks: BenchmarkFilter) -> list[Profile]:
    """The profiles of a state, with those rows that are about some benchmarks."""
    jobs = [(measured.header, measured.header.job) for measured in repository.measured(state)]
    headers = [header for header, job in jobs if benchmarks.has_job(job.label, job.collector)]
    profiles = repository.profiles(headers)
    if not benchmarks:
        return profiles
    return [part for profile in profiles if len((part := only(profile, benchmarks)).resources)]


def _title(repository: Repository, state: State) -> str:
    commit = (
        None if state.product else repository.project.describe([state.commit]).get(state.commit)
    )
    return f"{state.name} {commit.title}" if commit else state.name


def _history(repository: Repository, benchmarks: BenchmarkFilter, delta: float | None) -> Subject:
    """The history of a benchmark along the ancestry of HEAD."""
    gathered = gather(repository, benchmarks, delta=delta)
    name = benchmarks.text
    if not gathered.series:
        if repository.measured(repository.state("HEAD")):
            raise NothingToCompare(
                f"no commit up to HEAD has profiles of `{name}`: `perf show` draws those of HEAD as"
                " it is now; for a history, commit and `perf collect`"
            )
        raise NothingToCompare(
            f"`{name}` was not measured on any ancestor of HEAD: `perf collect` measures it"
        )
    units = list(
        dict.fromkeys(labelled(series.label, series.uid, None) for series in gathered.series)
    )
    title = units[0] if len(units) == 1 and name in units[0] else name
    return Subject(f"{title}: history", history=gathered.series, notes=gathered.notes)
