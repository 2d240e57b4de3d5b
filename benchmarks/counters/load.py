"""The load on the shop, and what its processes did meanwhile: one run is a matrix of times by counters."""

from __future__ import annotations

import http.client
import math
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

PERIOD = 0.5  # seconds between two samples
CLIENTS = 4
RATE, SWING = 200, 40  # requests per second, and how far they rise and fall in a wave of WAVE seconds
WAVE = 12.0
WARMUP = 3.0
# name: unit, better; a counter of a process has the process before it
LEVELS = {"rss": ("B", "lower"), "threads": ("", "none")}
RATES = {
    "cpu": ("", "lower"), "cpu-user": ("", "lower"), "cpu-system": ("", "lower"), "read-bytes": ("B/s", "lower"),
    "read-ops": ("op/s", "lower"), "write-bytes": ("B/s", "lower"), "write-ops": ("op/s", "lower"), "waits": ("1/s", "lower"),
    "preemptions": ("1/s", "none"), "faults": ("1/s", "lower"),
}  # fmt: skip
DRIVER = {"requests": ("op/s", "higher"), "latency": ("s", "lower")}
SWITCHES = ("voluntary", "nonvoluntary")
TIERS = ("web", "database")
COUNTERS = {f"{tier}.{name}": about for tier in TIERS for name, about in (LEVELS | RATES).items()} | DRIVER


@contextmanager
def tier(*args: str) -> Iterator[tuple[int, int]]:
    """A tier that serves: its process id and its port."""
    command = [sys.executable, str(Path(__file__).with_name("tiers.py")), *args]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.pid, int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(10)


class Load:
    """Clients that send requests at the times of a plan, whether the shop keeps up or not."""

    def __init__(self, port: int, seconds: float) -> None:
        self.port, self.done, self.waited = port, 0, 0.0
        self.guard = threading.Lock()
        dice, at, plan = random.Random(7), 0.0, []
        while at < seconds:
            at += 1 / (RATE + SWING * math.sin(2 * math.pi * at / WAVE))
            kind = dice.choices(("orders", "search", "buy"), (5, 3, 2))[0]
            plan.append((at, f"/{kind}?of={f'word{dice.randrange(4000)}' if kind == 'search' else dice.randrange(2000)}"))
        self.start = time.perf_counter() + 0.2
        self.clients = [threading.Thread(target=self.run, args=(plan[one::CLIENTS],), daemon=True) for one in range(CLIENTS)]
        for client in self.clients:
            client.start()

    def run(self, plan: list[tuple[float, str]]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        for at, path in plan:
            time.sleep(max(0.0, self.start + at - time.perf_counter()))
            begin = time.perf_counter()
            connection.request("GET", path)
            connection.getresponse().read()
            with self.guard:
                self.done += 1
                self.waited += time.perf_counter() - begin

    def counts(self) -> tuple[int, float]:
        with self.guard:
            return self.done, self.waited


def sums(process: psutil.Process) -> list[float]:
    """What a process has used so far, in the order of ``RATES``."""
    cpu, io = process.cpu_times(), process.io_counters()
    clock = (~process.pid << 3) | 2  # clock_getcpuclockid(3): in nanoseconds, where user and system count ticks
    status = [path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/status")]
    waits, preemptions = (sum(int(text.split(f"\n{name}_ctxt_switches:")[1].split()[0]) for text in status) for name in SWITCHES)
    faults = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[7]
    return [
        time.clock_gettime(clock), cpu.user, cpu.system, io.read_chars, io.read_count, io.write_chars, io.write_count,
        float(waits), float(preemptions), float(faults),
    ]  # fmt: skip


def run(fault: str, seconds: float) -> list[list[float]]:
    """One run of the shop: one row per period, its columns those of ``COUNTERS``."""
    with tier("database", fault) as (database, inner), tier("web", str(inner), fault) as (web, outer):
        processes = [psutil.Process(web), psutil.Process(database)]
        load = Load(outer, WARMUP + seconds + PERIOD)
        rows, at = [], load.start + WARMUP
        before = None
        for sample in range(int(seconds / PERIOD) + 1):
            time.sleep(max(0.0, at + sample * PERIOD - time.perf_counter()))
            now = time.perf_counter(), [sums(process) for process in processes], load.counts()
            levels = [[float(process.memory_info().rss), float(process.num_threads())] for process in processes]
            if before is not None:
                passed, requests = now[0] - before[0], now[2][0] - before[2][0]
                row = []
                for level, new, old in zip(levels, now[1], before[1], strict=True):
                    row += level + [(after - earlier) / passed for after, earlier in zip(new, old, strict=True)]
                latency = (now[2][1] - before[2][1]) / requests if requests else math.nan
                rows.append([*row, requests / passed, latency])
            before = now
        for client in load.clients:
            client.join(10)
    return rows
