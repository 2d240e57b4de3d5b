"""What else a host did during an execution: its load, and the processors that other processes kept busy."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

from perfvcs.collector import Observations
from perfvcs.profile import Metric

METRICS = {"host.load": Metric("", "none"), "host.others": Metric("", "none")}
FIELDS = (0, 1, 2, 5, 6)  # of a line of /proc/stat: user, nice, system, irq, softirq


class Utilisation:
    """Counters of the kernel, read now and when the execution has ended."""

    def __init__(self) -> None:
        self.began, self.busy, self.own = time.monotonic(), _busy(), _own()

    def add_to(self, seen: Observations) -> None:
        """Record in the first row: the load average at the end, and how many processors others kept busy on average."""
        seconds = time.monotonic() - self.began
        others = max(0.0, (_busy() - self.busy) - (_own() - self.own)) / seconds if seconds else 0.0
        if not seen.uid:
            return
        for name, value in zip(METRICS, (os.getloadavg()[0], others), strict=True):
            seen.values[name] = [value, *[None] * (len(seen.uid) - 1)]
        seen.metrics = dict(seen.metrics) | METRICS


def _busy() -> float:
    """Seconds that all processors together have worked since the start."""
    words = Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
    return sum(int(words[place]) for place in FIELDS) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    """Seconds that this process and what it started have worked."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in found)
