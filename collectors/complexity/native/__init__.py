"""Calls of functions in C and C++: the only way in to their recorder, which README.md describes."""

from __future__ import annotations

import platform

from perfvcs.collectors.complexity.calls import Calls, RecordingRequest
from perfvcs.collectors.complexity.native.elf import COMPILER_FLAGS
from perfvcs.plugins.collector import Run


def flags() -> tuple[str, ...]:
    """What compilers must be given so that a program can be recorded on this machine."""
    return COMPILER_FLAGS if platform.machine() == "x86_64" else ()


def record(run: Run, request: RecordingRequest) -> Calls:
    """Execute once and record the calls of the functions.

    Raises CollectError, with what there is when the program failed half-way.
    """
    from perfvcs.collectors.complexity.native import fentry

    return fentry.record(run, request)
