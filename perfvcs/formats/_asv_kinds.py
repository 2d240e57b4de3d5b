"""The kinds of benchmarks that asv has, and the columns of its files."""

from __future__ import annotations

from perfvcs.profile import Metric

# by how the names of benchmarks begin; asv takes less for better of all of them
KIND_METRICS = {
    "time": ("wall", Metric("s")), "timeraw": ("wall", Metric("s")), "mem": ("memory", Metric("B")),
    "peakmem": ("maxrss", Metric("B")),
}  # fmt: skip
TRACKED = ("value", Metric(""))
RESULT_COLUMNS = (
    "result",
    "params",
    "version",
    "started_at",
    "duration",
)  # in files of version 1 only the first two, by their names
VERSION_DIGITS = 8  # digits of a benchmark's version
