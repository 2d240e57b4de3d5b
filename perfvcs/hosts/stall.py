"""Watches a measured program, and ends it and names the calls where all of it waits for itself
(Kalibera 2006, 8.3).

A thread waits for itself where it sleeps in a call that only another process or thread can end: a
lock without a time-out, the end of a child, a signal. A thread that computes, sleeps for a time or
waits for input or output is not stalled, however long that takes.
"""

from __future__ import annotations

import os
import platform
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from perfvcs.plugins.collector import Observations
from perfvcs.profile import Metric
from perfvcs.system.children import MARKER

METRICS = {"host.load": Metric("", "none"), "host.others": Metric("", "none")}
WORKING = ("user", "nice", "system", "irq", "softirq")  # what a processor does of psutil's times
CHECKS = 6  # in the time after which a program counts as stalled
# Numbers of system calls: futex, wait4, waitid, pause, rt_sigsuspend, flock, fcntl, semop, msgsnd,
# msgrcv.
CALLS = {
    "x86_64": {
        202: "futex",
        61: "wait4",
        247: "waitid",
        34: "pause",
        130: "rt_sigsuspend",
        73: "flock",
        72: "fcntl",
        65: "semop",
        69: "msgsnd",
        70: "msgrcv",
    },
    "aarch64": {
        98: "futex",
        260: "wait4",
        95: "waitid",
        133: "rt_sigsuspend",
        32: "flock",
        25: "fcntl",
        193: "semop",
        189: "msgsnd",
        188: "msgrcv",
    },
}
TIMEOUT = 4  # the place of futex's time-out behind the call's number
# how the name of our own process around a program begins, which waits for it in its own way
LAUNCHER = "launcher-"


class Utilisation:
    """Counters of the kernel, read now and when the execution has ended."""

    def __init__(self) -> None:
        self.began, self.busy, self.own = time.monotonic(), _busy(), _own()

    def add_to(self, seen: Observations) -> None:
        """Record in the first row: the load average at the end, and how many processors others kept
        busy on average.
        """
        seconds = time.monotonic() - self.began
        others = max(0.0, (_busy() - self.busy) - (_own() - self.own)) / seconds if seconds else 0.0
        if not seen.uid:
            return
        for name, value in zip(METRICS, (os.getloadavg()[0], others), strict=True):
            seen.values[name] = [value, *[None] * (len(seen.uid) - 1)]
        seen.metrics = dict(seen.metrics) | METRICS


def _busy() -> float:
    """Seconds that all processors together have worked since the start."""
    times: dict[str, float] = psutil.cpu_times()._asdict()
    # in the time of a user Linux counts that of guests as well
    return sum(times.get(name, 0.0) for name in WORKING)


def _own() -> float:
    """Seconds that this process and what it started have worked."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Stall:
    """Notes whether a program stalled, and in which calls."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.said = seconds, ""
        self._done = threading.Event()

    def watch(self, top: int) -> None:
        """Looks at all processes below ``top`` until ``close``; ends them once all of them have
        waited for themselves all the time.
        """
        still, before = 0, ""
        while not self._done.wait(self.seconds / CHECKS):
            state = stuck(measured(top))
            still = still + 1 if state and state == before else 0
            before = state
            if still >= CHECKS:
                self.said = f"stalled for {self.seconds:g} s, ended: {before.partition('|')[0]}"
                for pid in measured(top):
                    with suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
                return

    def close(self) -> None:
        """Stop looking."""
        self._done.set()


@contextmanager
def watching(seconds: float) -> Iterator[Stall]:
    """Watch what this process starts meanwhile; of the calls in which threads wait only Linux
    tells.
    """
    stall = Stall(seconds)
    if sys.platform != "linux":
        yield stall
        return
    thread = threading.Thread(target=stall.watch, args=(os.getpid(),), daemon=True, name="stall")
    thread.start()
    try:
        yield stall
    finally:
        stall.close()
        thread.join()


def below(top: int) -> list[int]:
    """The processes that descend from one."""
    parents: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if (
            entry.name.isdecimal()
            and (state := _stat(Path(entry.path))) is not None
            and state[0] not in "ZX"
        ):
            parents.setdefault(int(state[1]), []).append(int(entry.name))
    descendants: list[int] = []
    waiting = [top]
    while waiting:
        children = parents.get(waiting.pop(), [])
        descendants += children
        waiting += children
    return descendants


def measured(top: int) -> list[int]:
    """The measured processes below one: neither our launcher nor our keeper, which has an
    environment of its own.
    """
    return [pid for pid in below(top) if not _name(pid).startswith(LAUNCHER) and _is_marked(pid)]


def stuck(pids: list[int]) -> str:
    """The threads that wait for themselves, each in which call, with the time that it has computed;
    empty where any thread may go on by itself.
    """
    names = CALLS.get(platform.machine(), {})
    waits, times = [], []
    for pid in pids:
        for task in _tasks(pid):
            state, call = _stat(task), _call(task)
            if state is None:
                continue
            if state[0] != "S" or call is None or call[0] not in names:
                return ""
            name = names[call[0]]
            if name == "futex" and (len(call) <= TIMEOUT or call[TIMEOUT]):
                return ""
            times.append(f"{pid}:{state[11]}+{state[12]}")
            waits.append(f"{_name(pid)} ({pid}) waits in {name}")
    return f"{', '.join(dict.fromkeys(waits))}|{' '.join(times)}" if waits else ""


def _tasks(pid: int) -> list[Path]:
    with suppress(OSError):
        return [Path(entry.path) for entry in os.scandir(f"/proc/{pid}/task")]
    return []


def _stat(folder: Path) -> list[str] | None:
    """The fields of a process or thread from its state on; None where it is gone."""
    with suppress(OSError):
        return (folder / "stat").read_text(errors="replace").rpartition(") ")[2].split()
    return None


def _call(task: Path) -> list[int] | None:
    """The system call in which a thread waits, with its arguments; None where it runs, or is not
    ours to see.
    """
    with suppress(OSError, ValueError):
        first, *rest = (task / "syscall").read_text().split()
        return [int(first), *(int(word, 16) for word in rest)]
    return None


def _is_marked(pid: int) -> bool:
    with suppress(OSError):
        return f"{MARKER}=".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    return False


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return "?"
