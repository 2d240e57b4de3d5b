"""Calls of functions in C and C++: the only way in to their recorder, which README.md describes."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Literal

from perfvcs.collectors.complexity.native.elf import COMPILER_FLAGS

if TYPE_CHECKING:
    from perfvcs.collectors.complexity.calls import Calls, RecordingRequest
    from perfvcs.plugins.collector import Run

Tracer = Literal["fentry", "uftrace"]


def flags(tracer: Tracer) -> tuple[str, ...]:
    """What compilers must be given so that a program can be recorded on this machine."""
    return COMPILER_FLAGS if tracer == "fentry" and platform.machine() == "x86_64" else ()


def record(run: Run, request: RecordingRequest, tracer: Tracer) -> Calls:
    """Execute once and record the calls of the functions; raises CollectError, with what there is when the program failed half way."""
    if tracer == "uftrace":
        from perfvcs.collectors.complexity.native import uftrace

        return uftrace.record(run, request)
    from perfvcs.collectors.complexity.native import fentry

    return fentry.record(run, request)
