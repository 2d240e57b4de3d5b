"""Calls that are suspended: generators and coroutines, whose clock stands still meanwhile; recorded
in pure Python.
"""

from __future__ import annotations

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
