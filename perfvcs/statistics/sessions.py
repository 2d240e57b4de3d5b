"""How much the mean of a benchmark moves from one session to the next, and what an A/A comparison of it shows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import fmean, median
from typing import TYPE_CHECKING

from perfvcs.statistics.deviation import NORMAL

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST_SESSIONS = 5  # sessions of a history from which a variance is believed
CLIP = 2.5  # standard deviations beyond which a step of the history counts as a change of the code
CONSISTENT = 0.97756  # mean of min(z^2, CLIP^2) of a standard normal z
# Of the variance that 4 to 9 normal steps keep without the largest, simulated.
SHARES = (0.565, 0.604, 0.634, 0.658, 0.678, 0.697)
USED = 0.6  # degrees of freedom per difference of neighbours: they overlap, and clipping costs some
AA_POINT = 1.96
AA_FEWEST = 3


@dataclass(frozen=True)
class Spread:
    """A variance (of one session's mean, squared unit of the means) and the degrees of freedom that it was estimated with."""

    variance: float
    df: float


def between(means: Sequence[float], commits: Sequence[str] = (), within: float = 0.0) -> Spread | None:
    """The between-session variance of a series of session means in their order, each of one commit; None for too few.

    ``commits`` names the commit of each session. When some were measured again often enough, the variance is that of repeats of a
    commit (Kalibera 2006, eq. 16). Otherwise it comes from differences of neighbouring sessions (von Neumann 1941), in which a
    step of the code, that which is judged perhaps, shows once: those beyond ``CLIP`` robust standard deviations are clipped; of fewer
    than ten the largest is left out. ``within`` is the part of a mean's variance that is known from inside a session; it is taken
    away, never below 0.
    """
    if len(means) < FEWEST_SESSIONS:
        return None
    found = repeats(means, commits) if commits else None
    if found is None or found.df < FEWEST_SESSIONS - 1:
        found = _neighbours(means)
    return Spread(max(0.0, found.variance - within), found.df)


def repeats(means: Sequence[float], groups: Sequence[str]) -> Spread | None:
    """The pooled variance of session means about the mean of their group; None when no group has two."""
    grouped: dict[str, list[float]] = defaultdict(list)
    for mean, group in zip(means, groups, strict=True):
        grouped[group].append(mean)
    df = sum(len(members) - 1 for members in grouped.values())
    if not df:
        return None
    total = 0.0
    for members in grouped.values():
        centre = fmean(members)
        total += sum((mean - centre) ** 2 for mean in members)
    return Spread(total / df, df)


def _neighbours(means: Sequence[float]) -> Spread:
    steps = [abs(later - earlier) for earlier, later in pairwise(means)]
    bound = CLIP * NORMAL * median(steps)
    usual = sorted(steps)[:-1]
    if len(steps) < 2 * FEWEST_SESSIONS and any(usual):  # too few for a usable median
        share = SHARES[len(steps) - FEWEST_SESSIONS + 1]
        return Spread(fmean(step**2 for step in usual) / share / 2, USED * len(usual))
    if not bound:  # a median of 0 is not informative: take them unchanged, which errs on the wide side
        return Spread(fmean(step**2 for step in steps) / 2, USED * len(steps))
    return Spread(fmean(min(step, bound) ** 2 for step in steps) / CONSISTENT / 2, USED * len(steps))


def aa_floor(effects: Sequence[float]) -> float:
    """The size that 95 % of a benchmark's A/A effects stay below, for effects around 0; 0 while fewer than three are known."""
    if len(effects) < AA_FEWEST:
        return 0.0
    return AA_POINT * sqrt(fmean(effect**2 for effect in effects))
