"""Reports and profiles, as far as they are about some benchmarks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.check.doubts import LEFT
from perfvcs.profile.naming import Benchmark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from perfvcs.check.change import Overall, Report
    from perfvcs.profile import Profile
    from perfvcs.profile.benchmarkfilter import BenchmarkFilter

COLUMNS = ("execution", "binary", "iteration", "mark", "trace", "size")


def narrowed(report: Report, benchmarks: BenchmarkFilter) -> Report:
    """The verdicts on some benchmarks, as they are in the whole report.

    What a job did as a whole is left out where only a part of it is meant.
    """
    if not benchmarks:
        return report
    parts = {unit.job for unit in benchmarks.units}

    def is_meant(overall: Overall) -> bool:
        return (
            not benchmarks.uid
            and overall.job not in parts
            and benchmarks.has_job(overall.job, overall.collector)
            and benchmarks.metric in ("", overall.metric)
        )

    return msgspec.structs.replace(
        report,
        changes=[
            change
            for change in report.changes
            if benchmarks.has(change.job, change.uid, change.size, change.metric, change.series)
        ],
        overall=[overall for overall in report.overall if is_meant(overall)],
        untouched=[name for name in report.untouched if _is_of(name, benchmarks)],
        outputs=[name for name in report.outputs if _is_of(name, benchmarks)],
        wrong=[name for name in report.wrong if _is_of(name, benchmarks)],
        limits=[
            verdict
            for verdict in report.limits
            if _is_of(verdict.job, benchmarks)
            and benchmarks.uid in ("", verdict.uid)
            and benchmarks.metric in ("", verdict.metric)
        ],
        left=[text for text in report.left if _is_of(text.partition(LEFT)[0], benchmarks)],
        about=benchmarks.arguments,
    )


def _is_of(name: str, benchmarks: BenchmarkFilter) -> bool:
    """Whether a benchmark of this name is one of the jobs that are meant, or of these."""
    labels = benchmarks.labels
    return not labels or name in labels or name.startswith(tuple(f"{label}: " for label in labels))


def only(profile: Profile, benchmarks: BenchmarkFilter) -> Profile:
    """A profile with those rows, metrics and models that are about some benchmarks."""
    if not (benchmarks.units or benchmarks.uid or benchmarks.metric):
        return profile
    rows, label = profile.resources, profile.job.label
    kept = [
        place
        for place, (code, size) in enumerate(zip(rows.uid, _sizes(profile), strict=True))
        if benchmarks.has(label, rows.names[code], size)
    ]
    names = dict.fromkeys(rows.names[rows.uid[place]] for place in kept)
    codes = {name: code for code, name in enumerate(names)}
    metrics = [name for name in profile.metrics if benchmarks.metric in ("", name)]
    columns: dict[str, Any] = {name: _of(getattr(rows, name), kept) for name in COLUMNS}
    chosen = replace(
        rows,
        names=list(codes),
        uid=[codes[rows.names[rows.uid[place]]] for place in kept],
        metrics={name: _of(rows.metrics[name], kept) for name in metrics},
        **columns,
    )
    models = [
        entry
        for entry in profile.models
        if entry.metric in metrics and benchmarks.has(label, str(entry.uid))
    ]
    return msgspec.structs.replace(
        profile,
        metrics={name: profile.metrics[name] for name in metrics},
        resources=chosen,
        models=models,
    )


def of_profiles(profiles: Iterable[Profile]) -> Iterator[Benchmark]:
    """What the units and metrics of profiles are called."""
    for profile in profiles:
        job, names = profile.job, profile.resources.names
        for code, size in dict.fromkeys(zip(profile.resources.uid, _sizes(profile), strict=True)):
            for metric in profile.metrics:
                yield Benchmark(job.name, job.label, job.collector, names[code], size, metric)


def _sizes(profile: Profile) -> Sequence[float | None]:
    return profile.resources.size or [None] * len(profile.resources)


def _of(column: Any, kept: Sequence[int]) -> Any:
    return None if column is None else [column[place] for place in kept]
