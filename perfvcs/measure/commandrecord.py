"""What was recorded of one command while it took turns with others: its rows, levels and
profiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs import __version__
from perfvcs.measure.blocks import JobRecording
from perfvcs.measure.journal import Identity, moment
from perfvcs.plugins.collector import Observations
from perfvcs.profile import (
    REPEATED,
    Collected,
    Design,
    Environment,
    Job,
    Metric,
    Profile,
    Resources,
)

if TYPE_CHECKING:
    from perfvcs.measure.typedcommand import TypedCommand

COUNTED = {"instructions": Metric("", "lower", "deterministic")}
TIMES = ("wall", "cpu")  # of which a launcher takes a part
PACE = "pace"
NO_COMMIT = "0" * 40  # there may be no repository
CONFIDENCE = 0.99


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """What a command takes of a metric: the ``centre`` of its executions with its 99 % interval
    ``low``..``high`` (None of too few), in the metric's unit.

    ``spread`` is the standard deviation of the single runs as a share of their mean (None where
    the level may be 0, such as that of a command that takes less than its shell), ``least`` and
    ``most`` their range, ``runs`` their number.
    """

    metric: str
    unit: str
    centre: float
    low: float | None
    high: float | None
    spread: float | None
    least: float
    most: float
    runs: int


class Together(NamedTuple):
    """What the profiles of commands that took turns have in common."""

    identity: Identity
    environment: Environment
    engine: str
    names: Sequence[str]
    warmup: int


class CommandRecord:
    """The rows of a command: time with the ``own`` time of what launches it taken out."""

    def __init__(self, command: TypedCommand, number: int) -> None:
        self.command, self.number = command, number
        self.rows = JobRecording()
        self.instructions: float | None = None
        self.own: Mapping[str, float] = {}

    def add(self, runs: Sequence[Observations], block: int, place: int, seed: int) -> None:
        """Append the runs of a block, of each the row of the whole process."""
        first = runs[0]
        names = [name for name in first.metrics if name in first.values]
        seen = Observations(
            uid=[self.command.text] * len(runs),
            size=[None] * len(runs),
            iteration=list(range(len(runs))),
            mark=[run.mark[-1] for run in runs],
            values={name: [run.values[name][0] for run in runs] for name in names},
            metrics={name: first.metrics[name] for name in names},
        )
        self.rows.add(seen, block, 0, place, seed)

    def column(self, metric: str) -> list[float | None]:
        """The values of a metric, without the launcher's own part."""
        column = self.rows.rows.metrics.get(metric, [])
        own = self.own.get(metric, 0.0)
        return [None if value is None else value - own for value in column]

    def level(self, metric: str) -> Level | None:
        """The level of a metric; None where it has no value."""
        from perfvcs.statistics.difference import geometric

        if metric in COUNTED:
            return self._counted(metric)
        meaning = self.rows.metrics.get(metric)
        marks = self.rows.rows.integers("mark")
        blocks: dict[int, list[float]] = {}
        columns = zip(self.column(metric), marks, self.rows.rows.execution, strict=False)
        for value, mark, block in columns:
            if value is not None and mark != REPEATED:
                blocks.setdefault(block, []).append(value)
        runs = [value for values in blocks.values() for value in values]
        if meaning is None or not runs:
            return None
        centre, low, high = geometric([median(values) for values in blocks.values()], CONFIDENCE)
        mean = fmean(runs)
        surely = mean if low is None else min(low, mean)
        return Level(
            metric=metric,
            unit=meaning.unit,
            centre=centre,
            low=low,
            high=high,
            spread=stdev(runs) / mean if len(runs) > 1 and surely > 0 else None,
            least=min(runs),
            most=max(runs),
            runs=len(runs),
        )

    def _counted(self, metric: str) -> Level | None:
        value = self.instructions
        if value is None:
            return None
        return Level(
            metric=metric,
            unit=COUNTED[metric].unit,
            centre=value,
            low=value,
            high=value,
            spread=None,
            least=value,
            most=value,
            runs=1,
        )

    def timed(self, label: str, metrics: Sequence[str], about: Together) -> Profile:
        """The profile of the rows with ``metrics``; both sides compared have one ``label``."""
        names = [name for name in (*metrics, PACE) if name in self.rows.metrics]
        rows = replace(
            self.rows.resources(),
            names=[label],
            metrics={name: self.column(name) for name in names},
        )
        kept = {name: self.rows.metrics[name] for name in names}
        return self._profile(Job(label, "time", "", engine=about.engine), kept, rows, about)

    def counted(self, label: str, about: Together) -> Profile:
        """The profile of the exact counts."""
        rows = Resources(
            names=[label], uid=[0], execution=[0], metrics={"instructions": [self.instructions]}
        )
        return self._profile(Job(label, "instructions", ""), COUNTED, rows, about)

    def _profile(
        self, job: Job, metrics: dict[str, Metric], rows: Resources, about: Together
    ) -> Profile:
        executions = len(set(rows.execution))
        return Profile(
            commit=NO_COMMIT,
            job=job,
            collected=_collected(about.identity),
            metrics=metrics,
            resources=rows,
            environment=about.environment,
            turns=self.rows.turns if job.collector == "time" else None,
            design=Design(
                executions=executions,
                warmup=about.warmup,
                order="interleaved",
                seed=about.identity.seed,
                version=self.number,
                versions=list(about.names),
            ),
        )


def together(records: Sequence[CommandRecord], about: Together) -> Profile:
    """All commands as one profile for a file: a unit each, sized by a single parameter."""
    metrics: dict[str, Metric] = {}
    for record in records:
        metrics |= record.rows.metrics
    units = [
        record.command.text if record.command.size is None else record.command.template
        for record in records
    ]
    names = list(dict.fromkeys(units))
    rows = Resources(names=names, iteration=[], mark=[], metrics={name: [] for name in metrics})
    sizes: list[float | None] = []
    for record, unit in zip(records, units, strict=True):
        own = record.rows.rows
        rows.uid += [names.index(unit)] * len(own)
        rows.execution += own.execution
        rows.iteration = [*(rows.iteration or []), *own.integers("iteration")]
        rows.mark = [*(rows.mark or []), *own.integers("mark")]
        sizes += [record.command.size] * len(own)
        for name, column in rows.metrics.items():
            column.extend(record.column(name) or [None] * len(own))
    rows.size = sizes if any(size is not None for size in sizes) else None
    return Profile(
        commit=NO_COMMIT,
        job=Job("compare", "time", "", engine=about.engine),
        collected=_collected(about.identity),
        metrics=metrics,
        resources=rows,
        environment=about.environment,
        design=Design(
            executions=len(set(rows.execution)), warmup=about.warmup, seed=about.identity.seed
        ),
    )


def _collected(identity: Identity) -> Collected:
    ended = moment(datetime.now(UTC))
    return Collected(identity.session, identity.started, ended, f"perfvcs {__version__}")
