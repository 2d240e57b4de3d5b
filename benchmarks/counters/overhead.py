"""What sampling costs the measured program and the machine: ``python
benchmarks/counters/overhead.py [--rounds N]``.

A program does the same piece of work again and again and tells the CPU time of each. It runs three
times: as it is, sampled every ms (a hundred times as often as by default, to be seen on a noisy
machine too) and with events counted. The three take turns, each stopped while the others run. Shown
is the median over all rounds of the median CPU time of a piece compared with the program as it is,
with an interval of 95 % from the order of the rounds. The second table is how long one sample
takes.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import statistics
import struct
import subprocess
import sys
import time

from perfvcs.collectors.counters import events, sampler
from perfvcs.collectors.counters.events import Events, available
from perfvcs.collectors.counters.sampler import ProcessTree, TreeSampler

HEAD = """
import os, struct, sys, threading, time
def reports(work, clock=time.process_time_ns):
    while True:
        begin = clock()
        work()
        os.write(1, struct.pack("=q", clock() - begin))
"""
PROGRAMS = {
    "computes": "reports(lambda: sum(range(50_000)))",
    "faults in memory": "reports(lambda: bytearray(b'x' * (4 << 20)))",
    "switches to another process": (
        """
there, back = os.pipe(), os.pipe()
if not os.fork():
    while True: os.write(back[1], os.read(there[0], 1))
reports(lambda: [(os.write(there[1], b"x"), os.read(back[0], 1)) for _ in range(200)])
"""
    ),
    "50 threads": (
        """
for _ in range(49): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
reports(lambda: sum(range(50_000)))
"""
    ),
}
WAYS: dict[str, float | None] = {"as it is": None, "sampled every ms": 0.001, "with events": None}
TURN = 0.3  # seconds


class Program:
    """One of the three, stopped while it has no turn."""

    def __init__(self, script: str, interval: float | None, counted: bool) -> None:
        events = Events() if counted else None
        command = [sys.executable, "-S", "-c", HEAD + script]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, start_new_session=True, bufsize=0
        )
        self.events, self.interval = events, interval
        os.set_blocking(self.process.stdout.fileno(), False)
        time.sleep(0.3)
        os.killpg(self.process.pid, signal.SIGSTOP)
        self.pieces()

    def pieces(self) -> list[int]:
        """What was told since the last call."""
        content = self.process.stdout.read() or b""
        return [value for (value,) in struct.iter_unpack("=q", content)]

    def turn(self) -> float:
        """Run for a while; the median CPU time of a piece."""
        taking = TreeSampler(self.interval) if self.interval else None
        if taking:
            taking.watch(self.process.pid, command=True)
        os.killpg(self.process.pid, signal.SIGCONT)
        time.sleep(TURN)
        os.killpg(self.process.pid, signal.SIGSTOP)
        if taking:
            taking.stop()
        return statistics.median(self.pieces())

    def end(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        if self.events:
            self.events.close()


def in_percent(ratios: list[float]) -> str:
    """Median and 95 % interval of ratios as percent, by order statistics."""
    ordered, count = sorted(ratios), len(ratios)
    low = max(0, math.floor(count / 2 - 0.98 * math.sqrt(count)) - 1)
    shown = [
        100 * (value - 1)
        for value in (statistics.median(ordered), ordered[low], ordered[count - 1 - low])
    ]
    return f"{shown[0]:+6.2f} % [{shown[1]:+.2f}, {shown[2]:+.2f}]"


def compare(rounds: int) -> None:
    """The first table."""
    for name, script in PROGRAMS.items():
        programs = {
            way: Program(script, interval, "events" in way) for way, interval in WAYS.items()
        }
        found: dict[str, list[float]] = {way: [] for way in WAYS}
        try:
            for _ in range(rounds):
                for way in random.sample(list(WAYS), len(WAYS)):
                    found[way].append(programs[way].turn())
        finally:
            for program in programs.values():
                program.end()
        for way in list(WAYS)[1:]:
            ratios = [
                after / before for before, after in zip(found["as it is"], found[way], strict=True)
            ]
            print(f"{name:28} {way:20} {in_percent(ratios)}", flush=True)


def sample(processes: int, threads: int) -> tuple[float, float]:
    """Median seconds of one sample of a tree, and of the machine beside it."""
    script = f"""
import os, threading, time
for _ in range({processes} - 1): os.fork() or time.sleep(1000)
for _ in range({threads} - 1): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print(flush=True); time.sleep(1000)
"""
    with subprocess.Popen(
        [sys.executable, "-S", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            process.stdout.readline()
            tree, times, others = ProcessTree(process.pid, command=True), [], []
            for _ in range(50):
                begin = time.thread_time()
                tree.read()
                middle = time.thread_time()
                events.read_machine()
                times.append(middle - begin)
                others.append(time.thread_time() - middle)
            tree.close()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    return statistics.median(times), statistics.median(others)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    sampler.PROCESSOR_SHARE = 1.0  # else it would not sample every ms
    print(f"events: {', '.join(available()[1]) or 'none'}; load: {os.getloadavg()[0]:.1f}")
    compare(rounds)
    for processes, threads in ((1, 1), (10, 1), (100, 1), (1, 50)):
        tree, other = sample(processes, threads)
        print(
            f"a sample of {processes} processes, {threads} threads each: {1e6 * tree:.0f} us, of"
            f" the machine: {1e6 * other:.0f} us"
        )


if __name__ == "__main__":
    main()
