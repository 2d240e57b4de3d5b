"""What the whole machine did meanwhile: whose load it was is not known."""

from __future__ import annotations

import re

from perfvcs.collectors.counters.processes import CLOCK_TICK, CounterValues

STAT = re.compile(rb"^(intr|ctxt|processes|procs_running|procs_blocked) (\d+)", re.M)
AVAILABLE = re.compile(rb"^MemAvailable:\s+(\d+)", re.M)
STALLED_TIME = re.compile(rb"^some .*total=(\d+)", re.M)
PROC_STAT_LEVELS = {b"procs_running": "machine_running", b"procs_blocked": "machine_blocked"}
PROC_STAT_RATES = {b"intr": "machine_interrupt_rate", b"ctxt": "machine_switch_rate", b"processes": "machine_fork_rate"}
PRESSURES = ("cpu", "io", "memory")
MICRO = 1e-6


def read() -> tuple[CounterValues, CounterValues]:
    """What the machine has now, and what it did so far, as far as its kernel reports it."""
    content = _contents("/proc/stat")
    found = {name: float(value) for name, value in STAT.findall(content)}
    levels = {ours: found[name] for name, ours in PROC_STAT_LEVELS.items() if name in found}
    used = {ours: found[name] for name, ours in PROC_STAT_RATES.items() if name in found}
    times = [float(number) * CLOCK_TICK for number in content.partition(b"\n")[0].split()[1:9]]
    if len(times) == 8:
        user, nice, system, _, _, interrupts, soft, steal = times
        used |= {"machine_busy": user + nice + system + interrupts + soft, "machine_steal": steal}
    if available := AVAILABLE.search(_contents("/proc/meminfo")):
        levels["machine_available"] = float(available[1]) * 1024
    for name in PRESSURES:
        if total := STALLED_TIME.search(_contents(f"/proc/pressure/{name}")):
            used[f"machine_{name}_pressure"] = float(total[1]) * MICRO
    return levels, used


def _contents(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(1 << 16)
    except OSError:
        return b""
