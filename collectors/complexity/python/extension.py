"""The recorder in C, compiled for the interpreter that a command starts."""

from __future__ import annotations

from pathlib import Path

from perfvcs.collector import Run
from perfvcs.collectors._shared.extension import extension
from perfvcs.collectors.complexity import inside

SLOW_RECORDING = "calls are recorded in Python, which takes longer"


def compiled_recorder(run: Run) -> tuple[list[tuple[str, Path]], str | None]:
    """The compiled recorder with the tag of the interpreters that can load it, in a list that is empty where there is none; and why."""
    modules, reason = extension(run, inside.COMPLEXITY_INSIDE / "tracer.c")
    return modules, f"{SLOW_RECORDING}: {reason}" if reason else None
