"""Durations of calls and their sizes in pure Python: a bounded sample per function and bucket of sizes, written as records.

It is what records where no C compiler is. The format of the file is that of ``perfvcs.complexity.recording``.
"""

from __future__ import annotations

import _ast as ast
import os
import sys
from _random import Random  # the program's own random numbers must stay what they are
from _struct import Struct  # of the modules that have no _ the program may have its own
from _thread import _local, allocate_lock
from math import inf, isnan, nan
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from perfvcs.native.tracing import perfvcs_sizes as sizes
    from perfvcs.native.tracing.perfvcs_samples import Function
else:
    sizes, Function = _module("perfvcs_sizes"), _module("perfvcs_samples").Function  # noqa: F821 - the hook's

HEADER = Struct("<8sII")
MAGIC, VERSION = b"PVCSCALL", 1
INTERVAL = 0.05  # seconds after which the file is written anew
SAVED = 20  # and this many times what the last writing took
PATIENCE = 2.0  # seconds for another thread to write; the handler of a signal may have kept it from telling that it has


class Probe:
    """What stands in the body of one function: ``entering`` gives the statement at its start, ``leaving`` that at its end; ``begin(size)``
    where it yields.

    ``enter(size)`` is for a size that failed, ``interrupted(frame)`` for a call that a signal ended at its start. ``current()`` is
    the handle of the running call of a generator or coroutine, ``pause(value)`` stops its clock and returns the value.
    """

    def __init__(self, recorder: Recorder, function: Function) -> None:
        self.recorder = recorder
        self.local, self.enter, self.leave, self.interrupted = probes(recorder, function)
        self.begin, self.pause, self.current = suspending(recorder, function, self.local)

    def entering(self, size: Any, whole: bool, constant: Callable[[object], Any]) -> Any:
        """The statement that notes the start of a call, by the expressions of the size (``whole``: surely an int) and of constants.

        It calls no function of ours unless it must: that is a good part of what a probe takes.
        """
        if not whole:
            size = ast.Call(func=constant(exact), args=[size], keywords=[])
        load = ast.Load()
        spent = ast.Attribute(value=constant(self.recorder), attr="spent", ctx=load)
        entry = ast.Tuple(elts=[size, spent, ast.Call(func=constant(perf_counter), args=[], keywords=[])], ctx=load)
        calls = ast.Attribute(value=constant(self.local), attr="calls", ctx=load)
        return ast.Expr(ast.Call(func=ast.Attribute(value=calls, attr="append", ctx=load), args=[entry], keywords=[]))

    def limited(self, constant: Callable[[object], Any]) -> Any:  # noqa: ARG002
        """The statement for a call that cannot be noted since recursion is at its limit: the program hears of that one call earlier."""
        return ast.Raise()

    def leaving(self, constant: Callable[[object], Any]) -> Any:
        """The statement that notes the end of a call."""
        now = ast.Call(func=constant(perf_counter), args=[], keywords=[])
        calls = ast.Attribute(value=constant(self.local), attr="calls", ctx=ast.Load())
        return ast.Expr(ast.Call(func=constant(self.leave), args=[now, calls], keywords=[]))

    def guessing(self, guess: Any) -> Any:
        """What gives the size of a call, and charges for it."""
        recorder = self.recorder

        def size(*values: Any) -> Any:
            start = perf_counter()
            found = guess(*values)
            recorder.spent += perf_counter() - start
            return found

        return size


def exact(size: Any) -> Any:
    """A size as a number whose hash and comparison are not the program's; raises what the conversion raises, ValueError for infinity."""
    if type(size) is int:
        return size
    if isinstance(size, (str, bytes, bytearray)):
        raise TypeError(f"{type(size).__name__} is not a number")
    value = float(size)
    if value in (inf, -inf):
        raise ValueError(f"{value} is not a finite number")
    return nan if isnan(value) else value  # always the same one, so that it is found again


class Thread:
    """What is known of one thread: the stacks of its calls, by function; whether it computes a size; ``spent`` when another took over."""

    __slots__ = ("held", "left", "stacks")

    def __init__(self) -> None:
        self.stacks: list[list[Any]] = []
        self.held = False
        self.left = 0.0


class Calls(_local):
    """The running calls of one function in this thread, as (size, what was spent before, start), or the handle of a suspendable one.

    Where ``recorder.careful`` there is None at the bottom: so a call that ends looks no further as long as it leaves an empty stack.
    """

    def __init__(self, recorder: Recorder) -> None:
        thread = recorder.thread()
        self.calls: list[Any] = [None] if recorder.careful else []
        thread.stacks.append(self.calls)


