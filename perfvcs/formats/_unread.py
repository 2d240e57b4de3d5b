"""Files that are known and not read, each with the command that makes one that is."""

from __future__ import annotations

import re
from typing import NamedTuple

HEAPTRACK = re.compile(rb"v [0-9a-f]{1,8}(?: [0-9a-f]{1,8})?\n")
PSTATS = re.compile(rb"[\xfb{][)\xa9(]\x03")  # a dictionary of marshal whose keys are triples
MEMRAY = re.compile(rb"(?:\x04\x22\x4d\x18.{0,12})?memray", re.DOTALL)  # in a frame of LZ4
FLAT = r"^ *[\d.]+ +[\d.]+ +(?P<value>[\d.]+) .*?(?P<name>\S+)$"  # of gprof
CALLS = r"^ *[\d/]+ +(?P<value>[\d.]+) +\S+ +\S+ +\S+ +(?P<name>\S.*)$"  # of pstats


class Unread(NamedTuple):
    """A kind of file, by how it begins or what it is called, and the command for it."""

    what: str
    begins: re.Pattern[bytes] | bytes
    suffix: str
    command: str


KINDS = (
    Unread(
        "gprof's counts",
        b"gmon",
        "gmon.out",
        "write `gprof -b -p PROGRAM {0} > flat.txt` and import flat.txt with --option unit=s"
        f" --regex '{FLAT}'",
    ),
    Unread("a recording of Linux perf", b"PERFILE2", "", "write `perf script -i {0}` into a file"),
    Unread(
        "Python's cProfile data",
        PSTATS,
        ".pstats",
        "write `echo stats | python -m pstats {0} > calls.txt` and import calls.txt with --option"
        f" unit=s --regex '{CALLS}'",
    ),
    Unread(
        "a recording of memray",
        MEMRAY,
        "",
        "write `memray transform csv {0} -o allocations.csv` and import that with --format csv"
        " --option uid=stack_trace --option metrics=size",
    ),
    Unread(
        "a recording of heaptrack",
        HEAPTRACK,
        "",
        "write `heaptrack_print {0} -F stacks.folded` and import stacks.folded",
    ),
    Unread(
        "a recording of Nsight Systems",
        b"\0none",
        ".nsys-rep",
        "write `nsys stats --report cuda_gpu_kern_sum --format csv {0}` into a file",
    ),
    Unread(
        "a recording of Nsight Compute",
        b"\0none",
        ".ncu-rep",
        "write `ncu --import {0} --csv` into a file",
    ),
    Unread(
        "a recording of Java's flight recorder",
        b"FLR\0",
        ".jfr",
        "write `jfrconv {0} stacks.collapsed`, which async-profiler brings, and import that",
    ),
    Unread(
        "a trace of .NET",
        b"Nettrace",
        ".nettrace",
        "write `dotnet-trace convert {0} --format Speedscope` and import what it writes",
    ),
    Unread("compressed by zstd", b"\x28\xb5\x2f\xfd", ".zst", "write `zstd -d {0}` first"),
)


def instead(name: str, head: bytes) -> str:
    """What a file of this name, beginning with these bytes, is, and the command that makes one that
    is read; empty for what is not known.
    """
    for kind in KINDS:
        begins = (
            head.startswith(kind.begins)
            if isinstance(kind.begins, bytes)
            else kind.begins.match(head) is not None
        )
        if begins or (kind.suffix and name.endswith(kind.suffix)):
            return f"is {kind.what}: {kind.command.replace('{0}', name)}"
    return ""
