"""Tables of NVIDIA Nsight Compute (``ncu --csv``,
https://docs.nvidia.com/nsight-compute/NsightComputeCli), as docs/exchange/ncu.md describes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.formats._metric import usable
from perfvcs.formats._readings import (
    Reading,
    ReadingValue,
    direction,
    machine,
    number,
    profile_of,
    text_of,
    unended,
)
from perfvcs.formats._table import rows
from perfvcs.profile import Environment, Metric, Profile
from perfvcs.profile.units import base

HEADING = re.compile(
    rb'^"ID",[^\n]{0,2000}"Metric Name","Metric Unit","Metric Value"', re.MULTILINE
)
NEEDED = ("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")
DURATIONS = ("Duration", "gpu__time_duration.sum")
UNITS = {
    "nsecond": "ns",
    "usecond": "us",
    "msecond": "ms",
    "second": "s",
    "Kbyte": "kB",
    "Mbyte": "MB",
    "Gbyte": "GB",
    "byte": "B",
    "hz": "Hz",
}
# ncu holds them at their base where it may, and says in every launch what they were
CLOCKS = {"SM Frequency": "sm_clock", "DRAM Frequency": "memory_clock"}


@dataclass(frozen=True)
class Ncu:
    """One recording: the metrics of each kernel and launch size; launches are iterations."""

    suffixes: ClassVar[tuple[str, ...]] = (".csv",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By the heading, which comes behind what ncu says of its work."""
        return HEADING.search(head) is not None

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line of the table."""
        lines = text_of(document).split("\n")
        first = next((at for at, line in enumerate(lines) if line.startswith('"ID",')), 0)
        table = "\n".join(line for line in lines[first:] if not line.startswith("==")).encode()
        metrics: dict[str, Metric] = {}
        launches: dict[tuple[str, str], dict[str, ReadingValue]] = {}
        clocks: dict[str, str] = {}
        for row in rows(table, NEEDED):
            sizes = " ".join(filter(None, (row.get("Grid Size"), row.get("Block Size"))))
            uid = f"{row['Kernel Name']} {sizes}".strip()
            launch = launches.setdefault((row["ID"], uid), {})
            _take(row, launch, metrics, clocks)
        readings = (
            Reading(uid, {name: [value] for name, value in launch.items()})
            for (_, uid), launch in launches.items()
        )
        return profile_of(
            document,
            "ncu",
            readings,
            metrics,
            machine=_machine(table, clocks),
            notes=unended(document),
        )


def _take(
    row: dict[str, str],
    launch: dict[str, ReadingValue],
    metrics: dict[str, Metric],
    clocks: dict[str, str],
) -> None:
    """One value, in the unit without a prefix, which ncu chooses by the size of the value."""
    name = row["Metric Name"]
    unit = "/".join(UNITS.get(part, part) for part in row["Metric Unit"].split("/"))
    value = number(row["Metric Value"].replace(",", ""))
    if name in CLOCKS:
        clocks.setdefault(CLOCKS[name], f"{row['Metric Value']} {row['Metric Unit']}")
        return
    scale = base(unit)
    timed = name in DURATIONS
    metric = "gpu" if timed else usable(name)
    # only the duration is known to be better when lower: a throughput may rise with the work
    metrics.setdefault(metric, Metric(scale.unit, direction(unit) if timed else "none"))
    if value is not None and metrics[metric].unit == scale.unit:
        launch[metric] = value * scale.times / scale.over


def _machine(table: bytes, clocks: dict[str, str]) -> Environment:
    """The compute capability, which tells models of a GPU apart as far as the table does; the host
    and the clocks of the first launch are notes.
    """
    first = next(rows(table, NEEDED), {})
    return machine({"compute_capability": first.get("CC"), "host": first.get("Host Name")}, clocks)
