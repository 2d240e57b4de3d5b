"""What can be accepted: the degradations that ``perf check`` reported, by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain
from pathlib import Path

from perfvcs.check import register
from perfvcs.check.acceptance import (
    ID_DIGITS,
    SERIES_DIGITS,
    Acceptance,
    between,
    identity,
    is_committed,
)
from perfvcs.check.change import Change, NothingToCompare
from perfvcs.check.markdown import decode
from perfvcs.check.movement import SizedUnit
from perfvcs.check.text import benchmark
from perfvcs.check.vocabulary import said
from perfvcs.errors import UsageError, nearest
from perfvcs.git.command import GitError
from perfvcs.profile.benchmarkfilter import FilterWords
from perfvcs.profile.naming import Benchmark, typed
from perfvcs.profile.resolver import meant
from perfvcs.profile.rules import REGISTER_FILE
from perfvcs.profile.validity import Malformed
from perfvcs.repository import Repository
from perfvcs.repository.benchmarks import filtered
from perfvcs.system.lock import hold
from perfvcs.text.characters import shorten
from perfvcs.text.words import CLOCKS, COUNTS

ENTRY_ID = re.compile(rf"[0-9a-f]{{4,{ID_DIGITS}}}")
MOST_CANDIDATES = 8  # candidates that a message lists
LABEL_CHARACTERS = 60  # characters of a benchmark in a line
EFFECT_DIGITS = 6  # of an effect in the file


@dataclass(frozen=True)
class AcceptableChange:
    """One reported change, with the full ids of the two commits; ``committed`` is False where
    uncommitted changes are meant.
    """

    id: str
    change: Change
    baseline: str
    target: str
    committed: bool
    named: Benchmark

    @property
    def title(self) -> str:
        """``3f9c2a1 (sort: wall time)``."""
        return (
            f"{self.id} ({shorten(benchmark(self.change), LABEL_CHARACTERS)}:{self.change.metric})"
        )


def accept(
    repository: Repository,
    names: Sequence[str],
    reason: str,
    until: date | None,
    *,
    blamed: bool = False,
) -> list[Acceptance]:
    """Write the changes of these names to the project's file; what was written.

    Raises UsageError, NothingToCompare.

    ``blamed``: the reason ends with what the newest `perf blame` of the same commits names.
    """
    if not reason.strip():
        raise UsageError("an empty reason helps nobody later: --reason TEXT")
    if until and until <= date.today():
        raise UsageError(
            f"--until {until} is not in the future: give the first day on which it is no longer"
            " accepted"
        )
    path = register_path(repository)
    with hold(repository.home / "accept.lock", wait=True):
        present = {acceptance.id: acceptance for acceptance in register.load(path)}
        acceptances: dict[str, Acceptance] = {}
        for candidate in chain.from_iterable(find(repository, name) for name in names):
            why = f"{reason} ({_blame(repository, candidate)})" if blamed else reason
            new = acceptance_of(repository, candidate, " ".join(why.split()), until)
            if (old := present.get(candidate.id)) and not _renews(new, old):
                raise UsageError(
                    f"{candidate.title} is accepted already: perf accept --remove {candidate.id}"
                    " withdraws it"
                )
            acceptances[candidate.id] = new
        try:
            register.add(path, acceptances.values())
        except UnicodeEncodeError:
            raise UsageError(
                "the reason, or the benchmark's name, has bytes that are not UTF-8: write it in"
                " UTF-8"
            ) from None
    return list(acceptances.values())


def find(repository: Repository, name: str) -> list[AcceptableChange]:
    """The degradation of that id, in any report that is remembered, or of that benchmark
    (``:metric``), in the last one: at all sizes of a unit.

    Raises UsageError where there is none, or more than one unit or metric; NothingToCompare where
    no report is remembered.
    """
    newest: list[AcceptableChange] | None = None
    for candidates in _reported(repository):
        newest = candidates if newest is None else newest
        if ENTRY_ID.fullmatch(name) and (
            matching := [candidate for candidate in candidates if candidate.id.startswith(name)]
        ):
            return _with_counts(_only(name, matching), candidates)
        if not ENTRY_ID.fullmatch(name):
            break
    if newest is None:
        raise NothingToCompare(
            "no report is remembered here: run `perf check` first, it names what can be accepted"
        )
    if matching := _called(name, newest) or _elsewhere(repository, name, newest):
        return _with_counts(_only(name, matching), newest)
    names = dict.fromkeys(
        spelling
        for candidate in newest
        if said(candidate.change).fails
        for spelling in (candidate.named.title, *spellings(candidate))
    )
    hint = nearest(name, names, typed) if names else ": the last report has no degradation"
    raise UsageError(f"no degradation is called `{name}`{hint}")


def _with_counts(
    chosen: list[AcceptableChange], candidates: Sequence[AcceptableChange]
) -> list[AcceptableChange]:
    """The chosen changes, and the counts of what a unit executes that stand beside its chosen time:
    they are the same change.
    """
    units = {
        SizedUnit.of(choice.change)
        for choice in chosen
        if choice.change.metric in CLOCKS and choice.change.work
    }
    ids = {choice.id for choice in chosen}
    counts = [
        candidate
        for candidate in candidates
        if candidate.change.metric in COUNTS
        and SizedUnit.of(candidate.change) in units
        and candidate.id not in ids
        and said(candidate.change).fails
    ]
    return chosen + counts


def spellings(candidate: AcceptableChange) -> tuple[str, str]:
    """What a change is called beside its benchmark's name: its id, and the name with the metric."""
    return candidate.id, f"{candidate.named.title}:{candidate.change.metric}"


