"""Work in two processes: this one and a fork of it take turns."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

FEWEST_ITEMS = 16  # items for which a fork is worth it
NUMBER = 4  # bytes
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
ROOM = 4096  # bytes that any pipe takes at once


def shared(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``work`` on each of the items, with the results in their order: this process and a fork take the next one in turn.

    In this process alone where there are fewer than 16 items, one processor, or other threads, which a fork would not have. What the fork
    could not do is done here, where its error can be told. Results are pickled; nothing else that the work changes comes back. The work
    must not use SQLite, whose connections no fork may touch.
    """
    if len(items) < FEWEST_ITEMS or _processors() < 2 or threading.active_count() > 1:
        return [work(item) for item in items]
    import pickle  # before the fork, which would come too late otherwise

    turns = _turns(len(items))
    source, sink = os.pipe()
    parent = os.getpid()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the threads of a library for matrices, which knows of forks
            fork = os.fork()
    except OSError:  # there may be no more processes
        for end in (turns, source, sink):
            os.close(end)
        return [work(item) for item in items]
    if not fork:
        _answer(work, items, turns, source, sink, parent)
    os.close(sink)
    ended = False
    try:
        found = _taken(work, items, turns)
        with open(source, "rb", closefd=False) as answer:
            told = answer.read()
        ended = True
    finally:
        os.close(source)
        while not ended and os.read(turns, ROOM):
            pass  # the fork ends with the item that it has
        os.close(turns)
        status = os.waitpid(fork, 0)[1]
    if status == 0:
        found |= pickle.loads(told)
    return [found[number] if number in found else work(items[number]) for number in range(len(items))]


def _turns(count: int) -> int:
    """A pipe of the numbers at which a turn begins: whoever reads the next one takes what is there up to the one after it."""
    source, sink = os.pipe()
    length = _length(count)
    os.write(sink, b"".join(number.to_bytes(NUMBER, "little") for number in range(0, count, length)))
    os.close(sink)
    return source


def _length(count: int) -> int:
    """How many items are one turn, so that the pipe takes all numbers at once."""
    return -(-count * NUMBER // ROOM)


def _taken(work: Callable[[Item], Result], items: Sequence[Item], turns: int) -> dict[int, Result]:
    """The results of this process by the numbers of their items."""
    length, found = _length(len(items)), {}
    while taken := os.read(turns, NUMBER):
        first = int.from_bytes(taken, "little")
        for number in range(first, min(first + length, len(items))):
            found[number] = work(items[number])
    return found


def _answer(work: Callable[[Item], Result], items: Sequence[Item], turns: int, source: int, sink: int, parent: int) -> None:
    """The fork's whole life, which ends with its parent's: nothing of what this process would do at its end is done twice."""
    status = 1
    with suppress(BaseException):
        import ctypes
        import pickle  # it is loaded

        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:  # it was faster
            os._exit(status)
        os.close(source)
        with open(sink, "wb") as answer:
            pickle.dump(_taken(work, items, turns), answer, pickle.HIGHEST_PROTOCOL)
        status = 0
    os._exit(status)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
