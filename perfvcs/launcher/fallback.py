"""Executing a command from Python itself, for machines without a C compiler."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from perfvcs import keeper
from perfvcs.keeper import MARKER
from perfvcs.launcher.execution import Execution, LaunchError, NotStarted, StreamTail, check_start, name_command, not_started
from perfvcs.process import DEATH_PATIENCE, stop

ADDR_NO_RANDOMIZE = 0x0040000
UNCHANGED = 0xFFFFFFFF  # asks personality() for the present value


def execute(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    grace: float,
    cpus: Sequence[int],
    aslr: bool,
    output: int | None = None,
    started: Callable[[int], None] | None = None,
) -> Execution:
    """As ``perfvcs.launcher.launch``, with the differences of engine ``wait4/1``.

    ``wall`` has Python's own cost of starting a process in it. ``maxrss`` is None, since Linux would report the size of the Python
    process where that is larger; what was read and written is None, since newer kernels let only root ask that of an ended process.
    Where the caller is killed, the keeper ends the command (``perfvcs.keeper``).
    """
    check_start(argv, cwd)
    marker = keeper.marker()
    reading, writing = os.pipe()
    process: subprocess.Popen[bytes] | None = None
    tail = StreamTail()
    try:
        try:
            with _settings(cpus, aslr=aslr):
                start = time.perf_counter()
                process = subprocess.Popen(
                    list(argv), cwd=cwd, env={**env, MARKER: marker}, start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL if output is None else output,
                    stderr=writing if output is None else output,
                )  # fmt: skip
        except OSError as error:
            raise not_started(argv, error.errno or 0) from None
        except ValueError as error:
            raise NotStarted(f"cannot run {name_command(argv)}: {error} in its arguments or environment: remove it") from None
        os.close(writing)
        writing = -1
        if started is not None:
            started(process.pid)
        timed_out = not _wait(process.pid, start + timeout, reading, tail)
        if timed_out:
            _kill_group(process.pid)
            if not _wait(process.pid, time.perf_counter() + DEATH_PATIENCE, reading, tail):
                raise LaunchError(f"{name_command(argv)} timed out and does not die of SIGKILL: look at process {process.pid}")
        wall = time.perf_counter() - start
        return _finished(
            process, wall, timed_out=timed_out, grace=0.0 if timed_out else grace, marker=marker, tail=tail, reading=reading
        )
    finally:
        if process is None:  # Ctrl-C may come when it runs already
            stop(-1, marker)
        elif process.returncode is None:
            _kill_group(process.pid)
            stop(process.pid, marker)
            process.wait(DEATH_PATIENCE)
        for descriptor in (reading, writing):
            if descriptor >= 0:
                os.close(descriptor)


def _finished(
    process: subprocess.Popen[bytes], wall: float, *, timed_out: bool, grace: float, marker: str, tail: StreamTail, reading: int
) -> Execution:
    pid = process.pid
    delay = _run_delay(pid)
    _, status, usage = os.wait4(pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    return Execution(
        wall=wall, cpu=usage.ru_utime + usage.ru_stime, run_delay=delay,
        minor_faults=usage.ru_minflt, major_faults=usage.ru_majflt,
        voluntary_switches=usage.ru_nvcsw, involuntary_switches=usage.ru_nivcsw,
        blocks_in=usage.ru_inblock, blocks_out=usage.ru_oublock,
        status=code if code >= 0 else None, signal=-code if code < 0 else None, timed_out=timed_out,
        leftover=stop(pid, marker, grace), stderr=tail.rest(reading),
    )  # fmt: skip


@contextmanager
def _settings(cpus: Sequence[int], *, aslr: bool) -> Iterator[None]:
    """Pin and un-randomise this thread while it starts the command, which inherits both; a ``preexec_fn`` would cost 1 ms."""
    before = os.sched_getaffinity(0)
    personality = None if aslr else ctypes.CDLL(None).personality
    old = 0 if personality is None else personality(UNCHANGED)
    try:
        if cpus:
            try:
                os.sched_setaffinity(0, cpus)
            except (OSError, ValueError, OverflowError):
                raise no_such_processors(cpus) from None
        if personality is not None and personality(old | ADDR_NO_RANDOMIZE) == -1:
            raise no_personality()
        yield
    finally:
        if personality is not None:
            personality(old)
        if cpus:
            os.sched_setaffinity(0, before)


def no_such_processors(cpus: Sequence[int]) -> NotStarted:
    """The error for processors that this process may not use."""
    allowed = ",".join(str(number) for number in sorted(os.sched_getaffinity(0)))
    return NotStarted(
        f"cannot pin to the processors {','.join(map(str, cpus))}: this process may use {allowed}: choose among those"
    )


def no_personality() -> NotStarted:
    """The error for a system that does not let us switch address space randomisation off."""
    return NotStarted("address space randomisation cannot be switched off here (containers often forbid it): leave it on")


def _ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _wait(pid: int, until: float, reading: int, tail: StreamTail) -> bool:
    """Wait for the end of ``pid``, which stays a zombie, and keep its standard error flowing; False when ``until`` came first."""
    try:
        watch = os.pidfd_open(pid)
    except (AttributeError, OSError):  # before Linux 5.3
        watch = -1
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    if watch >= 0:
        poll.register(watch, select.POLLIN)
    try:
        while not _ended(pid):
            left = until - time.perf_counter()
            if left <= 0:
                return False
            events = poll.poll(min(left, 3600) * 1000 + 1 if watch >= 0 else 1)
            if any(descriptor == reading for descriptor, _ in events) and not tail.read(reading):
                poll.unregister(reading)
        return True
    finally:
        if watch >= 0:
            os.close(watch)


def _run_delay(pid: int) -> float | None:
    """Run-queue delay of the first thread of ``pid`` in seconds, None if /proc does not have it; a zombie has one, too."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return None


def _kill_group(pid: int) -> None:
    """Kill the group that ``pid`` leads; it is not reaped yet, so that the number still means the same."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def sessions_holding(pipe: str) -> set[int]:
    """The sessions with a process that has ``pipe`` (such as ``pipe:[1234]``) open."""
    found = set()
    for entry in os.scandir("/proc"):
        with suppress(OSError):
            if entry.name.isdecimal() and any(str(link.readlink()) == pipe for link in Path(entry.path, "fd").iterdir()):
                found.add(os.getsid(int(entry.name)))
    return found
