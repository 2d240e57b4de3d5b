"""Commands that take turns until it is decided which of them is quicker; there need be no
repository.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from perfvcs import environment
from perfvcs.check import compare
from perfvcs.check.method import FEWEST_EXECUTIONS
from perfvcs.check.stopping import interim
from perfvcs.environment import noise
from perfvcs.launcher.preparation import CommandFailed
from perfvcs.measure.blocks import draw, turns
from perfvcs.measure.budget import Budget
from perfvcs.measure.commandrecord import COUNTED, CommandRecord, Level, Together, together
from perfvcs.measure.commandruns import BudgetSpent, CommandRuns
from perfvcs.measure.journal import Identity
from perfvcs.measure.typedcommand import TypedCommand
from perfvcs.plugins.collector import Observations
from perfvcs.statistics.multiplicity import MOST_PAIRS, PAIRS, is_look

if TYPE_CHECKING:
    from perfvcs.check.change import Report
    from perfvcs.measure.progress import Progress
    from perfvcs.profile import Environment, Profile

TURN_SECONDS = 0.1  # of a command's turn, in which a short one runs several times
MOST_RUNS = 20  # in a turn
ALONE_PAIRS = 10  # executions of a command without another one, at least
ALONE_PRECISION = 0.01  # half of its interval, as a share, that settles it


class ComparisonPlan(msgspec.Struct, frozen=True):
    """How commands are compared: the ``metrics`` that are judged, warm-up runs of each, the
    ``budget`` in seconds, what all of them read, and whether an exit status other than 0 is no
    failure.
    """

    metrics: tuple[str, ...] = ("wall",)
    warmup: int = 1
    budget: float = 120.0
    stdin: Path | None = None
    may_fail: bool = False


class CommandLevels(msgspec.Struct, frozen=True):
    """A command with what it takes."""

    command: str
    parameters: Mapping[str, str]
    levels: list[Level]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it: the commands as they were given, each but the first compared with that one
    in the ``report`` (None of a single one), whose jobs are the commands.

    ``own`` is what launches the commands, the ``way``, takes by itself (s), by metrics; it is taken
    out. ``pairs`` is the number of turns of the first command, ``runs`` how often a
    command ran in one. ``profile`` has all executions.
    """

    commands: list[CommandLevels]
    report: Report | None
    way: str
    own: Mapping[str, float]
    pairs: int
    runs: int
    seconds: float
    notes: list[str]
    profile: Profile


def compare_commands(
    commands: Sequence[TypedCommand], plan: ComparisonPlan, progress: Progress
) -> Comparison:
    """Measure commands in turns until each is decided against the first, or the budget is spent.

    Raises CollectError where one fails or hangs, and CommandFailed where what runs around it does.
    """
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="perfvcs-compare-")))
        return _Turns(commands, plan, progress, scratch).compare(stack)


