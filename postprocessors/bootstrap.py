"""Robust mean and precision of each unit and size by resampling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from perfvcs.errors import UsageError
from perfvcs.postprocessors._entries import check_number, conclude
from perfvcs.postprocessors._rows import begins, chosen, rows
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import BootstrapEntry
from perfvcs.profile.summary import MAX_SIZES
from perfvcs.profile.validity import MAX_INTEGER
from perfvcs.system.numeric import Floats, Indices, np


@dataclass(frozen=True)
class Bootstrap:
    """Computes the mean of each unit and size with its interval by resampling each execution.

    Each execution is represented by the median of the means of ``draws`` resamples, each drawn with
    replacement from a ``share`` of its measurements, and by the median of the variances of as many
    others. The entry holds, in the metric's unit and its square, the ``mean`` of the executions,
    the variances ``within`` and ``between`` them, and the ``confidence`` ``interval`` of the mean
    (Student's t, one degree of freedom less than executions). What a single execution or
    measurement cannot show is null. Units of more than 32 sizes are left out, since a mean over a
    curve says nothing. A single outlier moves the median resample unless ``share`` is below .69.
    ``of`` names the metrics (by default, all that are judged). ``seed`` makes the draws repeatable.
    Source: Kalibera, Bulej, Tuma 2005, section 4.2.
    """

    draws: int = 100
    share: float = 0.75
    confidence: float = 0.99
    seed: int = 0
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_number(self, "draws", 1, 100_000, "100", whole=True)
        check_number(self, "share", 0, 1, "0.75", above=True)
        check_number(self, "confidence", 0.5, 0.9999, "0.99")
        check_number(self, "seed", 0, MAX_INTEGER, "1", whole=True)

    def apply(self, profile: Profile) -> Profile:
        """The profile with an entry per unit, size and metric."""
        entries = [
            entry for metric in chosen(profile, self.of) for entry in self._of(profile, metric)
        ]
        if not entries and len(profile.resources):
            raise UsageError(
                f"{profile.job.label or 'the profile'} has no unit of at most {MAX_SIZES} sizes"
                " with a value, and a mean over more says nothing: fit a curve with `regression`"
                " or `moving-average`"
            )
        return conclude(profile, self, entries)

    def _of(self, profile: Profile, metric: str) -> list[BootstrapEntry]:
        table = rows(profile, metric, "")
        resources = profile.resources
        if resources.size is not None:
            size = resources.array("size")[table.place]
        else:
            size = np.full(len(table.y), np.nan)
        execution, binary = (
            np.array(resources.integers(name), dtype=np.int64)[table.place]
            for name in ("execution", "binary")
        )
        # values last, so that the order of rows does not matter
        order = np.lexsort((table.y, execution, binary, size, table.unit))
        values, unit, size = table.y[order], table.unit[order], size[order]
        execution, binary = execution[order], binary[order]
        new_size = begins(unit) | (begins(size) & ~(np.isnan(size) & np.isnan(np.roll(size, 1))))
        new_run = new_size | begins(execution, binary)
        sizes = np.bincount(unit, new_size, len(resources.names))
        few = sizes[unit] <= MAX_SIZES
        values, unit, size = values[few], unit[few], size[few]
        new_size, new_run = new_size[few], new_run[few]
        starts = np.flatnonzero(new_size)
        if not len(starts):
            return []
        estimates = self._estimates(values, starts, np.flatnonzero(new_run))
        lengths = np.diff(np.append(starts, len(values)))
        runs = np.add.reduceat(new_run, starts, dtype=np.intp)
        at = _finite(size[starts])
        columns = (unit[starts].tolist(), at, lengths.tolist(), runs.tolist(), estimates)
        return [
            BootstrapEntry(
                resources.names[uid],
                metric,
                size=of,
                rows=count,
                executions=number,
                draws=self.draws,
                share=self.share,
                seed=self.seed,
                confidence=self.confidence,
                mean=mean,
                within=within,
                between=between,
                interval=None if low is None or high is None else (low, high),
            )
            for uid, of, count, number, (mean, within, between, low, high) in zip(
                *columns, strict=True
            )
        ]

    def _estimates(
        self, values: Floats, starts: Indices, runs: Indices
    ) -> Iterator[tuple[float | None, ...]]:
        """Mean, variance within and between executions, and the interval's ends of each group of
        values, which begin at ``starts``.

        ``runs`` is where their executions begin.
        """
        from perfvcs.statistics.resampling import resample

        # the power of two below the largest value of a group keeps squares finite
        scale = np.ldexp(
            1.0, np.clip(np.frexp(np.maximum.reduceat(np.abs(values), starts))[1] - 1, -1000, 1000)
        )
        group = np.searchsorted(starts, runs, side="right") - 1
        counts = np.diff(np.append(runs, len(values)))
        robust = resample(
            values / np.repeat(scale[group], counts),
            counts,
            group,
            self.draws,
            self.share,
            self.seed,
        )
        components = robust.components()
        interval = components.interval(self.confidence)
        with np.errstate(over="ignore"):
            mean, low, high = (
                column * scale for column in (components.mean, interval.low, interval.high)
            )
            within, between = (
                column * scale * scale for column in (components.within, components.executions)
            )
        return zip(*map(_finite, (mean, within, between, low, high)), strict=True)


def _finite(values: Floats) -> list[float | None]:
    """The values; None where one is not known, or beyond a float."""
    return [
        value if finite else None
        for value, finite in zip(values.tolist(), np.isfinite(values).tolist(), strict=True)
    ]
