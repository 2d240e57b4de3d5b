"""Bencher Metric Format (https://bencher.dev/docs/reference/bencher-metric-format), as
docs/exchange/bencher.md describes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import msgspec

from perfvcs.errors import nearest
from perfvcs.formats._metric import benchmarks, metric, usable, written
from perfvcs.formats._readings import Reading, ReadingValue, profile_of, summary, typed
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed

SIGNATURE = re.compile(
    rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{\s*"(?:lower_|upper_)?value"\s*:'
)


class Measure(NamedTuple):
    """A measure of Bencher's as a metric of ours: its name, what it is, and by what values are
    divided.
    """

    name: str
    metric: Metric
    divisor: float = 1.0


MEASURES = {  # its own ones
    "latency": Measure("wall", Metric("s"), 1e9),
    "throughput": Measure("throughput", Metric("ops/s", "higher")),
    "file-size": Measure("file-size", Metric("B", "lower", "deterministic")),
    "build-time": Measure("build-time", Metric("s")),
    "instructions": Measure("instructions", Metric("", "lower")),
    "estimated-cycles": Measure("estimated-cycles", Metric("", "lower")),
}


class _Value(msgspec.Struct):
    value: ReadingValue
    lower_value: ReadingValue = None
    upper_value: ReadingValue = None


@dataclass(frozen=True)
class Bencher:
    """One report: a value for each benchmark and measure, in one execution; bounds are recorded.

    ``unit``, ``better``: of a measure of your own, by its name; one whose direction nobody says is
    recorded and not judged.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    unit: Mapping[str, str] = field(default_factory=dict)
    better: Mapping[str, str] = field(default_factory=dict)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By the shape of the first value."""
        return SIGNATURE.match(head) is not None

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        by_name = typed(document, dict[str, dict[str, _Value]])
        measures = dict.fromkeys(measure for one in by_name.values() for measure in one)
        if wrong := [name for name in {**self.unit, **self.better} if name not in measures]:
            raise Malformed(
                f"there is no measure `{wrong[0][:80]}`{nearest(wrong[0], list(measures))}"
            )
        measured = {measure: self._about(measure) for measure in measures}
        return profile_of(
            document,
            "bencher",
            (Reading(uid, _columns(values, measured)) for uid, values in by_name.items()),
            {one.name: one.metric for one in measured.values()},
        )

    def encode(self, profile: Profile) -> bytes:
        """The mean of each unit, size and metric; wall time is latency, in nanoseconds.

        Raises Malformed without values.
        """
        names = {ours.name: (theirs, ours.divisor) for theirs, ours in MEASURES.items()}
        by_name: dict[str, dict[str, dict[str, float]]] = {}
        for benchmark in benchmarks(profile):
            measure, over = names.get(benchmark.metric, (benchmark.metric, 1.0))
            by_name.setdefault(benchmark.name, {})[measure] = {"value": benchmark.mean * over}
        return written(by_name)

    def _about(self, measure: str) -> Measure:
        name, usual, divisor = MEASURES.get(measure, Measure(usable(measure), Metric("", "none")))
        unit = self.unit.get(measure)
        definition = metric(
            usual.unit if unit is None else unit, self.better.get(measure, usual.better)
        )
        return Measure(name, definition, divisor if unit is None else 1.0)


def _columns(
    values: Mapping[str, _Value], measured: Mapping[str, Measure]
) -> dict[str, list[ReadingValue]]:
    """One row of a benchmark's values and their bounds."""
    columns: dict[str, list[ReadingValue]] = {}
    for measure, value in values.items():
        name, _, over = measured[measure]
        bounds = {"low": value.lower_value, "high": value.upper_value}
        columns |= summary(name, value.value, over=over, **bounds)
    return columns
