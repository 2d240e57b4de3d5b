"""How much a program prints."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import Metric


@dataclass(frozen=True)
class Lines:
    """Lines and bytes on standard output; with ``blank`` false, empty lines do not count."""

    blank: bool = True

    @property
    def engine(self) -> str:
        """Series of different engines are never compared: change the number when the counting
        changes.
        """
        return "lines/1"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Less is better; both repeat exactly."""
        return {
            name: Metric(unit, kind="deterministic")
            for name, unit in (("lines", ""), ("printed", "B"))
        }

    def flags(self, program: str) -> tuple[str, ...]:  # noqa: ARG002
        """No program has to be built in another way."""
        return ()

    def available(self) -> str | None:
        """It runs everywhere."""
        return None

    def collect(self, run: Run) -> Observations:
        """Execute once."""
        try:
            done = subprocess.run(
                run.argv,
                cwd=run.cwd,
                env=run.env,
                capture_output=True,
                timeout=run.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CollectError(
                f"{run.argv[0]} took over {run.timeout:g} s: raise `timeout`", lasting=True
            ) from None
        if done.returncode:
            raise CollectError(f"{run.argv[0]} exited with status {done.returncode}")
        lines = [line for line in done.stdout.splitlines() if self.blank or line.strip()]
        return Observations(
            uid=[run.uid],
            size=[run.size],
            iteration=[0],
            mark=[0],
            metrics=dict(self.metrics),
            values={"lines": [float(len(lines))], "printed": [float(len(done.stdout))]},
        )
