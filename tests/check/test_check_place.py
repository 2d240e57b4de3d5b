"""Verdicts on pairs whose second execution is slower: what the place did is not told of the
program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from samples import interleaved

from perfvcs.check import Change, compare
from perfvcs.profile import Turns
from perfvcs.profile.summary import Measured

COMMITS = ("1" * 40, "2" * 40)
BALANCED = (True, False, False, True, True, False, False, True, False, True)


def check(
    later: Sequence[bool],
    *,
    change: float = 0.0,
    place: float = 0.1,
    known: bool = True,
    seed: int = 1,
    method: str = "auto",
) -> Change:
    """Wall times of 10 ms with noise of .5 %, the second execution of each block slower by
    ``place``.
    """
    random = np.random.default_rng(seed)
    walls = [
        0.01
        * (1 + change * side)
        * np.exp(
            0.005 * random.standard_normal(len(later)) + place * (np.array(later) == bool(side))
        )
        for side in (0, 1)
    ]
    profiles = interleaved(COMMITS, [wall.tolist() for wall in walls])
    if known:
        profiles = [
            replace(
                profile,
                turns=Turns(
                    list(range(len(later))),
                    [int(which == bool(side)) for which in later],
                    [0] * len(later),
                ),
            )
            for side, profile in enumerate(profiles)
        ]
    old, new = map(Measured.of, profiles)
    return next(one for one in compare([old], [new], method=method).changes if one.metric == "wall")


@pytest.mark.parametrize("method", ["auto", "student"])
@pytest.mark.parametrize("change", [0.0, 0.03])
def test_a_known_place_neither_makes_a_change_nor_hides_one(method: str, change: float) -> None:
    found = check(BALANCED, change=change, method=method)
    assert found.word == ("degradation" if change else "same")
    assert found.low is not None and found.high is not None
    assert found.low <= change <= found.high
    assert found.high - found.low < 0.03


def test_a_place_that_is_not_known_widens_the_interval() -> None:
    found = check(BALANCED, change=0.03, known=False)
    assert found.word == "inconclusive"
    assert found.low is not None and found.high is not None
    assert found.high - found.low > 0.1


@pytest.mark.parametrize("known", [True, False])
def test_a_coin_that_fell_on_one_side_makes_no_change(known: bool) -> None:
    later = [True] * 8 + [False] * 2
    assert {check(later, known=known, seed=seed).word for seed in range(4)} == {"inconclusive"}


@pytest.mark.parametrize("known", [True, False])
def test_of_five_pairs_a_change_needs_an_order_that_is_known(known: bool) -> None:
    found = check(BALANCED[:5], change=0.05, place=0.0, known=known)
    assert found.word == ("degradation" if known else "suspected")
    assert ("is not known" in found.reason) != known


def test_what_no_place_does_needs_no_order() -> None:
    assert check(BALANCED[:5], change=0.5, place=0.0, known=False).word == "degradation"


@pytest.mark.parametrize("place", [0.0, 0.1])
def test_with_one_side_always_first_nothing_is_settled(place: float) -> None:
    found = check([True] * 10, place=place)
    assert found.word == ("suspected" if place else "inconclusive")
    assert "measured first in every pair" in found.reason
    assert found.low is None
    assert found.high is None


def test_an_execution_without_a_place_leaves_the_order_unknown() -> None:
    profiles = interleaved(
        COMMITS, [[0.01, 0.0101, 0.0102, 0.0101, 0.01], [0.0105, 0.0106, 0.0107, 0.0106, 0.0105]]
    )
    places = (
        Turns([0, 1, 2], [0, 1, 0], [1, 2, 3]),
        Turns([0, 1, 2, 3, 4], [1, 0, 1, 0, 1], [1, 2, 3, 4, 5]),
    )
    old, new = (
        Measured.of(replace(profile, turns=each))
        for profile, each in zip(profiles, places, strict=True)
    )
    assert compare([old], [new]).changes[0].word == "suspected"
