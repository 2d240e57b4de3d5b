"""Which slowdowns a project's benchmarks would notice: plants some, one at a time, and measures
them exactly.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from perfvcs.errors import PerfError, UsageError
from perfvcs.jobs import matrix
from perfvcs.jobs.cell import Cell
from perfvcs.locate.blame import experiments
from perfvcs.locate.blame.laboratory import Laboratory, UnmeasurableVersion, level
from perfvcs.locate.blame.mutation import PLANTED, Mutant, mutants
from perfvcs.locate.blame.places import Places
from perfvcs.locate.sources import is_within
from perfvcs.locate.sources.outline import outline
from perfvcs.locate.sources.parts import MODULE
from perfvcs.measure.rig import Rig
from perfvcs.measure.site import Version
from perfvcs.profile import Profile
from perfvcs.profile.rules import USUAL_DELTA

LEAST_WEIGHT = 1e-6  # of a function that costs next to nothing
MOST_ATTEMPTS = 10  # mutants that do not run, per one that counts


class Planted(msgspec.Struct, frozen=True, kw_only=True):
    """One mutant: the largest relative change of any benchmark, which one that was, and whether
    that is over delta.
    """

    rule: str
    function: str
    path: str
    line: int
    effect: float
    benchmark: str
    noticed: bool


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the planted slowdowns were noticed; ``unguarded`` are functions none of whose
    slowdowns was.

    ``unreached`` counts functions that no benchmark runs, into which nothing was planted;
    ``failed`` mutants did not run.
    """

    format: str = "perfvcs-mutate/1"
    commit: str
    metric: str
    delta: float
    planted: list[Planted]
    unguarded: list[str] = []
    reached: int = 0
    unreached: int = 0
    failed: int = 0
    seed: int = 0
    seconds: float = 0.0
    executions: int = 0

    @property
    def score(self) -> float:
        """The share of planted slowdowns that were noticed."""
        return (
            sum(slowdown.noticed for slowdown in self.planted) / len(self.planted)
            if self.planted
            else 0.0
        )


class GuardDocument(Guard, frozen=True, kw_only=True):
    """What `perf mutate --json` prints: the same, and its ``score``."""

    score: float


@dataclass(frozen=True)
class GuardRequest:
    """What the caller asks: how many mutants, delta as a share, seconds, the seed of the sample,
    labels of jobs.
    """

    revision: str = "HEAD"
    count: int = 20
    delta: float = USUAL_DELTA
    budget: float = 1800.0
    seed: int = 0
    jobs: tuple[str, ...] = ()
    metric: str = "bytecodes"
    wait: bool = False


def systematic(weights: Sequence[float], count: int, start: float) -> list[int]:
    """Places of so many different weights, drawn in proportion to them at equal distances, the
    first by ``start`` from 0 to 1.

    Neighbours stand in for each other, so that two draws with other starts are about the same
    mixture.

    >>> systematic([1, 1, 8, 1, 1], 3, 0.5)
    [1, 2, 4]
    """
    left, certain = list(range(len(weights))), list[int]()
    while len(certain) < count and left:  # what is heavier than the distance would be drawn twice
        distance = sum(weights[place] for place in left) / (count - len(certain))
        heavy = [place for place in left if weights[place] >= distance]
        if not heavy:
            break
        certain += heavy[: count - len(certain)]
        left = [place for place in left if place not in set(certain)]
    wanted = min(count - len(certain), len(left))
    places, passed = certain, 0.0
    step = sum(weights[place] for place in left) / wanted if wanted else 0.0
    marks = [(number + start) * step for number in range(wanted)]
    for place in left:
        passed += weights[place]
        if marks and marks[0] < passed:
            places.append(place)
            marks.pop(0)
    return sorted(places)


class NothingToPlant(PerfError):
    """No benchmark runs a Python function of the project into which a slowdown could be planted."""

    exit_code = 4


@dataclass
class _Project:
    """What the benchmarks run: their levels, and the cost of each function, as shares summed over
    the benchmarks.
    """

    levels: dict[str, float] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)


def guard(rig: Rig, request: GuardRequest) -> Guard:
    """Plant slowdowns and see which benchmarks notice; raises NothingToPlant,
    UnmeasurableVersion.
    """
    cells = {cell.label: cell for cell in reversed(matrix(rig.config, request.jobs))}
    with rig.repository.measuring(wait=request.wait):
        return _Guarding(rig, request, list(cells.values())).run()


