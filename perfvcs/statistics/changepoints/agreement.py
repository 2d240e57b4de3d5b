"""Where several detectors mean the same step, and which place it likeliest has."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

NEAR = 2  # commits that detectors may be apart
FAR = 30  # and how many at most, where the noise leaves the place open
PLAUSIBLE = 6.0  # twice the logarithm of the likelihood ratio that a place may lose against the best one


def agree(
    found: dict[str, list[int]], near: int = NEAR, within: dict[str, dict[int, tuple[int, int]]] | None = None
) -> list[tuple[list[int], tuple[str, ...]]]:
    """Where at least two detectors are within ``near`` of each other: their places and names, ascending; no place counts twice.

    ``within`` gives, per detector and place, the first and last place that it may as well be: from these on ``near`` counts.

    The middles of the groups differ. The first detector's places come first, each with the nearest one of every other; then what the
    others have among themselves.
    """
    names = list(found)
    left = {name: set(places) for name, places in found.items()}
    agreed: list[tuple[list[int], tuple[str, ...]]] = []
    for turn, name in enumerate(names):
        for place in sorted(left[name]):
            near_ones = {name: place}
            low, high = (within or {}).get(name, {}).get(place, (place, place))
            for other in names[turn + 1 :]:
                close = [there for there in left[other] if low - near <= there <= high + near]
                if close:
                    near_ones[other] = min(close, key=lambda there: (abs(there - place), there))
            if len(near_ones) > 1:
                for member, there in near_ones.items():
                    left[member].discard(there)
                agreed.append((sorted(set(near_ones.values())), tuple(near_ones)))
    # Groups may overlap; one place is one step.
    return sorted({_middle(group): (group, who) for group, who in agreed}.values(), key=lambda found: _middle(found[0]))


def _middle(places: Sequence[int]) -> int:
    return places[len(places) // 2]


def settle(series: NDArray[np.float64], groups: Sequence[Sequence[int]]) -> list[tuple[int, int, int]]:
    """Per group of places the likeliest one, and the first and last that are plausible, by least squares up to the neighbours."""
    import numpy as np

    middles = [_middle(group) for group in groups]
    settled = []
    for turn, group in enumerate(groups):
        low = middles[turn - 1] if turn else 0
        high = middles[turn + 1] if turn + 1 < len(groups) else len(series)
        part = series[low:high] - series[low:high].mean()
        n = len(part)
        lengths = np.arange(1, n)
        total = np.cumsum(part)[:-1]
        squares = np.maximum(part @ part - total**2 * n / (lengths * (n - lengths)), 0.0)
        inside = np.arange(max(1, group[0] - NEAR - low), min(n - 1, group[-1] + NEAR - low) + 1)
        best = int(inside[squares[inside - 1].argmin()])
        least = max(float(squares[best - 1]), float(part @ part) * 1e-15, 1e-300)
        plausible = np.flatnonzero(squares <= least * exp(PLAUSIBLE / n)) + 1
        settled.append((low + best, low + min(int(plausible.min()), best), low + max(int(plausible.max()), best)))
    return settled


def reach(series: NDArray[np.float64], places: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Per place of one detector the first and last that are as plausible, at most ``FAR`` away."""
    settled = settle(series, [[place] for place in places])
    return {
        place: (min(place, max(first, place - FAR)), max(place, min(last, place + FAR)))
        for place, (_, first, last) in zip(places, settled, strict=True)
    }
