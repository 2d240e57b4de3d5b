"""Work in two processes: half of it in a fork of this one."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def halved(work: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], least: int = 16) -> list[Result]:
    """``work`` on all items, with one result each in their order: every second one by a fork of this process, which sees all that it does.

    In this process alone where there are fewer than ``least`` items, one processor, or other threads, which a fork would not have. What the
    fork could not do is done here, where its error can be told. Results are pickled; nothing else that the work changes comes back.
    """
    if len(items) < least or _processors() < 2 or threading.active_count() > 1:
        return work(items)
    here, there = items[::2], items[1::2]
    source, sink = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the threads of a library for matrices, which knows of forks
        fork = os.fork()
    if not fork:
        _answer(work, there, source, sink)
    os.close(sink)
    ended = False
    try:
        first = work(here)
        with open(source, "rb", closefd=False) as answer:
            told = answer.read()
        ended = True
    finally:
        os.close(source)
        if not ended:
            os.kill(fork, signal.SIGKILL)
        status = os.waitpid(fork, 0)[1]
    second: list[Result] = pickle.loads(told) if status == 0 else work(there)
    found: list[Result] = [*first, *second]
    found[::2], found[1::2] = first, second
    return found


def _answer(work: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], source: int, sink: int) -> None:
    """The fork's whole life: nothing of what this process would do at its end is done twice."""
    status = 1
    with suppress(BaseException):
        os.close(source)
        with open(sink, "wb") as answer:
            pickle.dump(work(items), answer, pickle.HIGHEST_PROTOCOL)
        status = 0
    os._exit(status)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
