"""OpenMetrics (https://prometheus.io/docs/specs/om/open_metrics_spec), only written, as
docs/exchange/openmetrics.md describes it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.formats._metric import RoundValues, benchmarks
from perfvcs.profile import Profile

UNIT_WORDS = {"s": "seconds", "B": "bytes"}
NAME_LETTERS = re.compile(r"[^a-zA-Z0-9_]+")


@dataclass(frozen=True)
class Openmetrics:
    """A gauge for each metric: the mean of each unit and size, labelled with its job and commit."""

    suffixes: ClassVar[tuple[str, ...]] = (".prom",)

    def encode(self, profile: Profile) -> bytes:
        """The text, which ends with ``# EOF``; raises Malformed without values."""
        families: dict[str, list[RoundValues]] = defaultdict(list)
        units: dict[str, str] = {}
        for benchmark in benchmarks(profile):
            unit = UNIT_WORDS.get(benchmark.definition.unit, "")
            name = _named(benchmark.metric, unit, units)
            units[name] = unit
            families[name].append(benchmark)
        lines: list[str] = []
        for name, members in families.items():
            unit = units[name]
            lines += [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else [])]
            for benchmark in members:
                size = {} if benchmark.size is None else {"size": f"{benchmark.size:.15g}"}
                labels = {
                    "job": profile.job.label,
                    "unit": benchmark.uid,
                    **size,
                    "metric": benchmark.metric,
                    "commit": profile.commit,
                }
                label_text = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())
                lines.append(f"{name}{{{label_text}}} {benchmark.mean!r}")
        return "\n".join([*lines, "# EOF", ""]).encode("utf-8", "replace")


def _named(metric: str, unit: str, units: Mapping[str, str]) -> str:
    """The name of a metric's family, which ends in its unit; ``units`` has that of each name in
    use.
    """
    stem = NAME_LETTERS.sub("_", f"perfvcs_{metric}")
    while True:
        name = f"{stem}_{unit}" if unit and not stem.endswith(f"_{unit}") else stem
        if units.get(name, unit) == unit:
            return name
        stem += "_"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
