"""Tables of Locust (https://locust.io), as docs/exchange/locust.md describes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.formats._foreign import NoResults
from perfvcs.formats._readings import Reading, ToolFormat, number, summary
from perfvcs.formats._table import rows
from perfvcs.profile import Metric

METRICS = {
    "wall": Metric("s"),
    "rate": Metric("ops/s", "none"),
    "failures": Metric("", "none"),
    "content": Metric("B", "none"),
}
OTHER_FILES = (
    b"Timestamp,User Count,Type,Name,",
    b"Method,Name,Error,Occurrences",
    b"Count,Message,Traceback,Nodes",
)
STATISTICS = {
    "Median Response Time": "median",
    "Min Response Time": "least",
    "Max Response Time": "largest",
    "Request Count": "samples",
    **{"75%": "p75", "90%": "p90", "95%": "p95", "99%": "p99", "99.9%": "p999"},
}


@dataclass(frozen=True)
class Locust(ToolFormat):
    """PREFIX_stats.csv: of each request the mean response time, with its percentiles; the other
    tables hold no results.
    """

    tool = "locust"
    metrics = METRICS
    printed = True
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    overlapping: ClassVar[bool] = True  # the last row has all requests

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By the heading of one of its tables."""
        return head.startswith((b"Type,Name,Request Count,Failure Count,", *OTHER_FILES))

    def readings(self, document: bytes) -> Iterator[Reading]:
        """The requests; raises NoResults, and Malformed with line and column."""
        if document.startswith(OTHER_FILES):
            raise NoResults(
                "it has no results: Locust writes these into the table that ends with _stats.csv"
            )
        return map(_reading, rows(document, ("Type", "Name", "Average Response Time")))


def _reading(row: dict[str, str]) -> Reading:
    numbers = {name: number(text) for name, text in row.items()}
    uid = " ".join(filter(None, (row["Type"], row["Name"]))) or "Aggregated"
    if not numbers.get("Request Count", 1):
        return Reading(uid, {})
    more = {word: numbers.get(title) for title, word in STATISTICS.items()}
    columns = summary("wall", numbers["Average Response Time"], over=1e3, **more)
    columns |= {
        "rate": [numbers.get("Requests/s")],
        "failures": [numbers.get("Failure Count")],
        "content": [numbers.get("Average Content Size")],
    }
    return Reading(uid, columns)