class Recorder:
    """Makes the probes of functions and keeps what they record in the file ``path()`` of this process.

    ``spent`` is what recording has cost until now, in seconds, as part of the duration of whoever is running; ``inside`` is what a probe
    takes within the call that it measures, ``total`` what it takes in all.
    """

    __slots__ = (
        "careful", "due", "functions", "inside", "keep", "local", "lock",
        "outermost", "path", "random", "spent", "threads", "total", "turn",
    )  # fmt: skip
    engine = "rewrite/1"

    def __init__(self, path: Callable[[], str], keep: int, outermost: bool, due: float = 0.0) -> None:
        self.path = path
        self.keep = keep
        self.outermost = outermost
        self.due = due  # when the file is to be written
        self.functions: list[Function] = []
        self.random = Random()
        self.lock = allocate_lock()
        self.spent = self.inside = self.total = 0.0
        self.local = _local()
        self.threads: list[Thread] = []
        self.careful = False  # there are several threads, or one computes sizes
        self.turn = self.thread()  # the thread that ended a call last

    def probe(self, index: int, stored: bool = True) -> Probe:  # noqa: ARG002
        """The probe of one function."""
        self.functions.append(Function(index, self.keep, self.random))
        return Probe(self, self.functions[-1])

    def set_costs(self, inside: float, total: float) -> None:
        """Subtract this for each call, in ns."""
        self.inside, self.total = inside / 1e9, total / 1e9

    def charge(self, cost: float) -> None:
        """Count this, in ns, as spent on recording."""
        self.spent += cost / 1e9

    def last_duration(self) -> float:
        """The duration of the latest call of the first function, in ns; the next one will be taken too."""
        function = self.functions[0]
        for sample in function.kept.values():
            sample.skips.clear()
            sample.more = 0
        return function.latest * 1e9

    def thread(self) -> Thread:
        """The thread that runs this."""
        try:
            return self.local.thread  # type: ignore[no-any-return]
        except AttributeError:
            thread = self.local.thread = Thread()
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
        """What was spent before a call of this thread, without what others spent while it did not have its turn."""
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

    def hold(self, on: bool) -> bool:
        """Record no calls of this thread from now on, or do again; returns how it was."""
        self.take_care()
        thread = self.thread()
        before, thread.held = thread.held, on
        return before

    def forget(self) -> None:
        """Start anew, in a forked child: what was recorded until then belongs to the parent, and so do the calls that run."""
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
        """Write the file anew and rename it into place; on a full disk or without the folder nothing is written."""
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
            if sizes.of_program(error):
                raise


def probes(recorder: Recorder, function: Function) -> tuple[Any, ...]:
    """The stacks of a function, and its ``enter``, ``leave`` and ``interrupted``."""
    clock, local, skips, total = perf_counter, Calls(recorder), function.skips, recorder.total

    def enter(size: float) -> None:
        local.calls.append((size, recorder.spent, clock()))

    def leave(end: float, calls: list[Any]) -> None:
        try:  # near the limit of recursion nothing can be called: the program is about to hear of that
            size, before, start = calls.pop()
        except RecursionError:
            del calls[-1]
            return
        try:
            if calls:
                if recorder.outermost and calls[-1] is not None and (len(calls) > 2 or goes_on(calls)):
                    recorder.spent += total
                    return
                size, before = own(size, before)
            try:
                skips[size].pop()
            except LookupError:
                take(size, before, start, end)
        except RecursionError:
            return
        recorder.spent += total

    def goes_on(calls: list[Any]) -> bool:
        """Whether another call of the function runs in this thread; what the handler of a signal left over is forgotten."""
        begun = clock()
        found = running(sys._getframe(2)) > 1
        if not found:
            calls[:] = [None] if recorder.careful else []
        recorder.spent += clock() - begun
        return found

    def own(size: Any, before: float) -> tuple[Any, float]:
        """The size, None when the call is not to be recorded; and what this thread had spent before."""
        return None if recorder.thread().held else size, recorder.own(before)

    def take(size: Any, before: float, start: float, end: float) -> None:
        begun = clock()
        if size is not None:  # else it is not to be recorded, or began in the process of which this one was forked
            function.offer(size, start, end - start, recorder.spent - before + recorder.inside)
        if begun >= recorder.due:
            recorder.keep_house(begun)
        recorder.spent += clock() - begun

    def interrupted(frame: Any) -> None:
        """Forget the call of a frame that ends at its start, when it is noted already."""
        if sum(entry is not None for entry in local.calls) >= running(frame):
            local.calls.pop()

    return local, enter, leave, interrupted


def running(frame: Any) -> int:
    """How many calls of the function of a frame run in this thread."""
    code, count = frame.f_code, 0
    while frame is not None:
        count += frame.f_code is code
        frame = frame.f_back
    return count


def suspending(recorder: Recorder, function: Function, local: Calls) -> tuple[Callable[..., Any], ...]:
    """``begin``, ``pause`` and ``current`` of a generator or coroutine."""
    clock, live = perf_counter, function.live

    class Handle:
        """One call: it runs in pieces, and what it took is their sum."""

        __slots__ = ("before", "calls", "cost", "first", "frame", "recorded", "running", "size", "start", "taken")

        def __init__(self, size: Any) -> None:
            self.size = exact(size)
            self.running = False
            self.taken = self.cost = 0.0

        def __enter__(self) -> None:
            calls = local.calls
            self.recorded = not (recorder.outermost and calls and calls[-1] is not None) and not recorder.thread().held
            function.begun += self.recorded
            self.frame = id(sys._getframe(1))
            live[self.frame] = self
            self.resume()
            self.first = self.start

        def resume(self) -> None:
            if self.running:
                return
            self.running = True
            self.calls = local.calls
            self.calls.append(self)
            self.before = recorder.spent
            self.start = clock()

        def pause(self) -> None:
            end = clock()
            if not self.running:
                return
            self.running = False
            self.taken += end - self.start
            self.cost += recorder.spent - recorder.own(self.before) + recorder.inside
            if self in self.calls:
                self.calls.remove(self)
            recorder.spent += recorder.total

        def __exit__(self, kind: Any, *_: object) -> None:
            self.pause()
            live.pop(self.frame, None)
            if self.recorded and kind is not GeneratorExit:
                begun = clock()
                function.begun -= 1
                function.offer(self.size, self.first, self.taken, self.cost)
                if begun >= recorder.due:
                    recorder.keep_house(begun)
                recorder.spent += clock() - begun

    def current() -> Handle:
        frame = sys._getframe(1)
        while id(frame) not in live:  # an asynchronous comprehension has a frame of its own before Python 3.12
            frame = frame.f_back  # type: ignore[assignment]
        handle: Handle = live[id(frame)]
        handle.resume()  # it stands still when an exception was thrown into it where it had yielded
        return handle

    def pause(value: Any) -> Any:
        local.calls[-1].pause()
        return value

    return Handle, pause, current
