"""What a tree of processes uses over time, and services that run while a load command asks them."""

from __future__ import annotations

from collections.abc import Iterable

from perfvcs.profile import Metric

MACHINE_ROWS = "machine"  # unit of the rows of the whole machine

# The whole tree at one moment.
LEVEL_METRICS = {
    "processes": "", "threads": "", "descriptors": "", "vsize": "B", "rss": "B", "rss_anon": "B", "rss_file": "B", "rss_shmem": "B",
    "data": "B", "swap": "B",
}  # fmt: skip
# Since the moment before, per second.
RATE_METRICS = {
    "cpu_use": "", "user_use": "", "system_use": "", "waiting": "", "block_wait": "", "timeslice_rate": "1/s",
    "minor_fault_rate": "1/s", "major_fault_rate": "1/s", "voluntary_switch_rate": "1/s", "involuntary_switch_rate": "1/s",
    "read_char_rate": "B/s", "write_char_rate": "B/s", "read_call_rate": "1/s", "write_call_rate": "1/s",
    "read_byte_rate": "B/s", "write_byte_rate": "B/s", "cancelled_byte_rate": "B/s",
}  # fmt: skip
MACHINE_LEVELS = {"machine_running": "", "machine_blocked": "", "machine_available": "B"}
MACHINE_RATES = {
    "machine_busy": "", "machine_steal": "", "machine_switch_rate": "1/s", "machine_interrupt_rate": "1/s", "machine_fork_rate": "1/s",
    "machine_cpu_pressure": "", "machine_io_pressure": "", "machine_memory_pressure": "",
}  # fmt: skip


def sampled(groups: Iterable[str] = ()) -> dict[str, Metric]:
    """What the rows of samples have: the counters of the whole tree, those of each group of processes, and the machine's."""
    tree = LEVEL_METRICS | RATE_METRICS
    names = tree | {f"{group}.{name}": unit for group in groups for name, unit in tree.items()} | MACHINE_LEVELS | MACHINE_RATES
    return {name: Metric(unit, "none") for name, unit in names.items()}
