"""Bencher Metric Format (https://bencher.dev/docs/reference/bencher-metric-format), as docs/exchange/bencher.md describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

from perfvcs.errors import nearest
from perfvcs.formats._metric import metric, usable
from perfvcs.formats._readings import Reading, Value, profile_of, summary, typed
from perfvcs.profile import Metric, Profile
from perfvcs.validity import Malformed

SIGNATURE = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{\s*"(?:lower_|upper_)?value"\s*:')
NANO = 1e9
# its own measures: our metric, what it is, and by what a value is divided
MEASURES = {
    "latency": ("wall", Metric("s"), NANO), "throughput": ("throughput", Metric("ops/s", "higher"), 1.0),
    "file-size": ("file-size", Metric("B", "lower", "deterministic"), 1.0), "build-time": ("build-time", Metric("s"), 1.0),
    "instructions": ("instructions", Metric("", "lower"), 1.0), "estimated-cycles": ("estimated-cycles", Metric("", "lower"), 1.0),
}  # fmt: skip


class _Value(msgspec.Struct):
    value: Value
    lower_value: Value = None
    upper_value: Value = None


@dataclass(frozen=True)
class Bencher:
    """One report: a value for each benchmark and measure, in one execution; bounds are recorded.

    ``unit``, ``better``: of a measure of your own, by its name; one whose direction nobody says is recorded and not judged.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    unit: Mapping[str, str] = field(default_factory=dict)
    better: Mapping[str, str] = field(default_factory=dict)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By the shape of the first value."""
        return SIGNATURE.match(head) is not None

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        found = typed(document, dict[str, dict[str, _Value]])
        measures = dict.fromkeys(measure for one in found.values() for measure in one)
        if wrong := [name for name in {**self.unit, **self.better} if name not in measures]:
            raise Malformed(f"there is no measure `{wrong[0][:80]}`{nearest(wrong[0], list(measures))}")
        known = {measure: self._about(measure) for measure in measures}
        readings = []
        for uid, values in found.items():
            columns: dict[str, list[Value]] = {}
            for measure, value in values.items():
                name, _, over = known[measure]
                given = {"low": value.lower_value, "high": value.upper_value}
                bounds = {word: bound / over for word, bound in given.items() if bound is not None}
                columns |= summary(name, None if value.value is None else value.value / over, **bounds)
            readings.append(Reading(uid, columns))
        return profile_of(document, "bencher", readings, {name: about for name, about, _ in known.values()})

    def encode(self, profile: Profile) -> bytes:
        """The mean of each unit, size and metric; wall time is latency, in nanoseconds. Raises Malformed without values."""
        from perfvcs.formats._rounds import benchmarks, written

        names = {ours: (theirs, over) for theirs, (ours, _, over) in MEASURES.items()}
        found: dict[str, dict[str, dict[str, float]]] = {}
        for one in benchmarks(profile):
            measure, over = names.get(one.metric, (one.metric, 1.0))
            found.setdefault(one.name, {})[measure] = {"value": one.mean * over}
        return written(found)

    def _about(self, measure: str) -> tuple[str, Metric, float]:
        name, known, over = MEASURES.get(measure, (usable(measure), Metric("", "none"), 1.0))
        unit = self.unit.get(measure)
        return (
            name,
            metric(known.unit if unit is None else unit, self.better.get(measure, known.better)),
            over if unit is None else 1.0,
        )
