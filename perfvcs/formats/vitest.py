"""JSON of ``vitest bench`` (https://vitest.dev), as docs/exchange/vitest.md describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import msgspec

from perfvcs.formats._readings import Reading, profile_of, tells, typed
from perfvcs.formats.tinybench import Statistics, columns
from perfvcs.profile import Metric, Profile

METRICS = {"wall": Metric("s")}


class _Benchmark(Statistics, kw_only=True):
    name: str


class _Group(msgspec.Struct):
    fullName: str
    benchmarks: list[_Benchmark] = []


class _TestFile(msgspec.Struct):
    groups: list[_Group] = []


class _File(msgspec.Struct):
    files: list[_TestFile]


@dataclass(frozen=True)
class Vitest:
    """One report (``--outputJson``): samples are iterations of one execution, or the mean stands
    for them.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By its groups of benchmarks in files."""
        return tells(head, "files", "groups", "benchmarks") or tells(
            head, "files", "filepath", "groups"
        )

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        results = typed(document, _File)
        readings = (
            Reading(f"{group.fullName} > {benchmark.name}", columns(benchmark))
            for file in results.files
            for group in file.groups
            for benchmark in group.benchmarks
        )
        return profile_of(document, "vitest", readings, METRICS)
