"""One process as /proc shows it: its files stay open, so that a number that is given to another
process is never mistaken for it.
"""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from perfvcs.profile import Metric

MACHINE_ROWS = "machine"  # unit of the rows of the whole machine

# The whole tree at one moment.
SIZES = ("vsize", "rss", "rss_anon", "rss_file", "rss_shmem", "data", "swap")
LEVEL_METRICS = dict.fromkeys(("processes", "threads", "descriptors"), "")
LEVEL_METRICS |= dict.fromkeys(SIZES, "B")
# Since the moment before, per second.
RATE_METRICS = {
    "cpu_use": "",
    "user_use": "",
    "system_use": "",
    "waiting": "",
    "block_wait": "",
    "timeslice_rate": "1/s",
    "minor_fault_rate": "1/s",
    "major_fault_rate": "1/s",
    "voluntary_switch_rate": "1/s",
    "involuntary_switch_rate": "1/s",
    "read_char_rate": "B/s",
    "write_char_rate": "B/s",
    "read_call_rate": "1/s",
    "write_call_rate": "1/s",
    "read_byte_rate": "B/s",
    "write_byte_rate": "B/s",
    "cancelled_byte_rate": "B/s",
}
MACHINE_LEVELS = {"machine_running": "", "machine_blocked": "", "machine_available": "B"}
MACHINE_RATES = {
    "machine_busy": "",
    "machine_steal": "",
    "machine_switch_rate": "1/s",
    "machine_interrupt_rate": "1/s",
    "machine_fork_rate": "1/s",
    "machine_cpu_pressure": "",
    "machine_io_pressure": "",
    "machine_memory_pressure": "",
}
CLOCK_TICK = 1 / os.sysconf("SC_CLK_TCK")
PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
# files of processes that may stay open
MOST_OPEN_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4
# rchar, wchar, syscr, syscw, read_bytes, write_bytes, cancelled_write_bytes
IO = re.compile(rb"^\w+: (\d+)", re.M)
MEMORY = {
    b"RssAnon": "rss_anon",
    b"RssFile": "rss_file",
    b"RssShmem": "rss_shmem",
    b"VmData": "data",
    b"VmSwap": "swap",
}
SWITCHES = {
    b"voluntary_ctxt_switches": "voluntary_switch_rate",
    b"nonvoluntary_ctxt_switches": "involuntary_switch_rate",
}
PASSED_ON = (
    "read_char_rate",
    "write_char_rate",
    "read_call_rate",
    "write_call_rate",
    "read_byte_rate",
    "write_byte_rate",
    "cancelled_byte_rate",
)
STATUS = re.compile(rb"^(" + b"|".join([*MEMORY, *SWITCHES]) + rb"):\s+(\d+)", re.M)
LARGEST_ANSWER = 1 << 14
CounterValues = dict[str, float]  # by the counter's name


def sampled(groups: Iterable[str] = ()) -> dict[str, Metric]:
    """What the rows of samples have: the counters of the whole tree, those of each group of
    processes, and the machine's.
    """
    tree = LEVEL_METRICS | RATE_METRICS
    names = (
        tree
        | {f"{group}.{name}": unit for group in groups for name, unit in tree.items()}
        | MACHINE_LEVELS
        | MACHINE_RATES
    )
    return {name: Metric(unit, "none") for name, unit in names.items()}


class Ended(Exception):
    """The process is gone."""


@dataclass(frozen=True)
class Stat:
    """The fields of /proc/PID/stat that say where a process stands: who its parent and session are,
    and whether it runs. ``resident``: the pages of its memory; none while it begins and once it
    ends.
    """

    parent: int
    session: int
    zombie: bool
    resident: int
    fields: list[bytes]

    @classmethod
    def of(cls, content: bytes) -> Stat:
        """Parsed; a process may call itself ``a) R 1``, so that the last bracket counts."""
        fields = content.rpartition(b")")[2].split()
        if len(fields) < 40:
            raise Ended
        zombie = fields[0] in (b"Z", b"X")
        return cls(int(fields[1]), int(fields[3]), zombie, int(fields[21]), fields)