def _called(name: str, candidates: Sequence[AcceptableChange]) -> list[AcceptableChange]:
    """The changes that a benchmark's name means, or a part of one; raises Ambiguous.

    A part means a degradation.
    """
    open_ones = [candidate for candidate in candidates if said(candidate.change).fails]
    for among, whole in ((candidates, True), (open_ones, False)):
        known = [candidate.named for candidate in among]
        if places := meant(name, known, whole=whole).places:
            return [among[place] for place in places]
    return []


def _elsewhere(
    repository: Repository, name: str, candidates: Sequence[AcceptableChange]
) -> list[AcceptableChange]:
    """The changes of a benchmark whose name is known from elsewhere, such as with an environment;
    raises UsageError where the report has none of it.
    """
    try:
        benchmarks = filtered(repository, FilterWords(name))
    except UsageError:
        return []
    changes = [(candidate, candidate.change) for candidate in candidates]
    matching = [
        candidate
        for candidate, change in changes
        if benchmarks.has(change.job, change.uid, change.size, change.metric, change.series)
    ]
    if not matching:
        raise UsageError(f"the last report has nothing of {typed(name)}: run `perf check` on it")
    return matching


def acceptable(repository: Repository) -> list[AcceptableChange]:
    """The degradations of the last report."""
    return [
        candidate for candidate in next(_reported(repository), []) if said(candidate.change).fails
    ]


def _renews(new: Acceptance, old: Acceptance) -> bool:
    """Whether a change needs to be accepted again: the old acceptance has ended, or more was
    measured since.
    """
    worse = -1 if new.better == "higher" else 1
    return old.has_ended(date.today()) or worse * (_effect(new) - _effect(old)) > 0


def _effect(acceptance: Acceptance) -> float:
    """The relative effect, or where there is none, the shift in the metric's unit."""
    return (acceptance.shift if acceptance.effect is None else acceptance.effect) or 0.0


def register_path(repository: Repository) -> Path:
    """The project's file; raises UsageError in a bare repository."""
    if repository.project.bare:
        raise UsageError(
            f"a bare repository has no {REGISTER_FILE}: accept it in a clone, and commit the file"
        )
    return repository.project.root / REGISTER_FILE


