"""Differences in pairs that several hosts measured: how much hosts differ in them, as a random effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.statistics.difference import Difference, combine
from perfvcs.statistics.period import chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

# p up to which hosts evidently differ; with a larger one, more comparisons over hosts that agree would be left open
EVIDENT = 0.05


@dataclass(frozen=True)
class OverHosts:
    """The ``difference`` with what hosts differ by in its interval, each host's own ``effects`` (groups, hosts), and the ``p`` (groups,)
    of the test that all hosts have the same effect; NaN where no host has two pairs.
    """

    difference: Difference
    effects: NDArray[np.float64]
    p: NDArray[np.float64]


def over(difference: Difference, gaps: NDArray[np.float64], hosts: Sequence[int], confidence: float = 0.99) -> OverHosts:
    """A ``difference`` of pairs whose ``gaps`` (groups, n) were measured on ``hosts`` (n numbers from 0 on, each with a pair).

    gap = effect + host + block. The variance of hosts is that of their means beyond what blocks explain, never below 0 (analysis of
    variance of a random effect). Where it is 0 the difference stays as it is: one host with the same blocks would have said no more.
    Elsewhere both variances add up, that of k hosts with k - 1 degrees of freedom (Satterthwaite); where hosts evidently differ (p <=
    ``EVIDENT``), their means are all that counts, with k - 1 degrees of freedom. Source: Kalibera, Jones 2013; Searle, Casella,
    McCulloch 1992, section 3.6.
    """
    import numpy as np
    from scipy.special import fdtrc

    places = np.asarray(hosts)
    member = places[:, None] == np.arange(places.max() + 1)
    counts, n = member.sum(axis=0), len(places)
    k = len(counts)
    effects = gaps @ (member / counts)
    centre = gaps.mean(axis=1)
    df = n - k
    outside = (counts * (effects - centre[:, None]) ** 2).sum(axis=1) / max(k - 1, 1)
    if k < 2 or not df:
        return OverHosts(difference, effects, np.full(len(gaps), np.nan))
    inside = ((gaps - effects[:, places]) ** 2).sum(axis=1) / df
    per_host = (n - (counts**2).sum() / n) / (k - 1)
    variance = np.maximum(0.0, outside - inside) / per_host * (counts**2).sum() / n**2
    degrees = [np.full(len(gaps), float(k - 1)), np.full(len(gaps), float(df))]
    wide = combine(difference.estimate, [variance, inside / n], degrees, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = fdtrc(k - 1, df, np.where(inside > 0, outside / inside, np.where(outside > 0, np.inf, np.nan)))
    alone = combine(difference.estimate, [outside * (counts**2).sum() / (n**2 * per_host)], degrees[:1], confidence)
    found = chosen((variance > 0) & (wide.error > difference.error), wide, difference)
    return OverHosts(chosen(p <= EVIDENT, alone, found), effects, p)
