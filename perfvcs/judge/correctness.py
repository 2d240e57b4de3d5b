"""The commands that a change has to pass before it is worth measuring."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.judge.attempt import SHORTEST, without_own
from perfvcs.judge.guardcheck import PASSED, GuardCheck
from perfvcs.judge.plain import BASE
from perfvcs.judge.trials import Rejected
from perfvcs.launcher import LaunchOptions, launch
from perfvcs.launcher.execution import LaunchError
from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from perfvcs.judge.sandbox import Sandbox
    from perfvcs.launcher.execution import Execution
    from perfvcs.measure.sites import Sites

SHELL = "/bin/sh"
TAIL = 4096  # bytes of a command's output in which its reason is looked for
SHOWN = 160  # characters of it


class _Failure(NamedTuple):
    """How a command failed that had so many ``seconds``."""

    reason: str
    seconds: float
    timed_out: bool

    def ended_early(self, other: _Failure) -> bool:
        """Whether it ran out of time, and had less of it than the other one."""
        return self.timed_out and self.seconds < other.seconds


class Correctness:
    """Commands that a target has to pass until ``end`` (of the monotonic clock); of several
    ``targets``, each has its part of what is left.
    """

    def __init__(self, commands: Sequence[str], end: float, targets: int = 1) -> None:
        self.commands, self._end, self._targets = commands, end, targets
        self.check = GuardCheck("not tried", "no --correct was given, and perf.toml has no [judge]")

    def __call__(self, sites: Sites, position: int, sandbox: Sandbox | None = None) -> None:
        """Run the commands on the sites of a version; raises Rejected."""
        now = time.monotonic()
        end = now + (self._end - now) / max(1, self._targets)
        self._targets -= 1
        for command in self.commands:
            if failure := self._run(sites, position, command, sandbox, end):
                before = self._run(sites, BASE, command, sandbox, end)
                too = "; the base fails it, too: mend the command first"
                if before is None or before.ended_early(failure):
                    too = ""
                said = f"it fails `{shorten(command, 80)}`: {failure.reason}{too}"
                raise Rejected({"correct": GuardCheck("rejected", said)})
        if self.commands:
            self.check = PASSED

    def _run(
        self, sites: Sites, position: int, command: str, sandbox: Sandbox | None, end: float
    ) -> _Failure | None:
        """How a command fails on a version; None where it passes."""
        folder, env = sites.place(position)
        left = max(SHORTEST, end - time.monotonic())
        with tempfile.TemporaryFile() as output, _scratch(sites) as scratch:
            try:
                execution = launch(
                    [SHELL, "-c", command],
                    cwd=folder,
                    env=without_own(env) | {"TMPDIR": str(scratch)},
                    timeout=left,
                    options=LaunchOptions(
                        output=output.fileno(),
                        within=sandbox.around(scratch, scratch, folder) if sandbox else (),
                    ),
                )
            except LaunchError as error:
                return _Failure(str(error), left, timed_out=False)
            size = output.seek(0, os.SEEK_END)
            output.seek(max(0, size - TAIL))
            reason = _reason(execution, output.read().decode("utf-8", "replace"), left)
        return _Failure(reason, left, timed_out=execution.timed_out) if reason else None


@contextmanager
def _scratch(sites: Sites) -> Iterator[Path]:
    """A folder for temporary files."""
    place = sites.home / "tmp"
    with tempfile.TemporaryDirectory(prefix="correct-", dir=place) as folder:
        yield Path(folder)


def _reason(execution: Execution, said: str, seconds: float) -> str:
    """Why an execution failed, with the last line that it printed; empty where it did not."""
    if execution.timed_out:
        return f"it did not end within the {seconds:.0f} s that were left of the budget"
    if not execution.status and execution.signal is None:
        return ""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = shorten(lines[-1], SHOWN) if lines else "it printed nothing"
    how = f"signal {execution.signal}" if execution.signal else f"status {execution.status}"
    return f"{how}: {last}"
