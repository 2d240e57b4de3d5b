"""What the results of tinybench and of Vitest, which runs it, have in common: statistics of times in ms, and maybe the times."""

from __future__ import annotations

import msgspec

from perfvcs.formats._readings import ReadingValue, summary

MILLI = 1e3


class Statistics(msgspec.Struct):
    """Of one task; names differ between versions."""

    samples: list[ReadingValue] | None = None
    mean: ReadingValue = None
    sd: ReadingValue = None
    median: ReadingValue = None
    p50: ReadingValue = None
    min: ReadingValue = None
    max: ReadingValue = None
    p75: ReadingValue = None
    p99: ReadingValue = None
    sampleCount: ReadingValue = None
    samplesCount: ReadingValue = None


def columns(stats: Statistics) -> dict[str, list[ReadingValue]]:
    """The samples as iterations; where they were not written, the mean."""
    if stats.samples:
        return {"wall": [_seconds(value) for value in stats.samples]}
    return summary(
        "wall", _seconds(stats.mean), deviation=_seconds(stats.sd), median=_seconds(stats.p50 if stats.median is None else stats.median),
        least=_seconds(stats.min), largest=_seconds(stats.max), p75=_seconds(stats.p75), p99=_seconds(stats.p99),
        samples=stats.samplesCount if stats.sampleCount is None else stats.sampleCount,
    )  # fmt: skip


def _seconds(value: ReadingValue) -> ReadingValue:
    return None if value is None else value / MILLI
