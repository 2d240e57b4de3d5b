"""Tables of NVIDIA Nsight Compute (``ncu --csv``,
https://docs.nvidia.com/nsight-compute/NsightComputeCli), as docs/exchange/ncu.md describes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfvcs.formats._metric import direction, usable
from perfvcs.formats._readings import (
    Marked,
    Reading,
    ReadingValue,
    machine,
    number,
    profile_of,
    text_of,
    unended,
)
from perfvcs.formats._table import rows
from perfvcs.profile import Environment, Metric, Profile
from perfvcs.profile.units import base

# of a page of details, or of the raw page, where each metric is a column
NEEDED = ("ID", "Kernel Name")
IDENTITY = {
    *NEEDED,
    *("Process ID", "Process Name", "Host Name", "Kernel Base Name", "Context", "Stream"),
    *("Block Size", "Grid Size", "Device", "CC", "Section Name"),
}
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
# what it can do at most, beside what it was held at
MOST_CLOCKS = {
    "device__attribute_clock_rate": "gpu_clock",
    "device__attribute_memory_clock_rate": "gpu_memory_clock",
}


@dataclass(frozen=True)
class Ncu(Marked):
    """One recording: the metrics of each kernel and launch size; launches are iterations."""

    suffixes = (".csv",)
    word = b'"Kernel Name"'
    mark = re.compile(
        rb'^"ID",[^\n]{0,2000}"Kernel Name",[^\n]{0,2000}"(?:Metric Value"|\w{1,60}__\w)',
        re.MULTILINE,
    )

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line of the table."""
        lines = text_of(document).split("\n")
        first = next((at for at, line in enumerate(lines) if line.startswith('"ID",')), 0)
        table = "\n".join(line for line in lines[first:] if not line.startswith("==")).encode()
        metrics: dict[str, Metric] = {}
        launches: dict[tuple[str, str], dict[str, ReadingValue]] = {}
        clocks: dict[str, str] = {}
        model = ""
        for row in _values(table):
            sizes = " ".join(filter(None, (row.get("Grid Size"), row.get("Block Size"))))
            uid = f"{row['Kernel Name']} {sizes}".strip()
            launch = launches.setdefault((row["ID"], uid), {})
            if row["Metric Name"] == "device__attribute_display_name":
                model = model or _measured(row)
            elif row["Metric Name"] in MOST_CLOCKS:
                clocks.setdefault(MOST_CLOCKS[row["Metric Name"]], _measured(row))
            else:
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
            machine=_machine(table, model, clocks),
            notes=unended(document),
        )


def _values(table: bytes) -> Iterator[dict[str, str]]:
    """A row for each value, as pages of details have them; the first row of the raw page has the
    units.
    """
    units: dict[str, str] = {}
    for row in rows(table, NEEDED):
        if "Metric Name" in row:
            yield {"Metric Unit": "", "Metric Value": "", **row}
        elif not row["ID"]:
            units = row
        else:
            said = {name: row[name] for name in row if name in IDENTITY}
            for name in filter(lambda name: name not in IDENTITY, row):
                unit, value = units.get(name, ""), row[name]
                yield {**said, "Metric Name": name, "Metric Unit": unit, "Metric Value": value}


def _measured(row: dict[str, str]) -> str:
    return f"{row['Metric Value']} {row['Metric Unit']}".strip()


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
        clocks.setdefault(CLOCKS[name], _measured(row))
        return
    scale = base(unit)
    timed = name in ("Duration", "gpu__time_duration.sum")
    metric = "gpu" if timed else usable(name)
    # only the duration is known to be better when lower: a throughput may rise with the work
    metrics.setdefault(metric, Metric(scale.unit, direction(unit) if timed else "none"))
    if value is not None and metrics[metric].unit == scale.unit:
        launch[metric] = value * scale.times / scale.over


def _machine(table: bytes, model: str, clocks: dict[str, str]) -> Environment:
    """The device as far as the table knows it, at least its compute capability; the host and the
    clocks are notes.
    """
    first = next(filter(lambda row: row["ID"], rows(table, NEEDED)), {})
    fields = {"gpu": model, "compute_capability": first.get("CC"), "host": first.get("Host Name")}
    return machine(fields, clocks)
