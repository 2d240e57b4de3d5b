"""Allocations as valgrind's DHAT counts them: exact and the same each time, at the price of a program that is many times slower."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from perfvcs.collector import CollectError, Run
from perfvcs.foreign import UNDECODABLE
from perfvcs.launcher.execution import name_command
from perfvcs.memory import Frame, Heap, Request, Site, largest, printable, short
from perfvcs.memory.program import check, execute
from perfvcs.memory.trail import part

ENGINE = "dhat/1"
MAX_BYTES = 1 << 28  # of one process' file
FRAME = re.compile(r"(?:0x[0-9A-Fa-f]+: )?(?P<name>.*?)(?: \((?P<object>in )?(?P<place>[^()]+)\))?", re.DOTALL)
FORKED = "memory: DHAT counts what a process had allocated before it forked for the child, too: measure programs that fork with the shim"


class Point(msgspec.Struct):
    """One stack: bytes and blocks in all, bytes at the peak and at the end, and its frames, innermost first."""

    fs: list[int]
    tb: float
    tbk: float
    gb: float = 0
    eb: float = 0


class Output(msgspec.Struct):
    """What DHAT writes for one process."""

    pps: list[Point]
    ftbl: list[str]


def record(run: Run, request: Request) -> Heap:
    """Execute once under valgrind; raises CollectError."""
    check(run.argv[0])
    tool = shutil.which("valgrind")
    if tool is None:
        raise CollectError("memory: there is no valgrind: apt install valgrind", lasting=True)
    folder = run.scratch / "dhat"
    folder.mkdir()
    options = (
        "--tool=dhat", "--quiet", "--trace-children=yes", f"--num-callers={request.depth}", "--fullpath-after=",
        f"--dhat-out-file={folder}/%p.json", f"--log-file={folder}/%p.log",
    )  # fmt: skip
    execute(run, {}, (tool, *options))
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise CollectError(f"{name_command(run.argv)}: DHAT wrote nothing: does `{tool} --tool=dhat` run this program by hand?")
    return heap(paths, run, request)


def heap(paths: Sequence[Path], run: Run, request: Request) -> Heap:
    """What the files of one execution's processes tell; raises CollectError."""
    try:
        outputs = [msgspec.json.decode(part(path, 0, MAX_BYTES), type=Output) for path in paths]
    except UNDECODABLE:
        raise CollectError(f"{name_command(run.argv)}: DHAT wrote a file that cannot be read: update valgrind") from None
    return _heap(outputs, run, request)


def _heap(outputs: Sequence[Output], run: Run, request: Request) -> Heap:
    peaks = [sum(point.gb for point in output.pps) for output in outputs]
    first = peaks.index(max(peaks))
    sites = []
    for number, output in enumerate(outputs):
        frames = [_frame(frame, run) for frame in output.ftbl]
        for point in output.pps:
            if not all(0 <= frame < len(frames) for frame in point.fs):
                raise CollectError(
                    f"{name_command(run.argv)}: DHAT wrote a file with frames that it does not name: update valgrind"
                )
            stack = tuple(frames[frame] for frame in point.fs)
            sites.append(Site(stack, point.tb, point.tbk, point.gb if number == first else 0.0, point.eb))
    points = [point for output in outputs for point in output.pps]
    return Heap(
        engine=ENGINE,
        peak=peaks[first],
        bytes=sum(point.tb for point in points),
        count=sum(point.tbk for point in points),
        leaked=sum(point.eb for point in points),
        sites=largest(sites, request.sites),
        warnings=[FORKED] if len(outputs) > 1 else [],
    )


def _frame(said: str, run: Run) -> Frame:
    match = FRAME.fullmatch(printable(said))
    if match is None or match["name"] == "???":
        return ("(unknown)", "", "")
    if match["object"] or not match["place"]:
        return (match["name"], "", match["place"] or "")
    return (match["name"], short(match["place"], run.cwd), "")
