"""What stands at the start and at the end of a function that is recorded in pure Python, and where
a generator or coroutine is suspended, whose clock stands still meanwhile.
"""

from __future__ import annotations

import _ast as ast
import sys
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from perfvcs.collectors.complexity.inside.python.perfvcs_recorder import Recorder, RunningCalls
    from perfvcs.collectors.complexity.inside.python.perfvcs_samples import FunctionSamples
    from perfvcs.collectors.complexity.inside.python.perfvcs_sizes import exact
else:
    exact = _module("perfvcs_sizes").exact  # noqa: F821 - the hook's
    RunningCalls, Recorder = (
        _module("perfvcs_recorder").RunningCalls,  # noqa: F821
        _module("perfvcs_recorder").Recorder,  # noqa: F821
    )


class Probe:
    """What stands in the body of one function: ``entering`` gives the statement at its start,
    ``leaving`` that at its end; ``begin(size)`` where it yields.

    ``enter(size)`` is for a size that failed, ``interrupted(frame)`` for a call that a signal ended
    at its start. ``current()`` is the handle of the running call of a generator or coroutine,
    ``pause(value)`` stops its clock and returns the value.
    """

    def __init__(self, recorder: Recorder, function: FunctionSamples) -> None:
        self.recorder = recorder
        self.local, self.enter, self.leave, self.interrupted = probes(recorder, function)
        self.begin, self.pause, self.current = suspending(recorder, function, self.local)

    def entering(self, size: Any, *, whole: bool, constant: Callable[[object], Any]) -> Any:
        """The statement that notes the start of a call, by the expressions of the size (``whole``:
        surely an int) and of constants.

        It calls no function of ours unless it must: that is a good part of what a probe takes.
        """
        if not whole:
            size = ast.Call(func=constant(exact), args=[size], keywords=[])
        load = ast.Load()
        spent = ast.Attribute(value=constant(self.recorder), attr="spent", ctx=load)
        entry = ast.Tuple(
            elts=[size, spent, ast.Call(func=constant(perf_counter), args=[], keywords=[])],
            ctx=load,
        )
        calls = ast.Attribute(value=constant(self.local), attr="calls", ctx=load)
        return ast.Expr(
            ast.Call(
                func=ast.Attribute(value=calls, attr="append", ctx=load), args=[entry], keywords=[]
            )
        )

    def limited(self, constant: Callable[[object], Any]) -> Any:  # noqa: ARG002
        """The statement for a call that cannot be noted since recursion is at its limit: the
        program hears of that one call earlier.
        """
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
            number = guess(*values)
            recorder.spent += perf_counter() - start
            return number

        return size


class Recording(Recorder):
    """A recorder that makes the probes of functions."""

    __slots__ = ()

    def probe(self, index: int, *, stored: bool = True) -> Probe:  # noqa: ARG002
        """The probe of one function."""
        return Probe(self, self.function(index))


def probes(recorder: Recorder, function: FunctionSamples) -> tuple[Any, ...]:
    """The stacks of a function, and its ``enter``, ``leave`` and ``interrupted``."""
    clock, local, skips, total = (
        perf_counter,
        RunningCalls(recorder),
        function.skips,
        recorder.total,
    )

    def enter(size: float) -> None:
        local.calls.append((size, recorder.spent, clock()))

    def leave(end: float, calls: list[Any]) -> None:
        # near the limit of recursion nothing can be called: the program is about to hear of that
        try:
            size, before, start = calls.pop()
        except RecursionError:
            del calls[-1]
            return
        try:
            if calls:
                if (
                    recorder.outermost
                    and calls[-1] is not None
                    and (len(calls) > 2 or goes_on(calls))
                ):
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
        """Whether another call of the function runs in this thread; what the handler of a signal
        left over is forgotten.
        """
        begun = clock()
        recursive = running(sys._getframe(2)) > 1
        if not recursive:
            calls[:] = [None] if recorder.careful else []
        recorder.spent += clock() - begun
        return recursive

    def own(size: Any, before: float) -> tuple[Any, float]:
        """The size, None when the call is not to be recorded; and what this thread had spent
        before.
        """
        return None if recorder.thread().held else size, recorder.own(before)

    def take(size: Any, before: float, start: float, end: float) -> None:
        begun = clock()
        # else it is not to be recorded, or began in the process of which this one was forked
        if size is not None:
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


def suspending(
    recorder: Recorder, function: FunctionSamples, local: RunningCalls
) -> tuple[Callable[..., Any], ...]:
    """``begin``, ``pause`` and ``current`` of a generator or coroutine."""
    clock, live = perf_counter, function.live

    class Handle:
        """One call: it runs in pieces, and what it took is their sum."""

        __slots__ = (
            "before",
            "calls",
            "cost",
            "first",
            "frame",
            "recorded",
            "running",
            "size",
            "start",
            "taken",
        )

        def __init__(self, size: Any) -> None:
            self.size = exact(size)
            self.running = False
            self.taken = self.cost = 0.0

        def __enter__(self) -> None:
            calls = local.calls
            self.recorded = (
                not (recorder.outermost and calls and calls[-1] is not None)
                and not recorder.thread().held
            )
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
        # an asynchronous comprehension has a frame of its own before Python 3.12
        while id(frame) not in live:
            frame = frame.f_back  # type: ignore[assignment]
        handle: Handle = live[id(frame)]
        handle.resume()  # it stands still when an exception was thrown into it where it had yielded
        return handle

    def pause(value: Any) -> Any:
        local.calls[-1].pause()
        return value

    return Handle, pause, current
