"""Events that the kernel and the processor count for a thread and all that it starts, as `perf
stat` would: exact also for what ended.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
from functools import cache

from perfvcs.collectors.counters.processes import CLOCK_TICK, CounterValues
from perfvcs.profile import Metric

STAT = re.compile(rb"^(intr|ctxt|processes|procs_running|procs_blocked) (\d+)", re.M)
AVAILABLE = re.compile(rb"^MemAvailable:\s+(\d+)", re.M)
STALLED_TIME = re.compile(rb"^some .*total=(\d+)", re.M)
PROC_STAT_LEVELS = {b"procs_running": "machine_running", b"procs_blocked": "machine_blocked"}
PROC_STAT_RATES = {
    b"intr": "machine_interrupt_rate",
    b"ctxt": "machine_switch_rate",
    b"processes": "machine_fork_rate",
}
# of the system call
NUMBERS = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
# read_format: for how long it was to count, and for how long there was a counter
READ_FORMAT = 1 | 2
CLOSE_ON_EXEC = 8  # PERF_FLAG_FD_CLOEXEC in linux/perf_event.h
HARDWARE, SOFTWARE = 0, 1  # perf_event_attr.type of perf_event_open(2), and config below
PERF_EVENTS = {
    "context_switches": ("context_switch_rate", SOFTWARE, 3),
    "migrations": ("migration_rate", SOFTWARE, 4),
    "cycles": ("cycle_rate", HARDWARE, 0),
    "instructions": ("instruction_rate", HARDWARE, 1),
    "cache_misses": ("cache_miss_rate", HARDWARE, 3),
    "branch_misses": ("branch_miss_rate", HARDWARE, 5),
}
INHERIT, ONLY_USER = 1 << 1, 1 << 5


def read_machine() -> tuple[CounterValues, CounterValues]:
    """What the machine has now, and what it did so far, as far as its kernel reports it."""
    content = _contents("/proc/stat")
    counts = {name: float(value) for name, value in STAT.findall(content)}
    levels = {ours: counts[name] for name, ours in PROC_STAT_LEVELS.items() if name in counts}
    used = {ours: counts[name] for name, ours in PROC_STAT_RATES.items() if name in counts}
    times = [float(number) * CLOCK_TICK for number in content.partition(b"\n")[0].split()[1:9]]
    if len(times) == 8:
        user, nice, system, _, _, interrupts, soft, steal = times
        used |= {"machine_busy": user + nice + system + interrupts + soft, "machine_steal": steal}
    if available := AVAILABLE.search(_contents("/proc/meminfo")):
        levels["machine_available"] = float(available[1]) * 1024
    for name in ("cpu", "io", "memory"):
        if total := STALLED_TIME.search(_contents(f"/proc/pressure/{name}")):
            used[f"machine_{name}_pressure"] = float(total[1]) * 1e-6
    return levels, used


def _contents(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(1 << 16)
    except OSError:
        return b""


@cache
def available() -> tuple[str, tuple[str, ...]]:
    """How events are counted here, and which: ``pmu`` with those of the processor, ``pmu-user``
    without the kernel's part, ``perf`` with those of the kernel alone, and nothing where counting
    is not permitted.
    """
    kernel, chip = (
        [name for name, (_, kind, _) in PERF_EVENTS.items() if kind == wanted]
        for wanted in (SOFTWARE, HARDWARE)
    )
    working = tuple(kernel) if all(_works(name, 0) for name in kernel) else ()
    for tag, flags in (("pmu", 0), ("pmu-user", ONLY_USER)):
        if all(_works(name, flags) for name in chip):
            return tag, (*working, *chip)
    return ("perf" if working else ""), working


def metrics() -> dict[str, Metric]:
    """The totals and rates that there are here."""
    totals = {name: Metric("", "none") for name in available()[1]}
    return totals | {PERF_EVENTS[name][0]: Metric("1/s", "none") for name in totals}


class Events:
    """Counts what this thread starts from now on, not the thread itself; may be read by another
    thread.
    """

    def __init__(self) -> None:
        tag, names = available()
        self._pairs: dict[str, tuple[int, int]] = {}
        for name in names:
            flags = ONLY_USER if tag == "pmu-user" and PERF_EVENTS[name][1] == HARDWARE else 0
            self._pairs[name] = _open(name, flags | INHERIT), _open(name, flags)

    def read(self) -> CounterValues:
        """The counts so far; empty after ``close``."""
        return {
            name: max(0.0, _value(both) - _value(ours))
            for name, (both, ours) in self._pairs.items()
        }

    def close(self) -> None:
        """Stop counting."""
        for descriptor in (descriptor for pair in self._pairs.values() for descriptor in pair):
            os.close(descriptor)
        self._pairs.clear()


def _works(name: str, flags: int) -> bool:
    try:
        os.close(_open(name, flags | INHERIT))
    except OSError:
        return False
    return True


def _open(name: str, flags: int) -> int:
    _, kind, config = PERF_EVENTS[name]
    attributes = struct.pack("=IIQQQQQIIQ", kind, 64, config, 0, 0, READ_FORMAT, flags, 0, 0, 0)
    number = NUMBERS.get(platform.machine())
    if number is None:
        raise OSError
    descriptor: int = ctypes.CDLL(None, use_errno=True).syscall(
        number, attributes, 0, -1, -1, CLOSE_ON_EXEC
    )
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def _value(descriptor: int) -> float:
    """The count, scaled up where counters were too few and took turns."""
    count, enabled, running = struct.unpack("=QQQ", os.read(descriptor, 24))
    return float(count) * enabled / running if running else 0.0
