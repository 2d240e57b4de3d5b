"""Robust mean and precision of each unit and size by resampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfvcs.errors import UsageError
from perfvcs.postprocessors._options import check_number
from perfvcs.postprocessors._outcome import conclude
from perfvcs.postprocessors._rows import chosen, rows
from perfvcs.profile import Profile
from perfvcs.summary import MAX_SIZES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.resampling import Robust


@dataclass(frozen=True)
class Bootstrap:
    """The mean of each unit and size with its interval, in the presence of outliers and of measurements that depend on each other.

    Of each execution ``draws`` resamples with replacement of a ``share`` of its measurements are taken; the median of their means, and
    that of the variances of as many others, stand for the execution. The entry has, in the metric's unit and its square, the ``mean`` of
    the executions, the variance ``within`` them and ``between`` them, and the ``confidence`` ``interval`` of the mean, by Student's t
    with one degree of freedom less than executions; null where a single execution or measurement cannot tell. A unit of more than 32
    sizes is left out, as a mean over a curve says nothing. ``of`` names the metrics, all that are judged without it. ``seed`` makes the
    draws repeatable. Source: Kalibera, Bulej, Tuma 2005, section 4.2.
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
        check_number(self, "seed", 0, 2**63, "1", whole=True)

    def apply(self, profile: Profile) -> Profile:
        """The profile with an entry per unit, size and metric."""
        entries = [entry for metric in chosen(profile, self.of) for entry in self._of(profile, metric)]
        if not entries and len(profile.resources):
            raise UsageError(
                f"{profile.job.label or 'the profile'} has no unit of at most {MAX_SIZES} sizes with a value, and a mean over more says "
                "nothing: fit a curve with `regression` or `moving-average`"
            )
        return conclude(profile, self, entries)

    def _of(self, profile: Profile, metric: str) -> list[dict[str, Any]]:
        import numpy as np

        found = rows(profile, metric, "")
        resources = profile.resources
        size = resources.array("size")[found.place] if resources.size is not None else np.full(len(found.y), np.nan)
        execution, binary = (np.array(resources.integers(name), dtype=np.int64)[found.place] for name in ("execution", "binary"))
        # values last, so that the order of rows does not matter
        order = np.lexsort((found.y, execution, binary, size, found.unit))
        values, unit, size = found.y[order], found.unit[order], size[order]
        execution, binary = execution[order], binary[order]
        new_size = _changes(unit) | (_changes(size) & ~(np.isnan(size) & np.isnan(np.roll(size, 1))))
        new_run = new_size | _changes(execution) | _changes(binary)
        sizes = np.bincount(unit, new_size, len(resources.names))
        starts = np.flatnonzero(new_size & (sizes[unit] <= MAX_SIZES))
        ends = np.append(np.flatnonzero(new_size), len(unit))
        entries = []
        for start in starts.tolist():
            end = int(ends[np.searchsorted(ends, start, side="right")])
            runs = np.split(values[start:end], np.flatnonzero(new_run[start:end])[1:])
            at = None if np.isnan(size[start]) else float(size[start])
            entries.append({
                "uid": resources.names[unit[start]], "metric": metric, "size": at, "rows": end - start, "executions": len(runs),
                "draws": self.draws, "share": self.share, "seed": self.seed, "confidence": self.confidence, **self._estimate(runs),
            })  # fmt: skip
        return entries

    def _estimate(self, runs: list[NDArray[np.float64]]) -> dict[str, Any]:
        import numpy as np

        from perfvcs.statistics.resampling import Robust, resample

        largest = float(max(np.abs(run).max() for run in runs))
        scale = float(2.0 ** np.clip(np.frexp(largest or 1.0)[1] - 1, -1000, 1000))
        if all(len(run) == 1 for run in runs):  # resampling a single value gives the value
            values = np.concatenate(runs) / scale
            robust = Robust(values, np.full(len(runs), np.nan), np.ones(len(runs), dtype=np.int64))
        else:
            robust = resample([run / scale for run in runs], self.draws, self.share, self.seed)
        return _told(robust, scale, self.confidence)


def _told(robust: Robust, scale: float, confidence: float) -> dict[str, Any]:
    components = robust.components()
    interval = components.interval(confidence)
    ends = [_finite(float(end[0]), scale) for end in (interval.low, interval.high)]
    return {
        "mean": _finite(float(components.mean[0]), scale),
        "within": _finite(float(components.within[0]), scale, scale),
        "between": _finite(float(components.executions[0]), scale, scale),
        "interval": None if None in ends else ends,
    }


def _finite(value: float, *scales: float) -> float | None:
    """The product; None where it is not known, or beyond a float."""
    from math import isfinite

    for scale in scales:
        value *= scale
    return value if isfinite(value) else None


def _changes(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a column differs from the row before; its first row does."""
    import numpy as np

    return np.append(True, column[1:] != column[:-1])[: len(column)]
