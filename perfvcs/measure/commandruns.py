"""Single runs of typed commands, with what runs around them, and of what launches them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from perfvcs.launcher.execution import name_command
from perfvcs.launcher.preparation import CommandFailed, run
from perfvcs.measure.commandrecord import TIMES
from perfvcs.measure.typedcommand import SHELL, TypedCommand
from perfvcs.native import native_folder
from perfvcs.native.compiled import NotCompiled, compiled
from perfvcs.plugins import build
from perfvcs.plugins.collector import CollectError, Collector, Observations, Run
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import duration

if TYPE_CHECKING:
    from perfvcs.measure.budget import Budget

AROUND_SECONDS = 600.0  # that a command gets which prepares, sets up or cleans up
SHORTEST = 1.0  # seconds that a run gets, however little of the budget is left

AroundKind = Literal["prepare", "setup", "cleanup"]


class BudgetSpent(CollectError):
    """The budget ended while a command ran."""


@dataclass
class CommandRuns:
    """Runs commands in the working directory, by a shell or by the launcher, the ``way``.

    ``scratch`` is a folder for what collectors write; ``stdin`` is what all commands read, and
    ``may_fail`` says that an exit status other than 0 is no failure. ``warnings`` keeps what there
    was to say, once.
    """

    scratch: Path
    shell: bool
    stdin: Path | None
    may_fail: bool
    budget: Budget
    warnings: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.collector = _collector("time")
        self.cwd, self.env = Path.cwd(), dict(os.environ)
        self.way = "shell" if self.shell else "launcher"
        self._nothing: dict[str, list[float]] = {metric: [] for metric in TIMES}
        self._empty = self._launching_nothing()

    def _launching_nothing(self) -> TypedCommand | None:
        """What launches nothing; None where it cannot be compiled."""
        if self.shell:
            return TypedCommand("shell", "shell", (SHELL, "-c", ""), shell=True)
        try:
            path = compiled(native_folder() / "empty.c", flags=("-static",))
        except NotCompiled as error:
            self.warnings[f"the launcher's own time is not taken out: {error}"] = None
            return None
        return TypedCommand("launcher", "launcher", (str(path),), shell=False)

    def once(self, command: TypedCommand, env: Mapping[str, str]) -> Observations:
        """One run, with what prepares it; raises CollectError with the cure."""
        self.around("prepare", command)
        seen = self._collect(self.collector, command, env)
        self.warnings |= dict.fromkeys(_named(warning, command) for warning in seen.warnings)
        return seen

    def around(self, kind: AroundKind, command: TypedCommand) -> None:
        """Run what is given to prepare, set up or clean up a command, untimed; raises
        CommandFailed.
        """
        if not (typed := getattr(command, kind)):
            return
        try:
            run([SHELL, "-c", typed], cwd=self.cwd, env=self.env, timeout=AROUND_SECONDS)
        except CommandFailed as error:
            raise CommandFailed(f"--{kind}: {error}") from None

    def time_nothing(self) -> None:
        """What launches the commands launches nothing, for its own time."""
        if self._empty is not None:
            seen = self._collect(self.collector, self._empty, self.env)
            for metric, values in self._nothing.items():
                values.append(seen.values[metric][0] or 0.0)

    def own(self) -> dict[str, float]:
        """What the launcher, or the shell, takes by itself: medians in seconds, by metrics."""
        return {metric: median(values) for metric, values in self._nothing.items() if values}

    def counted(self, commands: Sequence[TypedCommand]) -> list[float]:
        """The instructions of each command; those of a shell alone are taken out. Raises
        CollectError.
        """
        collector = _collector("instructions")
        own = 0.0
        if self._empty is not None and self.shell:
            own = self._instructions(collector, self._empty)
        counts = []
        for command in commands:
            self.around("prepare", command)
            counts.append(self._instructions(collector, command) - own)
        return counts

    def _instructions(self, collector: Collector, command: TypedCommand) -> float:
        seen = self._collect(collector, command, self.env)
        counts = zip(seen.uid, seen.values["instructions"], strict=True)
        return next(count for uid, count in counts if uid == command.text and count is not None)

    def _collect(
        self, collector: Collector, command: TypedCommand, env: Mapping[str, str]
    ) -> Observations:
        with TemporaryDirectory(dir=self.scratch) as folder:
            wanted = Run(
                argv=command.argv,
                cwd=self.cwd,
                env=env,
                scratch=Path(folder),
                uid=command.text,
                timeout=max(SHORTEST, self.budget.left),
                stdin=self.stdin,
                may_fail=self.may_fail,
            )
            try:
                return collector.collect(wanted)
            except CollectError as error:
                raise self._explained(error, command, collector) from None

    def _explained(
        self, error: CollectError, command: TypedCommand, collector: Collector
    ) -> CollectError:
        """A failure with the command's name and the cure."""
        if error.lasting and not self.budget.left:
            counting = "" if collector is self.collector else "counting "
            return BudgetSpent(
                f"{counting}`{shorten(command.text, 80)}` did not end within the budget of"
                f" {duration(self.budget.seconds)}: raise --budget, or give it less to do",
                lasting=True,
            )
        cure = "" if error.lasting or self.may_fail else ": add --ignore-failure"
        return CollectError(f"{_named(str(error), command)}{cure}", lasting=True)


def _named(text: str, command: TypedCommand) -> str:
    """What is said of a command, with its name as it was typed."""
    return text.replace(name_command(command.argv), f"`{shorten(command.text, 80)}`")


def _collector(name: str) -> Collector:
    """A collector with its defaults; raises CollectError where it cannot run here."""
    member: Collector = build("collectors", name, {}, name)
    if reason := member.available():
        raise CollectError(reason, lasting=True)
    return member
