"""What ``perf select`` says: which benchmarks a change can touch, and why each of the others is
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from perfvcs.check.change import NothingToCompare
from perfvcs.errors import UsageError
from perfvcs.jobs import matrix
from perfvcs.jobs.config import load
from perfvcs.locate.select.choices import Choice
from perfvcs.locate.select.misses import LeftOutSampler
from perfvcs.locate.select.reached import MODULE, BenchmarkUnit, outer
from perfvcs.locate.select.selection import Selection
from perfvcs.locate.select.selection import select as choose
from perfvcs.profile.benchmarkfilter import FilterWords, catalogue, chosen
from perfvcs.profile.naming import Benchmark, typed
from perfvcs.profile.rules import RULES_FILE
from perfvcs.repository import Repository
from perfvcs.repository.benchmarks import benchmarks, configured_only
from perfvcs.repository.state import State
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.quantity import percent
from perfvcs.text.words import ambiguous, counted, named
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.locate.blame.guard import Guard

MOST_MISSED = 20
MOST_SHOWN = 5  # benchmarks with the same reason, and functions, without -v
BY = {
    "recorded": "what was recorded on {}",
    "static": "its sources",
    "files": "the files that changed",
    "": "nothing",
}


def lines(guard: Guard) -> list[str]:
    """The score, the slowdowns that nobody noticed, and the functions that nothing guards."""
    if not guard.planted:
        return ["nothing could be planted within the budget: raise it with --budget"]
    noticed = sum(slowdown.noticed for slowdown in guard.planted)
    report = [
        f"score {100 * guard.score:.0f} %: {noticed} of"
        f" {counted(len(guard.planted), 'planted slowdown')} noticed at"
        f" {percent(guard.delta).lstrip('+')} ({guard.metric}, {guard.commit[:10]})"
    ]
    missed = [slowdown for slowdown in guard.planted if not slowdown.noticed]
    report += [
        f"missed:  {slowdown.rule} in {slowdown.function} ({slowdown.path}:{slowdown.line}):"
        f" {_effect(slowdown.effect)}"
        for slowdown in missed[:MOST_MISSED]
    ]
    report += [f"and {len(missed) - MOST_MISSED} more"] if len(missed) > MOST_MISSED else []
    report += [f"unguarded: {', '.join(guard.unguarded[:MOST_MISSED])}"] if guard.unguarded else []
    if guard.unreached:
        report.append(
            f"no benchmark runs {counted(guard.unreached, 'function')} of"
            f" {guard.reached + guard.unreached}"
        )
    return report


def _effect(effect: float) -> str:
    return percent(effect) if abs(effect) >= 1e-6 else "no change"


def json(guard: Guard) -> str:
    """The whole as JSON, with its score."""
    from perfvcs.locate.blame.guard import GuardDocument

    return json_text(filled(GuardDocument, guard))


class ChoiceRow(msgspec.Struct, frozen=True):
    """Whether a benchmark is to run, and why; ``recorded`` is the commit on which it was recorded
    what it runs.
    """

    benchmark: str
    job: str
    collector: str
    uid: str
    run: bool
    reason: str
    by: str
    recorded: str | None


class UnseenFile(msgspec.Struct, frozen=True):
    """A changed file into which nobody can look."""

    file: str
    reason: str


class SelectionDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What `perf select --json` prints."""

    baseline: str
    target: str
    dirty: str | None
    functions: list[str]
    files: list[str]
    unseen: list[UnseenFile]
    run: int
    left_out: int
    benchmarks: list[ChoiceRow]
    sampled: Mapping[str, int]


