"""The F distribution with one or two degrees of freedom in the numerator, for which numpy is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def tail(f: ArrayLike, above: ArrayLike, below: ArrayLike) -> NDArray[np.float64]:
    """The chance of a value above ``f`` >= 0 with ``above`` (1 or 2) and ``below`` > 0 degrees of freedom; broadcast, NaN stays.

    With one degree it is Student's two-sided chance of the root, with two (1 + 2 f / d)^(-d / 2).
    """
    import numpy as np

    from perfvcs.statistics.student import two_sided

    ratio, one, df = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (f, above, below)))
    sure = np.where(np.isfinite(ratio), ratio, 0.0)
    chance = np.where(one == 1, two_sided(np.sqrt(sure), df), np.exp(-df / 2 * np.log1p(2 * sure / df)))
    return np.where(np.isfinite(ratio), chance, np.where(np.isnan(ratio), np.nan, 0.0))
