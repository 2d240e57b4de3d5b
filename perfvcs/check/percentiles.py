"""Percentiles of the samples that a program reports, in the place of their median in each
execution.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.check.case import Case, Sizes, prepare
from perfvcs.errors import UsageError
from perfvcs.system.numeric import np

if TYPE_CHECKING:
    from perfvcs.check.rows import ProfileRows
    from perfvcs.profile.summary import Measured, Place, Summary

STATISTIC = re.compile(r"p(\d{1,2}(?:\.\d{1,4})?)")


class PercentileValue(NamedTuple):
    """The percentile of the samples of one execution, and these."""

    value: float
    samples: list[float]


def share_of(statistic: str) -> float:
    """The share of a percentile: 0.99 of ``p99``; raises UsageError."""
    match = STATISTIC.fullmatch(statistic)
    if match is None or float(match[1]) == 0:
        raise UsageError(
            f'statistic = "{statistic[:40]}" is not a percentile: write it like "p50" or "p99.9"'
        )
    return float(match[1]) / 100


def percentile_values(
    measured: Measured, about: Summary, statistic: str, rows: ProfileRows
) -> dict[Place, PercentileValue]:
    """The percentile of each execution, by its build and number; in the unit without a prefix."""
    table = rows.table(measured, about.uid)
    values = table.metrics[about.metric]
    here = np.isfinite(values)
    if about.size is not None:
        here &= table.size == about.size
    samples: dict[Place, list[float]] = {}
    columns = zip(
        table.binary[here].tolist(),
        table.execution[here].tolist(),
        values[here].tolist(),
        strict=True,
    )
    for binary, execution, value in columns:
        samples.setdefault((binary, execution), []).append(value)
    share = share_of(statistic)
    return {
        place: PercentileValue(float(np.quantile(own, share)), own)
        for place, own in samples.items()
    }


def of_percentiles(case: Case, statistic: str) -> Case:
    """The case with the percentiles of its samples, as the metric ``latency.p99``."""
    prepare([case])
    metric = f"{case.metric}.{statistic}"
    meaning = {metric: case.header.metrics[case.metric]}
    header = msgspec.structs.replace(case.header, metrics={**case.header.metrics, **meaning})
    before, after = (
        _replaced(sizes, side, statistic, metric, case.rows)
        for sizes, side in zip((case.before, case.after), case.chosen.sides, strict=True)
    )
    return Case(case.chosen, header, case.uid, metric, before, after, case.rows, case.history)


def is_of_percentiles(case: Case) -> bool:
    """Whether a case is of percentiles, and not of a metric that was measured."""
    return case.metric not in case.chosen.sides[0][0].header.metrics


def _replaced(
    sizes: Sizes, side: list[Measured], statistic: str, metric: str, rows: ProfileRows
) -> Sizes:
    replaced: Sizes = {}
    for size, summaries in sizes.items():
        own: Mapping[int, Summary] = summaries
        replaced[size] = {
            place: _of(side[place], summary, statistic, metric, rows)
            for place, summary in own.items()
        }
    return replaced


def _of(
    measured: Measured, summary: Summary, statistic: str, metric: str, rows: ProfileRows
) -> Summary:
    found = percentile_values(measured, summary, statistic, rows)
    medians = tuple(found[place].value for place in summary.places if place in found)
    kept = [place for place in summary.places if place in found]
    return msgspec.structs.replace(
        summary,
        metric=metric,
        executions=tuple(execution for _, execution in kept),
        binaries=tuple(binary for binary, _ in kept) if summary.binaries else (),
        medians=medians,
    )
