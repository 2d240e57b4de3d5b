"""The rows of a profile that postprocessors compute with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError, nearest
from perfvcs.profile import REPEATED, Profile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OUTLIER = "outlier"  # the column <metric>.outlier is 1 where a row was marked


@dataclass(frozen=True)
class MetricRows:
    """Rows with a value ``y`` of a metric: ``x`` is NaN without one, ``unit`` the uid's code, ``place`` the row's number in the profile."""

    y: NDArray[np.float64]
    x: NDArray[np.float64]
    unit: NDArray[np.intp]
    place: NDArray[np.intp]


def rows(profile: Profile, metric: str, by: str = "size", *, outliers: bool = False) -> MetricRows:
    """The rows of a metric that count, in their order: not those whose execution was repeated, nor marked ``outliers`` unless asked for.

    With a size, or a value of the metric ``by``, as x; raises UsageError where the profile has none at all. ``by=""`` needs none.
    """
    import numpy as np

    resources = profile.resources
    values = resources.array(metric)
    keep = np.isfinite(values)
    if resources.mark is not None:
        keep &= np.array(resources.mark, dtype=np.int64) != REPEATED
    marks = f"{metric}.{OUTLIER}"
    if marks in profile.metrics and not outliers:
        keep &= resources.array(marks) != 1
    over = named(profile, by, "by") if by else np.full(len(values), np.nan)
    place = np.flatnonzero(keep)
    return MetricRows(values[place], over[place], np.array(resources.uid, dtype=np.intp)[place], place)


def named(profile: Profile, name: str, option: str) -> NDArray[np.float64]:
    """The sizes or a metric, as an option names them; raises UsageError where there is no such column, or nothing in it."""
    import numpy as np

    label = profile.job.label or "the profile"
    if name != "size" and name not in profile.metrics:
        raise UsageError(f"{label} has no column `{name}` for {option}{nearest(name, ['size', *profile.metrics])}")
    found = profile.resources.array(name)
    if np.isfinite(found).any():
        return found
    if name == "size":
        raise UsageError(
            f"{label} has no sizes, and this needs values over sizes: measure functions with the collector `complexity`, "
            "give the workload a size, or name another column with `by`"
        )
    raise UsageError(f"{label} has no value of `{name}` for {option}: name another column")


def chosen(profile: Profile, of: Sequence[str] = (), by: str = "") -> list[str]:
    """The metrics that were asked for, else all that are judged (``better`` is not none), less the one that is x.

    Raises UsageError for an unknown one, and where none is left.
    """
    wanted = [of] if isinstance(of, str) else list(of)
    for name in wanted:
        if name not in profile.metrics:
            raise UsageError(f"{profile.job.label or 'the profile'} has no metric `{name}`{nearest(name, profile.metrics)}")
    found = wanted or [name for name, metric in profile.metrics.items() if metric.better != "none" and name != by]
    if not found:
        raise UsageError(
            f"{profile.job.label or 'the profile'} has no metric with a better direction: name some with of"
            f"; there are: {', '.join(profile.metrics) or 'none'}"
        )
    return found
