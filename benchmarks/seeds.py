"""What sharing a block's seed is worth.

For noise that is made up, of which the seed explains a known share: what the plan says, and how often
its range of 80 % holds that share.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from perfvcs.measure.blocks import turns
from perfvcs.plan.inside import Drawn, explained

from .figures import Row
from .registry import benchmark


def made_up(rng: np.random.Generator, share: float, blocks: int, number: int) -> list[Drawn]:
    """Two versions that differ, the second place 5 % slower, the machine drifting."""
    own, machine = (
        np.sqrt(share) * rng.standard_normal(blocks),
        np.cumsum(0.1 * rng.standard_normal((blocks, 2)).ravel()).reshape(-1, 2),
    )
    orders = [turns(number, block, [[0, 1]])[0].versions for block in range(blocks)]
    places = [
        {(0, block): order.index(version) for block, order in enumerate(orders)}
        for version in (0, 1)
    ]
    seeds = {(0, block): 1 + block for block in range(blocks)}
    noise = np.sqrt(1 - share) * rng.standard_normal((2, blocks))
    return [
        Drawn(
            {
                at: (
                    0.3 * version
                    + 0.5 * turn
                    + own[at[1]]
                    + machine[at[1], turn]
                    + noise[version, at[1]]
                )
                for at, turn in place.items()
            },
            place,
            seeds,
        )
        for version, place in enumerate(places)
    ]


@benchmark("planning", quick={"draws": 5})
def seeds_drawn(*, draws: int = 1000, seed: int = 15) -> Iterator[Row]:
    """What does the plan say of the seed, where its share is known?"""
    rng = np.random.default_rng(seed)
    for share, blocks in product((0.0, 0.5, 0.9, 0.98), (6, 10, 30)):
        found = [explained([made_up(rng, share, blocks, number)]) for number in range(draws)]
        known = [one for one in found if one is not None]
        yield {
            "share": f"{share:.2f}",
            "blocks": blocks,
            "plan (mean)": round(float(np.mean([one.share for one in known])), 2),
            "its range holds it, %": 100 * np.mean([one.low <= share <= one.high for one in known]),
            "above 0, %": 100 * np.mean([one.low > 0 for one in known]),
        }
