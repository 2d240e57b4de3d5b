"""Summaries of k6 (https://k6.io), of --summary-export and of handleSummary, as docs/exchange/k6.md
describes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from perfvcs.formats._readings import Keyed, Reading, ToolFormat, shaped, summary, typed
from perfvcs.profile import Metric

METRICS = {
    "wall": Metric("s"),
    "rate": Metric("ops/s", "none"),
    "value": Metric("", "none"),
    "share": Metric("", "none"),
}
# k6's own times, for --summary-export does not say which trends are some
TIME_PREFIXES = (
    "http_req_",
    "iteration_duration",
    "group_duration",
    "ws_",
    "grpc_req_duration",
    "browser_",
)
TRENDS = {
    "med": "median",
    "min": "least",
    "max": "largest",
    "p(75)": "p75",
    "p(90)": "p90",
    "p(95)": "p95",
    "p(99)": "p99",
    "p(99.9)": "p999",
    "count": "samples",
}


class _File(msgspec.Struct):
    metrics: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class K6(Keyed, ToolFormat):
    """One summary: the mean of each trend, with its percentiles, rates of counters and shares; k6
    keeps no single requests there.
    """

    tool = "k6"
    metrics = METRICS
    keys = ("metrics iteration_duration", "metrics med avg", "metrics root_group")
    overlapping: ClassVar[bool] = True  # an iteration has requests, which have parts

    def readings(self, document: bytes) -> Iterator[Reading]:
        """The metrics of k6; raises Malformed with the place."""
        for name, values in typed(document, _File).metrics.items():
            yield from _readings(name, values)


def _readings(name: str, metric: Mapping[str, Any]) -> Iterator[Reading]:
    inner = metric.get("values")
    given = inner if isinstance(inner, dict) else metric
    values = {
        key: shaped(value, float, f"$.metrics.{name[:80]}.{key[:80]}")
        for key, value in given.items()
        if type(value) in (int, float)
    }
    contains = metric.get("contains")
    if "avg" in values:
        timed = contains == "time" or (contains is None and name.startswith(TIME_PREFIXES))
        metric_name, over = ("wall", 1e3) if timed else ("value", 1.0)
        more = {ours: values.get(theirs) for theirs, ours in TRENDS.items()}
        yield Reading(name, summary(metric_name, values["avg"], over=over, **more))
    elif "passes" in values or metric.get("type") == "rate":
        yield Reading(name, {"share": [values.get("value", values.get("rate"))]})
    elif "count" in values:
        yield Reading(name, {"rate": [values.get("rate")]})
