"""What the caller of a measurement asks for beyond perf.toml."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec.structs import asdict, replace

from perfvcs.jobs import matrix
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import KEEP, Config, HookTable, HostsTable, JudgeTable


class Request(msgspec.Struct, frozen=True):
    """What the caller asks of a campaign beyond perf.toml; None leaves perf.toml's word.

    ``committed``: HEAD is the commit, not the working tree. ``settled``: labels of jobs that need
    no measuring. ``left_out``: what else needs none, by label, collector and unit; the unit "" is
    the whole job. ``budget``: the seconds that all of it may take. ``against``: the products that
    are measured in turns with it, see ``measure.product``. ``scheduler``: whose hosts run the
    blocks; empty: this machine does. ``alone``: the one unit of a job that is asked for, by label,
    collector and unit, which is measured alone where the job's harness can do that.
    ``exact``: work is counted beside time, as jobs allow it.
    """

    jobs: tuple[str, ...] = ()
    executions: int | None = None
    warmup: int | None = None
    seed: int | None = None
    pin: str | None = None
    aslr: bool | None = None
    padding: bool | None = None
    missing: bool = False
    wait: bool = False
    committed: bool = False
    settled: tuple[str, ...] = ()
    budget: float | None = None
    left_out: tuple[tuple[str, str, str], ...] = ()
    against: tuple[str, ...] = ()
    scheduler: str = ""
    alone: tuple[tuple[str, str, str], ...] = ()
    exact: bool = False

    def apply(self, config: Config) -> tuple[list[Cell], Config]:
        """The cells to measure and the configuration with the knobs asked for."""
        asked = {name: value for name, value in asdict(self).items() if value is not None}
        knobs = {name: asked[name] for name in ("pin", "aslr", "padding") if name in asked}
        config = replace(config, knobs=replace(config.knobs, **knobs))
        counts = {name: asked[name] for name in ("executions", "warmup") if name in asked}
        units: dict[tuple[str, str], set[str]] = {}
        for label, collector, unit in self.left_out:
            units.setdefault((label, collector), set()).add(unit)
        alone = {(label, collector): unit for label, collector, unit in self.alone}
        cells = [
            replace(
                cell.alone(alone.get((cell.label, cell.collector_name), "")),
                **counts,
                left_out=frozenset(units.get((cell.label, cell.collector_name), ())),
            )
            for cell in matrix(config, self.jobs)
            if cell.label not in self.settled
            and "" not in units.get((cell.label, cell.collector_name), ())
        ]
        if self.executions is not None:
            cells = [replace(cell, auto=None) for cell in cells]
        return cells, config


def digest(config: Config) -> str:
    """The SHA-256 of all that a configuration says of measuring: not its rules for verdicts and
    pushes, former names, or what is kept.
    """
    python = config.python and replace(config.python, keep=KEEP)
    jobs = tuple(replace(job, formerly=()) for job in config.job)
    measuring = replace(
        config,
        job=jobs,
        check=(),
        check_rules="first",
        hook=HookTable(),
        python=python,
        hosts=HostsTable(),
        judge=JudgeTable(),
    )
    return hashlib.sha256(msgspec.json.encode(measuring, order="deterministic")).hexdigest()
