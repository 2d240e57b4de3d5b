"""Which function made a benchmark slower: counted, compared with what changed, and proved by taking the change back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from msgspec import structs

from perfvcs.errors import PerfError, UsageError
from perfvcs.jobs import Cell, matrix
from perfvcs.jobs.config import Config
from perfvcs.locate import auxiliary
from perfvcs.locate.attribution import contributions, unsettled
from perfvcs.locate.calltree import CallTree, least_of
from perfvcs.locate.elsewhere import others, own_name, surroundings, upgraded
from perfvcs.locate.finding import Blame, Lines, Node, SuspectFunction, Trial, Verdict
from perfvcs.locate.hunks import Difference, Unit, difference
from perfvcs.locate.kinds import kinds
from perfvcs.locate.laboratory import Bench, CannotMeasure, Laboratory, level
from perfvcs.locate.matching import MatchedTree, match
from perfvcs.locate.outline import language, outline
from perfvcs.locate.proof import Effect, Levels, effect, judge
from perfvcs.locate.suspects import Evidence, Places, Suspect, is_source, rank
from perfvcs.measure.progress import Progress
from perfvcs.profile import Profile
from perfvcs.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterable

DELTA = 0.01
TURNS = (6, 12, 24)  # blocks of a sampled metric, after each of which it is decided whether more are needed
REPEATS = 3  # executions by time, of which the least counts
EXPLAINED = 0.75  # the share of the effect that bytecode instructions must have, for them to tell all
SUSPECTS = 10  # that are reported
TRIED = 5  # suspects that are tried
MOST_OF_IT = 0.8  # the share of the effect beyond which no other suspect is tried
LEAST_SHOWN = 0.001  # the share of all cost from which on a node of the trees is kept
MOST_NODES = 4000

Choice = Literal["auto", "instructions", "bytecodes", "cpu"]


class NothingToBlame(PerfError):
    """There is nothing to compare."""

    exit_code = 4


@dataclass(frozen=True)
class BlameRequest:
    """What the caller asks: revisions, the benchmark (empty: the one that changed most), the metric, delta as a share, seconds."""

    a: str
    b: str
    benchmark: str = ""
    metric: Choice = "auto"
    delta: float = DELTA
    budget: float = 1800.0
    prove: bool = True
    wait: bool = False


@dataclass
class _Measured:
    """What both versions gave: the effect by one metric, and trees with the difference by function."""

    metric: Choice
    levels: Levels
    effect: Effect
    evidence: list[Evidence] = field(default_factory=list)
    measure: str = ""
    notes: list[str] = field(default_factory=list)


def blame(repository: Repository, config: Config, request: BlameRequest, progress: Progress) -> Blame:
    """Find what made a benchmark another one from ``a`` to ``b``; raises CannotMeasure, NothingToBlame, UsageError."""
    project = repository.project
    a, b = (project.resolve(revision) for revision in (request.a, request.b))
    if a == b:
        raise NothingToBlame(f"{request.a} and {request.b} are the same commit: name two different ones")
    cell = choose(repository, config, request)
    with repository.measuring(wait=request.wait):
        return _Investigation(repository, config, request, progress, a, b, cell).run()


def choose(repository: Repository, config: Config, request: BlameRequest) -> Cell:
    """The benchmark: the one named, the one that changed most by what is stored, or the only one."""
    if request.benchmark:
        return matrix(config, [request.benchmark])[0]
    cells = {cell.label: cell for cell in reversed(matrix(config))}
    if len(cells) == 1:
        return next(iter(cells.values()))
    from perfvcs.check import NothingToCompare

    try:
        report = repository.compare(repository.state(request.a), repository.state(request.b))
    except NothingToCompare:
        report = None
    changes = report.having("degradation", "improvement") if report else []
    for change in sorted(changes, key=lambda change: (change.word != "degradation", -abs(change.effect or 0.0))):
        if change.job in cells:
            return cells[change.job]
    names = ", ".join(sorted(cells)[:8])
    raise UsageError(
        f"no stored verdict says which benchmark changed: name one: `perf blame {request.a} {request.b} BENCHMARK` ({names})"
    )


class _Investigation:
    """One call of `perf blame`."""

    def __init__(
        self, repository: Repository, config: Config, request: BlameRequest, progress: Progress, a: str, b: str, cell: Cell
    ) -> None:
        self.repository, self.config, self.request, self.progress = repository, config, request, progress
        self.a, self.b = a, b
        self.laboratory = Laboratory(repository, config, cell, progress)
        self.began = time.monotonic()
        self.trials: list[Trial] = []
        self.notes: list[str] = []
        self.elsewhere: list[str] = []
        self.upgraded: list[str] = []

    def run(self) -> Blame:
        """Measure, compare, and prove."""
        measured = self._measure()
        if not measured.effect.real:
            return self._found(measured, "no difference", [])
        changed = self._difference()
        suspects = self._rank(changed, measured)
        self.elsewhere += others(changed)
        verdict = self._verdict(suspects)
        if self.upgraded and self.request.prove and self._dependencies(measured):
            return self._found(measured, "not the code", [], len(changed.units))
        if suspects and self.request.prove:
            self._prove(measured, changed, suspects)
            verdict = self._verdict(suspects)
        return self._found(
            measured, verdict, [_function(suspect, changed) for suspect in suspects[:SUSPECTS]], len(changed.units)
        )

    # -- what both versions cost -------------------------------------------------------------------------------------------------------

    def _measure(self) -> _Measured:
        """The effect by the metric that shows it, and the call trees of both sides."""
        python, gauge = self.laboratory.runs_python(), self._gauge()
        cells = [self.laboratory.under("time"), *gauge]
        if python:
            cells += [self.laboratory.under("bytecode", warm=False), self.laboratory.under("bytecode", meter="time", warm=False)]
        with self.laboratory.open([self.a, self.b], cells) as bench:
            profiles = bench.run(0)  # imports are compiled, files are read
            self.elsewhere += surroundings(profiles[0], profiles[1])
            self.upgraded = upgraded(profiles[0], profiles[1], own_name(self.repository.project, self.b))
            counts = self._counts(bench, 2) if python and self.request.metric != "cpu" else None
            measured = self._effect(bench, bool(gauge), counts)
            if measured.effect.real:
                self._look(bench, measured, counts, python=python, native=bool(gauge) and not python)
        return measured

    def _gauge(self) -> list[Cell]:
        """The benchmark under valgrind, which counts all instructions; for programs that are not Python, by function too."""
        if self.request.metric in ("cpu", "bytecodes"):
            return []
        cell = self.laboratory.under(
            "instructions", tool="cachegrind" if self.laboratory.runs_python() else "callgrind", repeat=0
        )
        if reason := cell.collector.available():
            if self.request.metric == "instructions":
                raise UsageError(reason)
            if not self.notes:
                self.notes.append("without valgrind functions of C are known by their time only: apt install valgrind")
            return []
        return [cell]

    def _counts(self, bench: Bench, number: int) -> list[Profile] | None:
        """Bytecode instructions of both sides; None where the program turns out not to be Python."""
        number = min(number, len(bench.cells) - 2)
        try:
            return bench.run(number)
        except CannotMeasure as error:
            self.notes.append(f"not counted in Python: {error}")
            bench.session.failures.clear()
            return None

    def _effect(self, bench: Bench, gauged: bool, counts: list[Profile] | None) -> _Measured:  # noqa: FBT001
        """The effect by the first exact metric that shows one, else by processor time in turns."""
        delta = self.request.delta
        if gauged:
            found = _exact("instructions", bench.run(1), delta)
            if found.effect.real:
                return found
        elif counts and (found := _exact("bytecodes", counts, delta)).effect.real:
            return found
        if self.request.metric in ("instructions", "bytecodes"):
            return found
        done = 1
        for turns in TURNS:
            levels = [level(profile) for profile in bench.run(0, turns - done)]
            done = turns
            sampled = Levels(levels[0], levels[1])
            seen = effect(levels[0], levels[1], delta, exact=False)
            if seen.real or max(abs(seen.low), abs(seen.high)) < delta:
                break
        if not seen.real and (gauged or counts):
            return found  # the exact figure says more than an interval
        return _Measured("cpu", sampled, seen)

    def _look(self, bench: Bench, measured: _Measured, counts: list[Profile] | None, *, python: bool, native: bool) -> None:
        """The call trees of both sides, and what each function adds."""
        places = self.places
        if counts:
            tree = _both(counts)
            measured.evidence.append(Evidence(tree, contributions(tree, places.owner)))
            measured.measure = "bytecode instructions"
            shown = tree.difference / (sum(tree.own[0]) or 1.0)
            if python and shown / measured.effect.value >= EXPLAINED:
                return
        if python and counts:
            profiles = bench.run(len(bench.cells) - 1, REPEATS)
            measured.evidence.append(self._by_time(profiles))
            measured.measure = "processor time"
        elif native:
            tree = _both(bench.run(1, 0))
            measured.evidence.append(Evidence(tree, contributions(tree, places.owner)))
            measured.measure = "instructions"
        else:
            self.notes.append("nothing here tells what functions cost: suspects are all that changed")

    def _by_time(self, profiles: list[Profile]) -> Evidence:
        """Trees by processor time: of each path the least, and how far functions vary from execution to execution."""
        sides = [[tree for tree in map(CallTree.of, _executions(profile)) if tree] for profile in profiles]
        tree = match(least_of(sides[0]), least_of(sides[1]))
        repeats = [contributions(match(x, y), self.places.owner) for x, y in zip(*sides, strict=True)]
        return Evidence(tree, contributions(tree, self.places.owner), unsettled(repeats))

    # -- what changed ------------------------------------------------------------------------------------------------------------------

    @property
    def places(self) -> Places:
        """The project's functions on both sides."""
        if not hasattr(self, "_places"):
            project = self.repository.project
            files = [
                path for side in (self.a, self.b) for path in project.git("ls-tree", "-r", "-z", "--name-only", side).split("\0")
            ]
            self._places = Places(filter(None, files))
            native = sorted({path for path in files if language(path) == "c"})
            if native and not self.laboratory.runs_python():
                from perfvcs.git.command import GitError

                for path in native[:2000]:
                    try:
                        found = outline(path, project.git("show", f"{self.b}:{path}"))
                    except GitError:  # only the old side has it
                        continue
                    self._places.define(path, (one.name for one in found.definitions) if found else ())
        return self._places

    def _difference(self) -> Difference:
        return difference(
            self.repository.project, self.a, self.b, skip=lambda path: not is_source(path, (*self.config.overlay, "perf.toml"))
        )

    def _rank(self, changed: Difference, measured: _Measured) -> list[Suspect]:
        sign = 1.0 if measured.effect.value > 0 else -1.0
        if changed.left_out:
            self.notes.append(f"{changed.left_out:,} changed files are left out")
        if changed.renamed:
            for number, one in enumerate(measured.evidence):
                tree = one.tree
                renamed = {before: after for before, after in changed.renamed.items() if before in tree.names}
                if renamed:
                    measured.evidence[number] = _rematched(one, renamed, self.places.owner)
        return rank(changed.meaning, measured.evidence, self.places, sign)

    # -- the proof ---------------------------------------------------------------------------------------------------------------------

    def _prove(self, measured: _Measured, changed: Difference, suspects: list[Suspect]) -> None:
        """Take suspects' changes back, the most suspect first, until one or several together explain the effect."""
        tried = [suspect for suspect in suspects if suspect.score > 0][:TRIED] or suspects[:1]
        for suspect in tried:
            if self._late():
                self.notes.append(f"the budget is used up: {len(tried) - len(self.trials)} suspects are not tried (--budget)")
                return
            trial = self._try(measured, changed, suspect.unit)
            self.trials.append(trial)
            if trial.word == "proved" or (trial.word == "contributes" and (trial.share or 0.0) >= MOST_OF_IT):
                return

    def _late(self) -> bool:
        return time.monotonic() - self.began > self.request.budget

    def _try(self, measured: _Measured, changed: Difference, unit: Unit) -> Trial:
        """Measure the new version without a unit's hunks, with more of them taken back where it does not run without those alone."""
        reason = ""
        scratch = self.repository.home / "tmp"
        scratch.mkdir(exist_ok=True)
        for besides, hunks in auxiliary.attempts(changed, unit):
            texts = auxiliary.reverted(changed, hunks)
            made = auxiliary.commit(self.repository.project, scratch, self.b, texts)
            self.progress.say(f"trying {self.b[:10]} without the change of {unit}{f', {besides}' if besides else ''}")
            try:
                levels = self._levels(measured, made)
            except CannotMeasure as error:
                reason = str(error)
                continue
            seen = judge(levels, self.request.delta)
            middle = sum(levels.auxiliary) / len(levels.auxiliary)
            word = "not proved" if seen.word == "open" else seen.word
            return Trial(
                name=unit.name, path=unit.path, besides=besides, commit=made, level=middle, word=word, share=seen.share,
                low=seen.low, high=seen.high, executions=len(levels.auxiliary), reason="too noisy to tell" if seen.word == "open" else "",
            )  # fmt: skip
        return Trial(
            name=unit.name, path=unit.path, word="not proved", reason=f"the new version does not work without it: {reason}"
        )

    def _dependencies(self, measured: _Measured) -> bool:
        """Measure the old version with what the new one has installed: whether that alone has the new level."""
        table = self.config.python
        if table is None:
            return False
        config = structs.replace(self.config, python=structs.replace(table, requires=(*table.requires, *self.upgraded)))
        laboratory = replace(self.laboratory, config=config)
        self.progress.say(f"trying {self.a[:10]} with {', '.join(self.upgraded[:5])}")
        try:
            levels = self._levels(measured, self.a, laboratory)
        except PerfError as error:
            if error.exit_code != CannotMeasure.exit_code:
                raise
            self.notes.append(f"not tried with the new dependencies: {error}")
            return False
        seen = judge(Levels(levels.b, levels.a, levels.auxiliary), self.request.delta)
        middle = sum(levels.auxiliary) / len(levels.auxiliary)
        word = "not proved" if seen.word == "open" else seen.word
        self.trials.append(Trial(
            name="dependencies", path=", ".join(self.upgraded), level=middle, word=word, share=seen.share, low=seen.low, high=seen.high,
            executions=len(levels.auxiliary),
        ))  # fmt: skip
        return word == "proved"

    def _levels(self, measured: _Measured, made: str, laboratory: Laboratory | None = None) -> Levels:
        """The levels of a, b and the auxiliary version; exact ones of a and b are known."""
        laboratory = laboratory or self.laboratory
        if measured.levels.exact:
            collector = laboratory.under("bytecode", warm=False) if measured.metric == "bytecodes" else self._gauge()[0]
            with laboratory.open([made], [laboratory.under("time"), collector]) as bench:
                bench.run(0)
                return Levels(measured.levels.a, measured.levels.b, level(bench.run(1)[0]))
        with laboratory.open([self.a, self.b, made], [laboratory.under("time")]) as bench:
            done = 0
            for turns in TURNS:
                profiles = bench.run(0, turns - done)
                done = turns
                levels = Levels(*(level(profile) for profile in profiles))
                if judge(levels, self.request.delta).word != "open" or self._late():
                    break
        return levels

    def _verdict(self, suspects: Sequence[Suspect]) -> Verdict:
        if not suspects:
            return "not the code"
        words = {trial.word for trial in self.trials}
        verdicts: tuple[Verdict, ...] = ("proved", "contributes", "not proved")
        return next((verdict for verdict in verdicts if verdict in words), "suspected")

    def _found(self, measured: _Measured, verdict: Verdict, suspects: list[SuspectFunction], changed: int = 0) -> Blame:
        levels = measured.levels
        tree = measured.evidence[-1].tree if measured.evidence else None
        return Blame(
            baseline=self.a, target=self.b, job=self.laboratory.cell.label, metric=measured.metric,
            a=sum(levels.a) / len(levels.a), b=sum(levels.b) / len(levels.b),
            effect=measured.effect.value, low=measured.effect.low, high=measured.effect.high, delta=self.request.delta,
            verdict=verdict, suspects=suspects, trials=self.trials, notes=self.notes, elsewhere=self.elsewhere, measure=measured.measure,
            tree=_nodes(tree) if tree else [], changed=changed, executions=self.laboratory.executions,
            seconds=round(time.monotonic() - self.began, 1), made=datetime.now(UTC).isoformat(timespec="seconds"),
        )  # fmt: skip


