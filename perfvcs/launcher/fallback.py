"""The launcher in Python, for machines without a C compiler: the arguments and the report of native/launcher.c.

It is a program of its own (``python -I -S fallback.py``) and imports nothing of perfvcs. Its report has no ``maxrss``, since Linux
counts the memory of the process that started the command; nor what the command read and wrote, nor what the machine did meanwhile.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

VERSION = 1
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ADDR_NO_RANDOMIZE = 0x0040000
PATIENCE = 5.0  # seconds that processes get to die after SIGKILL; only an uninterruptible one needs them
LONGEST_WAIT = 3600.0  # seconds; sigtimedwait takes no more than a C time_t
AWAITED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
FATAL = {signal.SIGKILL, signal.SIGSTOP}  # whose disposition cannot be set


class Refused(Exception):
    """What could not be set up, as the report names it, and the error's number."""

    def __init__(self, key: str, number: int) -> None:
        super().__init__(key)
        self.key, self.number = key, number


def main(words: Sequence[str]) -> None:
    """Execute one command; ``words`` are those of the launcher."""
    report, environment, alive, pace, parent, *milliseconds, aslr = map(int, words[:9])
    timeout, grace, asking = (value / 1000 for value in milliseconds)
    for descriptor in (report, environment, alive, pace):
        if descriptor >= 0:
            os.set_inheritable(descriptor, False)

    def say(key: str, value: float) -> None:
        os.write(report, f"{key} {int(value)}\n".encode())

    say("perfvcs-launcher", VERSION)
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    system = ctypes.CDLL(None, use_errno=True)
    system.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked to be told
        sys.exit(1)
    system.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        if words[9] != "-":
            _pin(words[9])
        if not aslr and system.personality(ADDR_NO_RANDOMIZE) == -1:
            raise Refused("aslr", ctypes.get_errno())
        start = time.perf_counter()
        command = _spawn(words[10:], environment)
    except Refused as refused:
        say(refused.key, refused.number)
        say("end", 1)
        return
    say("pid", command)
    _follow(command, start, timeout, grace, asking, say)
    say("end", 1)


def _pin(numbers: str) -> None:
    try:
        os.sched_setaffinity(0, [int(number) for number in numbers.split(",")])
    except (OSError, ValueError, OverflowError):
        raise Refused("pin", errno.EINVAL) from None


def _spawn(command: Sequence[str], environment: int) -> int:
    """Start the command as leader of a session, with every signal as by default."""
    variables = os.pread(environment, os.fstat(environment).st_size, 0).split(b"\0")[:-1]
    try:
        return os.posix_spawn(
            command[0],
            list(command),
            dict(variable.split(b"=", 1) for variable in variables),
            setsid=True,
            setsigmask=(),
            setsigdef=signal.valid_signals() - FATAL,
        )
    except OSError as error:
        raise Refused("exec", error.errno or 0) from None


def _follow(command: int, start: float, timeout: float, grace: float, asking: float, say: Callable[[str, float], None]) -> None:
    """Wait for the command's end, and end it after its time or when somebody asks; report both, and what it left."""
    until, stopping, asked, timed_out = start + timeout, False, False, False
    while True:
        number = _next_signal(until)
        stop = time.perf_counter()
        if os.waitid(os.P_PID, command, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            break
        if number == signal.SIGCHLD:
            _reap(command)
            continue
        if stopping and stop >= until:  # it is stuck in the kernel: nobody can end it
            say("stuck", 1)
            say("leftover", _stop_all(command, 0.0))
            return
        if not stopping and not asked:
            timed_out = not number
            if number:
                say("interrupted", number)
        stopping = stopping or asked or not asking
        asked = True
        until = stop + (PATIENCE if stopping else asking)
        _kill(command, signal.SIGKILL if stopping else signal.SIGTERM)
    delay = _run_delay(command)
    _, status, usage = os.wait4(command, 0)
    code = os.waitstatus_to_exitcode(status)
    say("wall", (stop - start) * 1e9)
    say("cpu", (usage.ru_utime + usage.ru_stime) * 1e9)
    for key in ("minflt", "majflt", "nvcsw", "nivcsw", "inblock", "oublock"):
        say(key, getattr(usage, f"ru_{key}"))
    say("status" if code >= 0 else "signal", abs(code))
    say("timed_out", timed_out)
    if delay is not None:
        say("run_delay", delay)
    say("leftover", _stop_all(0, 0.0 if asked else grace))


def _next_signal(until: float) -> int:
    """The next awaited signal, 0 if none comes before ``until``."""
    while True:
        left = max(0.0, until - time.perf_counter())
        found = signal.sigtimedwait(AWAITED, min(left, LONGEST_WAIT))
        if found is not None:
            return found.si_signo
        if left <= LONGEST_WAIT:
            return 0


def _reap(command: int) -> int:
    """Collect every ended process except the command itself; returns how many of them died of SIGKILL."""
    killed = 0
    with suppress(ChildProcessError):
        while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and found.si_pid != command:
            os.waitpid(found.si_pid, 0)
            killed += found.si_code == os.CLD_KILLED and found.si_status == signal.SIGKILL
    return killed


def _childless() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def _stop_all(command: int, grace: float) -> int:
    """Stop all descendants; returns how many there were that did not end by themselves within ``grace`` seconds."""
    until = time.perf_counter() + grace
    stopped = 0
    _reap(command)
    while not _childless() and time.perf_counter() < until and _next_signal(until) in (0, signal.SIGCHLD):
        _reap(command)
    until = time.perf_counter() + PATIENCE
    while not _childless() and time.perf_counter() < until:
        # orphans become our children, so that repeating it reaches all descendants
        for child in _children():
            _kill(child, signal.SIGKILL)
        _next_signal(time.perf_counter() + 0.005)
        stopped += _reap(command)
    return stopped


def _children() -> list[int]:
    found = []
    for entry in os.scandir("/proc"):
        with suppress(OSError, IndexError, ValueError):
            # a process may call itself "a) R 1"
            if int(Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()[1]) == os.getpid():
                found.append(int(entry.name))
    return found


def _kill(child: int, number: int) -> None:
    """Signal a child and its group; it is ours until we reap it, so that no other process is ever hit."""
    with suppress(ProcessLookupError, PermissionError):
        if os.getpgid(child) != os.getpgrp():
            os.killpg(os.getpgid(child), number)
    with suppress(ProcessLookupError, PermissionError):
        os.kill(child, number)


def _run_delay(pid: int) -> int | None:
    """Nanoseconds in which a process was ready and waited for a processor (its first thread alone); a zombie has them, too."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1])
    except (OSError, IndexError):
        return None


if __name__ == "__main__":
    main(sys.argv[1:])
