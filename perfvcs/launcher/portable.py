"""The launcher for systems that are not Linux, such as macOS: the arguments and the report of
fallback.py, by what POSIX has.

It is a program of its own (``python -I -S portable.py``) and imports nothing of perfvcs. It ends
the process group of a command: a process that leaves it is not found. No process is pinned.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from resource import struct_rusage

VERSION = 1  # of the report, as in launcher.c
# seconds that processes get to die after SIGKILL; only an uninterruptible one needs them
PATIENCE = 5.0
PARENT_SECONDS = 0.5  # between two looks whether whoever asked is still there
GROUP_SECONDS = 0.005  # between two looks at what is left of the group
ASKING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
AWAITED = {signal.SIGCHLD, signal.SIGALRM, *ASKING}
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes; getrusage(2) of macOS, and of others


class Waiting:
    """The wait for a command's end: after ``timeout`` seconds, or when somebody asks, it is asked
    to end, and ``asking`` seconds later killed.
    """

    def __init__(self, parent: int, timeout: float, asking: float) -> None:
        self._command, self._parent, self._asking = 0, parent, asking
        self.start = self.stop = time.perf_counter()
        self._until = self.start + timeout
        self._stopping = False
        self.asked = self.timed_out = False
        self.interrupted = 0
        self.status = 0

    def usage(self, command: int) -> struct_rusage | None:
        """What a command took, once it has ended; None for one that nobody can end."""
        self._command = command
        while True:
            number = self._next_signal()
            self.stop = time.perf_counter()
            ended, self.status, usage = os.wait4(self._command, os.WNOHANG)
            if ended:
                return usage
            if number == signal.SIGCHLD:
                continue
            if self._stopping and self.stop >= self._until:
                return None
            self._end(number)

    def _next_signal(self) -> int:
        """The next awaited signal; SIGALRM when time has passed."""
        while True:
            left = self._until - time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, min(max(left, 1e-6), PARENT_SECONDS))
            number = signal.sigwait(AWAITED)
            if number != signal.SIGALRM or time.perf_counter() >= self._until:
                return number
            if os.getppid() != self._parent:
                return signal.SIGTERM

    def _end(self, number: int) -> None:
        if not self._stopping and not self.asked:
            self.timed_out = number == signal.SIGALRM
            self.interrupted = 0 if self.timed_out else number
        self._stopping = self._stopping or self.asked or not self._asking
        self.asked = True
        self._until = self.stop + (PATIENCE if self._stopping else self._asking)
        _signal_group(self._command, signal.SIGKILL if self._stopping else signal.SIGTERM)


def main(words: list[str]) -> None:
    """Execute one command; ``words`` are those of the launcher."""
    report, environment, alive, pace, parent, *milliseconds, _ = map(int, words[:9])
    timeout, grace, asking = (value / 1000 for value in milliseconds)
    for descriptor in (report, environment, alive, pace):
        if descriptor >= 0:
            os.set_inheritable(descriptor, False)

    def say(key: str, value: float) -> None:
        os.write(report, f"{key} {int(value)}\n".encode())

    say("perfvcs-launcher", VERSION)
    for number in AWAITED:  # what has no handler may be thrown away where nobody waits for it
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    if words[9] == "-":
        variables = os.pread(environment, os.fstat(environment).st_size, 0).split(b"\0")[:-1]
        _execute(words[10:], variables, say, (parent, timeout, grace, asking))
    else:
        say("pin", errno.EINVAL)
    say("end", 1)


def _execute(
    argv: list[str],
    variables: list[bytes],
    say: Callable[[str, float], None],
    limits: tuple[int, float, float, float],
) -> None:
    parent, timeout, grace, asking = limits
    given = dict(variable.split(b"=", 1) for variable in variables)
    defaults = {*AWAITED, signal.SIGPIPE}
    waiting = Waiting(parent, timeout, asking)
    try:
        command = os.posix_spawn(
            argv[0], argv, given, setpgroup=0, setsigmask=(), setsigdef=defaults
        )
    except OSError as error:
        say("exec", error.errno or 0)
        return
    say("pid", command)
    usage = waiting.usage(command)
    if usage is None:
        say("stuck", 1)
        return
    if waiting.interrupted:
        say("interrupted", waiting.interrupted)
    code = os.waitstatus_to_exitcode(waiting.status)
    say("wall", (waiting.stop - waiting.start) * 1e9)
    say("cpu", (usage.ru_utime + usage.ru_stime) * 1e9)
    say("maxrss", usage.ru_maxrss * MAXRSS_UNIT)
    for key in ("minflt", "majflt", "nvcsw", "nivcsw", "inblock", "oublock"):
        say(key, getattr(usage, f"ru_{key}"))
    say("status" if code >= 0 else "signal", abs(code))
    say("timed_out", waiting.timed_out)
    say("leftover", _stop_group(command, 0.0 if waiting.asked else grace))


def _stop_group(group: int, grace: float) -> int:
    """Stop what a command left in its group; 1 where it did not end within ``grace`` seconds by
    itself, which is all that can be counted.
    """
    until = time.perf_counter() + grace
    while time.perf_counter() < until and _signal_group(group, 0):
        time.sleep(GROUP_SECONDS)
    if not _signal_group(group, signal.SIGKILL):
        return 0
    until = time.perf_counter() + PATIENCE
    while time.perf_counter() < until and _signal_group(group, 0):
        time.sleep(GROUP_SECONDS)
    return 1


def _signal_group(group: int, number: int) -> bool:
    """Whether there is anything in the group, which gets a signal (0: none)."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS says that nothing may be signalled
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