class _Guarding:
    """One call of `perf mutate`."""

    def __init__(self, rig: Rig, request: GuardRequest, cells: Sequence[Cell]) -> None:
        self.repository, self.config, self.request = rig.repository, rig.config, request
        self.progress = rig.progress
        self.began = time.monotonic()
        self.commit = self.repository.project.resolve(request.revision)
        laboratories = [Laboratory(rig, cell) for cell in cells]
        self.laboratories = [laboratory for laboratory in laboratories if laboratory.runs_python()]
        if not self.laboratories:
            raise UsageError(
                "slowdowns are planted into Python only, and no job of perf.toml is a Python"
                " program"
            )
        if reason := self._gauge(self.laboratories[0]).collector.available():
            raise UsageError(reason)

    def run(self) -> Guard:
        """Measure the project as it is, then with each mutant."""
        project, chance = self._measure(), random.Random(self.request.seed)
        planted: list[Planted] = []
        failed = 0
        for path, mutant in self._sample(project, chance):
            if (
                len(planted) >= self.request.count
                or failed > MOST_ATTEMPTS * self.request.count
                or self._late()
            ):
                break
            self.progress.say(
                f"planting: {mutant.rule} in {mutant.function} ({path}:{mutant.line})"
            )
            try:
                planted.append(self._try(path, mutant, project))
            except UnmeasurableVersion:
                failed += 1
        by_function: dict[str, list[bool]] = {}
        for slowdown in planted:
            by_function.setdefault(f"{slowdown.function} ({slowdown.path})", []).append(
                slowdown.noticed
            )
        return Guard(
            commit=self.commit,
            metric=self.request.metric,
            delta=self.request.delta,
            planted=planted,
            unguarded=sorted(name for name, noticed in by_function.items() if not any(noticed)),
            reached=len(project.costs),
            unreached=self.functions - len(project.costs),
            failed=failed,
            seed=self.request.seed,
            seconds=round(time.monotonic() - self.began, 1),
            executions=sum(laboratory.executions for laboratory in self.laboratories),
        )

    def _late(self) -> bool:
        return time.monotonic() - self.began > self.request.budget

    def _gauge(self, laboratory: Laboratory) -> Cell:
        if self.request.metric == "instructions":
            return laboratory.under("instructions", tool="cachegrind", repeat=0)
        return laboratory.under("bytecode", warm=False)

    def _measure(self) -> _Project:
        """Measures every benchmark as it is: its level, and the functions that it runs."""
        files = self.repository.project.git(
            "ls-tree", "-r", "-z", "--name-only", self.commit
        ).split("\0")
        self.files = [
            path
            for path in files
            if path.endswith(".py") and not is_within(path, self.config.overlay)
        ]
        places, project = Places(self.files), _Project()
        for laboratory in self.laboratories:
            cells = [laboratory.under("time"), laboratory.under("bytecode", warm=False)]
            cells += [self._gauge(laboratory)] if self.request.metric == "instructions" else []
            with laboratory.open([Version(self.commit)], cells) as bench:
                bench.run(0)
                counted = bench.run(1)[0]
                project.levels[laboratory.cell.label] = level(
                    bench.run(2)[0] if len(cells) > 2 else counted
                )[-1]
            for name, share in _shares(counted):
                owner = places.owner(name)
                if (
                    owner is not None
                    and not owner.endswith(f":{MODULE}")
                    and owner.rpartition(":")[0] in self.files
                ):
                    project.costs[owner] = project.costs.get(owner, 0.0) + share
        self.functions = len(project.costs) + sum(
            self._unreached(path, project) for path in self.files
        )
        if not project.costs:
            raise NothingToPlant(
                "the benchmarks run no Python function of this project: name what they measure in"
                " perf.toml"
            )
        return project

    def _unreached(self, path: str, project: _Project) -> int:

        source = outline(path, self._text(path))
        return (
            sum(
                f"{path}:{definition.name}" not in project.costs
                for definition in source.definitions
            )
            if source
            else 0
        )

    def _text(self, path: str) -> str:
        return self.repository.project.git("show", f"{self.commit}:{path}") + "\n"

    def _sample(self, project: _Project, chance: random.Random) -> Iterator[tuple[str, Mutant]]:
        """The mutants to plant, then those that stand in for such as do not run."""
        fitting: list[tuple[str, Mutant]] = []
        for path in sorted({owner.rpartition(":")[0] for owner in project.costs}):
            fitting += [
                (path, mutant)
                for mutant in mutants(self._text(path))
                if f"{path}:{mutant.function}" in project.costs
            ]
        fitting.sort(
            key=lambda planting: (PLANTED.index(planting[1].rule), planting[0], planting[1].line)
        )
        weights = [
            project.costs[f"{path}:{planting.function}"] + LEAST_WEIGHT
            for path, planting in fitting
        ]
        chosen = systematic(weights, self.request.count, chance.random())
        others = [place for place in range(len(fitting)) if place not in set(chosen)]
        for places in (chosen, others):
            chance.shuffle(places)
            yield from (fitting[place] for place in places)

    def _try(self, path: str, mutant: Mutant, project: _Project) -> Planted:
        scratch = self.repository.home / "tmp"
        scratch.mkdir(exist_ok=True)
        planted = experiments.commit(
            self.repository.project, scratch, self.commit, {path: mutant.text}
        )
        best = (0.0, "")
        for laboratory in self.laboratories:
            with laboratory.open(
                [Version(planted)], [laboratory.under("time"), self._gauge(laboratory)]
            ) as bench:
                bench.run(0)
                value = level(bench.run(1)[0])[-1]
            label = laboratory.cell.label
            best = max(best, (value / project.levels[label] - 1, label))
        return Planted(
            rule=mutant.rule,
            function=mutant.function,
            path=path,
            line=mutant.line,
            effect=best[0],
            benchmark=best[1],
            noticed=best[0] >= self.request.delta,
        )


def _shares(profile: Profile) -> Iterator[tuple[str, float]]:
    """The functions of a profile with their own shares of all bytecode."""
    rows = profile.resources
    whole = level(profile)[-1] or 1.0
    for place, value in enumerate(rows.metrics["exclusive"]):
        if value is not None:
            yield rows.names[rows.uid[place]], value / whole
