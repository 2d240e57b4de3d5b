"""All rows of one benchmark under one metric, which is what figures draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from perfvcs.drawing.centre import Centre, centre
from perfvcs.drawing.parts import KEPT_CUTS, ROW_REMARKS, DrawnUnit, HeldProfile, RowCut, cut_all, measured
from perfvcs.profile import REPEATED, Metric, Profile
from perfvcs.text.words import metric_rank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class DrawnSample:
    """All rows of one unit under one metric, in the order in which they were measured; arrays have the shape (rows,).

    ``execution`` counts from 0 through all profiles; ``name`` is its number and session, for people. ``size`` is NaN if a row has none.
    ``said`` has a column for each word of ``ROW_REMARKS``, NaN if nothing was said.
    """

    unit: DrawnUnit
    metric: str
    meaning: Metric
    environment: str
    commit: str
    execution: NDArray[np.int64]
    iteration: NDArray[np.int64]
    mark: NDArray[np.int64]
    size: NDArray[np.float64]
    values: NDArray[np.float64]
    sessions: tuple[str, ...]
    paired: tuple[tuple[str, int], ...]
    said: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @cached_property
    def medians(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Executions and their medians; rows of executions that were repeated are left out."""
        import numpy as np

        kept = self.mark != REPEATED
        execution, values = self.execution[kept], self.values[kept]
        if not len(values):
            return execution, values
        order = np.lexsort((values, execution))
        found, start, count = np.unique(execution[order], return_index=True, return_counts=True)
        ranked = values[order]
        return found, (ranked[start + (count - 1) // 2] + ranked[start + count // 2]) / 2

    @cached_property
    def centre(self) -> Centre | None:
        """The centre over executions; None without any."""
        return centre(self.medians[1])


def samples(profiles: Sequence[Profile], *, whole: bool = False) -> list[DrawnSample]:
    """The samples of profiles, sessions of one environment joined in the order in which they started; ``whole`` as in ``parts``.

    Rows without a finite value are left out, and so are samples without a row. Those of the last profiles are kept, since several views
    ask for the same, as are the cuts that ``parts`` shares; a profile is never changed once it is made.
    """
    return list(_sampled(tuple(map(HeldProfile, profiles)), whole=whole))


@lru_cache(maxsize=KEPT_CUTS)
def _sampled(held: tuple[HeldProfile, ...], *, whole: bool) -> tuple[DrawnSample, ...]:
    alike: dict[tuple[DrawnUnit, str, str, str], list[tuple[RowCut, NDArray[np.float64]]]] = {}
    for cuts in sorted(cut_all(held, whole=whole), key=lambda cuts: _profile(cuts).collected.started):
        profile = _profile(cuts)
        for unit, cut in cuts.items():
            for metric in sorted(measured(profile), key=metric_rank):
                values = cut.columns.floats(metric)[cut.rows]
                alike.setdefault((unit, metric, profile.environment.fingerprint, profile.job.key), []).append((cut, values))
    found = [_join(unit, metric, environment, mine) for (unit, metric, environment, _), mine in alike.items()]
    return tuple(sample for sample in found if len(sample.values))


def _profile(cuts: Mapping[DrawnUnit, RowCut]) -> Profile:
    return next(iter(cuts.values())).profile


def _join(unit: DrawnUnit, metric: str, environment: str, cuts: list[tuple[RowCut, NDArray[np.float64]]]) -> DrawnSample:
    import numpy as np

    columns: dict[str, list[NDArray[np.int64]]] = {"execution": [], "iteration": [], "mark": []}
    kept_values, sizes, names, after = [], [], [], 0
    said: dict[str, list[NDArray[np.float64]]] = {
        word: [] for word in ROW_REMARKS if any(f"{metric}.{word}" in cut.profile.metrics for cut, _ in cuts)
    }
    for cut, values in cuts:
        kept = np.isfinite(values)
        for name, column in columns.items():
            column.append(cut.columns.integers(name)[cut.rows][kept])
        numbers, place = np.unique(columns["execution"][-1], return_inverse=True)
        columns["execution"][-1] = place.astype(np.int64) + after
        after += len(numbers)
        names += [(cut.profile.collected.session, int(number)) for number in numbers]
        kept_values.append(values[kept])
        for word, column_of in said.items():
            name = f"{metric}.{word}"
            known = cut.columns.floats(name)[cut.rows] if name in cut.profile.metrics else np.full(len(cut.rows), np.nan)
            column_of.append(known[kept])
        sized = cut.profile.resources.size is not None
        sizes.append(cut.columns.floats("size")[cut.rows][kept] if sized else np.full(np.count_nonzero(kept), np.nan))
    profile = cuts[-1][0].profile
    return DrawnSample(
        unit, metric, profile.metrics[metric], environment, profile.measured,
        np.concatenate(columns["execution"]), np.concatenate(columns["iteration"]), np.concatenate(columns["mark"]),
        np.concatenate(sizes), np.concatenate(kept_values), tuple(dict.fromkeys(session for session, _ in names)), tuple(names),
        {word: np.concatenate(column) for word, column in said.items()},
    )  # fmt: skip
