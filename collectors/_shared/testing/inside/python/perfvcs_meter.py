"""What a test takes: wall time, CPU time, and memory at its peak."""

from __future__ import annotations

import os
import re
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter_ns, process_time_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    MeterReading = tuple[int, int, int | None]

STATUS, CLEAR = "/proc/self/status", "/proc/self/clear_refs"
PEAK = re.compile(rb"^VmHWM:\s*(\d+) kB", re.MULTILINE)


class Meter:
    """Takes readings; holds the system's functions itself, since tests replace clocks and files in
    modules.
    """

    def __init__(self) -> None:
        self._wall, self._cpu, self._usage = perf_counter_ns, process_time_ns, getrusage
        self._open, self._read, self._write, self._close = os.open, os.read, os.write, os.close
        self._begun: tuple[int, int, int, int | None] | None = None

    def clock(self) -> int:
        """Nanoseconds of wall time."""
        return self._wall()

    def start(self) -> None:
        """Begin to measure, or begin again."""
        before, children = self._reset(), self._children()
        cpu = self._cpu()
        self._begun = (self._wall(), cpu, children, before)

    def stop(self) -> MeterReading | None:
        """Wall and CPU time since ``start`` in ns, and by how many bytes resident memory rose at
        most; None without a start.

        CPU time has all threads in it, and the child processes that were waited for.
        """
        wall, cpu = self._wall(), self._cpu()
        if self._begun is None:
            return None
        (began, cpu_before, children, before), self._begun = self._begun, None
        cpu += self._children() - cpu_before - children
        after = None if before is None else self._peak()
        return (
            wall - began,
            cpu,
            None if before is None or after is None else max(after - before, 0),
        )

    def _children(self) -> int:
        """Nanoseconds of CPU time of the child processes that were waited for."""
        usage = self._usage(RUSAGE_CHILDREN)
        return round((usage.ru_utime + usage.ru_stime) * 1e9)

    def _reset(self) -> int | None:
        """Have the system forget the peak, and give the resident bytes; None where it does not let
        us.
        """
        try:
            descriptor = self._open(CLEAR, os.O_WRONLY | os.O_CLOEXEC)
            try:
                self._write(descriptor, b"5")
            finally:
                self._close(descriptor)
        except OSError:
            return None
        return self._peak()

    def _peak(self) -> int | None:
        try:
            descriptor = self._open(STATUS, os.O_RDONLY | os.O_CLOEXEC)
            try:
                match = PEAK.search(self._read(descriptor, 1 << 14))
            finally:
                self._close(descriptor)
        except OSError:
            return None
        return int(match[1]) * 1024 if match else None