def _exact(metric: Choice, profiles: list[Profile], delta: float) -> _Measured:
    levels = [level(profile)[-1:] for profile in profiles]
    return _Measured(metric, Levels(levels[0], levels[1]), effect(levels[0], levels[1], delta, exact=True))


def _both(profiles: Sequence[Profile]) -> MatchedTree:
    """The call trees of two profiles as one."""
    first, second = (CallTree.of(profile) or CallTree.of_paths([]) for profile in profiles)
    return match(first, second)


def _rematched(evidence: Evidence, renamed: dict[str, str], owner: Callable[[str], str | None]) -> Evidence:
    """The same trees, matched again by names that functions have now."""
    tree = match(_side(evidence.tree, 0), _side(evidence.tree, 1), renamed)
    return Evidence(tree, contributions(tree, owner), evidence.noise)


def _side(tree: MatchedTree, side: int) -> CallTree:
    """One of the two trees that a matched one was made from, as far as it has names."""
    place, names, parents, own, calls = {-1: -1}, [], [], [], []  # type: ignore[var-annotated]
    for node in range(len(tree)):
        if node and not tree.calls[side][node]:
            continue
        place[node] = len(names)
        names.append(tree.names[node])
        parents.append(place[tree.parents[node]])
        own.append(tree.own[side][node])
        calls.append(tree.calls[side][node])
    return CallTree(names, parents, own, calls)


