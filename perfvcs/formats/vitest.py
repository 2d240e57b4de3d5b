"""JSON of ``vitest bench`` (https://vitest.dev), as docs/exchange/vitest.md describes it."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from perfvcs.formats._readings import Keyed, Reading, profile_of, typed
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
class Vitest(Keyed):
    """One report (``--outputJson``): samples are iterations of one execution, or the mean stands
    for them.
    """

    keys = ("files groups benchmarks", "files filepath groups")

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
