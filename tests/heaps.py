"""Programs whose allocations are known: their first line tells them (``tests/native/memory``), and
what the collector says of them.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conftest import TESTS

from perfvcs import plugins
from perfvcs.plugins.collector import Observations, Run

SOURCES = TESTS / "native" / "memory"
TOLD = re.compile(
    r"/\* allocates (?P<count>\d+) blocks, (?P<bytes>\d+) bytes, at most (?P<peak>\d+), leaves"
    r" (?P<leaked>\d+), in (?P<functions>.+) \*/"
)
COLUMNS = ("count", "bytes", "peak", "leaked")


@dataclass(frozen=True)
class Known:
    """One program: the functions that allocate, and what they do in all, by COLUMNS."""

    source: Path
    functions: tuple[str, ...]
    totals: Mapping[str, float]

    @classmethod
    def of(cls, source: Path) -> Known:
        """What the first line of a source tells."""
        first = source.read_text().partition("\n")[0]
        told = TOLD.fullmatch(first)
        assert told, f"{source.name} does not tell what it allocates: {first}"
        return cls(
            source, tuple(told["functions"].split()), {name: float(told[name]) for name in COLUMNS}
        )

    def build(self, folder: Path, *options: str) -> Path:
        """Compile it, and the libraries that it loads, into ``folder``."""
        program = folder / self.source.stem
        for library in SOURCES.glob(f"{self.source.stem}.*.so.c"):
            compile_(library, folder / library.stem, "-shared", "-fPIC", *options)
        return compile_(self.source, program, *options)


def compile_(source: Path, target: Path, *options: str) -> Path:
    """One source with debug information, optimised unless the options say otherwise."""
    compiler = "g++" if source.suffix == ".cpp" else "gcc"
    command = [
        compiler,
        "-std=gnu++17" if source.suffix == ".cpp" else "-std=gnu11",
        "-g",
        "-O1",
        "-w",
        "-fno-builtin",
    ]
    subprocess.run([*command, *options, "-o", target, source, "-pthread", "-ldl"], check=True)
    return target


def programs() -> list[Known]:
    """All programs whose allocations are known."""
    return [
        Known.of(path)
        for path in sorted(SOURCES.iterdir())
        if ".so." not in path.name and path.suffix in (".c", ".cpp")
    ]


def run_of(
    argv: tuple[str, ...],
    folder: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 300.0,
) -> Run:
    """A prepared run with a scratch folder of its own."""
    number = len(list(folder.glob("scratch-*")))
    scratch = folder / f"scratch-{number}"
    scratch.mkdir()
    return Run(
        argv,
        folder,
        {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **(env or {})},
        scratch,
        "whole",
        timeout,
    )


def measured(
    argv: tuple[str, ...], folder: Path, env: Mapping[str, str] | None = None, **options: object
) -> Observations:
    """What the collector with these options says of a command."""
    collector = plugins.build("collectors", "memory", options, "here")
    found: Observations = collector.collect(run_of(argv, folder, env))
    return found


def whole(found: Observations) -> dict[str, float | None]:
    """The row of the whole process."""
    row = found.uid.index("whole")
    return {name: found.values[name][row] for name in (*COLUMNS, "mapped")}


def of_functions(found: Observations, functions: tuple[str, ...]) -> dict[str, float]:
    """The sums of the sites of some functions, named with or without their parameters."""
    rows = [
        row
        for row, uid in enumerate(found.uid)
        if uid in functions or uid.partition("(")[0] in functions
    ]
    return {name: sum(found.values[f"site_{name}"][row] or 0.0 for row in rows) for name in COLUMNS}


def stacks_of(found: Observations, function: str) -> list[list[str]]:
    """The call stacks of a function's sites, innermost frame first."""
    assert found.stacks
    rows = [row for row, uid in enumerate(found.uid) if uid == function and found.trace[row] >= 0]
    return [
        [found.stacks.frames[frame] for frame in reversed(found.stacks.stacks[found.trace[row]])]
        for row in rows
    ]