def _reported(repository: Repository) -> Iterator[list[AcceptableChange]]:
    """The changes of each remembered report that is readable, the newest first."""
    jobs = {job.key: job for job in repository.index.series()}

    def named(change: Change) -> Benchmark:
        job = jobs.get(change.series)
        name = job.name if job else change.job.partition(" ")[0]
        collector = job.collector if job else ""
        return Benchmark(name, change.job, collector, change.uid, change.size, change.metric)

    for remembered in repository.index.memory.all():
        with suppress(Malformed):
            report = decode(remembered.report)
            whole = is_committed(report)
            yield [
                AcceptableChange(
                    identity(report, change),
                    change,
                    *between(change, remembered.baseline, remembered.target),
                    whole,
                    named(change),
                )
                for change in report.changes
            ]


def _only(name: str, changes: Sequence[AcceptableChange]) -> list[AcceptableChange]:
    """The one degradation among what a name means, at each size; several methods may have judged
    the same one.
    """
    wanted: dict[str, AcceptableChange] = {}
    for choice in changes:
        if said(choice.change).fails and (
            choice.id not in wanted or _size(choice) > _size(wanted[choice.id])
        ):
            wanted[choice.id] = choice
    if len({choice.named._replace(size=None) for choice in wanted.values()}) > 1:
        more = f" and {len(wanted) - MOST_CANDIDATES} more" if len(wanted) > MOST_CANDIDATES else ""
        listed = ", ".join(choice.title for choice in list(wanted.values())[:MOST_CANDIDATES])
        raise UsageError(
            f"`{name}` is {len(wanted)} degradations, name them by their ids: {listed}{more}"
        )
    if not wanted:
        change = changes[0].change
        if change.accepted is not None:
            raise UsageError(f"{changes[0].title} is accepted already: see `perf accept --list`")
        raise UsageError(
            f"{changes[0].title} is `{change.word}`: only degradations need to be accepted"
            f" ({changes[0].baseline[:10]} -> {changes[0].target[:10]})"
        )
    for candidate in wanted.values():
        if not candidate.committed:
            raise UsageError(
                f"{candidate.title} is about uncommitted changes: commit them, run `perf check`,"
                " and accept what it names"
            )
    return list(wanted.values())


def _size(change: AcceptableChange) -> float:
    return -1.0 if change.change.effect is None else abs(change.change.effect)


def _blame(repository: Repository, candidate: AcceptableChange) -> str:
    """What is blamed for a change; raises UsageError where nothing is."""
    from perfvcs.locate.blame.blames import of_pair
    from perfvcs.reports.blame import named

    a, b = candidate.baseline, candidate.target
    change = candidate.change
    blames = [
        blame
        for blame in of_pair(repository, a, b)
        if blame.job == change.job and blame.unit in ("", change.uid)
    ]
    # of the whole job where nothing is known of the unit
    if cause := named(max(blames, key=lambda blame: (blame.unit, blame.made), default=None)):
        return cause
    raise UsageError(
        f"nothing is blamed for {candidate.title} yet: run `perf blame {a[:10]} {b[:10]}"
        f" {typed(candidate.named.title)}`"
    )


def acceptance_of(
    repository: Repository, candidate: AcceptableChange, reason: str, until: date | None
) -> Acceptance:
    """The acceptance of a change, as the project's file has it."""
    change = candidate.change
    numbers = [
        None if value is None else float(f"{value:.{EFFECT_DIGITS}g}")
        for value in (change.effect, change.shift)
    ]
    who = ""
    with suppress(GitError):  # nobody is configured
        who = repository.project.git("var", "GIT_AUTHOR_IDENT").rpartition(" <")[0]
    return Acceptance(
        id=candidate.id,
        benchmark=change.job,
        uid=change.uid,
        size=change.size,
        metric=change.metric,
        series=change.series[:SERIES_DIGITS],
        baseline=candidate.baseline,
        target=candidate.target,
        effect=numbers[0],
        shift=numbers[1],
        unit=change.unit,
        better="higher" if change.better == "higher" else "lower",
        reason=reason,
        until=until,
        who=who,
        when=datetime.now(UTC).replace(microsecond=0),
    )
