"""Mean and precision of a benchmark in the presence of outliers and of measurements that depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.statistics.components import Components
from perfvcs.statistics.runs import stack

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

DRAWS = 100
SHARE = 0.75
CHUNK = 4_000_000  # measurements held at once


@dataclass(frozen=True)
class Robust:
    """Per execution the median of the resampled means (M_j) and of the resampled variances (S_sigma_j^2), shape (executions,).

    ``sizes`` is n, how many were drawn of each execution. The variances are in the squared unit of the values; those of an execution
    with fewer than two draws are NaN.
    """

    means: NDArray[np.float64]
    variances: NDArray[np.float64]
    sizes: NDArray[np.int64]

    def components(self) -> Components:
        """Mean and variances of the benchmark as random effects at two levels: S_rho^2 of the means, S_sigma^2 their mean variance.

        Its ``interval(quantile="normal")`` is the published one.
        """
        import numpy as np

        m = len(self.means)
        known = np.isfinite(self.variances)
        within = self.variances[known].mean() if known.any() else np.nan
        between = self.means.var(ddof=1) if m > 1 else np.nan
        one = np.array([1.0])
        return Components(
            mean=self.means.mean() * one, within=within * one, executions=between * one, binaries=np.nan * one,
            values_count=m**2 / (1 / self.sizes).sum() * one, executions_count=m * one, binaries_count=one,
            within_df=(self.sizes - 1).sum() * one, executions_df=(m - 1) * one, binaries_df=0 * one,
        )  # fmt: skip


def resample(runs: Sequence[ArrayLike], draws: int = DRAWS, share: float = SHARE, seed: int = 0) -> Robust:
    """Robust means and variances of each execution's measurements, warm-up already taken away.

    Of ``draws`` resamples with replacement of ``share`` of an execution's measurements the median of the means, and of as many others the
    median of the variances. ``ValueError`` as ``runs.stack``. Source: Kalibera, Bulej, Tuma 2005, section 4.2.
    """
    import numpy as np

    given = stack(runs)
    rng = np.random.default_rng(seed)
    sizes = np.maximum(1, (share * given.counts).astype(np.int64))
    means, variances = np.empty(len(sizes)), np.full(len(sizes), np.nan)
    for place, (count, size) in enumerate(zip(given.counts.tolist(), sizes.tolist(), strict=True)):
        row = given.values[place, :count]
        means[place] = np.median(_of_resamples(rng, row, draws, size, "mean"))
        if size > 1:
            variances[place] = np.median(_of_resamples(rng, row, draws, size, "variance"))
    return Robust(means, variances, sizes)


def _of_resamples(
    rng: np.random.Generator, row: NDArray[np.float64], draws: int, size: int, statistic: str
) -> NDArray[np.float64]:
    import numpy as np

    found = []
    step = max(1, CHUNK // size)
    for start in range(0, draws, step):
        drawn = row[rng.integers(len(row), size=(min(step, draws - start), size))]
        found.append(drawn.mean(axis=1) if statistic == "mean" else drawn.var(axis=1, ddof=1))
    return np.concatenate(found)