@dataclass(frozen=True)
class Selected:
    """A selection with the names of its benchmarks, and the project's miss rate."""

    repository: Repository
    selection: Selection
    names: tuple[str, ...]
    sampler: LeftOutSampler

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choice for each benchmark."""
        return self.selection.choices

    def lines(self, *, verbose: bool = False) -> Iterator[str]:
        """The benchmarks to run and those left out, grouped by their reasons."""
        run = [
            (name, choice)
            for name, choice in zip(self.names, self.choices, strict=True)
            if choice.run
        ]
        left = [
            (name, choice)
            for name, choice in zip(self.names, self.choices, strict=True)
            if not choice.run
        ]
        yield from _wrapped(self._title())
        for heading, choices in (
            (f"can be touched ({len(run):,})", run),
            (f"left out ({len(left):,})", left),
        ):
            if choices:
                yield heading
                yield from _groups(choices, None if verbose else MOST_SHOWN)
        if sampled := self.sampler.summary():
            yield from _wrapped(sampled)

    def _title(self) -> str:
        changed = self.selection.changes
        files = [file.path for file in changed.files if file.matters]
        functions = len(changed.functions)
        what = (
            f"{counted(functions, 'function')} in {counted(len(files), 'file')}"
            if functions
            else counted(len(files), "file")
        )
        words = f"{what} changed" if files else "nothing changed that a benchmark can notice"
        return f"{self.selection.baseline.name} -> {self.selection.target.name}: {words}"

    def explain(self, name: str) -> Iterator[str]:
        """Why one benchmark is chosen or left out; raises UsageError for an unknown one."""
        for called, choice in self._meant(name):
            yield f"{called}: {'can be touched' if choice.run else 'left out'}"
            yield from _wrapped(choice.reason, "  ")
            reach = choice.reach
            by = BY[choice.by].format(reach.commit[:10] if reach else "")
            functions_run = ""
            if reach:
                functions = sum(not name.endswith(MODULE) for name in reach.functions)
                functions_run = f"; {counted(functions, 'function')} known to run"
            yield f"  decided by {by}{functions_run}"
            if reach is not None:
                changed = self.selection.changes.functions
                both = sorted(changed & {outer(function) for function in reach.functions})
                for function in both[:MOST_SHOWN]:
                    yield f"  runs {function}, which changed"
                if len(both) > MOST_SHOWN:
                    yield f"  and {len(both) - MOST_SHOWN:,} more that changed"

    def _meant(self, name: str) -> list[tuple[str, Choice]]:
        """The choices for the benchmarks that a name means, with what these are called; for a unit
        of a job that is chosen as a whole, that of the job.
        """
        stored = benchmarks(self.repository)
        job_names = {(item.label, item.collector): item.name for item in stored}
        known = [
            *stored,
            *(
                Benchmark(job_names[choice.unit.cell], *choice.unit.cell, choice.unit.uid)
                for choice in self.choices
            ),
        ]
        wanted = configured_only(self.repository, chosen(catalogue(known), FilterWords(name)))
        of_jobs = [
            (called, choice)
            for called, choice in zip(self.names, self.choices, strict=True)
            if wanted.has_job(*choice.unit.cell)
        ]
        if not of_jobs:
            raise UsageError(f"{typed(name)} is of none of the jobs that -j names")
        exact = [row for row in of_jobs if wanted.has(row[1].unit.job, row[1].unit.uid)]
        return exact or of_jobs

    def json(self) -> str:
        """Everything as one JSON object."""
        changed, selection = self.selection.changes, self.selection
        rows = [
            ChoiceRow(
                benchmark=name,
                job=choice.unit.job,
                collector=choice.unit.collector,
                uid=choice.unit.uid,
                run=choice.run,
                reason=choice.reason,
                by=choice.by,
                recorded=choice.reach.commit if choice.reach and choice.reach.recorded else None,
            )
            for name, choice in zip(self.names, self.choices, strict=True)
        ]
        run = sum(choice.run for choice in self.choices)
        return json_text(
            SelectionDocument(
                baseline=selection.baseline.commit,
                target=selection.target.commit,
                dirty=selection.target.dirty,
                functions=sorted(changed.functions),
                files=[file.path for file in changed.files if file.matters],
                unseen=[UnseenFile(file.path, file.why) for file in changed.unseen],
                run=run,
                left_out=len(rows) - run,
                benchmarks=rows,
                sampled=self.sampler.counts(),
            )
        )


def select(repository: Repository, revisions: Sequence[str], jobs: Sequence[str] = ()) -> Selected:
    """The selection for a range, for a baseline and a target, or for what came since the last
    measured commit.
    """
    baseline, target = states(repository, revisions)
    config = load(repository.project.root / RULES_FILE)
    selection = choose(repository, config, matrix(config, jobs), baseline, target)
    return Selected(
        repository, selection, _names(selection.choices), LeftOutSampler(repository.home)
    )


def _names(choices: Sequence[Choice]) -> tuple[str, ...]:
    """What benchmarks are called: units by themselves, and with their jobs where several have one
    of that name.
    """
    cells = list(dict.fromkeys(choice.unit.cell for choice in choices))
    labels = dict(zip(cells, named(cells), strict=True))
    units = [choice.unit for choice in choices]
    several = ambiguous((unit.uid, unit.job) for unit in units if unit.uid)

    def name(unit: BenchmarkUnit) -> str:
        if not unit.uid:
            return labels[unit.cell]
        return f"{unit.job}: {unit.uid}" if unit.uid in several else unit.uid

    return tuple(map(name, units))


def states(repository: Repository, revisions: Sequence[str]) -> tuple[State, State]:
    """The two sides: HEAD is the working tree as it is, its baseline the commit below where that is
    measured, else the nearest that is.
    """
    if len(revisions) == 1 and ".." in revisions[0]:
        old, _, new = revisions[0].partition("..")
        if new.startswith("."):
            raise UsageError(f"`{revisions[0]}` has three dots: use `A..B`")
        revisions = [old or "HEAD", new or "HEAD"]
    if len(revisions) == 2:
        return State(repository.project.resolve(revisions[0])), State(
            repository.project.resolve(revisions[1])
        )
    target = repository.current(revisions[0] if revisions else "HEAD")
    if target.dirty and repository.measured(State(target.commit)):
        return State(target.commit), target
    return measured_before(repository, target), target


def measured_before(repository: Repository, target: State) -> State:
    """The nearest ancestor with profiles, else the parent; raises NothingToCompare without one."""
    ancestor = next(repository.measured_ancestors(target.commit), None)
    if ancestor is None:
        ancestor = next(repository.project.ancestors(target.commit), None)
    if ancestor is None:
        cure = (
            "fetch the rest of a shallow clone (`git fetch --unshallow`)"
            if repository.project.shallow
            else "name a range A..B"
        )
        raise NothingToCompare(f"{target.name} has no ancestor to be compared with: {cure}")
    return State(ancestor)


def _groups(choices: Iterable[tuple[str, Choice]], most: int | None) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for name, choice in choices:
        groups.setdefault(choice.reason, []).append(name)
    for reason, names in groups.items():
        for name in islice(names, most):
            yield f"  {shorten(name, COLUMNS - 2)}"
        if most is not None and len(names) > most:
            yield f"  and {len(names) - most:,} more"
        yield from _wrapped(reason, "      ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return wrap(text, COLUMNS, initial_indent=indent, subsequent_indent=indent or "  ")
