"""The launcher in Python, for machines without a C compiler: the arguments and the report of
native/launcher.c.

It is a program of its own (``python -I -S fallback.py``) and imports nothing of perfvcs. Its report
has no ``maxrss``, since Linux counts the memory of the process that started the command; nor what
the command read and wrote, nor what the machine did meanwhile. It starts before each execution, so
that it imports only what starts fast.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import ctypes
import errno
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = 1  # of the report, as in launcher.c
PR_SET_PDEATHSIG = 1  # linux/prctl.h
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h
# seconds that processes get to die after SIGKILL; only an uninterruptible one needs them
PATIENCE = 5.0
MOST_LEFT = 20  # processes that are named
LONGEST_WAIT = 3600.0  # seconds; sigtimedwait takes no more than a C time_t
AWAITED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
FATAL = {signal.SIGKILL, signal.SIGSTOP}  # whose disposition cannot be set


class Refused(Exception):
    """What could not be set up, as the report names it, and the error's number."""

    def __init__(self, key: str, number: int) -> None:
        super().__init__(key)
        self.key, self.number = key, number


def main(words: list[str]) -> None:
    """Execute one command; ``words`` are those of the launcher."""
    report, environment, alive, pace, parent, *milliseconds, aslr = map(int, words[:9])
    timeout, grace, asking = (value / 1000 for value in milliseconds)
    for descriptor in (report, environment, alive, pace):
        if descriptor >= 0:
            os.set_inheritable(descriptor, False)

    def say(key: str, value: float) -> None:
        os.write(report, f"{key} {int(value)}\n".encode())

    def say_left(known: set[int], child: int) -> None:
        _say_left(report, known, child)

    say("perfvcs-launcher", VERSION)
    signals = signal.valid_signals()
    signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    system = ctypes.CDLL(None, use_errno=True)
    system.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked for the signal
        sys.exit(1)
    system.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        if words[9] != "-":
            _pin(words[9])
        if not aslr and system.personality(ADDR_NO_RANDOMIZE) == -1:
            raise Refused("aslr", ctypes.get_errno())
        variables = os.pread(environment, os.fstat(environment).st_size, 0).split(b"\0")[:-1]
        given = dict(variable.split(b"=", 1) for variable in variables)
        defaults = signals - FATAL
        start = time.perf_counter()
        try:
            command = os.posix_spawn(
                words[10], words[10:], given, setsid=True, setsigmask=(), setsigdef=defaults
            )
        except OSError as error:
            raise Refused("exec", error.errno or 0) from None
    except Refused as refused:
        say(refused.key, refused.number)
        say("end", 1)
        return
    _keep_niceness(command)
    say("pid", command)
    _follow(command, start, timeout, grace, asking, say, say_left)
    say("end", 1)


def _pin(numbers: str) -> None:
    try:
        os.sched_setaffinity(0, [int(number) for number in numbers.split(",")])
    except (OSError, ValueError, OverflowError):
        raise Refused("pin", errno.EINVAL) from None


def _keep_niceness(process: int) -> None:
    """Where the kernel shares processors among sessions, niceness holds inside one only: a new one
    begins at 0.
    """
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    if not niceness:
        return
    try:
        with open(f"/proc/{process}/autogroup", "w", encoding="ascii") as file:
            file.write(str(niceness))
    except OSError:  # the kernel has no such thing, or allows no more
        pass


def _follow(
    command: int,
    start: float,
    timeout: float,
    grace: float,
    asking: float,
    say: Callable[[str, float], None],
    say_left: Callable[[set[int], int], None],
) -> None:
    """Wait for the command's end, and end it after its time or when somebody asks; report both, and
    what it left.
    """
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
            say("leftover", _stop_all(command, 0.0, say_left))
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
    say("leftover", _stop_all(0, 0.0 if asked else grace, say_left))


def _next_signal(until: float) -> int:
    """The next awaited signal, 0 if none comes before ``until``."""
    while True:
        left = max(0.0, until - time.perf_counter())
        received = signal.sigtimedwait(AWAITED, min(left, LONGEST_WAIT))
        if received is not None:
            return int(received.si_signo)
        if left <= LONGEST_WAIT:
            return 0


def _reap(command: int) -> int:
    """Collect every ended process except the command itself; returns how many of them died of
    SIGKILL.
    """
    killed = 0
    while (child := _ended_child()) and child.si_pid != command:
        os.waitpid(child.si_pid, 0)
        killed += child.si_code == os.CLD_KILLED and child.si_status == signal.SIGKILL
    return killed


def _ended_child() -> os.waitid_result | None:
    """A child that has ended, and is not waited for yet; None if there is none."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None


def _childless() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def _say_left(report: int, known: set[int], child: int) -> None:
    """Write down the first two words of the command line of a process that has to be ended,
    once.
    """
    if child in known or len(known) >= MOST_LEFT:
        return
    known.add(child)
    try:
        with open(f"/proc/{child}/cmdline", "rb") as file:
            words = file.read(4096).split(b"\0")[:2]
    except OSError:  # it has ended
        return
    shown = [bytes(byte if 32 < byte < 127 else 63 for byte in word[:100]) for word in words]
    if shown[0]:
        os.write(report, b"left " + b" ".join(filter(None, shown)) + b"\n")


def _stop_all(command: int, grace: float, say_left: Callable[[set[int], int], None]) -> int:
    """Stop all descendants; returns how many there were that did not end by themselves within
    ``grace`` seconds.
    """
    until = time.perf_counter() + grace
    stopped, known = 0, set[int]()
    _reap(command)
    while (
        not _childless()
        and time.perf_counter() < until
        and _next_signal(until) in (0, signal.SIGCHLD)
    ):
        _reap(command)
    until = time.perf_counter() + PATIENCE
    while not _childless() and time.perf_counter() < until:
        # orphans become our children, so that repeating it reaches all descendants
        for child in _children():
            say_left(known, child)
            _kill(child, signal.SIGKILL)
        _next_signal(time.perf_counter() + 0.005)
        stopped += _reap(command)
    return stopped


def _children() -> list[int]:
    children = []
    for entry in os.scandir("/proc"):
        try:
            with open(f"{entry.path}/stat", "rb") as file:
                # a process may call itself "a) R 1"
                parent = file.read().rpartition(b")")[2].split()[1]
        except OSError:  # it is none, or has ended
            continue
        if int(parent) == os.getpid():
            children.append(int(entry.name))
    return children


def _kill(child: int, number: int) -> None:
    """Signal a child and its group; it is ours until we reap it, so that no other process is ever
    hit.
    """
    group = os.getpgid(child)
    for target in (child,) if group == os.getpgrp() else (-group, child):
        try:
            os.kill(target, number)
        except (ProcessLookupError, PermissionError):  # it has ended, or belongs to somebody else
            continue


def _run_delay(pid: int) -> int | None:
    """Nanoseconds in which a process was ready and waited for a processor (its first thread alone);
    a zombie has them, too.
    """
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1])
    except (OSError, IndexError):
        return None


if __name__ == "__main__":
    main(sys.argv[1:])
