"""How long a Python program imports, by package: its start-up."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from msgspec.structs import replace

from perfvcs.collectors._shared.commandrun import INTERPRETER_NAME, launched
from perfvcs.collectors._shared.unmodified import Unmodified
from perfvcs.environment import HEAP
from perfvcs.errors import UsageError
from perfvcs.native import start_folder
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import Metric
from perfvcs.system.foreign import printable

METRICS = {"import_time": Metric("s"), "module_time": Metric("s")}
# of Python, from 3.7 on: microseconds without and with what a module imports
LINE = re.compile(
    rb"import time: {1,30}(\d{1,15}) \| {1,30}\d{1,15} \| {0,2000}([^\s|]{1,300})\r?$", re.M
)
MICROSECOND = 1e-6
LARGEST = 1 << 26  # bytes of standard error
LAST = 2000  # of these where the program failed


@dataclass(frozen=True)
class Imports(Unmodified):
    """The seconds that a Python program, and the Python programs that it starts, take to import
    their modules: all of them, and each package by itself, without what it imports of others.

    ``packages``: those whose modules are units of their own, such as ``["shop"]``; of the others
    all modules are one unit. ``largest``: how many units are recorded, the slowest.
    """

    engine: ClassVar[str] = "importtime/1"
    metrics: ClassVar[Mapping[str, Metric]] = METRICS

    packages: tuple[str, ...] = ()
    largest: int = 100

    def __post_init__(self) -> None:
        if not 0 <= self.largest <= 10_000:
            raise UsageError(
                f"imports: largest is {self.largest!r}: give a number from 0 to 10,000"
            )

    def collect(self, run: Run) -> Observations:
        """Execute once; raises CollectError where it fails or imports nothing."""
        text = _errors(run)
        seconds: dict[str, float] = {}
        for match in LINE.finditer(text):
            name = self._unit(printable(match[2].decode("utf-8", "replace")))
            seconds[name] = seconds.get(name, 0.0) + int(match[1]) * MICROSECOND
        if not seconds:
            raise CollectError(
                f"imports: {Path(run.argv[0]).name} reports no import: it measures programs of"
                " Python 3.7 or newer that read their standard variables",
                lasting=True,
            )
        rows = Observations(values={name: [] for name in METRICS}, metrics=dict(METRICS))
        rows.add(run.uid, {"import_time": sum(seconds.values())}, size=run.size)
        slowest = sorted(seconds, key=lambda name: (-seconds[name], name))[: self.largest]
        for name in slowest:
            rows.add(name, {"module_time": seconds[name]}, size=run.size)
        return rows

    def _unit(self, module: str) -> str:
        """The unit to which a module belongs."""
        package = module.partition(".")[0]
        return module if package in self.packages else package


def _errors(run: Run) -> bytes:
    """What the program writes to standard error; raises CollectError where it fails."""
    from perfvcs import launcher
    from perfvcs.launcher.execution import failure

    path = run.scratch / "errors"
    argv = list(run.argv)
    if INTERPRETER_NAME.fullmatch(Path(argv[0]).name):  # it may ignore variables, by -I or -E
        argv[1:1] = ["-X", "importtime"]

    def watch() -> None:
        if path.stat().st_size > LARGEST:
            raise CollectError(
                f"imports: {Path(argv[0]).name} writes more than {LARGEST:,} bytes to standard"
                " error: have it write less",
                lasting=True,
            )

    with path.open("w+b") as file, open(os.devnull, "wb") as nothing:
        options = launcher.LaunchOptions(
            run.cpus, run.aslr, output=nothing.fileno(), errors=file.fileno(), watch=watch
        )
        env = {**_without_shuffle(run.env), "PYTHONPROFILEIMPORTTIME": "1"}
        execution = launched(run, argv, env=env, options=options)
        watch()
        file.seek(0)
        text = file.read(LARGEST)
    own = replace(execution, stderr="\n".join(_said(text)))
    reason = failure(run.argv, own, run.timeout)
    if reason and (execution.timed_out or not run.may_fail):
        raise CollectError(reason, lasting=execution.timed_out)
    return text


def _without_shuffle(env: Mapping[str, str]) -> dict[str, str]:
    """An environment in which Python does not shuffle its heap: that imports modules, too."""
    own = str(start_folder())
    folders = [folder for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder != own]
    rest = {name: value for name, value in env.items() if name not in (HEAP, "PYTHONPATH")}
    return rest | ({"PYTHONPATH": os.pathsep.join(folders)} if any(folders) else {})


def _said(text: bytes) -> Iterator[str]:
    """The last lines of standard error that are no imports."""
    lines = text[-LAST:].decode("utf-8", "replace").splitlines()
    own = [line.strip() for line in lines if line.strip() and "import time:" not in line]
    yield from own[-3:]
