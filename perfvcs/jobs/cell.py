"""A cell of the job matrix: one command under one collector, and the words that it is run as."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.jobs.config import AutoTable
from perfvcs.jobs.harness import can_choose
from perfvcs.jobs.workload import Workload
from perfvcs.plugins.collector import Collector, Reads
from perfvcs.plugins.postprocessor import Postprocessor
from perfvcs.profile import Job, ParameterValue

_PLACEHOLDER = r"\{(\w+)\}"


class ResultPlan(NamedTuple):
    """What is read of what an execution gives beside numbers: standard output (``reads``) and
    ``files``, by patterns, without what ``normalise`` matches.

    ``same_output``: a check fails where it differs.
    """

    reads: bool = True
    files: tuple[str, ...] = ()
    normalise: str = ""
    same_output: bool = False


STANDARD_OUTPUT = ResultPlan()


class Cell(Struct, frozen=True):
    """One cell of the matrix: a command with its workload under one collector."""

    name: str
    cmd: str
    args: str
    workload: Workload | None
    collector_name: str
    collector: Collector
    options: dict[str, Any]
    postprocessors: tuple[Postprocessor, ...]
    executions: int
    warmup: int
    binaries: int
    retries: int
    timeout: float
    shell: bool
    env: Mapping[str, str]
    python: str | None
    auto: AutoTable | None = None  # executions are to be planned
    left_out: frozenset[str] = frozenset()  # units that need not be measured
    hosts: str = ""  # what a host must be like, see ``requirement``
    unit: str = ""  # the only one to measure; empty: the whole program
    reads: Reads | None = None  # what its own harness reports
    result: ResultPlan = STANDARD_OUTPUT
    isolate: bool = False  # a home folder of its own for each execution
    counting: Literal["auto", "always", "never"] = "auto"  # work beside time

    @property
    def params(self) -> dict[str, ParameterValue]:
        """The parameters of this cell: those of the workload, and the interpreter."""
        bound: dict[str, ParameterValue] = dict(self.workload.params) if self.workload else {}
        return bound | ({"python": self.python} if self.python else {})

    def job(self, source: Mapping[str, str], *, engine: bool = True) -> Job:
        """The identity of the series that this cell measures; without ``engine``, nothing is
        compiled or started to find it.
        """
        options = dict(self.options)
        if self.shell:
            options["shell"] = True
        if self.isolate:
            options["isolate"] = True
        if self.env:
            options["env"] = dict(self.env)
        if self.reads is not None:
            options["reads"] = self.reads.identity
        return Job(
            name=self.name,
            collector=self.collector_name,
            cmd=self.cmd,
            args=self.args,
            workload=self.workload.name if self.workload else "",
            params=self.params,
            options=options,
            engine=self.collector.engine if engine else "",
            source=dict(source),
        )

    @property
    def label(self) -> str:
        """The benchmark's name for people."""
        return self.job({}, engine=False).label

    @property
    def exact(self) -> bool:
        """Whether it counts something that repeats exactly, so that nothing is randomised."""
        return any(metric.kind == "deterministic" for metric in self.collector.metrics.values())

    def alone(self, unit: str) -> Cell:
        """The cell that measures one unit of it, where the job's harness can run that alone; else
        all of it.
        """
        if not unit or unit == self.name or not can_choose(self.reads):
            return self
        return replace(self, unit=unit)

    def argv(self, workload_text: str, seed: int = 0) -> list[str]:
        """The command split into words, with ``{workload}``, ``{seed}`` and the parameters filled
        in.

        A workload that neither ``cmd`` nor ``args`` mentions is the last argument. With ``shell``
        the words are the shell's.
        """
        bound = {"seed": str(seed)} | {name: str(value) for name, value in self.params.items()}
        mentioned = set(re.findall(_PLACEHOLDER, f"{self.cmd} {self.args}"))
        if self.workload is not None:
            bound["workload"] = workload_text
            bound.setdefault("file", workload_text)
        append = self.workload is not None and not mentioned & (
            {"workload", "file"} | set(self.workload.params)
        )
        if self.shell:
            text = _fill(
                f"{self.cmd} {self.args}".strip(),
                {name: shlex.quote(value) for name, value in bound.items()},
            )
            return ["/bin/sh", "-c", f"{text} {shlex.quote(workload_text)}" if append else text]
        argv = [_fill(word, bound) for word in [*shlex.split(self.cmd), *shlex.split(self.args)]]
        return [*argv, workload_text] if append else argv


def _fill(text: str, bound: Mapping[str, str]) -> str:
    return re.sub(_PLACEHOLDER, lambda match: bound.get(match[1], match[0]), text)
