"""How much of what executions differ by comes from the seed that the versions of a block share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

import msgspec

from perfvcs.summary import Place

FEWEST_DRAWN = 4  # pairs of executions from different blocks
DEPENDENT = 2 / 3  # degrees of freedom that such a pair is worth at least: neighbouring ones have a block in common
INTERVAL_COVERAGE = 0.8


class Drawn(NamedTuple):
    """One version in a session: a relative value per execution, and each one's place in its block and its seed."""

    values: Mapping[Place, float]
    turns: Mapping[Place, int]
    seeds: Mapping[Place, int]


class Share(msgspec.Struct, frozen=True):
    """The ``share`` of the variance between executions that goes with the block's seed, 0 to 1, and the range in which it lies (80 %).

    ``blocks`` are those that it was seen in.
    """

    share: float
    low: float
    high: float
    blocks: int


class _DrawnBlock(NamedTuple):
    """A block in which all versions shared a seed: its number, the seed, and what is left of the values, by turns."""

    number: int
    seed: int
    left: list[float]


def explained(sessions: Sequence[Sequence[Drawn]]) -> Share | None:
    """The share that the seed explains, from the versions of sessions that were measured in turns; None where too little is known.

    Executions that follow each other inside a block share its seed. The last of a block and the first of the next one follow each other
    too, but have different seeds: as much more as these differ is the seeds' doing. The variances of both kinds of difference are
    compared; versions and places are taken out before. The range is that of an F distribution, which takes the noise for normal.
    """
    together: list[float] = []
    across: list[float] = []
    lost, blocks = 0, 0
    for versions in sessions:
        found = list(_residuals(versions)) if len(versions) > 1 else []
        for block in found:
            together += [_half(one, other) for one, other in pairwise(block.left)]
        for before, after in pairwise(found):
            if before.number == after.number - 1 and before.seed != after.seed:
                across.append(_half(before.left[-1], after.left[0]))
        lost += 2 * (len(versions) - 1) if found else 0  # means of versions and of places
        blocks += len(found)
    freedom = len(together) - lost, DEPENDENT * (len(across) - 1)
    if len(across) < FEWEST_DRAWN or freedom[0] < 1 or not fmean(across):
        return None
    from scipy.special import fdtri

    ratio = fmean(together) * len(together) / freedom[0] / fmean(across)
    low, high = (
        _share(ratio / float(fdtri(*freedom, tail))) for tail in ((1 - INTERVAL_COVERAGE) / 2, (1 + INTERVAL_COVERAGE) / 2)
    )
    return Share(_share(ratio), low, high, blocks)


def _share(ratio: float) -> float:
    return min(max(1 - ratio, 0.0), 1.0)


def _residuals(versions: Sequence[Drawn]) -> Iterator[_DrawnBlock]:
    """What is left of the values where means of versions and of places in a block are taken out."""
    first = versions[0]
    shared = [
        place
        for place in sorted(first.values, key=lambda place: place[1])
        if all(place in one.values and place in one.turns and one.seeds.get(place) == first.seeds.get(place) for one in versions)
    ]
    if not shared:
        return
    means = [fmean(one.values[place] for place in shared) for one in versions]
    turns: defaultdict[int, list[float]] = defaultdict(list)
    for one, mean in zip(versions, means, strict=True):
        for place in shared:
            turns[one.turns[place]].append(one.values[place] - mean)
    effects = {turn: fmean(values) for turn, values in turns.items()}
    for place in shared:
        row = sorted((one.turns[place], one.values[place] - mean) for one, mean in zip(versions, means, strict=True))
        yield _DrawnBlock(place[1], first.seeds[place], [value - effects[turn] for turn, value in row])


def _half(first: float, second: float) -> float:
    return (first - second) ** 2 / 2