class _Turns:
    """The turns of the commands, and what they gave."""

    def __init__(
        self,
        commands: Sequence[TypedCommand],
        plan: ComparisonPlan,
        progress: Progress,
        scratch: Path,
    ) -> None:
        self.plan, self.progress = plan, progress
        self.records = [CommandRecord(command, place) for place, command in enumerate(commands)]
        self.identity, self.knobs = Identity.new(), environment.Knobs()
        self.runs, self.pairs, self._took = 1, 0, 0.0
        self.began = time.monotonic()
        self.budget = Budget(plan.budget)
        self.single = CommandRuns(
            scratch, commands[0].shell, plan.stdin, plan.may_fail, self.budget
        )

    def compare(self, stack: ExitStack) -> Comparison:
        """All of it; what cleans up is left to the ``stack``."""
        for record in self.records:
            stack.callback(self._clean_up, record.command)
            self.single.around("setup", record.command)
        self.budget = self.single.budget = Budget(self.plan.budget)
        before = noise.snapshot()
        self.progress.begin(len(self.records) * (self.plan.warmup + PAIRS))
        self._warm_up()
        if "instructions" in self.plan.metrics:
            self.progress.say("counting instructions")
            counts = self.single.counted([record.command for record in self.records])
            for record, count in zip(self.records, counts, strict=True):
                record.instructions = count
        if self._timed:
            (self._until_decided if len(self.records) > 1 else self._alone)()
        described = environment.describe(
            self.knobs, self.single.env, before=before, after=noise.snapshot()
        )
        about = self._about(described)
        report = None
        if len(self.records) > 1:
            report = self._report(about)
        return Comparison(
            commands=[self._levels(record) for record in self.records],
            report=report,
            way=self.single.way,
            own=self.single.own(),
            pairs=self.pairs,
            runs=self.runs,
            seconds=time.monotonic() - self.budget.began,
            notes=[*self.single.warnings, *(described.warnings if self._timed else ())],
            profile=together(self.records, about),
        )

    @property
    def _timed(self) -> list[str]:
        return [name for name in self.plan.metrics if name not in COUNTED]

    def _levels(self, record: CommandRecord) -> CommandLevels:
        names = dict.fromkeys([*self.plan.metrics, "wall", "cpu", "maxrss"])
        levels = [level for name in names if (level := record.level(name)) is not None]
        command = record.command
        return CommandLevels(command.text, command.parameters, levels)

    def _about(self, described: Environment) -> Together:
        names = [record.command.text for record in self.records]
        engine = self.single.collector.engine
        return Together(self.identity, described, engine, names, self.plan.warmup)

    def _report(self, about: Together) -> Report:
        """Each command against the first. Work is judged by itself: it does not settle time."""
        others = range(1, len(self.records))
        report = compare(*self._sides(others, about))
        if "instructions" in self.plan.metrics:
            labels = [(number, self.records[number].command.text) for number in others]
            counted = compare(
                [self.records[0].counted(label, about) for _, label in labels],
                [self.records[number].counted(label, about) for number, label in labels],
            )
            report = structs.replace(report, changes=[*report.changes, *counted.changes])
        return report

    def _sides(
        self, targets: Sequence[int], about: Together
    ) -> tuple[list[Profile], list[Profile]]:
        """The first command and each of some others, under the other's name."""
        own = self.single.own()
        for record in self.records:
            record.own = own
        sides: tuple[list[Profile], list[Profile]] = [], []
        for place in targets:
            label = self.records[place].command.text
            for side, number in zip(sides, (0, place), strict=True):
                side.append(self.records[number].timed(label, self.plan.metrics, about))
        return sides

    def _until_decided(self) -> None:
        """Turns until every command is decided, as many as the budget has room for."""
        about = self._about(environment.describe(self.knobs, self.single.env))
        self.began = time.monotonic()
        ahead = set(range(1, len(self.records)))
        most = PAIRS
        while ahead and self.pairs < most and self._block([0, *sorted(ahead)]):
            more = self._most() - most
            most += more
            self.progress.drop(-more * (1 + len(ahead)))
            if self.pairs == most or not is_look(self.pairs):
                continue
            look = interim(*self._sides(sorted(ahead), about), pairs=self.pairs, most=most)
            undecided = {change.job for change in look.open}
            for place in sorted(ahead):
                if self.records[place].command.text not in undecided:
                    ahead.discard(place)
                    self.progress.drop(most - self.pairs)

    def _most(self) -> int:
        """How many turns there may be: the usual number, and more where the budget has room."""
        each = (time.monotonic() - self.began) / self.pairs
        return max(PAIRS, min(MOST_PAIRS, self.pairs + int(self.budget.left / each)))

    def _alone(self) -> None:
        record = self.records[0]
        while self.pairs < PAIRS and self._block([0]):
            record.own = self.single.own()
            levels = [record.level(name) for name in self._timed]
            if self.pairs >= ALONE_PAIRS and all(level and _is_narrow(level) for level in levels):
                return

    def _warm_up(self) -> None:
        """Run each command, and find how often a turn runs it: short ones often."""
        took = [0.0]
        began = time.monotonic()
        for turn in range(self.plan.warmup):
            for record in self.records:
                seen = self.single.once(record.command, self._environ(0, turn))
                took.append(seen.values["wall"][0] or 0.0)
                self.progress.step(record.command.text)
        for _ in range(FEWEST_EXECUTIONS):
            self.single.time_nothing()
        if self.plan.warmup:
            round_seconds = (time.monotonic() - began) / self.plan.warmup
            fitting = int(self.budget.left / (ALONE_PAIRS * round_seconds))
            self.runs = max(1, min(MOST_RUNS, ceil(TURN_SECONDS / max(*took, 1e-4)), fitting))

    def _block(self, places: Sequence[int]) -> bool:
        """Run some commands in turns, in random order; False where the budget does not last."""
        began = time.monotonic()
        if self.pairs and not self.budget.allows(self._took):
            return False
        seed = draw(self.identity.seed, self.pairs, 0, 0)
        (turn,) = turns(self.identity.seed, self.pairs, [places])
        seen: dict[int, list[Observations]] = {place: [] for place in places}
        try:
            for repetition in range(self.runs):
                env = self._environ(seed, repetition)
                for place in turn.versions:
                    seen[place].append(self.single.once(self.records[place].command, env))
                self.single.time_nothing()
        except BudgetSpent:
            if self.pairs:
                return False
            raise
        for place, number in enumerate(turn.versions):
            self.records[number].add(seen[number], self.pairs, place, seed)
            self.progress.step(self.records[number].command.text)
        self.pairs += 1
        self._took = time.monotonic() - began
        return True

    def _environ(self, seed: int, repetition: int) -> dict[str, str]:
        return self.knobs.padded(self.single.env, Random(f"{seed} run {repetition}"))

    def _clean_up(self, command: TypedCommand) -> None:
        """Run what cleans up; what was measured is not lost where it fails."""
        try:
            self.single.around("cleanup", command)
        except CommandFailed as error:
            self.progress.fail(str(error))


def _is_narrow(level: Level) -> bool:
    if level.low is None or level.high is None:
        return False
    return level.high - level.low <= 2 * ALONE_PRECISION * abs(level.centre)
