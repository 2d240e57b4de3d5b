"""JSON of ``vitest bench`` (https://vitest.dev), as docs/exchange/vitest.md describes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from perfvcs.formats._readings import Keyed, Reading, ToolFormat, typed
from perfvcs.formats.tinybench import Statistics, columns


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
class Vitest(Keyed, ToolFormat):
    """One report (``--outputJson``): samples are iterations of one execution, or the mean stands
    for them.
    """

    tool = "vitest"
    keys = ("files groups benchmarks", "files filepath groups")

    def readings(self, document: bytes) -> Iterator[Reading]:
        """The benchmarks of all files; raises Malformed with the place."""
        for file in typed(document, _File).files:
            for group in file.groups:
                for benchmark in group.benchmarks:
                    yield Reading(f"{group.fullName} > {benchmark.name}", columns(benchmark))
