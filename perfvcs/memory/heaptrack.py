"""Allocations as heaptrack counts them: calls, and bytes at the peak and never freed; it does not add up all bytes."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

from perfvcs.collector import CollectError, Run
from perfvcs.launcher.execution import name_command
from perfvcs.memory import Frame, Heap, Request, Site, Stack, largest, printable
from perfvcs.memory.program import check, execute
from perfvcs.memory.trail import part

ENGINE = "heaptrack/1"
COSTS = ("allocations", "peak", "leaked")
MAX_BYTES = 1 << 28  # of one list of stacks
PATIENCE = 600.0  # seconds for reading a recording
ADDRESS = re.compile(r"0x[0-9a-f]+")  # another one each time
FRAME = re.compile(r"(?P<name>.*) \((?P<file>[^()]+)\)")
NUMBER = re.compile(r"-?[0-9]{1,18}")


def record(run: Run, request: Request) -> Heap:
    """Execute once under heaptrack, which follows the first process only; raises CollectError."""
    check(run.argv[0])
    tool, printer = shutil.which("heaptrack"), shutil.which("heaptrack_print")
    if tool is None or printer is None:
        raise CollectError("memory: there is no heaptrack: apt install heaptrack", lasting=True)
    folder = run.scratch / "heaptrack"
    folder.mkdir()
    execute(run, {}, (tool, "-o", str(folder / "recording")))
    recording = next(folder.glob("recording*"), None)
    if recording is None:
        raise CollectError(f"{name_command(run.argv)}: heaptrack wrote nothing: does `heaptrack` run this program by hand?")
    columns: defaultdict[Stack, dict[str, float]] = defaultdict(lambda: dict.fromkeys(COSTS, 0.0))
    for cost in COSTS:
        for stack, value in _stacks(printer, recording, cost, run, request.depth):
            columns[stack][cost] += value
    sites = [
        Site(stack, count=found["allocations"], peak=found["peak"], leaked=found["leaked"]) for stack, found in columns.items()
    ]
    if not any(found["allocations"] for found in columns.values()):
        raise CollectError(
            f"{name_command(run.argv)}: heaptrack recorded nothing: it follows only the first program, while that keeps its files open; "
            'set recorder = "shim"'
        )
    total = {cost: sum(found[cost] for found in columns.values()) for cost in COSTS}
    return Heap(
        engine=ENGINE,
        peak=total["peak"],
        count=total["allocations"],
        leaked=total["leaked"],
        sites=largest(sites, request.sites),
    )


def _stacks(printer: str, recording: Path, cost: str, run: Run, depth: int) -> list[tuple[Stack, float]]:
    """What heaptrack's own printer makes of a recording: one line per stack, root first, and a number."""
    path = recording.with_name(f"{cost}.txt")
    command = [
        printer, "-f", str(recording), "-p", "0", "-a", "0", "-l", "0", "-T", "0", "-F", str(path), "--flamegraph-cost-type", cost,
    ]  # fmt: skip
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CollectError(
            f"{name_command(run.argv)}: heaptrack_print failed ({printable(str(error), 200)}): give it less to do"
        ) from None
    if done.returncode or not path.exists():
        raise CollectError(f"{name_command(run.argv)}: heaptrack_print cannot read what heaptrack wrote: update heaptrack")
    return parsed(part(path, 0, MAX_BYTES).decode(errors="replace"), depth)


def parsed(said: str, depth: int) -> list[tuple[Stack, float]]:
    """Each stack, innermost first and at most ``depth`` frames of it, with its number; lines without one are left out."""
    found = []
    for line in said.split("\n"):
        frames, _, value = line.rpartition(" ")
        if frames and NUMBER.fullmatch(value):
            stack = tuple(_frame(frame.strip()) for frame in reversed(frames.split(";")) if frame.strip())
            found.append((stack[:depth], float(value)))
    return found


def _frame(said: str) -> Frame:
    match = FRAME.fullmatch(printable(said))
    name, file = (match["name"], match["file"]) if match else (printable(said), "")
    return ("(unknown)" if ADDRESS.fullmatch(name) else name, file, "")
