"""OpenMetrics (https://prometheus.io/docs/specs/om/open_metrics_spec), only written, as docs/exchange/openmetrics.md describes it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.formats._rounds import RoundValues, benchmarks
from perfvcs.profile import Profile

UNITS = {"s": "seconds", "B": "bytes"}
PREFIX = "perfvcs"
UNUSABLE = re.compile(r"[^a-zA-Z0-9_]+")


@dataclass(frozen=True)
class Openmetrics:
    """A gauge for each metric: the mean of each unit and size, labelled with its job and commit."""

    suffixes: ClassVar[tuple[str, ...]] = (".prom",)

    def encode(self, profile: Profile) -> bytes:
        """The text, which ends with ``# EOF``; raises Malformed without values."""
        families: dict[tuple[str, str], list[RoundValues]] = defaultdict(list)
        for one in benchmarks(profile):
            unit = UNITS.get(one.about.unit, "")
            name = UNUSABLE.sub("_", f"{PREFIX}_{one.metric}")
            families[f"{name}_{unit}" if unit and not name.endswith(f"_{unit}") else name, unit].append(one)
        lines: list[str] = []
        for (name, unit), found in families.items():
            lines += [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else [])]
            for one in found:
                size = {} if one.size is None else {"size": f"{one.size:g}"}
                labels = {"job": profile.job.label, "unit": one.uid, **size, "metric": one.metric, "commit": profile.commit}
                said = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())
                lines.append(f"{name}{{{said}}} {one.mean!r}")
        return "\n".join([*lines, "# EOF", ""]).encode("utf-8", "replace")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
