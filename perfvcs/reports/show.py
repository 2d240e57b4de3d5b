"""What a page of `perf show` is about: one revision, two, or the history of a benchmark."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from perfvcs.check.change import NothingToCompare
from perfvcs.check.method import CheckRequest
from perfvcs.check.subject import Subject
from perfvcs.check.text import called, labelled
from perfvcs.errors import NO_SPACE, PerfError, UsageError, nearest
from perfvcs.git.project import UnknownRevision
from perfvcs.history.finding import line_called, title
from perfvcs.history.series import gather
from perfvcs.reports.check import Check
from perfvcs.repository import Repository
from perfvcs.repository.state import State
from perfvcs.store.removal import fold
from perfvcs.system.disk import NotPlain, make_folder
from perfvcs.text.words import meant


def page_of(
    names: Sequence[str], *, delta: float | None = None
) -> tuple[Subject, Callable[[], Path]]:
    """The subject that arguments name, files or what a repository has, and where its page is
    written unless a file is named.

    What is measured here precedes a file of the same name. Raises UsageError.
    """
    if any(map(os.path.isfile, names)):
        from perfvcs.reports import files

        paths = [] if len(names) == 1 and _is_benchmark(names[0]) else files.named_files(names)
        if paths:
            return files.subject_of(paths, delta=delta), lambda: files.page(paths)
    repository = Repository.find()
    return subject_of(repository, names, delta=delta), lambda: _page(
        repository.home / "pages", names
    )


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


def _is_benchmark(name: str) -> bool:
    """Whether it is the name of a benchmark here."""
    try:
        return _is_job(Repository.find(), name)
    except PerfError:
        return False


def subject_of(
    repository: Repository, names: Sequence[str], *, delta: float | None = None
) -> Subject:
    """The subject that arguments name: a revision (default HEAD), two revisions, or a benchmark's
    label; raises UsageError.
    """
    if len(names) == 1 and _is_job(repository, names[0]):
        return _history(repository, names[0], delta)
    try:
        states = [repository.state(name) for name in names or ("HEAD",)]
    except UnknownRevision as error:
        if not names:
            raise
        lines = list(repository.index.lines().values())
        if len(names) == 1 and meant(names[0], map(line_called, lines)):
            return _history(repository, names[0], delta)
        titles = dict.fromkeys(name for line in lines for name in (line.job.label, title(line)))
        hint = nearest(names[0], titles) if lines else ""
        raise UnknownRevision(f"{error}; nor is it a benchmark{hint}") from None
    if len(states) == 1:
        return _one(repository, states[0])
    if len(states) > 2:
        raise UsageError(
            "a page shows one revision, two, or the history of one benchmark: name fewer"
        )
    baseline, target = states
    report = repository.compare(baseline, target, CheckRequest(delta=delta))
    profiles = [
        repository.profiles([measured.header for measured in repository.measured(state)])
        for state in states
    ]
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
    )


def _one(repository: Repository, state: State) -> Subject:
    profiles = repository.profiles([measured.header for measured in repository.measured(state)])
    if not profiles:
        raise NothingToCompare(
            f"{state.name} has no profiles: measure it with `{state.collecting}`"
        )
    return Subject(_title(repository, state), profiles)


def _title(repository: Repository, state: State) -> str:
    commit = (
        None if state.product else repository.project.describe([state.commit]).get(state.commit)
    )
    return f"{state.name} {commit.title}" if commit else state.name


def _is_job(repository: Repository, name: str) -> bool:
    """Whether a stored job is called so: such a name precedes a revision, others come after it."""
    series = map(called, repository.index.series())
    return any(name in job.names or name in job.also for job in series if name)


def _history(repository: Repository, name: str, delta: float | None) -> Subject:
    """The history of a benchmark along the ancestry of HEAD."""
    gathered = gather(repository, name, delta=delta)
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
