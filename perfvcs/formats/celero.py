"""Tables of Celero (https://github.com/DigitalInBlue/Celero), as docs/exchange/celero.md describes
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.formats._readings import Reading, ReadingValue, ToolFormat, number, summary
from perfvcs.formats._table import rows
from perfvcs.profile import Metric

METRICS = {"wall": Metric("s"), "memory": Metric("B", "none"), "loops": Metric("", "none")}
NEEDED_COLUMNS = ("Group", "Experiment", "Problem Space", "Samples", "Iterations")


@dataclass(frozen=True)
class Celero(ToolFormat):
    """A results table (``--outputTable``): the mean of each experiment and problem space, for
    Celero does not write the samples.
    """

    tool = "celero"
    metrics = METRICS
    printed = True
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By the heading."""
        return head.startswith(b"Group,Experiment,Problem Space,Samples,")

    def readings(self, document: bytes) -> Iterator[Reading]:
        """The experiments; raises Malformed with line and column."""
        return map(_reading, rows(document, NEEDED_COLUMNS))


def _reading(row: dict[str, str]) -> Reading:
    """One experiment; the times of a sample are those of all its iterations.

    Newer versions write T before columns of time.
    """
    uid = f"{row['Group']}.{row['Experiment']}"
    if row.get("Failure") == "1":
        return Reading(uid, {})
    loops = number(row["Iterations"])

    def seconds(name: str) -> ReadingValue:
        microseconds = number(row.get(f"T {name}", row.get(name, "")))
        return microseconds / 1e6 / loops if microseconds is not None and loops else None

    columns = summary(
        "wall",
        seconds("Mean (us)"),
        deviation=seconds("Standard Deviation"),
        least=seconds("Min (us)"),
        largest=seconds("Max (us)"),
        samples=number(row["Samples"]),
    )
    columns |= {"loops": [loops], "memory": [number(row.get("R Mean (us)", ""))]}
    return Reading(uid, columns, number(row["Problem Space"]))
