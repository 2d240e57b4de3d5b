"""Starts a program with a sampler beside it; run as a script by a bare Python, so that it imports
nothing of perfvcs.

``attach.py REPORT LOG CPUS COUNT SAMPLER... PROGRAM...``: this process becomes the program, so that
its parent sees the program's own exit status, output and signals. The sampler runs in a session of
its own, under a process that stops it when the program has ended. A sampler with ``{control}``
among its words says when it is ready (as Linux perf does); any other begins once the program runs.
REPORT gets one word where the program could not be started: ``sampler``, or the number of the
system's error.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import NoReturn

READY = 30_000  # ms that a sampler may take to become ready
LINGER = 500  # ms in which it may notice by itself that the program has ended
REPORT_PATIENCE = 8_000  # ms in which it may write its report
NOT_STARTED = 127  # exit status of a shell that finds no command
YAMA = "/proc/sys/kernel/yama/ptrace_scope"  # who may trace whom
PR_SET_PTRACER = 0x59616D61  # linux/prctl.h

Pipe = tuple[int, int]


def main() -> NoReturn:
    """Fork the sampler's keeper, wait until the sampler is ready, become the program."""
    report, log, cpus, count, *words = sys.argv[1:]
    sampler, program = words[: int(count)], words[int(count) :]
    # as it was given: Python may have added to its own
    with open("/proc/self/environ", "rb") as file:
        entries = [entry.partition(b"=") for entry in file.read().split(b"\0") if entry]
    environment = {name: value for name, _, value in entries}
    controlled = any("{control}" in word for word in sampler)
    control, ack, running = os.pipe(), os.pipe(), os.pipe()
    pid = os.getpid()
    child = os.fork()
    if not child:
        if os.fork():
            os._exit(0)
        _keep(
            pid,
            sampler,
            log,
            cpus,
            controlled=controlled,
            control=control,
            ack=ack,
            running=running,
        )
    os.waitpid(child, 0)
    for descriptor in (control[0], ack[1], running[0]):
        os.close(descriptor)
    if controlled and not _is_ready(control[1], ack[0]):
        _give_up(report, "sampler")
    if not controlled:
        _let_trace()
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    try:
        os.execve(program[0], program, environment)
    except OSError as error:
        _give_up(report, str(error.errno))


def _give_up(report: str, word: str) -> NoReturn:
    with open(report, "w") as file:
        file.write(word)
    os._exit(NOT_STARTED)


def _is_ready(control: int, ack: int) -> bool:
    """Have the sampler begin; False when it has ended instead."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        os.write(control, b"enable\n")
    except BrokenPipeError:
        return False
    poll = select.poll()
    poll.register(ack, select.POLLIN)
    return bool(poll.poll(READY)) and os.read(ack, 16).startswith(b"ack")


def _let_trace() -> None:
    """Where the system lets only parents look into a process: let the keeper's child do so too."""
    try:
        with open(YAMA) as file:
            restricted = file.read().strip() == "1"
    except OSError:
        return
    if restricted:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)


def _keep(
    pid: int,
    sampler: list[str],
    log: str,
    cpus: str,
    *,
    controlled: bool,
    control: Pipe,
    ack: Pipe,
    running: Pipe,
) -> NoReturn:
    """Run the sampler, and end it once the program has."""
    try:
        program = os.pidfd_open(pid)
        os.setsid()
        # Linux perf takes the end of its orders, which stay open here, for an error
        for descriptor in (ack[0], running[1]):
            os.close(descriptor)
        nothing, log_file = (
            os.open(os.devnull, os.O_RDONLY),
            os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        )
        for number, descriptor in enumerate((nothing, log_file, log_file)):
            os.dup2(descriptor, number)
        os.sched_setaffinity(0, map(int, cpus.split(",")))
        if not controlled:
            os.read(running[0], 1)  # until the program takes this process's place, or fails to
        places = {"{pid}": str(pid), "{control}": str(control[0]), "{ack}": str(ack[1])}
        for place, value in places.items():
            sampler = [word.replace(place, value) for word in sampler]
        child = os.fork()
        if not child:
            for descriptor in (control[0], ack[1]):
                os.set_inheritable(descriptor, controlled)
            path = os.environ.get("PATH", os.defpath)
            os.execve(sampler[0], sampler, {"PATH": path, "LC_ALL": "C", "PERF_CONFIG": os.devnull})
        for descriptor in (control[0], ack[1]):
            os.close(descriptor)
        _end(program, child)
    except OSError as error:
        print(f"Error: {sampler[0]}: {error.strerror}", file=sys.stderr, flush=True)  # into the log
    finally:
        os._exit(0)


def _end(program: int, child: int) -> None:
    """Wait for the sampler; when the program has ended, ask it to end, and at last make it."""
    ended = os.pidfd_open(child)
    poll = select.poll()
    for descriptor in (program, ended):
        poll.register(descriptor, select.POLLIN)
    poll.poll()
    poll.unregister(program)
    for wait, number in ((LINGER, signal.SIGINT), (REPORT_PATIENCE, signal.SIGKILL)):
        if poll.poll(wait):
            break
        os.kill(child, number)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