def stat(pid: int) -> Stat | None:
    """The state of a process; None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return Stat.of(file.read(LARGEST_ANSWER))
    except (OSError, Ended):
        return None


@dataclass
class WatchedProcess:
    """One process of a tree, and the last that was seen of it.

    ``levels`` are what it has now. ``passed`` is what it and the processes that it waited for have
    used so far: Linux hands that on to the parent when it waits. ``own`` is what nobody inherits.
    ``hidden``: whether some of it may not be read, being another user's. ``names`` are prefixes of
    the counters that it adds to: nothing, and its group.
    """

    pid: int
    parent: int = 0
    levels: CounterValues = field(default_factory=dict)
    passed: CounterValues = field(default_factory=dict)
    own: CounterValues = field(default_factory=dict)
    hidden: bool = False
    names: tuple[str, ...] = ("",)
    _files: dict[str, int] = field(default_factory=dict)
    _threads: dict[int, CounterValues] = field(default_factory=dict)

    opened = 0  # files of all processes together

    def read(self) -> None:
        """Read everything anew; raises Ended."""
        status = Stat.of(self._content("stat"))
        numbers, self.parent = status.fields, status.parent
        ticks = [int(number) for number in numbers[11:15]]
        self.passed |= {
            "user_use": (ticks[0] + ticks[2]) * CLOCK_TICK,
            "system_use": (ticks[1] + ticks[3]) * CLOCK_TICK,
            "minor_fault_rate": float(numbers[7]) + float(numbers[8]),
            "major_fault_rate": float(numbers[9]) + float(numbers[10]),
            "cpu_use": self._seconds(ticks) + (ticks[2] + ticks[3]) * CLOCK_TICK,
        }
        self.own["block_wait"] = int(numbers[39]) * CLOCK_TICK
        # newer kernels let only root read its input and output: those are as they were
        # Linux takes the memory of a process that ends before it calls it a zombie
        if status.zombie or status.resident == 0:
            self.levels = {}
            return
        self.passed |= zip(PASSED_ON, map(float, IO.findall(self._content("io"))), strict=False)
        self.levels = {
            "processes": 1.0,
            "threads": float(numbers[17]),
            "vsize": float(numbers[20]),
            "rss": float(status.resident) * PAGE_SIZE,
            "descriptors": self._descriptors(),
        }
        self._status(int(numbers[17]))

    def command(self) -> str:
        """Its command line, words with spaces between; empty when it has none any more."""
        with suppress(Ended):
            return self._content("cmdline").replace(b"\0", b" ").decode(errors="replace")
        return ""

    def close(self) -> None:
        """Let go of the files; what was seen last stays."""
        for descriptor in self._files.values():
            os.close(descriptor)
            WatchedProcess.opened -= 1
        self._files.clear()

    def _content(self, name: str) -> bytes:
        """A file of the process; empty when it may not be read."""
        descriptor = self._files.get(name, -1)
        try:
            if descriptor >= 0:
                return os.pread(descriptor, LARGEST_ANSWER, 0)
            descriptor = os.open(f"/proc/{self.pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
            content = os.read(descriptor, LARGEST_ANSWER)
        except PermissionError:
            self.hidden = True
            return b""
        except (ProcessLookupError, FileNotFoundError):
            raise Ended from None
        finally:
            if descriptor >= 0 and name not in self._files:
                self._keep(name, descriptor)
        return content

    def _keep(self, name: str, descriptor: int) -> None:
        if WatchedProcess.opened < MOST_OPEN_FILES:
            self._files[name] = descriptor
            WatchedProcess.opened += 1
        else:
            os.close(descriptor)

    def _seconds(self, ticks: list[int]) -> float:
        """Its own CPU time, from a clock of nanoseconds where it is still there: /proc counts in
        ticks of 10 ms.
        """
        try:
            return time.clock_gettime((~self.pid << 3) | 2)  # clock_getcpuclockid(3)
        except OSError:
            return (ticks[0] + ticks[1]) * CLOCK_TICK

    def _descriptors(self) -> float:
        try:
            folder = Path(f"/proc/{self.pid}/fd")
            # before Linux 6.2 the size is 0
            return float(folder.stat().st_size or len(list(folder.iterdir())))
        except PermissionError:
            self.hidden = True
        except OSError:
            pass
        return 0.0

    def _status(self, threads: int) -> None:
        """Memory by kind, and what each thread has of its own: switches, turns on a processor and
        waits for one.
        """
        status = self._content("status")
        self.levels |= {
            MEMORY[name]: float(value) * 1024
            for name, value in STATUS.findall(status)
            if name in MEMORY
        }
        if threads == 1:
            self._threads[self.pid] = _turns(status, self._content("schedstat"))
        else:
            with suppress(OSError):
                for entry in os.scandir(f"/proc/{self.pid}/task"):
                    with suppress(OSError):
                        self._threads[int(entry.name)] = _turns(
                            _contents(f"{entry.path}/status"), _contents(f"{entry.path}/schedstat")
                        )
        for name in ("waiting", "timeslice_rate", *SWITCHES.values()):
            self.own[name] = sum(counts.get(name, 0.0) for counts in self._threads.values())


def _contents(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read(LARGEST_ANSWER)


def _turns(status: bytes, schedstat: bytes) -> CounterValues:
    turns = {
        SWITCHES[name]: float(value) for name, value in STATUS.findall(status) if name in SWITCHES
    }
    numbers = schedstat.split()
    if len(numbers) == 3:  # a kernel without CONFIG_SCHED_INFO has no such file
        turns |= {"waiting": int(numbers[1]) * 1e-9, "timeslice_rate": float(numbers[2])}
    return turns