def _executions(profile: Profile) -> Iterable[Profile]:
    """A profile per execution."""
    rows = profile.resources
    for execution in sorted(set(rows.execution)):
        trace = [stack if own == execution else -1 for stack, own in zip(rows.integers("trace"), rows.execution, strict=True)]
        yield structs.replace(profile, resources=replace(rows, trace=trace))


def _function(suspect: Suspect, changed: Difference) -> SuspectFunction:
    unit = suspect.unit
    change = changed.files[unit.path]
    old, new = change.old.splitlines(), change.new.splitlines()
    return SuspectFunction(
        name=unit.name, path=unit.path, score=suspect.score, own=suspect.own, led=suspect.led, dearer=suspect.dearer,
        oftener=suspect.oftener, callee=suspect.callee, through=suspect.through.rpartition(":")[2], reached=suspect.reached,
        calls=suspect.calls, kinds=kinds(change, unit.name, unit.hunks),
        hunks=[
            Lines(
                unit.path, hunk.old, hunk.new, old[hunk.old[0] - 1 :][: hunk.old[1]] if hunk.old[1] else [],
                new[hunk.new[0] - 1 :][: hunk.new[1]] if hunk.new[1] else [],
            )
            for hunk in unit.hunks
        ],
    )  # fmt: skip


def _nodes(tree: MatchedTree) -> list[Node]:
    """The heaviest nodes, parents first."""
    whole = tree.inclusive()
    least = LEAST_SHOWN * max(whole[0][0], whole[1][0])
    chosen = sorted(range(len(tree)), key=lambda node: -max(whole[0][node], whole[1][node]))[:MOST_NODES]
    kept = sorted(node for node in chosen if max(whole[0][node], whole[1][node]) >= least)
    place = {node: number for number, node in enumerate(kept)}
    return [
        Node(
            tree.names[node],
            place.get(tree.parents[node], -1),
            whole[0][node],
            whole[1][node],
            tree.calls[0][node],
            tree.calls[1][node],
        )
        for node in kept
    ]
