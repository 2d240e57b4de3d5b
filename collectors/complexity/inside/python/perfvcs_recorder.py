"""Durations of calls and their sizes in pure Python: a bounded sample per function and bucket of
sizes, written as records.

It is what records where no C compiler is. The format of the file is that of
``perfvcs.collectors.complexity.calls``.
"""

from __future__ import annotations

import os
from _random import Random  # the program's own random numbers must stay what they are
from _struct import Struct  # of the modules that have no _ the program may have its own
from _thread import _local, allocate_lock
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from perfvcs.collectors.complexity.inside.python.perfvcs_samples import FunctionSamples
    from perfvcs.collectors.complexity.inside.python.perfvcs_sizes import of_program
else:
    FunctionSamples, of_program = (
        _module("perfvcs_samples").FunctionSamples,  # noqa: F821
        _module("perfvcs_sizes").of_program,  # noqa: F821
    )

HEADER = Struct("<8sII")
MAGIC, VERSION = b"PVCSCALL", 1
INTERVAL = 0.05  # seconds after which the file is written anew
SAVED = 20  # and this many times what the last writing took
# seconds for another thread to write; the handler of a signal may have kept it from telling that it
# has
PATIENCE = 2.0


class ThreadState:
    """What is known of one thread: the stacks of its calls, by function; whether it computes a
    size; ``spent`` when another took over.
    """

    __slots__ = ("held", "left", "stacks")

    def __init__(self) -> None:
        self.stacks: list[list[Any]] = []
        self.held = False
        self.left = 0.0


class Recorder:
    """Keeps what the probes of functions record in the file ``path()`` of this process.

    ``spent`` is what recording has cost until now, in seconds, as part of the duration of whoever
    is running; ``inside`` is what a probe takes within the call that it measures, ``total`` what it
    takes in all.
    """

    __slots__ = (
        "careful",
        "due",
        "functions",
        "inside",
        "keep",
        "local",
        "lock",
        "outermost",
        "path",
        "random",
        "spent",
        "threads",
        "total",
        "turn",
    )
    engine = "rewrite/1"

    def __init__(
        self, path: Callable[[], str], keep: int, *, outermost: bool, due: float = 0.0
    ) -> None:
        self.path = path
        self.keep = keep
        self.outermost = outermost
        self.due = due  # when the file is to be written
        self.functions: list[FunctionSamples] = []
        self.random = Random()
        self.lock = allocate_lock()
        self.spent = self.inside = self.total = 0.0
        self.local = _local()
        self.threads: list[ThreadState] = []
        self.careful = False  # there are several threads, or one computes sizes
        self.turn = self.thread()  # the thread that ended a call last

    def function(self, index: int) -> FunctionSamples:
        """One more function that is recorded."""
        self.functions.append(FunctionSamples(index, self.keep, self.random))
        return self.functions[-1]

    def set_costs(self, inside: float, total: float) -> None:
        """Subtract this for each call, in ns."""
        self.inside, self.total = inside / 1e9, total / 1e9

    def charge(self, cost: float) -> None:
        """Count this, in ns, as spent on recording."""
        self.spent += cost / 1e9

    def last_duration(self) -> float:
        """The duration of the latest call of the first function, in ns; the next one will be taken
        too.
        """
        function = self.functions[0]
        for sample in function.kept.values():
            sample.skips.clear()
            sample.more = 0
        return function.latest * 1e9

    def thread(self) -> ThreadState:
        """The thread that runs this."""
        try:
            return self.local.thread  # type: ignore[no-any-return]
        except AttributeError:
            thread = self.local.thread = ThreadState()
            self.threads.append(thread)
            thread.left = self.spent
            if len(self.threads) > 1:
                self.take_care()
            return thread

    def take_care(self) -> None:
        """Have every call that ends look whose turn it is, from now on."""
        if not self.careful:
            self.careful = True
            for thread in self.threads:
                for calls in thread.stacks:
                    calls.insert(0, None)

    def own(self, before: float) -> float:
        """What was spent before a call of this thread, without what others spent while it did not
        have its turn.
        """
        if self.careful and (thread := self.thread()) is not self.turn:
            self.turn.left, left, now = self.spent, thread.left, self.spent
            self.turn = thread
            for calls in thread.stacks:
                for at, entry in enumerate(calls):
                    if type(entry) is tuple:
                        calls[at] = (entry[0], entry[1] + now - max(entry[1], left), entry[2])
                    elif entry is not None:
                        entry.before += now - max(entry.before, left)
            before += now - max(before, left)
        return before

    def hold(self, on: bool, /) -> bool:  # noqa: FBT001 - called as the recorder in C is
        """Record no calls of this thread from now on, or do again; returns how it was."""
        self.take_care()
        thread = self.thread()
        before, thread.held = thread.held, on
        return before

    def forget(self) -> None:
        """Start anew, in a forked child: what was recorded until then belongs to the parent, and so
        do the calls that run.
        """
        self.lock = allocate_lock()
        self.random.seed()
        for function in self.functions:
            function.clear()
        self.threads = [self.thread()]
        for calls in self.threads[0].stacks:
            calls[:] = [(None, *entry[1:]) if type(entry) is tuple else entry for entry in calls]

    def keep_house(self, now: float) -> None:
        """Write the file; later again."""
        self.due = now + INTERVAL  # other threads go on meanwhile
        if not self.lock.acquire(False):
            return
        try:
            self._write()
        except RecursionError:
            pass  # the program is near its limit: later will do
        finally:
            self.lock.release()
        self.due = now + max(INTERVAL, SAVED * (perf_counter() - now))

    def save(self) -> None:
        """Write what was recorded, at the end of the process, which nothing may disturb."""
        free = self.lock.acquire(True, PATIENCE)
        self._write()
        if free:
            self.lock.release()

    def _write(self) -> None:
        """Write the file anew and rename it into place; on a full disk or without the folder
        nothing is written.
        """
        content = b"".join(function.records() for function in self.functions)
        if not content:
            return
        path = self.path()
        try:
            descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                rest = memoryview(HEADER.pack(MAGIC, VERSION, len(self.functions)) + content)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
            finally:
                os.close(descriptor)
            os.rename(path + ".new", path)  # noqa: PTH104
        except OSError as error:
            if of_program(error):
                raise


class RunningCalls(_local):
    """The running calls of one function in this thread, as (size, what was spent before, start), or
    the handle of a suspendable one.

    Where ``recorder.careful`` there is None at the bottom: so a call that ends looks no further as
    long as it leaves an empty stack.
    """

    def __init__(self, recorder: Recorder) -> None:
        thread = recorder.thread()
        self.calls: list[Any] = [None] if recorder.careful else []
        thread.stacks.append(self.calls)
