"""Processes beside this one: a keeper that ends what was started, and forks that share work."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from perfvcs.system import interruption

MARKER = "PERFVCS_LAUNCH"
SHELL = "/bin/sh"
# A line means that perf has ended in good order, the end of the pipe that it has not. What is asked
# first may still tidy up (git does).
SCRIPT = r"""
read -r word && exit
for signal in TERM KILL KILL KILL KILL KILL; do
    found=$(grep -lz "^$0" /proc/[0-9]*/environ)
    [ -n "$found" ] || exit
    for file in $found; do
        number=${file#/proc/}
        kill -s "$signal" "${number%/environ}"
    done
    sleep 0.2
done
"""
Item = TypeVar("Item")
Result = TypeVar("Result")
FEWEST_ITEMS = 16  # for which forks are worth it
# in which the forks take the items: fewer would leave one of them waiting at the end, more cost a
# message each
FORK_ROUNDS = 64
# of the processor for work in this process, which show how long the rest would take
TRIAL_SECONDS = 0.05
WORTH_SECONDS = (
    # of work that is left: two forks save half of it, and take a tenth of a second themselves, in a
    # large process more
    0.5
)
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
SHARES = sys.platform == "linux"
_assigned: list[Callable[[int], Any]] = []  # in a fork: the work on the item with a number


@contextmanager
def keeping() -> Iterator[None]:
    """Everything that is started meanwhile ends with this process, however that ends, and after an
    interruption with this context.

    Nothing is kept where there is no shell, or no /proc.
    """
    before = os.environ.get(MARKER)
    token = os.urandom(8).hex()
    reading, writing = os.pipe()
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0), *quiet]
    environ = {"PATH": os.environ.get("PATH", "") + os.pathsep + os.defpath, "LC_ALL": "C"}
    keeper = 0
    try:
        with suppress(OSError, NotImplementedError):
            # in a session of its own, out of reach for Ctrl-C
            keeper = os.posix_spawn(
                SHELL,
                ["sh", "-c", SCRIPT, f"{MARKER}={token}"],
                environ,
                file_actions=actions,
                setsid=True,
            )
        os.environ[MARKER] = token
        yield
    finally:
        _restore(before)
        if keeper and not interruption.stopped():
            with suppress(OSError):
                os.write(writing, b"\n")
        os.close(writing)
        os.close(reading)
        if keeper:
            with suppress(ChildProcessError):
                os.waitpid(keeper, 0)


def released(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for what is to go on without this process."""
    return {name: value for name, value in environ.items() if name != MARKER}


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop(MARKER, None)
    else:
        os.environ[MARKER] = before


def shared(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``work`` on each of the items, with the results in their order: two forks of this process
    take the next ones in turn.

    In this process until it is seen that the forks are worth their start; and where there are fewer
    than 16 items, one processor, or other threads, which a fork would not have; and on systems that
    are not Linux, whose libraries may not be used in a fork. What the forks could not do is done
    all over again. Results are pickled; nothing else that the work changes comes back. The work
    must not use SQLite, whose connections no fork may touch.
    """
    is_small = len(items) < FEWEST_ITEMS or len(processors()) < 2
    alone = is_small or not SHARES or threading.active_count() > 1
    results: list[Result] = []
    begun = time.process_time()
    for done, item in enumerate(items):
        if not alone and _worth(time.process_time() - begun, done, len(items) - done):
            return results + _forked(work, items[done:])
        results.append(work(item))
    return results


def _worth(seconds: float, done: int, left: int) -> bool:
    """Whether what is left would take so long, by what was ``done`` in these seconds, that forks
    are worth it.
    """
    return seconds >= TRIAL_SECONDS and seconds / done * left >= WORTH_SECONDS


def _forked(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import active_children, get_context

    before = {*active_children()}
    begin = (lambda number: work(items[number]), os.getpid())
    try:
        with warnings.catch_warnings():
            # of the threads of a library for matrices, which knows of forks
            warnings.simplefilter("ignore", DeprecationWarning)
            with ProcessPoolExecutor(2, get_context("fork"), _begin, begin) as pool:
                return list(
                    pool.map(_turn, range(len(items)), chunksize=-(-len(items) // FORK_ROUNDS))
                )
    except (BrokenProcessPool, OSError):  # one was killed, or there may be no more processes
        for child in {*active_children()} - before:
            child.kill()
            child.join()
        return [work(item) for item in items]  # an error of the work is raised here


def _begin(of_number: Callable[[int], Any], parent: int) -> None:
    """A fork ends with its parent, which alone answers to the keyboard."""
    import ctypes

    _assigned.append(of_number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it was faster
        os._exit(1)


def _turn(number: int) -> Any:
    return _assigned[-1](number)


def processors() -> list[int]:
    """The numbers of the processors that this process may use; all where the system has no such
    limits.
    """
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
